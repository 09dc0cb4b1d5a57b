"""Generated groups by the ten thousand: a few bytes each, made into groups only when someone asks for details."""

from __future__ import annotations

from array import array
from collections import deque
from itertools import islice
from random import Random
from typing import TYPE_CHECKING

from kgtui.simulator.facts import number_of, offsets_partition
from kgtui.simulator.groups.base import Client, Group, Reads
from kgtui.simulator.groups.classic import ClassicGroup
from kgtui.simulator.groups.consumer import ConsumerGroup
from kgtui.simulator.groups.payload import ConnectPayload
from kgtui.simulator.groups.share import ShareGroup
from kgtui.simulator.groups.streams import Part, StreamsGroup
from kgtui.simulator.habits import Batch, Draining, Habit, Halted, Lagging, Lost, Steady, Stuck
from kgtui.simulator.life import FOREVER, Held
from kgtui.simulator.names import group_names, topic_names
from kgtui.simulator.topics import Topic

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

OFFSETS_PARTITIONS = 50
TICK = 2.0
"""Seconds from one round of changes to the next."""

EMPTY, JOINING, SYNCING, STABLE, GONE = 0, 1, 2, 3, 255

SIMPLE, CLASSIC, CONNECT, CONSUMER, SHARE, STREAMS = range(6)
KINDS: tuple[tuple[str, str, tuple[str, str, str, str]], ...] = (
    ("classic", "", ("Empty", "Empty", "Empty", "Empty")),
    ("classic", "consumer", ("Empty", "PreparingRebalance", "CompletingRebalance", "Stable")),
    ("classic", "connect", ("Empty", "PreparingRebalance", "CompletingRebalance", "Stable")),
    ("consumer", "consumer", ("Empty", "Assigning", "Reconciling", "Stable")),
    ("share", "share", ("Empty", "Stable", "Stable", "Stable")),
    ("streams", "streams", ("Empty", "Assigning", "Reconciling", "Stable")),
)
"""Kind → type, protocol and the names of its states."""

_SHARES = ((CLASSIC, 0.60), (CONSUMER, 0.25), (STREAMS, 0.05), (SHARE, 0.05), (SIMPLE, 0.03), (CONNECT, 0.02))
_HABITS: tuple[Habit, ...] = (
    *[Steady()] * 14, Lagging(4_000, 0.7), Stuck(12_000), Draining(60_000, 600.0), Batch(), Lost(2_000), Steady(30.0),
)  # fmt: skip


