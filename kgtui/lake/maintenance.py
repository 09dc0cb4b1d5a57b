"""Maintain the tables of a lake: report their size, compact small files, and delete old days.

The recorder does this for its own tables while it runs. This module does it without a recorder, and also for the
tables of the pipeline.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING

from kgtui.errors import KgtuiError, LakeError, RefusedError
from kgtui.lake.delta import load_deltalake, storage_errors
from kgtui.lake.folder import LakeFolder
from kgtui.lake.lock import RecorderLock, current_holder
from kgtui.lake.schemas import LAYER, POLLS
from kgtui.lake.tables import StoredTable, TableContents, disk_usage, tables
from kgtui.lake.writer import LakeWriter
from kgtui.model.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import date
    from pathlib import Path

    from kgtui.lake.lock import Holder


@dataclass(frozen=True, slots=True)
class TableStatus:
    """The status of one table.

    Attributes:
        disk: bytes of all files in its folder, with the log and files of older versions.
        contents: None when the table cannot be read.
        error: why it cannot be read; empty when it can.
    """

    table: StoredTable
    disk: int
    contents: TableContents | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class LakeStatus:
    """The status of a lake.

    Attributes:
        disk: bytes of all files in its folder.
        recorder: the process that records; None when there is none.
    """

    path: Path
    tables: tuple[TableStatus, ...]
    disk: int
    recorder: Holder | None


@dataclass(frozen=True, slots=True)
class MaintenanceResult:
    """What maintenance did to one table.

    Attributes:
        table: `layer/name`, or only the layer for the recorded tables, which are maintained together.
        what: a phrase for the user.
        freed: bytes that were freed on disk; negative if the folder grew.
        error: why maintenance failed; empty when it did not.
    """

    table: str
    what: str = ""
    freed: int = 0
    error: str = ""


@dataclass(frozen=True, slots=True)
class KeepRules:
    """How long rows are kept.

    Attributes:
        default: days for tables without a rule of their own; None keeps rows forever.
        by_name: layer or `layer/table`, and days; the rule of a table overrides that of its layer.
    """

    default: int | None
    by_name: tuple[tuple[str, int | None], ...] = ()

    def days(self, table: StoredTable) -> int | None:
        """Return for how many days a table keeps rows; None for forever."""
        named = dict(self.by_name)
        return named.get(table.title, named.get(table.layer, self.default))


def status(path: str | Path) -> LakeStatus:
    """Return the status of a lake. Raises `LakeError` if the folder is not a lake."""
    folder = _folder(path)
    stored = tuple(_status(table) for table in tables(folder))
    return LakeStatus(folder.path, stored, disk_usage(folder.path), current_holder(folder.lock))


def optimize(path: str | Path) -> Iterator[MaintenanceResult]:
    """Compact the small files of every table, write a checkpoint of its log, and remove unused files.

    Raises:
        LakeError: the folder is not a lake.
    """
    folder = _folder(path)
    stored = list(tables(folder))
    if any(table.layer == LAYER for table in stored):
        yield _run(LAYER, folder.path / LAYER, partial(_compact_recorded, folder, stored))
    for table in stored:
        if table.layer != LAYER:
            yield _run(table.title, table.path, partial(_compact, table))


def prune(
    path: str | Path, keep: KeepRules, *, dry_run: bool = False, now: float | None = None
) -> Iterator[MaintenanceResult]:
    """Delete days that are older than the rules allow, and remove unused files.

    Args:
        dry_run: only report what would be deleted.
        now: seconds since the epoch.

    Raises:
        LakeError: the folder is not a lake, or a rule names a table that is not in it.
    """
    folder = _folder(path)
    stored = list(tables(folder))
    _check_names(folder, keep, stored)
    today = datetime.fromtimestamp(time.time() if now is None else now, UTC).date()
    # Rows count only while `polls` has their poll. So `polls` is pruned first: if pruning is interrupted, no poll is
    # left with only a part of its rows.
    for table in sorted(stored, key=lambda table: (table.layer, table.name) != (LAYER, POLLS.name)):
        days = keep.days(table)
        if days is not None:
            yield _run(table.title, table.path, partial(_prune, table, today - timedelta(days=days), dry_run))


def _folder(path: str | Path) -> LakeFolder:
    load_deltalake()
    folder = LakeFolder.of(path)
    folder.check()
    return folder


def _status(table: StoredTable) -> TableStatus:
    disk = disk_usage(table.path)
    try:
        return TableStatus(table, disk, table.contents())
    except storage_errors() as error:
        return TableStatus(table, disk, error=visible(str(error)))


def _run(title: str, path: Path, action: Callable[[], str]) -> MaintenanceResult:
    before = disk_usage(path)
    try:
        what = action()
    except KgtuiError as error:
        return MaintenanceResult(title, error=str(error))
    except storage_errors() as error:
        return MaintenanceResult(title, error=visible(str(error)))
    return MaintenanceResult(title, what, before - disk_usage(path))


def _compact_recorded(folder: LakeFolder, stored: Sequence[StoredTable]) -> str:
    """Compact the recorded tables as the recorder does: replay is fast only when rows are sorted."""
    lock = RecorderLock(folder.lock)
    try:
        lock.take()
    except RefusedError:
        return (
            f"skipped: the recorder ({current_holder(folder.lock) or 'another process'}) compacts these tables itself"
        )
    try:
        before = _file_count(stored)
        writer = LakeWriter(folder)
        newest = writer.begin()
        if newest is not None:
            # Nobody records, so every keyframe is finished.
            writer.maintain(newest + 1, None, time.time())
        for table in stored:
            if table.layer == LAYER:
                table.checkpoint()
        return _file_counts_text(before, _file_count(stored))
    finally:
        lock.hand_back()


def _file_count(stored: Sequence[StoredTable]) -> int:
    return sum(table.contents().files for table in stored if table.layer == LAYER)


def _compact(table: StoredTable) -> str:
    removed, added = table.compact()
    table.checkpoint()
    table.vacuum()
    return _file_counts_text(removed, added)


def _file_counts_text(before: int, after: int) -> str:
    return f"compacted {before} files into {after}" if before != after else "nothing to compact"


def _prune(table: StoredTable, oldest: date, dry_run: bool) -> str:
    old = table.size_before(oldest)
    if old is None:
        return "has no days: left as it is"
    files, size, rows = old
    if files and not dry_run:
        table.delete_before(oldest)
        table.checkpoint()
    if not dry_run:
        table.vacuum()
    if not files:
        return f"no rows before {oldest}"
    amount = "rows" if rows is None else f"{rows:,} rows"
    deleted = "would be deleted" if dry_run else "were deleted"
    return f"{amount} before {oldest} in {files} files of {size:,} bytes {deleted}"


def _check_names(folder: LakeFolder, keep: KeepRules, stored: Sequence[StoredTable]) -> None:
    names = {table.title for table in stored} | {table.layer for table in stored}
    for name, _ in keep.by_name:
        if name not in names:
            raise LakeError(
                f"{folder.path} has no table {visible(name)}; its tables and layers are {', '.join(sorted(names))}"
            )
        if name.startswith(f"{LAYER}/"):
            raise LakeError(f"the {LAYER} tables can only be pruned together: use {LAYER} instead of {visible(name)}")
