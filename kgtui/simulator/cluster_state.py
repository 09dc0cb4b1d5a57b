"""The state of the simulated cluster: clock, brokers, topics, groups, partition leaders and coordinators."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from kgtui.model.error_numbers import GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP
from kgtui.simulator.hashing import hash_kafka_id, offsets_partition
from kgtui.simulator.topics import Topic

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from uuid import UUID

    from kgtui.simulator.generated_groups import GeneratedGroups
    from kgtui.simulator.groups.base import Group
    from kgtui.simulator.releases import Release

OFFSETS_TOPIC = "__consumer_offsets"
RACKS = ("eu-1a", "eu-1b", "eu-1c")


class Clock(Protocol):
    """A clock from which the simulated cluster gets the current time."""

    def now(self) -> float:
        """Return the time in seconds since the epoch."""


class RealClock:
    """The clock of the machine."""

    def now(self) -> float:
        return time.time()


class ManualClock:
    """A clock that stands still until `advance` is called.

    Attributes:
        start: initial time of the clock, in seconds since the epoch; default: 2026-03-02 09:00 UTC.
    """

    def __init__(self, start: float = 1_772_442_000.0) -> None:
        self.start = start
        self._now = start

    def now(self) -> float:
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
        port: port on which the broker listens; 0 until a free port is chosen.
        alive: whether the broker runs. It does not run after it was killed, until it is restarted.
        elections: number of kills and restarts of the broker. Each of them increases the leader epoch of the partitions
            for which this broker is the preferred leader.
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
    """The leader and replicas of a partition, as node ids.

    Attributes:
        leader: node id of the leader; -1 if no replica is alive.
        replicas: all replicas, preferred leader first.
        in_sync: replicas on brokers that are alive.
    """

    leader: int
    epoch: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]


def leaderships(topic: Topic, nodes: list[Node], moved: Mapping[int, int]) -> list[Leadership]:
    """Return the leadership of each partition of a topic.

    Args:
        moved: partition → node id of the broker that `move_coordinator` has made the leader of this partition. Only
            partitions of `__consumer_offsets` are moved, so the dict must be empty for all other topics.
    """
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
    """The brokers, topics and groups of a cluster, without network connections.

    Attributes:
        seed: number from which ids, hosts and names are derived.
        nodes: brokers; node id n is at index n - 1.
        features: feature name → finalized level.
        topics: topic name → topic, except deleted topics.
        groups: group id → group, for groups that the scenario file defines.
        generated: the groups that were generated in addition to `groups`; None if there are none.
        configs: group id → config name → value, for group configs that differ from the defaults.
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

    def time(self) -> float:
        """Return the current time in seconds since the start of the cluster."""
        return max(0.0, self.clock.now() - self._origin)

    def timestamp(self, t: float) -> int:
        """Convert seconds since the start of the cluster to milliseconds since the epoch."""
        return int((self._origin + t) * 1000)

    def since(self, timestamp: int) -> float:
        """Convert milliseconds since the epoch to seconds since the start of the cluster."""
        return timestamp / 1000 - self._origin

    def record_timestamp(self, topic: Topic, partition: int, offset: int) -> int:
        """Return the timestamp of the record at an offset, in milliseconds since the epoch.

        The record was written at the first time at which the log end offset was higher than `offset`.
        """
        before, after = self.timestamp(topic.oldest) - 1, self.timestamp(self.time()) + 1
        while after - before > 1:
            middle = (before + after) // 2
            if topic.log_end(partition, self.since(middle)) > offset:
                after = middle
            else:
                before = middle
        return after

    def first_record(self, topic: Topic, partition: int, timestamp: int) -> int:
        """Return the offset of the first record written at or after `timestamp` (milliseconds since the epoch).

        If there is no such record yet, return the log end offset or a higher number.
        """
        oldest = self.timestamp(topic.oldest)
        return 0 if timestamp <= oldest else topic.log_end(partition, self.since(timestamp - 1))

    def add_topics(self, topics: Iterable[Topic]) -> None:
        """Add topics, which clients can find by name and by topic id."""
        for topic in topics:
            self.topics[topic.name] = topic
            self.topic_ids[topic.id] = topic

    def delete_topic(self, name: str) -> None:
        """Delete a topic. The groups keep their committed offsets for the topic.

        This simulates a coordinator that has missed the deletion of the topic. Normally, real coordinators delete the
        offsets (observed with Kafka 4.3.1 and 3.9.2).
        """
        topic = self.topics.pop(name, None)
        if topic is not None:
            del self.topic_ids[topic.id]

    def leadership(self, topic: Topic, partition: int) -> Leadership:
        """Return the leader, the leader epoch and the replicas of a partition."""
        partitions = self._leaderships.get(topic.id)
        if partitions is None:
            moved = self._moved if topic is self.offsets_topic else {}
            partitions = self._leaderships[topic.id] = leaderships(topic, self.nodes, moved)
        return partitions[partition]

    def node(self, node_id: int) -> Node:
        """Return the broker with a node id.

        Raises:
            KeyError: no broker has this id.
        """
        if not 1 <= node_id <= len(self.nodes):
            raise KeyError(f"no broker has the node id {node_id}; use 1 to {len(self.nodes)}")
        return self.nodes[node_id - 1]

    def set_alive(self, node_id: int, alive: bool) -> None:
        """Kill or restart a broker. While it is down, its partitions are led by other brokers that have replicas."""
        node = self.node(node_id)
        if node.alive != alive:
            node.alive = alive
            node.elections += 1
            self._leaderships.clear()

    def move_coordinator(self, group: str, node_id: int) -> None:
        """Make a broker the coordinator of a group, and of all groups in the same partition of `__consumer_offsets`."""
        self._moved[self.offsets_partition(group)] = self.node(node_id).id
        self._leaderships.clear()

    @property
    def alive(self) -> list[Node]:
        return [node for node in self.nodes if node.alive]

    @property
    def controller(self) -> int:
        """Node id of the controller, or -1 if no broker is alive."""
        return next((node.id for node in self.nodes if node.alive), -1)

    def supports_type(self, group_type: str) -> bool:
        """Return whether at least one broker supports groups of this type."""
        return any(node.release.has_type(group_type) for node in self.nodes)

    def add_groups(self, groups: Iterable[Group]) -> None:
        """Add groups. A group is left out if no broker supports its type."""
        for group in groups:
            if self.supports_type(group.type):
                self.groups[group.name] = group

    def find(self, name: str) -> Group | None:
        """Return a group, or None if it does not exist."""
        group = self.groups.get(name)
        if group is None and self.generated is not None:
            self.generated.advance_to(self.time())
            group = self.generated.find(name)
        return group

    def type_of(self, name: str) -> str | None:
        """Return the type of a group, such as `classic`; None if the group does not exist."""
        group = self.groups.get(name)
        if group is not None:
            return group.type
        return self.generated.type_of(name) if self.generated is not None else None

    def offsets_partition(self, name: str) -> int:
        """Return the partition of `__consumer_offsets` to which a group belongs, even if the group does not exist."""
        partition = self._offsets_partitions.get(name)
        if partition is None:
            partition = offsets_partition(name)
            if name in self.groups:
                self._offsets_partitions[name] = partition
        return partition

    def coordinator(self, name: str) -> int:
        """Return the node id of a group's coordinator; -1 if no broker that is alive can coordinate the group.

        As in Kafka, a group id has a coordinator even if no group with this id exists.
        """
        leader = self.leadership(self.offsets_topic, self.offsets_partition(name)).leader
        group_type = self.type_of(name)
        if leader < 1 or group_type is None or self.node(leader).release.has_type(group_type):
            return leader
        # The leader of the group's partition of `__consumer_offsets` does not support the group's type. Use the next
        # broker, by node id, that supports this type.
        for step in range(1, len(self.nodes)):
            node = self.nodes[(leader - 1 + step) % len(self.nodes)]
            if node.alive and node.release.has_type(group_type):
                return node.id
        return -1

    def delete_group(self, name: str) -> int:
        """Delete a group of any type as DeleteGroups does, and return the error code.

        The error code is 0, 68 (NON_EMPTY_GROUP) or 69 (GROUP_ID_NOT_FOUND).
        """
        group = self.find(name)
        if group is None or name == "":
            return GROUP_ID_NOT_FOUND
        if group.state(self.time()) not in ("Empty", "Dead"):
            return NON_EMPTY_GROUP
        self.remove_group(name)
        return 0

    def remove_group(self, name: str) -> None:
        """Remove a group, even if it has members. Do nothing if it does not exist."""
        if self.groups.pop(name, None) is None and self.generated is not None:
            index = self.generated.index.get(name)
            if index is not None:
                self.generated.remove(index)
        self._offsets_partitions.pop(name, None)
