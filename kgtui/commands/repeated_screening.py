"""Screens the groups of `kgtui ls --watch`, as the terminal UI screens all groups."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from kgtui.admin.base import ListingDelta
from kgtui.model.trail import Trail, positions_of
from kgtui.monitor.empty_groups import EmptyGroupSearch
from kgtui.monitor.lost_records import compare_with_log_starts
from kgtui.monitor.policy import answered_since
from kgtui.monitor.screening import Screening
from kgtui.monitor.store import Store

if TYPE_CHECKING:
    from kgtui.admin.base import GroupAdmin
    from kgtui.admin.groups_read import GroupsRead
    from kgtui.model.group import Listing
    from kgtui.model.snapshot import Snapshot


class RepeatedScreening:
    """Keeps what screening needs between two lists.

    Args:
        admin: reads what screening needs in addition to the list: the log start offsets of partitions without progress,
            to find lost records, and the times of unread records in Empty groups, to find unused groups.
        timeout: maximum duration of such a read, in seconds.
        interval: time between two lists, in seconds.
    """

    def __init__(self, admin: GroupAdmin, timeout: float, interval: float) -> None:
        self._admin = admin
        self._timeout = timeout
        self._interval = interval
        self._now = 0.0
        self._store = Store(0, lambda: self._now)
        self._screening = Screening(self._store)
        self._empty_groups = EmptyGroupSearch(admin, self._store, self._screening, timeout)
        self._listed: set[int] = set()

    async def add(self, snapshot: Snapshot, read: GroupsRead) -> Snapshot:
        """Screen the groups that were read, and return the snapshot with the judgments on them."""
        self._now, store = snapshot.taken_at, self._store
        nodes: dict[int, dict[str, Listing]] = defaultdict(dict)
        for group, listing in snapshot.groups.items():
            nodes[listing.coordinator][group] = listing
        for node, status in snapshot.brokers.items():
            if status.answered_at is not None:
                since = answered_since(store.brokers.get(node), self._now)
                store.set_broker(node, answered_at=self._now, answered_since=since, interval=self._interval)
        for node, listed in nodes.items():
            await store.take_list(node, ListingDelta(listed, [], len(listed), 0.0), first=node not in self._listed)
        self._listed |= nodes.keys()
        store.forget(store.groups.keys() - snapshot.groups.keys())
        self._screening.check_clock()
        summaries, trails = dict(snapshot.summaries), dict[str, Trail]()
        for group in {*read.committed, *read.share} & summaries.keys():
            rows = positions_of(read.committed.get(group, ()), read.share.get(group, ()), read.bounds)
            trails[group] = trail = self._screening.add(group, self._now, rows, read.descriptions.get(group))
            summary = replace(summaries[group], trail=trail.encode(), screened=trail.reads > 1)
            summaries[group] = store.store_summary(group, summary)
        compared = await compare_with_log_starts(self._admin, trails, read, timeout=self._timeout)
        for group, trail in trails.items():
            self._screening.judge(group, trail, compared.get(group))
        await self._empty_groups.search_next()
        while self._screening.apply_changes():
            pass
        self._screening.judge_unsettled()
        return replace(
            snapshot, summaries=summaries, screened=dict(store.screened), state_since=dict(store.state_since)
        )
