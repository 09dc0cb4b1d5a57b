"""List the tables of a lake with their files, days and versions, and maintain single tables of any layer."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgtui.errors import LakeError
from kgtui.lake.arrow import to_rows, to_table
from kgtui.lake.delta import DAY, RecordedTable, load_deltalake, open_table, storage_errors
from kgtui.lake.folder import LOG, LakeFolder
from kgtui.lake.schemas import GOLD, GOLD_STATE, LAYER, PARTITION, POLLS
from kgtui.lake.store import StorePath, arrow_file
from kgtui.lake.store_errors import reason_of
from kgtui.lake.table_changes import UNKNOWN
from kgtui.model.rfc3339 import utc_datetime
from kgtui.private_files import owner_only

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deltalake import DeltaTable
    from pyarrow.parquet import ParquetSchema

    from kgtui.lake.schemas import Table
    from kgtui.lake.store import LakePath

LAYERS = (LAYER, "bronze", "silver", "gold")
"""Layers in the order in which they are listed. A lake may have other layers too."""

COMPACTION = "kgtui.compaction"
"""Key in the metadata of a Delta commit. It marks a commit that rewrote files without changing rows.

Without this key, the commit would look like one that added rows, because its operation is WRITE.
"""

_GROUP = "group"
_FILE_SIZE = 128 * 1024 * 1024
"""Size that compacted files should have, in bytes."""


@dataclass(frozen=True, slots=True)
class TableContents:
    """Size and days of the newest version of a table.

    Attributes:
        rows: number of rows; None if a file has no statistics.
        bytes: size of all files of this version.
        first, last: first and last day with rows; None if the table is empty or has no days.
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

    Each method opens the newest version of the table, and may raise one of `kgtui.lake.delta.storage_errors`.
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
        files = _files(delta)
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
        """Return the id of the Delta table, or None if the table lacks one of the columns.

        The id changes when a table is removed and created again.
        """
        delta = self._open()
        stored = {field.name for field in delta.schema().fields}
        return str(delta.metadata().id) if stored.issuperset(columns) else None

    def rows_by_day(self) -> dict[date, int]:
        """Return a dict: UTC day → number of rows; empty if the table is not partitioned by day.

        Files without statistics count as 0 rows.
        """

        actions = to_table(self._open().get_add_actions(flatten=True))
        if DAY not in actions.column_names:
            return {}
        days = actions.select([DAY, "num_records"]).group_by(DAY).aggregate([("num_records", "sum")])
        result = {_day(row): row["num_records_sum"] or 0 for row in days.to_pylist()}
        return {day: rows for day, rows in result.items() if day is not None}

    def newest(self, column: str, last: date) -> int | None:
        """Return the newest time in a column, in milliseconds since the epoch; None without rows.

        The time comes from the statistics in the Delta log.

        Args:
            column: column with timestamps, or with milliseconds since the epoch.
            last: last day whose rows are considered.
        """
        files = [file for file in _files(self._open()) if (_day(file) or date.min) <= last]
        found = [file.get(f"max.{column}") for file in files if file["num_records"] != 0]
        times = [_milliseconds(value) for value in found if value is not None]
        return max(times, default=None)

    def modified(self) -> int | None:
        """Return the newest time at which a file was written, in milliseconds since the epoch; None without files."""
        times = [_milliseconds(file["modification_time"]) for file in _files(self._open())]
        return max(times, default=None)

    def earliest(self, column: str, after: int) -> int | None:
        """Return the earliest time in a column, considering only files that were written after a given time.

        These files include files that compaction has written. Therefore, the result may be earlier than the time of the
        earliest new row.

        Args:
            column: column with timestamps, or with milliseconds since the epoch.
            after: given time, in milliseconds since the epoch.

        Returns:
            Milliseconds since the epoch; None if no file was written after `after`; `UNKNOWN` if one of these files has
            no statistics.
        """
        files = [file for file in _files(self._open()) if _milliseconds(file["modification_time"]) > after]
        found = [file.get(f"min.{column}") for file in files if file["num_records"] != 0]
        times = [UNKNOWN if value is None else _milliseconds(value) for value in found]
        return min(times, default=None)

    def size_before(self, day: date) -> tuple[int, int, int | None] | None:
        """Return the size of all days before `day`; None if the table is not partitioned by day.

        Returns:
            Tuple (number of files, bytes, number of rows). The number of rows is None if a file has no statistics.
        """
        delta = self._open()
        if PARTITION not in delta.metadata().partition_columns:
            return None
        old = [file for file in _files(delta) if (its := _day(file)) is not None and its < day]
        rows = [file["num_records"] for file in old]
        return len(old), sum(file["size_bytes"] for file in old), None if None in rows else sum(rows)

    def delete_before(self, day: date) -> None:
        """Delete the rows of all days before `day`.

        The files with these rows stay until `vacuum`, because readers may still use them.
        """
        with owner_only():
            self._open().delete(f"{PARTITION} < '{day.isoformat()}'")

    def compact(self) -> tuple[int, int]:
        """Merge the small files of each day.

        Rows of gold tables are sorted by group, so that a query about one group reads only a few files, and only a few
        pages of each file. Files of a table with a `file_span` are merged only with files of the same time span.

        Older versions of kgtui wrote INT96 timestamps with Spark. Days with such timestamps are rewritten with
        timestamps in microseconds, which need half of the space.

        The Delta commits have `dataChange` false, so that streams that read the table do not read the rows again.
        If a table has a `file_span`, a commit can have `dataChange` true, but no stream reads such tables.

        Returns:
            Pair (number of replaced files, number of new files)
        """
        delta = self._open()
        properties = load_deltalake().WriterProperties(compression="ZSTD", compression_level=3)
        names = [field.name for field in delta.schema().fields if field.name != PARTITION]
        order = [_GROUP] if _GROUP in names else names[:2]
        with owner_only():
            sorted_days = _days_with_int96(delta, self.path)
            spans = [table.file_span for table in (*GOLD, *GOLD_STATE) if table.title == self.title]
            span = next((span for span in spans if span is not None and span[0] in names), None)
            if span is None and self.layer == "gold" and _GROUP in names:
                sorted_days += [days for days in _days_with_small_files(delta) if days not in sorted_days]
            done = [
                delta.optimize.z_order(order, days, target_size=_FILE_SIZE, writer_properties=properties)
                for days in sorted_days
            ]
            if span is None:
                done.append(delta.optimize.compact(target_size=_FILE_SIZE, writer_properties=properties))
            else:
                column, _ = span
                found = _fragmented_spans(delta, *span)
                done += [_merge_span(delta, column, start, end, properties, files) for start, end, files in found]
        removed, added = (sum(int(one[name]) for one in done) for name in ("numFilesRemoved", "numFilesAdded"))
        return removed, added

    def checkpoint(self) -> None:
        """Write a checkpoint, so that the table opens faster, and remove old log files."""
        delta = self._open()
        with owner_only():
            delta.create_checkpoint()
            delta.cleanup_metadata()

    def vacuum(self) -> None:
        """Remove files that were replaced longer ago than the table property `delta.deletedFileRetentionDuration`.

        In tables that kgtui has created, this is an hour.
        """
        with owner_only():
            self._open().vacuum(dry_run=False, full=True)

    def _open(self) -> DeltaTable:
        return open_table(self.path)


