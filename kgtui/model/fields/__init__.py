"""The catalog of fields: every value that kgtui shows of a group, a member or a partition is described here once.

| module | contents |
|---|---|
| `group_fields` | fields of a group, which take a snapshot and a group id |
| `verdict_fields` | the fields of a group about its verdict and its problem |
| `member_fields` | fields of a member, which take a `Member` |
| `partition_fields` | fields of one partition of a group, which take a `PartitionRow` |

A field has the name that JSON, CSV and recorded tables use, the title of its table column, its type and unit, the
source of its value, and the functions that get and format the value:

    LOG_END.value(row)   1015           the value in the model; None if it is unknown
    LOG_END.data(row)    1015           the value for JSON and CSV; None if it is unknown
    LOG_END.text(row)    "1015"         the value as text for people; "" if it is unknown

To add a field, describe it in one of the modules above, and add it to the tuples at the end of that module, one for
each output. The order of a tuple is the order of JSON keys, CSV columns or table columns. `kgtui.output` and the
commands need no change. `kgtui ls` keeps no descriptions of groups, so a field that it shows must get its value from
the list of groups or through `kgtui.model.facts`.

Importing these modules is cheap, since `kgtui ls` needs them at its start. They import only the standard library and
the model, not Textual or Rich.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, Literal, ParamSpec

from kgtui.model import marks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Row = ParamSpec("Row")
"""Parameters of `Field.value`: `[Snapshot, str]` (group id) for a group, `[Member]` or `[PartitionRow]`."""

Type = Literal["string", "int", "long", "double", "boolean", "timestamp", "array", "object"]
"""Types of field values. Primitive types are named as in Delta Lake; `array` and `object` are named as in JSON."""

NONE = marks.UNICODE.none
"""Text that people see for an empty list."""

_NUMBERS = frozenset({"int", "long", "double"})


class Missing(Enum):
    """Why a field has no value. Tables show a different mark for each of these reasons."""

    NONE = "none"
    """No value exists: for example, the member has no rack."""
    UNKNOWN = "unknown"
    """A value exists, but the broker's response does not contain it."""
    UNREAD = "unread"
    """kgtui could not read the value. The fault of the group, or `PartitionLag.reason`, says why."""


@dataclass(frozen=True, slots=True)
class Field(Generic[Row]):
    """One field of a group, a member or a partition.

    Attributes:
        name: key in JSON, header in CSV, and column name in recorded tables.
        title: heading of the column in tables.
        type: type of what `data` returns.
        source: the RPC that reports the value, or what it is computed from.
        value: function that takes a row (a `Member`, a `PartitionRow`, or a snapshot and a group id) and returns the
            value in the form of the model, or None if it is unknown.
        unit: the unit of a number, such as `records`; empty for text.
        format: function that formats a value for people. It is not called with None.
        encode: function that converts a value for JSON and CSV. It is not called with None. If `encode` is None, values
            are not converted.
        missing: the reason that is shown if the field has no value.
        optional: True if the field is left out where it has no value. This applies to the JSON of members, and to the
            lines that `kgtui show` prints above its tables.
        hide_empty: True if a table omits the column of this field when no row has a value.
        by_listing: True if the value comes from the group's `Listing`, its row in the list of groups. Groups with equal
            listings then have the same value. If the group was described, or if an old broker does not list types and
            states, the value comes from the description instead.
        needs: what `kgtui ls` must read from brokers to show this field; empty if the list of groups contains it.
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
    hide_empty: bool = False
    by_listing: bool = False
    needs: Literal["", "members", "lag"] = ""

    @property
    def align(self) -> Literal["left", "right"]:
        """Alignment of the column: right for numbers, left for all other types."""
        return "right" if self.type in _NUMBERS else "left"

    def data(self, *row: Row.args, **named: Row.kwargs) -> object:
        """Return the value in the form for JSON and CSV; None if it is unknown."""
        value = self.value(*row, **named)
        return value if value is None or self.encode is None else self.encode(value)

    def text(self, *row: Row.args, **named: Row.kwargs) -> str:
        """Return the value as text for people; an empty text if it is unknown."""
        value = self.value(*row, **named)
        return "" if value is None else self.format(value)


def as_object(fields: Iterable[Field[Row]], *row: Row.args, **named: Row.kwargs) -> dict[str, Any]:
    """Return the values of fields for one row, by field name, in the form for JSON. Unknown values are None."""
    return {field.name: field.data(*row, **named) for field in fields}
