"""ListOffsets: where the log of a partition begins, ends, or was at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgtui.simulator.handlers.call import TOPIC_AUTHORIZATION_FAILED, UNKNOWN_TOPIC_OR_PARTITION, UNSUPPORTED_VERSION

if TYPE_CHECKING:
    from kgtui.simulator.handlers.call import Call
    from kgtui.simulator.topics import Topic

NOT_LEADER_OR_FOLLOWER = 6
FIRST_WITH_EPOCH = 4
FIRST_WITH_MAX_TIMESTAMP = 7
LATEST, EARLIEST, MAX_TIMESTAMP = -1, -2, -3
NOTHING = (-1, -1)
"""Offset and timestamp when there is no record that late."""


def list_offsets(call: Call) -> dict[str, Any]:
    """One row for each partition that was asked for; only its leader tells."""
    t = call.world.time()
    # Brokers put what they do not know first.
    asked = sorted(call.fields["Topics"], key=lambda row: row["Name"] in call.world.topics)
    topics = [{"Name": row["Name"], "Partitions": _topic(call, row, t)} for row in asked]
    return {"ThrottleTimeMs": call.throttle_ms, "Topics": topics}


def _topic(call: Call, asked: dict[str, Any], t: float) -> list[dict[str, Any]]:
    topic = call.world.topics.get(asked["Name"])
    error = call.error
    if not error and call.faults.topic_forbidden(asked["Name"]):
        error = TOPIC_AUTHORIZATION_FAILED
    if not error and topic is None:
        error = UNKNOWN_TOPIC_OR_PARTITION
    if error or topic is None:
        return [{"PartitionIndex": row["PartitionIndex"], "ErrorCode": error} for row in asked["Partitions"]]
    log = Log(topic, t, topic.log_starts(t), topic.log_ends(t))
    return [_partition(call, log, row["PartitionIndex"], row["Timestamp"]) for row in asked["Partitions"]]


@dataclass(frozen=True, slots=True)
class Log:
    """A topic at one time."""

    topic: Topic
    t: float
    starts: list[int]
    ends: list[int]


def _partition(call: Call, log: Log, index: int, wanted: int) -> dict[str, Any]:
    if not 0 <= index < log.topic.partitions:
        return {"PartitionIndex": index, "ErrorCode": UNKNOWN_TOPIC_OR_PARTITION}
    held = call.world.leadership(log.topic, index)
    if held.leader != call.node.id:
        return {"PartitionIndex": index, "ErrorCode": NOT_LEADER_OR_FOLLOWER}
    if wanted < (MAX_TIMESTAMP if call.version >= FIRST_WITH_MAX_TIMESTAMP else EARLIEST):
        return {"PartitionIndex": index, "ErrorCode": UNSUPPORTED_VERSION}
    if wanted == LATEST:
        offset, timestamp = log.ends[index], -1
    elif wanted == EARLIEST:
        offset, timestamp = log.starts[index], -1
    else:
        offset, timestamp = _at(call, log, index, wanted)
    row = {"PartitionIndex": index, "ErrorCode": 0, "Timestamp": timestamp, "Offset": offset}
    if call.version >= FIRST_WITH_EPOCH:
        row["LeaderEpoch"] = held.epoch if offset >= 0 else -1
    return row


def _at(call: Call, log: Log, index: int, wanted: int) -> tuple[int, int]:
    """Offset and timestamp of the newest record, or of the first one at a time or later."""
    start, end = log.starts[index], log.ends[index]
    if wanted == MAX_TIMESTAMP:
        offset = end - 1
    elif wanted >= 0 and call.world.since(wanted) <= log.t:
        offset = max(start, log.topic.log_ends(call.world.since(wanted))[index])
    else:
        return NOTHING
    if not start <= offset < end:
        return NOTHING
    return offset, max(wanted, call.world.timestamp(log.topic.time_of(index, offset, log.t)))
