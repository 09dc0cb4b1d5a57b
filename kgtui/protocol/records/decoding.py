"""From the key and value of a record to what it says, and back."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from struct import Struct
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from kgtui.errors import DecodeError
from kgtui.protocol.records import classic_groups, consumer_groups, offset_commits, share_groups, streams_groups
from kgtui.protocol.records.kind import KEY_VERSION, RecordType

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kgtui.protocol.records.kind import Kind

_TABLES = (offset_commits, classic_groups, consumer_groups, share_groups, streams_groups)
_KINDS: dict[int, Kind] = {kind.type.value: kind for tables in _TABLES for kind in tables.KINDS}

KINDS: Mapping[int, Kind] = MappingProxyType(_KINDS)
"""Every kind of record, by the number that its keys begin with."""

# What both a key and a value begin with: its type or its version.
_HEADER = Struct(">h")
_HEADER_SIZE = _HEADER.size
_read_header = _HEADER.unpack_from


@dataclass(frozen=True, slots=True)
class CoordinatorRecord:
    """One record that a group coordinator wrote."""

    type: RecordType
    key: Mapping[str, Any]
    """The fields of the key, by the names of Kafka's schemas: structs are dicts, arrays lists."""
    value: Mapping[str, Any] | None
    """The fields of the value likewise, those that its version lacks with their defaults; None is a tombstone."""
    version: int | None
    """The version of the value, None of a tombstone."""

    @property
    def group(self) -> str:
        """The id of the group that it is about; every record has one."""
        group: str = self.key["GroupId"] if "GroupId" in self.key else self.key["group"]
        return group

    @property
    def member(self) -> str | None:
        """The id of the member that it is about, None when it is about the group."""
        return self.key.get("MemberId")


class Fault(StrEnum):
    """Why a record cannot be decoded, in one word for counting."""

    UNKNOWN_TYPE = "unknown type"
    """No record that we know, such as one of a newer broker."""
    UNKNOWN_VERSION = "unknown version"
    """A version of the value that we do not know."""
    DAMAGED_KEY = "damaged key"
    DAMAGED_VALUE = "damaged value"


@dataclass(frozen=True, slots=True)
class Undecodable:
    """A record that says nothing: its bytes belong into a quarantine, with this beside them."""

    fault: Fault
    reason: str
    """A sentence with the numbers in it; nothing of the record's own text."""
    type: int | None = None
    """The number that the key begins with, None if it has not even that."""
    version: int | None = None
    """The number that the value begins with, if the key was good and the value has one."""


def decode(key: bytes | None, value: bytes | None) -> CoordinatorRecord | Undecodable:
    """Read one record of `__consumer_offsets`; never raises, whatever the bytes are.

    Memory and time are bounded by the size of the record. Bytes that follow the last field, and text that is not
    UTF-8, are damage: no broker writes them.
    """
    if key is None or len(key) < _HEADER_SIZE:
        return Undecodable(Fault.DAMAGED_KEY, "there is no key" if key is None else _too_short("key", key))
    (number,) = _read_header(key)
    kind = _KINDS.get(number)
    if kind is None:
        return Undecodable(Fault.UNKNOWN_TYPE, f"records of type {number} are not known", number)
    try:
        fields = kind.key.decode(KEY_VERSION, key, _HEADER_SIZE)
    except DecodeError as error:
        return Undecodable(Fault.DAMAGED_KEY, str(error), number)
    if value is None:
        return CoordinatorRecord(kind.type, fields, None, None)
    if len(value) < _HEADER_SIZE:
        return Undecodable(Fault.DAMAGED_VALUE, _too_short("value", value), number)
    (version,) = _read_header(value)
    if not 0 <= version <= kind.value.high:
        reason = f"{kind.value.name} is known in versions 0 to {kind.value.high}, not {version}"
        return Undecodable(Fault.UNKNOWN_VERSION, reason, number, version)
    try:
        return CoordinatorRecord(kind.type, fields, kind.value.decode(version, value, _HEADER_SIZE), version)
    except DecodeError as error:
        return Undecodable(Fault.DAMAGED_VALUE, str(error), number, version)


def encode(
    record_type: RecordType, key: Mapping[str, Any], value: Mapping[str, Any] | None, *, version: int | None = None
) -> tuple[bytes, bytes | None]:
    """Write the key and value of a record, in the newest version of the value unless told; None is a tombstone.

    Raises EncodeError for what this version of the value cannot carry.
    """
    kind = _KINDS[record_type]
    written = _HEADER.pack(record_type) + kind.key.encode(KEY_VERSION, key)
    if value is None:
        return written, None
    version = kind.value.high if version is None else version
    body = kind.value.encode(version, value)
    return written, _HEADER.pack(version) + body


def _too_short(what: str, data: bytes) -> str:
    return f"{len(data)} bytes are no {what}"
