"""Execute a deletion plan.

The steps for each group: back up the group, write the line `intent` to the audit log, describe the group again, read
its offsets again, send one delete request, check that the group is gone, and write the line `outcome` to the audit log.
A group is not deleted if it became active after the plan was made, or if its offsets differ from the backup.

kgtui does not repeat a delete request if no response arrives, or if the broker returns an error but could still delete
the group. Instead, kgtui checks which groups still exist. Once a delete request has been sent, the backup is kept.
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
from kgtui.actions.group_data import GroupData, read_group_data, read_offsets, why_unreadable
from kgtui.actions.plan import why_no_backup
from kgtui.actions.results import DeletionStatus, GroupResult, Results
from kgtui.actions.synced_files import check_writable, shared_lock
from kgtui.actions.verification import Presence, check_presence
from kgtui.admin.base import DEFAULT_TIMEOUT
from kgtui.errors import KgtuiError, RefusedError
from kgtui.model.answer import Answer, Fault, Outcome, why_missing
from kgtui.model.guard import NOT_PERMITTED, why_not_delete, why_not_described

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from kgtui.actions.plan import Allowed, Plan
    from kgtui.admin.base import GroupAdmin
    from kgtui.config import StateFolder
    from kgtui.model.cluster import ClusterInfo
    from kgtui.model.offsets import TopicPartition

BATCH = 20
"""Maximum number of groups per DeleteGroups request.

