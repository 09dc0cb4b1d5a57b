"""What the generated codecs call at run time: variable-length integers and the errors of a bad frame."""

from __future__ import annotations

from functools import lru_cache
from uuid import UUID

from kgtui.errors import DecodeError, EncodeError

MAX_STRING = 0x7FFF
"""The longest string or key that Kafka writes, in bytes of UTF-8."""


def uvarint(data: bytes, pos: int) -> tuple[int, int]:
    """Read an unsigned variable-length integer of at most five bytes; return it and where the next field starts.

    Raises IndexError at the end of the data, DecodeError when no fifth byte ends it.
    """
    value = shift = 0
    while True:
        byte = data[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, pos
        shift += 7
        if shift > 28:
            raise DecodeError("a variable-length integer has more than five bytes", pos)


def uvarint_bytes(value: int) -> bytes:
    """Write an unsigned variable-length integer."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


@lru_cache(maxsize=4096)
def uuid(data: bytes) -> UUID:
    """Read a UUID; those of topics come again and again, and making one takes longer than finding it."""
    return UUID(bytes=data)


def truncated(what: str, pos: int) -> DecodeError:
    """The frame ends inside a field."""
    return DecodeError(f"{what} ends too early", pos)


def is_null(what: str, field: str, pos: int) -> DecodeError:
    """A field that cannot be null in this version is."""
    return DecodeError(f"{what}: {field} is null, which this version does not allow", pos)


def too_long(what: str, field: str, length: int, pos: int) -> DecodeError:
    """A length or count says more than the rest of the frame can hold."""
    return DecodeError(f"{what}: {field} claims {length} but the frame is shorter", pos)


def left_over(what: str, size: int, pos: int) -> DecodeError:
    """Bytes follow where a strict message ends."""
    return DecodeError(f"{what} is followed by {size} bytes that do not belong to it", pos)


def not_utf8(what: str, pos: int) -> DecodeError:
    """A text of a strict message is no text."""
    return DecodeError(f"{what} has a text that is not UTF-8", pos)


def cannot_be_null(what: str, field: str) -> EncodeError:
    """None was given for a field that cannot be null in this version."""
    return EncodeError(f"{what}: {field} cannot be null in this version")


def string_too_long(what: str, field: str, length: int) -> EncodeError:
    """A string is longer than Kafka allows."""
    return EncodeError(f"{what}: {field} has {length} bytes; Kafka allows {MAX_STRING}")


def not_in_version(what: str, field: str) -> EncodeError:
    """A value was given that this version cannot carry and that may not be dropped silently."""
    return EncodeError(f"{what} has no {field} in this version, and it may not be left out")


def unknown_fields(what: str, names: list[str]) -> EncodeError:
    """A value has keys that no version of the message has."""
    return EncodeError(f"{what} has no field {', '.join(names)}")


def tag_section(tags: list[tuple[int, bytes | bytearray]]) -> bytes:
    """Write a section of tagged fields, given in ascending order of their tags."""
    parts = [uvarint_bytes(len(tags))]
    for tag, content in tags:
        parts += (uvarint_bytes(tag), uvarint_bytes(len(content)), bytes(content))
    return b"".join(parts)


def skip_tags(data: bytes, pos: int) -> int:
    """Return where the section of tagged fields that starts at `pos` ends.

    Raises IndexError or DecodeError when it does not end inside the data.
    """
    count, pos = uvarint(data, pos)
    end = len(data)
    for _ in range(count):
        _tag, pos = uvarint(data, pos)
        size, pos = uvarint(data, pos)
        pos += size
        if pos > end:
            raise DecodeError(f"a tagged field claims {size} bytes but the frame is shorter", pos)
    return pos
