"""Single fields, read one by one."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING

from kgtui.protocol.wire import is_null, too_long, uvarint

if TYPE_CHECKING:
    from kgtui.protocol.schema import Api

INT16 = Struct(">h").unpack_from
INT32 = Struct(">i").unpack_from


def checked(api: Api, version: int) -> str:
    """Return what to call the message in errors; raises DecodeError for a version that we do not speak."""
    if not api.low <= version <= api.high:
        api.response.decode(version, b"")
    return f"{api.response.name} v{version}"


def text(data: bytes, start: int, stop: int) -> str:
    """Decode UTF-8; bytes that are not become lone surrogates, as everywhere in this package."""
    raw = data[start:stop]
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw.decode("utf-8", "surrogateescape")


def nullable(what: str, field: str, data: bytes, pos: int, *, flexible: bool) -> tuple[str | None, int]:
    """Read a string that may be null; return it and where the next field starts."""
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
        raise too_long(what, field, length, pos)
    return text(data, pos, stop), stop


def string(what: str, field: str, data: bytes, pos: int, *, flexible: bool) -> tuple[str, int]:
    """Read a string; raises DecodeError when it is null."""
    value, stop = nullable(what, field, data, pos, flexible=flexible)
    if value is None:
        raise is_null(what, field, stop)
    return value, stop


def count(what: str, field: str, data: bytes, pos: int, least: int, *, flexible: bool) -> tuple[int, int]:
    """Read the count of an array whose elements take at least `least` bytes each.

    Raises DecodeError when it is null or more than the rest of the frame can hold.
    """
    if flexible:
        number, pos = uvarint(data, pos)
        number -= 1
    else:
        (number,) = INT32(data, pos)
        pos += 4
    if number < 0:
        raise is_null(what, field, pos)
    if number * least > len(data) - pos:
        raise too_long(what, field, number, pos)
    return number, pos


def as_bytes(body: bytes | memoryview) -> bytes:
    """Return the body as bytes, copied only if it is something else."""
    return body if isinstance(body, bytes) else bytes(body)
