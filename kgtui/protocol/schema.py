"""Messages and APIs: a table, compiled on first use to a decoder and an encoder for each version."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kgtui.errors import DecodeError, EncodeError
from kgtui.protocol import decoder, encoder
from kgtui.protocol.table import Rows, parse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kgtui.protocol.decoder import Decode
    from kgtui.protocol.encoder import Encode
    from kgtui.protocol.table import Struct

__all__ = ["Api", "Message", "Rows"]

API_VERSIONS_KEY = 18


class Message:
    """One direction of one API, or the bytes of a member; codecs of a version are made when first needed.

    Attributes:
        name: Kafka's name of the message, such as `ListGroupsRequest`.
        low, high: the versions that can be encoded and decoded, both included.
        flexible: the first version with compact lengths and tagged fields, None if there is none.
        strict: whether text that is not UTF-8, and bytes behind the message, are damage.
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
        """The parsed table. A program that lists groups needs few of them. Raises ValueError for a mistake in it."""
        return parse(self.name, self._rows)

    def is_flexible(self, version: int) -> bool:
        """Whether `version` has compact lengths and tagged fields."""
        return self.flexible is not None and version >= self.flexible

    def encode(self, version: int, value: Mapping[str, Any]) -> bytes:
        """Write a message; keys are the field names of Kafka's schemas.

        A missing key takes the schema's default. A key that this version does not have is left out when it
        holds the default or the schema says that it may be ignored.

        Raises EncodeError for a value that this version cannot carry, a key that no version has, and a value
        of the wrong type.
        """
        encode = self._encoders.get(version)
        if encode is None:
            if not self.low <= version <= self.high:
                raise EncodeError(self._no_version(version))
            encode = encoder.compile_struct(self.struct, version, flexible=self.is_flexible(version))
            self._encoders[version] = encode
        return encode(value)

    def decode(self, version: int, data: bytes | memoryview, pos: int = 0) -> dict[str, Any]:
        """Read the message that starts at `pos`; structs are dicts, arrays lists, null is None.

        Fields that this version does not have hold the schema's default. Unknown tags are skipped, bytes after
        the message are not looked at. Strings that are not UTF-8 keep their bytes as lone surrogates, so that
        encoding them again gives the same bytes. A strict message has neither.

        Raises DecodeError when the frame ends too early or contradicts itself.
        """
        decode = self._decoders.get(version)
        if decode is None:
            if not self.low <= version <= self.high:
                raise DecodeError(self._no_version(version))
            flexible = self.is_flexible(version)
            decode = decoder.compile_struct(self.struct, version, flexible=flexible, strict=self.strict)
            self._decoders[version] = decode
        return decode(data if isinstance(data, bytes) else bytes(data), pos)

    def _no_version(self, version: int) -> str:
        return f"{self.name} is spoken in versions {self.low} to {self.high}, not {version}"


@dataclass(frozen=True, slots=True)
class Api:
    """One of Kafka's APIs: its key, the versions that we speak, and its two messages."""

    key: int
    name: str
    flexible: int
    """The first version with compact lengths and tagged fields."""
    low: int
    high: int
    request: Message
    response: Message

    @classmethod
    def of(cls, key: int, name: str, *, versions: tuple[int, int], flexible: int, request: Rows, response: Rows) -> Api:
        """Build an API from the tables of its two messages."""
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
        """The version of the request's header: 2 has tagged fields, 1 has none."""
        return 2 if version >= self.flexible else 1

    def response_header(self, version: int) -> int:
        """The version of the response's header: 1 has tagged fields, 0 has none.

        ApiVersions always has 0, because the client cannot know yet what the broker speaks (KIP-511).
        """
        return 1 if version >= self.flexible and self.key != API_VERSIONS_KEY else 0
