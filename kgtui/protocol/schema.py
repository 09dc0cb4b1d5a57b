"""Parse the tables that define the fields of messages into `Struct` and `Field` objects.

A row defines one field: `(name, type, versions[, notes][, rows of the struct])`, with names as in Kafka's schemas::

    ("GroupState", "string", "4+", "ignorable")
    ("Members", "[]Member", "0+", _MEMBER)

- The type is bool, int8, int16, uint16, int32, int64, string, bytes, uuid or the name of a struct. The prefix `[]`
  means an array of this type.
- The versions are a range such as `3+` (3 and all later versions) or `0-7`, or a single version such as `5`.
- The notes are one string, in which `, ` separates the notes. The possible notes are:
    - `nullable 4+`: null is allowed in these versions.
    - `default -1`, `default null`: the default value.
    - `ignorable`: in versions without the field, the encoder drops its value instead of raising an error.
    - `tag 0`: the field is a tagged field with the tag 0 (KIP-482).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from uuid import UUID

if TYPE_CHECKING:
    from collections.abc import Sequence

Rows: TypeAlias = "tuple[Row, ...]"
Row: TypeAlias = (
    "tuple[str, str, str] | tuple[str, str, str, str] | tuple[str, str, str, Rows] | tuple[str, str, str, str, Rows]"
)

Default: TypeAlias = bool | int | str | bytes | UUID | None
"""The Python types that the default value of a primitive field can have."""

FIXED = {"bool": "?", "int8": "b", "int16": "h", "uint16": "H", "int32": "i", "int64": "q", "uuid": "16s"}
"""Primitive type of fixed size → its format character in Python's `struct` module."""

SIZES = {"bool": 1, "int8": 1, "int16": 2, "uint16": 2, "int32": 4, "int64": 8, "uuid": 16}
"""Primitive type of fixed size → its size in bytes."""

UNKNOWN_TAGS = "unknownTaggedFields"
"""Key under which strict decoders (`Message.strict`) store a dict of unknown tagged fields: tag number → bytes."""

NEWEST = 32767
"""Value of `Versions.high` for a range without an upper limit, such as `3+`."""


class Versions(NamedTuple):
    """A range of versions, from `low` to `high` inclusive. The range is empty if `high < low`."""

    low: int
    high: int

    @classmethod
    def parse(cls, text: str) -> Versions:
        """Parse a range such as `3+`, `0-7` or `5`."""
        if text.endswith("+"):
            return cls(int(text[:-1]), NEWEST)
        low, _, high = text.partition("-")
        return cls(int(low), int(high or low))

    def has(self, version: int) -> bool:
        return self.low <= version <= self.high


NEVER = Versions(0, -1)
"""A range that contains no version."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a struct. `versions` is the range of the versions that contain the field."""

    name: str
    type: str
    """Name of a primitive type or struct, without the `[]` of arrays."""
    array: bool
    """Whether the field is an array of `type`."""
    versions: Versions
    nullable: Versions = NEVER
    default: Default = None
    """Default value of a primitive field. For structs and arrays, use `default_value` instead."""
    null_by_default: bool = False
    """Whether the default value is null."""
    ignorable: bool = False
    """Whether encoders drop the value in versions without this field. If False, they raise an error instead.

    Default values are always dropped.
    """
    tag: int | None = None
    struct: Struct | None = None


@dataclass(frozen=True, slots=True)
class Struct:
    """The fields of a message or of a struct in a message, in the order in which they are encoded."""

    name: str
    fields: tuple[Field, ...] = field(default=())

    def untagged(self, version: int) -> list[Field]:
        """Return the fields that exist in `version` and are not tagged, in the order in which they are encoded."""
        return [f for f in self.fields if f.tag is None and f.versions.has(version)]

    def tagged(self, version: int) -> list[tuple[int, Field]]:
        """Return `(tag, field)` for each tagged field that exists in `version`, in ascending order of tags."""
        tagged = [(f.tag, f) for f in self.fields if f.tag is not None and f.versions.has(version)]
        return sorted(tagged, key=lambda pair: pair[0])

    def absent(self, version: int) -> list[Field]:
        """Return the fields that do not exist in `version`."""
        return [f for f in self.fields if not f.versions.has(version)]


def parse(name: str, rows: Rows) -> Struct:
    """Parse the rows of one struct. Raises ValueError if a row is malformed."""
    return Struct(name, tuple(_field(row) for row in rows))


def default_value(field: Field, empty_array: Sequence[object] = ()) -> object:
    """Return the default value of a field.

    This is None if the default is null, `empty_array` for an array, and a dict with the fields' defaults for a struct.
    """
    if field.null_by_default:
        return None
    if field.array:
        return empty_array
    if field.struct is not None:
        return {inner.name: default_value(inner, empty_array) for inner in field.struct.fields}
    return field.default


def _field(row: Row) -> Field:
    name, type_name, versions = row[:3]
    notes, rows = "", None
    for extra in row[3:]:
        if isinstance(extra, str):
            notes = extra
        else:
            rows = extra
    array = type_name.startswith("[]")
    base = type_name.removeprefix("[]")
    if (rows is None) != (base in FIXED or base in {"string", "bytes"}):
        if rows is None:
            raise ValueError(f"{name}: the struct {type_name} must have rows")
        raise ValueError(f"{name}: the primitive type {type_name} cannot have rows")
    nullable, text, ignorable, tag = _notes(name, notes)
    plain = rows is None and not array
    return Field(
        name=name,
        type=base,
        array=array,
        versions=Versions.parse(versions),
        nullable=nullable,
        default=_default(base, text) if plain else None,
        null_by_default=text == "null",
        ignorable=ignorable,
        tag=tag,
        struct=None if rows is None else parse(base, rows),
    )


def _notes(name: str, notes: str) -> tuple[Versions, str | None, bool, int | None]:
    nullable, default, ignorable, tag = NEVER, None, False, None
    for note in filter(None, notes.split(", ")):
        word, _, rest = note.partition(" ")
        match word:
            case "nullable":
                nullable = Versions.parse(rest)
            case "default":
                default = rest
            case "ignorable":
                ignorable = True
            case "tag":
                tag = int(rest)
            case _:
                raise ValueError(f"{name}: {note} is not a note; use nullable, default, ignorable or tag")
    return nullable, default, ignorable, tag


def _default(type_name: str, text: str | None) -> Default:
    if text == "null":
        return None
    match type_name:
        case "string":
            return text or ""
        case "bytes":
            return b""
        case "uuid":
            return UUID(int=0)
        case "bool":
            return text == "true"
        case _:
            return int(text or 0)
