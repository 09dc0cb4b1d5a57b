"""Classic groups (DescribeGroups): groups of consumers, Connect workers and schema registries, and simple groups.

A simple group has no members, because its clients commit offsets without joining the group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from msgspec import Struct

from kgtui.protocol.member_data import connect, consumer, schema_registry
from kgtui.simulator.groups.base import Group, GroupKeys, Phases
from kgtui.simulator.hashing import hash_number

if TYPE_CHECKING:
    from kgtui.simulator.groups.base import Assignment
    from kgtui.simulator.membership import Membership

MemberBytes = list[tuple[bytes, bytes]]
"""One pair `(metadata, assignment)` per member of a classic group. Both parts are encoded as bytes."""


class ConsumerMemberData(Struct, frozen=True, forbid_unknown_fields=True, tag_field="format", tag="consumer"):
    """Member data (subscriptions and assignments) of Kafka consumers; format `consumer` in scenario files.

    Attributes:
        name: name of the assignor.
        version: version of the encoded subscription and assignment, 0 to 3.
        user_data: bytes that a custom assignor adds to the subscription and the assignment; None if it adds no bytes.
    """

    name: str = "range"
    version: int = 3
    user_data: bytes | None = None

    def encode(self, group: ClassicGroup, membership: Membership) -> MemberBytes:
        """Return the encoded subscription and assignment of each member.

        Since version 1, a subscription also contains the partitions that the member owns. In the simulated group, these
        are all partitions that are assigned to the member.
        """
        assignments = group.assign_ranges(membership.slots)
        return [
            (
                consumer.encode_subscription(
                    consumer.Subscription(
                        version=self.version,
                        topics=tuple(group.subscribed_topics),
                        user_data=self.user_data,
                        owned=_by_topic_name(assigned) if self.version else (),
                        generation=group.epoch + membership.change - 1,
                        rack=group.rack(slot),
                    )
                ),
                consumer.encode_assignment(_by_topic_name(assigned), version=self.version, user_data=self.user_data),
            )
            for slot, assigned in zip(membership.slots, assignments, strict=True)
        ]


class ConnectMemberData(Struct, frozen=True, forbid_unknown_fields=True, tag_field="format", tag="connect"):
    """Member data (metadata and assignments) of Kafka Connect workers; format `connect` in scenario files.

    Attributes:
        name: name of the protocol: `default` for eager rebalances; `compatible` or `sessioned` for cooperative ones.
        connectors: `(name, number of tasks)` of each connector.
        delay_ms: scheduled rebalance delay in milliseconds.
        domain: domain of the workers' host names.
    """

    name: str = "sessioned"
    connectors: tuple[tuple[str, int], ...] = ()
    delay_ms: int = 0
    domain: str = "connect.svc"

    def encode(self, group: ClassicGroup, membership: Membership) -> MemberBytes:
        """Return the metadata and the assignment of each worker, both as encoded bytes.

        The metadata contain the URL of the worker.
        """
        version = {"default": 0, "compatible": 1}.get(self.name, 2)
        leader = group.member_id(membership.slots[0])
        leader_url = self._url(group, membership.slots[0].number)
        offset = 40 + hash_number(group.name) % 60
        rows: MemberBytes = []
        for index, slot in enumerate(membership.slots):
            assignment = connect.Assignment(
                version=version,
                error=0,
                leader=leader,
                leader_url=leader_url,
                config_offset=offset,
                assigned=self._tasks(index, len(membership.slots)),
                revoked=self._revoked(membership) if version and index == 0 else (),
                delay_ms=self.delay_ms if version else 0,
            )
            worker = connect.Subscription(
                version=version,
                url=self._url(group, slot.number),
                config_offset=offset,
                allocation=assignment if version else None,
            )
            rows.append((connect.encode_subscription(worker), connect.encode_assignment(assignment)))
        return rows

    def _url(self, group: ClassicGroup, number: int) -> str:
        return f"http://{group.client.name}-{number}.{self.domain}:8083/"

    def _revoked(self, membership: Membership) -> connect.Tasks:
        """Return the tasks that the leader of the group must give up, so that other workers can take them over.

        For 30 s after a worker has joined, return one task. At any other time, return no tasks.
        """
        joined = len(membership.slots) > len(membership.before)
        return ((self.connectors[0][0], (0,)),) if joined and membership.since < 30 and self.connectors else ()

    def _tasks(self, index: int, workers: int) -> connect.Tasks:
        rows = []
        turn = 0
        for name, tasks in self.connectors:
            assigned = []
            for task in range(-1, tasks):
                if turn % workers == index:
                    assigned.append(task)
                turn += 1
            if assigned:
                rows.append((name, tuple(assigned)))
        return tuple(rows)


class SchemaRegistryMemberData(
    Struct, frozen=True, forbid_unknown_fields=True, tag_field="format", tag="schema-registry"
):
    """Member data (identities and assignments) of schema registries; format `schema-registry` in scenario files.

    Attributes:
        name: name of the protocol.
        domain: domain of the registries' host names.
        ineligible: numbers (from 0) of the registries that cannot become the primary.
        duplicate: whether all registries have the same URL. Real registries report duplicate URLs as an error.
    """

    name: str = "v0"
    domain: str = "registry.svc"
    ineligible: frozenset[int] = frozenset()
    duplicate: bool = False

    def encode(self, group: ClassicGroup, membership: Membership) -> MemberBytes:
        """Return the encoded identity and assignment of each schema registry in the group.

        All assignments name the first eligible registry as the primary, or no primary if no registry is eligible. If
        `duplicate` is true, the assignments contain an error instead.
        """
        nodes = [
            schema_registry.Identity(
                version=1,
                host=f"{group.client.name}-{0 if self.duplicate else slot.number}.{self.domain}",
                port=8081,
                master_eligibility=slot.number not in self.ineligible,
            )
            for slot in membership.slots
        ]
        first = next((i for i, node in enumerate(nodes) if node.master_eligibility), None)
        if self.duplicate or first is None:
            assignment = schema_registry.Assignment(
                1, schema_registry.DUPLICATE_URLS if self.duplicate else 0, None, None
            )
        else:
            assignment = schema_registry.Assignment(1, 0, group.member_id(membership.slots[first]), nodes[first])
        return [
            (schema_registry.encode_identity(node), schema_registry.encode_assignment(assignment)) for node in nodes
        ]


class RawMemberData(Struct, frozen=True, forbid_unknown_fields=True, tag_field="format", tag="raw"):
    """Member data that kgtui cannot decode (format `raw` in scenario files).

    Attributes:
        name: name of the protocol.
        metadata, assignment: bytes that are the same for all members. Scenario files contain them in base64.
    """

    name: str
    metadata: bytes
    assignment: bytes

    def encode(self, group: ClassicGroup, membership: Membership) -> MemberBytes:
        return [(self.metadata, self.assignment) for _ in membership.slots]


AnyMemberData: TypeAlias = ConsumerMemberData | ConnectMemberData | SchemaRegistryMemberData | RawMemberData
"""The member data (metadata and assignments) of a Stable classic group: one class per format.

