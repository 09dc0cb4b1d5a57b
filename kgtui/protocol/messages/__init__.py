"""The request and response tables of every API that kgtui speaks, taken from the schemas of Kafka 4.4.0.

May import `kgtui.protocol.api`. A new API or version needs one table in `groups`, `offsets` or `cluster`;
`APIS` finds it there.
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
"""Every API that kgtui speaks, by API key in ascending order."""
