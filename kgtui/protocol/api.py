"""`Message` and `Api`: encode and decode Kafka's messages with generated code.

The encoder and decoder of each version are generated from a table of the message's fields, and compiled on first use.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kgtui.errors import DecodeError, EncodeError
from kgtui.protocol import decoder_codegen, encoder_codegen
from kgtui.protocol.schema import Rows, parse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kgtui.protocol.decoder_codegen import Decode
    from kgtui.protocol.encoder_codegen import Encode
    from kgtui.protocol.schema import Struct

__all__ = ["Api", "Message", "Rows"]

API_VERSIONS_KEY = 18


class Message:
    """One type of message, such as a request, a response or a record key, in all versions that kgtui supports.

    Attributes:
        name: Kafka's name of the message, such as `ListGroupsRequest`.
        low, high: oldest and newest supported version.
        flexible: first version with compact lengths and tagged fields (KIP-482), or None.
        strict: whether decoders keep unknown tagged fields (under the key `UNKNOWN_TAGS`), and reject messages with
            invalid UTF-8 or trailing bytes. If it is true, encoders also write the unknown tagged fields.
    """

    def __init__(
        self, name: str, rows: Rows, *, low: int, high: int, flexible: int | None, strict: bool = False
    ) -> None:
        self.name = name
        self.low = low
        self.high = high
        self.flexible = flexible
        self.strict = strict
        self._rows = rows
        self._decoders: dict[int, Decode] = {}
        self._encoders: dict[int, Encode] = {}

    def __repr__(self) -> str:
        return f"Message({self.name} {self.low}-{self.high})"

    @cached_property
    def struct(self) -> Struct:
        """The fields of the message, parsed from its table on first use. Raises ValueError if the table is invalid."""
        return parse(self.name, self._rows)

    def is_flexible(self, version: int) -> bool:
        """Return whether `version` has compact lengths and tagged fields."""
        return self.flexible is not None and version >= self.flexible

    def encode(self, version: int, value: Mapping[str, Any]) -> bytes:
        """Encode a message. The dict `value` maps field names, as in Kafka's schemas, to values.

        Fields that are missing in `value` get their defaults. A value for a field that `version` lacks is dropped if
        the field is ignorable (`Field.ignorable`), or if the value is the default.

        Raises:
            EncodeError: the version or a field is unknown, a value has the wrong type, or `version` lacks a field whose
                value must not be dropped.
        """
        encode = self._encoders.get(version)
        if encode is None:
            if not self.low <= version <= self.high:
                raise EncodeError(self._no_version(version))
            flexible = self.is_flexible(version)
            encode = encoder_codegen.compile_struct(self.struct, version, flexible=flexible, strict=self.strict)
            self._encoders[version] = encode
        return encode(value)

    def decoder_compiled(self, version: int) -> bool:
        """Return whether the decoder of a version is already compiled. Compiling a long decoder takes up to 20 ms."""
        return version in self._decoders

    def decode(self, version: int, data: bytes | memoryview, pos: int = 0) -> dict[str, Any]:
        """Decode the message that begins at byte `pos`: structs become dicts, arrays become lists, null becomes None.

        Fields that the version lacks get their defaults. If `self.strict` is False, bytes that are not valid UTF-8
        become lone surrogates (Python's `surrogateescape`), and trailing bytes and unknown tagged fields are ignored.

        Raises:
            DecodeError: the message is truncated or malformed, or the version is not supported.
        """
        decode = self._decoders.get(version)
        if decode is None:
            if not self.low <= version <= self.high:
                raise DecodeError(self._no_version(version))
            flexible = self.is_flexible(version)
            decode = decoder_codegen.compile_struct(self.struct, version, flexible=flexible, strict=self.strict)
            self._decoders[version] = decode
        return decode(data if isinstance(data, bytes) else bytes(data), pos)

    def label(self, version: int) -> str:
        """Return the name of the message with a version, such as `ListGroupsRequest v4`, for error messages.

        Raises:
            DecodeError: kgtui does not support the version.
        """
        if not self.low <= version <= self.high:
            raise DecodeError(self._no_version(version))
        return f"{self.name} v{version}"

    def _no_version(self, version: int) -> str:
        return f"{self.name} is supported in versions {self.low} to {self.high}, not {version}"


@dataclass(frozen=True, slots=True)
class Api:
    """One of Kafka's APIs: its key, supported versions, request and response."""

    key: int
    name: str
    flexible: int
    """First version of the API with compact lengths and tagged fields (KIP-482)."""
    low: int
    high: int
    request: Message
    response: Message

    @classmethod
    def define(
        cls, key: int, name: str, *, versions: tuple[int, int], flexible: int, request: Rows, response: Rows
    ) -> Api:
        """Build an API from the tables of its request and response."""
        low, high = versions
        return cls(
            key=key,
            name=name,
            flexible=flexible,
            low=low,
            high=high,
            request=Message(f"{name}Request", request, low=low, high=high, flexible=flexible),
            response=Message(f"{name}Response", response, low=low, high=high, flexible=flexible),
        )

    def request_header(self, version: int) -> int:
        """Return the version of the request header: 2 if the API has tagged fields in `version`, otherwise 1."""
        return 2 if version >= self.flexible else 1

    def response_header(self, version: int) -> int:
        """Return the version of the response header: 1 if the API has tagged fields in `version`, otherwise 0.

        An ApiVersions response always has a header of version 0, because the client must be able to read this response
        before it knows which versions the broker supports (KIP-511).
        """
        return 1 if version >= self.flexible and self.key != API_VERSIONS_KEY else 0
