"""Tier 1: the selected group and the rows in view, in full, at every interval."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from kgtui.admin.reading import read_groups
from kgtui.errors import KgtuiError
from kgtui.model.answer import fault_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kgtui.admin.base import GroupAdmin
    from kgtui.admin.reading import GroupsRead
    from kgtui.model.series import SeriesStore
    from kgtui.monitor.clockwork import Clockwork
    from kgtui.monitor.options import MonitorOptions
    from kgtui.monitor.store import Store
    from kgtui.monitor.summarising import Summariser


class FocusTier:
    """Keeps what is looked at fresh. The selected group is read alone, so that no other can hold it up."""

    def __init__(
        self,
        admin: GroupAdmin,
        store: Store,
        series: SeriesStore,
        summariser: Summariser,
        options: MonitorOptions,
        clockwork: Clockwork,
        changed: Callable[[], None],
    ) -> None:
        self._admin = admin
        self._store = store
        self._series = series
        self._summariser = summariser
        self._options = options
        self._clock = clockwork
        self._changed = changed
        self._selected: str | None = None
        self._visible: tuple[str, ...] = ()
        self._configs_of: str | None = None
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
        await asyncio.gather(self._follow_selected(), self._follow_visible())

    async def _follow_selected(self) -> None:
        while True:
            self._wake_selected.clear()
            group = self._selected
            if group is not None and group in self._store.groups:
                await self._read([group])
                if group == self._configs_of:
                    await self._read_configs(group)
            await self._clock.pause_for(self._clock.interval, wake=self._wake_selected)

    async def _follow_visible(self) -> None:
        while True:
            self._wake_visible.clear()
            groups = [group for group in self._visible if group in self._store.groups]
            if groups:
                await self._read(groups)
            await self._clock.pause_for(self._clock.interval, wake=self._wake_visible)

    async def _read(self, groups: Sequence[str]) -> None:
        listed = {group: self._store.groups[group] for group in groups}
        try:
            read = await read_groups(self._admin, listed, timeout=self._options.timeout)
        except KgtuiError as error:
            for group in groups:
                self._store.put_fault(group, fault_of(error), ("details", "offsets"))
        else:
            for group in groups:
                self._take(group, read)
        self._changed()

    def _take(self, group: str, read: GroupsRead) -> None:
        store, now = self._store, self._clock.now()
        if group not in store.groups:
            return
        description, offsets = read.descriptions.get(group), read.offsets.get(group)
        if description is not None:
            store.put_detail(group, description)
        if offsets is not None:
            store.put_offsets(group, offsets)
        fault = read.fault(group)
        if fault is None:
            store.clear_fault(group)
        else:
            parts = [
                part
                for part, faults in (("details", read.describe_faults), ("offsets", read.offset_faults))
                if group in faults
            ]
            store.put_fault(group, fault, parts)
        if description is not None or offsets is not None:
            summary = self._summariser.summary(description, offsets, fault, now)
            store.put_summary(group, summary)
            self._series.add(group, now, summary.lag, summary.members)

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
