"""Handlers of OffsetFetch, DescribeShareGroupOffsets and ListOffsets."""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct, pack
from typing import TYPE_CHECKING, Any
from uuid import UUID

from kgtui.model.error_numbers import (
    NOT_LEADER_OR_FOLLOWER,
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_OR_PARTITION,
    UNSUPPORTED_VERSION,
)
from kgtui.protocol.error_codes import lookup
from kgtui.protocol.messages.offsets import OFFSET_FETCH
from kgtui.protocol.primitives import compact_length, compact_string

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kgtui.simulator.groups.base import ConsumedTopic, Group
    from kgtui.simulator.handlers.request_context import RequestContext
    from kgtui.simulator.topics import Topic

FIRST_BATCHED = 8
FIRST_WITH_GROUP_ERROR = 2
_PARTITION = Struct(">iqi")
_HEAD = 5
"""Number of bytes before the first group in the body of an OffsetFetch response with one group.

These are the throttle time (4 bytes) and the number of groups (1 byte).
"""

NO_ID = UUID(int=0)
UNINITIALIZED = (-1, -1)
"""`(start offset, lag)` of a share partition that is not initialized."""

Starts = dict[int, tuple[int, int]]
"""The start offsets of one topic in a share group: partition → `(share-partition start offset, lag)`."""

FIRST_WITH_EPOCH = 4
FIRST_WITH_MAX_TIMESTAMP = 7
FIRST_WITH_LOCAL_START = 8
LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL = -1, -2, -3, -4
NO_RECORD = (-1, -1)
"""`(offset, timestamp)` in a ListOffsets response if no record has the requested timestamp or a later one."""


def offset_fetch(request: RequestContext) -> dict[str, Any] | bytes:
    """Return the committed offsets of one group or, since OffsetFetch v8, of several groups (KIP-709)."""
    if request.version >= FIRST_BATCHED:
        rows = request.fields["Groups"]
        return b"".join(
            (pack(">i", request.throttle_ms), compact_length(len(rows)), *(_group(request, row) for row in rows), b"\0")
        )
    answer = _committed(request, request.fields["GroupId"], request.fields["Topics"])
    if request.version < FIRST_WITH_GROUP_ERROR and answer["ErrorCode"]:
        answer["Topics"] = _without_offsets(request.fields["Topics"] or [], answer["ErrorCode"])
    return {"ThrottleTimeMs": request.throttle_ms, "Topics": answer["Topics"], "ErrorCode": answer["ErrorCode"]}


def _group(request: RequestContext, row: dict[str, Any]) -> bytes:
    """Encode one group of an OffsetFetch response."""
    name = row["GroupId"]
    if row["Topics"] is not None or request.group_error(name):
        whole = OFFSET_FETCH.response.encode(request.version, {"Groups": [_committed(request, name, row["Topics"])]})
        return whole[_HEAD:-1]
    # The request asks for all committed offsets. Encode them here, because the general encoder is slower.
    group = request.state.find(name)
    topics: list[bytes] = []
    for read, pairs in group.commits(request.state.time()) if group is not None else ():
        if request.faults.topic_forbidden(read.topic.name):
            continue
        epoch = _epoch(group, read)
        tail = compact_string(read.metadata) + b"\0\0\0"
        packed = [_PARTITION.pack(partition, offset, epoch) for partition, offset in pairs]
        topics.append(compact_string(read.topic.name) + compact_length(len(packed)) + tail.join(packed) + tail + b"\0")
    return b"".join((compact_string(name), compact_length(len(topics)), *topics, b"\0\0\0"))


def _committed(request: RequestContext, name: str, requested: list[dict[str, Any]] | None) -> dict[str, Any]:
    error = request.group_error(name)
    if error:
        return {"GroupId": name, "Topics": [], "ErrorCode": error}
    rows = dict(_commits(request, name))
    if requested is None:
        topics = [
            {"Name": topic, "Partitions": partitions}
            for topic, partitions in rows.items()
            if not request.faults.topic_forbidden(topic)
        ]
    else:
        topics = [_asked(request, row, rows.get(row["Name"], [])) for row in requested]
    return {"GroupId": name, "Topics": topics, "ErrorCode": 0}