def _fragmented_spans(delta: DeltaTable, column: str, seconds: int) -> list[tuple[datetime, datetime, int]]:
    """Return the time spans of a table whose rows are in several small files (see `Table.file_span`).

    A span with more than `_FILE_SIZE` bytes is left out. A file whose rows belong to several spans is not counted.

    Args:
        column: column with the times of the rows.
        seconds: length of a span.

    Returns:
        List of (start of the span, its end, number of its files)
    """
    found: dict[int, list[int]] = {}
    for file in _files(delta):
        first, last = file.get(f"min.{column}"), file.get(f"max.{column}")
        if file["num_records"] and first is not None and last is not None:
            span = _milliseconds(first) // (seconds * 1000)
            if span == _milliseconds(last) // (seconds * 1000):
                found.setdefault(span, []).append(file["size_bytes"])
    return [
        (utc_datetime(span * seconds), utc_datetime((span + 1) * seconds), len(sizes))
        for span, sizes in sorted(found.items())
        if len(sizes) > 1 and sum(sizes) <= _FILE_SIZE
    ]


def _merge_span(
    delta: DeltaTable, column: str, start: datetime, end: datetime, properties: Any, files: int
) -> dict[str, int]:
    """Replace the files of a time span with one file, whose rows are sorted by group and time.

    Args:
        column: column with the times of the rows.
        files: number of files of the span.

    Returns:
        The number of files that were removed and added, as in the result of Delta's own compaction.
    """
    import pyarrow.dataset as ds

    time = ds.field(column)
    where = (ds.field(PARTITION) == start.date()) & (time >= start) & (time < end)
    rows = delta.to_pyarrow_dataset().to_table(filter=where).sort_by([(_GROUP, "ascending"), (column, "ascending")])
    limits = (f"`{column}` {compare} '{at.isoformat()}'" for compare, at in ((">=", start), ("<", end)))
    library = load_deltalake()
    library.write_deltalake(
        delta,
        rows,
        mode="overwrite",
        predicate=" AND ".join((f"`{PARTITION}` = '{start.date()}'", *limits)),
        writer_properties=properties,
        commit_properties=library.CommitProperties(custom_metadata={COMPACTION: "true"}),
    )
    return {"numFilesRemoved": files, "numFilesAdded": 1}


