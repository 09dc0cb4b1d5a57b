"""Encode and decode the headers of requests (versions 1 and 2) and of responses (versions 0 and 1)."""

from __future__ import annotations

from struct import Struct, error
from typing import TYPE_CHECKING, NamedTuple

from kgtui.errors import EncodeError
from kgtui.protocol.messages import APIS
from kgtui.protocol.primitives import skip_tags, truncated

if TYPE_CHECKING:
    from kgtui.protocol.api import Api

_REQUEST = Struct(">hhih")
_CORRELATION = Struct(">i")


class RequestHeader(NamedTuple):
    """The decoded header of a request."""

    api_key: int
    version: int
    correlation_id: int
    client_id: str | None
    size: int
    """Size of the header in bytes, which is also the position of the request body."""


def encode_request_header(api: Api, version: int, correlation_id: int, client_id: str | None) -> bytes:
    """Encode the header of a request.

    The length of the client id is an int16 even if all other strings of the request have compact lengths (KIP-482).

    Raises:
        EncodeError: the client id is too long or not valid Unicode, or a number is out of range.
    """
    try:
        name = b"" if client_id is None else client_id.encode("utf-8", "surrogateescape")
        length = -1 if client_id is None else len(name)
        head = _REQUEST.pack(api.key, version, correlation_id, length)
    except (error, UnicodeEncodeError) as err:
        raise EncodeError(f"{api.name} request header: {err}") from err
    return head + name + (b"\0" if api.request_header(version) == 2 else b"")


def decode_request_header(data: bytes | memoryview) -> RequestHeader:
    """Decode the header of a request, even if kgtui does not support the API.

    If the API is not in `APIS`, kgtui cannot know whether the header has tagged fields. The `size` of the result is
    then the size of the header without tagged fields.

    Raises:
        DecodeError: `data` ends inside the header.
    """
    data = bytes(data)
    try:
        key, version, correlation_id, length = _REQUEST.unpack_from(data)
        pos = _REQUEST.size
        client_id = None
        if length >= 0:
            client_id = data[pos : pos + length].decode("utf-8", "surrogateescape")
            pos += length
        if pos > len(data):
            raise truncated("request header", pos)
        api = APIS.get(key)
        if api is not None and api.request_header(version) == 2:
            pos = skip_tags(data, pos)
    except (error, IndexError) as err:
        raise truncated("request header", len(data)) from err
    return RequestHeader(key, version, correlation_id, client_id, pos)


def encode_response_header(api_or_key: Api | int, version: int, correlation_id: int) -> bytes:
    """Encode the header of a response.

    Args:
        api_or_key: the API, or its API key. If the key is not in `APIS`, the header has version 0, which has no tagged
            fields.
    """
    api = APIS.get(api_or_key) if isinstance(api_or_key, int) else api_or_key
    tags = b"\0" if api is not None and api.response_header(version) == 1 else b""
    return _CORRELATION.pack(correlation_id) + tags


def decode_response_header(header_version: int, data: bytes | memoryview) -> tuple[int, int]:
    """Decode the header of a response into `(correlation id, position of the body)`.

    Raises:
        DecodeError: `data` ends inside the header.
    """
    try:
        (correlation_id,) = _CORRELATION.unpack_from(data)
        pos = _CORRELATION.size
        if header_version:
            pos = skip_tags(data if isinstance(data, bytes) else bytes(data), pos)
    except (error, IndexError) as err:
        raise truncated("response header", len(data)) from err
    return int(correlation_id), pos
