"""The base class of all simulated groups: members, rebalances and committed offsets."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from msgspec import Struct

from kgtui.simulator.commit_patterns import STEADY, CommitPattern
from kgtui.simulator.hashing import digest, hash_host, hash_kafka_id, hash_uuid

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kgtui.simulator.membership import Membership, MembershipSchedule, Slot
    from kgtui.simulator.topics import Topic

Phases = tuple[tuple[str, float], ...]
"""The states of a rebalance in order, each with its duration in seconds."""

Assignment = list[tuple["Topic", list[int]]]
"""The assignment of one member: pairs of a topic and the assigned partitions."""


@dataclass(frozen=True, slots=True)
class ConsumedTopic:
    """A topic that a group reads, and how the group commits offsets for it.

    Attributes:
        topic: the topic, which may have been deleted.
        commits: the commit pattern.
        without: partitions without a committed offset.
        metadata: the metadata string in each offset commit.
        subscribed: False if no member subscribes to the topic, although the group has committed offsets for it.
    """

    topic: Topic
    commits: CommitPattern = STEADY
    without: frozenset[int] = frozenset()
    metadata: str = ""
    subscribed: bool = True


class Client(Struct, frozen=True, forbid_unknown_fields=True):
    """How the clients of a group identify themselves.

    Attributes:
        name: prefix of the client ids.
        static: whether members have instance ids (KIP-345).
        racks: racks over which the members are spread. If the tuple is empty, members report no rack.
        host: name from which the host addresses are derived. If it is empty, they are derived from the group id.
    """

    name: str = "consumer"
    static: bool = False
    racks: tuple[str, ...] = ()
    host: str = ""


class GroupKeys(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="type"):
    """The properties of a group that scenario files set, and that groups of all types have.

    The subclass of each group type adds the properties of that type. The value of `type` in a scenario file is the tag
    of the subclass.

    Attributes:
        client: how the clients identify themselves.
        phases: the states of the rebalance that follows each change of the members. If it is None, the default of the
            group type is used.
        epoch: generation (of a classic group) or group epoch (of other groups) at the start of the cluster.
    """

    client: Client = Client()
    phases: Phases | None = None
    epoch: int = 7


_KeysClass = type[GroupKeys]


class Group(ABC):
    """A group whose state, members and commits at the time `t` are computed from `t`, and not stored.

    In all methods, `t` is a time in seconds since the start of the cluster. A slot is a numbered place for a member in
    the group, together with the member that has the place at that time; see `Slot`.

    Attributes:
        name: group id.
        schedule: the members of the group at each time.
        topics_read: the topics that the group reads.
        keys: the properties that scenario files set. The constructor takes them as keyword arguments.
    """

    type: ClassVar[str]
    default_phases: ClassVar[Phases]
    keys_class: ClassVar[_KeysClass]
    keys: GroupKeys

    def __init__(
        self,
        name: str,
        schedule: MembershipSchedule,
        topics_read: Sequence[ConsumedTopic] = (),
        *,
        seed: int = 1,
        **keys: Any,
    ) -> None:
        self.keys = self.keys_class(**keys)
        self.name = name
        self.schedule = schedule
        self.topics_read = tuple(topics_read)
        self.client = self.keys.client
        self.phases = self.default_phases if self.keys.phases is None else self.keys.phases
        self.epoch = self.keys.epoch
        self.seed = seed

    @property
    def protocol(self) -> str:
        """The protocol type: the name of the group type, except in classic groups."""
        return self.type

    def membership(self, t: float) -> Membership:
        """Return the members at time `t`."""
        return self.schedule.at(t)

    def state(self, t: float) -> str:
        """Return the state at time `t` in the spelling of Kafka's responses, such as `PreparingRebalance`."""
        return self.state_with(self.membership(t))

    def state_with(self, membership: Membership) -> str:
        """Return the state of a group that has had these members for `membership.since` seconds."""
        if not membership.slots:
            return "Empty"
        passed = 0.0
        for state, seconds in self.phases:
            passed += seconds
            if membership.since < passed:
                return state
        return "Stable"

    @abstractmethod
    def describe(self, t: float, *, operations: int) -> dict[str, Any]:
        """Return the group as a row of the describe response for its group type, without the error fields.

        Args:
            t: the time, in seconds since the start of the cluster.
            operations: bit field of the authorized operations.
        """

    def commits(self, t: float) -> Iterator[tuple[ConsumedTopic, list[tuple[int, int]]]]:
        """Yield pairs of a topic and a list of `(partition, committed offset)`, for all topics of the group.

        The offsets do not change while the group has no members or its members do not read.
        """
        membership = self.membership(t)
        at = t if membership.slots and not self.pauses(membership) else t - min(membership.since, t)
        for read in self.topics_read:
            offsets = read.commits.committed_offsets(read.topic, at)
            pairs = [(p, offset) for p, offset in enumerate(offsets) if offset is not None and p not in read.without]
            if pairs:
                yield read, pairs

    def start_offsets(self, t: float) -> Iterator[tuple[ConsumedTopic, list[tuple[int, int, int]]]]:
        """Yield pairs of a topic and a list of `(partition, share-partition start offset, lag)`.

        Only share groups have start offsets, so the default implementation yields nothing.
        """
        return iter(())

    def pauses(self, membership: Membership) -> bool:
        """Return whether the members read nothing in the current state, for example in PreparingRebalance."""
        return self.state_with(membership) not in ("Stable", "Reconciling", "Assigning")

    def member_id(self, slot: Slot) -> str:
        """Return the id of the member in a slot, in the format in which brokers generate member ids."""
        if self.client.static:
            return f"{self.instance_id(slot)}-{hash_uuid(self.seed, self.name, slot)}"
        return f"{self.client_id(slot)}-{hash_uuid(self.seed, self.name, slot)}"

    def kafka_member_id(self, slot: Slot) -> str:
        """Return the id of the member in a slot, in the format in which clients generate member ids since KIP-848."""
        return hash_kafka_id(self.seed, self.name, slot)

    def client_id(self, slot: Slot) -> str:
        """Return the client id of the member in a slot."""
        return f"{self.client.name}-{slot.number + 1}"

    def instance_id(self, slot: Slot) -> str | None:
        """Return the instance id of a static member; None for other members."""
        return f"{self.client.name}-{slot.number}" if self.client.static else None

    def rack(self, slot: Slot) -> str | None:
        """Return the rack that a member reports, or None if it does not report a rack."""
        racks = self.client.racks
        return racks[slot.number % len(racks)] if racks else None

    def host(self, slot: Slot) -> str:
        """Return the host of a member in Kafka's format, which is a slash and an IPv4 address.

        Two members run on each host.
        """
        return hash_host(self.seed, self.client.host or self.name, slot.number // 2)

    def assign_ranges(self, slots: Sequence[Slot]) -> list[Assignment]:
        """Divide the partitions of all subscribed topics into ranges of similar size, one assignment per slot."""
        assignments: list[Assignment] = [[] for _ in slots]
        for read in self.topics_read:
            if not read.subscribed or not slots:
                continue
            total, shift = read.topic.partitions, digest(self.name, read.topic.name)[0]
            for index in range(len(slots)):
                low, high = index * total // len(slots), (index + 1) * total // len(slots)
                if low < high:
                    assignments[(index + shift) % len(slots)].append((read.topic, list(range(low, high))))
        return assignments

    @property
    def subscribed_topics(self) -> list[str]:
        """Names of the topics that members subscribe to, in ascending order."""
        return sorted(read.topic.name for read in self.topics_read if read.subscribed)


def topic_partitions(assignment: Assignment) -> dict[str, Any]:
    """Convert an assignment to the structure that ConsumerGroupDescribe and ShareGroupDescribe responses use."""
    return {
        "TopicPartitions": [
            {"TopicId": topic.id, "TopicName": topic.name, "Partitions": partitions} for topic, partitions in assignment
        ]
    }
