"""A group as it is listed and described.

Types, protocols and states are kept as text, because a broker may name one that this version has never heard of; what
is known is written in Kafka's canonical case (`GroupType` and `GroupState` of Kafka's `org.apache.kafka.common`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kgtui.model.members import Member, Topology

CLASSIC = "classic"
CONSUMER = "consumer"
SHARE = "share"
STREAMS = "streams"
TYPES = (CLASSIC, CONSUMER, SHARE, STREAMS)

EMPTY = "Empty"
STABLE = "Stable"
DEAD = "Dead"
PREPARING_REBALANCE = "PreparingRebalance"
COMPLETING_REBALANCE = "CompletingRebalance"
ASSIGNING = "Assigning"
RECONCILING = "Reconciling"
NOT_READY = "NotReady"
STATES = (STABLE, PREPARING_REBALANCE, COMPLETING_REBALANCE, ASSIGNING, RECONCILING, NOT_READY, EMPTY, DEAD)
REBALANCING = frozenset({PREPARING_REBALANCE, COMPLETING_REBALANCE, ASSIGNING, RECONCILING})

# Kinds: what a user calls a group, from its type and protocol together (the filter language's `kind:`).
KINDS = ("consumer", "connect", "sr", "simple", "share", "streams", "other")

_STATE_BY_LOWER = {state.lower(): state for state in STATES}
_TYPE_BY_LOWER = {name: name for name in TYPES}


def canonical_state(text: str) -> str:
    """Kafka's spelling of a state, whatever its case; an unknown state is kept as the broker wrote it."""
    return _STATE_BY_LOWER.get(text.strip().lower(), text)


def canonical_type(text: str) -> str:
    """Kafka's wire spelling of a group type, whatever its case; an unknown type is kept as the broker wrote it."""
    return _TYPE_BY_LOWER.get(text.strip().lower(), text)


def kind_of(group_type: str | None, protocol: str | None) -> str:
    """One of `KINDS`. A simple group is one with offsets and no protocol (Kafka's `isSimpleConsumerGroup`)."""
    if group_type in (CONSUMER, SHARE, STREAMS):
        return group_type
    if group_type not in (None, CLASSIC):
        return "other"
    return {"consumer": "consumer", "connect": "connect", "sr": "sr", "": "simple"}.get(protocol or "", "other")


@dataclass(frozen=True, slots=True)
class Listing:
    """What a list says of a group: shared by all groups of which it says the same, so 100,000 groups need few.

    Attributes:
        type: `classic`, `consumer`, `share`, `streams`, as written if unknown, or None if the broker does not tell.
        protocol: protocol type: `consumer`, `connect`, `sr`, `share`, `streams`, any other, or `` for a simple group.
        state: canonical state, or None if the broker does not tell (ListGroups before v4).
        coordinator: node id of the broker that listed it, which coordinates it.
    """

    type: str | None
    protocol: str
    state: str | None
    coordinator: int

    @property
    def kind(self) -> str:
        """One of `KINDS`."""
        return kind_of(self.type, self.protocol)


@dataclass(frozen=True, slots=True)
class GroupListing:
    """One row of a list of groups (KIP-1043, KIP-518, KIP-848)."""

    group: str
    type: str | None
    protocol: str
    state: str | None
    coordinator: int

    @property
    def kind(self) -> str:
        """One of `KINDS`."""
        return kind_of(self.type, self.protocol)


@dataclass(frozen=True, slots=True)
class GroupDescription:
    """One group in full, as the RPC of its type describes it.

    Attributes:
        group: group id.
        type: group type by which it was described.
        protocol: protocol type (`consumer`, `connect`, `sr`, `share`, `streams`, ``).
        state: canonical state.
        coordinator: node id that answered.
        assignor: assignor or protocol name; None if the broker did not say.
            Without an authorizer that is all that the release knows: READ, DELETE and DESCRIBE on 3.9.2 (bits 328),
            from 4.0 on DESCRIBE_CONFIGS and ALTER_CONFIGS too (bits 3400, seen on 4.1.2 and 4.3.1).
        group_epoch: KIP-848, KIP-932, KIP-1071; None for classic groups.
        assignment_epoch: epoch of the target assignment; None for classic groups.
        members: None when the broker withheld them.
        operations: what the asking principal may do (Kafka's AclOperation names); None if the broker did not say.
        topology: streams groups only.
        topology_status: streams on 4.4 and newer; None otherwise.
        source: the RPC that answered, such as `ConsumerGroupDescribe v1`.
        authoritative: whether that RPC can tell an Empty group of this type from one of another type. DescribeGroups
            before v6 answers `Dead` for all it does not know, and so proves nothing by that state.
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
        """One of `KINDS`."""
        return kind_of(self.type, self.protocol)

    @property
    def member_count(self) -> int | None:
        """Number of members, or None when the broker withheld them."""
        return None if self.members is None else len(self.members)


@dataclass(frozen=True, slots=True)
class GroupConfig:
    """One configuration entry of a group (DescribeConfigs, resource type GROUP).

    Attributes:
        value: None when the broker hides it.
        source: Kafka's ConfigSource name, such as `DEFAULT_CONFIG` or `DYNAMIC_GROUP_CONFIG`.
        type: Kafka's ConfigType name, such as `INT`; None before v3.
        synonyms: `(name, value, source)` in the order the broker falls back.
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
    """The list row that a description amounts to."""
    return Listing(description.type, description.protocol, description.state, description.coordinator)
