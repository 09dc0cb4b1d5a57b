"""Send requests about groups to the coordinators of the groups, in batches.

If a group has moved to another coordinator, its request is sent again to the new coordinator.

`Router` works for every RPC that group coordinators answer.
"""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Generic, TypeVar

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
from kgtui.model.error_numbers import (
    CLUSTER_AUTHORIZATION_FAILED,
    COORDINATOR_LOAD_IN_PROGRESS,
    GROUP_AUTHORIZATION_FAILED,
    NOT_COORDINATOR,
    TOPIC_AUTHORIZATION_FAILED,
)
from kgtui.protocol.error_codes import Reaction, lookup

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from kgtui.admin.deadline import Deadline
    from kgtui.client.pool import Pool


_RESOURCES = {
    TOPIC_AUTHORIZATION_FAILED: "topic",
    GROUP_AUTHORIZATION_FAILED: "group",
    CLUSTER_AUTHORIZATION_FAILED: "cluster",
}
"""Error code for a missing permission → type of the resource for which the user lacks the permission."""


def fault_of_code(
    code: int,
    *,
    message: str | None = None,
    broker: int | None = None,
    group: str | None = None,
    asked: str = "",
    operation: str = "",
) -> Fault:
    """Return a `Fault` for one of Kafka's error codes.

    Args:
        message: message in the broker's response; by default Kafka's standard text for the code.
        broker: node id of the broker that returned the code.
        group: id of the group that the code concerns.
        asked: name of the request, such as `describe`. The fault's message begins with this name.
        operation: ACL operation that the request needs, such as `DESCRIBE`. If the user lacks it, the fault contains
            the advice to grant this operation.
    """
    error = lookup(code)
    text = message or error.message
    if asked:
        text = f"{asked}: {text}"
    return Fault(error.name, text, code, broker, group, _advice(code, operation) or error.advice)


def _advice(code: int | None, operation: str) -> str:
    """Return the advice to grant the missing permission to the user; empty if the error has a different cause."""
    resource = _RESOURCES.get(code) if code is not None else None
    return f"grant {operation} on the {resource} to this user" if resource and operation else ""


def not_supported(message: str, *, broker: int | None = None, group: str | None = None, advice: str = "") -> Fault:
    """Return the fault `NOT_SUPPORTED`, for a request that a broker does not support."""
    return Fault("NOT_SUPPORTED", message, None, broker, group, advice)


T = TypeVar("T")

FIRST_PAUSE = 0.05
"""Pause before a request is repeated for the first time, in seconds.

The pause doubles with each further repetition, and is varied at random (jitter).
"""

LONGEST_PAUSE = 1.0
"""Longest pause before a request is repeated, in seconds."""

EXCHANGE_ERRORS = (ClientError, ProtocolError, UnreachableError)
"""Types of the errors that a request to a broker can raise."""

_SAFE_TO_REPEAT = frozenset({COORDINATOR_LOAD_IN_PROGRESS, NOT_COORDINATOR})
"""Error codes after which even a request that must not be executed twice, such as a deletion, is sent again.

After these codes, the coordinator has almost certainly not executed the request. After other retriable codes, this is
uncertain. For example, Kafka 4.0 or newer responds with COORDINATOR_NOT_AVAILABLE if the write to `__consumer_offsets`
was not replicated in time. NOT_COORDINATOR nearly always means that the coordinator cached by kgtui is outdated, so
that nothing was executed. In rare cases, the coordinator lost its role while it deleted the group. The repeated request
then finds that the group is gone.
"""

RECONNECTS = 2
"""Maximum number of times that a group is requested again after a failed or lost connection to its coordinator."""


@dataclass(slots=True)
class Batch(Generic[T]):
    """The results of a request for one batch of groups. Each group is in at most one of `rows`, `codes` and `faults`.

    Attributes:
        rows: group id → result.
        codes: group id → `(error code, broker's message)`. Groups with a retriable code are usually requested again.
        faults: group id → `Fault` (error) after which the group is not requested again.
        error: why some groups are in none of these dicts; None if the request succeeded.
    """

    rows: dict[str, T] = field(default_factory=dict)
    codes: dict[str, tuple[int, str | None]] = field(default_factory=dict)
    faults: dict[str, Fault] = field(default_factory=dict)
    error: KgtuiError | None = None

    def without_result(self, groups: Iterable[str]) -> list[str]:
        """Return those of `groups` that have no entry in `rows`, `codes` or `faults`."""
        return [g for g in groups if g not in self.rows and g not in self.codes and g not in self.faults]


