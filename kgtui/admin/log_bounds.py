"""Read the log bounds (log start and log end offset) of partitions from the partition leaders (ListOffsets)."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING

from kgtui.admin.record_times import EARLIEST, LATEST, FoundOffset, list_offsets
from kgtui.admin.routing import EXCHANGE_ERRORS, FIRST_PAUSE
from kgtui.client.pool import Lane
from kgtui.errors import ConnectError, DeadlineError, DisconnectedError, UnreachableError
from kgtui.model.answer import Answer, Coverage, Fault, fault_of
from kgtui.model.error_numbers import UNKNOWN_SERVER_ERROR, UNKNOWN_TOPIC_OR_PARTITION
from kgtui.model.offsets import PartitionBounds, TopicPartition
from kgtui.protocol.error_codes import lookup

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kgtui.admin.deadline import Deadline
    from kgtui.client.pool import Pool
    from kgtui.errors import KgtuiError

PARTITIONS_PER_REQUEST = 20_000
"""Maximum number of partitions in one ListOffsets request."""

ATTEMPTS = 4
"""Maximum number of attempts to read the log bounds of a partition. If all fail, the last error is reported."""

_Offsets = dict[TopicPartition, FoundOffset]
_MISSING = FoundOffset(UNKNOWN_SERVER_ERROR, -1, -1)
"""Stands for the result of a partition that is missing in the broker's ListOffsets response."""


class BoundsReader:
    """Reads the log bounds (log start and log end offset) of any number of partitions."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def read(
        self, partitions: Iterable[TopicPartition], deadline: Deadline, lane: Lane = Lane.BULK, *, starts: bool = True
    ) -> Answer[dict[TopicPartition, PartitionBounds]]:
        """Return a dict: partition → log bounds, read from the partition leaders.

        If a leader does not answer, the dict lacks the leader's partitions, and the `Answer` contains a `Fault` (error)
        that names the broker.

        Args:
            starts: whether log start offsets are read too, which doubles the number of requests.
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
            faults: `(node id of the leader, name of the error)` → fault. New faults are added to this dict. The node id
                is None if no broker was reachable.
            refresh: whether to look up the leaders of all partitions again.
            last: whether this is the last attempt.

        Returns:
            The partitions to request again; empty in the last attempt.
        """
        try:
            topics = {topic for topic, _ in todo}
            leaders = await self._pool.find_leaders(topics, needed=todo, timeout=deadline.left(), refresh=refresh)
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
            if code != UNKNOWN_TOPIC_OR_PARTITION and lookup(code).is_retriable_at_leader and not last:
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
        """Handle a failed request to a leader, and return whether to look up the new leaders of its partitions.

        If the connection could not be opened or was lost, or if the leader did not answer in time, its topics are
        removed from the cache of leaders. Nothing is removed if the same leader failed a moment ago. The result is True
        if the topics were removed, except after a timeout.
        """
        if not isinstance(error, (ConnectError, DisconnectedError, DeadlineError)):
            return False
        forgotten = self._pool.leader_failed(node)
        return forgotten and not isinstance(error, DeadlineError)

    async def _ask(
        self, node: int, rows: Sequence[TopicPartition], timestamps: Sequence[int], deadline: Deadline, lane: Lane
    ) -> dict[int, _Offsets] | KgtuiError:
        """Ask a leader for the log start and log end offsets of its partitions.

        Return a dict: timestamp (`EARLIEST` or `LATEST`) → offsets, or the error if a request failed. Each timestamp
        needs a separate request, because a request can contain a partition only once.
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
    """Add the log bounds from one leader to `bounds`. Return the partitions to request again.

    Args:
        last: whether this is the last attempt. If so, no partition is requested again, and errors are final.
    """
    starts, ends = result.get(EARLIEST), result[LATEST]
    again = []
    for tp in rows:
        end_code, _, end = ends.get(tp, _MISSING)
        start_code, _, start = starts.get(tp, _MISSING) if starts is not None else FoundOffset(0, -1, -1)
        code = end_code or start_code
        if code and not last and lookup(code).is_retriable_at_leader:
            again.append(tp)
        else:
            bounds[tp] = PartitionBounds(
                start if not start_code and start >= 0 else None, end if not end_code and end >= 0 else None, code
            )
    return again
