"""What the readers of member bytes share: nothing that a member wrote may raise."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any

from kgtui.errors import DecodeError

if TYPE_CHECKING:
    from kgtui.protocol.schema import Message

_VERSION = Struct(">h")

HEADER_SIZE = _VERSION.size
"""Bytes of the version in front of consumer and Connect data."""


def version_of(data: bytes) -> int | None:
    """Return the version that the bytes begin with, None when there is none or it is negative."""
    if len(data) < HEADER_SIZE:
        return None
    version = int(_VERSION.unpack_from(data)[0])
    return version if version >= 0 else None


def version_bytes(version: int) -> bytes:
    """Write the version that stands in front of the bytes."""
    return _VERSION.pack(version)


def decode_fitting(message: Message, version: int, data: bytes) -> dict[str, Any] | None:
    """Decode what follows the version in front, or return None when it does not fit.

    A version newer than ours is read as our newest. Some clients claim a version and leave out its last fields:
    an older version is taken if the bytes end exactly where that version ends, so that damaged bytes are never
    shown as an empty list.
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
