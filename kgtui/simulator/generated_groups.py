"""Simulate large numbers of groups, each of which needs only a few bytes of memory.

The `Group` object of such a group is built only when a client requests details of the group.
"""

from __future__ import annotations

from array import array
from collections import deque
from itertools import count, islice
from random import Random
from typing import TYPE_CHECKING

from kgtui.simulator.commit_patterns import (
    Batch,
    BelowLogStart,
    CommitPattern,
    Draining,
    Halted,
    Lagging,
    Steady,
    Stuck,
)
from kgtui.simulator.groups.base import Client, ConsumedTopic, Group
from kgtui.simulator.groups.classic import ClassicGroup, ConnectMemberData
from kgtui.simulator.groups.consumer import ConsumerGroup
from kgtui.simulator.groups.share import ShareGroup
from kgtui.simulator.groups.streams import StreamsGroup, Subtopology
from kgtui.simulator.hashing import hash_number, offsets_partition
from kgtui.simulator.membership import FOREVER, ConstantMembership
from kgtui.simulator.topics import Topic

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

OFFSETS_PARTITIONS = 50
TICK = 2.0
"""Time between two rounds of state changes of generated groups, in seconds."""

DOMAINS = (
    "payments", "orders", "inventory", "catalog", "pricing", "shipping", "returns", "fraud", "risk", "ledger",
    "customers", "identity", "sessions", "search", "recommend", "ads", "emails", "push", "audit", "billing",
    "invoices", "loyalty", "iot", "telemetry", "maps",
)  # fmt: skip
VERBS = (
    "settle", "enrich", "index", "aggregate", "sync", "archive", "notify", "score", "dedupe", "export",
    "import", "reconcile", "project", "replicate", "validate", "route", "cache", "join", "alert", "expire",
)  # fmt: skip
TEAMS = 200

EMPTY, JOINING, SYNCING, STABLE, DELETED = 0, 1, 2, 3, 255
"""Numbers that stand for the states of generated groups. `GENERATED_KINDS` contains Kafka's names for these states.

`DELETED` has no name in Kafka, because it stands for a group that does not exist any more.
"""

SIMPLE, CLASSIC, CONNECT, CONSUMER, SHARE, STREAMS = range(6)
GENERATED_KINDS: tuple[tuple[str, str, tuple[str, str, str, str]], ...] = (
    ("classic", "", ("Empty", "Empty", "Empty", "Empty")),
    ("classic", "consumer", ("Empty", "PreparingRebalance", "CompletingRebalance", "Stable")),
    ("classic", "connect", ("Empty", "PreparingRebalance", "CompletingRebalance", "Stable")),
    ("consumer", "consumer", ("Empty", "Assigning", "Reconciling", "Stable")),
    ("share", "share", ("Empty", "Stable", "Stable", "Stable")),
    ("streams", "streams", ("Empty", "Assigning", "Reconciling", "Stable")),
)
"""Kinds of generated groups: `(group type, protocol type, names of the states)`.

The four names are Kafka's names for the states EMPTY, JOINING, SYNCING and STABLE, in this order. Kinds that do not use
all of these states contain a name more than once.
"""

_FRACTIONS = ((CLASSIC, 0.60), (CONSUMER, 0.25), (STREAMS, 0.05), (SHARE, 0.05), (SIMPLE, 0.03), (CONNECT, 0.02))
_COMMIT_PATTERNS: tuple[CommitPattern, ...] = (
    *[Steady()] * 14, Lagging(4_000, 0.7), Stuck(12_000), Draining(60_000, 600.0), Batch(), BelowLogStart(2_000),
    Steady(30.0),
)  # fmt: skip