def _milliseconds(time: datetime | int) -> int:
    """Convert a timestamp to milliseconds since the epoch, rounded down. Numbers are milliseconds already."""
    if isinstance(time, int):
        return time
    time = time if time.tzinfo else time.replace(tzinfo=UTC)
    return (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)


def _days_with_int96(delta: DeltaTable, path: LakePath) -> list[list[tuple[str, str, str]] | None]:
    """Return one partition filter for each day that has files with INT96 timestamps.

    If the table is not partitioned by day, the list is `[None]` (the whole table) or empty.

    Args:
        path: folder of the table.
    """
    import pyarrow.parquet as pq

    actions = to_table(delta.get_add_actions(flatten=True))
    days = actions[DAY].to_pylist() if DAY in actions.column_names else [None] * actions.num_rows
    by_file = {os.path.basename(name): (name, day) for name, day in zip(actions["path"].to_pylist(), days, strict=True)}
    found = set()
    for uri in delta.file_uris():
        name, day = by_file[os.path.basename(uri)]
        if day not in found:
            file, file_system = (uri, None) if isinstance(path, Path) else arrow_file(path / name)
            if _has_int96(pq.ParquetFile(file, filesystem=file_system).schema):
                found.add(day)
    return [None if day is None else [(PARTITION, "=", day.isoformat())] for day in sorted(found, key=str)]


def _days_with_small_files(delta: DeltaTable) -> list[list[tuple[str, str, str]] | None]:
    """Return one partition filter for each day that has at least two files smaller than half of `_FILE_SIZE`.

    Compaction merges and sorts the files of such a day. Afterwards, at most one of its files is that small. Therefore,
    the day is not compacted again until new files are added.
    """
    small = Counter(file.get(DAY) for file in _files(delta) if file["size_bytes"] < _FILE_SIZE / 2)
    return [[(PARTITION, "=", str(day))] for day, count in small.items() if day is not None and count > 1]


def _has_int96(schema: ParquetSchema) -> bool:
    return any(schema.column(index).physical_type == "INT96" for index in range(len(schema)))


def tables(folder: LakeFolder) -> Iterator[StoredTable]:
    """Yield every table of a lake, sorted by layer and name."""
    for layer in sorted(_folders(folder.path), key=_rank):
        for name in sorted(_folders(folder.path / layer)):
            path = folder.path / layer / name
            if (path / LOG).is_dir():
                yield StoredTable(layer, name, path)


def create_tables(folder: LakeFolder, schemas: Iterable[Table]) -> None:
    """Create missing tables, and missing columns of existing tables. Spark would need several seconds for this.

    Raises:
        LakeError: the lake cannot be written.
    """
    try:
        with owner_only():
            for table in schemas:
                RecordedTable(folder.table(table.name, table.layer), table).create()
    except storage_errors() as error:
        raise LakeError(f"{folder.path} cannot be written: {reason_of(error)}") from error


def recorded_cluster_id(path: LakePath | str) -> str | None:
    """Return the cluster id in the newest recorded poll; None if there is no poll, no id, or the lake is unreadable."""
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
    """Return the bytes of all files in a folder and its subfolders. Files that disappear count as 0."""
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


def _files(delta: DeltaTable) -> list[dict[str, Any]]:

    return to_rows(to_table(delta.get_add_actions(flatten=True)))


def _day(file: dict[str, Any]) -> date | None:
    day = file.get(DAY)
    if isinstance(day, str):
        try:
            return date.fromisoformat(day)
        except ValueError:
            return None
    return day if isinstance(day, date) else None
