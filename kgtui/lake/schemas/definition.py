"""Classes and constants with which the tables of a lake are defined. Uses the standard library only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

VERSION = 1
"""Version of the tables of a lake. It grows with each change that older versions of kgtui would misread."""

PARTITION = "day"
"""Name of the partition column."""

SUPERSEDED_HOURS = 1
"""Hours for which files replaced by compaction stay on disk, because readers may still have them open."""

SETTINGS = {
    "delta.checkpointInterval": "100",
    "delta.logRetentionDuration": "interval 1 days",
    "delta.deletedFileRetentionDuration": f"interval {SUPERSEDED_HOURS} hours",
}
"""Delta properties of every table. A commit every few seconds would make the log larger than the data by default."""

Type = Literal["long", "int", "double", "string", "binary", "boolean", "date", "timestamp"]
"""Names of primitive types in Delta; `timestamp` is in microseconds UTC."""

Layer = Literal["recorded", "bronze", "silver", "gold"]
"""Folders of a lake: recorded polls, raw records, decoded records, and tables computed from both."""


RowValues = tuple[Any, ...]
"""Values of one row, in the order of some of a table's columns."""

RowsByTable = dict[str, list[RowValues]]
"""Table name → rows to write."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table. `about` describes its value and unit, and what null means."""

    name: str
    type: Type
    about: str
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a lake.

    Attributes:
        about: description of one row.
        key: columns that identify what a row is about.
        columns: in order.
        layer: folder of the lake.
        partition: partition column; None for a table that does not grow.
    """

    name: str
    about: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    layer: Layer = "recorded"
    partition: str | None = PARTITION

    @property
    def title(self) -> str:
        """`layer/name` of the table."""
        return f"{self.layer}/{self.name}"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(column.name for column in self.columns)

    def column(self, name: str) -> Column:
        """Return the column with this name."""
        return next(column for column in self.columns if column.name == name)


def table(
    layer: Layer, name: str, about: str, key: tuple[str, ...], *columns: Column, partition: str | None = PARTITION
) -> Table:
    """Define a table of a layer."""
    return Table(name, about, key, columns, layer, partition)
