"""Tier 2: a fair sweep over all groups for members and lag, working groups first, within a budget."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING

from kgtui.admin.reading import read_groups
from kgtui.errors import KgtuiError
from kgtui.model.answer import fault_of
from kgtui.model.group import DEAD, EMPTY
from kgtui.monitor.options import PAUSE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from kgtui.admin.base import GroupAdmin
    from kgtui.admin.reading import GroupsRead
    from kgtui.monitor.clockwork import Clockwork
    from kgtui.monitor.options import MonitorOptions
    from kgtui.monitor.store import Store
    from kgtui.monitor.summarising import Summariser

_SOME = 20  # summaries made before other work may run


class SweepTier:
    """Reads every group in turn, a batch of one coordinator at a time, and keeps a summary of each."""

    def __init__(
        self,
        admin: GroupAdmin,
        store: Store,
        summariser: Summariser,
        options: MonitorOptions,
        clockwork: Clockwork,
        changed: Callable[[], None],
    ) -> None:
        self._admin = admin
        self._store = store
        self._summariser = summariser
        self._options = options
        self._clock = clockwork
        self._changed = changed

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            started = self._clock.now()
            brokers: dict[int, list[str]] = defaultdict(list)
            for group in self._in_turn():
                brokers[self._store.groups[group].coordinator].append(group)
            if brokers:
                await asyncio.gather(*(self._sweep_broker(ids, len(brokers)) for ids in brokers.values()))
                await self._clock.pause_for(self._options.sweep_pause - (self._clock.now() - started))
            else:
                await self._clock.pause_for(min(1.0, self._options.sweep_pause))

    def _in_turn(self) -> Iterator[str]:
        """Every group, working ones before Empty ones."""
        by_listing = sorted(self._store.by_listing.items(), key=lambda item: item[0].state in (EMPTY, DEAD))
        for _, ids in by_listing:
            yield from ids

    async def _sweep_broker(self, groups: Sequence[str], brokers: int) -> None:
        """One broker's groups, in batches, at its share of the rate: a slow broker holds up only its own."""
        size = self._options.sweep_batch
        for start in range(0, len(groups), size):
            batch = [group for group in groups[start : start + size] if group in self._store.groups]
            began = self._clock.now()
            if batch:
                await self._read(batch)
            share = self._options.sweep_rate / brokers
            await self._clock.pause_for(len(batch) / share - (self._clock.now() - began))

    async def _read(self, groups: Sequence[str]) -> None:
        listed = {group: self._store.groups[group] for group in groups}
        try:
            read = await read_groups(self._admin, listed, timeout=self._options.timeout)
        except KgtuiError as error:
            for group in groups:
                self._store.put_fault(group, fault_of(error))
        else:
            for start in range(0, len(groups), _SOME):
                for group in groups[start : start + _SOME]:
                    self._take(group, read)
                await asyncio.sleep(PAUSE)
        self._changed()

    def _take(self, group: str, read: GroupsRead) -> None:
        fault = read.fault(group)
        description, offsets = read.descriptions.get(group), read.offsets.get(group)
        if fault is not None:
            self._store.put_fault(group, fault)
        else:
            self._store.clear_fault(group)
        if description is not None or offsets is not None:
            summary = self._summariser.summary(description, offsets, fault, self._clock.now())
            self._store.put_summary(group, summary)