def group_names() -> Iterator[str]:
    """Yield infinitely many different group ids, such as `team-007.orders.enrich`.

    The first 100,000 ids have no suffix. Then the same ids follow with a suffix: `team-007.orders.enrich-v2`.
    """
    for version in count(1):
        suffix = "" if version == 1 else f"-v{version}"
        for verb_index in range(len(VERBS)):
            for domain_index in range(len(DOMAINS)):
                for team in range(TEAMS):
                    # Change the verb (the last part of the group id) after every three group ids, so that the ids in a
                    # small cluster look varied.
                    domain = DOMAINS[(domain_index + team) % len(DOMAINS)]
                    verb = VERBS[(verb_index + team // 3) % len(VERBS)]
                    yield f"team-{team:03d}.{domain}.{verb}{suffix}"


def topic_names(number: int) -> list[str]:
    """Return `number` different topic names, such as `orders.enrich.events`."""
    names = (f"{domain}.{verb}.{suffix}" for suffix in _suffixes() for verb in VERBS for domain in DOMAINS)
    return list(islice(names, number))


def _suffixes() -> Iterator[str]:
    yield from ("events", "commands", "state")
    yield from (f"events-{number}" for number in count(2))


class GeneratedGroups:
    """All groups that are generated in addition to the groups of a scenario.

    To save memory with 100,000 groups, most attributes are columns: `states[i]` belongs to the group `names[i]`.

    Attributes:
        ticks: number of rounds of state changes so far. There is one round every `TICK` seconds.
        names: group ids. The id of a deleted group stays until a new group takes over the index.
        index: group id → index of the group in the columns. Deleted groups are missing.
        kinds: for each group, the index of its kind in `GENERATED_KINDS`.
        states: for each group, its state: `EMPTY`, `JOINING`, `SYNCING`, `STABLE` or `DELETED`.
        membership_changes: for each group, how often its members have changed.
        last_active_tick: for each group, value of `ticks` when it last left the state `STABLE`, or when it was added
            if it has never left this state. While no member reads records, the committed offsets of the group stay as
            they were at this tick.
        partition: for each group, its partition of `__consumer_offsets`.
        position: for each group, the position of its index in `by_partition[p]`, where `p` is its partition of
            `__consumer_offsets`.
        by_partition: partition of `__consumer_offsets` → indexes of the groups in this partition, including deleted
            groups.
        existing: partition of `__consumer_offsets` → number of existing groups in this partition.
        changed: indexes of the groups whose cached rows are outdated, as one set per `ListGroupsRowCache`.
    """

    def __init__(self, number: int, *, seed: int, partitions: int, churn: float, types: Iterable[str]) -> None:
        self.seed = seed
        self.ticks = 0
        self.churn = churn
        self.names: list[str] = []
        self.index: dict[str, int] = {}
        self.kinds = bytearray()
        self.states = bytearray()
        self.membership_changes = array("I")
        self.last_active_tick = array("I")
        self.partition = bytearray()
        self.position = array("I")
        self.by_partition: list[array[int]] = [array("I") for _ in range(OFFSETS_PARTITIONS)]
        self.existing = [0] * OFFSETS_PARTITIONS
        self.changed: list[set[int]] = []
        self._free: list[list[int]] = [[] for _ in range(OFFSETS_PARTITIONS)]
        self._moving: deque[int] = deque()
        self._console_groups: deque[int] = deque()
        self._console_number = 40_000 + seed % 1000
        self.topics = [
            Topic(name, partitions=partitions, rate=0.5 + hash_number(seed, name) % 80 / 10, kept=60_000, seed=seed)
            for name in topic_names(min(400, max(8, number // 25)))
        ]
        self._populate(number, set(types))

    def _populate(self, number: int, types: set[str]) -> None:
        rng = Random(f"{self.seed} population")  # noqa: S311 - not a secret
        kinds = [kind for kind, _ in _FRACTIONS if GENERATED_KINDS[kind][0] in types]
        weights = [weight for kind, weight in _FRACTIONS if GENERATED_KINDS[kind][0] in types]
        for name, kind, chance in zip(
            islice(group_names(), number),
            rng.choices(kinds, weights, k=number),
            (rng.random() for _ in range(number)),
            strict=True,
        ):
            self._add(name, kind, EMPTY if kind == SIMPLE or chance < 0.3 else STABLE)

    def _add(self, name: str, kind: int, state: int) -> int:
        partition = offsets_partition(name)
        if self._free[partition]:
            return self._reuse(self._free[partition].pop(), name, kind, state)
        index = len(self.names)
        self.names.append(name)
        self.index[name] = index
        self.kinds.append(kind)
        self.states.append(state)
        self.membership_changes.append(0)
        self.last_active_tick.append(self.ticks)
        self.partition.append(partition)
        self.position.append(len(self.by_partition[partition]))
        self.by_partition[partition].append(index)
        self.existing[partition] += 1
        return index

    def _reuse(self, index: int, name: str, kind: int, state: int) -> int:
        """Replace the deleted group at `index` with a new group in the same partition of `__consumer_offsets`."""
        self.names[index] = name
        self.index[name] = index
        self.kinds[index], self.states[index], self.membership_changes[index] = kind, state, 0
        self.last_active_tick[index] = self.ticks
        self.existing[self.partition[index]] += 1
        return index

    def _mark_changed(self, index: int) -> None:
        for indexes in self.changed:
            indexes.add(index)

    def advance_to(self, t: float) -> None:
        """Apply all state changes that are due by `t`, in seconds since the start of the cluster."""
        due = int(t // TICK)
        while self.ticks < due:
            self.ticks += 1
            if self.names and self.churn > 0:
                self._tick(Random(self.seed * 1_000_003 + self.ticks))  # noqa: S311 - not a secret

    def _tick(self, rng: Random) -> None:
        changes = max(1, round(len(self.index) * self.churn))
        moving = [self._moving.popleft() for _ in range(min(len(self._moving), changes))]
        for index in moving:
            self._step(index, rng)
        for _ in range(changes - len(moving)):
            self._step(rng.randrange(len(self.names)), rng)
        for _ in range(max(1, changes // 20)):
            self._add_console_consumer(rng)

    def _step(self, index: int, rng: Random) -> None:
        """Change the state of a group to the next one.

        A Stable group begins to rebalance or becomes Empty. A group in any other state moves one state toward Stable.
        Share groups have no rebalances, so they only alternate between Stable and Empty. Simple groups and deleted
        groups do not change.
        """
        state, kind = self.states[index], self.kinds[index]
        if state == DELETED or kind == SIMPLE:
            return
        if kind == SHARE:
            new = STABLE if state == EMPTY else EMPTY
        elif state == STABLE:
            new = EMPTY if rng.random() < 0.15 else JOINING
        else:
            new = state + 1
        self.states[index] = new
        if state == STABLE:
            self.last_active_tick[index] = self.ticks
        self.membership_changes[index] += state in (EMPTY, STABLE)
        self._mark_changed(index)
        if new in (JOINING, SYNCING):
            self._moving.append(index)

    def _add_console_consumer(self, rng: Random) -> None:
        """Add the group of a new console consumer. If there are too many such groups, delete the oldest one."""
        self._console_number += rng.randrange(1, 9)
        index = self._add(f"console-consumer-{self._console_number}", CLASSIC, JOINING)
        self._mark_changed(index)
        self._moving.append(index)
        self._console_groups.append(index)
        if len(self._console_groups) > max(20, len(self.index) // 200):
            self.remove(self._console_groups.popleft())

    def remove(self, index: int) -> None:
        """Delete the group with this index, if it still exists."""
        if self.states[index] != DELETED:
            self.states[index] = DELETED
            self.existing[self.partition[index]] -= 1
            self.index.pop(self.names[index], None)
            self._free[self.partition[index]].append(index)
            self._mark_changed(index)

    def find(self, name: str) -> Group | None:
        """Build the `Group` object of a group; return None if the group does not exist."""
        index = self.index.get(name)
        return None if index is None else self.group(index)

    def groups(self) -> Iterator[tuple[str, int, int]]:
        """Yield `(group id, index of its kind in GENERATED_KINDS, state)` for each existing group."""
        for name, index in self.index.items():
            yield name, self.kinds[index], self.states[index]

    def type_of(self, name: str) -> str | None:
        """Return the type of a group, or None if the group does not exist. Unlike `find`, build no `Group` object."""
        index = self.index.get(name)
        return None if index is None else GENERATED_KINDS[self.kinds[index]][0]

    def group(self, index: int) -> Group:
        name, kind, state = self.names[index], self.kinds[index], self.states[index]
        salt = hash_number(self.seed, name)
        members = 0 if state == EMPTY or kind == SIMPLE else 1 + salt % 4
        since = {JOINING: 0.5, SYNCING: 3.5}.get(state, FOREVER)
        schedule = ConstantMembership(members, since, self.membership_changes[index])
        topic = self.topics[salt // 7 % len(self.topics)]
        commits = Stuck(salt % 3_000) if kind == SIMPLE else _COMMIT_PATTERNS[salt // 11 % len(_COMMIT_PATTERNS)]
        if kind == SHARE and isinstance(commits, Batch):
            # A share group cannot be a batch job that commits only from time to time, because its members must
            # acknowledge records soon after they receive them.
            commits = Steady()
        if kind != SIMPLE and (state == EMPTY or (state != STABLE and GENERATED_KINDS[kind][0] == "classic")):
            commits = Halted(commits, self.last_active_tick[index] * TICK)
        topics = () if kind == CONNECT else (ConsumedTopic(topic, commits),)
        client = Client(name.rpartition(".")[2])
        if kind == CONSUMER:
            return ConsumerGroup(name, schedule, topics, client=client, seed=self.seed)
        if kind == SHARE:
            return ShareGroup(name, schedule, topics, client=client, seed=self.seed)
        if kind == STREAMS:
            subtopology = Subtopology((topic.name,), topic.partitions, changelogs=(f"{name}-store-changelog",))
            phases = (("Assigning", 1.0), ("Reconciling", 7.0))
            return StreamsGroup(
                name, schedule, topics, topology=(subtopology,), phases=phases, client=client, seed=self.seed
            )
        if kind == CONNECT:
            member_data = ConnectMemberData(connectors=((f"{name}-source", 2), (f"{name}-sink", 3)))
            return ClassicGroup(
                name, schedule, protocol="connect", member_data=member_data, client=client, seed=self.seed
            )
        return ClassicGroup(name, schedule, topics, protocol=GENERATED_KINDS[kind][1], client=client, seed=self.seed)
