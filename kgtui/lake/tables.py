"""List the tables of a lake with their sizes, days and versions. Create tables, and compact or vacuum a table."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from kgtui.errors import LakeError
from kgtui.lake.arrow import to_milliseconds, to_table
from kgtui.lake.compaction import compact_table
from kgtui.lake.delta import DAY, RecordedTable, data_files, open_table, storage_errors
from kgtui.lake.folder import LOG, LakeFolder
from kgtui.lake.schemas import LAYER, PARTITION, POLLS
from kgtui.lake.store import StorePath
from kgtui.lake.store_errors import lake_error_text
from kgtui.lake.table_changes import UNKNOWN
from kgtui.private_files import owner_only

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deltalake import DeltaTable

    from kgtui.lake.schemas import Table
    from kgtui.lake.store import LakePath

LAYERS = (LAYER, "bronze", "silver", "gold")
"""Layers in the order in which they are listed. If a lake has folders of other layers, they are listed last."""


@dataclass(frozen=True, slots=True)
class TableContents:
    """Size and days of the newest version of a table.

    Attributes:
        rows: number of rows; None if a file has no statistics.
        bytes: size of all data files of this version.
        first: first day with rows; None if the table is empty or not partitioned by day.
        last: last day with rows; None if the table is empty or not partitioned by day.
        written: when this version was written, in seconds since the epoch; None if unknown.
    """

    version: int
    files: int
    rows: int | None
    bytes: int
    first: date | None
    last: date | None
    written: float | None


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A Delta table in a lake.

    Each method opens the newest version of the table, and can raise one of `kgtui.lake.delta.storage_errors`.
    """

    layer: str
    name: str
    path: LakePath

    @property
    def title(self) -> str:
        """Name of the table as `layer/name`."""
        return f"{self.layer}/{self.name}"

    def contents(self) -> TableContents:
        delta = self._open()
        files = data_files(delta)
        rows = [file["num_records"] for file in files]
        days = [day for file in files if (day := _day(file)) is not None]
        written = next(iter(delta.history(1)), {}).get("timestamp")
        return TableContents(
            int(delta.version()),
            len(files),
            None if None in rows else sum(rows),
            sum(file["size_bytes"] for file in files),
            min(days, default=None),
            max(days, default=None),
            None if written is None else written / 1000,
        )

    def identity(self, columns: Iterable[str]) -> str | None:
        """Return the id of the Delta table, or None if the table lacks one of the given columns.

        The id changes when a table is removed and created again.
        """
        delta = self._open()
        stored = {field.name for field in delta.schema().fields}
        return str(delta.metadata().id) if stored.issuperset(columns) else None

    def rows_by_day(self) -> dict[date, int]:
        """Return a dict: UTC day → number of rows; empty if the table is not partitioned by day.

        A file that has no statistics counts as 0 rows.
        """

        actions = to_table(self._open().get_add_actions(flatten=True))
        if DAY not in actions.column_names:
            return {}
        days = actions.select([DAY, "num_records"]).group_by(DAY).aggregate([("num_records", "sum")])
        result = {_day(row): row["num_records_sum"] or 0 for row in days.to_pylist()}
        return {day: rows for day, rows in result.items() if day is not None}

    def newest(self, column: str, last: date) -> int | None:
        """Return the newest time in a column, in milliseconds since the epoch.

        Return None if the searched days have no rows, or if none of their files has statistics for
        this column.

        Args:
            column: name of the time column, which contains timestamps or milliseconds since the epoch.
            last: last day whose rows are searched. Rows of later days are ignored.
        """
        files = [file for file in data_files(self._open()) if (_day(file) or date.min) <= last]
        found = [file.get(f"max.{column}") for file in files if file["num_records"] != 0]
        times = [to_milliseconds(value) for value in found if value is not None]
        return max(times, default=None)

    def modified(self) -> int | None:
        """Return when the newest file was written, in milliseconds since the epoch; None if there are no files."""
        times = [to_milliseconds(file["modification_time"]) for file in data_files(self._open())]
        return max(times, default=None)

    def earliest(self, column: str, after: int) -> int | None:
        """Return the earliest time in a column. Only files that were written after the time `after` are searched.

        The rows in these files can be older than the files, because compaction copies old rows into new files.

        Args:
            column: name of the time column, which contains timestamps or milliseconds since the epoch.
            after: time in milliseconds since the epoch.

        Returns:
            Milliseconds since the epoch; None if no file with rows was written after this time; `UNKNOWN` if one of
            these files has no statistics for the column.
        """
        files = [file for file in data_files(self._open()) if to_milliseconds(file["modification_time"]) > after]
        found = [file.get(f"min.{column}") for file in files if file["num_records"] != 0]
        times = [UNKNOWN if value is None else to_milliseconds(value) for value in found]
        return min(times, default=None)

    def size_before(self, day: date) -> tuple[int, int, int | None] | None:
        """Return the size of the data of all days before `day`; None if the table is not partitioned by day.

        Returns:
            Tuple (number of files, bytes, number of rows). The number of rows is None if unknown.
        """
        delta = self._open()
        if PARTITION not in delta.metadata().partition_columns:
            return None
        old = [file for file in data_files(delta) if (its := _day(file)) is not None and its < day]
        rows = [file["num_records"] for file in old]
        return len(old), sum(file["size_bytes"] for file in old), None if None in rows else sum(rows)

    def delete_before(self, day: date) -> None:
        """Delete the rows of all days before `day`.

        The files with these rows stay on disk for now, because readers may still use them. `vacuum` deletes them later.
        """
        with owner_only():
            self._open().delete(f"{PARTITION} < '{day.isoformat()}'")

    def compact(self) -> tuple[int, int]:
        """Merge the small files of each day, as `kgtui.lake.compaction.compact_table` describes.

        Returns:
            Pair (number of replaced files, number of new files)
        """
        return compact_table(self._open(), self.path, self.layer, self.name)

    def checkpoint(self) -> None:
        """Write a checkpoint, so that the table opens faster, and remove old log files."""
        delta = self._open()
        with owner_only():
            delta.create_checkpoint()
            delta.cleanup_metadata()

    def vacuum(self) -> None:
        """Delete files of interrupted writes, and files that a newer table version replaced more than an hour ago.

        In the bronze layer (raw records of `__consumer_offsets`), replaced files are kept for a day instead of an hour.
        `Table.delta_properties` defines these times.
        """
        with owner_only():
            self._open().vacuum(dry_run=False, full=True)

    def _open(self) -> DeltaTable:
        return open_table(self.path)


