"""Find out when the first unread and the last consumed record of each partition were written.

The times come from ListOffsets by timestamp.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from kgtui.admin.record_search import RecordSearch
from kgtui.admin.routing import EXCHANGE_ERRORS
from kgtui.errors import ConnectError, DisconnectedError
from kgtui.model.answer import Answer, Fault, fault_of
from kgtui.model.error_numbers import FORBIDDEN, UNKNOWN_TOPIC_OR_PARTITION, UNSUPPORTED_FOR_MESSAGE_FORMAT
from kgtui.model.record_times import (
    COMPACTED,
    FORBIDDEN_TOPIC,
    NO_ANSWER,
    OLD_FORMAT,
    PRECISION,
    TIERED,
    LogPosition,
    RecordTime,
)
from kgtui.model.slices import Slices
from kgtui.protocol.error_codes import lookup
from kgtui.protocol.fast_offsets import decode_list_offsets
from kgtui.protocol.messages.offsets import LIST_OFFSETS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kgtui.admin.deadline import Deadline
    from kgtui.client.pool import Lane, Pool, Reply
    from kgtui.model.cluster import TopicRules
    from kgtui.model.offsets import TopicPartition
    from kgtui.protocol.fast_offsets import ListOffsetsResponse

EARLIEST, LATEST, EARLIEST_LOCAL = -2, -1, -4
"""Special timestamps in ListOffsets requests: for the log start, the log end, and the oldest record on the local disk.

In a topic with tiered storage, records before the oldest record on the local disk are only in remote storage.
"""


class FoundOffset(NamedTuple):
    """The row of one partition in a ListOffsets response.

    Attributes:
        code: Kafka's error code, or 0.
        timestamp: timestamp of the found record, in milliseconds; -1 if the request was for a special timestamp such
            as `EARLIEST`.
        offset: offset of the found record; -1 if there is none.
    """

    code: int
    timestamp: int
    offset: int


async def list_offsets(
    pool: Pool, node: int, timestamps: Mapping[TopicPartition, int], *, timeout: float, lane: Lane
) -> dict[TopicPartition, FoundOffset]:
    """Ask the leader `node` for the first record at or after a timestamp in each partition.

    Records of open transactions are included (isolation level read_uncommitted).

    Args:
        timestamps: partition → timestamp in milliseconds, or a special one such as `EARLIEST`.
        timeout: time limit, in seconds.

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
        "TimeoutMs": int(timeout * 1000),  # time limit for the broker's search in remote (tiered) storage
    }
    reply: Reply[ListOffsetsResponse] = await pool.call(
        node, LIST_OFFSETS, request, timeout=timeout, lane=lane, decode=decode_list_offsets
    )
    return {
        (found["Name"], part): FoundOffset(code, timestamp, offset)
        for found in reply.value["Topics"]
        for part, code, timestamp, offset, _epoch in found["Partitions"]
    }


_TIERED_FROM, _FAST_TIERED_FROM = 8, 10
"""Versions of ListOffsets: 8 (Kafka 3.4) is the first with tiered storage, and 10 is the first of Kafka 4.0.

Before Kafka 4.0, a search in a tiered topic blocks a request handler thread of the broker, which delays all clients.
Therefore, kgtui does not search tiered topics on such brokers.
"""

_SLICE_SECONDS = 0.003
"""Longest time for which searches compute without a pause, in seconds. In a pause, the event loop runs other tasks."""

_LEADER_LOOKUPS = 4
"""Maximum number of leader lookups in one call of `RecordTimeReader.read`.

After the last lookup, any error code for a partition ends the search in this partition.
"""


