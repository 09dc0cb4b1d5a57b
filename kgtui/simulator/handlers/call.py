"""One request on its way through a broker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kgtui.protocol.api import Api
    from kgtui.simulator.faults import Faults
    from kgtui.simulator.groups.base import Group
    from kgtui.simulator.nodes import Node
    from kgtui.simulator.world import World

TOPIC_AUTHORIZATION_FAILED = 29
GROUP_AUTHORIZATION_FAILED = 30
UNKNOWN_SERVER_ERROR = -1
UNKNOWN_TOPIC_OR_PARTITION = 3
COORDINATOR_LOAD_IN_PROGRESS = 14
COORDINATOR_NOT_AVAILABLE = 15
NOT_COORDINATOR = 16
UNSUPPORTED_VERSION = 35
INVALID_REQUEST = 42
GROUP_ID_NOT_FOUND = 69
INVALID_GROUP_ID = 24

NOT_ASKED = -(2**31)
"""Authorized operations when they were not asked for."""


@dataclass(frozen=True, slots=True)
class Call:
    """A request that was understood.

    Attributes:
        node: the broker that got it.
        version: of the request and of the answer.
        fields: the request.
        error: an error that was ordered for this answer; 0 for none.
        throttle_ms: what the answer says of throttling.
    """

    api: Api
    version: int
    fields: dict[str, Any]
    node: Node
    world: World
    faults: Faults
    error: int = 0
    throttle_ms: int = 0

    @property
    def operations(self) -> int:
        """Authorized operations to be told of a group without error."""
        return self.node.release.group_operations if self.fields.get("IncludeAuthorizedOperations") else NOT_ASKED

    def refusal(self, group: str) -> int:
        """Why this broker will not speak about a group; 0 if it will.

        Authorization comes before anything else, and a broker that is not the coordinator says so of groups that do
        not exist as well.
        """
        if self.error:
            return self.error
        if self.faults.group_forbidden(group):
            return GROUP_AUTHORIZATION_FAILED
        if self.faults.loading(self.node.id):
            return COORDINATOR_LOAD_IN_PROGRESS
        if self.world.coordinator(group) != self.node.id:
            return NOT_COORDINATOR
        return 0

    def enabled(self, feature: str) -> bool:
        """Whether a feature is finalized."""
        return self.world.features.get(feature, 0) > 0

    def forbidden_topic(self, group: Group) -> bool:
        """Whether the group reads a topic that may not be described."""
        return any(self.faults.topic_forbidden(name) for name in topics_of(group))


def topics_of(group: Group) -> Iterable[str]:
    """Names of the topics that a group subscribes to."""
    return group.topics
