"""Generate random values for the fields of every message version, as defined by kgtui's message tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from kgtui.protocol.member_data import connect, consumer
from kgtui.protocol.messages import APIS

if TYPE_CHECKING:
    from random import Random

    from kgtui.protocol.api import Message
    from kgtui.protocol.schema import Field, Struct

_TEXTS = (
    "",
    "a",
    "orders-service",
    "é漢字🙂",
    "[/red]",
    "line\nfeed\x1b[2J",
    "x" * 126,
    "y" * 127,
    "z" * 128,
    "w" * 300,
    "\u202etxet",
)
NOT_UTF8 = b"bad \xff\xc3(\xed\xa0\x80".decode("utf-8", "surrogateescape")
_RANGES = {"int8": (-128, 127), "int16": (-(2**15), 2**15 - 1), "uint16": (0, 2**16 - 1)}
_RANGES |= {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}


class Samples:
    """Generates random values of all field types. Strings are chosen from `texts`."""

    def __init__(self, random: Random, texts: tuple[str, ...] = _TEXTS) -> None:
        self.random = random
        self.texts = texts

    def value(self, struct: Struct, version: int) -> dict[str, Any]:
        """Return a random value for each field that a struct has in one version: name of the field → value."""
        return {field.name: self._field(field, version) for field in struct.fields if field.versions.has(version)}

    def _field(self, field: Field, version: int) -> Any:
        if field.nullable.has(version) and self.random.random() < 0.25:
            return None
        if not field.array:
            return self._single(field, version)
        most = 200 if field.struct is None and self.random.random() < 0.1 else 3
        return [self._single(field, version) for _ in range(self.random.randint(0, most))]

    def _single(self, field: Field, version: int) -> Any:
        if field.struct is not None:
            return self.value(field.struct, version)
        random = self.random
        match field.type:
            case "string":
                return random.choice(self.texts)
            case "bytes":
                return bytes(random.randint(0, 255) for _ in range(random.choice((0, 1, 5, 130))))
            case "bool":
                return random.random() < 0.5
            case "uuid":
                return UUID(int=random.getrandbits(128))
            case kind:
                low, high = _RANGES[kind]
                return random.choice((low, high, 0, 1, -1 if low else 0, random.randint(low, high)))


def samples_with_invalid_utf8(random: Random) -> Samples:
    """Return a generator of random field values for messages. Some of its strings are not valid UTF-8."""
    return Samples(random, (*_TEXTS, NOT_UTF8))


def messages() -> list[tuple[Message, int]]:
    """Return `(message, version)` for the request and the response of every API, in every supported version."""
    return [
        (message, version)
        for api in APIS.values()
        for message in (api.request, api.response)
        for version in range(message.low, message.high + 1)
    ]


def data_messages() -> list[tuple[Message, int]]:
    """Return `(message, version)` for the subscriptions and assignments of consumers and Connect workers."""
    found = (consumer.SUBSCRIPTION, consumer.ASSIGNMENT, connect.SUBSCRIPTIONS, connect.ASSIGNMENTS)
    return [(message, version) for message in found for version in range(message.low, message.high + 1)]


def name_of(case: object) -> str:
    """Return the text for a parameter (a message or a version number) in the name of a parametrized test."""
    return getattr(case, "name", str(case))
