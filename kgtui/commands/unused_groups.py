"""Finds unused groups for `kgtui ls`, by the same rule as the terminal UI (see `kgtui.monitor.empty_groups`).

A group is unused if it is Empty and has unread records, and if in each partition with unread
records, the oldest unread record is at least `ABANDONED_AFTER` seconds old.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from kgtui.admin.deadline import Deadline
from kgtui.admin.groups_read import GroupsRead
from kgtui.errors import KgtuiError
from kgtui.model.judgment import Basis, judgment_of_unused
from kgtui.model.problem import ABANDONED_AFTER, Problem
from kgtui.monitor.empty_groups import unread_times
from kgtui.monitor.policy import SHOW_RECORD_TIME_PARTITIONS

if TYPE_CHECKING:
    from kgtui.admin.base import GroupAdmin
    from kgtui.model.snapshot import Snapshot


async def with_unused_groups(admin: GroupAdmin, timeout: float, snapshot: Snapshot, read: GroupsRead) -> Snapshot:
    """Return a copy of the snapshot in which unused groups have the problem `UNUSED` instead of `EMPTY`.

    Args:
        timeout: maximum total duration, in seconds, of the reads that find out when the unread records were written.
        snapshot: snapshot that contains the lag of each group.
        read: the offsets of the groups in the snapshot.
    """
    lags = {group: row.lag for group, row in snapshot.summaries.items() if row.lag}
    empty = [group for group in lags if snapshot.judgment(group).kind is Problem.EMPTY]
    if not empty:
        return snapshot
    offsets = GroupsRead(
        committed={group: read.committed[group] for group in empty if group in read.committed},
        share={group: read.share[group] for group in empty if group in read.share},
    )
    deadline, times = Deadline(timeout, steps=2), dict[str, float]()
    with suppress(KgtuiError):
        # Read the log start offsets. They were not needed for the lag, but are needed to find unread records.
        bounds = await admin.partition_bounds(offsets.partitions(), timeout=deadline.step())
        offsets.bounds.update(bounds.rows)
        times = await unread_times(admin, offsets, limit=SHOW_RECORD_TIME_PARTITIONS, timeout=deadline.step())
    found = {
        group: judgment_of_unused(lags[group], Basis.READ_ONCE)
        for group, since in times.items()
        if snapshot.taken_at - since >= ABANDONED_AFTER
    }
    return replace(snapshot, screened=found)
