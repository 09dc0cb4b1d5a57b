"""`RequestContext`: the data from which a handler computes the response to a request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgtui.model.error_numbers import COORDINATOR_LOAD_IN_PROGRESS, GROUP_AUTHORIZATION_FAILED, NOT_COORDINATOR

if TYPE_CHECKING:
    from kgtui.protocol.api import Api
    from kgtui.simulator.cluster_state import ClusterState, Node
    from kgtui.simulator.faults import Faults
    from kgtui.simulator.groups.base import Group

OPERATIONS_NOT_REQUESTED = -(2**31)
"""Value of the bit field of authorized operations in responses to requests that do not ask for these operations."""


@dataclass(frozen=True, slots=True)
class RequestContext:
    """A decoded request, with the broker that received it and the state of the cluster.

    Attributes:
        version: API version of the request and of the response.
        error: error code that `Faults.fail` has injected; 0 for none.
    """

    api: Api
    version: int
    fields: dict[str, Any]
    node: Node
    state: ClusterState
    faults: Faults
    error: int = 0
    throttle_ms: int = 0

    @property
    def operations(self) -> int:
        return (
            self.node.release.group_operations
            if self.fields.get("IncludeAuthorizedOperations")
            else OPERATIONS_NOT_REQUESTED
        )

    def group_error(self, group: str) -> int:
        """Return the error code with which this broker responds to a request about a group; 0 for no error."""
        if self.error:
            return self.error
        if self.faults.group_forbidden(group):
            return GROUP_AUTHORIZATION_FAILED
        if self.faults.loading(self.node.id):
            return COORDINATOR_LOAD_IN_PROGRESS
        if self.state.coordinator(group) != self.node.id:
            return NOT_COORDINATOR
        return 0

    def feature_enabled(self, feature: str) -> bool:
        """Return whether a feature is enabled. An enabled feature has a finalized level above 0."""
        return self.state.features.get(feature, 0) > 0

    def reads_forbidden_topic(self, group: Group) -> bool:
        """Return whether a member of the group subscribes to a topic on which the client lacks DESCRIBE."""
        return any(self.faults.topic_forbidden(name) for name in group.subscribed_topics)
