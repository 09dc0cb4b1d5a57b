"""Read the committed offsets and share-partition start offsets of groups, and the log bounds of partitions.

Offsets are read from the coordinators (KIP-709, KIP-932, KIP-1226). Log bounds (log start and log end offsets) are read
from the partition leaders (ListOffsets).
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from kgtui.admin.record_times import EARLIEST, LATEST, FoundOffset, list_offsets
from kgtui.admin.routing import EXCHANGE_ERRORS, FIRST_PAUSE, Batch, not_supported
from kgtui.client.pool import Lane
from kgtui.errors import ConnectError, DeadlineError, DisconnectedError, UnreachableError, UnsupportedError
from kgtui.model.answer import Answer, Coverage, Fault, fault_of
from kgtui.model.error_numbers import UNKNOWN_SERVER_ERROR, UNKNOWN_TOPIC_OR_PARTITION, UNSUPPORTED_VERSION
from kgtui.model.offsets import CommittedOffset, PartitionBounds, ShareOffset, TopicPartition
from kgtui.protocol.error_codes import Reaction, lookup
from kgtui.protocol.fast_offsets import decode_offset_fetch
from kgtui.protocol.messages.offsets import DESCRIBE_SHARE_GROUP_OFFSETS, OFFSET_FETCH

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kgtui.admin.deadline import Deadline
    from kgtui.client.pool import Pool, Reply
    from kgtui.errors import KgtuiError
    from kgtui.protocol.fast_offsets import OffsetFetchGroup, OffsetFetchResponse

GROUPS_PER_REQUEST = 200
"""Maximum number of groups in one OffsetFetch request (KIP-709)."""

PARTITIONS_PER_REQUEST = 20_000
"""Maximum number of partitions in one ListOffsets request.

It is also the intended number of partitions in one OffsetFetch response: each OffsetFetch request names as many groups
as will probably have this number of partitions in total.
"""

PARTITIONS_PER_SLICE = 500
"""Number of partitions of an OffsetFetch response that are processed before the event loop can run other tasks.

