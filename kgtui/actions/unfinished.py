"""Deletes of earlier sessions whose end was never logged: looked into at the next start."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from kgtui.actions.audit import Entry, read_entries, write_outcome
from kgtui.actions.files import sole_lock
from kgtui.actions.results import GroupResult, Status
from kgtui.actions.verification import Presence, check_presence
from kgtui.admin.base import DEFAULT_TIMEOUT

if TYPE_CHECKING:
    from kgtui.actions.state_folder import StateFolder
    from kgtui.admin.base import GroupAdmin
    from kgtui.model.cluster import ClusterInfo

_GONE = "found at a later start: the group is gone"
_PRESENT = "found at a later start: a group of this name is there"


async def unfinished(
    admin: GroupAdmin, folder: StateFolder, *, timeout: float = DEFAULT_TIMEOUT
) -> tuple[GroupResult, ...]:
    """Ask this cluster what became of each intent without an outcome, and log that outcome as found later.

    Intents of other clusters are left for a session on theirs; so are all while another process is in the middle of a
    write, and those of which nothing can be learned now.

    Raises:
        UnreachableError: no broker answers.
        OSError: the audit log cannot be read or written.
    """
    if not await asyncio.to_thread(folder.audit.exists):
        return ()
    with sole_lock(folder.lock) as alone:
        if not alone:
            return ()
        entries, _ = await asyncio.to_thread(read_entries, folder.audit)
        open_ = [entry for entry in entries if entry.outcome is None and entry.group]
        if not open_:
            return ()
        cluster = await admin.cluster(timeout=timeout)
        mine = [entry for entry in open_ if _is_of(entry, cluster)]
        if not mine:
            return ()
        found = await check_presence(admin, sorted({entry.group for entry in mine}), timeout=timeout)
        results = [_result(entry, found[entry.group]) for entry in mine if found[entry.group] is not Presence.UNKNOWN]
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
        return GroupResult(entry.group, Status.DELETED, _GONE, verified=True, backup=path, entry=entry.id)
    return GroupResult(entry.group, Status.FAILED, _PRESENT, backup=path, entry=entry.id)
