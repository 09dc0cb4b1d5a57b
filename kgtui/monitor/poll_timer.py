"""The timer that all polling loops of a monitor share."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from kgtui.monitor.policy import LONGEST_INTERVAL, QUIET_FROM, QUIET_TIME, QUIET_WAIT_MAX, SHORTEST_INTERVAL

if TYPE_CHECKING:
    from collections.abc import Callable


class PollTimer:
    """Timer with which all polling loops of a monitor wait between reads.

    Through this timer, the monitor can pause and resume all loops, and make them read immediately.

    Args:
        interval: time between two polls, in seconds.
        now: returns the current time, in seconds since the epoch.
        recorded_at: function that returns the time of the replayed data, in seconds since the epoch; None unless a
            recording is replayed.
    """

    def __init__(
        self, interval: float, now: Callable[[], float] = time.time, recorded_at: Callable[[], float] | None = None
    ) -> None:
        self.now = now
        self.recorded_at = recorded_at
        self.interval = interval
        self._running = asyncio.Event()
        self._running.set()
        self._refresh = asyncio.Event()
        self._busy_until = 0.0

    @property
    def paused(self) -> bool:
        return not self._running.is_set()

    def pause(self) -> None:
        """Pause all polling loops before their next reads. Reads that are running are completed."""
        self._running.clear()

    def resume(self) -> None:
        """End the pause that `pause` has begun, and let all polling loops read immediately."""
        self._running.set()
        self.refresh()

    def set_interval(self, seconds: float) -> None:
        """Set the polling interval, and let all polling loops read immediately.

        Args:
            seconds: the interval. It is limited to the range from `SHORTEST_INTERVAL` to `LONGEST_INTERVAL`.
        """
        self.interval = min(max(seconds, SHORTEST_INTERVAL), LONGEST_INTERVAL)
        self.refresh()

    def refresh(self) -> None:
        """Let all polling loops read immediately. If polling is paused, each of them reads exactly once."""
        waiting, self._refresh = self._refresh, asyncio.Event()
        waiting.set()

    def note_input(self) -> None:
        """Make `wait_for_quiet` wait, because the user has just pressed a key or clicked."""
        self._busy_until = time.monotonic() + QUIET_TIME

    async def wait_for_quiet(self, groups: int) -> None:
        """Wait until the user has pressed no key for `QUIET_TIME` seconds, but at most `QUIET_WAIT_MAX` seconds.

        Call this before a read that the user does not wait for.

        Args:
            groups: number of groups in the cluster. With at most `QUIET_FROM` groups, this function does not wait.
        """
        if groups <= QUIET_FROM:
            return
        end = time.monotonic() + QUIET_WAIT_MAX
        while True:
            left = min(self._busy_until, end) - time.monotonic()
            if left <= 0:
                return
            await asyncio.sleep(left)

    async def pause_for(self, seconds: float, *, wake: asyncio.Event | None = None) -> bool:
        """Wait for `seconds`. If polling is paused at the end of this time, continue to wait until polling is resumed.

        The wait ends early if `wake` is set or `refresh` is called.

        Returns:
            Whether `refresh` was called. `resume` and `set_interval` also call it.
        """
        waits = [asyncio.ensure_future(self._refresh.wait())]
        if wake is not None:
            waits.append(asyncio.ensure_future(wake.wait()))
        try:
            done, _ = await asyncio.wait(waits, timeout=max(seconds, 0.0), return_when=asyncio.FIRST_COMPLETED)
            if not done and self.paused:
                waits.append(asyncio.ensure_future(self._running.wait()))
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            return waits[0].done()
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
