"""Tier 1 (`ViewTier`), the polling loop that reads members and offsets of the selected and visible groups.

This module also contains `DetailTiers`, which runs all polling loops except tier 0 (lists of groups). Importing this
module is slow, so the monitor imports it only after the list of groups is on the screen.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from typing import TYPE_CHECKING

from kgtui.admin.deadline import Deadline
from kgtui.admin.groups_read import OFFSETS
from kgtui.admin.reading import read_in_full
from kgtui.errors import KgtuiError
from kgtui.model.answer import fault_of
from kgtui.model.group_types import may_have_configs
from kgtui.monitor.empty_groups import EmptyGroupSearch, EmptyGroupTier
from kgtui.monitor.health import HealthTier, ReadResult, RetentionTier
from kgtui.monitor.policy import ABANDON_AFTER, ACCESS_MAX_AGE, KEY_REPEAT_LIMIT
from kgtui.monitor.record_times import RecordTimeTier
from kgtui.monitor.screening import Screening
from kgtui.monitor.suspects import SuspectTier
from kgtui.monitor.sweep import SweepTier

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence

    from kgtui.admin.base import GroupAdmin
    from kgtui.admin.groups_read import GroupsRead
    from kgtui.model.answer import Answer, Fault
    from kgtui.model.group import GroupDescription, Listing
    from kgtui.model.offsets import GroupOffsets
    from kgtui.model.series import SeriesStore
    from kgtui.monitor.policy import MonitorOptions
    from kgtui.monitor.poll_timer import PollTimer
    from kgtui.monitor.store import Store


class AccessTier:
    """Polling loop that reads the permissions of the Kafka user that kgtui logs in as.

    The permissions are read every `ACCESS_MAX_AGE` seconds. They are read earlier if the user requests a refresh, if a
    broker refuses a request because of a missing permission, or if a broker answers a request that it refused before.

    Args:
        changed: called after new permissions have been stored.
    """

    def __init__(
        self,
        admin: GroupAdmin,
        store: Store,
        options: MonitorOptions,
        timer: PollTimer,
        changed: Callable[[], None],
    ) -> None:
        self._admin, self._store, self._timeout = admin, store, options.timeout
        self._timer, self._changed = timer, changed

    async def run(self) -> None:
        """Read the permissions until this task is canceled. A failed read is repeated after the polling interval."""
        refreshed = False
        while True:
            max_age = 0.0 if refreshed else ACCESS_MAX_AGE
            try:
                access = await self._admin.access(max_age=max_age, timeout=self._timeout)
            except KgtuiError:
                pass
            else:
                if access != self._store.access:
                    self._store.set_access(access)
                    self._changed()
            refreshed = await self._timer.pause_for(self._timer.interval)


SECOND_READ = 1.0
"""Maximum seconds between the first and the second read of a newly selected group.

