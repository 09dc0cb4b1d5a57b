"""How the groups that tier 1 reads do: an observation of each, judged a little at a time."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from kgtui.model.group_types import DEAD
from kgtui.model.health import ReadHistory, Watching, health_steps
from kgtui.model.slices import Slices

if TYPE_CHECKING:
    from collections.abc import Callable

    from kgtui.model.group import GroupDescription
    from kgtui.model.offsets import GroupOffsets
    from kgtui.monitor.clockwork import Clockwork
    from kgtui.monitor.options import MonitorOptions
    from kgtui.monitor.retention import RetentionTier
    from kgtui.monitor.store import Store

LENGTH, LEAST = 60, 30
"""Reads kept of a partition: of few partitions, and of very many. A full window of commits is in both at 2 s."""
_OF_GROUP, _OF_ALL = 60_000, 600_000  # reads kept of the partitions of one group, and of all; 40 bytes each
_MANY = 500  # partitions from which even taking in a read is work for a thread
_FIRST = 2  # reads before the first verdict: one look decides none
_AT_ONCE = 0.003  # seconds of judging before other work may run
_SHARE, _OF_SELECTED = 0.0015, 0.05  # parts of the time for judging: all together, and the selected group
_SAVED = 0.05  # seconds of judging that may be saved up, or owed
_PATIENCE = 30.0  # seconds without a read that are a gap, where polls come often
_MISSED = 3.0  # intervals without a read that are a gap, where polls come rarely


class Read(NamedTuple):
    """What one read of a group brought.

    Attributes:
        at: seconds since the epoch.
        fault: something was asked for and not learned.
    """

    group: str
    at: float
    description: GroupDescription | None
    offsets: GroupOffsets | None
    fault: bool


class HealthTier:
    """Observes the groups that were looked at last and publishes how each does.

    A verdict is renewed every `Options.expire_cache` at most, and less often where judging would take more than its
    share of the time. The group that was read longest ago is forgotten first; one that comes into view again after a
    while has a gap in between, across which no rate is taken.
    """

    def __init__(
        self,
        store: Store,
        options: MonitorOptions,
        clockwork: Clockwork,
        changed: Callable[[], None],
        retention: RetentionTier,
        watching: Watching | None = None,
    ) -> None:
        self._store = store
        self._keep = options.keep
        self._clock = clockwork
        self._changed = changed
        self._retention = retention
        self._watching = watching or Watching()
        self._observations: OrderedDict[str, ReadHistory] = OrderedDict()
        self._reads: deque[Read] = deque()
        self._due: dict[str, float] = {}
        self._unjudged: set[str] = set()
        self._saved, self._counted = _SAVED, clockwork.now()
        self._selected: str | None = None
        self._wake = asyncio.Event()

    def look_at(self, selected: str | None) -> None:
        """Say which group is selected: it is judged before others."""
        self._selected = selected

    def take(self, read: Read) -> None:
        """Remember what was read; it is looked into when there is time."""
        self._reads.append(read)
        self._wake.set()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            await self.work_off()

    async def work_off(self) -> None:
        """Take in every read that waits, and judge every group that is due."""
        while True:
            await self._take_in()
            group = self._next()
            if group is None:
                return
            await self._judge(group)

    async def _take_in(self) -> None:
        slices = Slices(asyncio.sleep, _AT_ONCE)
        while self._reads:
            await self._add(self._reads.popleft())
            await slices.pause_if_due()

    async def _add(self, read: Read) -> None:
        group = read.group
        gone = read.description is not None and read.description.state == DEAD
        if gone or group not in self._store.groups:
            self._forget(group)
            return
        seen = self._observations.get(group) or ReadHistory()
        if seen.read_at is not None and read.at < seen.read_at:  # a recording was gone back in
            self._forget(group)
            seen = ReadHistory()
        self._observations[group] = seen
        self._observations.move_to_end(group)
        patience = max(_PATIENCE, _MISSED * self._clock.interval)
        if seen.watching.patience != patience:
            seen.watching = replace(self._watching, patience=patience)
        partitions = len(seen.samples) if read.offsets is None else len(read.offsets.partitions)
        seen.length = max(LEAST, min(LENGTH, _OF_GROUP // max(partitions, 1)))
        before = seen.reads
        if partitions < _MANY:
            seen.add(read.at, read.description, read.offsets, fault=read.fault)
        else:
            await asyncio.to_thread(seen.add, read.at, read.description, read.offsets, fault=read.fault)
        if seen.reads > max(before, _FIRST - 1):
            self._unjudged.add(group)
        self._bound()

    def _bound(self) -> None:
        kept = self._observations
        while len(kept) > 1 and (len(kept) > self._keep or sum(map(_size, kept.values())) > _OF_ALL):
            self._forget(next(iter(kept)))

    def _forget(self, group: str) -> None:
        self._observations.pop(group, None)
        self._unjudged.discard(group)
        self._due.pop(group, None)
        self._store.drop_health(group)

    def _next(self) -> str | None:
        """The selected group if it is due, else the one that waits longest, if there is time for it."""
        now = self._clock.now()
        self._saved = min(self._saved + max(now - self._counted, 0.0) * _SHARE, _SAVED)
        self._counted = now
        due = [group for group in self._unjudged if self._due.get(group, 0.0) <= now]
        if self._selected in due:
            return self._selected
        return min(due, key=lambda group: self._due.get(group, 0.0), default=None) if self._saved > 0 else None

    async def _judge(self, group: str) -> None:
        """Judge in slices. No read is taken in meanwhile, so that the observation does not change."""
        self._unjudged.discard(group)
        began = self._clock.now()
        seen = self._observations[group]
        self._retention.want(seen.topics)
        slices = Slices(asyncio.sleep, _AT_ONCE)
        health = await slices.run(health_steps(seen, self._retention.known))
        spent = slices.spent
        share = _OF_SELECTED if group == self._selected else _SHARE * len(self._observations)
        self._due[group] = began + max(self._watching.rules.expire_cache, spent / share)
        self._saved = max(self._saved - spent, -_SAVED)
        self._store.put_health(group, health)
        self._changed()


def _size(seen: ReadHistory) -> int:
    """Reads of partitions that it may come to hold."""
    return len(seen.samples) * seen.length
