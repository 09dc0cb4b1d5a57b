"""Decode a request, call the handler of its API, and encode the response.

The brokers of a cluster can have different Kafka releases, so each broker supports its own API versions.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from kgtui.model.error_numbers import UNSUPPORTED_VERSION
from kgtui.model.group_types import GROUP_TYPES
from kgtui.protocol.header import decode_request_header, encode_response_header
from kgtui.protocol.messages import APIS
from kgtui.protocol.messages.cluster import API_VERSIONS, DESCRIBE_CONFIGS, FIND_COORDINATOR, METADATA
from kgtui.protocol.messages.groups import DELETE_GROUPS, DESCRIBE_GROUPS, LIST_GROUPS
from kgtui.protocol.messages.offsets import DESCRIBE_SHARE_GROUP_OFFSETS, LIST_OFFSETS, OFFSET_FETCH
from kgtui.simulator.handlers import cluster, configs, groups, offsets
from kgtui.simulator.handlers.groups import ListGroupsRowCache
from kgtui.simulator.handlers.request_context import RequestContext
from kgtui.simulator.releases import DESCRIBED_BY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kgtui.simulator.cluster_state import ClusterState, Node
    from kgtui.simulator.faults import Faults
    from kgtui.simulator.generated_groups import GeneratedGroups


class Dispatcher:
    """Processes the requests to all brokers of a cluster.

    Attributes:
        request_counts: API key → number of processed requests.
    """

    def __init__(self, state: ClusterState, faults: Faults) -> None:
        self.state = state
        self.faults = faults
        self.request_counts: dict[int, int] = {}
        self._row_caches: dict[int, ListGroupsRowCache] = {}
        self._handlers: Mapping[int, Callable[[RequestContext], dict[str, Any] | bytes]] = {
            API_VERSIONS.key: cluster.api_versions,
            METADATA.key: cluster.metadata,
            FIND_COORDINATOR.key: cluster.find_coordinator,
            LIST_GROUPS.key: partial(groups.list_groups, row_cache=self._row_cache),
            DESCRIBE_GROUPS.key: groups.describe_groups,
            DELETE_GROUPS.key: groups.delete_groups,
            OFFSET_FETCH.key: offsets.offset_fetch,
            LIST_OFFSETS.key: offsets.list_offsets,
            DESCRIBE_SHARE_GROUP_OFFSETS.key: offsets.share_offsets,
            DESCRIBE_CONFIGS.key: configs.describe_configs,
            **{
                DESCRIBED_BY[entry.name]: partial(groups.describe_typed, group_type=entry.name, feature=entry.feature)
                for entry in GROUP_TYPES.values()
                if entry.feature
            },
        }

    def build_row_caches(self) -> None:
        """Encode the ListGroups rows of all generated groups in advance, so that the first response is fast."""
        if self.state.generated is not None:
            for node in self.state.nodes:
                self._row_cache(self.state.generated, node.release.ranges[LIST_GROUPS.key][1])

    def respond(self, node: Node, request: bytes) -> bytes | None:
        """Return the response to a request; None if the broker does not support the API or the version of the request.

        If None is returned, the caller must close the connection, as a real broker does. If an ApiVersions request has
        an unsupported version, a response with an error is returned instead of None (KIP-511).

        Raises:
            DecodeError: the request is malformed.
        """
        header = decode_request_header(request)
        offered = node.release.ranges.get(header.api_key)
        if offered is None:
            return None
        low, high = offered
        self.request_counts[header.api_key] = self.request_counts.get(header.api_key, 0) + 1
        throttle = self.faults.broker(node.id).throttle_ms
        api = APIS[header.api_key]
        if not low <= header.version <= high:
            return self._unsupported_api_versions(node, header.correlation_id) if api is API_VERSIONS else None
        fields = api.request.decode(header.version, request, header.size)
        error = self.faults.next_error(api.key)
        context = RequestContext(api, header.version, fields, node, self.state, self.faults, error, throttle)
        body = self._handlers[api.key](context)
        if not isinstance(body, bytes):
            body = api.response.encode(header.version, body)
        return encode_response_header(api, header.version, header.correlation_id) + body

    def _unsupported_api_versions(self, node: Node, correlation_id: int) -> bytes:
        """Return the response to an ApiVersions request with an unsupported version, as defined by KIP-511.

        The response has version 0 and contains error 35 (UNSUPPORTED_VERSION) and the supported ApiVersions versions.
        """
        low, high = node.release.ranges[API_VERSIONS.key]
        keys = [{"ApiKey": API_VERSIONS.key, "MinVersion": low, "MaxVersion": high}]
        body = API_VERSIONS.response.encode(0, {"ErrorCode": UNSUPPORTED_VERSION, "ApiKeys": keys})
        return encode_response_header(API_VERSIONS, 0, correlation_id) + body

    def _row_cache(self, generated: GeneratedGroups, version: int) -> ListGroupsRowCache:
        cache = self._row_caches.get(version)
        if cache is None:
            cache = self._row_caches[version] = ListGroupsRowCache(generated, version)
        return cache
