"""Data classes for members of groups: consumers, Connect workers, schema registry nodes and streams processes."""

from __future__ import annotations

from dataclasses import dataclass

TopicPartitions = tuple[tuple[str, tuple[int, ...]], ...]
"""The partitions of each topic, sorted by topic and partition: `((topic, (0, 1)), …)`."""
Tasks = tuple[tuple[str, tuple[int, ...]], ...]
"""Subtopologies, each with the partition numbers of its tasks, in ascending order: `((subtopology, (0, 1)), …)`."""


@dataclass(frozen=True, slots=True)
class ConnectWorker:
    """A Connect worker (protocol type `connect`, Kafka's `ConnectProtocol`).

    Attributes:
        url: the worker's REST address.
        leader: whether the worker leads the Connect cluster; None if the worker has no assignment.
        tasks: assigned tasks, as pairs `(connector, task numbers)`.
        revoked: names of connectors and tasks that the worker must give up. `name-3` is task 3 of the connector `name`.
        delay_ms: scheduled rebalance delay in milliseconds.
        error: error code of the assignment; 0 for none.
    """

    url: str
    leader: bool | None = None
    leader_url: str | None = None
    config_offset: int | None = None
    connectors: tuple[str, ...] = ()
    tasks: tuple[tuple[str, tuple[int, ...]], ...] = ()
    revoked: tuple[str, ...] = ()
    delay_ms: int | None = None
    error: int = 0


@dataclass(frozen=True, slots=True)
class RegistryNode:
    """A schema registry node (protocol type `sr`).

    Attributes:
        url: `scheme://host:port`.
        eligible: whether the node is allowed to become the leader; None if not known.
        leader: whether the node is the leader; None if it has no assignment.
        leader_url: address of the leader, as this node knows it.
        error: error code of the assignment; 0 for none, 1 for two nodes with the same URL.
    """

    url: str
    eligible: bool | None = None
    leader: bool | None = None
    leader_url: str | None = None
    error: int = 0


@dataclass(frozen=True, slots=True)
class StreamsAssignment:
    """The active, standby and warm-up tasks of a streams member (KIP-1071)."""

    active: Tasks = ()
    standby: Tasks = ()
    warmup: Tasks = ()


@dataclass(frozen=True, slots=True)
class StreamsMember:
    """The attributes that only members of streams groups have (KIP-1071).

    Attributes:
        process: process id, the same for all threads of one Kafka Streams process.
        endpoint: `host:port` for interactive queries, or None.
        task_offsets: how far each task has read its changelogs, as `(subtopology, partition, offset)`.
        task_end_offsets: end offsets of these changelogs, as `(subtopology, partition, offset)`. End offset minus
            offset is the lag of a standby or warm-up task.
    """

    process: str
    topology_epoch: int
    endpoint: str | None = None
    tags: tuple[tuple[str, str], ...] = ()
    task_offsets: tuple[tuple[str, int, int], ...] = ()
    task_end_offsets: tuple[tuple[str, int, int], ...] = ()
    assignment: StreamsAssignment = StreamsAssignment()
    target: StreamsAssignment = StreamsAssignment()


@dataclass(frozen=True, slots=True)
class Member:
    """One member of a group of any type.

    Attributes:
        protocol: `classic`, `consumer`, `share` or `streams`, or None. A member with the protocol `classic` in a
            consumer or streams group still has to be upgraded.
        epoch: member epoch (KIP-848, KIP-932, KIP-1071); None for classic groups.
        topics: subscribed topics, or None.
        regex: subscribed pattern (RE2), or None.
        assignment: owned partitions, or None. Classic groups report them only while Stable.
        target: partitions of the target assignment (KIP-848); None except in consumer groups.
        undecoded: metadata of a protocol that kgtui does not know; otherwise empty.
    """

    member_id: str
    client_id: str
    host: str
    instance_id: str | None = None
    rack: str | None = None
    epoch: int | None = None
    protocol: str | None = None
    topics: tuple[str, ...] | None = None
    regex: str | None = None
    assignment: TopicPartitions | None = None
    target: TopicPartitions | None = None
    connect: ConnectWorker | None = None
    registry: RegistryNode | None = None
    streams: StreamsMember | None = None
    undecoded: bytes = b""

    @property
    def assigned_count(self) -> int | None:
        """Number of partitions, tasks or connectors that the member owns; None if the number is not known."""
        if self.connect is not None:
            return len(self.connect.connectors) + sum(len(tasks) for _, tasks in self.connect.tasks)
        if self.streams is not None:
            roles = (
                self.streams.assignment.active,
                self.streams.assignment.standby,
                self.streams.assignment.warmup,
            )
            return sum(len(parts) for role in roles for _, parts in role)
        return None if self.assignment is None else sum(len(parts) for _, parts in self.assignment)


@dataclass(frozen=True, slots=True)
class TopicInfo:
    """An internal topic (changelog or repartition topic) of a subtopology. `configs` are pairs `(name, value)`."""

    name: str
    partitions: int
    replication_factor: int
    configs: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Subtopology:
    """A part of a streams topology (KIP-1071).

    The number of its tasks is the largest partition count of its source topics.
    """

    subtopology: str
    source_topics: tuple[str, ...] = ()
    repartition_sink_topics: tuple[str, ...] = ()
    changelog_topics: tuple[TopicInfo, ...] = ()
    repartition_source_topics: tuple[TopicInfo, ...] = ()


@dataclass(frozen=True, slots=True)
class Topology:
    """The topology of a streams group. `subtopologies` is None before the topology is initialized."""

    epoch: int
    subtopologies: tuple[Subtopology, ...] | None = None


def partitions_of(assignment: TopicPartitions | None) -> frozenset[tuple[str, int]]:
    """Return the partitions of an assignment as `(topic, partition)`; an empty set if the assignment is None."""
    return frozenset((topic, part) for topic, parts in assignment or () for part in parts)


def partitions_read(members: tuple[Member, ...] | None, topology: Topology | None = None) -> frozenset[tuple[str, int]]:
    """Return each `(topic, partition)` from which the members read.

    These are the partitions that the members own or, in a streams group, the input partitions of their active tasks.
    """
    owned = {(topic, part) for member in members or () for topic, parts in member.assignment or () for part in parts}
    if topology is not None and topology.subtopologies is not None:
        sources = {
            part.subtopology: (*part.source_topics, *(info.name for info in part.repartition_source_topics))
            for part in topology.subtopologies
        }
        for member in members or ():
            for subtopology, tasks in member.streams.assignment.active if member.streams else ():
                owned.update((topic, task) for topic in sources.get(subtopology, ()) for task in tasks)
    return frozenset(owned)


def owners_of(members: tuple[Member, ...] | None) -> dict[tuple[str, int], Member]:
    """Return a dict: `(topic, partition)` → member that owns the partition.

    If a partition has several owners, as in share groups, the dict contains the owner that comes last in `members`.
    """
    return {tp: member for member in members or () for tp in partitions_of(member.assignment)}