In each class, the attribute `name` is the protocol of the group. For a consumer, this is an assignor such as `range`.
"""


class ClassicKeys(GroupKeys, tag="classic", frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The properties of a classic group in scenario files.

    Attributes:
        protocol: protocol type, such as `connect`; empty for a simple group, which never has members.
        outlives: seconds from the time at which the last member leaves until the group becomes Dead; None for never.
    """

    protocol: str = "consumer"
    member_data: AnyMemberData = ConsumerMemberData()
    outlives: float | None = None


class ClassicGroup(Group):
    """A classic group, in which one member, the leader, assigns partitions or tasks to all members."""

    type: ClassVar[str] = "classic"
    default_phases: ClassVar[Phases] = (("PreparingRebalance", 3.0), ("CompletingRebalance", 1.5))
    keys_class = ClassicKeys
    keys: ClassicKeys

    @property
    def protocol(self) -> str:
        """The protocol type, such as `consumer`. In Kafka, the members of a classic group choose it."""
        return self.keys.protocol

    def state_with(self, membership: Membership) -> str:
        """Return the state, which is Dead if the group has had no members for `ClassicKeys.outlives` seconds."""
        if self.keys.outlives is not None and not membership.slots and membership.since >= self.keys.outlives:
            return "Dead"
        return super().state_with(membership)

    def describe(self, t: float, *, operations: int) -> dict[str, Any]:
        """Return the group's fields in a DescribeGroups response.

        They include the protocol and the member data only if the group is Stable.
        """
        membership = self.membership(t)
        state = self.state_with(membership)
        stable = state == "Stable"
        rows = self.keys.member_data.encode(self, membership) if stable else [(b"", b"")] * len(membership.slots)
        return {
            "GroupId": self.name,
            "GroupState": state,
            "ProtocolType": self.protocol,
            "ProtocolData": self.keys.member_data.name if stable else "",
            "Members": [
                {
                    "MemberId": self.member_id(slot),
                    "GroupInstanceId": self.instance_id(slot),
                    "ClientId": self.client_id(slot),
                    "ClientHost": self.host(slot),
                    "MemberMetadata": metadata,
                    "MemberAssignment": assignment,
                }
                for slot, (metadata, assignment) in zip(membership.slots, rows, strict=True)
            ],
            "AuthorizedOperations": operations,
        }


def _by_topic_name(assignment: Assignment) -> consumer.TopicPartitions:
    return tuple((topic.name, tuple(partitions)) for topic, partitions in assignment)
