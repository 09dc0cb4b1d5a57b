"""Tier 2: a fair sweep over all groups for members and lag, working groups first, within a budget."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from kgtui.admin.deadline import Deadline
from kgtui.admin.reading import Logs, read_groups
from kgtui.errors import KgtuiError
from kgtui.model.answer import fault_of
from kgtui.model.group_types import DEAD, EMPTY
from kgtui.model.slices import PAUSE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kgtui.admin.base import GroupAdmin
    from kgtui.admin.reading import GroupsRead
    from kgtui.model.answer import Fault
    from kgtui.monitor.clockwork import Clockwork
    from kgtui.monitor.options import MonitorOptions
    from kgtui.monitor.store import Store

_SOME = 20  # summaries made before other work may run
HALVED_AT = 35_000  # groups at which the sweep's rate is half of the one that was set


class SweepTier:
    """Reads every group in turn, a batch of one coordinator at a time, and keeps a summary of each."""

    def __init__(
        self,
        admin: GroupAdmin,
        store: Store,
        options: MonitorOptions,
        clockwork: Clockwork,
        changed: Callable[[], None],
    ) -> None:
        self._admin = admin
        self._store = store
        self._options = options
        self._clock = clockwork
        self._changed = changed
        self._sweeps: dict[int, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Until cancelled. Each coordinator has a sweep of its own: a slow one holds up only its own groups."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                for node in {listing.coordinator for listing in self._store.by_listing} - self._sweeps.keys():
                    self._sweeps[node] = tasks.create_task(self._sweep_broker(node), name=f"sweep of broker {node}")
                await self._clock.pause_for(min(1.0, self._options.sweep_pause))

    async def _sweep_broker(self, node: int) -> None:
        """One coordinator's groups, again and again, at its share of the rate, until it has none."""
        options = self._options
        while groups := self._in_turn(node):
            started = self._clock.now()
            for start in range(0, len(groups), options.sweep_batch):
                began = self._clock.now()
                batch = [group for group in groups[start : start + options.sweep_batch] if group in self._store.groups]
                read = not batch or await self._read(batch)
                # One that fails is left alone for a while; the groups that come after have their turn all the same.
                pause = len(batch) * len(self._sweeps) / self._rate() if read else options.sweep_pause
                await self._clock.pause_for(pause - (self._clock.now() - began))
            await self._clock.pause_for(options.sweep_pause - (self._clock.now() - started))
        del self._sweeps[node]

    def _rate(self) -> float:
        """Groups a second, all brokers together: the more the lists cost already, the less is left for the sweep."""
        return self._options.sweep_rate / (1 + len(self._store.groups) / HALVED_AT)

    def _in_turn(self, node: int) -> list[str]:
        """Every group of a coordinator, working ones before Empty ones."""
        mine = [(listing, ids) for listing, ids in self._store.by_listing.items() if listing.coordinator == node]
        mine.sort(key=lambda item: item[0].state in (EMPTY, DEAD))
        return [group for _, ids in mine for group in ids]

    async def _read(self, groups: Sequence[str]) -> bool:
        """Read a batch; False when its coordinator told nothing at all, not even an error."""
        listed = {group: self._store.groups[group] for group in groups}
        memberless = {group for group, row in listed.items() if row.state == EMPTY and row.type is not None}
        try:
            read = await read_groups(
                self._admin,
                Deadline(self._options.timeout),
                describe=[group for group in listed if group not in memberless],
                offsets=listed,
                logs=Logs.ENDS,
            )
        except KgtuiError as error:
            for group in groups:
                self._store.put_fault(group, fault_of(error))
            self._changed()
            return False
        faults = read.group_faults()
        now = self._clock.now()  # one object: a float for each of 100,000 groups is 2.4 MB
        for start in range(0, len(groups), _SOME):
            for group in groups[start : start + _SOME]:
                self._take(group, read, faults.get(group), now, memberless=group in memberless)
            await asyncio.sleep(PAUSE)
        self._changed()
        return not faults or bool(read.descriptions) or any(fault.code is not None for fault in faults.values())

    def _take(self, group: str, read: GroupsRead, fault: Fault | None, now: float, *, memberless: bool) -> None:
        description, offsets = read.descriptions.get(group), read.offsets_of(group)
        if fault is not None:
            self._store.put_fault(group, fault)
        else:
            self._store.clear_fault(group)
        if description is not None or offsets is not None or (memberless and fault is None):
            self._store.put_summary(group, now, description, offsets, fault, memberless=memberless)