def _commits(request: RequestContext, name: str) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    group = request.state.find(name) if name else None
    if group is None:
        return
    for read, pairs in group.commits(request.state.time()):
        epoch = _epoch(group, read)
        yield read.topic.name, [_partition(partition, offset, epoch, read.metadata) for partition, offset in pairs]


def _epoch(group: Group | None, read: ConsumedTopic) -> int:
    """Return the leader epoch that a group has committed with its offsets for a topic.

    Return -1 (no epoch) if the group does not exist or is a simple group. Clients of a simple group commit offsets
    without joining the group.
    """
    return -1 if group is None or group.protocol == "" else read.topic.salt % 9


def _partition(partition: int, offset: int, epoch: int, metadata: str, error: int = 0) -> dict[str, Any]:
    return {
        "PartitionIndex": partition,
        "CommittedOffset": offset,
        "CommittedLeaderEpoch": epoch,
        "Metadata": metadata,
        "ErrorCode": error,
    }


def _asked(request: RequestContext, row: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the row of an OffsetFetch response for a requested topic.

    Args:
        row: the topic in the request.
        rows: one response row per partition of the topic for which the group has committed an offset. All other
            requested partitions get the offset -1.
    """
    if request.faults.topic_forbidden(row["Name"]):
        return _without_offsets([row], TOPIC_AUTHORIZATION_FAILED)[0]
    found = {partition["PartitionIndex"]: partition for partition in rows}
    partitions = [found.get(index) or _partition(index, -1, -1, "") for index in row["PartitionIndexes"]]
    return {"Name": row["Name"], "Partitions": partitions}


def _without_offsets(requested: list[dict[str, Any]], error: int) -> list[dict[str, Any]]:
    return [
        {
            "Name": row["Name"],
            "Partitions": [_partition(index, -1, -1, "", error) for index in row["PartitionIndexes"]],
        }
        for row in requested
    ]


def share_offsets(request: RequestContext) -> dict[str, Any]:
    """Return the share-partition start offsets of the requested partitions, or of all partitions if `Topics` is null.

    If the group does not exist or is not a share group, the requested partitions are reported as uninitialized.
    """
    groups = [_share_group(request, row["GroupId"], row["Topics"]) for row in request.fields["Groups"]]
    return {"ThrottleTimeMs": request.throttle_ms, "Groups": groups}


def _share_group(request: RequestContext, name: str, requested: list[dict[str, Any]] | None) -> dict[str, Any]:
    error = request.group_error(name) if request.feature_enabled("share.version") else UNSUPPORTED_VERSION
    if error:
        return {"GroupId": name, "Topics": [], "ErrorCode": error}
    group = request.state.find(name)
    starts: dict[str, Starts] = {}
    if group is not None:
        for read, rows in group.start_offsets(request.state.time()):
            starts[read.topic.name] = {partition: (start, lag) for partition, start, lag in rows}
    if requested is None:
        topics = [
            _share_topic(request, topic, rows, rows)
            for topic, rows in starts.items()
            if not request.faults.topic_forbidden(topic)
        ]
    else:
        topics = [
            _share_topic(request, row["TopicName"], row["Partitions"], starts.get(row["TopicName"], {}))
            for row in requested
        ]
    return {"GroupId": name, "Topics": topics, "ErrorCode": 0}


def _share_topic(request: RequestContext, name: str, partitions: Iterable[int], starts: Starts) -> dict[str, Any]:
    topic = request.state.topics.get(name)
    forbidden = request.faults.topic_forbidden(name)
    rows = []
    for partition in partitions:
        start, lag = UNINITIALIZED if forbidden else starts.get(partition, UNINITIALIZED)
        rows.append(
            {
                "PartitionIndex": partition,
                "StartOffset": start,
                "LeaderEpoch": 0 if start < 0 else 1,
                "Lag": lag,
                "ErrorCode": TOPIC_AUTHORIZATION_FAILED if forbidden else 0,
                "ErrorMessage": lookup(TOPIC_AUTHORIZATION_FAILED).message if forbidden else None,
            }
        )
    return {"TopicName": name, "TopicId": topic.id if topic is not None else NO_ID, "Partitions": rows}


def list_offsets(request: RequestContext) -> dict[str, Any]:
    """Return the requested offset of each partition, or an error, for example if this broker is not the leader."""
    t = request.state.time()
    # Like a real broker, return the nonexistent topics before the existing ones. (The sort key is a boolean, and False
    # sorts before True.)
    requested = sorted(request.fields["Topics"], key=lambda row: row["Name"] in request.state.topics)
    topics = [{"Name": row["Name"], "Partitions": _log_topic(request, row, t)} for row in requested]
    return {"ThrottleTimeMs": request.throttle_ms, "Topics": topics}


def _log_topic(request: RequestContext, requested: dict[str, Any], t: float) -> list[dict[str, Any]]:
    topic = request.state.topics.get(requested["Name"])
    error = request.error
    if not error and request.faults.topic_forbidden(requested["Name"]):
        error = TOPIC_AUTHORIZATION_FAILED
    if not error and topic is None:
        error = UNKNOWN_TOPIC_OR_PARTITION
    if error or topic is None:
        return [{"PartitionIndex": row["PartitionIndex"], "ErrorCode": error} for row in requested["Partitions"]]
    log = Log(topic, topic.log_starts(t), topic.log_ends(t))
    return [_log_partition(request, log, row["PartitionIndex"], row["Timestamp"]) for row in requested["Partitions"]]


@dataclass(frozen=True, slots=True)
class Log:
    """The current log start and log end offsets of a topic, by partition."""

    topic: Topic
    starts: list[int]
    ends: list[int]


def _log_partition(request: RequestContext, log: Log, index: int, target: int) -> dict[str, Any]:
    if not 0 <= index < log.topic.partitions:
        return {"PartitionIndex": index, "ErrorCode": UNKNOWN_TOPIC_OR_PARTITION}
    leadership = request.state.leadership(log.topic, index)
    if leadership.leader != request.node.id:
        return {"PartitionIndex": index, "ErrorCode": NOT_LEADER_OR_FOLLOWER}
    if target < _lowest_special_timestamp(request.version):
        return {"PartitionIndex": index, "ErrorCode": UNSUPPORTED_VERSION}
    if target == LATEST:
        offset, timestamp = log.ends[index], -1
    elif target in (EARLIEST, EARLIEST_LOCAL):
        offset, timestamp = log.starts[index], -1
    else:
        offset, timestamp = _record_at(request, log, index, target)
    row = {"PartitionIndex": index, "ErrorCode": 0, "Timestamp": timestamp, "Offset": offset}
    if request.version >= FIRST_WITH_EPOCH:
        row["LeaderEpoch"] = leadership.epoch if offset >= 0 else -1
    return row


def _lowest_special_timestamp(version: int) -> int:
    """Return the lowest timestamp that a version of ListOffsets accepts.

    Negative timestamps have special meanings: for example, -2 requests the log start offset.
    """
    if version >= FIRST_WITH_LOCAL_START:
        return EARLIEST_LOCAL
    return MAX_TIMESTAMP if version >= FIRST_WITH_MAX_TIMESTAMP else EARLIEST


def _record_at(request: RequestContext, log: Log, index: int, target: int) -> tuple[int, int]:
    """Return `(offset, timestamp)` of the first record that is not older than `target`; `NO_RECORD` if there is none.

    Args:
        target: time in milliseconds since the epoch, or MAX_TIMESTAMP for the newest record.
    """
    start, end = log.starts[index], log.ends[index]
    offset = end - 1 if target == MAX_TIMESTAMP else max(start, request.state.first_record(log.topic, index, target))
    if not start <= offset < end:
        return NO_RECORD
    return offset, request.state.record_timestamp(log.topic, index, offset)
