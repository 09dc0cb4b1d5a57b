"""Adds members and lag to a list of groups, for the groups that a filter may choose."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from kgtui.admin.reading import GroupsRead, Logs, read_groups
from kgtui.model.query import Need
from kgtui.model.summary import Topics, summary_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgtui.admin.base import GroupAdmin
    from kgtui.admin.deadline import Deadline
    from kgtui.model.answer import Fault
    from kgtui.model.query import Query
    from kgtui.model.snapshot import Snapshot


async def enrich(
    admin: GroupAdmin, snapshot: Snapshot, query: Query, *, members: bool, lag: bool, deadline: Deadline
) -> tuple[Snapshot, tuple[Fault, ...]]:
    """Return the snapshot with summaries of the groups that the filter may choose, and the faults of no one group.

    Args:
        deadline: one step of it is taken for members, and two for lag.
    """
    read, needs = GroupsRead(), frozenset[Need]()
    # Members first, because a group that they rule out needs no offsets.
    if members:
        ids = query.limited(needs).select(snapshot)
        if ids:
            read = await read_groups(admin, deadline, describe=ids)
        needs |= {Need.DESCRIPTION}
        snapshot = _enriched(snapshot, read, ids)
    if lag:
        ids = query.limited(needs).select(snapshot)
        listings = {group: snapshot.groups[group] for group in ids}
        read.merge(await read_groups(admin, deadline, offsets=listings, logs=Logs.COMMITTED_ENDS))
        snapshot = _enriched(snapshot, read, ids)
    return snapshot, read.general_faults


def _enriched(snapshot: Snapshot, read: GroupsRead, ids: Sequence[str]) -> Snapshot:
    now, summaries, topics, faults = time.time(), dict(snapshot.summaries), Topics(), read.group_faults()
    for group in ids:
        summaries[group] = summary_of(
            read.descriptions.get(group),
            read.lag_of(group),
            read.topics_of(group),
            faults.get(group),
            now,
            shared=topics,
        )
    return replace(snapshot, taken_at=now, summaries=summaries, group_faults=faults)
