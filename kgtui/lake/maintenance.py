"""What keeps a lake in order: what it holds, many files made one, days removed that are too old.

The recorder does this for its own tables while it runs; here it is done without one, and for the pipeline's tables.
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
    """One table.

    Attributes:
        disk: bytes of everything in its folder: the log, and files of older versions too.
        contents: None when it cannot be read.
        trouble: why not; `` when it can.
    """

    table: StoredTable
    disk: int
    contents: TableContents | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class LakeStatus:
    """A whole lake.

    Attributes:
        disk: bytes of everything in its folder.
        recorder: who records at the moment; None when nobody does.
    """

    path: Path
    tables: tuple[TableStatus, ...]
    disk: int
    recorder: Holder | None


@dataclass(frozen=True, slots=True)
class MaintenanceResult:
    """What was done to one table, or could not be.

    Attributes:
        table: `layer/name`, or the layer where its tables are one.
        what: in words.
        freed: bytes that its folder has less now; below 0 if it has grown.
        trouble: why it could not be done; ``.
    """

    table: str
    what: str = ""
    freed: int = 0
    error: str = ""


@dataclass(frozen=True, slots=True)
class KeepRules:
    """How long rows are kept.

    Attributes:
        default: days, of tables that nothing else is said of; None keeps them for ever.
        by_name: days by layer or `layer/table`; the longer name counts.
    """

    default: int | None
    by_name: tuple[tuple[str, int | None], ...] = ()

    def days(self, table: StoredTable) -> int | None:
        """Of one table; None keeps it for ever."""
        named = dict(self.by_name)
        return named.get(table.title, named.get(table.layer, self.default))


def status(path: str | Path) -> LakeStatus:
    """What a lake holds. Raises `LakeError` if it is none."""
    folder = _folder(path)
    found = tuple(_status(table) for table in tables(folder))
    return LakeStatus(folder.path, found, disk_usage(folder.path), current_holder(folder.lock))


def optimize(path: str | Path) -> Iterator[MaintenanceResult]:
    """Make few files of many in every table, and a checkpoint of its log; remove files that nobody needs.

    Raises:
        LakeError: it is no lake.
    """
    folder = _folder(path)
    found = list(tables(folder))
    if any(table.layer == LAYER for table in found):
        yield _try(LAYER, folder.path / LAYER, partial(_compact_recorded, folder, found))
    for table in found:
        if table.layer != LAYER:
            yield _try(table.title, table.path, partial(_compact, table))


def prune(
    path: str | Path, keep: KeepRules, *, dry_run: bool = False, now: float | None = None
) -> Iterator[MaintenanceResult]:
    """Remove whole days that are too old, and files that nobody needs.

    Args:
        dry_run: only say what would go.
        now: seconds since the epoch.

    Raises:
        LakeError: it is no lake, or one of the tables that were named is not in it.
    """
    folder = _folder(path)
    found = list(tables(folder))
    _check_names(folder, keep, found)
    today = datetime.fromtimestamp(time.time() if now is None else now, UTC).date()
    # Rows count while `polls` has theirs: it goes first, so that what is cut off in between leaves no half polls.
    for table in sorted(found, key=lambda table: (table.layer, table.name) != (LAYER, POLLS.name)):
        days = keep.days(table)
        if days is not None:
            yield _try(table.title, table.path, partial(_prune, table, today - timedelta(days=days), dry_run))


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


def _try(title: str, path: Path, work: Callable[[], str]) -> MaintenanceResult:
    before = disk_usage(path)
    try:
        what = work()
    except KgtuiError as error:
        return MaintenanceResult(title, error=str(error))
    except storage_errors() as error:
        return MaintenanceResult(title, error=visible(str(error)))
    return MaintenanceResult(title, what, before - disk_usage(path))


def _compact_recorded(folder: LakeFolder, found: Sequence[StoredTable]) -> str:
    """As the recorder does it, whose replay is quick because of the order of the rows."""
    lock = RecorderLock(folder.lock)
    try:
        lock.take()
    except RefusedError:
        return f"left to the recorder ({current_holder(folder.lock) or 'another process'}), which keeps them compact"
    try:
        before = _file_count(found)
        writer = LakeWriter(folder)
        newest = writer.begin()
        if newest is not None:
            # Without a recorder every keyframe is finished.
            writer.maintain(newest + 1, None, time.time())
        for table in found:
            if table.layer == LAYER:
                table.checkpoint()
        return _files_in_words(before, _file_count(found))
    finally:
        lock.hand_back()


def _file_count(found: Sequence[StoredTable]) -> int:
    return sum(table.contents().files for table in found if table.layer == LAYER)


def _compact(table: StoredTable) -> str:
    removed, added = table.compact()
    table.checkpoint()
    table.vacuum()
    return _files_in_words(removed, added)


def _files_in_words(before: int, after: int) -> str:
    return f"{before} files are {after} now" if before != after else "nothing to make smaller"


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
        return f"nothing before {oldest}"
    told = "rows" if rows is None else f"{rows:,} rows"
    return f"{told} before {oldest} in {files} files of {size:,} bytes {'would go' if dry_run else 'are gone'}"


def _check_names(folder: LakeFolder, keep: KeepRules, found: Sequence[StoredTable]) -> None:
    known = {table.title for table in found} | {table.layer for table in found}
    for name, _ in keep.by_name:
        if name not in known:
            raise LakeError(f"{folder.path} has no table {visible(name)}; there are {', '.join(sorted(known))}")
        if name.startswith(f"{LAYER}/"):
            raise LakeError(f"the tables of {LAYER} belong together: name {LAYER}, not {visible(name)}")
