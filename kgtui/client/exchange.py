"""Wrap encoded requests in objects that aiokafka's connection can send."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kgtui.errors import ConnectError
from kgtui.protocol.header import decode_response_header, encode_request_header

if TYPE_CHECKING:
    from collections.abc import Mapping
    from io import BytesIO

    from kgtui.protocol.api import Api


class _Encoded:
    """Holds a request header that is already encoded. aiokafka calls the method `encode` to get the bytes."""

    __slots__ = ("_data",)

    def __init__(self, data: bytes) -> None:
        self._data = data

    def encode(self) -> bytes:
        return self._data


class _ResponseHeader(NamedTuple):
    correlation_id: int


class Exchange:
    """One encoded request, with the methods that aiokafka calls to send it."""

    __slots__ = ("_api", "_body", "_version")

    def __init__(self, api: Api, version: int, body: bytes) -> None:
        self._api = api
        self._version = version
        self._body = body

    def __repr__(self) -> str:
        return f"{self._api.name} v{self._version}"

    def prepare(self, versions: Mapping[int, tuple[int, int]]) -> Exchange:
        """Return this object. aiokafka calls this method to choose a version, but the request is already encoded."""
        return self

    def build_request_header(self, correlation_id: int, client_id: str) -> _Encoded:
        return _Encoded(encode_request_header(self._api, self._version, correlation_id, client_id))

    def encode(self) -> bytes:
        """Return the body of the request."""
        return self._body

    def parse_response_header(self, frame: BytesIO) -> _ResponseHeader:
        """Decode the header of the response. Afterwards, the read position of `frame` is at the start of the body."""
        correlation_id, size = decode_response_header(self._api.response_header(self._version), frame.getvalue())
        frame.seek(size)
        return _ResponseHeader(correlation_id)

    @property
    def RESPONSE_TYPE(self) -> Exchange:
        """Return this object, because aiokafka calls `RESPONSE_TYPE.decode` with the body of the response."""
        return self

    def decode(self, frame: BytesIO) -> bytes:
        """Return the bytes of the response body. aiokafka calls this method, but kgtui decodes the body later."""
        return frame.read()


class NotOfferedError(ConnectError):
    """Raised if kgtui and a broker have no common version of a request that a SASL login needs.

    Usually, the cause is that the port does not use SASL.
    """


class LoginExchange(Exchange):
    """A request that is part of a SASL login. It is sent in the newest version that both kgtui and the broker support.

    Attributes:
        version: version of the request, set by `prepare`.
    """

    __slots__ = ("_fields",)

    def __init__(self, api: Api, fields: Mapping[str, Any]) -> None:
        super().__init__(api, api.high, b"")
        self._fields = fields

    @property
    def version(self) -> int:
        return self._version

    def prepare(self, versions: Mapping[int, tuple[int, int]]) -> LoginExchange:
        """Choose the version, encode the request, and return this object.

        Args:
            versions: API key → lowest and highest version that the broker supports.

        Raises:
            NotOfferedError: kgtui and the broker have no common version of the request.
        """
        low, high = versions.get(self._api.key, (0, -1))
        self._version = min(self._api.high, high)
        if self._version < max(low, self._api.low):
            raise NotOfferedError(f"the broker supports no version of {self._api.name} that kgtui supports")
        self._body = self._api.request.encode(self._version, self._fields)
        return self
