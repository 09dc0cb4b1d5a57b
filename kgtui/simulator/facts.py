"""Facts made from names: the same name gives the same id, host or number at any time and in any process."""

from __future__ import annotations

import base64
import struct
from hashlib import blake2b
from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from collections.abc import Iterable

JAVA_INT = 0xFFFFFFFF


def digest(*parts: object) -> bytes:
    """16 bytes that depend on all parts."""
    text = "\x1f".join(str(part) for part in parts)
    return blake2b(text.encode("utf-8", "surrogateescape"), digest_size=16).digest()


def number_of(*parts: object) -> int:
    """A number from 0 to 2^32 − 1."""
    return int.from_bytes(digest(*parts)[:4], "big")


def uuid_of(*parts: object) -> UUID:
    """A random-looking UUID of version 4."""
    return UUID(bytes=digest(*parts), version=4)


def kafka_id(*parts: object) -> str:
    """An id as Kafka prints its own UUIDs: 22 characters of URL-safe base64, never with a dash in front."""
    text = base64.urlsafe_b64encode(uuid_of(*parts).bytes).rstrip(b"=").decode()
    return "A" + text[1:] if text.startswith("-") else text


def host_of(*parts: object) -> str:
    """A client host as brokers print it: a slash and an address."""
    _, b, c, d = digest("host", *parts)[:4]
    return f"/10.{b % 8 + 20}.{c}.{d % 250 + 2}"


def java_hash(text: str) -> int:
    """Java's String.hashCode, as a signed 32-bit number."""
    value = 0
    for unit in _units(text):
        value = (31 * value + unit) & JAVA_INT
    return value - (1 << 32) if value >= 1 << 31 else value


def _units(text: str) -> Iterable[int]:
    """The UTF-16 code units of a text."""
    if text.isascii():
        return text.encode()
    raw = text.encode("utf-16-be", "surrogatepass")
    return struct.unpack(f">{len(raw) // 2}H", raw)


def offsets_partition(group: str, partitions: int = 50) -> int:
    """The partition of `__consumer_offsets` that keeps a group (Kafka's `Utils.abs(hashCode) % partitions`)."""
    return (java_hash(group) & 0x7FFFFFFF) % partitions
