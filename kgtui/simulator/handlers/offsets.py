"""OffsetFetch: how far groups have committed."""

from __future__ import annotations

from struct import Struct, pack
from typing import TYPE_CHECKING, Any

from kgtui.protocol.messages.offsets import OFFSET_FETCH
from kgtui.simulator.compact import length, text
from kgtui.simulator.handlers.call import (
    TOPIC_AUTHORIZATION_FAILED,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgtui.simulator.groups.base import Group, Reads
    from kgtui.simulator.handlers.call import Call

FIRST_BATCHED = 8
FIRST_WITH_GROUP_ERROR = 2
_PARTITION = Struct(">iqi")
_HEAD = 5
"""Bytes before the first group of a batch: the throttle time, and a count below 127."""


def offset_fetch(call: Call) -> dict[str, Any] | bytes:
    """Committed offsets: one group a request, or many (KIP-709)."""
    if call.version >= FIRST_BATCHED:
        rows = call.fields["Groups"]
        return b"".join((pack(">i", call.throttle_ms), length(len(rows)), *(_group(call, row) for row in rows), b"\0"))
    answer = _committed(call, call.fields["GroupId"], call.fields["Topics"])
    if call.version < FIRST_WITH_GROUP_ERROR and answer["ErrorCode"]:
        answer["Topics"] = _blank(call.fields["Topics"] or [], answer["ErrorCode"])
    return {"ThrottleTimeMs": call.throttle_ms, "Topics": answer["Topics"], "ErrorCode": answer["ErrorCode"]}


def _group(call: Call, row: dict[str, Any]) -> bytes:
    """One group of a batch: all commits are written straight to bytes, because there may be very many."""
    name = row["GroupId"]
    if row["Topics"] is not None or call.refusal(name):
        whole = OFFSET_FETCH.response.encode(call.version, {"Groups": [_committed(call, name, row["Topics"])]})
        return whole[_HEAD:-1]
    group = call.world.find(name)
    topics: list[bytes] = []
    for read, pairs in group.commits(call.world.time()) if group is not None else ():
        if call.faults.topic_forbidden(read.topic.name):
            continue
        epoch = _epoch(group, read)
        tail = text(read.metadata) + b"\0\0\0"
        packed = [_PARTITION.pack(partition, offset, epoch) for partition, offset in pairs]
        topics.append(text(read.topic.name) + length(len(packed)) + tail.join(packed) + tail + b"\0")
    return b"".join((text(name), length(len(topics)), *topics, b"\0\0\0"))


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
    for read, pairs in group.commits(call.world.time()):
        epoch = _epoch(group, read)
        yield read.topic.name, [_partition(partition, offset, epoch, read.metadata) for partition, offset in pairs]


def _epoch(group: Group | None, read: Reads) -> int:
    """The leader epoch that was committed; simple groups commit none."""
    return -1 if group is None or group.protocol == "" else read.topic.salt % 9


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
