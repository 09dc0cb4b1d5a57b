"""Sends work about groups to their coordinators, in batches, and again to new coordinators when groups move.

One mechanism for every RPC that a group's coordinator answers: describes, offsets and deletes differ only in the
function that sends one batch to one broker.
"""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from kgtui.admin.faults import fault_of_code
from kgtui.errors import (
    ClientError,
    ConnectError,
    DeadlineError,
    DisconnectedError,
    KgtuiError,
    ProtocolError,
    UnreachableError,
)
from kgtui.model.answer import Answer, Coverage, Fault, fault_of
from kgtui.protocol.error_codes import Reaction, lookup

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from kgtui.admin.deadline import Deadline
    from kgtui.client.pool import Pool

T = TypeVar("T")

PAUSE_FIRST = 0.05  # seconds before the first resubmission; doubles, with jitter
PAUSE_MOST = 1.0
EXCHANGE_ERRORS = (ClientError, ProtocolError, UnreachableError)  # what one exchange with one broker may raise
RECONNECTS = 2  # lost connections to the same coordinator before its groups are reported as failed


@dataclass(slots=True)
class Batch(Generic[T]):
    """The results of one batch: each group in at most one of the first three.

    Attributes:
        rows: what was learned.
        codes: group → `(error code, broker's message)`; retriable ones are resubmitted.
        faults: group → a fault that is final.
        error: what kept all other groups from being answered.
    """

    rows: dict[str, T] = field(default_factory=dict)
    codes: dict[str, tuple[int, str | None]] = field(default_factory=dict)
    faults: dict[str, Fault] = field(default_factory=dict)
    error: KgtuiError | None = None

    def lacks(self, groups: Iterable[str]) -> list[str]:
        """Those of `groups` that nothing is known of."""
        return [g for g in groups if g not in self.rows and g not in self.codes and g not in self.faults]


@dataclass(slots=True)
class _Pending:
    """What is still to be asked, and why it was not answered so far."""

    groups: list[str]
    rows: dict[str, object] = field(default_factory=dict)
    faults: dict[str, Fault] = field(default_factory=dict)
    again: dict[str, Fault] = field(default_factory=dict)
    moved: set[str] = field(default_factory=set)
    losses: dict[str, int] = field(default_factory=lambda: defaultdict(int))


class Router:
    """Batches work about groups by coordinator.

    Args:
        pool: connections, with the coordinator cache.
    """

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def run(
        self,
        groups: Iterable[str],
        send: Callable[[int, Sequence[str], Deadline], Awaitable[Batch[T]]],
        *,
        deadline: Deadline,
        size: int,
        asked: str,
        repeat: bool = True,
    ) -> Answer[dict[str, T]]:
        """Send `groups` in batches of at most `size` to their coordinators until each has an answer or a fault.

        Args:
            send: sends one batch to one broker.
            asked: what is asked for, in a word, for faults.
            repeat: False for what must be sent at most once: a lost answer is then a fault and never sent again
                (an error code that says "not here" is still safe to act on).
        """
        wanted = list(dict.fromkeys(groups))
        todo = _Pending(wanted)
        pause = PAUSE_FIRST
        while todo.groups:
            await self._round(todo, send, deadline, size, asked, repeat)
            todo.groups = list(todo.again)
            if not todo.groups:
                break
            if deadline.over:
                todo.faults |= todo.again
                break
            await asyncio.sleep(min(pause * random.uniform(0.8, 1.2), deadline.left()))  # noqa: S311 - jitter
            pause = min(pause * 2, PAUSE_MOST)
        rows: dict[str, T] = todo.rows  # type: ignore[assignment]
        ordered = {group: rows[group] for group in wanted if group in rows}
        faults = tuple(todo.faults[group] for group in wanted if group in todo.faults)
        return Answer(ordered, faults, Coverage(groups=(len(ordered), len(wanted))))

    async def _round(
        self,
        todo: _Pending,
        send: Callable[[int, Sequence[str], Deadline], Awaitable[Batch[T]]],
        deadline: Deadline,
        size: int,
        asked: str,
        repeat: bool,
    ) -> None:
        """Ask once for all that is pending."""
        for group in todo.moved:
            self._pool.forget_coordinator(group)
        todo.moved.clear()
        todo.again = {}
        try:
            found = await self._pool.find_coordinators(todo.groups, timeout=deadline.left())
        except UnreachableError as unreachable:
            if not todo.rows and not todo.faults:
                raise
            todo.faults |= {group: fault_of(unreachable, group=group) for group in todo.groups}
            return
        for group, error in found.errors.items():
            todo.faults[group] = fault_of(error, group=group)
        by_node: dict[int, list[str]] = defaultdict(list)
        for group, node in found.nodes.items():
            by_node[node].append(group)
        chunks = [
            (node, names[start : start + size])
            for node, names in by_node.items()
            for start in range(0, len(names), size)
        ]
        results = await asyncio.gather(*(self._send(send, node, names, deadline) for node, names in chunks))
        for (node, names), result in zip(chunks, results, strict=True):
            todo.rows.update(result.rows)
            todo.faults.update(result.faults)
            for group, (code, message) in result.codes.items():
                self._sort_code(
                    todo, group, code, fault_of_code(code, message=message, broker=node, group=group, asked=asked)
                )
            lacking = result.lacks(names)
            if result.error is not None:
                self._sort_error(todo, node, lacking, result.error, repeat)
            else:
                todo.faults |= {group: _not_named(group, node, asked) for group in lacking}

    async def _send(
        self,
        send: Callable[[int, Sequence[str], Deadline], Awaitable[Batch[T]]],
        node: int,
        names: Sequence[str],
        deadline: Deadline,
    ) -> Batch[T]:
        try:
            return await send(node, names, deadline)
        except EXCHANGE_ERRORS as error:
            return Batch(error=error)

    def _sort_code(self, todo: _Pending, group: str, code: int, fault: Fault) -> None:
        reaction = lookup(code).reaction
        if reaction is Reaction.FIND_COORDINATOR:
            todo.moved.add(group)
            todo.again[group] = fault
        elif reaction is Reaction.RETRY:
            todo.again[group] = fault
        else:
            todo.faults[group] = fault

    def _sort_error(self, todo: _Pending, node: int, names: Sequence[str], error: KgtuiError, repeat: bool) -> None:
        """Decide for a batch that got no answer. A connection that never came up has carried nothing out."""
        lost = isinstance(error, ConnectError) or (isinstance(error, DisconnectedError) and repeat)
        for group in names:
            fault = fault_of(error, broker=node, group=group)
            todo.losses[group] += 1
            if lost and todo.losses[group] <= RECONNECTS and not isinstance(error, DeadlineError):
                todo.moved.add(group)
                todo.again[group] = fault
            else:
                todo.faults[group] = fault


def _not_named(group: str, node: int, asked: str) -> Fault:
    return Fault("NO_ANSWER", f"{asked}: the broker's answer does not name this group", broker=node, group=group)
