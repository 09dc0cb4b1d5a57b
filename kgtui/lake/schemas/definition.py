"""How tables are defined: columns, their types, a table. Standard library alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

VERSION = 1
"""Of the tables of a lake. It grows with every change that an older reader would misread."""

PARTITION = "day"
"""The column by which tables that grow are cut into folders."""

SUPERSEDED_HOURS = 1
"""How long files that compaction replaced are kept for those who still read them."""

SETTINGS = {
    "delta.checkpointInterval": "100",
    "delta.logRetentionDuration": "interval 1 days",
    "delta.deletedFileRetentionDuration": f"interval {SUPERSEDED_HOURS} hours",
}
"""Delta's properties of every table: with a commit every few seconds its log would be larger than what it tells of."""

Type = Literal["long", "int", "double", "string", "binary", "boolean", "date", "timestamp"]
"""Delta's names of primitive types; `timestamp` is an instant, in microseconds UTC."""

Layer = Literal["recorded", "bronze", "silver", "gold"]
"""The folders of a lake: what polls saw, records as bytes, records decoded, and what follows from both."""


RowValues = tuple[Any, ...]
"""Values of one row, in the order of some of a table's columns."""

RowsByTable = dict[str, list[RowValues]]
"""Table name → rows to write."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `about` says what it holds, its unit, and what null means."""

    name: str
    type: Type
    about: str
    nullable: bool = True


@dataclass(frozen=True, slots=True)
class Table:
    """One table.

    Attributes:
        key: what identifies the thing that a row is about.
        columns: in their order, those that every table of its layer has first.
        layer: the folder of a lake that it lies in.
        partition: the column by which its files are parted; None where it does not grow.
    """

    name: str
    about: str
    key: tuple[str, ...]
    columns: tuple[Column, ...]
    layer: Layer = "recorded"
    partition: str | None = PARTITION

    @property
    def names(self) -> tuple[str, ...]:
        """Column names, in order."""
        return tuple(column.name for column in self.columns)

    def column(self, name: str) -> Column:
        """Return the column with this name."""
        return next(column for column in self.columns if column.name == name)


def table(
    layer: Layer, name: str, about: str, key: tuple[str, ...], *columns: Column, partition: str | None = PARTITION
) -> Table:
    """A table of a layer, with its columns in order."""
    return Table(name, about, key, columns, layer, partition)
