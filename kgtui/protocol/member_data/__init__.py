"""Decode and encode the metadata and assignments that members of classic groups exchange.

Brokers pass these bytes from member to member without changing them. The format depends on the group's protocol type.
There is one module per protocol type: `consumer` (also for Kafka Streams), `connect` and `schema_registry`. For empty
or malformed bytes, the decoders return None instead of raising an error.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any

from kgtui.errors import DecodeError

if TYPE_CHECKING:
    from kgtui.protocol.api import Message

_VERSION = Struct(">h")

HEADER_SIZE = _VERSION.size
"""Size of the version number at the start of `consumer` and `connect` data, in bytes."""


def version_of(data: bytes) -> int | None:
    """Return the version at the start of a member's metadata or assignment, or None if it is missing or negative."""
    if len(data) < HEADER_SIZE:
        return None
    version = int(_VERSION.unpack_from(data)[0])
    return version if version >= 0 else None


def version_bytes(version: int) -> bytes:
    return _VERSION.pack(version)


def decode_versioned(message: Message, version: int, data: bytes) -> dict[str, Any] | None:
    """Decode `data` into a dict. Return None if `data` matches neither `version` nor an older version of `message`.

    Some clients write a version at the start of `data`, but omit the last fields of this version. Such data is decoded
    as the newest older version that matches it. An older version matches if encoding the decoded dict gives the same
    bytes again.

    Args:
        version: the version that is tried first. If it is above `message.high`, `message.high` is tried first.
        data: encoded data. The version at its start is skipped.
    """
    version = min(version, message.high)
    try:
        return message.decode(version, data, HEADER_SIZE)
    except DecodeError:
        pass
    for older in range(version - 1, message.low - 1, -1):
        try:
            value = message.decode(older, data, HEADER_SIZE)
        except DecodeError:
            continue
        if message.encode(older, value) == data[HEADER_SIZE:]:
            return value
    return None
