"""Decode and encode the primitive types of Kafka's protocol, and build the errors for malformed data.

The arguments `message` and `field` are names for error messages, such as `ListGroupsResponse v4` and `GroupId`. The
argument `pos` is a position in the data, in bytes.
"""

from __future__ import annotations

from functools import lru_cache
from struct import Struct
from uuid import UUID

from kgtui.errors import DecodeError, EncodeError

MAX_STRING = 0x7FFF
"""Maximum length of a string in UTF-8, in bytes. It is the largest signed 16-bit integer."""

INT16 = Struct(">h").unpack_from
"""Function: `INT16(data, pos)` reads the big-endian int16 at `pos`, and returns it in a tuple of length 1."""

INT32 = Struct(">i").unpack_from
"""Function: `INT32(data, pos)` reads the big-endian int32 at `pos`, and returns it in a tuple of length 1."""


def uvarint(data: bytes, pos: int) -> tuple[int, int]:
    """Read an unsigned varint at `pos`. Return its value and the position after it.

    Raises:
        IndexError: the data ends inside the integer.
        DecodeError: the integer has more than five bytes.
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
    """Encode an unsigned varint."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


@lru_cache(maxsize=4096)
def uuid(data: bytes) -> UUID:
    """Read a UUID from its 16 bytes. Results are cached, because the same topic ids occur again and again."""
    return UUID(bytes=data)


def utf8(data: bytes, start: int, stop: int) -> str:
    """Decode `data[start:stop]` as UTF-8.

    Invalid bytes become lone surrogates. Encoding the string with the error handler `surrogateescape` restores them.
    """
    raw = data[start:stop]
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("utf-8", "surrogateescape")


def nullable_string(message: str, field: str, data: bytes, pos: int, *, flexible: bool) -> tuple[str | None, int]:
    """Read a string or null at `pos`. Return the value and the position of the next field."""
    if flexible:
        length, pos = uvarint(data, pos)
        length -= 1
    else:
        (length,) = INT16(data, pos)
        pos += 2
    if length < 0:
        return None, pos
    stop = pos + length
    if stop > len(data):
        raise too_long(message, field, length, pos)
    return utf8(data, pos, stop), stop


def string(message: str, field: str, data: bytes, pos: int, *, flexible: bool) -> tuple[str, int]:
    """Read a string at `pos`. Return the string and the position of the next field. Raises DecodeError for null."""
    value, stop = nullable_string(message, field, data, pos, flexible=flexible)
    if value is None:
        raise is_null(message, field, stop)
    return value, stop


def array_length(message: str, field: str, data: bytes, pos: int, least: int, *, flexible: bool) -> tuple[int, int]:
    """Read the length of the array at `pos`. Return the length and the position of the first element.

    Args:
        least: minimum size of one encoded element, in bytes.

    Raises:
        DecodeError: the array is null, or the rest of `data` is too short for so many elements.
    """
    if flexible:
        number, pos = uvarint(data, pos)
        number -= 1
    else:
        (number,) = INT32(data, pos)
        pos += 4
    if number < 0:
        raise is_null(message, field, pos)
    if number * least > len(data) - pos:
        raise too_long(message, field, number, pos)
    return number, pos


def as_bytes(body: bytes | memoryview) -> bytes:
    """Return `body` as bytes. A memoryview is copied, but a bytes object is returned as it is."""
    return body if isinstance(body, bytes) else bytes(body)


def compact_length(count: int) -> bytes:
    """Encode the length of a compact array or string (KIP-482), which is stored as `count + 1`."""
    return uvarint_bytes(count + 1)


def compact_string(value: str) -> bytes:
    """Encode a compact string (KIP-482)."""
    raw = value.encode("utf-8", "surrogateescape")
    return compact_length(len(raw)) + raw


def tag_section(tags: list[tuple[int, bytes | bytearray]]) -> bytes:
    """Encode a section of tagged fields (KIP-482). `tags` are pairs `(tag, content)` in ascending order of tags."""
    parts = [uvarint_bytes(len(tags))]
    for tag, content in tags:
        parts += (uvarint_bytes(tag), uvarint_bytes(len(content)), bytes(content))
    return b"".join(parts)


def skip_tags(data: bytes, pos: int) -> int:
    """Return the position after the section of tagged fields that begins at `pos`.

    Raises IndexError or DecodeError if `data` ends inside the section.
    """
    count, pos = uvarint(data, pos)
    end = len(data)
    for _ in range(count):
        _tag, pos = uvarint(data, pos)
        size, pos = uvarint(data, pos)
        pos += size
        if pos > end:
            raise DecodeError(f"a tagged field has a length of {size} bytes, but fewer bytes are left", pos)
    return pos


def truncated(message: str, pos: int) -> DecodeError:
    """Build the error for data that ends inside a field."""
    return DecodeError(f"{message} ends too early", pos)


def is_null(message: str, field: str, pos: int) -> DecodeError:
    """Build the error for a received null in a field that is not nullable in this version."""
    return DecodeError(f"{message}: {field} is null, which this version does not allow", pos)


def too_long(message: str, field: str, length: int, pos: int) -> DecodeError:
    """Build the error for a string, array or tagged field that is too long for the rest of the message."""
    return DecodeError(f"{message}: {field} has a length of {length}, but the message ends earlier", pos)


def trailing_bytes(message: str, size: int, pos: int) -> DecodeError:
    """Build the error for extra bytes after the end of a message, which strict decoders reject (`Message.strict`)."""
    return DecodeError(f"{message} is followed by {size} bytes that do not belong to it", pos)


def not_utf8(message: str, pos: int) -> DecodeError:
    """Build the error for a string that is not UTF-8, which strict decoders reject (`Message.strict`)."""
    return DecodeError(f"{message} has a string that is not UTF-8", pos)


def cannot_be_null(message: str, field: str) -> EncodeError:
    """Build the error for the value None in a field that cannot be encoded as null in this version."""
    return EncodeError(f"{message}: {field} cannot be null in this version")


def string_too_long(message: str, field: str, length: int) -> EncodeError:
    """Build the error for a string that is longer than `MAX_STRING` bytes."""
    return EncodeError(f"{message}: {field} has {length} bytes; Kafka allows at most {MAX_STRING}")


def not_in_version(message: str, field: str) -> EncodeError:
    """Build the error for a value whose field does not exist in this version.

    There is no error if the value is the default or the field is ignorable (`Field.ignorable`): the value is dropped.
    """
    return EncodeError(f"{message} has no field {field}, so the value for this field cannot be encoded")


def unknown_fields(message: str, names: list[str]) -> EncodeError:
    """Build the error for names of fields that do not exist in any version of the message."""
    return EncodeError(f"{message} has no field {', '.join(names)}")
