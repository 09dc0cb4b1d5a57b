"""Classes and constants with which the tables of a lake are defined."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

VERSION = 1
"""Version of the table format. Increase it with each change that would make an older kgtui misread the tables."""

PARTITION = "day"
"""Name of the column by which tables are partitioned. The column contains the UTC day of the row."""

SUPERSEDED_HOURS = 1
"""Number of hours for which a data file stays on disk after a newer version of its table has replaced it.

Readers that opened the older version may still need the file.
"""

FILE_BYTES = 128 * 1024 * 1024
"""Target size of the files that compaction writes, in bytes. A file of less than half of this size counts as small."""

DELTA_PROPERTIES = {
    "delta.checkpointInterval": "100",
    "delta.logRetentionDuration": "interval 1 days",
    "delta.deletedFileRetentionDuration": f"interval {SUPERSEDED_HOURS} hours",
}
"""Properties of the Delta tables. With them, the tables' logs stay small, and replaced data files are deleted early.

kgtui commits often. With Delta's default properties, the log of a table would become larger than its data.
"""

Type = Literal["long", "int", "double", "string", "binary", "boolean", "date", "timestamp"]
"""Type of a column, as Delta names it. `timestamp` is in UTC, with microsecond precision."""

Layer = Literal["recorded", "bronze", "silver", "gold"]
"""Layer of a table. Each layer is a folder in the lake.

- `recorded`: the state of the cluster at each poll
- `bronze`: raw records of `__consumer_offsets`
- `silver`: the decoded records of `bronze`
- `gold`: results that the pipeline computes from `recorded` and `silver`
"""


RowValues = tuple[Any, ...]
"""Values of one row of a table, for all columns or only for some of them, in the order of `Table.columns`."""

RowsByTable = dict[str, list[RowValues]]
"""Maps each table name to the rows to write."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        about: what the values mean, their unit, and when they are null. Empty if the name of the column says enough.
            When a Delta table is created, this text becomes the comment of the column.
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
        file_span: maximum time span of the rows in one file, as a pair (time column, seconds). For example, with
            `("minute", 3600)`, the values of column `minute` in a file lie within one hour. None means one day.
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

        Bronze files that compaction has replaced are kept for a day instead of an hour. When the pipeline is started
        again after a pause, it reads the records that it has not decoded yet from these files.
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
    """Return a `Table`. The caller passes each column as a separate argument, and not all columns as a tuple."""
    return Table(name, about, key, columns, layer, partition, file_span)
