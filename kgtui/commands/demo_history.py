"""Days of history made in a minute: the simulated cluster on a fast clock, recorded by the real recorder."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.commands.gather import list_all
from kgtui.simulator.clock import ManualClock
from kgtui.simulator.days import Plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from kgtui.admin.base import GroupAdmin
    from kgtui.history.options import RecorderStatus
    from kgtui.history.recorder import Recorder
    from kgtui.model.snapshot import Snapshot
    from kgtui.simulator.cluster import Simulator

_TIMEOUT = 60.0
_FLUSH = 6 * 3_600.0
_KEYFRAME = 4 * 3_600.0


@dataclass(frozen=True, slots=True)
class Days:
    """The history to make.

    Attributes:
        days: how many.
        every: seconds between two polls.
        until: the end, in seconds since the epoch.
        seed: the same seed and end give the same history.
    """

    days: float = 3.0
    every: float = 300.0
    until: float = 0.0
    seed: int = 1

    @property
    def plan(self) -> Plan:
        """When what happens."""
        seconds = self.days * 86_400
        return Plan(self.until - seconds, seconds, self.seed)

    @property
    def polls(self) -> int:
        """How many looks that is."""
        return int(self.days * 86_400 // self.every) + 1


def last_whole(every: float, now: float | None = None) -> float:
    """The newest time at which a poll of that interval is due: seconds since the epoch."""
    return (time.time() if now is None else now) // every * every


async def record_days(lake: str, days: Days, tell: Callable[[int], None]) -> RecorderStatus:
    """Record the days into a lake.

    Args:
        tell: told the number of polls so far.

    Raises:
        LakeError: the folder cannot be written, or is something else.
    """
    from kgtui.admin.kafka import connect
    from kgtui.history.options import RecorderOptions
    from kgtui.history.recorder import Recorder
    from kgtui.simulator.cluster import Simulator
    from kgtui.simulator.days import fill

    simulator = Simulator(scenario="empty", seed=days.seed, clock=ManualClock(days.plan.start))
    fill(simulator.world, days.plan)
    simulator.dispatch.warm()
    options = RecorderOptions(
        interval=days.every, flush=_FLUSH, keyframe=_KEYFRAME, describe=days.every, keep_days=None
    )
    async with simulator, connect(simulator.bootstrap.split(","), {}) as admin:
        film = _Film(simulator, admin, days, tell, await _listed(admin))
        clock = simulator.clock.now
        recorder = Recorder(film, admin, lake, options, now=clock, elapsed=clock, wait=film.wait)
        film.recorder = recorder
        await recorder.run()
    return recorder.status


class _Film:
    """Lets the cluster's time pass between two polls, and ends the recording with the last."""

    def __init__(
        self, simulator: Simulator, admin: GroupAdmin, days: Days, tell: Callable[[int], None], snapshot: Snapshot
    ) -> None:
        self._simulator, self._admin, self._days, self._tell = simulator, admin, days, tell
        self._done = 0
        self.recorder: Recorder | None = None
        self.snapshot = snapshot

    async def wait(self, seconds: float) -> None:
        """On to the next poll."""
        self._done += 1
        self._tell(self._done)
        if self._done >= self._days.polls and self.recorder is not None:
            self.recorder.stop()
            return
        self._simulator.advance(seconds)
        self.snapshot = await _listed(self._admin)


async def _listed(admin: GroupAdmin) -> Snapshot:
    snapshot, _ = await list_all(admin, timeout=_TIMEOUT)
    return snapshot