kgtui checks the groups of a request just before it sends the request. Requests are small, so that a group has little
time to become active between the check and the deletion.
"""

CONCURRENCY = 8
"""Maximum number of batches (DeleteGroups requests and their checks) that are processed at the same time."""

_CANNOT_WRITE = (
    "the backup or the audit log cannot be written ({}), so the group was not deleted; fix this error and try again"
)
_ACTIVE = "the group became active, so the broker refused the deletion"
_GONE_ANYWAY = "{}, but the group no longer exists"
_UNKNOWN_RESULT = "{}, so the result is unknown: {}. At its next start, kgtui checks the group again"
_OFFSETS_CHANGED = (
    "the group's offsets changed after the backup, so an application may be using the group; check this, then try again"
)
_INTERRUPTED = "the deletion was interrupted, so the result is unknown; kgtui checks the group at its next start"
_STILL_THERE = (
    "the broker reported that the group was deleted, but the group exists; check whether an application has created it "
    "again"
)
_NOT_VERIFIED = "the broker reported that the group was deleted, but kgtui could not check this"


async def execute(
    admin: GroupAdmin,
    plan: Plan,
    folder: StateFolder,
    *,
    timeout: float = DEFAULT_TIMEOUT,
    command: str = "",
    on_result: Callable[[GroupResult], None] | None = None,
) -> Results:
    """Delete the groups that the plan allows, and return one result per group of the plan.

    Args:
        folder: folder for the backups and the audit log.
        timeout: time limit for each call of `admin`, in seconds.
        command: where the deletion was started, such as `kgtui delete` or `UI`, for the audit log.
        on_result: called with the result of each group as soon as it is known.

    Raises:
        UnreachableError: no broker answers. No delete request was sent.
    """
    report = on_result or (lambda _: None)
    results: dict[str, GroupResult] = {}

    def keep(result: GroupResult) -> None:
        results[result.group] = result
        report(result)

    for refused in plan.refused:
        keep(GroupResult(refused.group, DeletionStatus.REFUSED, refused.reason))
    if plan.allowed:
        cluster = await admin.cluster(timeout=timeout)
        try:
            await asyncio.to_thread(check_writable, folder)
            with contextlib.ExitStack() as stack:
                await asyncio.to_thread(stack.enter_context, shared_lock(folder.lock))
                await _run_batches(_Deletion(admin, folder, cluster, timeout, command, keep), plan.allowed)
        except (RefusedError, OSError) as error:
            for line in plan.allowed:
                if line.group not in results:
                    keep(GroupResult(line.group, DeletionStatus.REFUSED, str(error)))
        for line in plan.allowed:
            # If a group has no result, its batch was canceled, because the connection was closed. It is not known
            # whether the group was deleted.
            if line.group not in results:
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
    """Return the DeleteGroups requests for a plan, each as a pair `(node id of the coordinator, group ids)`."""
    return [(batch[0].description.coordinator, tuple(line.group for line in batch)) for batch in _batches(plan.allowed)]


def _batches(lines: Iterable[Allowed]) -> Iterator[list[Allowed]]:
    by_coordinator: dict[int, list[Allowed]] = {}
    for line in lines:
        by_coordinator.setdefault(line.description.coordinator, []).append(line)
    for of_coordinator in by_coordinator.values():
        for start in range(0, len(of_coordinator), BATCH):
            yield of_coordinator[start : start + BATCH]


@dataclass(frozen=True, slots=True)
class _Ready:
    """A group that is ready to be deleted: its backup and its `intent` line in the audit log are on disk.

    Attributes:
        positions: partition → offset in the backup.
    """

    line: Allowed
    entry: str
    backup: Path
    positions: Mapping[TopicPartition, int]

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
        """Back up, delete and verify a batch of groups with the same coordinator, and log the outcomes."""
        ready = await self._prepare(lines)
        ready = await self._check_offsets(await self._check_descriptions(ready))
        if not ready:
            return
        outcomes = await self._send([one.line.group for one in ready])
        results = [(one, _result_if_not_deleted(one, outcomes[one.line.group])) for one in ready]
        for result in [result for _, result in results if result is not None]:
            await self._finish(result)
        sent = [one for one, result in results if result is None]
        await self._verify(sent, outcomes)

    async def _prepare(self, lines: Sequence[Allowed]) -> list[_Ready]:
        """Write the backup and the `intent` line of each group. Refuse to delete groups that cannot be backed up."""
        read = await read_group_data(self.admin, [line.description for line in lines], timeout=self.timeout)
        ready = []
        for line in lines:
            data = read[line.group]
            reason = why_no_backup(data)
            if reason is not None or isinstance(data, Fault):
                self.keep(GroupResult(line.group, DeletionStatus.REFUSED, reason or ""))
                continue
            try:
                ready.append(await asyncio.to_thread(self._write, line, data))
            except OSError as error:
                reason = _CANNOT_WRITE.format(error.strerror or error)
                self.keep(GroupResult(line.group, DeletionStatus.REFUSED, reason))
        return ready

    def _write(self, line: Allowed, data: GroupData) -> _Ready:
        entry, now = uuid.uuid4().hex, time.time()
        path = backup_path(self.folder, line.group, entry, now)
        write_backup(path, data, self.cluster, entry, now)
        try:
            write_intent(self.folder.audit, entry, line, self.cluster, path, self.command)
        except OSError:
            discard_backup(path)
            raise
        return _Ready(line, entry, path, data.positions)

    async def _check_descriptions(self, ready: Sequence[_Ready]) -> list[_Ready]:
        """Describe the groups again, and return the groups whose deletion is still allowed.

        For every other group, record that the deletion is refused, or that the group is gone.
        """
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
                if gone:
                    reason = "the group was gone before the delete request was sent"
                    await self._finish(one.result(DeletionStatus.GONE, reason, fault))
                else:
                    await self._refuse(one, why_not_described(fault), fault)
            elif description.type != one.line.type:
                changed = (
                    f"the group was a {one.line.type} group when the deletion was planned, but is a {description.type} "
                    "group now"
                )
                await self._refuse(one, changed)
            elif (why := why_not_delete(group, description)) is not None:
                await self._refuse(one, f"the group changed after the deletion was planned: {why}")
            else:
                passed.append(one)
        return passed

    async def _check_offsets(self, ready: Sequence[_Ready]) -> list[_Ready]:
        """Read the offsets again, and return the groups whose offsets are the same as in the backup.

        Refuse to delete all other groups.
        """
        read = await read_offsets(self.admin, [one.line.description for one in ready], timeout=self.timeout)
        passed = []
        for one in ready:
            offsets = read[one.line.group]
            if isinstance(offsets, Fault):
                await self._refuse(one, why_no_backup(offsets) or "", offsets)
            elif (reason := why_unreadable(offsets)) is not None:
                await self._refuse(one, reason)
            elif offsets.by_partition() != one.positions:
                await self._refuse(one, _OFFSETS_CHANGED)
            else:
                passed.append(one)
        return passed

    async def _refuse(self, one: _Ready, reason: str, fault: Fault | None = None) -> None:
        """Record that kgtui refused to delete a group and sent no delete request. Remove the backup of the group."""
        result = one.result(DeletionStatus.REFUSED, reason, fault)
        with contextlib.suppress(OSError):
            await asyncio.to_thread(discard_backup, one.backup)
            result = replace(result, backup=None)
        await self._finish(result)

    async def _send(self, groups: Sequence[str]) -> dict[str, Outcome]:
        """Send one DeleteGroups request, and return a dict: group id → outcome.

        If the outcome of a group is missing, for example because no response arrives, the dict
        contains an uncertain outcome for this group.
        """
        lost = Fault("NO_ANSWER", "the broker's response does not contain this group")
        try:
            outcomes = await self.admin.delete_groups(groups, timeout=self.timeout)
        except KgtuiError as error:
            outcomes, lost = (), Fault("NO_ANSWER", str(error))
        by_group = {outcome.group: outcome for outcome in outcomes}
        return {group: by_group.get(group) or Outcome(group, lost, uncertain=True) for group in groups}

    async def _verify(self, sent: Sequence[_Ready], outcomes: dict[str, Outcome]) -> None:
        if not sent:
            return
        found = await check_presence(self.admin, [one.line.group for one in sent], timeout=self.timeout)
        for one in sent:
            group = one.line.group
            await self._finish(_verified(one, outcomes[group], found[group]))

    async def _finish(self, result: GroupResult) -> None:
        """Write the result of one group's deletion to the audit log, and report it to the caller of `execute`."""
        certain = result.status is not DeletionStatus.UNCERTAIN
        try:
            await asyncio.to_thread(write_outcome, self.folder.audit, result, certain=certain)
        except OSError as error:
            lost = f"the result could not be written to the audit log ({error.strerror or error})"
            result = replace(result, reason=f"{result.reason}; {lost}" if result.reason else lost)
        self.keep(result)


