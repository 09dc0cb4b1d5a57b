"""The monitor: tiers over one GroupAdmin, verdicts on what is looked at, one newest snapshot."""

from __future__ import annotations

import asyncio
import contextlib
import time
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from kgtui.model.series import SeriesStore
from kgtui.model.slices import PAUSE
from kgtui.monitor.clockwork import Clockwork
from kgtui.monitor.collector import Collector
from kgtui.monitor.listing import ListingTier
from kgtui.monitor.options import MonitorOptions
from kgtui.monitor.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kgtui.admin.base import GroupAdmin
    from kgtui.model.snapshot import Snapshot
    from kgtui.monitor.closer import CloserTiers

_TOGETHER = 0.15
"""Seconds that a broker's list waits for those of other brokers."""
_PATIENCE = 10.0
"""What the sweep finds is rarely in view, verdicts change slowly, and every snapshot costs a pass over the screen."""

_DRAWN, _LOOKED = 1.0, 0.4
"""Seconds in which a first list may be drawn before anything else is loaded or asked: at most, and once looked at."""


class Monitor:
    """Keeps an eye on every group of a cluster.

    Make it inside a running event loop, `subscribe`, and let `run` run as a task.

    Args:
        admin: what to ask. The monitor does not close it.
        options: intervals and budgets.
        now: seconds since the epoch.
        moment: of a recording, the time of what is read: what is read again at the same moment tells nothing new.

    Attributes:
        snapshot: the newest snapshot; an empty one at first.
        series: samples of the groups that were looked at.
    """

    def __init__(
        self,
        admin: GroupAdmin,
        options: MonitorOptions | None = None,
        *,
        now: Callable[[], float] = time.time,
        moment: Callable[[], float] | None = None,
    ) -> None:
        self._options = options = options or MonitorOptions()
        self._clock = Clockwork(options.interval, now, moment)
        self._collector = Collector()
        self._store = Store(options.keep, now)
        self.series = SeriesStore()
        self.snapshot: Snapshot = self._store.snapshot()
        self._listeners: list[Callable[[Snapshot], None]] = []
        self._publishing: asyncio.TimerHandle | None = None
        self._tidying: asyncio.TimerHandle | None = None
        self._published = 0.0
        self._whole_at: float | None = None
        self._looked = now()
        self._listing = ListingTier(admin, self._store, options, self._clock, self._collector, self._lists_changed)
        self._admin = admin
        self._some_listed = asyncio.Event()
        self._looked_at = asyncio.Event()
        self._closer: CloserTiers | None = None
        self._selected: str | None = None
        self._visible: Sequence[str] = ()
        self._configs_of: str | None = None

    def subscribe(self, listener: Callable[[Snapshot], None]) -> Callable[[], None]:
        """Call `listener` on the loop with every new snapshot; returns how to stop that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    async def run(self) -> None:
        """Until cancelled; failures are in the snapshot's faults and never raised."""
        self._published = asyncio.get_running_loop().time()  # the brokers' names alone may wait for their lists
        try:
            async with asyncio.TaskGroup() as tiers:
                tiers.create_task(self._listing.run())
                tiers.create_task(self._look_closer())
        finally:
            for timer in (self._publishing, self._tidying):
                if timer is not None:
                    timer.cancel()
            self._collector.release()

    async def _look_closer(self) -> None:
        """Until cancelled, once there is a list: without one there is nothing to look at."""
        await self._some_listed.wait()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_DRAWN):
                await self._looked_at.wait()
                await asyncio.sleep(_LOOKED)
        module = await asyncio.to_thread(import_module, "kgtui.monitor.closer")
        unhurried = partial(self._publish_soon, _PATIENCE)
        self._closer = closer = module.CloserTiers(
            self._admin, self._store, self.series, self._options, self._clock, self._publish_soon, unhurried
        )
        closer.look_at(self._selected, self._visible)
        closer.want_configs(self._configs_of)
        await closer.run()

    # -- what the views say ------------------------------------------------------------------------------------

    def look_at(self, selected: str | None, visible: Sequence[str] = ()) -> None:
        """Say which group is selected and which rows are in view: they are read in full at every interval."""
        self._looked = self._clock.now()
        self._selected, self._visible = selected, visible
        self._looked_at.set()
        if self._closer is not None:
            self._closer.look_at(selected, visible)

    def want_configs(self, group: str | None) -> None:
        """Say that this group's configs are on the screen."""
        self._configs_of = group
        if self._closer is not None:
            self._closer.want_configs(group)

    @property
    def paused(self) -> bool:
        """Whether polling is paused."""
        return self._clock.paused

    @property
    def interval(self) -> float:
        """Seconds between polls."""
        return self._clock.interval

    def pause(self) -> None:
        """Stop asking; the last snapshot stays."""
        self._clock.pause()

    def resume(self) -> None:
        """Ask again, at once."""
        self._clock.resume()

    def refresh(self) -> None:
        """Ask now, also while paused."""
        self._clock.refresh()

    def forget(self, groups: Iterable[str]) -> None:
        """Groups are known to be deleted: they go at once, not once every broker has told that it has them no more."""
        self._store.forget(groups)
        self._publish_soon(0.0)

    def set_interval(self, seconds: float) -> None:
        """Change the interval; kept between half a second and five minutes."""
        self._clock.set_interval(seconds)

    # -- publishing --------------------------------------------------------------------------------------------

    def _lists_changed(self) -> None:
        """Nobody waits longer for the first list of the whole cluster than it takes."""
        if self._store.groups:
            self._some_listed.set()
        if self._listing.complete and self._whole_at is None:
            self._whole_at = asyncio.get_running_loop().time()
            self._publish_soon(0.0)
        else:
            # The brokers are asked at the same moment, and each snapshot of many groups takes its time.
            self._publish_soon(at_least=_TOGETHER if self._listing.under_way else 0.0)

    def _publish_soon(self, patience: float = 1.0, *, at_least: float = 0.0) -> None:
        """Publish once for all that changes within a moment.

        Args:
            patience: how much longer than usual after the last snapshot this news may come; 0 for not at all.
            at_least: seconds that it waits in any case for other news.
        """
        if not self._store.dirty:
            return
        loop = asyncio.get_running_loop()
        due = max(self._published + self._options.publish * patience, loop.time() + at_least)
        if self._publishing is not None:
            if self._publishing.when() <= due:
                return
            self._publishing.cancel()
        self._publishing = loop.call_at(due, self._publish)

    def _publish(self) -> None:
        self._publishing = None
        self._published = asyncio.get_running_loop().time()
        self.snapshot = self._store.snapshot()
        for listener in list(self._listeners):
            listener(self.snapshot)
        # Not while the first frame is made, which waits for nothing else; and what was pressed meanwhile goes first.
        if self._whole_at is not None and self._published - self._whole_at >= _DRAWN and self._tidying is None:
            self._tidying = asyncio.get_running_loop().call_later(PAUSE, self._tidy)

    def _tidy(self) -> None:
        self._tidying = None
        self._collector.freeze_once(len(self.snapshot.groups))
        self._collector.tidy(self._clock.now(), self._looked)
