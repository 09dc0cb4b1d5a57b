"""Reads groups repeatedly for `kgtui ls --watch`, and looks for problems by the same rules as the terminal UI."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from kgtui.admin.base import ListingDelta
from kgtui.commands.selection import Selection, by_listing
from kgtui.errors import UnreachableError
from kgtui.model.access import HIDDEN, HIDDEN_TOPICS
from kgtui.model.answer import Coverage, fault_of
from kgtui.model.offsets import positions_of
from kgtui.model.query import Query
from kgtui.model.trail import Trail
from kgtui.monitor.empty_groups import EmptyGroupSearch
from kgtui.monitor.lost_records import compare_with_log_starts
from kgtui.monitor.missing_groups import MissingGroups
from kgtui.monitor.policy import SHOWN_AFTER_LEAVING, answered_since, watch_timeout
from kgtui.monitor.screening import Screening
from kgtui.monitor.store import Store

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Container, Mapping

    from kgtui.admin.base import GroupAdmin
    from kgtui.admin.groups_read import GroupsRead
    from kgtui.model.group import Listing
    from kgtui.model.snapshot import Snapshot


class ListWatch:
    """Reads the selected groups repeatedly. If a group cannot be read, the values of its last successful read are kept.

    Args:
        query: the filter; None selects every group.
        select: function that takes a timeout in seconds, and returns the selected groups.
        interval: seconds between two reads.
        timeout: maximum timeout that is passed to `select`, in seconds.
        missing: ids of groups that no broker lists, but that may still exist. For example, no broker lists a group
            while it moves to a different coordinator.
    """

    def __init__(
        self,
        query: Query | None,
        select: Callable[[float], Awaitable[Selection]],
        interval: float,
        timeout: float,
        missing: Container[str] = (),
    ) -> None:
        self._missing = missing
        self._query, self._select, self._interval, self._timeout = query or Query(), select, interval, timeout
        self._last: Selection | None = None
        self._slowest: float | None = None
        self._read_at: dict[str, float] = {}

    async def read(self) -> tuple[Selection, Mapping[str, float]]:
        """Read the groups once.

        Returns:
            The selected groups, and a dict with the groups that could not be read this time: group id → time of the
                group's last successful read, in seconds since the epoch.

        Raises:
            UnreachableError: no broker answered, and there is no earlier read.
        """
        began = time.monotonic()
        try:
            new = await self._select(watch_timeout(self._interval, self._slowest, self._timeout))
        except UnreachableError as error:
            if self._last is None:
                raise
            new = _nothing_read(self._last, error)
        if not new.faults:
            self._slowest = max(self._slowest or 0.0, time.monotonic() - began)
        if self._last is not None:
            new = self._with_earlier_values(self._last, new)
        self._last = new
        return new, {group: at for group in new.ids if (at := self._read_at.get(group)) is not None}

    def _with_earlier_values(self, last: Selection, new: Selection) -> Selection:
        now = new.snapshot.taken_at
        groups, summaries, read_at = dict(new.snapshot.groups), dict(new.snapshot.summaries), dict[str, float]()
        for group, listing in last.snapshot.groups.items():
            broker = new.snapshot.brokers.get(listing.coordinator)
            at = self._read_at.get(group, last.snapshot.taken_at)
            silent = now - at < SHOWN_AFTER_LEAVING if broker is None else broker.fault is not None
            unlisted = group not in new.listed and (silent or group in self._missing)
            fault = new.snapshot.group_faults.get(group)
            if not unlisted and (fault is None or fault.name in (HIDDEN, HIDDEN_TOPICS)):
                continue
            if unlisted:
                groups[group] = listing
            summary = last.snapshot.summaries.get(group)
            if summary is not None:
                summaries[group] = summary
            if unlisted or summary is not None:
                read_at[group] = at
        self._read_at = read_at
        if not read_at:
            return new
        snapshot = replace(new.snapshot, groups=groups, by_listing=by_listing(groups), summaries=summaries)
        return replace(new, snapshot=snapshot, ids=self._query.select(snapshot), listed={**groups, **new.listed})


def _nothing_read(last: Selection, error: UnreachableError) -> Selection:
    """Return a selection for a read in which no broker responded. The selection contains no groups.

    It contains the brokers of `last`, the selection of the previous read. Each broker has `error` as its fault.
    """
    fault = fault_of(error)
    brokers = {node: replace(broker, answered_at=None, fault=fault) for node, broker in last.snapshot.brokers.items()}
    snapshot = replace(
        last.snapshot, taken_at=time.time(), groups={}, by_listing={}, summaries={}, group_faults={}, brokers=brokers
    )
    coverage = Coverage((0, len(brokers)), (0, 0))
    return replace(last, snapshot=snapshot, ids=[], coverage=coverage, faults=(fault,), listed={})


class RepeatedScreening:
    """Compares each read of the groups with earlier reads, to find problems such as groups that stopped reading.

    Args:
        admin: client that reads additional data, such as log start offsets.
        timeout: maximum duration of a read by `admin`, in seconds.
        interval: seconds between two reads of the list of groups.

    Attributes:
        missing: groups that no broker lists, but that may still exist. For example, no broker lists a group while it
            moves to a different coordinator.
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
        self.missing = MissingGroups(admin, self._store, timeout)
        self._check_at = 0.0

    async def add(self, snapshot: Snapshot, read: GroupsRead) -> Snapshot:
        """Add the results of one read, and judge whether each group has a problem, such as `stopped`.

        Returns a copy of the snapshot that contains these judgments.
        """
        self._now, store = snapshot.taken_at, self._store
        nodes: dict[int, dict[str, Listing]] = defaultdict(dict)
        for group, listing in snapshot.groups.items():
            nodes[listing.coordinator][group] = listing
        for node, status in snapshot.brokers.items():
            if status.answered_at is not None:
                since = answered_since(store.brokers.get(node), self._now)
                store.set_broker(node, answered_at=self._now, answered_since=since, interval=self._interval, fault=None)
            else:
                store.set_broker(node, fault=status.fault)
        for node, listed in nodes.items():
            await store.take_list(node, ListingDelta(listed, [], len(listed), 0.0), first=node not in self._listed)
        self._listed |= nodes.keys()
        await self._forget_missing(snapshot)
        self._screening.check_clock()
        summaries, trails = dict(snapshot.summaries), dict[str, Trail]()
        for group in {*read.committed, *read.share} & summaries.keys():
            rows = positions_of(read.committed.get(group, ()), read.share.get(group, ()), read.bounds)
            trails[group] = trail = self._screening.add(group, self._now, rows, read.descriptions.get(group))
            summary = replace(summaries[group], trail=trail.encode(), screened=trail.shows_progress)
            summaries[group] = store.store_summary(group, summary)
        compared = await compare_with_log_starts(self._admin, trails, read, timeout=self._timeout)
        for group, trail in trails.items():
            self._screening.judge(group, trail, compared.get(group))
        await self._empty_groups.search_next()
        while self._screening.apply_changes():
            pass
        self._screening.judge_unsettled()
        return replace(
            snapshot,
            summaries=summaries,
            screened=dict(store.screened),
            state_since=dict(store.state_since),
            appeared=dict(store.appeared),
        )

    async def _forget_missing(self, snapshot: Snapshot) -> None:
        """Delete the stored data of groups that have disappeared.

        A group has disappeared if no broker lists it any more, and it cannot be described: the coordinator says that
        the group does not exist, or the user lacks the permission (see `MissingGroups`).
        """
        # A group that no broker lists may still exist, for example while its coordinator changes. Ask the coordinator.
        store, now = self._store, snapshot.taken_at
        self.missing.listed(snapshot.groups)
        for group in store.groups.keys() - snapshot.groups.keys():
            node = store.groups[group].coordinator
            broker = snapshot.brokers.get(node)
            if broker is None or broker.answered_at is not None:
                self.missing.add(node, (group,))
        if self.missing and (self.missing.due_in == 0.0 or now >= self._check_at):
            while await self.missing.check() and self.missing:
                pass
            self._check_at = now + self.missing.due_in
