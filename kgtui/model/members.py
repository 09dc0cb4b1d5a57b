"""Data classes for members of groups: consumers, Connect workers, Schema Registry nodes and Kafka Streams threads."""

from __future__ import annotations

from dataclasses import dataclass

TopicPartitions = tuple[tuple[str, tuple[int, ...]], ...]
"""The partitions of each topic, sorted by topic and partition: `((topic, (0, 1)), …)`."""
Tasks = tuple[tuple[str, tuple[int, ...]], ...]
"""Sorted pairs of subtopology and partition numbers of its tasks: `((subtopology, (0, 1)), …)`."""


@dataclass(frozen=True, slots=True)
class ConnectWorker:
    """A Connect worker (protocol type `connect`, Kafka's `ConnectProtocol`).

    Attributes:
        url: the worker's REST address.
        leader: whether the worker leads the Connect cluster; None if the worker has no assignment.
        tasks: assigned tasks, as pairs `(connector, task numbers)`.
        revoked: connectors and tasks that the worker must give up, by name. For example, `orders-3` is task 3 of the
            connector `orders`.
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
    """A Schema Registry node (protocol type `sr`).

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
        task_end_offsets: end offsets of the same changelogs, as `(subtopology, partition, end offset)`. The lag of a
            standby or warm-up task is its end offset minus its offset in `task_offsets`.
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
        protocol: rebalance protocol of the member: `classic`, `consumer`, `share` or `streams`; None if not reported. A
            `classic` member of a consumer or streams group has not been migrated to the new protocol yet.
        epoch: member epoch (KIP-848, KIP-932, KIP-1071); None for classic groups.
        topics: subscribed topics; None if not reported.
        regex: subscribed pattern (RE2), or None.
        assignment: owned partitions; None if not reported, and for members with `connect`, `registry` or `streams`.
            In a classic group, brokers report owned partitions only in the state Stable.
        target: partitions of the target assignment (KIP-848) in a consumer group; None in all other groups.
        undecoded: metadata of the member that kgtui cannot decode; otherwise empty.
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

    A subtopology has as many tasks as its largest source topic has partitions.
    """

    subtopology: str
    source_topics: tuple[str, ...] = ()
    repartition_sink_topics: tuple[str, ...] = ()
    changelog_topics: tuple[TopicInfo, ...] = ()
    repartition_source_topics: tuple[TopicInfo, ...] = ()


@dataclass(frozen=True, slots=True)
class Topology:
    """The topology of a streams group. `subtopologies` is None until the topology has been initialized."""

    epoch: int
    subtopologies: tuple[Subtopology, ...] | None = None


def partitions_of(assignment: TopicPartitions | None) -> frozenset[tuple[str, int]]:
    """Return the partitions of an assignment as `(topic, partition)`; an empty set if the assignment is None."""
    return frozenset((topic, part) for topic, parts in assignment or () for part in parts)


def partitions_read(members: tuple[Member, ...] | None, topology: Topology | None = None) -> frozenset[tuple[str, int]]:
    """Return each `(topic, partition)` from which the members read.

    These are the partitions that the members own. In a streams group, they are the input partitions of the members'
    active tasks.
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

    In share groups, a partition can have several owners. The dict then contains the owner that is last in `members`.
    """
    return {tp: member for member in members or () for tp in partitions_of(member.assignment)}
