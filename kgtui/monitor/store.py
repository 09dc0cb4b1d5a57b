"""Store the data that the polling loops have read, and create immutable snapshots of it."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from kgtui.model.cluster import ClusterInfo
from kgtui.model.event import EventLog
from kgtui.model.offsets import lag_of_group
from kgtui.model.slices import PAUSE, SLICE
from kgtui.model.snapshot import BrokerStatus, ChangeLog, Reading, Snapshot
from kgtui.model.summary import Topics, summary_of
from kgtui.monitor.event_tracker import EventTracker
from kgtui.monitor.gc_tuning import untrack
from kgtui.monitor.listing_index import ListingIndex, ListingMoves
from kgtui.monitor.screened_groups import ScreenedGroups

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from kgtui.admin.base import ListingDelta
    from kgtui.model.access import Access
    from kgtui.model.answer import Fault
    from kgtui.model.empty_reason import StateSearch
    from kgtui.model.group import GroupConfig, GroupDescription, Listing
    from kgtui.model.health import GroupHealth
    from kgtui.model.judgment import Judgment
    from kgtui.model.offsets import GroupOffsets
    from kgtui.model.summary import Summary

T = TypeVar("T")

_LIVE = ("summaries", "state_since", "appeared", "screened")
"""Names of the store's mappings that are not copied for a snapshot, because copying 100,000 entries takes too long.