def tables(folder: LakeFolder) -> Iterator[StoredTable]:
    """Yield every table of a lake: layer by layer in the order of `LAYERS`, and sorted by name within a layer."""
    for layer in sorted(_folders(folder.path), key=_rank):
        for name in sorted(_folders(folder.path / layer)):
            path = folder.path / layer / name
            if (path / LOG).is_dir():
                yield StoredTable(layer, name, path)


def create_tables(folder: LakeFolder, schemas: Iterable[Table]) -> None:
    """Create missing tables. Add missing columns to existing tables, and update their Delta properties.

    This function does not use Spark, which would need several seconds.

    Raises:
        LakeError: the lake cannot be written.
    """
    try:
        with owner_only():
            for table in schemas:
                RecordedTable(folder.table(table.name, table.layer), table).create()
    except storage_errors() as error:
        raise LakeError(f"{folder.path} cannot be written: {lake_error_text(error)}") from error


def recorded_cluster_id(path: LakePath | str) -> str | None:
    """Return the cluster id in the newest poll (read of the cluster) that a lake contains.

    Return None if the lake has no poll or cannot be read, or if the poll has no cluster id.
    """
    polls = RecordedTable(LakeFolder.of(path).table(POLLS.name), POLLS)
    try:
        newest = max((file["max.poll"] for file in polls.files()), default=None)
        if newest is None:
            return None
        rows = polls.read(["cluster_id"], after=newest - 1)
    except storage_errors():
        return None
    cluster_id: str | None = rows["cluster_id"][0].as_py()
    return cluster_id


def disk_usage(path: LakePath) -> int:
    """Return the size of a folder with its subfolders, in bytes. Files that disappear meanwhile count as 0."""
    if isinstance(path, StorePath):
        return path.size()
    total = 0
    for root, _, names in os.walk(path):
        for name in names:
            try:
                total += os.lstat(os.path.join(root, name)).st_size
            except OSError:
                continue
    return total


def _rank(layer: str) -> tuple[int, str]:
    return (LAYERS.index(layer) if layer in LAYERS else len(LAYERS), layer)


def _folders(path: LakePath) -> list[str]:
    if isinstance(path, StorePath):
        names = path.folder_names()
    else:
        with os.scandir(path) as entries:
            names = [entry.name for entry in entries if entry.is_dir()]
    return [name for name in names if not name.startswith((".", "_"))]


def _day(file: dict[str, Any]) -> date | None:
    day = file.get(DAY)
    if isinstance(day, str):
        try:
            return date.fromisoformat(day)
        except ValueError:
            return None
    return day if isinstance(day, date) else None
