"""The state of the simulated cluster: its clock, brokers, topics and groups, and who leads and coordinates what."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from kgtui.simulator.hashing import hash_kafka_id, offsets_partition
from kgtui.simulator.topics import Topic

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from uuid import UUID

    from kgtui.simulator.generated_groups import GeneratedGroups
    from kgtui.simulator.groups.base import Group
    from kgtui.simulator.releases import Release

OFFSETS_TOPIC = "__consumer_offsets"
NON_EMPTY_GROUP = 68
GROUP_ID_NOT_FOUND = 69
RACKS = ("eu-1a", "eu-1b", "eu-1c")


class Clock(Protocol):
    """A source of the current time."""

    def now(self) -> float:
        """Return the time in seconds since the epoch."""


class RealClock:
    """The clock of the machine."""

    def now(self) -> float:
        """Return the time in seconds since the epoch."""
        return time.time()


class ManualClock:
    """A clock that stands still until `advance` is called.

    Attributes:
        start: first time, in seconds since the epoch; 2026-03-02 09:00 UTC by default.
    """

    def __init__(self, start: float = 1_772_442_000.0) -> None:
        self.start = start
        self._now = start

    def now(self) -> float:
        """Return the time in seconds since the epoch."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Move the clock forward.

        Raises:
            ValueError: `seconds` is negative.
        """
        if seconds < 0:
            raise ValueError(f"a clock cannot be moved back by {-seconds} s; use a positive number of seconds")
        self._now += seconds


@dataclass(slots=True, eq=False)
class Node:
    """One broker.

    Attributes:
        id: node id; the first broker has 1.
        port: the port on which it listens; 0 before it listens.
        alive: False after the broker was killed and until it is restarted.
        elections: how many times the leaders of its partitions changed because it was killed or restarted.
    """

    id: int
    host: str
    port: int
    rack: str
    release: Release
    alive: bool = True
    elections: int = 0


@dataclass(frozen=True, slots=True)
class Leadership:
    """The leader and replicas of a partition.

    Attributes:
        leader: node id of the leader; -1 if no replica is alive.
        epoch: leader epoch.
        replicas: node ids, the preferred leader first.
        in_sync: node ids of the replicas that are alive.
    """

    leader: int
    epoch: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]


def leaderships(topic: Topic, nodes: list[Node], moved: Mapping[int, int]) -> list[Leadership]:
    """Return the leadership of each partition; `moved` maps partitions to a leader that was set by hand."""
    return [_leadership(topic, partition, nodes, moved) for partition in range(topic.partitions)]


def _leadership(topic: Topic, partition: int, nodes: list[Node], moved: Mapping[int, int]) -> Leadership:
    replicas = tuple(nodes[index] for index in topic.replicas(partition, len(nodes)))
    alive = tuple(node.id for node in replicas if node.alive)
    epoch = topic.salt % 9 + replicas[0].elections
    leader = alive[0] if alive else -1
    if partition in moved and nodes[moved[partition] - 1].alive:
        leader, epoch = moved[partition], epoch + 1
    return Leadership(leader, epoch, tuple(node.id for node in replicas), alive)


class ClusterState:
    """Everything that clients can see of the cluster, without sockets.

    Attributes:
        clock: source of the current time.
        seed: ids, hosts and names are derived from it.
        nodes: brokers; the broker with node id n is at index n - 1.
        features: levels of the finalized features, by name.
        topics: topics by name, without deleted ones.
        groups: groups of the scenario, by name.
        generated: generated groups; None if there are none.
        configs: group configs that differ from the defaults, by group.
    """

    def __init__(
        self, nodes: list[Node], clock: Clock, *, seed: int = 1, features: Mapping[str, int] | None = None
    ) -> None:
        self.nodes = nodes
        self.clock = clock
        self.seed = seed
        self.features: dict[str, int] = dict(features or {})
        self.features_epoch = 12
        self.cluster_id = hash_kafka_id("cluster", seed)
        self.topics: dict[str, Topic] = {}
        self.topic_ids: dict[UUID, Topic] = {}
        self.groups: dict[str, Group] = {}
        self.generated: GeneratedGroups | None = None
        self.configs: dict[str, dict[str, str]] = {}
        self._origin = clock.now()
        self._offsets_partitions: dict[str, int] = {}
        self._moved: dict[int, int] = {}
        self._leaderships: dict[UUID, list[Leadership]] = {}
        compact = (("cleanup.policy", "compact"),)
        self.offsets_topic = Topic(OFFSETS_TOPIC, 50, rate=3.0, internal=True, configs=compact, seed=seed)
        self.add_topics([self.offsets_topic])

    # Conversion of times.

    def time(self) -> float:
        """Return the seconds since the cluster started."""
        return max(0.0, self.clock.now() - self._origin)

    def timestamp(self, t: float) -> int:
        """Convert seconds since the start of the cluster to milliseconds since the epoch."""
        return int((self._origin + t) * 1000)

    def since(self, timestamp: int) -> float:
        """Convert milliseconds since the epoch to seconds since the start of the cluster."""
        return timestamp / 1000 - self._origin

    # Topics and the leaders of their partitions.

    def add_topics(self, topics: Iterable[Topic]) -> None:
        """Add topics to the cluster."""
        for topic in topics:
            self.topics[topic.name] = topic
            self.topic_ids[topic.id] = topic

    def delete_topic(self, name: str) -> None:
        """Delete a topic, but keep the offsets that are committed for it.

        A coordinator keeps them when it does not learn of the deletion. Otherwise it drops them at once, which was
        observed with 4.3.1 and 3.9.2.
        """
        topic = self.topics.pop(name, None)
        if topic is not None:
            del self.topic_ids[topic.id]

    def leadership(self, topic: Topic, partition: int) -> Leadership:
        """Return the leadership of a partition."""
        partitions = self._leaderships.get(topic.id)
        if partitions is None:
            moved = self._moved if topic is self.offsets_topic else {}
            partitions = self._leaderships[topic.id] = leaderships(topic, self.nodes, moved)
        return partitions[partition]

    # Brokers and coordinators.

    def node(self, node_id: int) -> Node:
        """Return the broker with a node id.

        Raises:
            KeyError: no broker has this id.
        """
        if not 1 <= node_id <= len(self.nodes):
            raise KeyError(f"no broker has the node id {node_id}; use 1 to {len(self.nodes)}")
        return self.nodes[node_id - 1]

    def set_alive(self, node_id: int, alive: bool) -> None:
        """Kill or restart a broker; the leadership of its partitions moves to other brokers or back to it."""
        node = self.node(node_id)
        if node.alive != alive:
            node.alive = alive
            node.elections += 1
            self._leaderships.clear()

    def move_coordinator(self, group: str, node_id: int) -> None:
        """Make a broker the coordinator of a group, and of all groups in the same partition of the offsets topic."""
        self._moved[self.offsets_partition(group)] = self.node(node_id).id
        self._leaderships.clear()

    @property
    def alive(self) -> list[Node]:
        """The brokers that are alive."""
        return [node for node in self.nodes if node.alive]

    @property
    def controller(self) -> int:
        """Node id of the controller in Metadata responses; -1 if no broker is alive."""
        return next((node.id for node in self.nodes if node.alive), -1)

    def supports_type(self, group_type: str) -> bool:
        """Return whether at least one broker supports groups of this type."""
        return any(node.release.has_type(group_type) for node in self.nodes)

    # Groups and their deletion.

    def add_groups(self, groups: Iterable[Group]) -> None:
        """Add groups, except those of a type that no broker supports."""
        for group in groups:
            if self.supports_type(group.type):
                self.groups[group.name] = group

    def find(self, name: str) -> Group | None:
        """Return the group with an id; None if it does not exist."""
        group = self.groups.get(name)
        if group is None and self.generated is not None:
            self.generated.advance_to(self.time())
            group = self.generated.find(name)
        return group

    def type_of(self, name: str) -> str | None:
        """Return the type of a group; None if it does not exist."""
        group = self.groups.get(name)
        if group is not None:
            return group.type
        return self.generated.type_of(name) if self.generated is not None else None

    def offsets_partition(self, name: str) -> int:
        """Return the partition of `__consumer_offsets` that stores a group, whether the group exists or not."""
        partition = self._offsets_partitions.get(name)
        if partition is None:
            partition = offsets_partition(name)
            if name in self.groups:
                self._offsets_partitions[name] = partition
        return partition

    def coordinator(self, name: str) -> int:
        """Return the node id of the coordinator of a group, whether the group exists or not; -1 if there is none.

        In a cluster with brokers of several releases, the coordinator of a group is a broker that supports its type.
        """
        leader = self.leadership(self.offsets_topic, self.offsets_partition(name)).leader
        group_type = self.type_of(name)
        if leader < 1 or group_type is None or self.node(leader).release.has_type(group_type):
            return leader
        for step in range(1, len(self.nodes)):
            node = self.nodes[(leader - 1 + step) % len(self.nodes)]
            if node.alive and node.release.has_type(group_type):
                return node.id
        return -1

    def delete_group(self, name: str) -> int:
        """Delete a group of any type as DeleteGroups does, and return the error code.

        The code is 68 (NON_EMPTY_GROUP) or 69 (GROUP_ID_NOT_FOUND) for a group that cannot be deleted.
        """
        group = self.find(name)
        if group is None or name == "":
            return GROUP_ID_NOT_FOUND
        if group.state(self.time()) not in ("Empty", "Dead"):
            return NON_EMPTY_GROUP
        self.remove_group(name)
        return 0

    def remove_group(self, name: str) -> None:
        """Remove a group in any state."""
        if self.groups.pop(name, None) is None and self.generated is not None:
            index = self.generated.index.get(name)
            if index is not None:
                self.generated.remove(index)
        self._offsets_partitions.pop(name, None)
