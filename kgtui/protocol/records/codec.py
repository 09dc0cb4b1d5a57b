"""Decode and encode the records of `__consumer_offsets`, and format them as Kafka's console consumer does."""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64encode
from dataclasses import dataclass
from enum import StrEnum
from struct import Struct as Packing
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import UUID

from kgtui.errors import DecodeError
from kgtui.protocol.member_data import connect, consumer, schema_registry
from kgtui.protocol.records.schemas import KEY_VERSION, RECORD_SCHEMAS, RecordType
from kgtui.protocol.schema import UNKNOWN_TAGS, default_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kgtui.protocol.api import Message
    from kgtui.protocol.schema import Field, Struct

# A key begins with the record type, and a value with its version. Both are int16 numbers.
_HEADER = Packing(">h")
_HEADER_SIZE = _HEADER.size
_read_header = _HEADER.unpack_from


@dataclass(frozen=True, slots=True)
class CoordinatorRecord:
    """A decoded record of `__consumer_offsets`, which a group coordinator has written."""

    type: RecordType
    key: Mapping[str, Any]
    """The decoded key: name of a field in Kafka's schema → content. Structs are dicts, and arrays are lists."""
    value: Mapping[str, Any] | None
    """The decoded value: name of a field in Kafka's schema → content. None for a tombstone.

    Fields that the value's version lacks have their defaults. Unknown tagged fields are under the key `UNKNOWN_TAGS`.
    """
    version: int | None
    """The version in which the value was encoded; None for a tombstone."""

    @property
    def group(self) -> str:
        """Id of the group that the record describes."""
        group: str = self.key["GroupId"] if "GroupId" in self.key else self.key["group"]
        return group

    @property
    def member(self) -> str | None:
        """Id of the member that the record describes; None if the record does not describe a single member."""
        return self.key.get("MemberId")


class DecodeFailure(StrEnum):
    """Why a record cannot be decoded."""

    UNKNOWN_TYPE = "unknown type"
    """kgtui does not know the record type, for example because a newer broker wrote the record."""
    UNKNOWN_VERSION = "unknown version"
    """kgtui does not know the version in which the value is encoded."""
    DAMAGED_KEY = "damaged key"
    """The key is missing or malformed."""
    DAMAGED_VALUE = "damaged value"
    """The value is too short to contain a version, or does not match the schema of its version."""


@dataclass(frozen=True, slots=True)
class Undecodable:
    """Why a record cannot be decoded. The Spark pipeline stores undecodable records in a quarantine table."""

    failure: DecodeFailure
    reason: str
    """A message for the user. It contains no data from the record."""
    type: int | None = None
    """The number of the record type; None if the key is missing or too short."""
    version: int | None = None
    """The version of the value.

    None if the key is malformed, the record type is unknown, or the value is too short to contain a version.
    """


def decode(key: bytes | None, value: bytes | None) -> CoordinatorRecord | Undecodable:
    """Decode one record of `__consumer_offsets`. If it cannot be decoded, return `Undecodable` and raise no error.

    A record with invalid UTF-8, or with bytes after its last field, is undecodable, because no broker writes such
    records.
    """
    if key is None or len(key) < _HEADER_SIZE:
        return Undecodable(
            DecodeFailure.DAMAGED_KEY, "the record has no key" if key is None else _too_short("key", key)
        )
    (number,) = _read_header(key)
    schema = RECORD_SCHEMAS.get(number)
    if schema is None:
        return Undecodable(DecodeFailure.UNKNOWN_TYPE, f"record type {number} is not known", number)
    try:
        fields = schema.key.decode(KEY_VERSION, key, _HEADER_SIZE)
    except DecodeError as error:
        return Undecodable(DecodeFailure.DAMAGED_KEY, str(error), number)
    if value is None:
        return CoordinatorRecord(schema.type, fields, None, None)
    if len(value) < _HEADER_SIZE:
        return Undecodable(DecodeFailure.DAMAGED_VALUE, _too_short("value", value), number)
    (version,) = _read_header(value)
    message = value_message(schema.type, version)
    if not 0 <= version <= message.high:
        reason = f"{message.name} is supported in versions 0 to {message.high}, not {version}"
        return Undecodable(DecodeFailure.UNKNOWN_VERSION, reason, number, version)
    try:
        return CoordinatorRecord(schema.type, fields, message.decode(version, value, _HEADER_SIZE), version)
    except DecodeError as error:
        return Undecodable(DecodeFailure.DAMAGED_VALUE, str(error), number, version)


def value_message(record_type: RecordType, version: int) -> Message:
    """Return the `Message` object that encodes and decodes values of this record type and version.

    Before Kafka 4, records of type 0 could contain a value of version 1 or higher. Such a value has the same format as
    the value of a record of type 1.
    """
    if record_type is RecordType.LEGACY_OFFSET_COMMIT and version != 0:
        record_type = RecordType.OFFSET_COMMIT
    return RECORD_SCHEMAS[record_type].value


