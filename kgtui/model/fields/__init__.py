"""The catalog of all values that kgtui shows about groups, members and partitions.

| module | contents |
|---|---|
| `group_fields` | fields of a group; their functions take a snapshot and a group id |
| `verdict_fields` | fields of a group about its verdict and its problem |
| `member_fields` | fields of a member; their functions take a `Member` |
| `partition_fields` | fields of one partition of a group; their functions take a `PartitionRow` |

A field has a name, title, type, unit and source, and functions for its value. For example, these are the functions of
the field for the log end offset of a partition:

    LOG_END.value(row)   1015           the value in the model; None if it is unknown
    LOG_END.data(row)    1015           the value for JSON and CSV; None if it is unknown
    LOG_END.text(row)    "1015"         the value as text for people; "" if it is unknown

To add a field, define it in one of these modules, and add it to a tuple at the end of that module, such as
`group_fields.LISTED`. The tuple determines the order of JSON keys and columns. `kgtui ls` can show only values that
come from the list of groups or from `kgtui.model.facts`.

The modules import only the standard library and the model, so that `kgtui ls` starts fast.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any, Generic, Literal, ParamSpec

from kgtui.model import marks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Row = ParamSpec("Row")
"""Parameters of the function `Field.value`.

The function of a group field takes a snapshot and a group id. The function of a member field takes a `Member`, and the
function of a partition field takes a `PartitionRow`.
"""

Type = Literal["string", "int", "long", "double", "boolean", "timestamp", "array", "object"]
"""Type of a field's values: a primitive type of Delta Lake, or JSON's `array` or `object`."""

NONE = marks.UNICODE.none
"""Text that users see instead of an empty list."""

_NUMBERS = frozenset({"int", "long", "double"})


class Missing(Enum):
    """The reason why a field has no value. Instead of the value, tables show a symbol that depends on the reason."""

    NONE = "none"
    """No value exists: for example, the member has no rack."""
    UNKNOWN = "unknown"
    """A value exists, but the broker's response does not contain it."""
    UNREAD = "unread"
    """kgtui could not read the value. The reason is in `Snapshot.group_faults` or in `PartitionLag.reason`."""


@dataclass(frozen=True, slots=True)
class Field(Generic[Row]):
    """One field of a group, a member or a partition.

    The function `value` takes a `Member`, a `PartitionRow`, or a snapshot and a group id (`Row`).

    Attributes:
        name: JSON key, CSV header, and column name in recorded tables.
        title: heading of the column.
        type: type of the values that `data` returns.
        source: the RPC that reports the value, or the data from which the value is computed.
        value: returns the value of one member, partition or group; None if there is no value.
        unit: unit of the value, such as `records`; empty if the value has no unit.
        format: formats a value for people; never called with None.
        encode: converts a value for JSON and CSV; None for no conversion.
        missing: why a value of this field can be missing. Tables show a symbol for this reason instead of the value.
        optional: whether the field is left out if it has no value. This applies to the JSON of a member, and to the
            lines about a group that `kgtui show` prints.
        hide_empty: whether tables omit the column if no row has a value.
        by_listing: whether the value depends only on the type, protocol, state and coordinator of the group.
        needs: the data that `kgtui ls` must read for this field; empty if the list of groups is enough.
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
        """Return the value as it is written to JSON and CSV; None if it is unknown."""
        value = self.value(*row, **named)
        return value if value is None or self.encode is None else self.encode(value)

    def text(self, *row: Row.args, **named: Row.kwargs) -> str:
        """Return the value as text for people; an empty string if it is unknown."""
        value = self.value(*row, **named)
        return "" if value is None else self.format(value)


def as_object(fields: Iterable[Field[Row]], *row: Row.args, **named: Row.kwargs) -> dict[str, Any]:
    """Return a dictionary for JSON that maps the name of each field to its value for one group, member or partition."""
    return {field.name: field.data(*row, **named) for field in fields}
