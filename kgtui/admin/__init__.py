"""What one can ask of groups: the `GroupAdmin` interface and its Kafka implementation; the public async API.

Imports client, protocol and model. Nothing above this room knows bytes. The names below load when first used, so that
who needs only the interface does not load a client.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kgtui.admin.base import DEFAULT_TIMEOUT, GroupAdmin, ListingDelta, ListingFeed
    from kgtui.admin.kafka import KafkaGroupAdmin, connect

__all__ = ["DEFAULT_TIMEOUT", "GroupAdmin", "KafkaGroupAdmin", "ListingDelta", "ListingFeed", "connect"]

_KAFKA = ("KafkaGroupAdmin", "connect")


def __getattr__(name: str) -> object:
    """Load what is asked for."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("kgtui.admin.kafka" if name in _KAFKA else "kgtui.admin.base"), name)
