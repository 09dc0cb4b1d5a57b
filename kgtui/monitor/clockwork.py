"""What the tiers share about time: the interval, pausing, and asking again right now."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

LEAST, MOST = 0.5, 300.0  # seconds an interval may be set to


class Clockwork:
    """Times of a monitor.

    Args:
        interval: seconds between polls.
        now: seconds since the epoch.
        moment: the time at which what is read now was so, in a recording; None where that is now.
    """

    def __init__(
        self, interval: float, now: Callable[[], float] = time.time, moment: Callable[[], float] | None = None
    ) -> None:
        self.now = now
        self.moment = moment
        self.interval = interval
        self._running = asyncio.Event()
        self._running.set()
        self._refresh = asyncio.Event()

    @property
    def paused(self) -> bool:
        """Whether polling is paused."""
        return not self._running.is_set()

    def pause(self) -> None:
        """Stop asking after what is under way."""
        self._running.clear()

    def resume(self) -> None:
        """Ask again, at once."""
        self._running.set()
        self.refresh()

    def set_interval(self, seconds: float) -> None:
        """Change the interval, within bounds that spare the brokers."""
        self.interval = min(max(seconds, LEAST), MOST)
        self.refresh()

    def refresh(self) -> None:
        """Wake every tier that waits; paused, this lets each ask once."""
        waiting, self._refresh = self._refresh, asyncio.Event()
        waiting.set()

    async def pause_for(self, seconds: float, *, wake: asyncio.Event | None = None) -> None:
        """Wait until it is time again, somebody wants it now, or `wake` is set; while paused, for `refresh` alone."""
        waits = [asyncio.ensure_future(self._refresh.wait())]
        if wake is not None:
            waits.append(asyncio.ensure_future(wake.wait()))
        try:
            done, _ = await asyncio.wait(waits, timeout=max(seconds, 0.0), return_when=asyncio.FIRST_COMPLETED)
            if not done and self.paused:
                waits.append(asyncio.ensure_future(self._running.wait()))
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()
            await asyncio.gather(*waits, return_exceptions=True)