def _result_if_not_deleted(one: _Ready, outcome: Outcome) -> GroupResult | None:
    """Return the result if the request certainly did not delete the group; None if it may have deleted the group."""
    fault = outcome.fault
    if fault is None or outcome.uncertain:
        return None
    if fault.name == "NON_EMPTY_GROUP":
        return one.result(DeletionStatus.REFUSED, f"{_ACTIVE} ({fault.name})", fault)
    if fault.name == "GROUP_AUTHORIZATION_FAILED":
        return one.result(DeletionStatus.REFUSED, NOT_PERMITTED, fault)
    if fault.name == "GROUP_ID_NOT_FOUND":
        return one.result(DeletionStatus.GONE, "the group was gone before the broker handled the request", fault)
    return one.result(DeletionStatus.FAILED, f"{fault.message or fault.name}", fault)


def _verified(one: _Ready, outcome: Outcome, found: Presence) -> GroupResult:
    if outcome.uncertain:
        what = "no response arrived"
        if outcome.fault is not None and outcome.fault.code is not None:
            what = f"the broker responded with {outcome.fault.name}"
        if found is Presence.GONE:
            return one.result(DeletionStatus.DELETED, _GONE_ANYWAY.format(what), outcome.fault, verified=True)
        now = (
            "the group exists now, but the broker may still delete it"
            if found is Presence.PRESENT
            else "kgtui could not check whether the group still exists"
        )
        return one.result(DeletionStatus.UNCERTAIN, _UNKNOWN_RESULT.format(what, now), outcome.fault)
    if found is Presence.PRESENT:
        return one.result(DeletionStatus.FAILED, _STILL_THERE)
    if found is Presence.UNKNOWN:
        return one.result(DeletionStatus.DELETED, _NOT_VERIFIED)
    return one.result(DeletionStatus.DELETED, verified=True)
