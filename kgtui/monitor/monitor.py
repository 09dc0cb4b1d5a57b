"""`Monitor`, which polls a cluster with several loops ("tiers"), and publishes snapshots to its subscribers.

A snapshot contains the newest data of all groups.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from kgtui.model.event import EventLog
from kgtui.model.series import SeriesStore
from kgtui.model.slices import PAUSE
from kgtui.monitor.event_tracker import EventTracker
from kgtui.monitor.gc_tuning import GcTuning
from kgtui.monitor.list_tier import ListTier
from kgtui.monitor.policy import SCREEN_GAPS, MonitorOptions, event_members, publish_pause
from kgtui.monitor.poll_timer import PollTimer
from kgtui.monitor.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from kgtui.admin.base import GroupAdmin
    from kgtui.model.snapshot import Snapshot
    from kgtui.monitor.detail_tiers import DetailTiers

_LIST_DELAY = 0.15
"""Seconds that kgtui waits for the lists of other brokers before it publishes a broker's new list of groups."""

_BACKGROUND_FACTOR = 10.0
"""The pause before the next snapshot is this many times longer after changes that are rarely visible on the screen.

These are new data from background reads, and new health verdicts. Fewer snapshots reduce the work of the terminal UI.
"""

_FIRST_DRAW = 1.0
"""Maximum pause, in seconds, between the first list of groups and the first reads of members and offsets.

During this pause, the terminal UI draws the list of groups.
"""

_FIRST_DRAW_WITH_VIEW = 0.4
"""Pause, in seconds, before the first reads of members and offsets, so that the terminal UI can draw its first screen.

The pause begins when a list of groups has arrived, and `Monitor.set_view` was called. `_FIRST_DRAW` limits the total
time between the first list and the first reads.
"""


