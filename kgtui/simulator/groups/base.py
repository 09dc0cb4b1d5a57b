"""What groups of every type share: members in a rebalance, and how far they have read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from kgtui.simulator.facts import digest, host_of, kafka_id, uuid_of
from kgtui.simulator.habits import STEADY, Habit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kgtui.simulator.life import Life, Moment, Slot
    from kgtui.simulator.topics import Topic

Pace = tuple[tuple[str, float], ...]
Assignment = list[tuple["Topic", list[int]]]


@dataclass(frozen=True, slots=True)
class Reads:
    """A topic that a group reads, and how.

    Attributes:
        topic: the topic, which may have been deleted meanwhile.
        habit: how it works through it.
        without: partitions that were never committed.
        metadata: what the client committed beside the offset.
        subscribed: False for commits on a topic that no member subscribes to any more.
    """

    topic: Topic
    habit: Habit = STEADY
    without: frozenset[int] = frozenset()
    metadata: str = ""
    subscribed: bool = True


@dataclass(frozen=True, slots=True)
class Client:
    """How the clients of a group call themselves.

    Attributes:
        name: start of each client id.
        static: whether members have instance ids (KIP-345).
        racks: racks that they are spread over; empty for none.
        host: hosts are made from this; the group's name if empty.
    """

    name: str = "consumer"
    static: bool = False
    racks: tuple[str, ...] = ()
    host: str = ""


class Group(ABC):
    """A group: its state, its members and its commits at any time `t`, in seconds since the start of the cluster.

    Attributes:
        name: group id.
        reads: topics it reads.
        pace: states that it passes after each change of its members, with how many seconds each lasts.
        epoch: generation or group epoch at the start.
    """

    type: ClassVar[str]
    standard_pace: ClassVar[Pace]

    def __init__(
        self,
        name: str,
        life: Life,
        reads: Sequence[Reads] = (),
        *,
        protocol: str = "consumer",
        client: Client | None = None,
        pace: Pace | None = None,
        epoch: int = 7,
        seed: int = 1,
    ) -> None:
        self.name = name
        self.life = life
        self.reads = tuple(reads)
        self.protocol = protocol
        self.client = client or Client()
        self.pace = self.standard_pace if pace is None else pace
        self.epoch = epoch
        self.seed = seed

    def moment(self, t: float) -> Moment:
        """Who is in the group."""
        return self.life.moment(t)

    def state(self, t: float) -> str:
        """The state as the broker writes it."""
        return self.state_at(self.moment(t))

    def state_at(self, moment: Moment) -> str:
        """The state at a moment of its life."""
        if not moment.slots:
            return "Empty"
        passed = 0.0
        for state, seconds in self.pace:
            passed += seconds
            if moment.since < passed:
                return state
        return "Stable"

    @abstractmethod
    def describe(self, t: float, *, operations: int) -> dict[str, Any]:
        """The group as the response of its type's RPC holds it, without error fields."""

    def commits(self, t: float) -> Iterator[tuple[Reads, list[tuple[int, int]]]]:
        """Each topic with the `(partition, offset)` pairs that are committed; nobody commits while nobody works."""
        moment = self.moment(t)
        at = t if moment.slots and not self.pauses(moment) else t - min(moment.since, t)
        for read in self.reads:
            positions = read.habit.positions(read.topic, at)
            pairs = [(p, offset) for p, offset in enumerate(positions) if offset is not None and p not in read.without]
            if pairs:
                yield read, pairs

    def pauses(self, moment: Moment) -> bool:
        """Whether members stop working at this moment of a rebalance."""
        return self.state_at(moment) not in ("Stable", "Reconciling", "Assigning")

    # Members.

    def member_id(self, slot: Slot) -> str:
        """The id of the member that holds a slot."""
        if self.client.static:
            return f"{self.instance_id(slot)}-{uuid_of(self.seed, self.name, slot)}"
        return f"{self.client_id(slot)}-{uuid_of(self.seed, self.name, slot)}"

    def kafka_member_id(self, slot: Slot) -> str:
        """The id of a member that made it up itself, as clients of the newer protocols do."""
        return kafka_id(self.seed, self.name, slot)

    def client_id(self, slot: Slot) -> str:
        """The client id of the member that holds a slot."""
        return f"{self.client.name}-{slot.number + 1}"

    def instance_id(self, slot: Slot) -> str | None:
        """The instance id of a static member."""
        return f"{self.client.name}-{slot.number}" if self.client.static else None

    def rack(self, slot: Slot) -> str | None:
        """The rack that the member says it is in."""
        racks = self.client.racks
        return racks[slot.number % len(racks)] if racks else None

    def host(self, slot: Slot) -> str:
        """Where the member connects from: two members a machine."""
        return host_of(self.seed, self.client.host or self.name, slot.number // 2)

    def share_out(self, slots: Sequence[Slot]) -> list[Assignment]:
        """The partitions of all subscribed topics, in ranges of about the same size, one for each slot."""
        shares: list[Assignment] = [[] for _ in slots]
        for read in self.reads:
            if not read.subscribed or not slots:
                continue
            total, shift = read.topic.partitions, digest(self.name, read.topic.name)[0]
            for index in range(len(slots)):
                low, high = index * total // len(slots), (index + 1) * total // len(slots)
                if low < high:
                    shares[(index + shift) % len(slots)].append((read.topic, list(range(low, high))))
        return shares

    @property
    def topics(self) -> list[str]:
        """Names of the topics that members subscribe to."""
        return sorted(read.topic.name for read in self.reads if read.subscribed)
