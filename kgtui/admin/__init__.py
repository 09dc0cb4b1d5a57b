"""Public async Python API to administer consumer, share, streams and classic groups.

Begin with `connect`, which returns a `GroupAdmin` for a Kafka cluster. `GroupAdmin` (in `base`) documents every method.

This package may import client, protocol and model. No package above it handles protocol messages. Public names are
imported on first use, so that the interface alone does not load the Kafka client.

| module | contents |
|---|---|
| `base` | the interface `GroupAdmin` |
| `reading` | the group reader: reads descriptions, offsets, log bounds and configs with few requests |
| `groups_read` | the results of the group reader |
| `kafka` | `KafkaGroupAdmin`, the implementation for a Kafka cluster |
| `listing` | ListGroups, once or repeatedly |
| `describing` | the describe RPC of each group type |
| `offsets` | committed offsets, share-partition start offsets, and log start and end offsets |
| `record_times` | when the first unread and the last consumed records were written; ListOffsets requests |
| `record_search` | the search for these times, without requests |
| `configs` | configs of groups; retention of topics and of committed offsets |
| `access` | the user's permissions; topics that ACLs deny |
| `decoding` | decodes the describe responses into `GroupDescription` |
| `routing` | sends requests to the coordinators in batches, and repeats them when groups move to another broker |
| `deadline` | the time limit of a call |
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kgtui.admin.base import DEFAULT_TIMEOUT, GroupAdmin, ListingDelta, ListingFeed
    from kgtui.admin.kafka import KafkaGroupAdmin, connect

__all__ = ["DEFAULT_TIMEOUT", "GroupAdmin", "KafkaGroupAdmin", "ListingDelta", "ListingFeed", "connect"]

_IN_KAFKA = ("KafkaGroupAdmin", "connect")


def __getattr__(name: str) -> object:
    """Import a public name on first use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("kgtui.admin.kafka" if name in _IN_KAFKA else "kgtui.admin.base"), name)
