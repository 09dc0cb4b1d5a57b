"""Tier 1: the selected group and the rows in view, in full, at every interval."""

from __future__ import annotations

import asyncio
import contextlib
from collections import defaultdict
from typing import TYPE_CHECKING

from kgtui.admin.deadline import Deadline
from kgtui.admin.reading import OFFSETS, has_offsets, read_in_full
from kgtui.errors import KgtuiError
from kgtui.model.answer import fault_of
from kgtui.monitor.health import Read

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence

    from kgtui.admin.base import GroupAdmin
    from kgtui.admin.reading import GroupsRead
    from kgtui.model.answer import Answer, Fault
    from kgtui.model.group import GroupDescription, Listing
    from kgtui.model.series import SeriesStore
    from kgtui.monitor.clockwork import Clockwork
    from kgtui.monitor.options import MonitorOptions
    from kgtui.monitor.store import Store

_PATIENCE = 0.25  # seconds that a read goes on for a group that is not selected any more
_HELD_MOST = 1.0  # seconds of a key held down after which the view is read though it moves


class FocusTier:
    """Keeps what is looked at fresh. The selected group is read alone, and each coordinator's part of the view.

    So no broker holds up what others answer; descriptions are shown before offsets, which need more brokers.
    """

    def __init__(
        self,
        admin: GroupAdmin,
        store: Store,
        series: SeriesStore,
        options: MonitorOptions,
        clockwork: Clockwork,
        changed: Callable[[], None],
        observe: Callable[[Read], None],
    ) -> None:
        self._admin = admin
        self._store = store
        self._series = series
        self._options = options
        self._clock = clockwork
        self._changed = changed
        self._observe = observe
        self._selected: str | None = None
        self._visible: tuple[str, ...] = ()
        self._configs_of: str | None = None
        self._under_way: set[str] = set()
        self._wake_selected = asyncio.Event()
        self._wake_visible = asyncio.Event()

    def look_at(self, selected: str | None, visible: Sequence[str]) -> None:
        """Say what is looked at now; what is new is read at once."""
        if selected != self._selected:
            self._selected = selected
            self._wake_selected.set()
        seen = tuple(group for group in visible if group != selected)[: self._options.focus]
        if set(seen) - set(self._visible) - self._store.details.keys():
            self._wake_visible.set()
        self._visible = seen

    def want_configs(self, group: str | None) -> None:
        """Read this group's configs too while it is selected."""
        if group != self._configs_of:
            self._configs_of = group
            self._wake_selected.set()

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow_selected(), name="read the selected group")
            tasks.create_task(self._follow_visible(tasks), name="read the groups in view")

    async def _follow_selected(self) -> None:
        while True:
            await self._rested(self._wake_selected)
            group = self._selected
            if group is not None and group in self._store.groups:
                await self._unless_woken(self._read_selected(group))
            await self._clock.pause_for(self._clock.interval, wake=self._wake_selected)

    async def _rested(self, wake: asyncio.Event) -> None:
        """Wait until the view holds still for a moment: what a key held down passes over need not be read."""
        end = self._clock.now() + _HELD_MOST
        while wake.is_set():
            wake.clear()
            if self._clock.now() < end:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._options.rest):
                        await wake.wait()

    async def _unless_woken(self, work: Coroutine[object, object, None]) -> None:
        """Until done, or a moment after something else was selected: a silent coordinator holds up no other."""
        reading, woken = asyncio.ensure_future(work), asyncio.ensure_future(self._wake_selected.wait())
        try:
            await asyncio.wait((reading, woken), return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait((reading,), timeout=_PATIENCE)
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
        """Start a read of what each coordinator has in view, of nothing that is still being read.

        When rows come into view, only what is not fresh is read.
        """
        while True:
            scrolled = self._wake_visible.is_set()
            await self._rested(self._wake_visible)
            brokers: dict[int, list[str]] = defaultdict(list)
            for group in self._visible:
                due = group not in self._under_way and not (scrolled and self._fresh(group))
                if due and group in self._store.groups:
                    brokers[self._store.groups[group].coordinator].append(group)
            for node, groups in brokers.items():
                self._under_way.update(groups)
                tasks.create_task(self._read_visible(groups), name=f"read groups in view of broker {node}")
            await self._clock.pause_for(self._clock.interval, wake=self._wake_visible)

    def _fresh(self, group: str) -> bool:
        reading = self._store.details.get(group)
        return reading is not None and self._clock.now() - reading.at < self._clock.interval

    async def _read_visible(self, groups: Sequence[str]) -> None:
        try:
            await self._read(groups)
        finally:
            self._under_way.difference_update(groups)

    async def _read(self, groups: Sequence[str]) -> None:
        listed = {group: row for group in groups if (row := self._store.groups.get(group)) is not None}
        moment = self._moment()
        try:
            deadline = Deadline(self._options.timeout)
            read = await read_in_full(self._admin, deadline, listed, on_described=self._take_descriptions)
        except KgtuiError as error:
            for group in listed:
                self._store.put_fault(group, fault_of(error), ("details", "offsets"))
                self._notice(Read(group, self._clock.now(), None, None, fault=True), moment)
        else:
            faults, offset_faults = read.group_faults(), read.group_faults(OFFSETS)
            for group, listing in listed.items():
                fault_parts = ("offsets",) if group in offset_faults else ()
                self._take(group, listing, read, faults.get(group), fault_parts, moment)
        self._changed()

    def _take_descriptions(self, answer: Answer[Mapping[str, GroupDescription]]) -> None:
        for group, description in answer.rows.items():
            self._store.put_detail(group, description)
        for fault in answer.faults:
            if fault.group is not None:
                self._store.put_fault(fault.group, fault, ("details",))
        self._changed()

    def _moment(self) -> float | None:
        return None if self._clock.moment is None else self._clock.moment()

    def _notice(self, read: Read, moment: float | None) -> None:
        """Have a read judged, as of the moment that it is of; none that goes over from one moment to another."""
        if moment == self._moment():
            self._observe(read if moment is None else read._replace(at=moment))

    def _take(
        self,
        group: str,
        listing: Listing,
        read: GroupsRead,
        fault: Fault | None,
        fault_parts: Sequence[str],
        moment: float | None,
    ) -> None:
        store, now = self._store, self._clock.now()
        description, offsets = read.descriptions.get(group), read.offsets_of(group)
        if offsets is not None:
            store.put_offsets(group, offsets)
        if fault is None:
            store.clear_fault(group)
        else:
            store.put_fault(group, fault, fault_parts)
        if description is not None or offsets is not None:
            summary = store.put_summary(group, now, description, offsets, fault)
            if summary is not None:
                self._series.add(group, now, summary.lag, summary.members, description=description, offsets=offsets)
        untold = description is None or (offsets is None and has_offsets(listing))
        self._notice(Read(group, now, description, offsets, fault=fault is not None or untold), moment)

    async def _read_configs(self, group: str) -> None:
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