class RecordTimeReader:
    """Finds out when the first unread and the last consumed records of partitions were written.

    The search has several rounds. In each round, every partition leader gets one ListOffsets request for all partitions
    that it leads.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def read(
        self,
        positions: Mapping[TopicPartition, LogPosition],
        rules: Mapping[str, TopicRules],
        deadline: Deadline,
        lane: Lane,
        *,
        precision: float = PRECISION,
    ) -> Answer[dict[TopicPartition, RecordTime]]:
        """Return when the first unread and the last consumed record of each partition were written.

        If a search is not finished in time, its result is the narrowest time range found so far. If a leader does
        not answer, the `Answer` contains a `Fault` (error) that names the leader.

        Args:
            positions: partition → committed offset, log start and log end. The committed offset must be below the log
                end offset.
            rules: topic → configs that decide when records are deleted. Compacted topics are not searched.
            precision: accepted uncertainty of a time, as a fraction of the record's age.
        """
        now = int(time.time() * 1000)
        call = _Call(self._pool, rules, deadline, lane)
        for tp, position in positions.items():
            call.searches[tp] = search = RecordSearch(position, now, precision=precision)
            topic_rules = rules.get(tp[0])
            if topic_rules is not None and topic_rules.compacted:
                search.fail(COMPACTED)
        await call.run()
        return Answer({tp: search.result() for tp, search in call.searches.items()}, tuple(call.faults.values()))


class _Call:
    """The state of one call of `RecordTimeReader.read`.

    Attributes:
        searches: partition → search in this partition, which may have ended.
        faults: node id of a leader → why the leader did not answer.
    """

    def __init__(self, pool: Pool, rules: Mapping[str, TopicRules], deadline: Deadline, lane: Lane) -> None:
        self._pool = pool
        self._rules = rules
        self._deadline = deadline
        self._lane = lane
        self._leaders: dict[TopicPartition, int] = {}
        self._lookups = 0
        self._checked: set[TopicPartition] = set()
        self.searches: dict[TopicPartition, RecordSearch] = {}
        self.faults: dict[int, Fault] = {}

    async def run(self) -> None:
        """Send rounds of requests until every search has ended or no time is left."""
        searching = dict(self.searches)
        while not self._deadline.over:
            times: dict[TopicPartition, int] = {}
            slices = Slices(asyncio.sleep, _SLICE_SECONDS)
            for tp, search in list(searching.items()):
                at = search.next_time()
                if at is None:
                    del searching[tp]
                else:
                    times[tp] = at
                await slices.pause_if_due()
            if not times:
                return
            await self._find_leaders([tp for tp in times if tp not in self._leaders])
            by_node: dict[int, dict[TopicPartition, int]] = defaultdict(dict)
            for tp, at in times.items():
                if tp in self._leaders:
                    by_node[self._leaders[tp]][tp] = at
            await asyncio.gather(*(self._ask(node, rows) for node, rows in by_node.items()))
        for search in self.searches.values():
            if search.rounds == 0 and search.next_time() is not None:
                search.fail(NO_ANSWER)

    async def _find_leaders(self, partitions: list[TopicPartition]) -> None:
        if not partitions:
            return
        topics = {topic for topic, _ in partitions}
        self._lookups += 1
        leaders = await self._pool.find_leaders(
            topics, needed=partitions, timeout=self._deadline.left(), refresh=self._lookups > 1
        )
        for tp in partitions:
            node = leaders.nodes.get(tp)
            if node is not None:
                self._leaders[tp] = node
                continue
            code = leaders.errors.get(tp, leaders.errors.get(tp[0], UNKNOWN_TOPIC_OR_PARTITION))
            self._failed(tp, code)
        if self._lookups > 1 and any(tp not in self._leaders for tp in partitions):
            await asyncio.sleep(min(0.05 * 2**self._lookups, self._deadline.left()))

    async def _ask(self, node: int, rows: dict[TopicPartition, int]) -> None:
        try:
            await self._skip_tiered(node, rows.keys() - self._checked)
            rows = {tp: at for tp, at in rows.items() if not self.searches[tp].failed}
            found = await self._list_offsets(node, rows) if rows else {}
        except EXCHANGE_ERRORS as error:
            lost = isinstance(error, (ConnectError, DisconnectedError)) and self._pool.leader_failed(node)
            if lost and self._lookups < _LEADER_LOOKUPS:
                for tp in rows:
                    del self._leaders[tp]
                return
            self.faults[node] = fault_of(error, broker=node)
            for tp in rows:
                self.searches[tp].fail(NO_ANSWER)
            return
        slices = Slices(asyncio.sleep, _SLICE_SECONDS)
        for tp, at in rows.items():
            await slices.pause_if_due()
            result = found.get(tp)
            if result is None:
                self.searches[tp].fail(NO_ANSWER)
            elif result.code:
                self._failed(tp, result.code)
            else:
                self.searches[tp].answer(at, result.offset, result.timestamp)

    async def _skip_tiered(self, node: int, partitions: Iterable[TopicPartition]) -> None:
        """End the searches in tiered topics if the leader is a broker before Kafka 4.0 (see `_TIERED_FROM`)."""
        fresh = list(partitions)
        self._checked.update(fresh)
        if not fresh:
            return
        version = await self._pool.version(node, LIST_OFFSETS, timeout=self._deadline.left(), lane=self._lane)
        if not _TIERED_FROM <= version < _FAST_TIERED_FROM:
            return
        known = {tp: rules for tp in fresh if (rules := self._rules.get(tp[0])) is not None and not rules.fault}
        tiered = {tp for tp, rules in known.items() if rules.tiered}
        # If the topic's configs are unknown, a partition counts as tiered if its oldest records are not on the leader's
        # disk.
        if unknown := [tp for tp in fresh if tp not in known]:
            found = await self._list_offsets(node, dict.fromkeys(unknown, EARLIEST_LOCAL))
            tiered |= {tp for tp, one in found.items() if one.offset > self.searches[tp].log_start}
        for tp in tiered:
            self.searches[tp].fail(TIERED)

    async def _list_offsets(self, node: int, rows: Mapping[TopicPartition, int]) -> dict[TopicPartition, FoundOffset]:
        return await list_offsets(self._pool, node, rows, timeout=self._deadline.left(), lane=self._lane)

    def _failed(self, tp: TopicPartition, code: int) -> None:
        """React to an error code for a partition: look up its leader again in the next round, or end its search."""
        if lookup(code).is_retriable_at_leader and self._lookups < _LEADER_LOOKUPS:
            self._leaders.pop(tp, None)
        else:
            self.searches[tp].fail(_why_unknown(code))


def _why_unknown(code: int) -> str:
    """Return a text for an error code in a ListOffsets response. It says why the times of records are unknown."""
    if code in FORBIDDEN:
        return FORBIDDEN_TOPIC
    return OLD_FORMAT if code == UNSUPPORTED_FOR_MESSAGE_FORMAT else lookup(code).message
