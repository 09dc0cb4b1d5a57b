"""Check whether deleted groups still exist, after a deletion and at the next start of kgtui."""

from __future__ import annotations

import asyncio
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from kgtui.actions.audit import Entry, read_entries, write_outcome
from kgtui.actions.results import DeletionStatus, GroupResult
from kgtui.actions.synced_files import has_drafts, remove_drafts, sole_lock
from kgtui.admin.base import DEFAULT_TIMEOUT
from kgtui.errors import KgtuiError
from kgtui.model.answer import Answer

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from kgtui.admin.base import GroupAdmin
    from kgtui.config import StateFolder
    from kgtui.model.cluster import ClusterInfo
    from kgtui.model.group import GroupDescription


class Presence(Enum):
    """Whether a group exists in the cluster."""

    GONE = "gone"
    PRESENT = "present"
    UNKNOWN = "unknown"


async def check_presence(admin: GroupAdmin, groups: Collection[str], *, timeout: float) -> dict[str, Presence]:
    """Find out whether groups that kgtui tried to delete still exist.

    Return a dict: group id → `Presence`.
    """
    try:
        answer = await admin.describe_groups(groups, timeout=timeout)
    except KgtuiError:
        answer = Answer({})
    # If a describe response does not say whether the group exists, look for it in the list of all groups.
    found = {group: _described(answer, group) for group in groups}
    open_ = {group for group, presence in found.items() if presence is Presence.UNKNOWN}
    return found | await _listed(admin, open_, timeout) if open_ else found


def _described(answer: Answer[Mapping[str, GroupDescription]], group: str) -> Presence:
    description = answer.rows.get(group)
    if description is not None:
        return Presence.PRESENT if description.authoritative else Presence.UNKNOWN
    not_found = any(fault.group == group and fault.name == "GROUP_ID_NOT_FOUND" for fault in answer.faults)
    return Presence.GONE if not_found else Presence.UNKNOWN


async def _listed(admin: GroupAdmin, groups: Collection[str], timeout: float) -> dict[str, Presence]:
    """Look for groups in the list of all groups.

    A group that is not in the list is `UNKNOWN` if a broker did not answer; otherwise, it is `GONE`.
    """
    try:
        answer = await admin.list_groups(timeout=timeout)
    except KgtuiError:
        return dict.fromkeys(groups, Presence.UNKNOWN)
    whole = not answer.faults and answer.coverage.complete and answer.coverage.brokers[1] > 0
    absent = Presence.GONE if whole else Presence.UNKNOWN
    return {group: Presence.PRESENT if group in answer.rows else absent for group in groups}


_GONE = "a later check found that the group no longer exists"
_PRESENT = "a later check found that the group exists, because it was not deleted, or was created again"


async def unfinished(
    admin: GroupAdmin, folder: StateFolder, *, timeout: float = DEFAULT_TIMEOUT
) -> tuple[GroupResult, ...]:
    """Find out the results of earlier deletions in this cluster that have no `outcome` line in the audit log.

    Write these results to the audit log, and return them. Results that are still unknown are left out. Also remove
    incomplete backup files. While another process deletes groups, do nothing and return an empty tuple.

    Raises:
        UnreachableError: no broker answers.
        OSError: the audit log cannot be read or written.
    """
    # Return early if there is neither an audit log nor an incomplete backup file. An incomplete file without an audit
    # log is left over if a process was killed while it wrote the very first backup.
    if not await asyncio.to_thread(lambda: folder.audit.exists() or has_drafts(folder.backups)):
        return ()
    with sole_lock(folder.lock) as alone:
        if not alone:
            return ()
        await asyncio.to_thread(remove_drafts, folder.backups)
        entries, _ = await asyncio.to_thread(read_entries, folder.audit)
        open_ = [entry for entry in entries if entry.outcome is None and entry.group]
        if not open_:
            return ()
        cluster = await admin.cluster(timeout=timeout)
        own = [entry for entry in open_ if _is_of(entry, cluster)]
        if not own:
            return ()
        found = await check_presence(admin, sorted({entry.group for entry in own}), timeout=timeout)
        results = [_result(entry, found[entry.group]) for entry in own if found[entry.group] is not Presence.UNKNOWN]
        for result in results:
            await asyncio.to_thread(write_outcome, folder.audit, result, found_later=True)
        return tuple(results)


def _is_of(entry: Entry, cluster: ClusterInfo) -> bool:
    named = entry.intent.get("cluster")
    if not isinstance(named, dict):
        return False
    if named.get("id") is not None and cluster.cluster_id is not None:
        return bool(named["id"] == cluster.cluster_id)
    return bool(set(named.get("seeds") or ()) & set(cluster.seeds))


def _result(entry: Entry, found: Presence) -> GroupResult:
    backup = entry.intent.get("backup")
    path = Path(backup) if isinstance(backup, str) else None
    if found is Presence.GONE:
        return GroupResult(entry.group, DeletionStatus.DELETED, _GONE, verified=True, backup=path, entry=entry.id)
    return GroupResult(entry.group, DeletionStatus.FAILED, _PRESENT, backup=path, entry=entry.id)
