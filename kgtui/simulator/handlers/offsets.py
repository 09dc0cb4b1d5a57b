"""OffsetFetch, ListOffsets and DescribeShareGroupOffsets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kgtui.simulator.groups.share import ShareGroup
from kgtui.simulator.handlers.call import (
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_OR_PARTITION,
    UNSUPPORTED_VERSION,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgtui.simulator.handlers.call import Call
    from kgtui.simulator.topics import Topic

NOT_LEADER = 6
FIRST_BATCHED = 8
FIRST_WITH_GROUP_ERROR = 2
FIRST_WITH_EPOCH = 4
LATEST, EARLIEST, MAX_TIMESTAMP = -1, -2, -3
READ_COMMITTED = 1


def offset_fetch(call: Call) -> dict[str, Any]:
    """Committed offsets: one group a request, or many (KIP-709)."""
    if call.version >= FIRST_BATCHED:
        groups = [_committed(call, row["GroupId"], row["Topics"]) for row in call.fields["Groups"]]
        return {"ThrottleTimeMs": call.throttle_ms, "Groups": groups}
    answer = _committed(call, call.fields["GroupId"], call.fields["Topics"])
    if call.version < FIRST_WITH_GROUP_ERROR and answer["ErrorCode"]:
        answer["Topics"] = _blank(call.fields["Topics"] or [], answer["ErrorCode"])
    return {"ThrottleTimeMs": call.throttle_ms, "Topics": answer["Topics"], "ErrorCode": answer["ErrorCode"]}


def _committed(call: Call, name: str, asked: list[dict[str, Any]] | None) -> dict[str, Any]:
    error = call.refusal(name)
    if error:
        return {"GroupId": name, "Topics": [], "ErrorCode": error}
    rows = dict(_commits(call, name))
    if asked is None:
        topics = [
            {"Name": topic, "Partitions": partitions}
            for topic, partitions in rows.items()
            if not call.faults.topic_forbidden(topic)
        ]
    else:
        topics = [_asked(call, row, rows.get(row["Name"], [])) for row in asked]
    return {"GroupId": name, "Topics": topics, "ErrorCode": 0}


def _commits(call: Call, name: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    group = call.world.find(name) if name else None
    if group is None:
        return
    simple = group.protocol == ""
    for read, pairs in group.commits(call.world.time()):
        epoch = -1 if simple else read.topic.salt % 9
        yield read.topic.name, [_partition(partition, offset, epoch, read.metadata) for partition, offset in pairs]


def _partition(partition: int, offset: int, epoch: int, metadata: str, error: int = 0) -> dict[str, Any]:
    return {
        "PartitionIndex": partition,
        "CommittedOffset": offset,
        "CommittedLeaderEpoch": epoch,
        "Metadata": metadata,
        "ErrorCode": error,
    }


def _asked(call: Call, row: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The partitions that were asked for, with −1 where there is no commit."""
    if call.faults.topic_forbidden(row["Name"]):
        return _blank([row], TOPIC_AUTHORIZATION_FAILED)[0]
    found = {partition["PartitionIndex"]: partition for partition in rows}
    partitions = [found.get(index) or _partition(index, -1, -1, "") for index in row["PartitionIndexes"]]
    return {"Name": row["Name"], "Partitions": partitions}


def _blank(asked: list[dict[str, Any]], error: int) -> list[dict[str, Any]]:
    return [
        {
            "Name": row["Name"],
            "Partitions": [_partition(index, -1, -1, "", error) for index in row["PartitionIndexes"]],
        }
        for row in asked
    ]


def list_offsets(call: Call) -> dict[str, Any]:
    """Log start, log end, or the offset of a time, from the partition's leader only."""
    t = call.world.time()
    return {
        "ThrottleTimeMs": call.throttle_ms,
        "Topics": [
            {"Name": row["Name"], "Partitions": [_bound(call, row["Name"], part, t) for part in row["Partitions"]]}
            for row in call.fields["Topics"]
        ],
    }


def _bound(call: Call, name: str, asked: dict[str, Any], t: float) -> dict[str, Any]:
    index: int = asked["PartitionIndex"]
    topic = call.world.topics.get(name)
    error = call.error
    if not error and call.faults.topic_forbidden(name):
        error = TOPIC_AUTHORIZATION_FAILED
    if not error and (topic is None or not 0 <= index < topic.partitions):
        error = UNKNOWN_TOPIC_OR_PARTITION
    if error or topic is None:
        return {"PartitionIndex": index, "ErrorCode": error}
    held = call.world.leadership(topic, index)
    if held.leader != call.node.id:
        return {"PartitionIndex": index, "ErrorCode": NOT_LEADER}
    offset, timestamp = _offset_at(call, topic, index, asked["Timestamp"], t)
    row = {"PartitionIndex": index, "ErrorCode": 0, "Timestamp": timestamp, "Offset": offset}
    if call.version >= FIRST_WITH_EPOCH:
        row["LeaderEpoch"] = held.epoch if offset >= 0 else -1
    return row


def _offset_at(call: Call, topic: Topic, partition: int, wanted: int, t: float) -> tuple[int, int]:
    """Offset and timestamp; both −1 when there is no record that late."""
    start, end = topic.log_start(partition, t), topic.log_end(partition, t)
    if wanted == LATEST:
        return end, -1
    if wanted == EARLIEST:
        return start, -1
    if wanted == MAX_TIMESTAMP:
        return (end - 1, call.world.timestamp(topic.time_of(partition, end - 1, t))) if end > start else (-1, -1)
    if wanted < 0 or call.world.since(wanted) > t:
        return -1, -1
    offset = max(start, topic.log_end(partition, call.world.since(wanted)))
    return (
        (offset, max(wanted, call.world.timestamp(topic.time_of(partition, offset, t)))) if offset < end else (-1, -1)
    )


def share_offsets(call: Call) -> dict[str, Any]:
    """Start offsets of share partitions; groups of other types have none, and that is no error."""
    groups = [_share_group(call, row["GroupId"], row["Topics"]) for row in call.fields["Groups"]]
    return {"ThrottleTimeMs": call.throttle_ms, "Groups": groups}


def _share_group(call: Call, name: str, asked: list[dict[str, Any]] | None) -> dict[str, Any]:
    if not call.enabled("share.version"):
        return {"GroupId": name, "Topics": [], "ErrorCode": UNSUPPORTED_VERSION}
    error = call.refusal(name)
    group = None if error or not name else call.world.find(name)
    if error or not isinstance(group, ShareGroup):
        return {"GroupId": name, "Topics": [], "ErrorCode": error}
    wanted = None if asked is None else {row["TopicName"]: set(row["Partitions"]) for row in asked}
    topics = []
    for read, rows in group.start_offsets(call.world.time()):
        topic = read.topic
        if call.faults.topic_forbidden(topic.name) or (wanted is not None and topic.name not in wanted):
            continue
        picked = [row for row in rows if wanted is None or row[0] in wanted[topic.name]]
        topics.append(
            {
                "TopicName": topic.name,
                "TopicId": topic.id,
                "Partitions": [
                    {
                        "PartitionIndex": p,
                        "StartOffset": start,
                        "LeaderEpoch": 0 if start < 0 else 1,
                        "Lag": lag,
                        "ErrorCode": 0,
                    }
                    for p, start, lag in picked
                ],
            }
        )
    return {"GroupId": name, "Topics": topics, "ErrorCode": 0}
