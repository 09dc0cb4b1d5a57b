"""Committed offsets and share offsets of groups, in batches (KIP-709, KIP-932, KIP-1226)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from kgtui.admin.faults import not_supported
from kgtui.admin.routing import EXCHANGE_ERRORS, Batch
from kgtui.errors import DeadlineError, UnsupportedError
from kgtui.model.answer import fault_of
from kgtui.model.offsets import CommittedOffset, ShareOffset
from kgtui.protocol.fast_offsets import decode_offset_fetch
from kgtui.protocol.messages.offsets import DESCRIBE_SHARE_GROUP_OFFSETS, OFFSET_FETCH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgtui.admin.deadline import Deadline
    from kgtui.client.pool import Lane, Pool, Reply
    from kgtui.protocol.fast_offsets import OffsetFetchGroup, OffsetFetchResponse

GROUPS = 200  # groups per request
PARTITIONS = 20_000  # partitions that one answer should hold
BATCHED_FROM = 8  # OffsetFetch version that takes several groups (KIP-709, Kafka 3.0)
ALL_TOPICS_FROM = 2  # OffsetFetch version that can ask for all topics
PIPELINE = 4  # requests under way at once where each takes one group
UNSUPPORTED_VERSION = 35


class OffsetReader:
    """Reads the offsets of one batch of groups from one broker.

    Args:
        pool: connections.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._fit: dict[int, int] = {}  # node → groups per request, by what its last answer held

    async def committed(
        self, node: int, groups: Sequence[str], deadline: Deadline, lane: Lane
    ) -> Batch[tuple[CommittedOffset, ...]]:
        """All committed offsets of `groups`, all coordinated by `node`."""
        batch: Batch[tuple[CommittedOffset, ...]] = Batch()
        version = await self._pool.version(node, OFFSET_FETCH, timeout=deadline.left(), lane=lane)
        if version < ALL_TOPICS_FROM:
            for group in groups:
                batch.faults[group] = not_supported("reading the offsets of all topics", broker=node, group=group)
            return batch
        if version < BATCHED_FROM:
            await self._one_by_one(node, groups, version, batch, deadline, lane)
            return batch
        start = 0
        try:
            while start < len(groups):
                size = self._fit.get(node, GROUPS)
                some, start = groups[start : start + size], start + size
                await self._many(node, some, version, batch, deadline, lane, last=start >= len(groups))
        except EXCHANGE_ERRORS as error:
            batch.error = error  # what came before it is kept
        return batch

    async def _many(
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
        """One request for several groups; halved when its answer does not come within half of the time left.

        Args:
            last: no other group waits for the rest of the time.
        """
        request = {"Groups": [{"GroupId": group, "Topics": None} for group in groups], "RequireStable": False}
        patience = deadline.left() if last and len(groups) == 1 else deadline.left() / 2
        try:
            reply: Reply[OffsetFetchResponse] = await self._pool.call(
                node, OFFSET_FETCH, request, timeout=patience, lane=lane, version=version, decode=decode_offset_fetch
            )
        except DeadlineError as error:
            if deadline.over:
                raise
            if len(groups) == 1:
                batch.faults[groups[0]] = fault_of(error, broker=node, group=groups[0])
                return
            half = len(groups) // 2
            await self._many(node, groups[:half], version, batch, deadline, lane, last=False)
            await self._many(node, groups[half:], version, batch, deadline, lane, last=last)
            return
        for row in reply.value["Groups"]:
            _settle_committed(batch, row["GroupId"], row)
        self._learn_fit(node, reply.value["Groups"])

    def _learn_fit(self, node: int, rows: Sequence[OffsetFetchGroup]) -> None:
        held = sum(len(topic["Partitions"]) for row in rows for topic in row["Topics"])
        average = max(held / max(len(rows), 1), 1)
        self._fit[node] = int(min(max(PARTITIONS / average, 1), GROUPS))

    async def _one_by_one(
        self,
        node: int,
        groups: Sequence[str],
        version: int,
        batch: Batch[tuple[CommittedOffset, ...]],
        deadline: Deadline,
        lane: Lane,
    ) -> None:
        """One group a request, a few under way at once (brokers before 3.0)."""
        gate = asyncio.Semaphore(PIPELINE)

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
            _settle_committed(batch, group, reply.value["Groups"][0])

        await asyncio.gather(*(one(group) for group in groups))

    async def share(
        self, node: int, groups: Sequence[str], deadline: Deadline, lane: Lane
    ) -> Batch[tuple[ShareOffset, ...]]:
        """Share-partition start offsets of `groups`, all coordinated by `node`."""
        batch: Batch[tuple[ShareOffset, ...]] = Batch()
        request = {"Groups": [{"GroupId": group, "Topics": None} for group in groups]}
        try:
            reply: Reply[dict[str, Any]] = await self._pool.call(
                node, DESCRIBE_SHARE_GROUP_OFFSETS, request, timeout=deadline.left(), lane=lane
            )
        except UnsupportedError:
            for group in groups:
                batch.faults[group] = not_supported("DescribeShareGroupOffsets", broker=node, group=group)
            return batch
        for row in reply.value["Groups"]:
            group, code = row["GroupId"], row["ErrorCode"]
            if code == UNSUPPORTED_VERSION:
                batch.faults[group] = not_supported("DescribeShareGroupOffsets", broker=node, group=group)
            elif code:
                batch.codes[group] = (code, row["ErrorMessage"])
            else:
                batch.rows[group] = _share_rows(row)
        return batch


def _settle_committed(batch: Batch[tuple[CommittedOffset, ...]], group: str | None, row: OffsetFetchGroup) -> None:
    if group is None:
        return
    if row["ErrorCode"]:
        batch.codes[group] = (row["ErrorCode"], None)
        return
    commits = [
        CommittedOffset(
            topic["Name"], part, offset if offset >= 0 else None, epoch if epoch >= 0 else None, metadata or "", error
        )
        for topic in row["Topics"]
        for part, offset, epoch, metadata, error in topic["Partitions"]
    ]
    commits.sort(key=lambda commit: (commit.topic, commit.partition))
    batch.rows[group] = tuple(commits)


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
