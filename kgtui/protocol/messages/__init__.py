"""One table per request and response, as in the schemas of Kafka 4.4.0, for the versions that we speak.

May import `kgtui.protocol.schema`.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from kgtui.protocol.messages.api_versions import API_VERSIONS
from kgtui.protocol.messages.consumer_group_describe import CONSUMER_GROUP_DESCRIBE
from kgtui.protocol.messages.delete_groups import DELETE_GROUPS
from kgtui.protocol.messages.describe_configs import DESCRIBE_CONFIGS
from kgtui.protocol.messages.describe_groups import DESCRIBE_GROUPS
from kgtui.protocol.messages.describe_share_group_offsets import DESCRIBE_SHARE_GROUP_OFFSETS
from kgtui.protocol.messages.find_coordinator import FIND_COORDINATOR
from kgtui.protocol.messages.list_groups import LIST_GROUPS
from kgtui.protocol.messages.list_offsets import LIST_OFFSETS
from kgtui.protocol.messages.metadata import METADATA
from kgtui.protocol.messages.offset_fetch import OFFSET_FETCH
from kgtui.protocol.messages.share_group_describe import SHARE_GROUP_DESCRIBE
from kgtui.protocol.messages.streams_group_describe import STREAMS_GROUP_DESCRIBE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kgtui.protocol.schema import Api

__all__ = [
    "APIS",
    "API_VERSIONS",
    "CONSUMER_GROUP_DESCRIBE",
    "DELETE_GROUPS",
    "DESCRIBE_CONFIGS",
    "DESCRIBE_GROUPS",
    "DESCRIBE_SHARE_GROUP_OFFSETS",
    "FIND_COORDINATOR",
    "LIST_GROUPS",
    "LIST_OFFSETS",
    "METADATA",
    "OFFSET_FETCH",
    "SHARE_GROUP_DESCRIBE",
    "STREAMS_GROUP_DESCRIBE",
]

APIS: Mapping[int, Api] = MappingProxyType(
    {
        api.key: api
        for api in (
            LIST_OFFSETS,
            METADATA,
            OFFSET_FETCH,
            FIND_COORDINATOR,
            DESCRIBE_GROUPS,
            LIST_GROUPS,
            API_VERSIONS,
            DESCRIBE_CONFIGS,
            DELETE_GROUPS,
            CONSUMER_GROUP_DESCRIBE,
            SHARE_GROUP_DESCRIBE,
            STREAMS_GROUP_DESCRIBE,
            DESCRIBE_SHARE_GROUP_OFFSETS,
        )
    }
)
"""Every API that we speak, by key."""
