"""Carry out a plan: back up → log the intent → describe once more → send once → verify → log the outcome.

Groups go in batches per coordinator, several at a time, so that a slow broker delays its own groups only. The describe
is the last thing before the send: what became active since the plan is refused. A request whose answer was lost is
never sent again; the cluster is asked what became of the group.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
import uuid
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kgtui.actions.audit import write_intent, write_outcome
from kgtui.actions.backup import backup_path, discard_backup, write_backup
from kgtui.actions.group_data import GroupData, read_group_data
from kgtui.actions.plan import why_no_backup
from kgtui.actions.results import DeletionStatus, GroupResult, Results
from kgtui.actions.state_folder import shared_lock
from kgtui.actions.verification import Presence, check_presence
from kgtui.admin.base import DEFAULT_TIMEOUT
from kgtui.errors import KgtuiError, RefusedError
from kgtui.model.answer import Answer, Fault, Outcome, why_missing
from kgtui.model.guard import why_not_delete, why_not_described

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

    from kgtui.actions.plan import Allowed, Plan
    from kgtui.actions.state_folder import StateFolder
    from kgtui.admin.base import GroupAdmin
    from kgtui.model.cluster import ClusterInfo

BATCH = 20
"""Groups in one DeleteGroups request: few enough that the describe before it is still fresh when it is sent."""

CONCURRENCY = 8
"""Batches under way at the same time."""

_NO_SPACE = "the backup or the audit log cannot be written ({}): nothing was sent"
_FORBIDDEN = "you need permission to delete it: ask for the ACL operation DELETE on this group"
_ACTIVE = "it became active in between: the broker refused"
_LOST_GONE = "the answer was lost; the group is gone"
_LOST = "sent, but no answer came; {}. It is looked into again at the next start"
_INTERRUPTED = "interrupted; it is looked into at the next start"
_STILL_THERE = "the broker reported success, yet a group of this name is there: has an application joined again?"
_NOT_VERIFIED = "the broker reported success; it could not be asked again"


async def execute(
    admin: GroupAdmin,
    plan: Plan,
    folder: StateFolder,
    *,
    timeout: float = DEFAULT_TIMEOUT,
    command: str = "",
    on_result: Callable[[GroupResult], None] | None = None,
) -> Results:
    """Delete what the plan allows. One result per group of the plan, whatever happens to the others.

    Args:
        timeout: seconds for each call.
        command: what the audit log says started it, such as `kgtui delete` or `UI`.
        on_result: told of each group as soon as its end is known.

    Raises:
        UnreachableError: no broker answers; nothing was sent.
    """
    tell = on_result or (lambda _: None)
    results: dict[str, GroupResult] = {}

    def keep(result: GroupResult) -> None:
        results[result.group] = result
        tell(result)

    for refused in plan.refused:
        keep(GroupResult(refused.group, DeletionStatus.REFUSED, refused.reason))
    if plan.allowed:
        cluster = await admin.cluster(timeout=timeout)
        try:
            await asyncio.to_thread(folder.check)
            with contextlib.ExitStack() as stack:
                await asyncio.to_thread(stack.enter_context, shared_lock(folder.lock))
                await _run_batches(_Deletion(admin, folder, cluster, timeout, command, keep), plan.allowed)
        except (RefusedError, OSError) as error:
            for line in plan.allowed:
                if line.group not in results:
                    keep(GroupResult(line.group, DeletionStatus.REFUSED, str(error)))
        for line in plan.allowed:
            if line.group not in results:  # its batch was cancelled from below, by a connection that was closed
                keep(GroupResult(line.group, DeletionStatus.UNCERTAIN, _INTERRUPTED))
    return Results({line.group: results[line.group] for line in plan.lines})


async def _run_batches(deletion: _Deletion, lines: Sequence[Allowed]) -> None:
    gate = asyncio.Semaphore(CONCURRENCY)

    async def run(batch: Sequence[Allowed]) -> None:
        async with gate:
            await deletion.run(batch)

    async with asyncio.TaskGroup() as tasks:
        for batch in _batches(lines):
            tasks.create_task(run(batch))


def requests_of(plan: Plan) -> list[tuple[int, tuple[str, ...]]]:
    """The DeleteGroups requests that the plan amounts to: the broker, and the groups named in each."""
    return [(batch[0].description.coordinator, tuple(line.group for line in batch)) for batch in _batches(plan.allowed)]


def _batches(lines: Iterable[Allowed]) -> Iterator[list[Allowed]]:
    by_coordinator: dict[int, list[Allowed]] = {}
    for line in lines:
        by_coordinator.setdefault(line.description.coordinator, []).append(line)
    for mine in by_coordinator.values():
        for start in range(0, len(mine), BATCH):
            yield mine[start : start + BATCH]


@dataclass(frozen=True, slots=True)
class _Ready:
    """A group that is backed up and whose intent is on the disk."""

    line: Allowed
    entry: str
    backup: Path

    def result(self, status: DeletionStatus, reason: str = "", fault: Fault | None = None, **more: bool) -> GroupResult:
        return GroupResult(self.line.group, status, reason, fault, backup=self.backup, entry=self.entry, **more)


@dataclass(frozen=True, slots=True)
class _Deletion:
    admin: GroupAdmin
    folder: StateFolder
    cluster: ClusterInfo
    timeout: float
    command: str
    keep: Callable[[GroupResult], None]

    async def run(self, lines: Sequence[Allowed]) -> None:
        """One batch of one coordinator, from the backup to the outcome."""
        ready = await self._prepare(lines)
        ready = await self._check(ready)
        if not ready:
            return
        outcomes = await self._send([one.line.group for one in ready])
        judged = [(one, _judge(one, outcomes[one.line.group])) for one in ready]
        for result in [result for _, result in judged if result is not None]:
            await self._finish(result)
        sent = [one for one, result in judged if result is None]
        await self._verify(sent, outcomes)

    async def _prepare(self, lines: Sequence[Allowed]) -> list[_Ready]:
        """Back up and log the intent; what cannot be backed up is refused."""
        held = await read_group_data(self.admin, [line.description for line in lines], timeout=self.timeout)
        ready = []
        for line in lines:
            holdings = held[line.group]
            reason = why_no_backup(holdings)
            if reason is not None or isinstance(holdings, Fault):
                self.keep(GroupResult(line.group, DeletionStatus.REFUSED, reason or ""))
                continue
            try:
                ready.append(await asyncio.to_thread(self._write, line, holdings))
            except OSError as error:
                reason = _NO_SPACE.format(error.strerror or error)
                self.keep(GroupResult(line.group, DeletionStatus.REFUSED, reason))
        return ready

    def _write(self, line: Allowed, held: GroupData) -> _Ready:
        entry, now = uuid.uuid4().hex, time.time()
        path = backup_path(self.folder, line.group, entry, now)
        write_backup(path, held, self.cluster, entry, now)
        try:
            write_intent(self.folder.audit, entry, line, self.cluster, path, self.command)
        except OSError:
            discard_backup(path)
            raise
        return _Ready(line, entry, path)

    async def _check(self, ready: Sequence[_Ready]) -> list[_Ready]:
        """Describe once more, right before sending."""
        if not ready:
            return []
        try:
            answer = await self.admin.describe_groups([one.line.group for one in ready], timeout=self.timeout)
        except KgtuiError as error:
            answer = Answer({}, (Fault("NO_ANSWER", str(error)),))
        passed = []
        for one in ready:
            group = one.line.group
            description = answer.rows.get(group)
            if description is None:
                fault = why_missing(answer.faults, group)
                gone = fault.name == "GROUP_ID_NOT_FOUND"
                reason = "it was gone before anything was sent" if gone else why_not_described(fault)
                await self._finish(one.result(DeletionStatus.GONE if gone else DeletionStatus.REFUSED, reason, fault))
            elif description.type != one.line.type:
                changed = f"planned as a {one.line.type} group, it is a {description.type} group now"
                await self._finish(one.result(DeletionStatus.REFUSED, changed))
            elif (why := why_not_delete(group, description)) is not None:
                await self._finish(one.result(DeletionStatus.REFUSED, f"changed since the plan: {why}"))
            else:
                passed.append(one)
        return passed

    async def _send(self, groups: Sequence[str]) -> dict[str, Outcome]:
        """Send once. What the call does not account for may have been carried out."""
        lost = Fault("NO_ANSWER", "no outcome came for this group")
        try:
            outcomes = await self.admin.delete_groups(groups, timeout=self.timeout)
        except KgtuiError as error:
            outcomes, lost = (), Fault("NO_ANSWER", str(error))
        told = {outcome.group: outcome for outcome in outcomes}
        return {group: told.get(group) or Outcome(group, lost, uncertain=True) for group in groups}

    async def _verify(self, sent: Sequence[_Ready], outcomes: dict[str, Outcome]) -> None:
        if not sent:
            return
        found = await check_presence(self.admin, [one.line.group for one in sent], timeout=self.timeout)
        for one in sent:
            group = one.line.group
            await self._finish(_verified(one, outcomes[group], found[group]))

    async def _finish(self, result: GroupResult) -> None:
        """Log the outcome; a backup of a group that was left alone is not kept."""
        try:
            result = await asyncio.to_thread(self._log, result)
        except OSError as error:
            lost = f"the outcome could not be logged ({error.strerror or error})"
            result = replace(result, reason=f"{result.reason}; {lost}" if result.reason else lost)
        self.keep(result)

    def _log(self, result: GroupResult) -> GroupResult:
        if result.status is DeletionStatus.REFUSED and result.backup is not None:
            discard_backup(result.backup)
            result = replace(result, backup=None)
        write_outcome(self.folder.audit, result, certain=result.status is not DeletionStatus.UNCERTAIN)
        return result


def _judge(one: _Ready, outcome: Outcome) -> GroupResult | None:
    """The end of a group whose outcome is a certain no; None when the cluster has to be asked."""
    fault = outcome.fault
    if fault is None or outcome.uncertain:
        return None
    if fault.name == "NON_EMPTY_GROUP":
        return one.result(DeletionStatus.REFUSED, f"{_ACTIVE} ({fault.name})", fault)
    if fault.name == "GROUP_AUTHORIZATION_FAILED":
        return one.result(DeletionStatus.REFUSED, _FORBIDDEN, fault)
    if fault.name == "GROUP_ID_NOT_FOUND":
        return one.result(DeletionStatus.GONE, "it was gone when the broker came to it", fault)
    return one.result(DeletionStatus.FAILED, f"{fault.message or fault.name}", fault)


def _verified(one: _Ready, outcome: Outcome, found: Presence) -> GroupResult:
    if outcome.uncertain:
        if found is Presence.GONE:
            return one.result(DeletionStatus.DELETED, _LOST_GONE, outcome.fault, verified=True)
        now = "the group is still there" if found is Presence.PRESENT else "whether it is still there is not known"
        return one.result(DeletionStatus.UNCERTAIN, _LOST.format(now), outcome.fault)
    if found is Presence.PRESENT:
        return one.result(DeletionStatus.FAILED, _STILL_THERE)
    if found is Presence.UNKNOWN:
        return one.result(DeletionStatus.DELETED, _NOT_VERIFIED)
    return one.result(DeletionStatus.DELETED, verified=True)
