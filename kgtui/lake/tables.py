"""The tables of a lake as its upkeep sees them, of whichever layer and writer: files, days, versions, and no rows."""

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
"""In the order in which what is in them comes to be; a lake may have others."""


@dataclass(frozen=True, slots=True)
class TableContents:
    """What the newest version of a table holds.

    Attributes:
        rows: None if a file does not tell.
        bytes: of its files.
        first, last: days of the rows; None in a table without days.
    """

    version: int
    files: int
    rows: int | None
    bytes: int
    first: date | None
    last: date | None
    written: float | None
    """When that version was written, in seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class StoredTable:
    """One table on disk; every call looks at it anew.

    Raises one of `kgtui.lake.delta.disk_errors` where it cannot be read or written.
    """

    layer: str
    name: str
    path: Path

    @property
    def title(self) -> str:
        """`layer/name`."""
        return f"{self.layer}/{self.name}"

    def contents(self) -> TableContents:
        """What it holds."""
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
        """What tells it from a table that was made anew in its place."""
        return str(self._open().metadata().id)

    def rows_by_day(self) -> dict[date, int]:
        """How many rows each day has; 0 where a file does not tell. None are of no day."""
        import pyarrow as pa

        actions = pa.table(self._open().get_add_actions(flatten=True))
        if DAY not in actions.column_names:
            return {}
        days = actions.select([DAY, "num_records"]).group_by(DAY).aggregate([("num_records", "sum")])
        found = {_day(row): row["num_records_sum"] or 0 for row in days.to_pylist()}
        return {day: rows for day, rows in found.items() if day is not None}

    def size_before(self, day: date) -> tuple[int, int, int | None] | None:
        """How many files, bytes and rows are of earlier days; None in a table that is not kept by day."""
        delta = self._open()
        if PARTITION not in delta.metadata().partition_columns:
            return None
        old = [file for file in _files(delta) if (its := _day(file)) is not None and its < day]
        rows = [file["num_records"] for file in old]
        return len(old), sum(file["size_bytes"] for file in old), None if None in rows else sum(rows)

    def delete_before(self, day: date) -> None:
        """Remove earlier days; the files go with `sweep`, when nobody can be reading them any more."""
        with owner_only():
            self._open().delete(f"{PARTITION} < '{day.isoformat()}'")

    def compact(self) -> tuple[int, int]:
        """Make one file of many small ones of a day; how many files there were of those, and how many there are now.

        The commit says that no row changed: streams that read the table see nothing.
        """
        with owner_only():
            told = self._open().optimize.compact()
        return int(told["numFilesRemoved"]), int(told["numFilesAdded"])

    def checkpoint(self) -> None:
        """Sum up the table's log in one file for whoever opens it; remove what of the log is too old to matter."""
        delta = self._open()
        with owner_only():
            delta.create_checkpoint()
            delta.cleanup_metadata()

    def vacuum(self) -> None:
        """Remove files that no version has needed for as long as the table's own retention says; by default a week."""
        with owner_only():
            self._open().vacuum(dry_run=False, full=True)

    def _open(self) -> DeltaTable:
        delta: DeltaTable = load_deltalake().DeltaTable(str(self.path))
        return delta


def tables(folder: LakeFolder) -> Iterator[StoredTable]:
    """Every table of a lake, by layer and name."""
    for layer in sorted(_folders(folder.path), key=_rank):
        for name in sorted(_folders(folder.path / layer)):
            path = folder.path / layer / name
            if (path / LOG).is_dir():
                yield StoredTable(layer, name, path)


def create_tables(folder: LakeFolder, made: Iterable[Table]) -> None:
    """Make tables that are not there yet; by Spark it would take seconds. Raises `LakeError`."""
    try:
        with owner_only():
            for table in made:
                RecordedTable(folder.table(table.name, table.layer), table).create()
    except storage_errors() as error:
        raise LakeError(f"{folder.path} cannot be written: {visible(str(error))}") from error


def recorded_cluster_id(path: Path | str) -> str | None:
    """Return the id of the recorded cluster from the newest poll; None when there is none or it cannot be read."""
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
    """Bytes of all files below a folder, or of a file; what vanishes meanwhile counts nothing."""
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

    found: list[dict[str, Any]] = pa.table(delta.get_add_actions(flatten=True)).to_pylist()
    return found


def _day(file: dict[str, Any]) -> date | None:
    day = file.get(DAY)
    if isinstance(day, str):
        try:
            return date.fromisoformat(day)
        except ValueError:
            return None
    return day if isinstance(day, date) else None
