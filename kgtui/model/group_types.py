"""The group types with their states, and the kinds of groups.

The kind of a classic group follows from its protocol type, such as `connect`. The kind of any other group is its type.

To add a type, add an entry to `_ENTRIES`, and a decoder of its describe RPC to `kgtui.admin.decoding`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

CLASSIC = "classic"
CONSUMER = "consumer"
SHARE = "share"
STREAMS = "streams"

EMPTY = "Empty"
STABLE = "Stable"
DEAD = "Dead"
PREPARING_REBALANCE = "PreparingRebalance"
COMPLETING_REBALANCE = "CompletingRebalance"
ASSIGNING = "Assigning"
RECONCILING = "Reconciling"
NOT_READY = "NotReady"
REBALANCING = frozenset({PREPARING_REBALANCE, COMPLETING_REBALANCE, ASSIGNING, RECONCILING})
UNSETTLED = REBALANCING | {NOT_READY}
"""The states of a rebalance, and NotReady. If a group stays in one of these states for long, it has a problem."""

OFFSET_FETCH = "OffsetFetch"
DESCRIBE_SHARE_GROUP_OFFSETS = "DescribeShareGroupOffsets"

CONSUMER_TOOL = "kafka-consumer-groups.sh"

SIMPLE = "simple"
OTHER = "other"

_COMMIT_DETAILS = "commit time and expiry"
_BECOMES_SIMPLE = "the group type (the group is a simple classic group until its {} application joins again)"


@dataclass(frozen=True, slots=True)
class GroupKind:
    """A kind of group, which follows from group type and protocol type.

    Attributes:
        name: name of the kind, as in the filter `kind:connect`.
        tool: Kafka's script that describes these groups; None if there is none.
        has_offsets: whether groups of this kind can have offsets. It is False for `connect`, `sr` (Schema Registry) and
            `other`.
    """

    name: str
    tool: str | None
    has_offsets: bool = True


class OffsetExpiry(Enum):
    """When brokers delete the offsets of an Empty group (KIP-211).

    The retention time is `offsets.retention.minutes`.
    """

    NEVER = auto()
    AFTER_COMMIT = auto()
    """Each offset is deleted when the retention time has passed since its commit."""
    AFTER_EMPTY = auto()
    """All offsets are deleted together, when the retention time has passed since the group became Empty.

    This is the value for classic groups. A simple group (a classic group without a protocol type) is an exception:
    each of its offsets is deleted when the retention time has passed since its commit.
    """


@dataclass(frozen=True, slots=True)
class GroupType:
    """The properties of one group type.

    Attributes:
        name: name in the Kafka protocol (`org.apache.kafka.common.GroupType`).
        title: name that `kafka-groups.sh` prints.
        describe_rpc: RPC that describes groups of this type. No other RPC reliably reports the state of such groups.
        active_states: all valid states of such groups, except Empty and Dead (Kafka's
            `GroupState.groupStatesForType`).
        rank: position of the type in lists, from 0. If the type of a group is unknown, kgtui calls the describe RPCs
            one after the other in this order.
        tool: Kafka's script for these groups.
        offsets_rpc: OffsetFetch or DescribeShareGroupOffsets.
        offset_expiry: when brokers delete the offsets of an Empty group.
        feature: cluster feature that the type needs, such as `share.version`; None for classic groups.
        kip: KIP that introduced the type; empty for classic groups.
        kinds: protocol type → kind of group. Empty if all groups of the type have the same kind, which then has the
            name of the type.
        deletable_states: states in which kgtui is willing to delete a group.
        not_restorable: data of a group that cannot be restored from a backup, such as `commit time and expiry`.
    """

    name: str
    title: str
    describe_rpc: str
    active_states: tuple[str, ...]
    rank: int
    tool: str = CONSUMER_TOOL
    offsets_rpc: str = OFFSET_FETCH
    offset_expiry: OffsetExpiry = OffsetExpiry.AFTER_COMMIT
    feature: str | None = None
    kip: str = ""
    kinds: Mapping[str, GroupKind] = field(default_factory=dict)
    deletable_states: frozenset[str] = frozenset({EMPTY})
    not_restorable: tuple[str, ...] = ()

    @property
    def has_configs(self) -> bool:
        """Whether groups of this type can have configs. Config names begin with the type: `share.isolation.level`."""
        return self.feature is not None

    @property
    def absence(self) -> str:
        """Text such as `no share groups`. `kgtui doctor` shows it if a broker lacks the describe RPC of this type."""
        return f"no {self.name} groups of {self.kip}" if self.name == CONSUMER else f"no {self.name} groups"

    def kind(self, protocol: str | None) -> str:
        """Return the kind of a group with this type and the given protocol type, one of `KINDS`."""
        if not self.kinds:
            return self.name
        found = self.kinds.get(protocol or "")
        return OTHER if found is None else found.name


_ENTRIES = (
    GroupType(
        CLASSIC,
        "Classic",
        "DescribeGroups",
        (STABLE, PREPARING_REBALANCE, COMPLETING_REBALANCE),
        rank=1,
        offset_expiry=OffsetExpiry.AFTER_EMPTY,
        kinds={
            "consumer": GroupKind("consumer", CONSUMER_TOOL),
            "connect": GroupKind("connect", None, has_offsets=False),
            "sr": GroupKind("sr", None, has_offsets=False),
            "": GroupKind(SIMPLE, CONSUMER_TOOL),
        },
        not_restorable=(_COMMIT_DETAILS,),
    ),
    GroupType(
        CONSUMER,
        "Consumer",
        "ConsumerGroupDescribe",
        (STABLE, ASSIGNING, RECONCILING),
        rank=0,
        feature="group.version",
        kip="KIP-848",
        not_restorable=(_COMMIT_DETAILS, _BECOMES_SIMPLE.format(CONSUMER)),
    ),
    GroupType(
        SHARE,
        "Share",
        "ShareGroupDescribe",
        (STABLE,),
        rank=2,
        tool="kafka-share-groups.sh",
        offsets_rpc=DESCRIBE_SHARE_GROUP_OFFSETS,
        offset_expiry=OffsetExpiry.NEVER,
        feature="share.version",
        kip="KIP-932",
        not_restorable=("records in flight and delivery counts",),
    ),
    GroupType(
        STREAMS,
        "Streams",
        "StreamsGroupDescribe",
        (STABLE, ASSIGNING, RECONCILING, NOT_READY),
        rank=3,
        tool="kafka-streams-groups.sh",
        feature="streams.version",
        kip="KIP-1071",
        not_restorable=(_COMMIT_DETAILS, _BECOMES_SIMPLE.format(STREAMS)),
    ),
)

GROUP_TYPES: Mapping[str, GroupType] = {entry.name: entry for entry in _ENTRIES}
"""Every known group type, by its name in the Kafka protocol."""

TYPES = tuple(GROUP_TYPES)
RANKED_TYPES = tuple(sorted(GROUP_TYPES.values(), key=lambda entry: entry.rank))

STATES = (*dict.fromkeys(state for entry in _ENTRIES for state in entry.active_states), EMPTY, DEAD)
"""Every group state that kgtui knows. `Empty` and `Dead`, the states without members, come last."""

_KINDS = {kind.name: kind for entry in _ENTRIES for kind in entry.kinds.values()}
GROUP_KINDS: Mapping[str, GroupKind] = {
    **_KINDS,
    **{entry.name: GroupKind(entry.name, entry.tool) for entry in _ENTRIES if not entry.kinds},
    OTHER: GroupKind(OTHER, None, has_offsets=False),
}
"""Every kind of group by its name.

