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
"""The states through which a group passes in a rebalance, in order: `(name of the state, duration in seconds)`."""

Assignment = list[tuple["Topic", list[int]]]
"""The assignment of one member: `(topic, assigned partitions)` for each topic."""


@dataclass(frozen=True, slots=True)
class ConsumedTopic:
    """A topic that a group reads, and how the group commits offsets for it.

    Attributes:
        topic: the topic. It can be a topic that the scenario file marks as deleted.
        commits: commit pattern, which computes the committed offsets.
        without: partitions for which no offset is committed.
        metadata: metadata string in each offset commit.
        subscribed: whether the members subscribe to the topic.
    """

    topic: Topic
    commits: CommitPattern = STEADY
    without: frozenset[int] = frozenset()
    metadata: str = ""
    subscribed: bool = True


class Client(Struct, frozen=True, forbid_unknown_fields=True):
    """How the members of a group identify themselves: client ids, instance ids, racks and hosts.

    Attributes:
        name: prefix of the client ids and of the instance ids.
        static: whether members have instance ids (KIP-345).
        racks: racks, which are assigned to members 0, 1, 2, … in turn; empty if the members report no rack.
        host: text from which the host addresses are derived; empty to derive them from the group id.
    """

    name: str = "consumer"
    static: bool = False
    racks: tuple[str, ...] = ()
    host: str = ""


class GroupKeys(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="type"):
    """The keys that a scenario file can set for groups of any type. Each subclass adds the keys of one group type.

    Attributes:
        client: ids, racks and hosts of the members.
        phases: states of the group in a rebalance, with durations; None for the default of the group type.
        epoch: group epoch (in a classic group, the generation) at the start of the cluster.
    """

    client: Client = Client()
    phases: Phases | None = None
    epoch: int = 7


_KeysClass = type[GroupKeys]


class Group(ABC):
    """A simulated group. Its state, members and committed offsets are not stored, but computed for a given time.

    In all methods, `t` is in seconds since the start of the cluster. A `Slot` identifies one member.

    Attributes:
        schedule: which members the group has at any time.
        phases: states of the group in a rebalance, with durations.
        epoch: group epoch (in a classic group, the generation) at the start of the cluster.
        seed: number from which member ids and hosts are derived.
        keys: properties from the scenario file.
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
        """The protocol type of the group. In all groups except classic groups, it is equal to the group type."""
        return self.type

    def membership(self, t: float) -> Membership:
        return self.schedule.at(t)

    def state(self, t: float) -> str:
        """Return the state at time `t` in Kafka's spelling, such as `PreparingRebalance`."""
        return self.state_with(self.membership(t))

    def state_with(self, membership: Membership) -> str:
        """Return the state of the group, computed from its members and the time since the last membership change.

        After a membership change, the group passes through the rebalance states in `phases` before it is Stable. A
        group without members is Empty.
        """
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
        """Return the group's fields in a describe response, without the error code and the error message.

        Args:
            operations: bit field of the authorized operations.
        """

    def commits(self, t: float) -> Iterator[tuple[ConsumedTopic, list[tuple[int, int]]]]:
        """Yield `(topic, [(partition, committed offset), …])` for each topic with committed offsets."""
        membership = self.membership(t)
        # If no member is reading records, the offsets have not changed since the last membership change. Compute them
        # for the time of this change.
        at = t if membership.slots and not self.pauses(membership) else t - min(membership.since, t)
        for read in self.topics_read:
            offsets = read.commits.committed_offsets(read.topic, at)
            pairs = [(p, offset) for p, offset in enumerate(offsets) if offset is not None and p not in read.without]
            if pairs:
                yield read, pairs

    def start_offsets(self, t: float) -> Iterator[tuple[ConsumedTopic, list[tuple[int, int, int]]]]:
        """Yield `(topic, [(partition, share-partition start offset, lag), …])` for each topic of a share group.

        For a group of any other type, yield nothing.
        """
        return iter(())

    def pauses(self, membership: Membership) -> bool:
        """Return whether the state of the group, such as PreparingRebalance, keeps the members from reading records."""
        return self.state_with(membership) not in ("Stable", "Reconciling", "Assigning")

    def member_id(self, slot: Slot) -> str:
        """Return a member id as brokers generate it: `client id-UUID`, or `instance id-UUID` for a static member."""
        if self.client.static:
            return f"{self.instance_id(slot)}-{hash_uuid(self.seed, self.name, slot)}"
        return f"{self.client_id(slot)}-{hash_uuid(self.seed, self.name, slot)}"

    def kafka_member_id(self, slot: Slot) -> str:
        """Return a member id as clients generate it since KIP-848: a UUID in Kafka's format."""
        return hash_kafka_id(self.seed, self.name, slot)

    def client_id(self, slot: Slot) -> str:
        return f"{self.client.name}-{slot.number + 1}"

    def instance_id(self, slot: Slot) -> str | None:
        """Return the instance id of a static member; None for other members."""
        return f"{self.client.name}-{slot.number}" if self.client.static else None

    def rack(self, slot: Slot) -> str | None:
        """Return the rack that a member reports; None if it reports no rack."""
        racks = self.client.racks
        return racks[slot.number % len(racks)] if racks else None

    def host(self, slot: Slot) -> str:
        """Return the host of a member as brokers report it: a slash and an IPv4 address. Two members share a host."""
        return hash_host(self.seed, self.client.host or self.name, slot.number // 2)

    def assign_ranges(self, slots: Sequence[Slot]) -> list[Assignment]:
        """Return the assignment of each member: a range of adjacent partitions of each subscribed topic."""
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
        """Names of the topics that members subscribe to, sorted."""
        return sorted(read.topic.name for read in self.topics_read if read.subscribed)


def topic_partitions(assignment: Assignment) -> dict[str, Any]:
    """Convert an assignment to the format of ConsumerGroupDescribe and ShareGroupDescribe responses."""
    return {
        "TopicPartitions": [
            {"TopicId": topic.id, "TopicName": topic.name, "Partitions": partitions} for topic, partitions in assignment
        ]
    }