Processing them takes about 2 ms.
"""

BATCHED_FROM = 8
"""First version of OffsetFetch that accepts several groups in one request (KIP-709, Kafka 3.0)."""

ALL_TOPICS_FROM = 2
"""First version of OffsetFetch that can return the offsets of all topics."""

CONCURRENT_REQUESTS = 4
"""Maximum number of concurrent OffsetFetch requests to a broker that accepts only one group per request."""

ATTEMPTS = 4
"""Maximum number of attempts to read the log bounds of a partition. If all fail, the last error is reported."""

_REPEATED = frozenset({Reaction.REFRESH_LEADER, Reaction.RETRY})
"""Reactions to error codes. If the error code of a partition has one of them, the partition is requested again."""


class OffsetReader:
    """Reads the offsets of groups from their coordinator.

    Attributes:
        batch: maximum number of groups in one call of `committed` or `share`.
    """

    batch = GROUPS_PER_REQUEST

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        # Node id → number of groups in the next OffsetFetch request to this broker. The number is computed from the
        # number of partitions in the broker's last response.
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
        if version < BATCHED_FROM:
            await self._one_by_one(node, groups, version, batch, deadline, lane)
            return batch
        start = 0
        try:
            while start < len(groups):
                size = self._batch_sizes.get(node, GROUPS_PER_REQUEST)
                ids, start = groups[start : start + size], start + size
                await self._read_batch(node, ids, version, batch, deadline, lane, last=start >= len(groups))
        except EXCHANGE_ERRORS as error:
            batch.error = error  # `batch` is returned with the offsets that arrived before the error.
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

        If the request times out, kgtui sends two requests with half of the groups each. The time limit of a request is
        half of the remaining time, so that time is left for these requests. A request for a single group has all of the
        remaining time if no request follows it (`last`).

        Args:
            version: version of OffsetFetch.
            last: whether `groups` are the last groups that the caller reads from this broker.
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
                await asyncio.sleep(0)  # Let the event loop handle key presses.
        self._adapt_batch_size(node, reply.value["Groups"])

    def _adapt_batch_size(self, node: int, rows: Sequence[OffsetFetchGroup]) -> None:
        held = sum(len(topic["Partitions"]) for row in rows for topic in row["Topics"])
        average = max(held / max(len(rows), 1), 1)
        self._batch_sizes[node] = int(min(max(PARTITIONS_PER_REQUEST / average, 1), GROUPS_PER_REQUEST))

    async def _one_by_one(
        self,
        node: int,
        groups: Sequence[str],
        version: int,
        batch: Batch[tuple[CommittedOffset, ...]],
        deadline: Deadline,
        lane: Lane,
    ) -> None:
        """Read the offsets of groups with one request per group, and add them to `batch`.

        This is needed for brokers before Kafka 3.0. Up to `CONCURRENT_REQUESTS` requests are sent at the same time.
        """
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


_Offsets = dict[TopicPartition, FoundOffset]
_MISSING = FoundOffset(UNKNOWN_SERVER_ERROR, -1, -1)  # used for partitions that a response does not contain


class BoundsReader:
    """Reads the log bounds (log start and log end offset) of any number of partitions."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def read(
        self, partitions: Iterable[TopicPartition], deadline: Deadline, lane: Lane = Lane.BULK, *, starts: bool = True
    ) -> Answer[dict[TopicPartition, PartitionBounds]]:
        """Return partition → log bounds, read from the leaders of the partitions.

        If a leader did not answer, its partitions are missing, and a fault names the broker.

        Args:
            starts: whether log start offsets are read too. This needs twice as many requests.
        """
        timestamps = (EARLIEST, LATEST) if starts else (LATEST,)
        todo = list(dict.fromkeys(partitions))
        bounds: dict[TopicPartition, PartitionBounds] = {}
        faults: dict[tuple[int | None, str], Fault] = {}
        for attempt in range(ATTEMPTS):
            last = attempt == ATTEMPTS - 1 or deadline.over
            todo = await self._round(todo, timestamps, bounds, faults, deadline, lane, refresh=attempt > 0, last=last)
            if not todo or last:
                break
            await asyncio.sleep(min(FIRST_PAUSE * 2**attempt, deadline.left()))
        return Answer(bounds, tuple(faults.values()), Coverage())

    async def _round(
        self,
        todo: Sequence[TopicPartition],
        timestamps: Sequence[int],
        bounds: dict[TopicPartition, PartitionBounds],
        faults: dict[tuple[int | None, str], Fault],
        deadline: Deadline,
        lane: Lane,
        *,
        refresh: bool,
        last: bool,
    ) -> list[TopicPartition]:
        """Request the log bounds of all partitions in `todo` once, and add them to `bounds`.

        Args:
            timestamps: `EARLIEST` for the log start, `LATEST` for the log end.
            faults: faults are added here. The key is the leader's node id (None if no broker could be reached) and the
                name of the fault.
            refresh: whether the leaders are looked up again; otherwise, they are taken from the cache if possible.
            last: whether there will be no further attempt.

        Returns:
            The partitions to request again. In the last attempt, there are none, because error codes are then stored in
            `bounds`, and exceptions in `faults`.
        """
        try:
            topics = {topic for topic, _ in todo}
            leaders = await self._pool.find_leaders(topics, timeout=deadline.left(), refresh=refresh)
        except UnreachableError as error:
            if not bounds:
                raise
            faults[None, error.fault_name] = fault_of(error)
            return []
        by_node: dict[int, list[TopicPartition]] = defaultdict(list)
        again: list[TopicPartition] = []
        for tp in todo:
            node = leaders.nodes.get(tp)
            if node is not None:
                by_node[node].append(tp)
                continue
            code = leaders.errors.get(tp, leaders.errors.get(tp[0], UNKNOWN_TOPIC_OR_PARTITION))
            if code != UNKNOWN_TOPIC_OR_PARTITION and lookup(code).reaction in _REPEATED and not last:
                again.append(tp)
            else:
                bounds[tp] = PartitionBounds(None, None, code)
        chunks = [
            (node, rows[start : start + PARTITIONS_PER_REQUEST])
            for node, rows in by_node.items()
            for start in range(0, len(rows), PARTITIONS_PER_REQUEST)
        ]
        results = await asyncio.gather(*(self._ask(node, rows, timestamps, deadline, lane) for node, rows in chunks))
        for (node, rows), result in zip(chunks, results, strict=True):
            if isinstance(result, dict):
                self._pool.leader_answered(node)
                again += _merge(rows, result, bounds, last=last)
            elif self._leader_may_have_changed(node, result) and not last:
                again += rows
            else:
                fault = fault_of(result, broker=node)
                faults[node, fault.name] = fault
        return again

    def _leader_may_have_changed(self, node: int, error: KgtuiError) -> bool:
        """Remove a leader that did not answer from the cache. Return whether its partitions should be requested again.

        After a timeout, the result is False, because no time is left. It is also False if the same leader was removed
        only shortly before.
        """
        if not isinstance(error, (ConnectError, DisconnectedError, DeadlineError)):
            return False
        forgotten = self._pool.leader_failed(node)
        return forgotten and not isinstance(error, DeadlineError)

    async def _ask(
        self, node: int, rows: Sequence[TopicPartition], timestamps: Sequence[int], deadline: Deadline, lane: Lane
    ) -> dict[int, _Offsets] | KgtuiError:
        """Ask a leader for the offsets of `rows` at each timestamp. Return timestamp → offsets, or the error.

        Each timestamp needs a separate request, because a partition must not occur twice in one request.
        """
        asked = (
            list_offsets(self._pool, node, dict.fromkeys(rows, timestamp), timeout=deadline.left(), lane=lane)
            for timestamp in timestamps
        )
        try:
            return dict(zip(timestamps, await asyncio.gather(*asked), strict=True))
        except EXCHANGE_ERRORS as error:
            return error


def _merge(
    rows: Sequence[TopicPartition],
    result: Mapping[int, _Offsets],
    bounds: dict[TopicPartition, PartitionBounds],
    *,
    last: bool,
) -> list[TopicPartition]:
    """Add the log bounds in the responses of one leader to `bounds`.

    Returns:
        The partitions with a retriable error, which must be requested again. With `last`, the list is empty, because
        these errors are added to `bounds` too.
    """
    starts, ends = result.get(EARLIEST), result[LATEST]
    again = []
    for tp in rows:
        end_code, _, end = ends.get(tp, _MISSING)
        start_code, _, start = starts.get(tp, _MISSING) if starts is not None else FoundOffset(0, -1, -1)
        code = end_code or start_code
        if code and not last and lookup(code).reaction in _REPEATED:
            again.append(tp)
        else:
            bounds[tp] = PartitionBounds(
                start if not start_code and start >= 0 else None, end if not end_code and end >= 0 else None, code
            )
    return again
