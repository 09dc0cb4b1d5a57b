"""Which broker coordinates a group: remembered from lists, looked up in batches otherwise."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kgtui.client.race import all_of
from kgtui.errors import BrokerError, ClientError, ConnectError, DeadlineError, KgtuiError
from kgtui.protocol.error_codes import Reaction, lookup
from kgtui.protocol.messages.cluster import FIND_COORDINATOR

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kgtui.client.pool import Pool

K = TypeVar("K")

GROUP = 0
"""The key type of a group's coordinator."""

BATCHED = 4
"""The first version of FindCoordinator that takes many keys (KIP-699)."""

_LOOK_AGAIN = frozenset({Reaction.RETRY, Reaction.FIND_COORDINATOR, Reaction.REBOOTSTRAP})


@dataclass(frozen=True, slots=True)
class Found(Generic[K]):
    """Who answers for each key, and why nobody is known to for the others."""

    nodes: dict[K, int] = field(default_factory=dict)
    errors: dict[K, ClientError] = field(default_factory=dict)


class Coordinators:
    """The coordinators that are known, and how the others are found."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._nodes: dict[str, int] = {}

    def learn(self, groups: Iterable[str], node: int) -> None:
        """Remember that `node` coordinates these groups."""
        self._nodes.update(dict.fromkeys(groups, node))

    def forget(self, group: str) -> None:
        """Look the group up again when it is asked for next."""
        self._nodes.pop(group, None)

    def clear(self) -> None:
        """Forget all."""
        self._nodes.clear()

    async def find(self, groups: Iterable[str], *, timeout: float, refresh: bool) -> Found[str]:
        """Return the coordinator of each group; those that are moving or loading are asked for again and again.

        What is not known when `timeout` is over is an error of that group. Raises UnreachableError when the cluster
        was never reached.
        """
        known = {} if refresh else self._nodes
        found: Found[str] = Found()
        pending = []
        for group in dict.fromkeys(groups):
            node = known.get(group)
            if node is None:
                pending.append(group)
            else:
                found.nodes[group] = node
        if pending:
            deadline = time.monotonic() + timeout
            await self._pool.metadata(timeout=timeout)
            await self._look_up(pending, deadline, found)
        return found

    async def _look_up(self, pending: list[str], deadline: float, found: Found[str]) -> None:
        pause = self._pool.options.retry_pause
        while pending:
            remaining = deadline - time.monotonic()
            try:
                codes = await self._round(pending, remaining, found)
            except KgtuiError as error:
                for group in pending:
                    found.errors.setdefault(group, _as_client_error(error))
                return
            for group, code in codes.items():
                found.errors[group] = _broker_error(group, code)
            pending = [group for group, code in codes.items() if lookup(code).reaction in _LOOK_AGAIN]
            if any(lookup(codes[group]).reaction is Reaction.REBOOTSTRAP for group in pending):
                self._pool.rebootstrap()
            if pause >= deadline - time.monotonic():
                return
            if pending:
                await asyncio.sleep(pause)
                pause = min(pause * 2, self._pool.options.retry_pause_max)

    async def _round(self, pending: Sequence[str], timeout: float, found: Found[str]) -> dict[str, int]:
        """Look up once; note what is found, return the error codes of the rest."""
        if timeout <= 0:
            raise DeadlineError("no time left to look for the coordinator")
        rows = await self._pool.ask_any(partial(self._ask, pending, timeout), timeout=timeout)
        codes: dict[str, int] = {}
        for group, (node, code) in rows.items():
            if code == 0:
                found.nodes[group] = self._nodes[group] = node
                found.errors.pop(group, None)
            else:
                codes[group] = code
        return codes

    async def _ask(self, groups: Sequence[str], timeout: float, node: int) -> dict[str, tuple[int, int]]:
        """Ask one broker: group → coordinator and error code."""
        pool = self._pool
        lane = pool.live_lane(node)
        version = await pool.version(node, FIND_COORDINATOR, timeout=timeout, lane=lane)
        size = pool.options.batch if version >= BATCHED else 1
        batches = [groups[start : start + size] for start in range(0, len(groups), size)]
        replies = await all_of(
            pool.call(node, FIND_COORDINATOR, _request(version, batch), version=version, timeout=timeout, lane=lane)
            for batch in batches
        )
        rows: dict[str, tuple[int, int]] = {}
        for batch, reply in zip(batches, replies, strict=True):
            rows.update(_rows(version, batch, reply.value))
        return rows


def _request(version: int, groups: Sequence[str]) -> dict[str, Any]:
    if version >= BATCHED:
        return {"KeyType": GROUP, "CoordinatorKeys": groups}
    return {"KeyType": GROUP, "Key": groups[0]}


def _rows(version: int, groups: Sequence[str], answer: dict[str, Any]) -> dict[str, tuple[int, int]]:
    if version < BATCHED:
        return {groups[0]: (answer["NodeId"], answer["ErrorCode"])}
    rows = {row["Key"]: (row["NodeId"], row["ErrorCode"]) for row in answer["Coordinators"]}
    missing = (-1, -1)
    return {group: rows.get(group, missing) for group in groups}


def _broker_error(group: str, code: int) -> BrokerError:
    known = lookup(code)
    return BrokerError(
        f"no coordinator for group {group!r}: {known.message or known.name}",
        code=code,
        name=known.name,
        advice=known.advice,
    )


def _as_client_error(error: KgtuiError) -> ClientError:
    return error if isinstance(error, ClientError) else ConnectError(str(error))