Instead, a snapshot contains a read-only view of each of these mappings, which also shows later changes.
"""


class Store:
    """The newest data of all groups of a cluster, which the polling loops of a monitor have read.

    Call all methods on the same event loop.

    Args:
        keep: maximum number of groups whose descriptions, offsets and configs are kept.
        clock: returns the current time, in seconds since the epoch.
        events: finds events, such as a member that joined, in the changes of the data; None to find no events.

    Attributes:
        events: the `EventTracker` from the argument `events`, or one that keeps no events.
        changes: log of the groups whose data has changed.
        unread_since: id of an Empty group → time in epoch seconds. In each partition with unread records, the oldest
            unread record was written at this time or earlier.
        on_state_change: function that is called when a new or changed state of a group is listed, with the group id,
            its earlier `Listing` (None if the group is new) and its new `Listing`; or None.
        on_first_list: function that is called after the first list of a broker was stored; or None.
    """

    def __init__(self, keep: int, clock: Callable[[], float] = time.time, events: EventTracker | None = None) -> None:
        self._clock = clock
        self._keep = keep
        self.events = events or EventTracker(EventLog(0), 0)
        self.cluster = ClusterInfo(None)
        self.groups: dict[str, Listing] = {}
        self.listing_index = ListingIndex()
        self.by_listing = self.listing_index.by_listing
        self.summaries: dict[str, Summary] = {}
        self.details: OrderedDict[str, Reading[GroupDescription]] = OrderedDict()
        self.offsets: OrderedDict[str, Reading[GroupOffsets]] = OrderedDict()
        self.configs: OrderedDict[str, Reading[tuple[GroupConfig, ...]]] = OrderedDict()
        self.health: dict[str, GroupHealth] = {}
        self.state_since: dict[str, float] = {}
        self.appeared: dict[str, None] = {}
        self.state_search: StateSearch | None = None
        self.screening = ScreenedGroups()
        self.screened = self.screening.judgments
        self.changes = ChangeLog()
        self.unread_since: dict[str, float] = {}
        self.unobserved = 0
        self.on_state_change: Callable[[str, Listing | None, Listing], None] | None = None
        self.on_first_list: Callable[[], None] | None = None
        self.brokers: dict[int, BrokerStatus] = {}
        self.group_faults: dict[str, Fault] = {}
        self.faults: tuple[Fault, ...] = ()
        self.access: Access | None = None
        self.topics = Topics()
        self._stale: set[str] = {
            "groups", "by_listing", "details", "offsets", "configs", "health", "brokers", "group_faults"
        }  # fmt: skip
        self._frozen: dict[str, Any] = {part: MappingProxyType(getattr(self, part)) for part in _LIVE}
        self._serial = 0
        # Number of groups that were removed from `self.groups` since `snapshot` last replaced this dict with a copy.
        self._forgotten = 0

    def now(self) -> float:
        """Return the time in seconds since the epoch."""
        return self._clock()

    async def take_list(self, node: int, delta: ListingDelta, *, first: bool) -> None:
        """Store the changes in a broker's list of groups, in steps between which other tasks run.

        Groups that are no longer listed stay until `drop` is called.

        Args:
            delta: the changes since the previous list.
            first: whether this is the broker's first list. A first list does not show when a group's state began.
        """
        moves = ListingMoves()
        now = self._clock()
        self.state_search = delta.state_search or self.state_search
        rows = list(delta.updated.items())
        try:
            for start in range(0, len(rows), SLICE):
                for group, listing in rows[start : start + SLICE]:
                    self._relist(group, listing, moves, now, first=first)
                if start + SLICE < len(rows):
                    await asyncio.sleep(PAUSE)
        finally:
            # Update the index even if the task is canceled, because `self.groups` already contains some of the changes.
            self._update_index(moves)
        if delta.state_search is not None:
            self._set_state_times(delta.state_since)
        if first and self.on_first_list is not None:
            self.on_first_list()

    def _set_state_times(self, times: Mapping[str, float | None]) -> None:
        """Store the times at which the current states of groups began.

        Args:
            times: group id → time in seconds since the epoch; None if it is not known.
        """
        for group, at in times.items():
            if at is None:
                self.state_since.pop(group, None)
            elif group in self.groups:
                self.state_since[group] = at
            self.changes.add(group)
        self._stale.add("state_since")

    def drop(self, node: int, groups: Iterable[str]) -> None:
        """Remove groups that a broker no longer lists, unless another broker has listed them in the meantime."""
        known = self.groups
        self.forget([group for group in groups if group in known and known[group].coordinator == node])

    def forget(self, groups: Iterable[str]) -> None:
        """Remove groups that no longer exist."""
        moves = ListingMoves()
        gone = {group: self.groups[group] for group in groups if group in self.groups}
        for group, old in gone.items():
            self._forget(group, old, moves)
        self.events.gone(tuple(gone.items()), self._clock())
        self._update_index(moves)

    def _update_index(self, moves: ListingMoves) -> None:
        self.listing_index.update(moves, self.groups)
        if moves:
            self._stale |= {"groups", "by_listing"}

    def _relist(self, group: str, listing: Listing, moves: ListingMoves, now: float, *, first: bool) -> None:
        old = self.groups.get(group)
        if old == listing:
            return
        if old is not None or not first:
            self.events.listed(group, old, listing, now)
        if old is not None:
            group = self.listing_index.stored_id(group, old)
            moves.left[old].append(group)
        self.groups[group] = listing
        self.changes.add(group)
        moves.joined[listing].append(group)
        if not first and (old is None or old.state != listing.state):
            if self.state_search is None:
                self.state_since[group] = now
                if old is None:
                    self.appeared[group] = None
                else:
                    self.appeared.pop(group, None)
                self._stale |= {"state_since", "appeared"}
            if self.on_state_change is not None:
                self.on_state_change(group, old, listing)

    def _forget(self, group: str, old: Listing, moves: ListingMoves) -> None:
        del self.groups[group]
        self._forgotten += 1
        moves.left[old].append(group)
        self.changes.add(group)
        self.unread_since.pop(group, None)
        self.appeared.pop(group, None)
        self.screening.put(group, None)
        for part in ("summaries", "details", "offsets", "configs", "health", "state_since", "group_faults"):
            if getattr(self, part).pop(group, None) is not None:
                self._stale.add(part)

    def set_broker(self, node: int, **changes: object) -> None:
        """Change the given attributes of a broker's status."""
        status = self.brokers.get(node) or BrokerStatus(node, self.cluster.address(node) or f"broker {node}")
        self.brokers[node] = after = replace(status, **changes)  # type: ignore[arg-type]
        self.events.broker_polled(status, after, self._clock())
        self._stale.add("brokers")

    def drop_broker(self, node: int) -> None:
        """Remove a broker that has left the cluster."""
        if self.brokers.pop(node, None) is not None:
            self._stale.add("brokers")

    def set_faults(self, faults: tuple[Fault, ...]) -> None:
        """Replace the errors that concern the cluster as a whole."""
        if faults != self.faults:
            self.faults = faults
            self._stale.add("brokers")

    def set_cluster(self, cluster: ClusterInfo) -> None:
        """Store new metadata of the cluster."""
        self.cluster = cluster
        for node, broker in cluster.brokers.items():
            self.set_broker(node, address=broker.address)

    def put_summary(
        self,
        group: str,
        at: float,
        description: GroupDescription | None = None,
        offsets: GroupOffsets | None = None,
        fault: Fault | None = None,
        *,
        memberless: bool = False,
    ) -> Summary | None:
        """Store and return the summary of a group: a few values from its reads, such as the lag.

        If the group no longer exists, return None. If the offsets could not be read, the summary keeps the lag of the
        last successful read.

        Args:
            at: time of the read, in seconds since the epoch.
            memberless: True if the group was not described, because its listed state shows that it has no members.
        """
        if group not in self.groups:
            return None
        self.track_members(group, at, description, memberless=memberless)
        sums = lag_of_group(offsets) if offsets else None
        topics = [topic for topic, _ in offsets.partitions] if offsets else None
        if offsets is None and not self.groups[group].has_offsets:
            topics = []
        return self.store_summary(group, summary_of(
            description, sums, topics, fault, at,
            memberless=memberless, shared=self.topics, earlier=self.summaries.get(group),
        ))  # fmt: skip

    def store_summary(self, group: str, summary: Summary) -> Summary:
        """Store the summary of a group (a few values from its reads), and return it. The group must exist."""
        self.summaries[group] = untrack(summary)
        self.changes.add(group)
        self._stale.add("summaries")
        return summary

    def put_screened(self, group: str, judgment: Judgment | None) -> None:
        """Store the judgment on a group by screening, the quick background check of all groups.

        Args:
            judgment: None if screening has found no problem.
        """
        if self.screened.get(group) is not judgment:
            self._stale.add("screened")
            self.changes.add(group)
            if self.screening.put(group, judgment):
                self.events.judged(group)

    def track_members(self, group: str, at: float, description: GroupDescription | None, *, memberless: bool) -> None:
        """Pass the newest members of a group to the event tracker, which finds members that joined or left.

        Args:
            at: time of the read, in seconds since the epoch.
            description: the new description; None if the group was not described.
            memberless: True if the group was not described, because its listed state shows that it has no members.
        """
        listing = self.groups[group]
        if description is not None:
            self.events.described(description, listing, at, in_full=group in self.details)
        elif memberless and (broker := self.brokers.get(listing.coordinator)) is not None:
            self.events.listed_without_members(group, listing, broker.answered_at, at)

    def set_unobserved(self, count: int) -> None:
        """Store how many groups have a possible problem, but are read as rarely as healthy groups.

        kgtui reads groups with a possible problem more often, but at most `MonitorOptions.suspects` of them.
        """
        if count != self.unobserved:
            self.unobserved = count
            self._stale.add("screened")

    def set_access(self, access: Access) -> None:
        """Store the permissions of the user, which show whether brokers can hide offsets from this user."""
        self.access = access
        self._stale.add("brokers")

    def put_detail(self, group: str, value: GroupDescription) -> None:
        if self._keep_reading(self.details, "details", group, value):
            self.track_members(group, self._clock(), value, memberless=False)

    def put_offsets(self, group: str, value: GroupOffsets) -> None:
        before = self.offsets.get(group)
        if self._keep_reading(self.offsets, "offsets", group, value):
            self.events.offsets_read(group, self.groups[group], before.value if before else None, value, self._clock())

    def extend_offsets(self, group: str, extend: Callable[[GroupOffsets], GroupOffsets]) -> None:
        """Replace the stored offsets of a group with `extend(offsets)`. The time of the read stays the same."""
        if (reading := self.offsets.get(group)) is not None:
            self.offsets[group] = replace(reading, value=extend(reading.value))
            self._stale.add("offsets")

    def put_configs(self, group: str, value: tuple[GroupConfig, ...]) -> None:
        before = self.configs.get(group)
        if self._keep_reading(self.configs, "configs", group, value) and before is not None and before.value:
            self.events.configs_read(group, self.groups[group], before.value, value, self._clock())

    def put_health(self, group: str, health: GroupHealth) -> None:
        """Store the health verdict on a group, if the group still exists."""
        if group in self.groups:
            self.health[group] = health
            self.changes.add(group)
            self._stale.add("health")
            self.events.judged(group)

    def drop_health(self, group: str) -> None:
        """Remove the health verdict on a group whose reads are no longer stored."""
        if self.health.pop(group, None) is not None:
            self.changes.add(group)
            self._stale.add("health")

    def _keep_reading(self, part: OrderedDict[str, Reading[T]], name: str, group: str, value: T) -> bool:
        if group not in self.groups:  # the group was deleted while its data was read
            return False
        part[group] = Reading(value, self._clock())
        part.move_to_end(group)
        self._stale.add(name)
        while len(part) > self._keep:
            part.popitem(last=False)
        return True

    def put_fault(self, group: str, fault: Fault, parts: Sequence[str] = ()) -> None:
        """Store why a group could not be read.

        Args:
            parts: names of the store's attributes for the data that could not be read, such as `details`. These
                attributes keep the data of the last successful read, and the fault is added to this data.
        """
        if group not in self.groups:
            return
        for name in parts:
            part: OrderedDict[str, Reading[object]] = getattr(self, name)
            if group in part:
                part[group] = replace(part[group], fault=fault)
                self._stale.add(name)
        if self.group_faults.get(group) != fault:
            self.group_faults[group] = fault
            self.changes.add(group)
            self._stale.add("group_faults")

    def put_config_fault(self, group: str, fault: Fault) -> None:
        """Store why the configs of a group could not be read. The configs of the last successful read stay stored."""
        if group not in self.groups:
            return
        last = self.configs.get(group)
        self.configs[group] = Reading(last.value if last else (), last.at if last else self._clock(), fault)
        self._stale.add("configs")

    def clear_fault(self, group: str) -> None:
        """Remove the fault of a group, because the group has been read successfully again."""
        if self.group_faults.pop(group, None) is not None:
            self.changes.add(group)
            self._stale.add("group_faults")

    @property
    def dirty(self) -> bool:
        """Whether any data in the store has changed since the last snapshot."""
        return bool(self._stale)

    def snapshot(self) -> Snapshot:
        """Return a snapshot, which shares unchanged data with the previous snapshot.

        The mappings in `_LIVE` are not copied. The snapshot has read-only views of them, which also show later changes.
        """
        if self._forgotten > len(self.groups) // 3:
            self.groups, self._forgotten = dict(self.groups), 0
        for part in self._stale.difference(_LIVE):
            # `dict.copy` is up to ten times as fast as `dict(…)`, but it is slow if many entries were removed from the
            # dict. Therefore, the code above replaces `self.groups` with a new dict after many removals.
            self._frozen[part] = untrack(getattr(self, part).copy())
        self._stale.clear()
        self._serial += 1
        return Snapshot(
            serial=self._serial,
            taken_at=self._clock(),
            cluster=self.cluster,
            faults=self.faults,
            state_search=self.state_search,
            swept=len(self.summaries),
            access=self.access,
            unobserved=self.unobserved,
            changes=self.changes.mark,
            found_problems=self.events.found,
            **self._frozen,
        )
