"""Read committed offsets and share-partition start offsets from group coordinators (KIP-709, KIP-932, KIP-1226)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from kgtui.admin.routing import EXCHANGE_ERRORS, Batch, not_supported
from kgtui.errors import DeadlineError, UnsupportedError
from kgtui.model.answer import fault_of
from kgtui.model.error_numbers import UNSUPPORTED_VERSION
from kgtui.model.offsets import CommittedOffset, ShareOffset
from kgtui.protocol.fast_offsets import decode_offset_fetch
from kgtui.protocol.messages.offsets import DESCRIBE_SHARE_GROUP_OFFSETS, OFFSET_FETCH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgtui.admin.deadline import Deadline
    from kgtui.client.pool import Lane, Pool, Reply
    from kgtui.protocol.fast_offsets import OffsetFetchGroup, OffsetFetchResponse

GROUPS_PER_REQUEST = 200
"""Maximum number of groups in one OffsetFetch request (KIP-709)."""

PARTITIONS_PER_RESPONSE = 20_000
"""Intended number of partitions in one OffsetFetch response.

kgtui chooses the number of groups per request so that the response has about this many partitions.
"""

PARTITIONS_PER_SLICE = 500
"""Number of partitions in an OffsetFetch response that are processed before the event loop can run other tasks.