def encode(
    record_type: RecordType, key: Mapping[str, Any], value: Mapping[str, Any] | None, *, version: int | None = None
) -> tuple[bytes, bytes | None]:
    """Encode a record as `(key, value)`, or a tombstone as `(key, None)` if `value` is None.

    Args:
        version: version of the value; None for the newest version.

    Raises:
        EncodeError: the content of a field has the wrong type, or this version lacks a field whose content must not be
            dropped (see `Message.encode`).
    """
    schema = RECORD_SCHEMAS[record_type]
    written = _HEADER.pack(record_type) + schema.key.encode(KEY_VERSION, key)
    if value is None:
        return written, None
    version = schema.value.high if version is None else version
    body = schema.value.encode(version, value)
    return written, _HEADER.pack(version) + body


def _too_short(part: str, data: bytes) -> str:
    return f"the {part} has only {len(data)} bytes"


def format_uuid(value: UUID) -> str:
    """Format a UUID as Kafka's `Uuid.toString`: 22 characters of URL-safe base64."""
    return urlsafe_b64encode(value.bytes).rstrip(b"=").decode()


def as_json(record: CoordinatorRecord) -> dict[str, Any]:
    """Convert a record to the dict that Kafka's console consumer prints as JSON (CoordinatorRecordJsonConverters).

    The result is `{"key": {"type": …, "data": …}, "value": {"version": …, "data": …} or None}`. UUIDs are in URL-safe
    base64, bytes in standard base64. Unlike Kafka, kgtui also includes unknown tagged fields (`unknownTaggedFields`).
    """
    schema = RECORD_SCHEMAS[record.type]
    key = {"type": record.type.value, "data": _struct(schema.key.struct, KEY_VERSION, record.key)}
    if record.value is None or record.version is None:
        return {"key": key, "value": None}
    data = _struct(value_message(record.type, record.version).struct, record.version, record.value)
    return {"key": key, "value": {"version": record.version, "data": data}}


def _struct(struct: Struct, version: int, value: Mapping[str, Any]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for field in struct.fields:
        if not field.versions.has(version):
            continue
        field_value = value[field.name]
        if field.tag is None or field_value != default_value(field, []):
            fields[field.name[0].lower() + field.name[1:]] = _value(field, version, field_value)
    if UNKNOWN_TAGS in value:
        fields[UNKNOWN_TAGS] = unknown_tags(value)
    return fields


def unknown_tags(value: Mapping[str, Any]) -> dict[str, str]:
    """Return the unknown tagged fields of a decoded struct, as a dict: tag number as text → content in base64."""
    return {str(number): b64encode(content).decode() for number, content in sorted(value.get(UNKNOWN_TAGS, {}).items())}


def _value(field: Field, version: int, value: Any) -> Any:
    if value is None:
        return None
    if field.array:
        return [_single(field, version, item) for item in value]
    return _single(field, version, value)


def _single(field: Field, version: int, value: Any) -> Any:
    if field.struct is not None:
        return _struct(field.struct, version, value)
    if isinstance(value, UUID):
        return format_uuid(value)
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return value


Subscription: TypeAlias = consumer.Subscription | connect.Subscription | schema_registry.Identity
"""The decoded metadata of a group member: a consumer, a Connect worker or a schema registry."""

Assignment: TypeAlias = consumer.TopicPartitions | connect.Assignment | schema_registry.Assignment
"""The decoded assignment of a group member: a consumer, a Connect worker or a schema registry."""

_DECODERS: dict[str, Any] = {
    "consumer": (consumer.decode_subscription, consumer.decode_assignment),
    "connect": (connect.decode_subscription, connect.decode_assignment),
    "sr": (schema_registry.decode_identity, schema_registry.decode_assignment),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicMember:
    """One member of a classic group, as stored in the GroupMetadata record of the group."""

    member_id: str
    instance_id: str | None
    """Instance id of a static member (KIP-345). None if the member is not static, or in record versions before 3."""
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    """Rebalance timeout in milliseconds; -1 in version 0 of the record."""
    session_timeout_ms: int
    subscription: Subscription | None
    assignment: Assignment | None
    raw_subscription: bytes
    raw_assignment: bytes


def classic_members(record: CoordinatorRecord) -> tuple[ClassicMember, ...]:
    """Decode the members in a GroupMetadata record. Return an empty tuple for other records and for tombstones."""
    if record.type is not RecordType.GROUP_METADATA or record.value is None:
        return ()
    decode_subscription, decode_assignment = _DECODERS.get(record.value["protocolType"], (_unknown, _unknown))
    return tuple(
        ClassicMember(
            member_id=member["memberId"],
            instance_id=member["groupInstanceId"],
            client_id=member["clientId"],
            client_host=member["clientHost"],
            rebalance_timeout_ms=member["rebalanceTimeout"],
            session_timeout_ms=member["sessionTimeout"],
            subscription=decode_subscription(member["subscription"]),
            assignment=decode_assignment(member["assignment"]),
            raw_subscription=member["subscription"],
            raw_assignment=member["assignment"],
        )
        for member in record.value["members"]
    )


def _unknown(_: bytes) -> None:
    return None
