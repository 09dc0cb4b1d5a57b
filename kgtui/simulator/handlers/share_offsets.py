"""DescribeShareGroupOffsets: where the partitions of share groups begin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID

from kgtui.protocol.error_codes import lookup
from kgtui.simulator.groups.share import ShareGroup
from kgtui.simulator.handlers.call import TOPIC_AUTHORIZATION_FAILED, UNSUPPORTED_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kgtui.simulator.handlers.call import Call

NO_ID = UUID(int=0)
NEVER = (-1, -1)
"""Start offset and lag of a partition that was never initialised."""

Starts = dict[int, tuple[int, int]]


def share_offsets(call: Call) -> dict[str, Any]:
    """Start offsets of all partitions that have one, or of those that are asked for.

    A group of another type, or none, is no error: nothing of it was ever initialised.
    """
    groups = [_group(call, row["GroupId"], row["Topics"]) for row in call.fields["Groups"]]
    return {"ThrottleTimeMs": call.throttle_ms, "Groups": groups}


def _group(call: Call, name: str, asked: list[dict[str, Any]] | None) -> dict[str, Any]:
    error = call.refusal(name) if call.enabled("share.version") else UNSUPPORTED_VERSION
    if error:
        return {"GroupId": name, "Topics": [], "ErrorCode": error}
    group = call.world.find(name)
    starts: dict[str, Starts] = {}
    if isinstance(group, ShareGroup):
        for read, rows in group.start_offsets(call.world.time()):
            starts[read.topic.name] = {partition: (start, lag) for partition, start, lag in rows}
    if asked is None:
        topics = [
            _topic(call, topic, rows, rows) for topic, rows in starts.items() if not call.faults.topic_forbidden(topic)
        ]
    else:
        topics = [_topic(call, row["TopicName"], row["Partitions"], starts.get(row["TopicName"], {})) for row in asked]
    return {"GroupId": name, "Topics": topics, "ErrorCode": 0}


def _topic(call: Call, name: str, partitions: Iterable[int], starts: Starts) -> dict[str, Any]:
    topic = call.world.topics.get(name)
    forbidden = call.faults.topic_forbidden(name)
    rows = []
    for partition in partitions:
        start, lag = NEVER if forbidden else starts.get(partition, NEVER)
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
