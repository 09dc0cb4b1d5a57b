"""List the tables of a lake with their files, days and versions, and maintain single tables.

This works for tables of every layer, whoever writes them. No rows are read.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from kgtui.errors import LakeError
from kgtui.lake.delta import DAY, RecordedTable, load_deltalake, owner_only, storage_errors
from kgtui.lake.folder import LOG, LakeFolder
from kgtui.lake.schemas import LAYER, PARTITION, POLLS
from kgtui.model.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from deltalake import DeltaTable

    from kgtui.lake.schemas import Table

LAYERS = (LAYER, "bronze", "silver", "gold")
"""Layers of the lake, each derived from those before it; a lake may have further ones."""


@dataclass(frozen=True, slots=True)
class TableContents:
    """What the newest version of a table holds.

    Attributes:
        rows: None if the statistics of a file are missing.
        bytes: size of the files of this version.
        first, last: first and last day; None in a table without days.
    """

    version: int
    files: int
    rows: int | None
    bytes: int
    first: date | None
    last: date | None
    written: float | None
    """When this version was written, in seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A table on disk. Every call reads its newest version.

    Raises one of `kgtui.lake.delta.storage_errors` when the table cannot be read or written.
    """

    layer: str
    name: str
    path: Path

    @property
    def title(self) -> str:
        """`layer/name` of the table."""
        return f"{self.layer}/{self.name}"

    def contents(self) -> TableContents:
        """Return the number of files, rows and bytes, and the days, of the newest version."""
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

    def identity(self) -> str:
        """Return the id of the Delta table; a table that is removed and created again has another one."""
        return str(self._open().metadata().id)

    def rows_by_day(self) -> dict[date, int]:
        """Return day → number of rows, 0 where statistics are missing; empty for tables without days."""
        import pyarrow as pa

        actions = pa.table(self._open().get_add_actions(flatten=True))
        if DAY not in actions.column_names:
            return {}
        days = actions.select([DAY, "num_records"]).group_by(DAY).aggregate([("num_records", "sum")])
        result = {_day(row): row["num_records_sum"] or 0 for row in days.to_pylist()}
        return {day: rows for day, rows in result.items() if day is not None}

    def size_before(self, day: date) -> tuple[int, int, int | None] | None:
        """Return how many files, bytes and rows earlier days have; None for tables without days."""
        delta = self._open()
        if PARTITION not in delta.metadata().partition_columns:
            return None
        old = [file for file in _files(delta) if (its := _day(file)) is not None and its < day]
        rows = [file["num_records"] for file in old]
        return len(old), sum(file["size_bytes"] for file in old), None if None in rows else sum(rows)

    def delete_before(self, day: date) -> None:
        """Delete the rows of earlier days. `vacuum` removes their files later, when no reader needs them."""
        with owner_only():
            self._open().delete(f"{PARTITION} < '{day.isoformat()}'")

    def compact(self) -> tuple[int, int]:
        """Merge the small files of each day, and return the number of these files before and after.

        The commit has `dataChange` false, so that streams that read the table do not read the rows again.
        """
        with owner_only():
            metrics = self._open().optimize.compact()
        return int(metrics["numFilesRemoved"]), int(metrics["numFilesAdded"])

    def checkpoint(self) -> None:
        """Write a checkpoint, so that the table opens faster, and remove old files of its log."""
        delta = self._open()
        with owner_only():
            delta.create_checkpoint()
            delta.cleanup_metadata()

    def vacuum(self) -> None:
        """Remove files that no version within the table's retention needs; the default retention is a week."""
        with owner_only():
            self._open().vacuum(dry_run=False, full=True)

    def _open(self) -> DeltaTable:
        delta: DeltaTable = load_deltalake().DeltaTable(str(self.path))
        return delta


def tables(folder: LakeFolder) -> Iterator[StoredTable]:
    """Yield every table of a lake, by layer and name."""
    for layer in sorted(_folders(folder.path), key=_rank):
        for name in sorted(_folders(folder.path / layer)):
            path = folder.path / layer / name
            if (path / LOG).is_dir():
                yield StoredTable(layer, name, path)


def create_tables(folder: LakeFolder, schemas: Iterable[Table]) -> None:
    """Create tables that do not exist yet; Spark would need seconds for this. Raises `LakeError`."""
    try:
        with owner_only():
            for table in schemas:
                RecordedTable(folder.table(table.name, table.layer), table).create()
    except storage_errors() as error:
        raise LakeError(f"{folder.path} cannot be written: {visible(str(error))}") from error


def recorded_cluster_id(path: Path | str) -> str | None:
    """Return the cluster id of the newest recorded poll; None when there is none or it cannot be read."""
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


def disk_usage(path: Path) -> int:
    """Return the bytes of a file or of all files below a folder; files that disappear meanwhile count as 0."""
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


def _folders(path: Path) -> list[str]:
    with os.scandir(path) as entries:
        return [entry.name for entry in entries if entry.is_dir() and not entry.name.startswith((".", "_"))]


def _files(delta: DeltaTable) -> list[dict[str, Any]]:
    import pyarrow as pa

    result: list[dict[str, Any]] = pa.table(delta.get_add_actions(flatten=True)).to_pylist()
    return result


def _day(file: dict[str, Any]) -> date | None:
    day = file.get(DAY)
    if isinstance(day, str):
        try:
            return date.fromisoformat(day)
        except ValueError:
            return None
    return day if isinstance(day, date) else None
