"""The monitor: tiers over one GroupAdmin, verdicts on what is looked at, one newest snapshot."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import TYPE_CHECKING

from kgtui.model.series import SeriesStore
from kgtui.monitor.clockwork import Clockwork
from kgtui.monitor.collector import Collector
from kgtui.monitor.focus import FocusTier
from kgtui.monitor.health import HealthTier
from kgtui.monitor.listing import ListingTier
from kgtui.monitor.options import MonitorOptions
from kgtui.monitor.store import Store
from kgtui.monitor.sweep import SweepTier

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kgtui.admin.base import GroupAdmin
    from kgtui.model.snapshot import Snapshot

_PATIENCE = 10.0
"""What the sweep finds is rarely in view, verdicts change slowly, and every snapshot costs a pass over the screen."""


class Monitor:
    """Keeps an eye on every group of a cluster.

    Make it inside a running event loop, `subscribe`, and let `run` run as a task.

    Args:
        admin: what to ask. The monitor does not close it.
        options: intervals and budgets.
        now: seconds since the epoch.

    Attributes:
        snapshot: the newest snapshot; an empty one at first.
        series: samples of the groups that were looked at.
    """

    def __init__(
        self, admin: GroupAdmin, options: MonitorOptions | None = None, *, now: Callable[[], float] = time.time
    ) -> None:
        self._options = options = options or MonitorOptions()
        self._clock = Clockwork(options.interval, now)
        self._collector = Collector()
        self._store = Store(options.keep, now)
        self.series = SeriesStore()
        self.snapshot: Snapshot = self._store.snapshot()
        self._listeners: list[Callable[[Snapshot], None]] = []
        self._publishing: asyncio.TimerHandle | None = None
        self._published = 0.0
        self._whole = False
        self._looked = now()
        self._listing = ListingTier(admin, self._store, options, self._clock, self._collector, self._lists_changed)
        unhurried = partial(self._publish_soon, _PATIENCE)
        self._health = HealthTier(self._store, options, self._clock, unhurried)
        self._focus = FocusTier(
            admin, self._store, self.series, options, self._clock, self._publish_soon, self._health.take
        )
        self._sweep = SweepTier(admin, self._store, options, self._clock, unhurried)

    def subscribe(self, listener: Callable[[Snapshot], None]) -> Callable[[], None]:
        """Call `listener` on the loop with every new snapshot; returns how to stop that."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    async def run(self) -> None:
        """Until cancelled; failures are in the snapshot's faults and never raised."""
        self._published = asyncio.get_running_loop().time()  # the brokers' names alone may wait for their lists
        try:
            async with asyncio.TaskGroup() as tiers:
                for tier in (self._listing, self._focus, self._sweep, self._health):
                    tiers.create_task(tier.run())
        finally:
            if self._publishing is not None:
                self._publishing.cancel()
            self._collector.release()

    # -- what the views say ------------------------------------------------------------------------------------

    def look_at(self, selected: str | None, visible: Sequence[str] = ()) -> None:
        """Say which group is selected and which rows are in view: they are read in full at every interval."""
        self._looked = self._clock.now()
        self._focus.look_at(selected, visible)
        self._health.look_at(selected)

    def want_configs(self, group: str | None) -> None:
        """Say that this group's configs are on the screen."""
        self._focus.want_configs(group)

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

    def set_interval(self, seconds: float) -> None:
        """Change the interval; kept between half a second and five minutes."""
        self._clock.set_interval(seconds)

    # -- publishing --------------------------------------------------------------------------------------------

    def _lists_changed(self) -> None:
        """Nobody waits longer for the first list of the whole cluster than it takes."""
        first = self._listing.complete and not self._whole
        self._whole = self._whole or first
        self._publish_soon(0.0 if first else 1.0)

    def _publish_soon(self, patience: float = 1.0) -> None:
        """Publish once for all that changes within a moment.

        Args:
            patience: how much longer than usual this news may wait for other news; 0 for not at all.
        """
        if not self._store.dirty:
            return
        loop = asyncio.get_running_loop()
        due = max(self._published + self._options.publish * patience, loop.time())
        if self._publishing is not None:
            if self._publishing.when() <= due:
                return
            self._publishing.cancel()
        self._publishing = loop.call_at(due, self._publish)

    def _publish(self) -> None:
        self._publishing = None
        self._published = asyncio.get_running_loop().time()
        self.snapshot = self._store.snapshot()
        if self._listing.complete:
            self._collector.freeze_once(len(self.snapshot.groups))
            self._collector.tidy(self._clock.now(), self._looked)
        for listener in list(self._listeners):
            listener(self.snapshot)