@dataclass(slots=True)
class _Pending:
    """The progress of one call of `Router.run`, which requests groups in one or more rounds.

    Attributes:
        groups: groups that are requested in the next round.
        rows: group id → result.
        faults: group id → `Fault` (error) after which the group is not requested again.
        again: group id → `Fault` (error) after which the group is requested again.
        moved: groups whose coordinator must be looked up again.
        losses: group id → how often the connection to its coordinator failed or was lost.
    """

    groups: list[str]
    rows: dict[str, object] = field(default_factory=dict)
    faults: dict[str, Fault] = field(default_factory=dict)
    again: dict[str, Fault] = field(default_factory=dict)
    moved: set[str] = field(default_factory=set)
    losses: dict[str, int] = field(default_factory=lambda: defaultdict(int))


class Router:
    """Sends requests about groups to their coordinators, in batches."""

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
        operation: str = "DESCRIBE",
        repeat: bool = True,
    ) -> Answer[dict[str, T]]:
        """Send batches of groups to their coordinators until each group has a result or a `Fault` (error).

        Args:
            send: called with a coordinator's node id, group ids and a deadline; requests these groups in one batch.
            size: maximum number of groups in one batch.
            asked: name of the request in messages, such as `describe`.
            operation: ACL operation that the request needs. If the user lacks it, the fault contains the advice to
                grant this operation.
            repeat: whether it is safe to execute the request twice. If False, the request is sent again only if no
                connection could be opened, or after an error code in `_SAFE_TO_REPEAT`.
        """
        ids = list(dict.fromkeys(groups))
        todo = _Pending(ids)
        pause = FIRST_PAUSE
        while todo.groups:
            await self._round(todo, send, deadline, size, asked, operation, repeat)
            todo.groups = list(todo.again)
            if not todo.groups:
                break
            if deadline.over:
                todo.faults |= todo.again
                break
            await asyncio.sleep(min(pause * random.uniform(0.8, 1.2), deadline.left()))  # noqa: S311 - jitter
            pause = min(pause * 2, LONGEST_PAUSE)
        rows: dict[str, T] = todo.rows  # type: ignore[assignment]
        ordered = {group: rows[group] for group in ids if group in rows}
        faults = tuple(todo.faults[group] for group in ids if group in todo.faults)
        return Answer(ordered, faults, Coverage(groups=(len(ordered), len(ids))))

    async def _round(
        self,
        todo: _Pending,
        send: Callable[[int, Sequence[str], Deadline], Awaitable[Batch[T]]],
        deadline: Deadline,
        size: int,
        asked: str,
        operation: str,
        repeat: bool,
    ) -> None:
        """Request all groups in `todo.groups` once, and store the results in `todo`."""
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
            fault = fault_of(error, group=group)
            todo.faults[group] = replace(fault, advice=_advice(fault.code, operation) or fault.advice)
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
                fault = fault_of_code(code, message=message, broker=node, group=group, asked=asked, operation=operation)
                self._sort_code(todo, group, code, fault, repeat)
            unanswered = result.without_result(names)
            if result.error is not None:
                self._sort_error(todo, node, unanswered, result.error, repeat)
            else:
                todo.faults |= {group: _not_named(group, node, asked) for group in unanswered}

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

    def _sort_code(self, todo: _Pending, group: str, code: int, fault: Fault, repeat: bool) -> None:
        reaction = lookup(code).reaction
        if not repeat and code not in _SAFE_TO_REPEAT:
            todo.faults[group] = fault
        elif reaction is Reaction.FIND_COORDINATOR:
            todo.moved.add(group)
            todo.again[group] = fault
        elif reaction is Reaction.RETRY:
            todo.again[group] = fault
        else:
            todo.faults[group] = fault

    def _sort_error(self, todo: _Pending, node: int, names: Sequence[str], error: KgtuiError, repeat: bool) -> None:
        """Decide for each group in a failed request whether to request it again.

        After a failed or lost connection, a group is requested again at most `RECONNECTS` times.

        Args:
            repeat: whether to request a group again after a lost connection, even if the broker could have executed the
                first request.
        """
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
    return Fault("NO_ANSWER", f"{asked}: the broker's response does not contain this group", broker=node, group=group)
