"""Public async Python API to administer consumer, share, streams and classic groups.

Begin with `connect`, which returns a `GroupAdmin` for a Kafka cluster. `GroupAdmin` (in `base`) documents every method.
If only `GroupAdmin` is imported, the Kafka client is not loaded.

| module | contents |
|---|---|
| `base` | the interface `GroupAdmin` |
| `reading` | reads descriptions, offsets, log bounds and configs of many groups with few requests |
| `groups_read` | `GroupsRead`, which contains the data that `reading` has read, and the errors |
| `kafka` | `KafkaGroupAdmin`, the implementation for a Kafka cluster |
| `listing` | lists the groups of one broker, once or repeatedly |
| `describing` | describes groups with the RPC of their type |
| `offsets` | reads committed offsets and share-partition start offsets |
| `log_bounds` | reads the log start and log end offsets of partitions |
| `record_times` | finds out when the first unread and the last consumed record of a partition were written |
| `record_search` | chooses the timestamps that `record_times` sends in ListOffsets requests |
| `configs` | reads group configs and retention times |
| `access` | reads the permissions of the Kafka user |
| `decoding` | decodes describe responses into `GroupDescription` |
| `routing` | sends requests to group coordinators in batches |
| `deadline` | `Deadline`, a time limit that is divided among the steps of a call |
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
    """Return a public object of this package. The module that defines the object is imported on first use (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("kgtui.admin.kafka" if name in _IN_KAFKA else "kgtui.admin.base"), name)
