"""Members of groups: consumers, Connect workers, registry nodes, share consumers and streams processes."""

from __future__ import annotations

from dataclasses import dataclass

# topic → partitions, sorted by topic and partition: ((topic, (0, 1)), …)
TopicPartitions = tuple[tuple[str, tuple[int, ...]], ...]
# subtopology → partitions
Tasks = tuple[tuple[str, tuple[int, ...]], ...]


@dataclass(frozen=True, slots=True)
class ConnectWorker:
    """A Connect worker (protocol type `connect`, Kafka's `ConnectProtocol`).

    Attributes:
        url: the worker's REST address.
        leader: whether this worker leads; None while no assignment tells.
        connectors: connectors it runs.
        tasks: `(connector, task numbers)`.
        revoked: connectors and tasks that it must give up, as `connector` or `connector-3`.
        delay_ms: scheduled rebalance delay.
        error: error code of the assignment, 0 when fine.
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
        url: `scheme://host:port` of the node.
        eligible: whether it may become the leader.
        leader: whether it leads; None while no assignment tells.
        leader_url: address of the leader as this node knows it.
        error: error of the assignment, 0 when fine (1: two nodes with the same URL).
    """

    url: str
    eligible: bool | None = None
    leader: bool | None = None
    leader_url: str | None = None
    error: int = 0


@dataclass(frozen=True, slots=True)
class StreamsAssignment:
    """Tasks by role: subtopology → partitions (KIP-1071)."""

    active: Tasks = ()
    standby: Tasks = ()
    warmup: Tasks = ()


@dataclass(frozen=True, slots=True)
class StreamsMember:
    """What only a member of a streams group has (KIP-1071).

    Attributes:
        process: process id: threads of one process share it.
        endpoint: `host:port` for interactive queries, or None.
        task_offsets: `(subtopology, partition, offset)` that the member reported.
        task_end_offsets: the same for the changelog ends, for the lag of standby and warm-up tasks.
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
        protocol: `classic`, `consumer`, `share` or `streams`; None if the broker did not say. A `classic` member in a
            consumer or streams group is one that has not been upgraded yet.
        epoch: member epoch (KIP-848, KIP-932, KIP-1071); None for classic members of classic groups.
        topics: subscribed topics; None if unknown.
        regex: subscribed pattern (RE2), or None.
        assignment: partitions it owns now; None if unknown (a classic group tells it only when Stable).
        target: partitions it shall own (KIP-848); None where there is no such thing.
        undecoded: metadata bytes that follow no known protocol, shown as hex; b"" otherwise.
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
        """How many partitions, or tasks and connectors, it has now; None if unknown."""
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
    """An internal topic of a subtopology."""

    name: str
    partitions: int
    replication_factor: int
    configs: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Subtopology:
    """A part of a streams application whose tasks are assigned together."""

    subtopology: str
    source_topics: tuple[str, ...] = ()
    repartition_sink_topics: tuple[str, ...] = ()
    changelog_topics: tuple[TopicInfo, ...] = ()
    repartition_source_topics: tuple[TopicInfo, ...] = ()


@dataclass(frozen=True, slots=True)
class Topology:
    """The topology of a streams group as its coordinator knows it."""

    epoch: int
    subtopologies: tuple[Subtopology, ...] | None = None


def partitions_of(assignment: TopicPartitions | None) -> frozenset[tuple[str, int]]:
    """The assignment as a set of `(topic, partition)`; empty if unknown."""
    return frozenset((topic, part) for topic, parts in assignment or () for part in parts)


def partitions_read(members: tuple[Member, ...] | None, topology: Topology | None = None) -> frozenset[tuple[str, int]]:
    """Every `(topic, partition)` that some member owns; of streams members, what their active tasks read."""
    owned = {tp for member in members or () for tp in partitions_of(member.assignment)}
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
    """`(topic, partition)` → the member that owns it now (the last one where several do, as in share groups)."""
    return {tp: member for member in members or () for tp in partitions_of(member.assignment)}
