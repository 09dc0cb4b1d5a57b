"""Decode the responses of the describe RPCs into `GroupDescription`.

In a classic group, the metadata and the assignment of a member are bytes that brokers do not decode. This module
decodes these bytes for consumers, Connect workers and schema registries. Metadata of other members and damaged metadata
are kept as bytes.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from kgtui.model.group import GroupDescription
from kgtui.model.group_types import CLASSIC, CONSUMER, SHARE, STREAMS, canonical_state
from kgtui.model.members import (
    ConnectWorker,
    Member,
    RegistryNode,
    StreamsAssignment,
    StreamsMember,
    Subtopology,
    TopicInfo,
    TopicPartitions,
    Topology,
)
from kgtui.protocol.member_data import connect, consumer, schema_registry

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kgtui.model.members import Tasks

    Row = Mapping[str, Any]


def by_topic(pairs: Iterable[tuple[str, Iterable[int]]]) -> TopicPartitions:
    """Sort pairs `(topic, partitions)` by topic and partition, and merge pairs with the same topic."""
    pairs = tuple(pairs)
    # Most members have only one topic. In this case, this shortcut is three times as fast as the code below.
    if len(pairs) == 1:
        return ((pairs[0][0], tuple(sorted({*pairs[0][1]}))),)
    merged: dict[str, set[int]] = {}
    for topic, partitions in pairs:
        merged.setdefault(topic, set()).update(partitions)
    return tuple((topic, tuple(sorted(parts))) for topic, parts in sorted(merged.items()))


def classic_member(row: Row, protocol: str, leader_url: str | None) -> Member:
    """Decode a member in a DescribeGroups response. Metadata of an unknown format is kept in `Member.undecoded`.

    Args:
        protocol: protocol type of the group, such as `consumer` or `connect`.
        leader_url: REST address of the leader of a Connect group; None for other groups, or if the address is unknown.
    """
    metadata, assigned = bytes(row["MemberMetadata"]), bytes(row["MemberAssignment"])
    values: dict[str, Any] = {}
    if protocol == "consumer":
        subscription = consumer.decode_subscription(metadata)
        if subscription is not None:
            values["topics"] = tuple(sorted(subscription.topics))
            values["rack"] = subscription.rack or None
        partitions = consumer.decode_assignment(assigned)
        if partitions is not None:
            values["assignment"] = by_topic(partitions)
        decoded = subscription is not None
    elif protocol == "connect":
        values["connect"] = worker = _worker(metadata, assigned, leader_url)
        decoded = worker is not None
    elif protocol == "sr":
        values["registry"] = node = _registry_node(metadata, assigned)
        decoded = node is not None
    else:
        decoded = False
    return Member(
        member_id=row["MemberId"],
        client_id=row["ClientId"],
        host=row["ClientHost"],
        instance_id=row.get("GroupInstanceId"),
        protocol="classic",
        undecoded=b"" if decoded else metadata,
        **values,
    )


def connect_leader(members: Iterable[Row]) -> str | None:
    """Return the REST address of the leader worker of a Connect group, or None if it is unknown."""
    for member in members:
        assignment = connect.decode_assignment(bytes(member["MemberAssignment"]))
        if assignment is not None and assignment.leader_url:
            return assignment.leader_url
    return None


def _worker(metadata: bytes, assigned: bytes, leader_url: str | None) -> ConnectWorker | None:
    subscription = connect.decode_subscription(metadata)
    if subscription is None:
        return None
    assignment = connect.decode_assignment(assigned)
    if assignment is None:
        return ConnectWorker(url=subscription.url, config_offset=subscription.config_offset)
    # Begin with the connectors and tasks that the worker already ran when it joined the group. In cooperative
    # rebalancing (KIP-415), an assignment contains only the changes to these connectors and tasks.
    had = _units(subscription.allocation.assigned if subscription.allocation else ())
    revoked = _units(assignment.revoked)
    running = (had - revoked) | _units(assignment.assigned)
    return ConnectWorker(
        url=subscription.url,
        leader=None if leader_url is None else subscription.url == leader_url,
        leader_url=leader_url,
        config_offset=assignment.config_offset,
        connectors=tuple(sorted(name for name, task in running if task == connect.CONNECTOR)),
        tasks=by_topic((name, (task,)) for name, task in running if task != connect.CONNECTOR),
        revoked=tuple(name if task == connect.CONNECTOR else f"{name}-{task}" for name, task in sorted(revoked)),
        delay_ms=assignment.delay_ms,
        error=assignment.error,
    )


def _units(assigned: Iterable[tuple[str, Iterable[int]]]) -> set[tuple[str, int]]:
    """Convert pairs `(connector, task numbers)` into a set of pairs `(connector, task number)`.

    The task number -1 (`connect.CONNECTOR`) stands for the connector itself.
    """
    return {(name, task) for name, tasks in assigned for task in tasks}


def _registry_node(metadata: bytes, assigned: bytes) -> RegistryNode | None:
    identity = schema_registry.decode_identity(metadata)
    if identity is None:
        return None
    assignment = schema_registry.decode_assignment(assigned)
    leader_url = assignment.master_identity.url if assignment and assignment.master_identity else None
    return RegistryNode(
        url=identity.url,
        eligible=identity.master_eligibility,
        leader=None if leader_url is None else identity.url == leader_url,
        leader_url=leader_url,
        error=(assignment.error or 0) if assignment else 0,
    )


NO_OPERATIONS_GIVEN = -2147483648
"""Value of the bit field for authorized operations if the broker did not report these operations."""

_OPERATIONS = {
    3: "READ",
    4: "WRITE",
    5: "CREATE",
    6: "DELETE",
    7: "ALTER",
    8: "DESCRIBE",
    9: "CLUSTER_ACTION",
    10: "DESCRIBE_CONFIGS",
    11: "ALTER_CONFIGS",
    12: "IDEMPOTENT_WRITE",
}
"""Code in Kafka's enum `AclOperation` → name.

