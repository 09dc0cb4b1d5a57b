"""Decode and encode the metadata and assignments that members of classic groups exchange.

Brokers pass these bytes on without reading them. Each module handles one protocol type: `consumer` (consumers and Kafka
Streams), `connect` (Kafka Connect) and `schema_registry`. The decoding functions never raise an exception, because a
client may send anything; they return None for bytes that are empty or malformed. The functions in this file are shared
by `consumer` and `connect`, whose data begins with a version.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any

from kgtui.errors import DecodeError

if TYPE_CHECKING:
    from kgtui.protocol.api import Message

_VERSION = Struct(">h")

HEADER_SIZE = _VERSION.size
"""Size in bytes of the version at the start of metadata and assignments of consumers and Connect workers."""


def version_of(data: bytes) -> int | None:
    """Return the version at the start of metadata or of an assignment; None if the version is missing or negative."""
    if len(data) < HEADER_SIZE:
        return None
    version = int(_VERSION.unpack_from(data)[0])
    return version if version >= 0 else None


def version_bytes(version: int) -> bytes:
    """Encode the version at the start of metadata or of an assignment."""
    return _VERSION.pack(version)


def decode_versioned(message: Message, version: int, data: bytes) -> dict[str, Any] | None:
    """Decode the metadata or assignment in `data`, which begins with `version`.

    Returns None if `data` does not match any version of `message`. If kgtui does not know `version`, because it is
    newer than `message.high`, `data` is decoded as version `message.high`.

    Some clients write a version but omit the last fields of that version. Their data is decoded as an older version,
    but only if it ends exactly where a message of the older version ends. Without this check, damaged data could be
    decoded successfully, for example as a member without partitions.
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
