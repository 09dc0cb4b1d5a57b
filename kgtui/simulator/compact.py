"""Compact strings and lengths (KIP-482), for the answers that are written without the message tables."""

from __future__ import annotations

from kgtui.protocol.primitives import uvarint_bytes


def length(count: int) -> bytes:
    """The length of a compact array, or of a compact string in bytes."""
    return uvarint_bytes(count + 1)


def text(value: str) -> bytes:
    """A compact string."""
    raw = value.encode("utf-8", "surrogateescape")
    return length(len(raw)) + raw