The code is also the position of the operation's bit in the bit field for authorized operations.
"""

_MEMBER_TYPES = {0: "classic", 1: "consumer"}
_TOPOLOGY_STATUS = {1: "not stored", 2: "error", 3: "available"}


def operations(bits: int) -> frozenset[str] | None:
    """Convert the bit field of authorized operations into their names; None if the broker did not report operations."""
    if bits == NO_OPERATIONS_GIVEN:
        return None
    return frozenset(name for code, name in _OPERATIONS.items() if bits >> code & 1)


def _members(row: Row, decode: Callable[[Row], Member]) -> tuple[Member, ...]:
    """Decode the members of a group, and remove duplicates. Sort them, because brokers send them in no fixed order."""
    members = [decode(member) for member in row["Members"]]
    by_name = {(member.client_id, member.host, member.member_id): member for member in members}
    return tuple(by_name[name] for name in sorted(by_name))


def _assignment(row: Row) -> TopicPartitions:
    return by_topic((part["TopicName"], part["Partitions"]) for part in row["TopicPartitions"])


def classic_group(row: Row, node: int, source: str) -> GroupDescription:
    """Decode one group of a DescribeGroups response.

    Args:
        node: id of the broker that answered.
        source: RPC and version, such as `DescribeGroups v6`.
    """
    protocol = row.get("ProtocolType", "")
    leader_url = connect_leader(row["Members"]) if protocol == "connect" else None

    def decode(member: Row) -> Member:
        return classic_member(member, protocol, leader_url)

    return GroupDescription(
        group=row["GroupId"],
        type=CLASSIC,
        protocol=protocol,
        state=canonical_state(row["GroupState"]),
        coordinator=node,
        assignor=row.get("ProtocolData") or None,
        members=_members(row, decode),
        operations=operations(row.get("AuthorizedOperations", NO_OPERATIONS_GIVEN)),
        source=source,
    )


def _newer_member(row: Row, protocol: str | None) -> dict[str, Any]:
    """Return keyword arguments for `Member`: the fields that consumer, share and streams members have in common."""
    return {
        "member_id": row["MemberId"],
        "client_id": row["ClientId"],
        "host": row["ClientHost"],
        "instance_id": row.get("InstanceId"),
        "rack": row.get("RackId"),
        "epoch": row["MemberEpoch"],
        "protocol": protocol,
    }


def _consumer_member(row: Row, _group_type: str) -> Member:
    return Member(
        **_newer_member(row, _MEMBER_TYPES.get(row["MemberType"])),
        topics=tuple(sorted(row["SubscribedTopicNames"])),
        regex=row["SubscribedTopicRegex"] or None,
        assignment=_assignment(row["Assignment"]),
        target=_assignment(row["TargetAssignment"]),
    )


def _share_member(row: Row, group_type: str) -> Member:
    return Member(
        **_newer_member(row, group_type),
        topics=tuple(sorted(row["SubscribedTopicNames"])),
        assignment=_assignment(row["Assignment"]),
    )


def _tasks(rows: Iterable[Row]) -> Tasks:
    return tuple(sorted((row["SubtopologyId"], tuple(sorted(row["Partitions"]))) for row in rows))


def _streams_assignment(row: Row) -> StreamsAssignment:
    return StreamsAssignment(_tasks(row["ActiveTasks"]), _tasks(row["StandbyTasks"]), _tasks(row["WarmupTasks"]))


def _task_offsets(rows: Iterable[Row]) -> tuple[tuple[str, int, int], ...]:
    return tuple(sorted((row["SubtopologyId"], row["Partition"], row["Offset"]) for row in rows))


def _streams_member(row: Row, group_type: str) -> Member:
    endpoint = row["UserEndpoint"]
    return Member(
        **_newer_member(row, CLASSIC if row["IsClassic"] else group_type),
        streams=StreamsMember(
            process=row["ProcessId"],
            topology_epoch=row["TopologyEpoch"],
            endpoint=f"{endpoint['Host']}:{endpoint['Port']}" if endpoint else None,
            tags=tuple(sorted((tag["Key"], tag["Value"]) for tag in row["ClientTags"])),
            task_offsets=_task_offsets(row["TaskOffsets"]),
            task_end_offsets=_task_offsets(row["TaskEndOffsets"]),
            assignment=_streams_assignment(row["Assignment"]),
            target=_streams_assignment(row["TargetAssignment"]),
        ),
    )


def _topic_infos(rows: Iterable[Row]) -> tuple[TopicInfo, ...]:
    return tuple(
        TopicInfo(
            row["Name"],
            row["Partitions"],
            row["ReplicationFactor"],
            tuple((config["Key"], config["Value"]) for config in row["TopicConfigs"]),
        )
        for row in rows
    )


def _topology(row: Row | None) -> Topology | None:
    if row is None:
        return None
    if row["Subtopologies"] is None:
        return Topology(row["Epoch"], None)
    return Topology(
        row["Epoch"],
        tuple(
            Subtopology(
                sub["SubtopologyId"],
                tuple(sub["SourceTopics"]),
                tuple(sub["RepartitionSinkTopics"]),
                _topic_infos(sub["StateChangelogTopics"]),
                _topic_infos(sub["RepartitionSourceTopics"]),
            )
            for sub in row["Subtopologies"]
        ),
    )


def _newer_group(
    row: Row, node: int, source: str, *, group_type: str, decode_member: Callable[[Row, str], Member]
) -> GroupDescription:
    """Decode one group of a describe response for consumer, share or streams groups.

    Args:
        node: id of the broker that answered.
        source: RPC and version, such as `ShareGroupDescribe v1`.
    """
    return GroupDescription(
        group=row["GroupId"],
        type=group_type,
        protocol=group_type,
        state=canonical_state(row["GroupState"]),
        coordinator=node,
        assignor=row.get("AssignorName") or None,
        group_epoch=row["GroupEpoch"],
        assignment_epoch=row["AssignmentEpoch"],
        members=_members(row, lambda member: decode_member(member, group_type)),
        operations=operations(row["AuthorizedOperations"]),
        topology=_topology(row.get("Topology")),
        topology_status=_TOPOLOGY_STATUS.get(row.get("TopologyDescriptionStatus", 0)),
        source=source,
    )


DECODERS: Mapping[str, Callable[[Row, int, str], GroupDescription]] = {
    CLASSIC: classic_group,
    CONSUMER: partial(_newer_group, group_type=CONSUMER, decode_member=_consumer_member),
    SHARE: partial(_newer_group, group_type=SHARE, decode_member=_share_member),
    STREAMS: partial(_newer_group, group_type=STREAMS, decode_member=_streams_member),
}
"""Group type → function that decodes one group of the describe response.

Arguments of the function: the group's row in the response, the id of the broker that answered, and the RPC with its
version, such as `ShareGroupDescribe v1`.
"""
