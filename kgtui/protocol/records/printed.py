"""Records as Kafka prints them: the JSON of its CoordinatorRecordJsonConverters and message formatters."""

from __future__ import annotations

from base64 import b64encode, urlsafe_b64encode
from typing import TYPE_CHECKING, Any
from uuid import UUID

from kgtui.protocol.encoder import default_of
from kgtui.protocol.records.decoding import KINDS
from kgtui.protocol.records.kind import KEY_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kgtui.protocol.records.decoding import CoordinatorRecord
    from kgtui.protocol.table import Field, Struct


def printed_uuid(value: UUID) -> str:
    """A UUID as Kafka prints it (`Uuid.toString`): URL-safe base64, 22 characters."""
    return urlsafe_b64encode(value.bytes).rstrip(b"=").decode()


def as_json(record: CoordinatorRecord) -> dict[str, Any]:
    """Return `{"key": {"type", "data"}, "value": {"version", "data"} or None}` of what `json` can write.

    Names begin with a small letter, UUIDs are in Kafka's base64, bytes in plain base64; tagged fields that hold
    their default, and fields that the version of the value lacks, are left out.
    """
    kind = KINDS[record.type]
    key = {"type": record.type.value, "data": _struct(kind.key.struct, KEY_VERSION, record.key)}
    if record.value is None or record.version is None:
        return {"key": key, "value": None}
    data = _struct(kind.value.struct, record.version, record.value)
    return {"key": key, "value": {"version": record.version, "data": data}}


def _struct(struct: Struct, version: int, value: Mapping[str, Any]) -> dict[str, Any]:
    printed: dict[str, Any] = {}
    for field in struct.fields:
        if not field.versions.has(version):
            continue
        got = value[field.name]
        if field.tag is None or got != default_of(field, []):
            printed[field.name[0].lower() + field.name[1:]] = _value(field, version, got)
    return printed


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
        return printed_uuid(value)
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return value
