"""All that is known of the groups, changed in place by the tiers and published as frozen snapshots."""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_left
from collections import OrderedDict, defaultdict
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

from kgtui.model.cluster import ClusterInfo
from kgtui.model.offsets import lag_of_group
from kgtui.model.slices import PAUSE, SLICE
from kgtui.model.snapshot import BrokerStatus, Reading, Snapshot
from kgtui.model.summary import Topics, summary_of
from kgtui.monitor.gc_tuning import untrack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from kgtui.admin.base import ListingDelta
    from kgtui.model.answer import Fault
    from kgtui.model.group import GroupConfig, GroupDescription, Listing
    from kgtui.model.health import GroupHealth
    from kgtui.model.offsets import GroupOffsets
    from kgtui.model.snapshot import Summary

T = TypeVar("T")

_LIVE = ("summaries", "state_since")  # parts that all snapshots share: copies of 100,000 entries cost too much
_FEW = 8  # ids of a sorted list to each change of it, from which bisecting is cheaper than sorting again


class Store:
    """What the tiers know. Everything happens on one event loop.

    Args:
        keep: how many groups' details are kept.
        clock: seconds since the epoch.
    """

    def __init__(self, keep: int, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._keep = keep
        self.cluster = ClusterInfo(None)
        self.groups: dict[str, Listing] = {}
        self.by_listing: dict[Listing, list[str]] = {}
        self.summaries: dict[str, Summary] = {}
        self.details: OrderedDict[str, Reading[GroupDescription]] = OrderedDict()
        self.offsets: OrderedDict[str, Reading[GroupOffsets]] = OrderedDict()
        self.configs: OrderedDict[str, Reading[tuple[GroupConfig, ...]]] = OrderedDict()
        self.health: dict[str, GroupHealth] = {}
        self.state_since: dict[str, float] = {}
        self.brokers: dict[int, BrokerStatus] = {}
        self.group_faults: dict[str, Fault] = {}
        self.faults: tuple[Fault, ...] = ()
        self._topics = Topics()
        self._stale: set[str] = {
            "groups", "by_listing", "details", "offsets", "configs", "health", "brokers", "group_faults"
        }  # fmt: skip
        self._frozen: dict[str, Mapping[Any, Any]] = {part: MappingProxyType(getattr(self, part)) for part in _LIVE}
        self._serial = 0
        self._forgotten = 0  # groups since `groups` was made

    # -- lists -------------------------------------------------------------------------------------------------

    async def take_list(self, node: int, delta: ListingDelta, *, first: bool) -> None:
        """Merge what is new and changed in one broker's list, in slices; what left the list is for `drop`.

        Args:
            first: whether this is the broker's first list: states then began before we looked.
        """
        joined: dict[Listing, list[str]] = defaultdict(list)
        left: dict[Listing, list[str]] = defaultdict(list)
        now = self._clock()
        rows = list(delta.updated.items())
        try:
            for start in range(0, len(rows), SLICE):
                for group, listing in rows[start : start + SLICE]:
                    self._relist(group, listing, joined, left, None if first else now)
                if start + SLICE < len(rows):
                    await asyncio.sleep(PAUSE)
        finally:  # also when the broker left in between
            self._move(joined, left)

    def drop(self, node: int, groups: Iterable[str]) -> None:
        """Forget groups of a broker that are gone; those that another one coordinates by now stay."""
        known = self.groups
        self.forget([group for group in groups if group in known and known[group].coordinator == node])

    def forget(self, groups: Iterable[str]) -> None:
        """Forget groups that are gone."""
        left: dict[Listing, list[str]] = defaultdict(list)
        for group in groups:
            old = self.groups.get(group)
            if old is not None:
                self._forget(group, old, left)
        self._move({}, left)

    def coordinated_by(self, node: int) -> set[str]:
        """The groups that a broker was the last to list."""
        mine = (ids for listing, ids in self.by_listing.items() if listing.coordinator == node)
        return {group for ids in mine for group in ids}

    def _relist(
        self,
        group: str,
        listing: Listing,
        joined: dict[Listing, list[str]],
        left: dict[Listing, list[str]],
        now: float | None,
    ) -> None:
        old = self.groups.get(group)
        if old == listing:
            return
        if old is not None:
            group = self._same(group, old)
            left[old].append(group)
        self.groups[group] = listing
        joined[listing].append(group)
        if now is not None and (old is None or old.state != listing.state):
            self.state_since[group] = now
            self._stale.add("state_since")

    def _same(self, group: str, listing: Listing) -> str:
        """The id as it is kept already: with each list it comes anew, and 100,000 of them must not be kept twice."""
        ids = self.by_listing.get(listing, ())
        at = bisect_left(ids, group)
        return ids[at] if at < len(ids) and ids[at] == group else group

    def _forget(self, group: str, old: Listing, left: dict[Listing, list[str]]) -> None:
        del self.groups[group]
        self._forgotten += 1
        left[old].append(group)
        for part in ("summaries", "details", "offsets", "configs", "health", "state_since", "group_faults"):
            if getattr(self, part).pop(group, None) is not None:
                self._stale.add(part)

    def _move(self, joined: dict[Listing, list[str]], left: dict[Listing, list[str]]) -> None:
        """Bring the sorted ids per listing up to date; each changed list is replaced, since snapshots share them."""
        for listing in joined.keys() | left.keys():
            ids = self.by_listing.get(listing, [])
            # Another broker's list may have moved a group on while this one was taken in.
            come = [group for group in joined.get(listing, ()) if self.groups.get(group) == listing]
            gone = left.get(listing, [])
            if (len(come) + len(gone)) * _FEW <= len(ids):
                ids = _patched(ids, come, gone)
            else:
                out = {*gone, *come}
                ids = [group for group in ids if group not in out] if ids else []
                ids.extend(come)
                ids.sort()
            if ids:
                self.by_listing[listing] = untrack(ids)
            else:
                self.by_listing.pop(listing, None)
        if joined or left:
            self._stale |= {"groups", "by_listing"}

    # -- brokers, readings, faults -----------------------------------------------------------------------------

    def set_broker(self, node: int, **changes: object) -> None:
        """Change what is known of how a broker answers."""
        status = self.brokers.get(node)
        if status is None:
            broker = self.cluster.brokers.get(node)
            status = BrokerStatus(node, broker.address if broker else f"broker {node}")
        self.brokers[node] = replace(status, **changes)  # type: ignore[arg-type]
        self._stale.add("brokers")

    def drop_broker(self, node: int) -> None:
        """Forget a broker that has left the cluster."""
        if self.brokers.pop(node, None) is not None:
            self._stale.add("brokers")

    def set_faults(self, faults: tuple[Fault, ...]) -> None:
        """Replace what concerns the cluster as a whole."""
        if faults != self.faults:
            self.faults = faults
            self._stale.add("brokers")

    def set_cluster(self, cluster: ClusterInfo) -> None:
        """Take over new metadata."""
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
        """Keep the summary of what was read of a group, if it still exists; returns it.

        Args:
            at: seconds since the epoch when it was read.
            memberless: the list says that there are no members, so it was not described.
        """
        if group not in self.groups:
            return None
        sums = lag_of_group(offsets) if offsets else None
        topics = (topic for topic, _ in offsets.partitions) if offsets else ()
        summary = summary_of(description, sums, topics, fault, at, memberless=memberless, shared=self._topics)
        self.summaries[group] = untrack(summary)
        self._stale.add("summaries")
        return summary

    def put_detail(self, group: str, value: GroupDescription) -> None:
        """Keep a description."""
        self._keep_reading(self.details, "details", group, value)

    def put_offsets(self, group: str, value: GroupOffsets) -> None:
        """Keep offsets."""
        self._keep_reading(self.offsets, "offsets", group, value)

    def put_configs(self, group: str, value: tuple[GroupConfig, ...]) -> None:
        """Keep configs."""
        self._keep_reading(self.configs, "configs", group, value)

    def put_health(self, group: str, health: GroupHealth) -> None:
        """Keep how a group does, if it still exists."""
        if group in self.groups:
            self.health[group] = health
            self._stale.add("health")

    def drop_health(self, group: str) -> None:
        """A group is not observed any more."""
        if self.health.pop(group, None) is not None:
            self._stale.add("health")

    def _keep_reading(self, part: OrderedDict[str, Reading[T]], name: str, group: str, value: T) -> None:
        if group not in self.groups:  # deleted while it was read
            return
        part[group] = Reading(value, self._clock())
        part.move_to_end(group)
        self._stale.add(name)
        while len(part) > self._keep:
            part.popitem(last=False)

    def put_fault(self, group: str, fault: Fault, parts: Sequence[str] = ()) -> None:
        """Remember why a group could not be read; values read before are kept and carry the fault."""
        if group not in self.groups:
            return
        for name in parts:
            part: OrderedDict[str, Reading[object]] = getattr(self, name)
            if group in part:
                part[group] = replace(part[group], fault=fault)
                self._stale.add(name)
        if self.group_faults.get(group) != fault:
            self.group_faults[group] = fault
            self._stale.add("group_faults")

    def put_config_fault(self, group: str, fault: Fault) -> None:
        """Remember why configs could not be read; an empty reading carries the fault where there is none yet."""
        if group not in self.groups:
            return
        last = self.configs.get(group)
        self.configs[group] = Reading(last.value if last else (), last.at if last else self._clock(), fault)
        self._stale.add("configs")

    def clear_fault(self, group: str) -> None:
        """A group could be read again."""
        if self.group_faults.pop(group, None) is not None:
            self._stale.add("group_faults")

    # -- snapshots ---------------------------------------------------------------------------------------------

    @property
    def dirty(self) -> bool:
        """Whether a snapshot would differ from the last one."""
        return bool(self._stale)

    def snapshot(self) -> Snapshot:
        """A frozen copy; parts that did not change are shared with the one before, and some with all (`_LIVE`)."""
        if self._forgotten > len(self.groups) // 3:
            self.groups, self._forgotten = dict(self.groups), 0
        for part in self._stale.difference(_LIVE):
            # Where entries were taken away, `dict()` of 100,000 takes ten times as long as their `copy`, until that
            # many were taken away that a copy takes as long, too.
            self._frozen[part] = untrack(getattr(self, part).copy())
        self._stale.clear()
        self._serial += 1
        return Snapshot(
            serial=self._serial,
            taken_at=self._clock(),
            cluster=self.cluster,
            faults=self.faults,
            swept=len(self.summaries),
            **self._frozen,
        )


def _patched(ids: list[str], come: Iterable[str], gone: Iterable[str]) -> list[str]:
    """A sorted copy with some changes; what lies between two of them is copied in one go."""
    kept: list[str] = []
    start = 0
    places = {at for group in gone if (at := bisect_left(ids, group)) < len(ids) and ids[at] == group}
    for at in sorted(places):
        kept += ids[start:at]
        start = at + 1
    kept += ids[start:]
    patched: list[str] = []
    start = 0
    for group in sorted(come):
        at = bisect_left(kept, group, start)
        patched += kept[start:at]
        patched.append(group)
        start = at
    patched += kept[start:]
    return patched
