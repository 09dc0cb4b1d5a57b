"""Derive ids, hosts and numbers from names by hashing, with the same result in every process."""

from __future__ import annotations

import base64
import struct
from hashlib import blake2b
from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from collections.abc import Iterable

_MASK_32_BITS = 0xFFFFFFFF


def digest(*parts: object) -> bytes:
    """Hash parts, such as a seed and a name, to 16 bytes. The order of the parts matters."""
    text = "\x1f".join(str(part) for part in parts)
    return blake2b(text.encode("utf-8", "surrogateescape"), digest_size=16).digest()


def hash_number(*parts: object) -> int:
    """Hash parts, such as a seed and a name, to a number from 0 to 2^32 - 1. The order of the parts matters."""
    return int.from_bytes(digest(*parts)[:4], "big")


def hash_uuid(*parts: object) -> UUID:
    """Hash parts, such as a seed and a name, to a UUID of version 4. The order of the parts matters."""
    return UUID(bytes=digest(*parts), version=4)


def hash_kafka_id(*parts: object) -> str:
    """Hash parts to an id in the format of Kafka's UUIDs: 22 characters of URL-safe base64, without a leading dash."""
    text = base64.urlsafe_b64encode(hash_uuid(*parts).bytes).rstrip(b"=").decode()
    return "A" + text[1:] if text.startswith("-") else text


def hash_host(*parts: object) -> str:
    """Hash parts, such as a group id, to a client host as brokers report it: a slash and an IPv4 address."""
    _, b, c, d = digest("host", *parts)[:4]
    return f"/10.{b % 8 + 20}.{c}.{d % 250 + 2}"


def java_hash_code(text: str) -> int:
    """Return Java's `String.hashCode` as a signed 32-bit number."""
    value = 0
    for unit in _utf16_units(text):
        value = (31 * value + unit) & _MASK_32_BITS
    return value - (1 << 32) if value >= 1 << 31 else value


def _utf16_units(text: str) -> Iterable[int]:
    if text.isascii():
        return text.encode()
    raw = text.encode("utf-16-be", "surrogatepass")
    return struct.unpack(f">{len(raw) // 2}H", raw)


def offsets_partition(group: str, partitions: int = 50) -> int:
    """Return a group's partition of `__consumer_offsets`: in Kafka, `Utils.abs(groupId.hashCode) % partitions`."""
    code = java_hash_code(group)
    return (0 if code == -(1 << 31) else abs(code)) % partitions