Processing them takes about 2 ms.
"""

FIRST_BATCHED_FETCH = 8
"""First version of OffsetFetch that accepts several groups in one request (KIP-709, Kafka 3.0)."""

ALL_TOPICS_FROM = 2
"""First version of OffsetFetch that can return the offsets of all topics."""

CONCURRENT_REQUESTS = 4
"""Maximum number of concurrent OffsetFetch requests to a broker that accepts only one group per request."""


class OffsetReader:
    """Reads the offsets of groups from their coordinator.

    Attributes:
        batch: maximum number of groups in one call of `committed` or `share`.
    """

    batch = GROUPS_PER_REQUEST

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        # Node id → number of groups in the next OffsetFetch request to this broker. The more partitions the broker's
        # last response had per group, the fewer groups are requested.
        self._batch_sizes: dict[int, int] = {}

    async def committed(
        self, node: int, groups: Sequence[str], deadline: Deadline, lane: Lane
    ) -> Batch[tuple[CommittedOffset, ...]]:
        """Read all committed offsets of groups that the broker `node` coordinates, sorted by topic and partition."""
        batch: Batch[tuple[CommittedOffset, ...]] = Batch()
        version = await self._pool.version(node, OFFSET_FETCH, timeout=deadline.left(), lane=lane)
        if version < ALL_TOPICS_FROM:
            for group in groups:
                batch.faults[group] = not_supported(
                    "reading the offsets of all topics is not supported by this broker", broker=node, group=group
                )
            return batch
        if version < FIRST_BATCHED_FETCH:
            await self._one_by_one(node, groups, version, batch, deadline, lane)
            return batch
        start = 0
        try:
            while start < len(groups):
                size = self._batch_sizes.get(node, GROUPS_PER_REQUEST)
                ids, start = groups[start : start + size], start + size
                await self._read_batch(node, ids, version, batch, deadline, lane, last=start >= len(groups))
        except EXCHANGE_ERRORS as error:
            batch.error = error  # Do not raise the error, so that offsets that arrived earlier are kept.
        return batch

    async def _read_batch(
        self,
        node: int,
        groups: Sequence[str],
        version: int,
        batch: Batch[tuple[CommittedOffset, ...]],
        deadline: Deadline,
        lane: Lane,
        *,
        last: bool,
    ) -> None:
        """Read the offsets of several groups with one request, and add them to `batch`.

        If the request times out, each half of the groups is requested separately. To leave time for these requests, the
        timeout of a request is normally half of the remaining time. But a request for only the last group gets all of
        the remaining time, because no request follows.

        Args:
            version: version of OffsetFetch.
            last: whether `groups` are the last groups that are requested.
        """
        request = {"Groups": [{"GroupId": group, "Topics": None} for group in groups], "RequireStable": False}
        timeout = deadline.left() if last and len(groups) == 1 else deadline.left() / 2
        try:
            reply: Reply[OffsetFetchResponse] = await self._pool.call(
                node, OFFSET_FETCH, request, timeout=timeout, lane=lane, version=version, decode=decode_offset_fetch
            )
        except DeadlineError as error:
            if deadline.over:
                raise
            if len(groups) == 1:
                batch.faults[groups[0]] = fault_of(error, broker=node, group=groups[0])
                return
            half = len(groups) // 2
            await self._read_batch(node, groups[:half], version, batch, deadline, lane, last=False)
            await self._read_batch(node, groups[half:], version, batch, deadline, lane, last=last)
            return
        added = 0
        for row in reply.value["Groups"]:
            _add_committed(batch, row["GroupId"], row)
            added += sum(len(topic["Partitions"]) for topic in row["Topics"])
            if added > PARTITIONS_PER_SLICE:
                added = 0
                await asyncio.sleep(0)  # Pause, so that the UI can handle key presses.
        self._adapt_batch_size(node, reply.value["Groups"])

    def _adapt_batch_size(self, node: int, rows: Sequence[OffsetFetchGroup]) -> None:
        held = sum(len(topic["Partitions"]) for row in rows for topic in row["Topics"])
        average = max(held / max(len(rows), 1), 1)
        self._batch_sizes[node] = int(min(max(PARTITIONS_PER_RESPONSE / average, 1), GROUPS_PER_REQUEST))

    async def _one_by_one(
        self,
        node: int,
        groups: Sequence[str],
        version: int,
        batch: Batch[tuple[CommittedOffset, ...]],
        deadline: Deadline,
        lane: Lane,
    ) -> None:
        """Read the offsets of groups with one request per group, for brokers before Kafka 3.0."""
        gate = asyncio.Semaphore(CONCURRENT_REQUESTS)

        async def one(group: str) -> None:
            request: dict[str, Any] = {"GroupId": group, "Topics": None}
            async with gate:
                try:
                    reply: Reply[OffsetFetchResponse] = await self._pool.call(
                        node,
                        OFFSET_FETCH,
                        request,
                        timeout=deadline.left(),
                        lane=lane,
                        version=version,
                        decode=decode_offset_fetch,
                    )
                except EXCHANGE_ERRORS as error:
                    batch.error = error
                    return
            _add_committed(batch, group, reply.value["Groups"][0])

        await asyncio.gather(*(one(group) for group in groups))

    async def share(
        self, node: int, groups: Sequence[str], deadline: Deadline, lane: Lane
    ) -> Batch[tuple[ShareOffset, ...]]:
        """Read the share-partition start offsets and lags of groups that the broker `node` coordinates."""
        batch: Batch[tuple[ShareOffset, ...]] = Batch()
        request = {"Groups": [{"GroupId": group, "Topics": None} for group in groups]}
        try:
            reply: Reply[dict[str, Any]] = await self._pool.call(
                node, DESCRIBE_SHARE_GROUP_OFFSETS, request, timeout=deadline.left(), lane=lane
            )
        except UnsupportedError:
            for group in groups:
                batch.faults[group] = not_supported(
                    "DescribeShareGroupOffsets is not supported by this broker", broker=node, group=group
                )
            return batch
        for row in reply.value["Groups"]:
            group, code = row["GroupId"], row["ErrorCode"]
            if code == UNSUPPORTED_VERSION:
                batch.faults[group] = not_supported(
                    "DescribeShareGroupOffsets is not supported by this broker", broker=node, group=group
                )
            elif code:
                batch.codes[group] = (code, row["ErrorMessage"])
            else:
                batch.rows[group] = _share_rows(row)
        return batch


def _add_committed(batch: Batch[tuple[CommittedOffset, ...]], group: str | None, row: OffsetFetchGroup) -> None:
    if group is None:
        return
    if row["ErrorCode"]:
        batch.codes[group] = (row["ErrorCode"], None)
        return
    commits = {  # if a broker repeats a partition, the last value counts
        (topic["Name"], part): CommittedOffset(
            topic["Name"], part, offset if offset >= 0 else None, epoch if epoch >= 0 else None, metadata or "", error
        )
        for topic in row["Topics"]
        for part, offset, epoch, metadata, error in topic["Partitions"]
    }
    batch.rows[group] = tuple(commits[partition] for partition in sorted(commits))


def _share_rows(row: dict[str, Any]) -> tuple[ShareOffset, ...]:
    offsets = [
        ShareOffset(
            topic["TopicName"],
            part["PartitionIndex"],
            part["StartOffset"] if part["StartOffset"] >= 0 else None,
            part["LeaderEpoch"] if part["LeaderEpoch"] >= 0 else None,
            part["Lag"] if part["Lag"] >= 0 else None,
            part["ErrorCode"],
            part["ErrorMessage"] or "",
        )
        for topic in row["Topics"]
        for part in topic["Partitions"]
    ]
    offsets.sort(key=lambda offset: (offset.topic, offset.partition))
    return tuple(offsets)
