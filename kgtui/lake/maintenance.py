"""Maintain the tables of a lake: report their size, compact small files, and delete the rows of old days.

If a recorder is running, `optimize` skips the recorded tables, because the recorder compacts them itself.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from kgtui.errors import KgtuiError, LakeError, RefusedError
from kgtui.lake.delta import load_deltalake, storage_errors
from kgtui.lake.folder import LakeFolder
from kgtui.lake.lock import current_holder, held, recorder_lock
from kgtui.lake.schemas import LAYER, POLLS
from kgtui.lake.store import StorePath
from kgtui.lake.store_errors import lake_error_text
from kgtui.lake.tables import StoredTable, TableContents, disk_usage, tables
from kgtui.lake.writer import LakeWriter
from kgtui.model.number_format import counted
from kgtui.model.rfc3339 import utc_datetime
from kgtui.model.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from datetime import date

    from kgtui.lake.lock_holder import Holder
    from kgtui.lake.store import LakePath


_NOTHING = "nothing to compact"


@dataclass(frozen=True, slots=True)
class TableStatus:
    """The status of one table.

    Attributes:
        disk: size, in bytes, of all files of the table, including its Delta log and files of older table versions.
        contents: size and days of the newest version of the table; None if the table cannot be read.
        error: why the table cannot be read; empty if it can be read.
    """

    table: StoredTable
    disk: int
    contents: TableContents | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class LakeStatus:
    """The status of a lake.

    Attributes:
        disk: total size, in bytes, of all files in the lake.
        recorder: the process that records into the lake; None if no recorder is running.
    """

    path: LakePath
    tables: tuple[TableStatus, ...]
    disk: int
    recorder: Holder | None


@dataclass(frozen=True, slots=True)
class MaintenanceResult:
    """The result of the maintenance of one table.

    Attributes:
        table: name of the table as `layer/name`; `recorded` if the result is about all recorded tables together.
        what: text for the user that says what was done.
        freed: number of bytes by which the table's folder became smaller; negative if the folder grew.
        error: why maintenance failed; empty if it succeeded.
    """

    table: str
    what: str = ""
    freed: int = 0
    error: str = ""


@dataclass(frozen=True, slots=True)
class KeepRules:
    """Rules that say for how many days each table keeps its rows. None means forever.

    Attributes:
        default: number of days for tables without a rule in `by_name`.
        by_name: pairs (layer or `layer/table`, number of days). A rule for a table overrides the rule for its layer.
    """

    default: int | None
    by_name: tuple[tuple[str, int | None], ...] = ()

    def days(self, table: StoredTable) -> int | None:
        """Return for how many days a table keeps its rows; None means forever."""
        named = dict(self.by_name)
        return named.get(table.title, named.get(table.layer, self.default))


def status(path: str | LakePath) -> LakeStatus:
    """Return the status of a lake. Raises `LakeError` if the folder is not a lake."""
    folder = _folder(path)
    stored = tuple(_status(table) for table in tables(folder))
    return LakeStatus(folder.path, stored, disk_usage(folder.path), current_holder(folder.lock))


def optimize(path: str | LakePath) -> Iterator[MaintenanceResult]:
    """Compact small files of each table, write a checkpoint of its Delta log, and remove unused files.

    This generator yields one result for all recorded tables together, and one for every other table. A table is
    compacted only when the caller requests its result.

    Raises:
        LakeError: the folder is not a lake.
    """
    folder = _folder(path)
    stored = list(tables(folder))
    if any(table.layer == LAYER for table in stored):
        yield _run(LAYER, folder.path / LAYER, partial(_compact_recorded, folder, stored))
    for table in stored:
        if table.layer != LAYER:
            yield _run(table.title, table.path, partial(_compact, folder, table))


def prune(
    path: str | LakePath, keep: KeepRules, *, dry_run: bool = False, now: float | None = None
) -> Iterator[MaintenanceResult]:
    """Delete the rows of old days, and remove unused files.

    This generator yields one result per table. A table is pruned only when the caller requests its result. There is no
    result for a table that keeps its rows forever.

    Args:
        keep: for how many days each table keeps its rows.
        dry_run: whether to only report what would be deleted, and to delete nothing.
        now: current time in seconds since the epoch; None to use the clock of this machine.

    Raises:
        LakeError: the folder is not a lake; a rule names a table that does not exist; or a rule names a single
            recorded table, although recorded tables can only be pruned together.
    """
    folder = _folder(path)
    stored = list(tables(folder))
    _check_names(folder, keep, stored)
    today = utc_datetime(time.time() if now is None else now).date()
    # Prune table `polls` first. If pruning is interrupted afterwards, readers ignore the remaining rows of the pruned
    # polls, because these polls are no longer in table `polls`.
    for table in sorted(stored, key=lambda table: (table.layer, table.name) != (LAYER, POLLS.name)):
        days = keep.days(table)
        if days is not None:
            yield _run(table.title, table.path, partial(_prune, folder, table, today - timedelta(days=days), dry_run))


def _folder(path: str | LakePath) -> LakeFolder:
    load_deltalake()
    folder = LakeFolder.of(path)
    folder.check()
    return folder


def _status(table: StoredTable) -> TableStatus:
    disk = disk_usage(table.path)
    try:
        return TableStatus(table, disk, table.contents())
    except storage_errors() as error:
        return TableStatus(table, disk, error=lake_error_text(error))


def _run(title: str, path: LakePath, action: Callable[[], str]) -> MaintenanceResult:
    before = disk_usage(path)
    try:
        what = action()
    except KgtuiError as error:
        return MaintenanceResult(title, error=str(error))
    except storage_errors() as error:
        return MaintenanceResult(title, error=lake_error_text(error))
    return MaintenanceResult(title, what, before - disk_usage(path))


def _compact_recorded(folder: LakeFolder, stored: Sequence[StoredTable]) -> str:
    """Compact the recorded tables, unless a recorder holds the lock of the lake. Return a text for the user."""
    lock = recorder_lock(folder.lock)
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
            # The recorder compacts only files that are older than its last keyframe (a poll with the complete state).
            # Here, compact all files, because no recorder adds rows while this process holds the lock.
            writer.maintain(newest + 1, None, time.time())
        for table in stored:
            if table.layer == LAYER:
                table.checkpoint()
        return _file_counts_text(before, _file_count(stored))
    finally:
        lock.hand_back()


def _file_count(stored: Sequence[StoredTable]) -> int:
    return sum(table.contents().files for table in stored if table.layer == LAYER)


def _compact(folder: LakeFolder, table: StoredTable) -> str:
    with _pipeline_paused(folder):
        return _compact_table(table)


@contextmanager
def _pipeline_paused(folder: LakeFolder) -> Iterator[None]:
    """If the lake is in a store, prevent the pipeline from running during the `with` block.

    In a store, Spark does not notice that another process writes to the same tables. Therefore, the
    block holds the pipeline's lock. For a lake on a local disk, nothing is locked.

    Raises:
        RefusedError: the pipeline is running, and the lake is in a store.
    """
    if isinstance(folder.path, StorePath):
        with held(recorder_lock(folder.pipeline_lock), lambda message: None):
            yield
    else:
        yield


def _compact_table(table: StoredTable) -> str:
    removed, added = table.compact()
    table.checkpoint()
    table.vacuum()
    return f"compacted {counted(removed, 'file')} into {added:,}" if removed else _NOTHING


def _file_counts_text(before: int, after: int) -> str:
    return f"compacted {counted(before, 'file')} into {after:,}" if before != after else _NOTHING


def _prune(folder: LakeFolder, table: StoredTable, oldest: date, dry_run: bool) -> str:
    if table.layer == LAYER or dry_run:
        return _prune_table(table, oldest, dry_run)
    with _pipeline_paused(folder):
        return _prune_table(table, oldest, dry_run)


def _prune_table(table: StoredTable, oldest: date, dry_run: bool) -> str:
    old = table.size_before(oldest)
    if old is None:
        return "not pruned, because this table is not divided into days"
    files, size, rows = old
    if files and not dry_run:
        table.delete_before(oldest)
        table.checkpoint()
    if not dry_run:
        table.vacuum()
    if not files:
        return f"no rows before {oldest}"
    amount = "rows" if rows is None else counted(rows, "row")
    deleted = "would delete" if dry_run else "deleted"
    return f"{deleted} {amount} from before {oldest}, in {counted(files, 'file')} with {counted(size, 'byte')}"


def _check_names(folder: LakeFolder, keep: KeepRules, stored: Sequence[StoredTable]) -> None:
    names = {table.title for table in stored} | {table.layer for table in stored}
    for name, _ in keep.by_name:
        if name not in names:
            raise LakeError(
                f"{folder.path} has no table {visible(name)}; its tables and layers are {', '.join(sorted(names))}"
            )
        if name.startswith(f"{LAYER}/"):
            raise LakeError(f"the {LAYER} tables can only be pruned together: use {LAYER} instead of {visible(name)}")
