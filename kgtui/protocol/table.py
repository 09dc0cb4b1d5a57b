"""The language of the message tables, and what it is parsed to.

A message is a tuple of rows, a row is `(name, type, versions[, notes][, rows of its struct])`::

    ("GroupState", "string", "4+", "ignorable")
    ("Members", "[]Member", "0+", _MEMBER)

- name, type and versions are those of Kafka's own schema of the message;
- types: bool, int8, int16, uint16, int32, int64, string, bytes, uuid, a struct's name, `[]` before any of them;
- versions: `3+`, `0-7`, `5`;
- notes, separated by commas: `nullable 4+`, `default -1` (`default null`), `ignorable`, `tag 0` (the field is
  in the tagged section of every version that has it).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias
from uuid import UUID

Rows: TypeAlias = "tuple[Row, ...]"
Row: TypeAlias = (
    "tuple[str, str, str] | tuple[str, str, str, str] | tuple[str, str, str, Rows] | tuple[str, str, str, str, Rows]"
)

Default: TypeAlias = bool | int | str | bytes | UUID | None
"""The default of a field that is neither a struct nor an array."""

FIXED = {"bool": "?", "int8": "b", "int16": "h", "uint16": "H", "int32": "i", "int64": "q", "uuid": "16s"}
"""Types of fixed size, and their letters for `struct`."""

SIZES = {"bool": 1, "int8": 1, "int16": 2, "uint16": 2, "int32": 4, "int64": 8, "uuid": 16}
"""Bytes that a type of fixed size takes."""

NEWEST = 32767


class Versions(NamedTuple):
    """A range of versions, both ends included; empty when `high < low`."""

    low: int
    high: int

    @classmethod
    def parse(cls, text: str) -> Versions:
        """Read `3+`, `0-7` or `5`."""
        if text.endswith("+"):
            return cls(int(text[:-1]), NEWEST)
        low, _, high = text.partition("-")
        return cls(int(low), int(high or low))

    def has(self, version: int) -> bool:
        """Whether `version` lies in the range."""
        return self.low <= version <= self.high


NEVER = Versions(0, -1)


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a struct, in all versions."""

    name: str
    kind: str
    """The type without `[]`: a primitive's name, or the name of the struct."""
    array: bool
    versions: Versions
    nullable: Versions = NEVER
    default: Default = None
    """What a missing value is; for a struct or array None only if `null_by_default`."""
    null_by_default: bool = False
    ignorable: bool = False
    tag: int | None = None
    struct: Struct | None = None


@dataclass(frozen=True, slots=True)
class Struct:
    """The fields of a message, or of a struct inside one, in the order of the wire."""

    name: str
    fields: tuple[Field, ...] = field(default=())

    def untagged(self, version: int) -> list[Field]:
        """Fields that `version` writes in sequence."""
        return [f for f in self.fields if f.tag is None and f.versions.has(version)]

    def tagged(self, version: int) -> list[tuple[int, Field]]:
        """Fields that `version` writes in the tagged section, by tag."""
        found = [(f.tag, f) for f in self.fields if f.tag is not None and f.versions.has(version)]
        return sorted(found, key=lambda pair: pair[0])

    def absent(self, version: int) -> list[Field]:
        """Fields that `version` does not have."""
        return [f for f in self.fields if not f.versions.has(version)]


def parse(name: str, rows: Rows) -> Struct:
    """Read the rows of one struct; raises ValueError for a mistake in them."""
    return Struct(name, tuple(_field(row) for row in rows))


def _field(row: Row) -> Field:
    name, type_name, versions = row[:3]
    notes, rows = "", None
    for extra in row[3:]:
        if isinstance(extra, str):
            notes = extra
        else:
            rows = extra
    array = type_name.startswith("[]")
    kind = type_name.removeprefix("[]")
    if (rows is None) != (kind in FIXED or kind in {"string", "bytes"}):
        raise ValueError(f"{name}: {type_name} is not a type, or has rows it should not have")
    nullable, text, ignorable, tag = _notes(name, notes)
    plain = rows is None and not array
    return Field(
        name=name,
        kind=kind,
        array=array,
        versions=Versions.parse(versions),
        nullable=nullable,
        default=_default(kind, text) if plain else None,
        null_by_default=text == "null",
        ignorable=ignorable,
        tag=tag,
        struct=None if rows is None else parse(kind, rows),
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
                raise ValueError(f"{name}: {note} is not a note")
    return nullable, default, ignorable, tag


def _default(kind: str, text: str | None) -> Default:
    if text == "null":
        return None
    match kind:
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
