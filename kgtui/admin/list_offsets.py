"""Send one ListOffsets request to the leader of some partitions."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from kgtui.protocol.fast_offsets import decode_list_offsets
from kgtui.protocol.messages.offsets import LIST_OFFSETS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kgtui.client.pool import Lane, Pool, Reply
    from kgtui.model.offsets import TopicPartition
    from kgtui.protocol.fast_offsets import ListOffsetsResponse

EARLIEST, LATEST, EARLIEST_LOCAL = -2, -1, -4
"""Special timestamps that stand for the log start, the log end, and the first record on the disk of the leader."""


class FoundOffset(NamedTuple):
    """The result for one partition.

    Attributes:
        code: Kafka's error code; 0 if there was no error.
        timestamp: timestamp of the record in milliseconds; -1 for a special timestamp, and if there is no record.
        offset: -1 if there is no record at or after the requested timestamp.
    """

    code: int
    timestamp: int
    offset: int


async def list_offsets(
    pool: Pool, node: int, timestamps: Mapping[TopicPartition, int], *, timeout: float, lane: Lane
) -> dict[TopicPartition, FoundOffset]:
    """Ask the leader `node` for the offset of each partition at the partition's timestamp.

    Records of open transactions are included (isolation level read_uncommitted).

    Raises:
        ClientError, ProtocolError: the broker did not answer, or its response is damaged.
    """
    topics: dict[str, list[dict[str, int]]] = defaultdict(list)
    for (topic, part), timestamp in timestamps.items():
        topics[topic].append({"PartitionIndex": part, "Timestamp": timestamp})
    request = {
        "ReplicaId": -1,
        "IsolationLevel": 0,
        "Topics": [{"Name": name, "Partitions": parts} for name, parts in topics.items()],
        "TimeoutMs": int(timeout * 1000),  # This limit applies to the search in remote storage.
    }
    reply: Reply[ListOffsetsResponse] = await pool.call(
        node, LIST_OFFSETS, request, timeout=timeout, lane=lane, decode=decode_list_offsets
    )
    return {
        (found["Name"], part): FoundOffset(code, timestamp, offset)
        for found in reply.value["Topics"]
        for part, code, timestamp, offset, _epoch in found["Partitions"]
    }
