"""Log start and log end of partitions, batched per leader (ListOffsets, timestamps -2 and -1)."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING

from kgtui.admin.routing import EXCHANGE_ERRORS, PAUSE_FIRST
from kgtui.client.pool import Lane
from kgtui.errors import UnreachableError
from kgtui.model.answer import Answer, Coverage, Fault, fault_of
from kgtui.model.offsets import PartitionBounds, TopicPartition
from kgtui.protocol.error_codes import Reaction, lookup
from kgtui.protocol.fast_offsets import decode_list_offsets
from kgtui.protocol.messages.offsets import LIST_OFFSETS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kgtui.admin.deadline import Deadline
    from kgtui.client.pool import Pool, Reply
    from kgtui.errors import KgtuiError
    from kgtui.protocol.fast_offsets import ListOffsetsResponse

EARLIEST, LATEST = -2, -1
PARTITIONS = 20_000  # partitions per request
ROUNDS = 4  # tries before a partition that has no leader is reported so
LEADER_NOT_AVAILABLE = 5

# (topic, partition) → (error code, offset)
_Offsets = dict[TopicPartition, tuple[int, int]]


class BoundsReader:
    """Reads log bounds of any number of partitions.

    Args:
        pool: connections, with the leader cache.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def read(
        self, partitions: Iterable[TopicPartition], deadline: Deadline, lane: Lane = Lane.BULK, *, starts: bool = True
    ) -> Answer[dict[TopicPartition, PartitionBounds]]:
        """Bounds by partition; partitions of a leader that did not answer are missing and a fault names it.

        Args:
            starts: whether log starts are asked for too; they take a request of their own.
        """
        wanted = (EARLIEST, LATEST) if starts else (LATEST,)
        todo = list(dict.fromkeys(partitions))
        bounds: dict[TopicPartition, PartitionBounds] = {}
        faults: dict[tuple[int | None, str], Fault] = {}
        for attempt in range(ROUNDS):
            last = attempt == ROUNDS - 1 or deadline.over
            todo = await self._round(todo, wanted, bounds, faults, deadline, lane, refresh=attempt > 0, last=last)
            if not todo or last:
                break
            await asyncio.sleep(min(PAUSE_FIRST * 2**attempt, deadline.left()))
        return Answer(bounds, tuple(faults.values()), Coverage())

    async def _round(
        self,
        todo: Sequence[TopicPartition],
        wanted: Sequence[int],
        bounds: dict[TopicPartition, PartitionBounds],
        faults: dict[tuple[int | None, str], Fault],
        deadline: Deadline,
        lane: Lane,
        *,
        refresh: bool,
        last: bool,
    ) -> list[TopicPartition]:
        """Ask once; returns the partitions whose leader must be looked up again."""
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
            code = leaders.errors.get(tp, leaders.errors.get(tp[0], 3))
            if code != 3 and lookup(code).reaction in (Reaction.REFRESH_LEADER, Reaction.RETRY) and not last:
                again.append(tp)
            else:
                bounds[tp] = PartitionBounds(None, None, code)
        chunks = [
            (node, rows[start : start + PARTITIONS])
            for node, rows in by_node.items()
            for start in range(0, len(rows), PARTITIONS)
        ]
        results = await asyncio.gather(*(self._ask(node, rows, wanted, deadline, lane) for node, rows in chunks))
        for (node, rows), result in zip(chunks, results, strict=True):
            if isinstance(result, dict):
                again += _merge(rows, result, bounds, last=last)
            else:
                fault = fault_of(result, broker=node)
                faults[node, fault.name] = fault
        return again

    async def _ask(
        self, node: int, rows: Sequence[TopicPartition], wanted: Sequence[int], deadline: Deadline, lane: Lane
    ) -> dict[int, _Offsets] | KgtuiError:
        """Offsets by timestamp; a request may name a partition only once, so each timestamp has its own."""
        asked = (self._one(node, rows, timestamp, deadline, lane) for timestamp in wanted)
        try:
            return dict(zip(wanted, await asyncio.gather(*asked), strict=True))
        except EXCHANGE_ERRORS as error:
            return error

    async def _one(
        self, node: int, rows: Sequence[TopicPartition], timestamp: int, deadline: Deadline, lane: Lane
    ) -> _Offsets:
        topics: dict[str, list[dict[str, int]]] = defaultdict(list)
        for topic, part in rows:
            topics[topic].append({"PartitionIndex": part, "Timestamp": timestamp})
        request = {
            "ReplicaId": -1,
            "IsolationLevel": 0,
            "Topics": [{"Name": name, "Partitions": parts} for name, parts in topics.items()],
        }
        reply: Reply[ListOffsetsResponse] = await self._pool.call(
            node, LIST_OFFSETS, request, timeout=deadline.left(), lane=lane, decode=decode_list_offsets
        )
        offsets: _Offsets = {}
        for found in reply.value["Topics"]:
            for part, code, _timestamp, offset, _epoch in found["Partitions"]:
                offsets[found["Name"], part] = (code, offset)
        return offsets


def _merge(
    rows: Sequence[TopicPartition],
    result: Mapping[int, _Offsets],
    bounds: dict[TopicPartition, PartitionBounds],
    *,
    last: bool,
) -> list[TopicPartition]:
    """Write what is final into `bounds`; returns the partitions to ask another leader for."""
    starts, ends = result.get(EARLIEST), result[LATEST]
    again = []
    for tp in rows:
        end_code, end = ends.get(tp, (-1, -1))
        start_code, start = starts.get(tp, (-1, -1)) if starts is not None else (0, -1)
        code = end_code or start_code
        if code and not last and lookup(code).reaction in (Reaction.REFRESH_LEADER, Reaction.RETRY):
            again.append(tp)
        else:
            bounds[tp] = PartitionBounds(
                start if not start_code and start >= 0 else None, end if not end_code and end >= 0 else None, code
            )
    return again
