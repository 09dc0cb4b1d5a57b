"""Classes and constants for the definition of the tables of a lake."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

VERSION = 1
"""Version of the table format. It is increased if an older kgtui would misread new tables."""

PARTITION = "day"
"""Name of the column by which tables are partitioned: the UTC day of a row."""

SUPERSEDED_HOURS = 1
"""Time for which a replaced file stays on disk, in hours, because readers may still use it."""

FILE_BYTES = 128 * 1024 * 1024
"""Target size of the files that compaction writes, in bytes. Files that are smaller than half of it are merged."""

DELTA_PROPERTIES = {
    "delta.checkpointInterval": "100",
    "delta.logRetentionDuration": "interval 1 days",
    "delta.deletedFileRetentionDuration": f"interval {SUPERSEDED_HOURS} hours",
}
"""Delta properties of tables. With Delta's defaults, frequent commits would make the log larger than the data."""

Type = Literal["long", "int", "double", "string", "binary", "boolean", "date", "timestamp"]
"""Type of a column, as Delta names it. `timestamp` is in UTC, with microseconds."""

Layer = Literal["recorded", "bronze", "silver", "gold"]
"""Folder of a table in a lake.

- `recorded`: polls of the cluster
- `bronze`: raw records of `__consumer_offsets`
- `silver`: decoded records
- `gold`: computed from `recorded` and `silver`
"""


RowValues = tuple[Any, ...]
"""Values of one row, for all columns or only some of them, in the order of `Table.columns`."""

RowsByTable = dict[str, list[RowValues]]
"""Maps each table name to the rows to write."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        about: meaning, unit, and when the value is null. Empty if the name is clear. In new Delta tables, this is the
            column's comment.
    """

    name: str
    type: Type
    about: str
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a lake.

    Attributes:
        about: what one row describes.
        key: columns that identify the object that a row describes, such as `group` and `member_id`.
        partition: column by which the table is partitioned; None for small tables.
        file_span: maximum time span of the rows in one file, as a pair (time column, seconds). For example,
            `("minute", 3600)` means one hour. None means one day.
    """

    name: str
    about: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    layer: Layer = "recorded"
    partition: str | None = PARTITION
    file_span: tuple[str, int] | None = None

    @property
    def title(self) -> str:
        """Name of the table as `layer/name`."""
        return f"{self.layer}/{self.name}"

    @property
    def delta_properties(self) -> dict[str, str]:
        """Delta properties of the table.

        Replaced bronze files are kept for a day, because a stopped pipeline may still have to decode them.
        """
        overrides = {"delta.deletedFileRetentionDuration": "interval 1 days"} if self.layer == "bronze" else {}
        return DELTA_PROPERTIES | overrides

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(column.name for column in self.columns)

    def column(self, name: str) -> Column:
        return next(column for column in self.columns if column.name == name)


def table(
    layer: Layer,
    name: str,
    about: str,
    key: tuple[str, ...],
    *columns: Column,
    partition: str | None = PARTITION,
    file_span: tuple[str, int] | None = None,
) -> Table:
    """Create a table. Each column is a separate argument, so that a call is shorter than a call of the constructor."""
    return Table(name, about, key, columns, layer, partition, file_span)
