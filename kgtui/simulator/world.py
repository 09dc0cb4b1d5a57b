"""The state of the cluster: brokers, topics, groups and who coordinates them, at the time its clock shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.simulator.facts import kafka_id, offsets_partition
from kgtui.simulator.nodes import Leadership, Node, leaderships
from kgtui.simulator.topics import Topic

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from uuid import UUID

    from kgtui.simulator.clock import Clock
    from kgtui.simulator.groups.base import Group
    from kgtui.simulator.population import Population

OFFSETS_TOPIC = "__consumer_offsets"
NON_EMPTY_GROUP = 68
GROUP_ID_NOT_FOUND = 69


class World:
    """Everything that clients can see of the cluster, without sockets.

    Attributes:
        clock: tells the time.
        seed: what ids, hosts and names are made from.
        nodes: brokers; the node with id n is at index n − 1.
        features: finalized features.
        topics: by name; a deleted topic is not among them.
        groups: those made one by one, by name.
        population: those generated, or None.
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
        self.cluster_id = kafka_id("cluster", seed)
        self.topics: dict[str, Topic] = {}
        self.topic_ids: dict[UUID, Topic] = {}
        self.groups: dict[str, Group] = {}
        self.population: Population | None = None
        self.configs: dict[str, dict[str, str]] = {}
        self._origin = clock.now()
        self._homes: dict[str, int] = {}
        self._moved: dict[int, int] = {}
        self._held: dict[UUID, list[Leadership]] = {}
        compact = (("cleanup.policy", "compact"),)
        self.offsets_topic = Topic(OFFSETS_TOPIC, 50, rate=3.0, internal=True, configs=compact, seed=seed)
        self.add_topics([self.offsets_topic])

    # Time.

    def time(self) -> float:
        """Seconds since the cluster started."""
        return max(0.0, self.clock.now() - self._origin)

    def timestamp(self, t: float) -> int:
        """The time `t`, in milliseconds since the epoch."""
        return int((self._origin + t) * 1000)

    def since(self, timestamp: int) -> float:
        """Milliseconds since the epoch as seconds since the start."""
        return timestamp / 1000 - self._origin

    # Topics.

    def add_topics(self, topics: Iterable[Topic]) -> None:
        """Create topics."""
        for topic in topics:
            self.topics[topic.name] = topic
            self.topic_ids[topic.id] = topic

    def delete_topic(self, name: str) -> None:
        """Delete a topic; commits on it stay.

        So they do where the coordinator did not learn of it. Coordinators that do drop them at once: 4.3.1 and 3.9.2,
        as seen.
        """
        topic = self.topics.pop(name, None)
        if topic is not None:
            del self.topic_ids[topic.id]

    def leadership(self, topic: Topic, partition: int) -> Leadership:
        """Who holds a partition."""
        held = self._held.get(topic.id)
        if held is None:
            moved = self._moved if topic is self.offsets_topic else {}
            held = self._held[topic.id] = leaderships(topic, self.nodes, moved)
        return held[partition]

    # Brokers.

    def node(self, node_id: int) -> Node:
        """One broker.

        Raises:
            KeyError: there is none with this id.
        """
        if not 1 <= node_id <= len(self.nodes):
            raise KeyError(f"no broker {node_id}; there are 1 to {len(self.nodes)}")
        return self.nodes[node_id - 1]

    def set_alive(self, node_id: int, alive: bool) -> None:
        """A broker dies or comes back; others take over, or it leads again what it led before."""
        node = self.node(node_id)
        if node.alive != alive:
            node.alive = alive
            node.elections += 1
            self._held.clear()

    def move_coordinator(self, group: str, node_id: int) -> None:
        """Another broker leads the offsets partition of a group, and with it coordinates all groups in there."""
        self._moved[self.home(group)] = self.node(node_id).id
        self._held.clear()

    @property
    def alive(self) -> list[Node]:
        """Brokers that run."""
        return [node for node in self.nodes if node.alive]

    @property
    def controller(self) -> int:
        """Node id that Metadata names as controller, −1 without any."""
        return next((node.id for node in self.nodes if node.alive), -1)

    def can_have(self, group_type: str) -> bool:
        """Whether groups of this type can live on some broker."""
        return any(node.release.has_type(group_type) for node in self.nodes)

    # Groups.

    def add_groups(self, groups: Iterable[Group]) -> None:
        """Add groups; those of a type that no broker knows are left out."""
        for group in groups:
            if self.can_have(group.type):
                self.groups[group.name] = group

    def find(self, name: str) -> Group | None:
        """A group by its id."""
        group = self.groups.get(name)
        if group is None and self.population is not None:
            self.population.settle(self.time())
            group = self.population.find(name)
        return group

    def type_of(self, name: str) -> str | None:
        """The type of a group; None if there is none of that name."""
        group = self.groups.get(name)
        if group is not None:
            return group.type
        return self.population.type_of(name) if self.population is not None else None

    def home(self, name: str) -> int:
        """The partition of `__consumer_offsets` that keeps a group, whether it exists or not."""
        home = self._homes.get(name)
        if home is None:
            home = offsets_partition(name)
            if name in self.groups:
                self._homes[name] = home
        return home

    def coordinator(self, name: str) -> int:
        """Node id of the broker that coordinates a group, existing or not; −1 if none is alive.

        In a cluster of several releases, a group lives on a broker that knows its type.
        """
        leader = self.leadership(self.offsets_topic, self.home(name)).leader
        group_type = self.type_of(name)
        if leader < 1 or group_type is None or self.node(leader).release.has_type(group_type):
            return leader
        for step in range(1, len(self.nodes)):
            node = self.nodes[(leader - 1 + step) % len(self.nodes)]
            if node.alive and node.release.has_type(group_type):
                return node.id
        return -1

    def delete_group(self, name: str) -> int:
        """Delete a group as DeleteGroups does, whatever its type; returns the error code.

        68 when it is not Empty, 69 when there is none.
        """
        group = self.find(name)
        if group is None or name == "":
            return GROUP_ID_NOT_FOUND
        if group.state(self.time()) not in ("Empty", "Dead"):
            return NON_EMPTY_GROUP
        self.remove_group(name)
        return 0

    def remove_group(self, name: str) -> None:
        """Make a group vanish, in whatever state."""
        if self.groups.pop(name, None) is None and self.population is not None:
            index = self.population.index.get(name)
            if index is not None:
                self.population.remove(index)
        self._homes.pop(name, None)