Two reads are needed to show whether the lag falls, and how long the group needs to catch up.
"""


class ViewTier:
    """Polling loop of tier 1, which reads members and offsets of the selected and visible groups once per interval.

    The groups of each coordinator are read in a task of their own, so that a broker that hangs delays only its own
    groups. Descriptions are published before offsets, because reading offsets takes longer.

    Args:
        changed: called after each change to the store.
        on_read: called with the result of each read.
        with_times: function that takes a group id and the group's offsets. It returns the offsets together with the
            times at which unread records were written, as far as these times are known.
    """

    def __init__(
        self,
        admin: GroupAdmin,
        store: Store,
        series: SeriesStore,
        options: MonitorOptions,
        timer: PollTimer,
        changed: Callable[[], None],
        on_read: Callable[[ReadResult], None],
        with_times: Callable[[str, GroupOffsets], GroupOffsets],
    ) -> None:
        self._admin = admin
        self._store = store
        self._series = series
        self._options = options
        self._timer = timer
        self._changed = changed
        self._on_read = on_read
        self._with_times = with_times
        self._selected: str | None = None
        self._visible: tuple[str, ...] = ()
        self._configs_of: str | None = None
        self._under_way: set[str] = set()
        self._wake_selected = asyncio.Event()
        self._wake_visible = asyncio.Event()

    def set_view(self, selected: str | None, visible: Sequence[str]) -> None:
        """Set the selected group and the visible groups.

        A newly selected group is read immediately. The visible groups are read immediately, too, if one of them was not
        visible before and has no stored description.
        """
        if selected != self._selected:
            self._selected = selected
            self._wake_selected.set()
        shown = tuple(group for group in visible if group != selected)[: self._options.visible_groups]
        if set(shown) - set(self._visible) - self._store.details.keys():
            self._wake_visible.set()
        self._visible = shown

    def want_configs(self, group: str | None) -> None:
        """Read the configs of `group` too, as long as it is the selected group. If `group` is None, read no configs."""
        if group != self._configs_of:
            self._configs_of = group
            self._wake_selected.set()

    async def run(self) -> None:
        """Read the selected and visible groups until this task is canceled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow_selected(), name="read the selected group")
            tasks.create_task(self._follow_visible(tasks), name="read the visible groups")

    async def _follow_selected(self) -> None:
        followed: str | None = None
        while True:
            await self._settled(self._wake_selected)
            group = self._selected
            interval = self._timer.interval if group == followed else min(self._timer.interval, SECOND_READ)
            followed = group
            if group is not None and group in self._store.groups:
                await self._until_woken(self._read_selected(group))
            await self._timer.pause_for(interval, wake=self._wake_selected)

    async def _settled(self, wake: asyncio.Event) -> None:
        """If the selected or visible groups have changed, wait until no more change follows for `settle_time` seconds.

        Without this wait, kgtui would read groups that are visible for only a moment while the user scrolls. The wait
        takes at most about `KEY_REPEAT_LIMIT` seconds.

        Args:
            wake: event that is set when the selected or visible groups change.
        """
        end = self._timer.now() + KEY_REPEAT_LIMIT
        while wake.is_set():
            wake.clear()
            if self._timer.now() < end:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._options.settle_time):
                        await wake.wait()

    async def _until_woken(self, work: Coroutine[object, object, None]) -> None:
        """Run `work`, which reads the selected group. If another read becomes due, limit the remaining time of `work`.

        Another read becomes due when the user selects another group, or when `want_configs` changes the group whose
        configs are read. If `work` is still running `ABANDON_AFTER` seconds later, it is canceled. Without this limit,
        a coordinator that hangs would delay the other read.
        """
        reading, woken = asyncio.ensure_future(work), asyncio.ensure_future(self._wake_selected.wait())
        try:
            await asyncio.wait((reading, woken), return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait((reading,), timeout=ABANDON_AFTER)
            if reading.done():
                reading.result()
        finally:
            for task in (reading, woken):
                task.cancel()
            await asyncio.gather(reading, woken, return_exceptions=True)

    async def _read_selected(self, group: str) -> None:
        await self._read([group])
        if group == self._configs_of:
            await self._read_configs(group)

    async def _follow_visible(self, tasks: asyncio.TaskGroup) -> None:
        """Read the visible groups once per interval, and earlier after the user has scrolled to new groups.

        A read after scrolling skips groups that were already read during the last interval.
        """
        while True:
            scrolled = self._wake_visible.is_set()
            await self._settled(self._wake_visible)
            self.read_soon([group for group in self._visible if not (scrolled and self._fresh(group))], tasks)
            await self._timer.pause_for(self._timer.interval, wake=self._wake_visible)

    def read_soon(self, groups: Iterable[str], tasks: asyncio.TaskGroup) -> None:
        """Start to read members and offsets of groups, in one task per coordinator.

        Groups that are already being read by an earlier call are skipped.

        Args:
            groups: ids of the groups.
            tasks: task group for the reads.
        """
        brokers: dict[int, list[str]] = defaultdict(list)
        for group in groups:
            if group not in self._under_way and group in self._store.groups:
                brokers[self._store.groups[group].coordinator].append(group)
        for node, ids in brokers.items():
            self._under_way.update(ids)
            tasks.create_task(self._read_in_task(ids), name=f"read groups of broker {node} in full")

    @property
    def in_view(self) -> frozenset[str]:
        """Ids of the selected group and the visible groups."""
        selected = () if self._selected is None else (self._selected,)
        return frozenset((*self._visible, *selected))

    def _fresh(self, group: str) -> bool:
        reading = self._store.details.get(group)
        return reading is not None and self._timer.now() - reading.at < self._timer.interval

    async def _read_in_task(self, groups: Sequence[str]) -> None:
        try:
            await self._read(groups)
        finally:
            self._under_way.difference_update(groups)

    async def _read(self, groups: Sequence[str]) -> None:
        listed = {group: row for group in groups if (row := self._store.groups.get(group)) is not None}
        recorded_at = self._recorded_at()
        try:
            deadline = Deadline(self._options.timeout)
            read = await read_in_full(self._admin, deadline, listed, on_described=self._take_descriptions)
        except KgtuiError as error:
            for group in listed:
                self._store.put_fault(group, fault_of(error), ("details", "offsets"))
                self._report(ReadResult(group, self._timer.now(), None, None, fault=True), recorded_at)
        else:
            faults, offset_faults = read.group_faults(), read.group_faults(OFFSETS)
            for group, listing in listed.items():
                fault_parts = ("offsets",) if group in offset_faults else ()
                self._take(group, listing, read, faults.get(group), fault_parts, recorded_at)
        self._changed()

    def _take_descriptions(self, answer: Answer[Mapping[str, GroupDescription]]) -> None:
        for group, description in answer.rows.items():
            self._store.put_detail(group, description)
        for fault in answer.faults:
            if fault.group is not None:
                self._store.put_fault(fault.group, fault, ("details",))
        self._changed()

    def _recorded_at(self) -> float | None:
        return None if self._timer.recorded_at is None else self._timer.recorded_at()

    def _report(self, result: ReadResult, recorded_at: float | None) -> None:
        """Pass the result of a read to `on_read`.

        In the replay of a recording, the time of the result is the time in the recording, not the current time. If the
        user has moved to another time in the recording since the read began, the result is dropped.

        Args:
            recorded_at: time in the recording that was shown when the read began; None for live data.
        """
        if recorded_at == self._recorded_at():
            self._on_read(result if recorded_at is None else result._replace(at=recorded_at))

    def _take(
        self,
        group: str,
        listing: Listing,
        read: GroupsRead,
        fault: Fault | None,
        fault_parts: Sequence[str],
        recorded_at: float | None,
    ) -> None:
        store, now = self._store, self._timer.now()
        description, offsets = read.descriptions.get(group), read.offsets_of(group)
        if offsets is not None:
            offsets = self._with_times(group, offsets)
            store.put_offsets(group, offsets)
        if fault is None:
            store.clear_fault(group)
        else:
            store.put_fault(group, fault, fault_parts)
        if description is not None or offsets is not None:
            summary = store.put_summary(group, now, description, offsets, fault)
            if summary is not None:
                # If this read did not return the lag, `summary.lag` is from an earlier read, which the time series
                # already contains. Then add the new read to the time series with an unknown lag (None).
                lag = summary.lag if summary.lag_at == now else None
                self._series.add(group, now, lag, summary.members, description=description, offsets=offsets)
        incomplete = description is None or (offsets is None and listing.has_offsets)
        self._report(ReadResult(group, now, description, offsets, fault=fault is not None or incomplete), recorded_at)

    async def _read_configs(self, group: str) -> None:
        listing = self._store.groups.get(group)
        if listing is not None and not may_have_configs(listing.type):
            return
        try:
            answer = await self._admin.group_configs([group], timeout=self._options.timeout)
        except KgtuiError as error:
            self._store.put_config_fault(group, fault_of(error))
        else:
            if group in answer.rows:
                self._store.put_configs(group, answer.rows[group])
            for fault in answer.faults:
                self._store.put_config_fault(group, fault)
        self._changed()


class DetailTiers:
    """Runs all polling loops ("tiers") of the monitor except tier 0, which lists the groups.

    Args:
        changed: called after changes that should be shown soon, such as new data of selected or visible groups.
        changed_in_background: called after less urgent changes, such as new data from background reads, or new health
            verdicts.
    """

    def __init__(
        self,
        admin: GroupAdmin,
        store: Store,
        series: SeriesStore,
        options: MonitorOptions,
        timer: PollTimer,
        changed: Callable[[], None],
        changed_in_background: Callable[[], None],
    ) -> None:
        self._retention = RetentionTier(admin, options, timer)
        screening = Screening(store)
        self._health = HealthTier(
            store, options, timer, changed_in_background, self._retention, on_healthy=screening.clear_suspicion
        )
        self._record_times = RecordTimeTier(admin, store, options, timer, self._retention, self._health, changed)
        self._view = ViewTier(admin, store, series, options, timer, changed, self._health.take, self._record_times.add)
        self._suspects = SuspectTier(
            self._view,
            store,
            options,
            timer,
            self._record_times.set_suspects,
            others=screening.without_problem_to_observe,
        )
        self._sweep = SweepTier(admin, store, screening, options, timer, changed_in_background, changed)
        search = EmptyGroupSearch(admin, store, screening, options.timeout)
        self._empty_groups = EmptyGroupTier(search, timer, lambda: self._view.in_view, changed_in_background)
        self._access = AccessTier(admin, store, options, timer, changed)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tiers:
            for tier in (
                self._view, self._suspects, self._sweep, self._health, self._retention, self._record_times,
                self._access, self._empty_groups,
            ):  # fmt: skip
                tiers.create_task(tier.run())

    def set_view(self, selected: str | None, visible: Sequence[str]) -> None:
        """Set the selected and visible groups, whose members and offsets are read once per interval."""
        self._record_times.set_selected(selected)
        self._view.set_view(selected, visible)
        self._health.set_view(selected)

    def want_configs(self, group: str | None) -> None:
        """Read the configs of `group` too, as long as it is the selected group. If `group` is None, read no configs."""
        self._view.want_configs(group)