The kind of a classic group is `consumer`, `connect`, `sr` (Schema Registry) or `simple`. The kind of any other group is
its type, or `other` if kgtui does not know the type.
"""

KINDS = tuple(GROUP_KINDS)

SHARE_OFFSET_TYPES = frozenset(entry.name for entry in _ENTRIES if entry.offsets_rpc == DESCRIBE_SHARE_GROUP_OFFSETS)
"""Group types whose groups have share-partition start offsets instead of committed offsets."""

TYPES_BY_OFFSET_EXPIRY: Mapping[OffsetExpiry, tuple[str, ...]] = {
    expiry: tuple(entry.name for entry in _ENTRIES if entry.offset_expiry is expiry) for expiry in OffsetExpiry
}

TYPES_WITH_OFFSETS = frozenset(entry.name for entry in _ENTRIES if not entry.kinds)
"""Group types whose groups can all have offsets: every type except classic.

A classic group can have offsets only if its protocol type is in `PROTOCOLS_WITH_OFFSETS`.
"""

PROTOCOLS_WITH_OFFSETS = frozenset(
    protocol for entry in _ENTRIES for protocol, kind in entry.kinds.items() if kind.has_offsets
)
"""Protocol types of the classic groups that can have offsets, including the empty protocol type of simple groups."""

PROTOCOLS = tuple(
    dict.fromkeys(protocol for entry in _ENTRIES for protocol in (entry.kinds or (entry.name,)) if protocol)
)
"""Protocol types of all known kinds of groups: `consumer`, `connect`, `sr`, `share` and `streams`."""

_STATE_BY_LOWER = {state.lower(): state for state in STATES}
_TYPE_BY_LOWER = {name.lower(): name for name in TYPES}


def canonical_state(text: str) -> str:
    """Return a state in Kafka's spelling. Case is ignored, and an unknown state is returned unchanged."""
    return _STATE_BY_LOWER.get(text.strip().lower(), text)


def canonical_type(text: str) -> str:
    """Return a group type in Kafka's spelling. Case is ignored, and an unknown type is returned unchanged."""
    return _TYPE_BY_LOWER.get(text.strip().lower(), text)


def kind_of(group_type: str | None, protocol: str | None) -> str:
    """Return the kind of a group, one of `KINDS`. A group whose type is None counts as classic.

    A classic group without a protocol type is simple (Kafka's `isSimpleConsumerGroup`).
    """
    entry = GROUP_TYPES.get(CLASSIC if group_type is None else group_type)
    return OTHER if entry is None else entry.kind(protocol)


def may_have_configs(group_type: str | None) -> bool:
    """Return whether a group of this type can have its own configs in Kafka; True if the type is not known."""
    entry = GROUP_TYPES.get(group_type or "")
    return entry is None or entry.has_configs
