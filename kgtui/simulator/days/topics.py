"""Topics with days: traffic that swells towards the afternoon, surges at times, and is kept for some hours."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.simulator.days.plan import DAY, HOUR
from kgtui.simulator.topics import DELETES_EVERY, Topic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kgtui.simulator.days.plan import Plan

_PEAK = 15 * HOUR
"""Seconds after midnight, UTC, when most comes in."""

_RIPPLES = ((47 * 60.0, 0.10), (13 * 60.0, 0.06))
"""Period and height of what makes one hour differ from another."""


@dataclass(frozen=True, slots=True, eq=False)
class DailyTopic(Topic):
    """A topic whose traffic follows the time of day.

    Attributes:
        hours: for how long records are kept.
        midnight: seconds from midnight, UTC, to time 0.
        surge: from when until when more comes in, in seconds.
        surging: how many times the average comes in on top of the usual then.
    """

    hours: float = 168.0
    midnight: float = 0.0
    surge: tuple[float, float] = (0.0, 0.0)
    surging: float = 0.0

    @property
    def settings(self) -> dict[str, str]:
        return dict(self.configs) | {"retention.ms": str(round(self.hours * HOUR) * 1000)}

    def flow(self, t: float) -> float:
        """Seconds' worth of average traffic that came in until `t`; grows without ever going back."""
        total = t + self._wave(t, DAY, self.swell, _PEAK - self.midnight)
        for period, height in _RIPPLES:
            total += self._wave(t, period, height, self.salt % period)
        begin, end = self.surge
        return total + self.surging * (min(max(t, begin), end) - begin)

    def log_starts(self, t: float) -> list[int]:
        """Log start offsets: what came in before the hours that are kept is gone."""
        return self.log_ends(t // DELETES_EVERY * DELETES_EVERY - self.hours * HOUR)

    @staticmethod
    def _wave(t: float, period: float, height: float, peak: float) -> float:
        """What a rate of 1 + `height` at its peak has brought more than an even one since time 0."""
        turn = period / math.tau
        return height * turn * (math.sin((t - peak) / turn) - math.sin(-peak / turn))


# name: partitions, records a second and partition, hours kept
_TOPICS: dict[str, tuple[int, float, float]] = {
    "payments.authorised": (6, 18.0, 168),
    "payments.refunds": (3, 1.5, 168),
    "orders.placed": (6, 22.0, 96),
    "orders.shipped": (4, 8.0, 96),
    "inventory.levels": (4, 5.0, 48),
    "customers.changed": (3, 0.8, 168),
    "web.clicks": (8, 60.0, 24),
    "web.signups": (3, 1.2, 72),
    "fraud.scores": (4, 7.0, 14),
    "search.documents": (4, 3.0, 10),
    "emails.outbox": (3, 1.2, 48),
    "dwh.loads": (4, 9.0, 96),
    "iot.telemetry": (8, 40.0, 24),
    "jobs.pending": (4, 3.5, 48),
    "rewards.earned": (4, 4.0, 72),
}


def topics(plan: Plan) -> Mapping[str, Topic]:
    """All of them by name; one surges in the last hours."""
    surges = {"web.signups": ((plan.before_end(2.5, "surge"), plan.seconds), 4.0)}
    made: dict[str, Topic] = {}
    for name, (partitions, rate, hours) in _TOPICS.items():
        (surge, surging) = surges.get(name, ((0.0, 0.0), 0.0))
        made[name] = DailyTopic(
            name,
            partitions,
            rate * plan.scale(name),
            base=100_000_000,
            seed=plan.seed,
            hours=hours,
            midnight=plan.start % DAY,
            surge=surge,
            surging=surging,
        )
    return made
