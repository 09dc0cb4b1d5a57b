"""Data classes for what brokers report about a group: its row in a list of groups, its description and its configs.

Group types, protocol types and states are strings in Kafka's spelling. A broker that is newer than kgtui may report
types and states that kgtui does not know.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.model.group_types import PROTOCOLS_WITH_OFFSETS, TYPES_WITH_OFFSETS, kind_of

if TYPE_CHECKING:
    from kgtui.model.members import Member, Topology


PREFIX_SEPARATORS = (".", ":/_", "-")
"""Characters at which a group id is cut to get its prefix, in order of priority.

A group id is cut after its first `.`. If it contains no `.`, it is cut after the first `:`, `/` or `_`, and if it
contains none of these, after the first `-`. For example, the prefix of `team-007.settle` is `team-007.`.
"""


@dataclass(frozen=True, slots=True)
class Listing:
    """The values that ListGroups returns for a group, without the group id (KIP-518, KIP-848, KIP-1043).

    Groups with equal values share one `Listing`. Even for 100,000 groups, only a few objects are needed.

    Attributes:
        type: group type in the broker's spelling; None if the broker does not list types.
        protocol: protocol type, such as `consumer`, `connect`, `sr`, `share` or `streams`; empty for a simple group.
        state: Kafka's name of the state; None if the broker does not list states (ListGroups before v4).
        coordinator: node id of the broker that listed the group.
    """

    type: str | None
    protocol: str
    state: str | None
    coordinator: int

    @property
    def kind(self) -> str:
        """The kind of the group, one of `kgtui.model.group_types.KINDS`."""
        return kind_of(self.type, self.protocol)

    @property
    def has_offsets(self) -> bool:
        """Whether groups of this type and protocol can have offsets. Connect and schema registry groups have none."""
        return self.type in TYPES_WITH_OFFSETS or self.protocol in PROTOCOLS_WITH_OFFSETS


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """The description of one group, from a describe RPC or, if no describe RPC found the group, from ListGroups.

    Attributes:
        type: group type. Each describe RPC is for groups of one type.
        protocol: protocol type, such as `consumer`, `connect`, `sr`, `share` or `streams`; empty for a simple group.
        state: Kafka's name of the group state.
        coordinator: node id of the broker that responded.
        assignor: name of the assignor, such as `range`; None if not reported. For a classic group, this is the protocol
            on which its members have agreed (`ProtocolData`).
        group_epoch: epoch of the group (KIP-848, KIP-932, KIP-1071); None for classic groups.
        assignment_epoch: epoch of the target assignment; None for classic groups.
        members: the members; None if `authoritative` is False, or if the broker withheld the members, because the user
            lacks DESCRIBE on their topics.
        operations: names of the allowed AclOperations on the group; None if not reported. Without an authorizer,
            brokers report every group operation that they know: READ, DELETE and DESCRIBE in Kafka 3.9.2 (bit field
            328), and also DESCRIBE_CONFIGS and ALTER_CONFIGS from Kafka 4.0 on (bit field 3400).
        topology: topology of a streams group; None for other types.
        topology_status: whether the broker has the topology description of a streams group: `available`, `not stored`
            or `error`; None for other group types, and from brokers before Kafka 4.4.
        source: RPC with its version, such as `ConsumerGroupDescribe v1`; `ListGroups` if `authoritative` is False.
        authoritative: whether a describe RPC has found the group. If not, all data comes from ListGroups. One cause is
            an old DescribeGroups version (before v6), which reports `Dead` both for a missing group and for a group
            that is not classic.
    """

    group: str
    type: str
    protocol: str
    state: str
    coordinator: int
    assignor: str | None = None
    group_epoch: int | None = None
    assignment_epoch: int | None = None
    members: tuple[Member, ...] | None = ()
    operations: frozenset[str] | None = None
    topology: Topology | None = None
    topology_status: str | None = None
    source: str = ""
    authoritative: bool = True

    @property
    def kind(self) -> str:
        """The kind of the group, one of `kgtui.model.group_types.KINDS`."""
        return kind_of(self.type, self.protocol)

    @property
    def member_count(self) -> int | None:
        """Number of members; None if `members` is None."""
        return None if self.members is None else len(self.members)


@dataclass(frozen=True, slots=True)
class GroupConfig:
    """One configuration entry of a group (DescribeConfigs, resource type GROUP).

    Attributes:
        value: value of the config; None if the value is sensitive.
        source: Kafka's ConfigSource, such as `DYNAMIC_GROUP_CONFIG`.
        type: Kafka's ConfigType, such as `INT`; None before DescribeConfigs version 3.
        synonyms: `(name, value, source)` of each ConfigSynonym. The one with the highest precedence comes first.
    """

    name: str
    value: str | None
    source: str
    read_only: bool = False
    sensitive: bool = False
    type: str | None = None
    documentation: str | None = None
    synonyms: tuple[tuple[str, str | None, str], ...] = ()


def listing_of(description: GroupDescription) -> Listing:
    """Return the type, protocol, state and coordinator of a described group as a `Listing`."""
    return Listing(description.type, description.protocol, description.state, description.coordinator)


def topics_of(description: GroupDescription) -> set[str] | None:
    """Return the topics that a group reads, according to its description; None if its members are unknown.

    The result contains the subscribed topics, the topics of owned partitions, and the source and repartition topics of
    a streams group.
    """
    if description.members is None:
        return None
    found: set[str] = set()
    for member in description.members:
        found.update(member.topics or ())
        found.update(topic for topic, _ in member.assignment or ())
    if description.topology is not None:
        for part in description.topology.subtopologies or ():
            found.update(part.source_topics)
            found.update(info.name for info in part.repartition_source_topics)
    return found


def membership_signature(description: GroupDescription) -> int:
    """Return a 32-bit hash that changes when the members of a group, their partitions, or the group's epochs change.

    In a Connect or Schema Registry group, the hash also changes when another member becomes the leader. The hash is
    never 0. Only hashes from the same process can be compared, because Python hashes strings differently in each
    process.
    """
    members = description.members or ()
    rows = tuple(sorted((member.member_id, hash(member.assignment), _leads(member)) for member in members))
    return (hash((description.group_epoch, description.assignment_epoch, rows)) & 0xFFFFFFFF) or 1


def _leads(member: Member) -> bool:
    worker = member.connect or member.registry
    return worker is not None and bool(worker.leader)
