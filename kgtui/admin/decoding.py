"""From decoded describe answers to `GroupDescription`s."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kgtui.admin.classic_members import by_topic, classic_member, connect_leader
from kgtui.model.group import GroupDescription
from kgtui.model.group_types import CLASSIC, CONSUMER, SHARE, STREAMS, canonical_state
from kgtui.model.members import Member, StreamsAssignment, StreamsMember, Subtopology, TopicInfo, Topology

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from kgtui.model.members import Tasks, TopicPartitions

    Row = Mapping[str, Any]

NOT_TOLD = -2147483648

# Kafka's AclOperation codes: bits of the authorized operations.
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
_MEMBER_TYPES = {0: "classic", 1: "consumer"}
_TOPOLOGY_STATUS = {1: "not stored", 2: "error", 3: "available"}


def operations(bits: int) -> frozenset[str] | None:
    """Names of the operations in a bit field; None when the broker did not say."""
    if bits == NOT_TOLD:
        return None
    return frozenset(name for code, name in _OPERATIONS.items() if bits >> code & 1)


def _members(row: Row, decode: Callable[[Row], Member]) -> tuple[Member, ...]:
    """Members sorted by client id, host and member id: brokers give them in any order."""
    members = [decode(member) for member in row["Members"]]
    members.sort(key=lambda m: (m.client_id, m.host, m.member_id))
    return tuple(members)


def _assignment(row: Row) -> TopicPartitions:
    return by_topic((part["TopicName"], part["Partitions"]) for part in row["TopicPartitions"])


def classic_group(row: Row, node: int, source: str) -> GroupDescription:
    """A row of DescribeGroups."""
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
        operations=operations(row.get("AuthorizedOperations", NOT_TOLD)),
        source=source,
    )


def _newer_group(row: Row, node: int, source: str, group_type: str, members: tuple[Member, ...]) -> dict[str, Any]:
    """What the describes of KIP-848, KIP-932 and KIP-1071 have in common."""
    return {
        "group": row["GroupId"],
        "type": group_type,
        "protocol": group_type,
        "state": canonical_state(row["GroupState"]),
        "coordinator": node,
        "assignor": row.get("AssignorName") or None,
        "group_epoch": row["GroupEpoch"],
        "assignment_epoch": row["AssignmentEpoch"],
        "members": members,
        "operations": operations(row["AuthorizedOperations"]),
        "source": source,
    }


def _newer_member(row: Row, protocol: str | None) -> dict[str, Any]:
    """What members of those groups have in common."""
    return {
        "member_id": row["MemberId"],
        "client_id": row["ClientId"],
        "host": row["ClientHost"],
        "instance_id": row.get("InstanceId"),
        "rack": row.get("RackId"),
        "epoch": row["MemberEpoch"],
        "protocol": protocol,
    }


def _consumer_member(row: Row) -> Member:
    return Member(
        **_newer_member(row, _MEMBER_TYPES.get(row["MemberType"])),
        topics=tuple(sorted(row["SubscribedTopicNames"])),
        regex=row["SubscribedTopicRegex"] or None,
        assignment=_assignment(row["Assignment"]),
        target=_assignment(row["TargetAssignment"]),
    )


def _share_member(row: Row) -> Member:
    return Member(
        **_newer_member(row, SHARE),
        topics=tuple(sorted(row["SubscribedTopicNames"])),
        assignment=_assignment(row["Assignment"]),
    )


def _tasks(rows: Iterable[Row]) -> Tasks:
    return tuple(sorted((row["SubtopologyId"], tuple(sorted(row["Partitions"]))) for row in rows))


def _streams_assignment(row: Row) -> StreamsAssignment:
    return StreamsAssignment(_tasks(row["ActiveTasks"]), _tasks(row["StandbyTasks"]), _tasks(row["WarmupTasks"]))


def _task_offsets(rows: Iterable[Row]) -> tuple[tuple[str, int, int], ...]:
    return tuple(sorted((row["SubtopologyId"], row["Partition"], row["Offset"]) for row in rows))


def _streams_member(row: Row) -> Member:
    endpoint = row["UserEndpoint"]
    return Member(
        **_newer_member(row, CLASSIC if row["IsClassic"] else STREAMS),
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


def consumer_group(row: Row, node: int, source: str) -> GroupDescription:
    """A row of ConsumerGroupDescribe."""
    return GroupDescription(**_newer_group(row, node, source, CONSUMER, _members(row, _consumer_member)))


def share_group(row: Row, node: int, source: str) -> GroupDescription:
    """A row of ShareGroupDescribe."""
    return GroupDescription(**_newer_group(row, node, source, SHARE, _members(row, _share_member)))


def streams_group(row: Row, node: int, source: str) -> GroupDescription:
    """A row of StreamsGroupDescribe."""
    return GroupDescription(
        **_newer_group(row, node, source, STREAMS, _members(row, _streams_member)),
        topology=_topology(row["Topology"]),
        topology_status=_TOPOLOGY_STATUS.get(row.get("TopologyDescriptionStatus", 0)),
    )


DECODERS: Mapping[str, Callable[[Row, int, str], GroupDescription]] = {
    CLASSIC: classic_group,
    CONSUMER: consumer_group,
    SHARE: share_group,
    STREAMS: streams_group,
}
