"""Tables that define the fields of the requests and responses that kgtui uses, as in Kafka 4.4.0.

This package may import `kgtui.protocol.api`. To support another API or version, change these tables:

| module | contents |
|---|---|
| `cluster` | API versions, brokers, topics, coordinators and configs |
| `groups` | APIs that list, describe and delete groups |
| `offsets` | committed offsets, share-partition start offsets, log start and log end offsets |
| `security` | SASL logins and ACLs; not in `APIS`, because the simulated cluster does not support them |
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from kgtui.protocol.api import Api
from kgtui.protocol.messages import cluster, groups, offsets

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["APIS"]

_TABLES = [api for module in (groups, offsets, cluster) for api in vars(module).values() if isinstance(api, Api)]

APIS: Mapping[int, Api] = MappingProxyType({api.key: api for api in sorted(_TABLES, key=lambda api: api.key)})
"""API key → API, in ascending order of keys, for the APIs that the simulated cluster (`kgtui.simulator`) supports."""