class Monitor:
    """Polls all groups of a cluster, and publishes snapshots.

    Create it inside a running event loop, call `subscribe`, and start `run` as a task.

    Args:
        admin: access to the cluster. The monitor does not close it.
        options: polling intervals and limits.
        now: returns the current time, in seconds since the epoch.
        recorded_at: function that returns the time of the replayed data, in seconds since the epoch; None unless a
            recording is replayed.

    Attributes:
        snapshot: the newest snapshot; empty before the first poll.
        series: time series of groups that are or were selected, visible or suspected of a problem.
        events: the newest events. In the replay of a recording, this log is empty, because the recording has its own
            events.
    """

    def __init__(
        self,
        admin: GroupAdmin,
        options: MonitorOptions | None = None,
        *,
        now: Callable[[], float] = time.time,
        recorded_at: Callable[[], float] | None = None,
    ) -> None:
        self._options = options = options or MonitorOptions()
        self._timer = PollTimer(options.interval, now, recorded_at)
        self._gc = GcTuning()
        # In the replay of a recording, no events are kept, because many groups change whenever the user moves to a
        # different time of the recording.
        self.events = EventLog(options.kept_events if recorded_at is None else 0)
        self._events_since = now() if recorded_at is None else None
        self._tracker = EventTracker(self.events, event_members(0))
        self._store = Store(options.kept_groups, now, self._tracker)
        admin.share_listings(lambda: self._store.groups)
        self.series = SeriesStore(SCREEN_GAPS)
        self.snapshot: Snapshot = self._store.snapshot()
        self._listeners: list[Callable[[Snapshot], None]] = []
        self._publishing: asyncio.TimerHandle | None = None
        self._tidying: asyncio.TimerHandle | None = None
        self._published_at = 0.0
        self._complete_at: float | None = None
        self._view_set_at = now()
        self._lists = ListTier(admin, self._store, options, self._timer, self._gc, self._lists_changed)
        self._admin = admin
        self._first_listed = asyncio.Event()
        self._view_set = asyncio.Event()
        self._details: DetailTiers | None = None
        self._selected: str | None = None
        self._visible: Sequence[str] = ()
        self._configs_of: str | None = None

    def subscribe(self, listener: Callable[[Snapshot], None]) -> Callable[[], None]:
        """Call `listener` on the event loop with each new snapshot. Return a function that ends the subscription."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    async def run(self) -> None:
        """Poll until this task is canceled. Snapshots contain a `Fault` for each failed request."""
        # Pretend that a snapshot was published just now. The first real snapshot then waits at least `publish_interval`
        # seconds, unless all brokers have sent their lists earlier.
        self._published_at = asyncio.get_running_loop().time()
        try:
            async with asyncio.TaskGroup() as tiers:
                tiers.create_task(self._lists.run())
                tiers.create_task(self._run_details())
        finally:
            for timer in (self._publishing, self._tidying):
                if timer is not None:
                    timer.cancel()
            self._gc.release()

    async def _run_details(self) -> None:
        """Wait until a broker lists at least one group. Then run all polling loops except tier 0.

        Tier 0, which reads the lists of groups, is already running. Before the other loops start, the
        terminal UI gets at most `_FIRST_DRAW` seconds to draw the list.
        """
        await self._first_listed.wait()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_FIRST_DRAW):
                await self._view_set.wait()
                await asyncio.sleep(_FIRST_DRAW_WITH_VIEW)
        # The following imports take long, so they run in a thread. `GcTuning.freeze_once` will need `ctypes`.
        await asyncio.to_thread(import_module, "ctypes")
        module = await asyncio.to_thread(import_module, "kgtui.monitor.detail_tiers")
        publish_later = partial(self._publish_soon, _BACKGROUND_FACTOR)
        self._details = details = module.DetailTiers(
            self._admin, self._store, self.series, self._options, self._timer, self._publish_soon, publish_later
        )
        details.set_view(self._selected, self._visible)
        details.want_configs(self._configs_of)
        await details.run()

    def set_view(self, selected: str | None, visible: Sequence[str] = ()) -> None:
        """Set the selected and visible groups, whose members and offsets are read once per interval."""
        self._view_set_at = self._timer.now()
        self._selected, self._visible = selected, visible
        self._view_set.set()
        if self._details is not None:
            self._details.set_view(selected, visible)

    def note_input(self) -> None:
        """Make background reads wait for a moment, because the user has just pressed a key or clicked."""
        self._timer.note_input()

    def want_configs(self, group: str | None) -> None:
        """Read the configs of `group` too, as long as it is the selected group. If `group` is None, read no configs."""
        self._configs_of = group
        if self._details is not None:
            self._details.want_configs(group)

    @property
    def paused(self) -> bool:
        return self._timer.paused

    @property
    def interval(self) -> float:
        """Time between two polls in seconds."""
        return self._timer.interval

    def pause(self) -> None:
        """Pause polling. The last snapshot stays available."""
        self._timer.pause()

    def resume(self) -> None:
        """End a pause, and poll immediately."""
        self._timer.resume()

    def refresh(self) -> None:
        """Poll immediately. If polling is paused, it stays paused after this poll."""
        self._timer.refresh()

    def set_interval(self, seconds: float) -> None:
        """Set the polling interval to a number of seconds, limited by `SHORTEST_INTERVAL` and `LONGEST_INTERVAL`."""
        self._timer.set_interval(seconds)

    def forget(self, groups: Iterable[str]) -> None:
        """Stop showing groups that have just been deleted, without waiting for new lists from all brokers."""
        self._store.forget(groups)
        self._publish_soon(0.0)

    def _lists_changed(self) -> None:
        self._tracker.members = event_members(len(self._store.groups))
        if self._store.groups:
            self._first_listed.set()
        if self._lists.complete and self._complete_at is None:
            # All brokers have sent their first lists, so a snapshot is published immediately.
            self._complete_at = asyncio.get_running_loop().time()
            self._publish_soon(0.0)
        else:
            # A snapshot for each broker's list would be expensive, so wait a moment for the lists of the other brokers.
            self._publish_soon(at_least=_LIST_DELAY if self._lists.polling else 0.0)

    def _publish_soon(self, factor: float = 1.0, *, at_least: float = 0.0) -> None:
        """Schedule the next snapshot. Changes that are stored before it is published are included.

        Args:
            factor: number by which the minimum time between two snapshots is multiplied. With 0, only `at_least` delays
                the snapshot.
            at_least: minimum delay from now, in seconds, so that more changes can arrive.
        """
        if not self._store.dirty:
            return
        loop = asyncio.get_running_loop()
        pause = publish_pause(self._options, len(self._store.groups)) * factor
        due = max(self._published_at + pause, loop.time() + at_least)
        if self._publishing is not None:
            if self._publishing.when() <= due:
                return
            self._publishing.cancel()
        self._publishing = loop.call_at(due, self._publish)

    def _publish(self) -> None:
        self._publishing = None
        self._published_at = asyncio.get_running_loop().time()
        snapshot = self._store.snapshot()
        self._tracker.compare_verdicts(snapshot)
        self.snapshot = replace(snapshot, events=self.events.kept(), events_since=self._events_since)
        for listener in list(self._listeners):
            listener(self.snapshot)
        # A garbage collection blocks the event loop, so none runs before the terminal UI has drawn the groups.
        drawn = self._complete_at is not None and self._published_at - self._complete_at >= _FIRST_DRAW
        if drawn and self._tidying is None:
            self._tidying = asyncio.get_running_loop().call_later(PAUSE, self._tidy)

    def _tidy(self) -> None:
        self._tidying = None
        self._gc.freeze_once(len(self.snapshot.groups))
        self._gc.tidy(self._timer.now(), self._view_set_at)