class Population:
    """All generated groups, by index.

    Attributes:
        names: group ids; a deleted group keeps its place.
        kinds: one byte each, an index of `KINDS`.
        states: one byte each.
        worked: the tick up to which a group that does not work now did, 4 bytes each.
        members: for each partition of `__consumer_offsets`, the indexes of its groups.
        living: for each partition of `__consumer_offsets`, how many of its groups are not gone.
        readers: sets to which the indexes of changed groups are added, one for each reader of the changes.
    """

    def __init__(self, count: int, *, seed: int, partitions: int, churn: float, types: Iterable[str]) -> None:
        self.seed = seed
        self.ticks = 0
        self.churn = churn
        self.names: list[str] = []
        self.index: dict[str, int] = {}
        self.kinds = bytearray()
        self.states = bytearray()
        self.turns = array("I")
        self.worked = array("I")
        self.home = bytearray()
        self.place = array("I")
        self.members: list[array[int]] = [array("I") for _ in range(OFFSETS_PARTITIONS)]
        self.living = [0] * OFFSETS_PARTITIONS
        self.readers: list[set[int]] = []
        self._free: list[list[int]] = [[] for _ in range(OFFSETS_PARTITIONS)]
        self._moving: deque[int] = deque()
        self._visitors: deque[int] = deque()
        self._guests = 40_000 + seed % 1000
        self.topics = [
            Topic(name, partitions=partitions, rate=0.5 + number_of(seed, name) % 80 / 10, kept=60_000, seed=seed)
            for name in topic_names(min(400, max(8, count // 25)))
        ]
        self._populate(count, set(types))

    def _populate(self, count: int, types: set[str]) -> None:
        rng = Random(f"{self.seed} population")  # noqa: S311 - not for secrets
        kinds = [kind for kind, _ in _SHARES if KINDS[kind][0] in types]
        weights = [weight for kind, weight in _SHARES if KINDS[kind][0] in types]
        for name, kind, chance in zip(
            islice(group_names(), count),
            rng.choices(kinds, weights, k=count),
            (rng.random() for _ in range(count)),
            strict=True,
        ):
            self._add(name, kind, EMPTY if kind == SIMPLE or chance < 0.3 else STABLE)

    def _add(self, name: str, kind: int, state: int) -> int:
        home = offsets_partition(name)
        if self._free[home]:
            return self._reuse(self._free[home].pop(), name, kind, state)
        index = len(self.names)
        self.names.append(name)
        self.index[name] = index
        self.kinds.append(kind)
        self.states.append(state)
        self.turns.append(0)
        self.worked.append(self.ticks)
        self.home.append(home)
        self.place.append(len(self.members[home]))
        self.members[home].append(index)
        self.living[home] += 1
        return index

    def _reuse(self, index: int, name: str, kind: int, state: int) -> int:
        """Put a new group where one is gone; both have the same home."""
        self.names[index] = name
        self.index[name] = index
        self.kinds[index], self.states[index], self.turns[index] = kind, state, 0
        self.worked[index] = self.ticks
        self.living[self.home[index]] += 1
        return index

    # Changes.

    def _changed(self, index: int) -> None:
        for reader in self.readers:
            reader.add(index)

    def settle(self, t: float) -> None:
        """Let all changes happen that are due by `t`."""
        due = int(t // TICK)
        while self.ticks < due:
            self.ticks += 1
            if self.names and self.churn > 0:
                self._tick(Random(self.seed * 1_000_003 + self.ticks))  # noqa: S311 - not for secrets

    def _tick(self, rng: Random) -> None:
        changes = max(1, round(len(self.index) * self.churn))
        moving = [self._moving.popleft() for _ in range(min(len(self._moving), changes))]
        for index in moving:
            self._step(index, rng)
        for _ in range(changes - len(moving)):
            self._step(rng.randrange(len(self.names)), rng)
        for _ in range(max(1, changes // 20)):
            self._visit(rng)

    def _step(self, index: int, rng: Random) -> None:
        """The next state of one group: round and round through a rebalance, and now and then Empty."""
        state, kind = self.states[index], self.kinds[index]
        if state == GONE or kind == SIMPLE:
            return
        if kind == SHARE:
            new = STABLE if state == EMPTY else EMPTY
        elif state == STABLE:
            new = EMPTY if rng.random() < 0.15 else JOINING
        else:
            new = state + 1
        self.states[index] = new
        if state == STABLE:
            self.worked[index] = self.ticks
        self.turns[index] += state in (EMPTY, STABLE)
        self._changed(index)
        if new in (JOINING, SYNCING):
            self._moving.append(index)

    def _visit(self, rng: Random) -> None:
        """Somebody tries something on the console; old tries expire."""
        self._guests += rng.randrange(1, 9)
        index = self._add(f"console-consumer-{self._guests}", CLASSIC, JOINING)
        self._changed(index)
        self._moving.append(index)
        self._visitors.append(index)
        if len(self._visitors) > max(20, len(self.index) // 200):
            self.remove(self._visitors.popleft())

    def remove(self, index: int) -> None:
        """Delete a group."""
        if self.states[index] != GONE:
            self.states[index] = GONE
            self.living[self.home[index]] -= 1
            self.index.pop(self.names[index], None)
            self._free[self.home[index]].append(index)
            self._changed(index)

    # Groups in full.

    def find(self, name: str) -> Group | None:
        """The group of that name, made for this occasion; None if there is none."""
        index = self.index.get(name)
        return None if index is None else self.group(index)

    def groups(self) -> Iterator[tuple[str, int, int]]:
        """Name, kind and state of each group that lives."""
        for name, index in self.index.items():
            yield name, self.kinds[index], self.states[index]

    def type_of(self, name: str) -> str | None:
        """The type of a group, without making it."""
        index = self.index.get(name)
        return None if index is None else KINDS[self.kinds[index]][0]

    def group(self, index: int) -> Group:
        """One group in full."""
        name, kind, state = self.names[index], self.kinds[index], self.states[index]
        salt = number_of(self.seed, name)
        count = 0 if state == EMPTY or kind == SIMPLE else 1 + salt % 4
        since = {JOINING: 0.5, SYNCING: 3.5}.get(state, FOREVER)
        life = Held(count, since, self.turns[index])
        topic = self.topics[salt // 7 % len(self.topics)]
        habit = Stuck(salt % 3_000) if kind == SIMPLE else _HABITS[salt // 11 % len(_HABITS)]
        if kind == SHARE and isinstance(habit, Batch):
            habit = Steady()  # members of a share group share out what comes in: none of them sleeps on it
        if kind != SIMPLE and (state == EMPTY or (state != STABLE and KINDS[kind][0] == "classic")):
            habit = Halted(habit, self.worked[index] * TICK)
        reads = () if kind == CONNECT else (Reads(topic, habit),)
        client = Client(name.rpartition(".")[2])
        if kind == CONSUMER:
            return ConsumerGroup(name, life, reads, client=client, seed=self.seed)
        if kind == SHARE:
            return ShareGroup(name, life, reads, client=client, seed=self.seed)
        if kind == STREAMS:
            part = Part((topic.name,), topic.partitions, changelogs=(f"{name}-store-changelog",))
            pace = (("Assigning", 1.0), ("Reconciling", 7.0))
            return StreamsGroup(name, life, reads, topology=(part,), pace=pace, client=client, seed=self.seed)
        if kind == CONNECT:
            payload = ConnectPayload(connectors=((f"{name}-source", 2), (f"{name}-sink", 3)))
            return ClassicGroup(name, life, protocol="connect", payload=payload, client=client, seed=self.seed)
        return ClassicGroup(name, life, reads, protocol=KINDS[kind][1], client=client, seed=self.seed)
