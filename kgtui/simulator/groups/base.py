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
"""Topics, each with the partitions that one member is assigned."""


@dataclass(frozen=True, slots=True)
class ConsumedTopic:
    """A topic that a group reads, and how it commits offsets for it.

    Attributes:
        topic: the topic; it may have been deleted since.
        commits: how offsets are committed.
        without: partitions without a committed offset.
        metadata: the metadata of each commit.
        subscribed: False for a topic that still has commits but no subscribed member.
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
        racks: racks over which the members are spread; empty if they report no rack.
        host: name from which the hosts are derived; the group id if empty.
    """

    name: str = "consumer"
    static: bool = False
    racks: tuple[str, ...] = ()
    host: str = ""


class Group(ABC):
    """A group: its state, its members and its commits at any time `t`, in seconds since the start of the cluster.

    Attributes:
        name: group id.
        schedule: who is a member at which time.
        topics_read: the topics that it reads.
        phases: the states that it passes through after each change of its members.
        epoch: generation or group epoch at the start.
    """

    type: ClassVar[str]
    default_phases: ClassVar[Phases]

    def __init__(
        self,
        name: str,
        schedule: MembershipSchedule,
        topics_read: Sequence[ConsumedTopic] = (),
        *,
        protocol: str = "consumer",
        client: Client | None = None,
        phases: Phases | None = None,
        epoch: int = 7,
        seed: int = 1,
    ) -> None:
        self.name = name
        self.schedule = schedule
        self.topics_read = tuple(topics_read)
        self.protocol = protocol
        self.client = client or Client()
        self.phases = self.default_phases if phases is None else phases
        self.epoch = epoch
        self.seed = seed

    def membership(self, t: float) -> Membership:
        """Return the members at time `t`."""
        return self.schedule.at(t)

    def state(self, t: float) -> str:
        """Return the state at time `t`, spelled as brokers spell it."""
        return self.state_with(self.membership(t))

    def state_with(self, membership: Membership) -> str:
        """Return the state of the group while it has these members."""
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
        """Return the group as a row of its type's describe response, without error fields.

        `operations` is the bit field of authorized operations.
        """

    def commits(self, t: float) -> Iterator[tuple[ConsumedTopic, list[tuple[int, int]]]]:
        """Yield each topic with its committed `(partition, offset)` pairs; commits stop while no member works."""
        membership = self.membership(t)
        at = t if membership.slots and not self.pauses(membership) else t - min(membership.since, t)
        for read in self.topics_read:
            offsets = read.commits.committed_offsets(read.topic, at)
            pairs = [(p, offset) for p, offset in enumerate(offsets) if offset is not None and p not in read.without]
            if pairs:
                yield read, pairs

    def pauses(self, membership: Membership) -> bool:
        """Return whether the members stop reading in this phase of a rebalance."""
        return self.state_with(membership) not in ("Stable", "Reconciling", "Assigning")

    # Identities of the members.

    def member_id(self, slot: Slot) -> str:
        """Return the id of the member in a slot, as brokers generate it."""
        if self.client.static:
            return f"{self.instance_id(slot)}-{hash_uuid(self.seed, self.name, slot)}"
        return f"{self.client_id(slot)}-{hash_uuid(self.seed, self.name, slot)}"

    def kafka_member_id(self, slot: Slot) -> str:
        """Return the id of the member in a slot, as clients of the newer group protocols generate it."""
        return hash_kafka_id(self.seed, self.name, slot)

    def client_id(self, slot: Slot) -> str:
        """Return the client id of the member in a slot."""
        return f"{self.client.name}-{slot.number + 1}"

    def instance_id(self, slot: Slot) -> str | None:
        """Return the instance id of a static member; None for other members."""
        return f"{self.client.name}-{slot.number}" if self.client.static else None

    def rack(self, slot: Slot) -> str | None:
        """Return the rack that a member reports; None if it reports none."""
        racks = self.client.racks
        return racks[slot.number % len(racks)] if racks else None

    def host(self, slot: Slot) -> str:
        """Return the host of a member; two members run on each host."""
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
    """Return an assignment in the structure of the describe responses of consumer and share groups."""
    return {
        "TopicPartitions": [
            {"TopicId": topic.id, "TopicName": topic.name, "Partitions": partitions} for topic, partitions in assignment
        ]
    }
