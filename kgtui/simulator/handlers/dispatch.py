"""From a request's bytes to the answer's, as a broker of its release gives it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from kgtui.model.group_types import GROUP_TYPES
from kgtui.protocol.header import decode_request_header, encode_response_header
from kgtui.protocol.messages import APIS
from kgtui.protocol.messages.cluster import API_VERSIONS, DESCRIBE_CONFIGS, FIND_COORDINATOR, METADATA
from kgtui.protocol.messages.groups import DELETE_GROUPS, DESCRIBE_GROUPS, LIST_GROUPS
from kgtui.protocol.messages.offsets import DESCRIBE_SHARE_GROUP_OFFSETS, LIST_OFFSETS, OFFSET_FETCH
from kgtui.simulator.handlers import bounds, cluster, configs, groups, offsets, share_offsets
from kgtui.simulator.handlers.call import UNSUPPORTED_VERSION, Call
from kgtui.simulator.listing import Rows
from kgtui.simulator.releases import DESCRIBED_BY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kgtui.simulator.faults import Faults
    from kgtui.simulator.nodes import Node
    from kgtui.simulator.population import Population
    from kgtui.simulator.world import World


class Dispatch:
    """Answers requests for all brokers of a cluster.

    Attributes:
        world: the cluster.
        faults: what is wrong with it.
        served: API key → how many requests were answered.
    """

    def __init__(self, world: World, faults: Faults) -> None:
        self.world = world
        self.faults = faults
        self.served: dict[int, int] = {}
        self._rows: dict[int, Rows] = {}
        self._handlers: Mapping[int, Callable[[Call], dict[str, Any] | bytes]] = {
            API_VERSIONS.key: cluster.api_versions,
            METADATA.key: cluster.metadata,
            FIND_COORDINATOR.key: cluster.find_coordinator,
            LIST_GROUPS.key: partial(groups.list_groups, rows_of=self._rows_of),
            DESCRIBE_GROUPS.key: groups.describe_groups,
            DELETE_GROUPS.key: groups.delete_groups,
            OFFSET_FETCH.key: offsets.offset_fetch,
            LIST_OFFSETS.key: bounds.list_offsets,
            DESCRIBE_SHARE_GROUP_OFFSETS.key: share_offsets.share_offsets,
            DESCRIBE_CONFIGS.key: configs.describe_configs,
            **{
                DESCRIBED_BY[entry.name]: partial(groups.describe_typed, group_type=entry.name, feature=entry.feature)
                for entry in GROUP_TYPES.values()
                if entry.feature
            },
        }

    def warm(self) -> None:
        """Make the rows of generated groups now, so that the first list is as fast as the others."""
        if self.world.population is not None:
            for node in self.world.nodes:
                self._rows_of(self.world.population, node.release.ranges[LIST_GROUPS.key][1])

    def answer(self, node: Node, request: bytes) -> bytes | None:
        """The answer with its header, or None where a broker closes the connection: what it does not speak.

        Raises:
            DecodeError: the request is damaged.
        """
        header = decode_request_header(request)
        offered = node.release.ranges.get(header.api_key)
        if offered is None:
            return None
        low, high = offered
        self.served[header.api_key] = self.served.get(header.api_key, 0) + 1
        throttle = self.faults.of(node.id).throttle_ms
        api = APIS[header.api_key]
        if not low <= header.version <= high:
            return self._refused_version(node, header.correlation_id) if api is API_VERSIONS else None
        fields = api.request.decode(header.version, request, header.size)
        error = self.faults.next_error(api.key)
        call = Call(api, header.version, fields, node, self.world, self.faults, error, throttle)
        body = self._handlers[api.key](call)
        if not isinstance(body, bytes):
            body = api.response.encode(header.version, body)
        return encode_response_header(api, header.version, header.correlation_id) + body

    def _refused_version(self, node: Node, correlation_id: int) -> bytes:
        """A version of ApiVersions that this broker does not know: written as v0, with what it does know (KIP-511)."""
        low, high = node.release.ranges[API_VERSIONS.key]
        keys = [{"ApiKey": API_VERSIONS.key, "MinVersion": low, "MaxVersion": high}]
        body = API_VERSIONS.response.encode(0, {"ErrorCode": UNSUPPORTED_VERSION, "ApiKeys": keys})
        return encode_response_header(API_VERSIONS, 0, correlation_id) + body

    def _rows_of(self, population: Population, version: int) -> Rows:
        rows = self._rows.get(version)
        if rows is None:
            rows = self._rows[version] = Rows(population, version)
        return rows
