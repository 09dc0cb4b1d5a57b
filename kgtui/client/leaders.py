"""Which broker leads a partition: asked of any broker in batches of topics, and remembered."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from kgtui.client.bootstrap import NEVER_CREATES
from kgtui.client.race import all_of
from kgtui.errors import UnsupportedError
from kgtui.protocol.messages.cluster import METADATA

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kgtui.client.pool import Pool


@dataclass(frozen=True, slots=True)
class Leaders:
    """Leaders by `(topic, partition)`; Kafka's error code for a topic, or a partition, that has none."""

    nodes: dict[tuple[str, int], int] = field(default_factory=dict)
    errors: dict[str | tuple[str, int], int] = field(default_factory=dict)


class LeaderCache:
    """The leaders that are known, and how the others are found."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._topics: dict[str, dict[int, int]] = {}

    def clear(self) -> None:
        """Forget all."""
        self._topics.clear()

    async def find(self, topics: Iterable[str], *, timeout: float, refresh: bool) -> Leaders:
        """Return the leaders of all partitions of these topics; topics are never created by asking.

        A topic with an error is asked for again the next time. Raises UnreachableError when no broker answers.
        """
        found = Leaders()
        missing = []
        for topic in dict.fromkeys(topics):
            known = None if refresh else self._topics.get(topic)
            if known is None:
                missing.append(topic)
            else:
                found.nodes.update({(topic, partition): node for partition, node in known.items()})
        if missing:
            deadline = time.monotonic() + timeout
            await self._pool.metadata(timeout=timeout)
            remaining = max(0.0, deadline - time.monotonic())
            rows = await self._pool.ask_any(partial(self._ask, missing, remaining), timeout=remaining)
            self._note(rows, found)
        return found

    async def _ask(self, topics: Sequence[str], timeout: float, node: int) -> tuple[Mapping[str, Any], ...]:
        """Ask one broker for the rows of these topics."""
        pool = self._pool
        lane = pool.live_lane(node)
        if await pool.version(node, METADATA, timeout=timeout, lane=lane) < NEVER_CREATES:
            raise UnsupportedError(f"broker {node} cannot be asked for a topic without creating it", broker=node)
        size = pool.options.batch
        replies = await all_of(
            pool.call(node, METADATA, _request(topics[start : start + size]), timeout=timeout, lane=lane)
            for start in range(0, len(topics), size)
        )
        return tuple(row for reply in replies for row in reply.value["Topics"])

    def _note(self, rows: Iterable[Mapping[str, Any]], found: Leaders) -> None:
        for row in rows:
            topic = row["Name"]
            if row["ErrorCode"]:
                found.errors[topic] = row["ErrorCode"]
                continue
            whole = True
            leaders: dict[int, int] = {}
            for partition in row["Partitions"]:
                index, code, leader = partition["PartitionIndex"], partition["ErrorCode"], partition["LeaderId"]
                if leader >= 0:
                    leaders[index] = leader
                else:
                    found.errors[(topic, index)] = code or LEADER_NOT_AVAILABLE
                    whole = False
            found.nodes.update({(topic, index): node for index, node in leaders.items()})
            if whole:
                self._topics[topic] = leaders
            else:
                self._topics.pop(topic, None)


LEADER_NOT_AVAILABLE = 5


def _request(topics: Sequence[str]) -> dict[str, Any]:
    return {"Topics": [{"Name": topic} for topic in topics], "AllowAutoTopicCreation": False}
