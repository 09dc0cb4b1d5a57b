"""The catalog of fields: what kgtui shows of a group, a member and a partition, each field described once.

- `group_fields`: fields of a group, which take a snapshot and a group id
- `member_fields`: fields of a member, which take a `Member`
- `partition_fields`: fields of one partition of a group, which take a `PartitionRow`

A field has the name that JSON, CSV and recorded tables use, the title of its table column, its type and unit, where
its value comes from, and the functions that get and write the value:

    LOG_END.value(row)   1015           the value as the model has it; None if it is unknown
    LOG_END.data(row)    1015           the same as JSON and CSV have it
    LOG_END.text(row)    "1015"         the same as people read it; "" if it is unknown

To add a field, describe it in one of the modules above, and add it to the tuples at the end of that module, one for
each output. The order of a tuple is the order of JSON keys, CSV columns or table columns. `kgtui.output` and the
commands need no change.

Importing these modules is cheap, since `kgtui ls` needs them at its start. They use the standard library and the model
alone, and know neither Textual nor Rich.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, Literal, ParamSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Row = ParamSpec("Row")
"""Types of the arguments that a field gets its value from, such as `[Snapshot, str]` or `[Member]`."""

Type = Literal["string", "int", "long", "double", "boolean", "timestamp", "array", "object"]
"""Primitive types have Delta's names; `array` and `object` are JSON's."""

NONE = "–"
"""Stands for an empty list in texts for people."""

_NUMBERS = frozenset({"int", "long", "double"})


class Missing(Enum):
    """Why a field has no value; it decides which mark tables show in place of the value."""

    NONE = "none"
    """There is no value: for example, the member has no rack."""
    UNKNOWN = "unknown"
    """There is a value, but the broker did not report it."""
    UNREAD = "unread"
    """The value was not read. The fault of the group, or `PartitionLag.reason`, says why."""


@dataclass(frozen=True, slots=True)
class Field(Generic[Row]):
    """One field of a group, a member or a partition.

    Attributes:
        name: key in JSON, header in CSV, and column name in recorded tables.
        title: heading of the column in tables.
        type: type of what `data` returns.
        source: the RPC that reports the value, or what it is computed from.
        value: gets the value as the model has it; None if it is unknown.
        unit: what a number counts, such as `records`; empty for text.
        format: writes a value that is not None for people.
        encode: turns a value that is not None into what JSON and CSV have; None if that is the value itself.
        missing: why there is no value, if there is none.
        optional: whether the JSON of members and the lines above a table leave the field out if it has no value.
        needs: what `kgtui ls` must read to know the value, beyond the list of groups; empty if nothing.
    """

    name: str
    title: str
    type: Type
    source: str
    value: Callable[Row, Any]
    unit: str = ""
    format: Callable[[Any], str] = str
    encode: Callable[[Any], object] | None = None
    missing: Missing = Missing.NONE
    optional: bool = False
    needs: Literal["", "members", "lag"] = ""

    @property
    def align(self) -> Literal["left", "right"]:
        """Right for numbers, left for everything else."""
        return "right" if self.type in _NUMBERS else "left"

    def data(self, *row: Row.args, **named: Row.kwargs) -> object:
        """Return the value as JSON and CSV have it; None if it is unknown."""
        value = self.value(*row, **named)
        return value if value is None or self.encode is None else self.encode(value)

    def text(self, *row: Row.args, **named: Row.kwargs) -> str:
        """Return the value as people read it; an empty text if it is unknown."""
        value = self.value(*row, **named)
        return "" if value is None else self.format(value)


def as_object(fields: Iterable[Field[Row]], *row: Row.args, **named: Row.kwargs) -> dict[str, Any]:
    """Return the fields of one row by name, as JSON has them; what is unknown is None."""
    return {field.name: field.data(*row, **named) for field in fields}
