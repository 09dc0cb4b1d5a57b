"""Data classes for a group, as brokers list and describe it.

Types, protocols and states are text, because newer brokers may report names that kgtui does not know. Known names have
Kafka's spelling (`GroupType` and `GroupState` in `org.apache.kafka.common`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.model.group_types import PROTOCOLS_WITH_OFFSETS, TYPES_WITH_OFFSETS, kind_of

if TYPE_CHECKING:
    from kgtui.model.members import Member, Topology


FAMILY_SEPARATORS = (".", ":/_", "-")
"""Sets of characters that can end the prefix of a group id, in order of priority.

If the id contains characters of several sets, the first of these sets is used. The prefix ends with the first character
that belongs to this set. The prefix of `team-007.settle` is therefore `team-007.`.
"""


@dataclass(frozen=True, slots=True)
class Listing:
    """One row of ListGroups without the group id (KIP-518, KIP-848, KIP-1043).

    Equal rows share one `Listing`, so that 100,000 groups need only a few objects.

    Attributes:
        type: one of `kgtui.model.group_types.TYPES`, an unknown type as the broker wrote it, or None if types are not
            listed.
        protocol: protocol type (`consumer`, `connect`, `sr`, `share`, `streams` or another); empty for a simple group.
        state: Kafka's name of the group state, or None if states are not listed (ListGroups before v4).
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
        """Whether groups with this listing can have offsets. Connect and schema registry groups have none."""
        return self.type in TYPES_WITH_OFFSETS or self.protocol in PROTOCOLS_WITH_OFFSETS


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """The description of one group, from the describe RPC of its type.

    Attributes:
        type: the group type that the describe RPC belongs to.
        protocol: protocol type (`consumer`, `connect`, `sr`, `share`, `streams`); empty for a simple group.
        state: Kafka's name of the group state.
        coordinator: node id of the broker that responded.
        assignor: name of the assignor, or of the protocol in a classic group; None if it was not reported.
        group_epoch: epoch of the group (KIP-848, KIP-932, KIP-1071); None for classic groups.
        assignment_epoch: epoch of the target assignment; None for classic groups.
        members: None if the broker withheld them, because the user has no DESCRIBE permission on their topics.
        operations: names of Kafka's AclOperation that the user is allowed to perform on the group; None if the broker
            did not report them. Without an authorizer, a broker reports every operation that its release knows: READ,
            DELETE and DESCRIBE in Kafka 3.9.2 (bit field 328), and also DESCRIBE_CONFIGS and ALTER_CONFIGS from 4.0 on
            (bit field 3400, observed on 4.1.2 and 4.3.1).
        topology: the topology of a streams group; None for other types.
        topology_status: whether the broker has the topology of a streams group: `available`, `not stored` or `error`;
            None before Kafka 4.4 and for other types.
        source: the RPC with its version, such as `ConsumerGroupDescribe v1`.
        authoritative: whether `state` can be trusted. DescribeGroups before v6 returns `Dead` for a group that does not
            exist or has another type.
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
        """Number of members; None if the broker withheld them."""
        return None if self.members is None else len(self.members)


@dataclass(frozen=True, slots=True)
class GroupConfig:
    """One configuration entry of a group (DescribeConfigs, resource type GROUP).

    Attributes:
        value: None if the broker hides it, because it is sensitive.
        source: name of Kafka's ConfigSource, such as `DEFAULT_CONFIG` or `DYNAMIC_GROUP_CONFIG`.
        type: name of Kafka's ConfigType, such as `INT`; None before version 3 of the RPC.
        synonyms: `(name, value, source)` of each entry that can set the value, the most important first (Kafka's
            ConfigSynonyms).
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
    """Return the listing with the same type, protocol, state and coordinator as a description."""
    return Listing(description.type, description.protocol, description.state, description.coordinator)


def topics_of(description: GroupDescription) -> set[str] | None:
    """Return the topics to which members subscribe, the topics of their partitions, and a topology's source topics.

    None if the broker withheld the members.
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
    """Return a 32-bit hash of the members, their assignments and the epochs of a group.

    It is never 0. Hashes from different processes must not be compared.
    """
    members = description.members or ()
    rows = tuple(sorted((member.member_id, hash(member.assignment), _leads(member)) for member in members))
    return (hash((description.group_epoch, description.assignment_epoch, rows)) & 0xFFFFFFFF) or 1


def _leads(member: Member) -> bool:
    worker = member.connect or member.registry
    return worker is not None and bool(worker.leader)
