"""When what happens in the days of a demo history."""

from __future__ import annotations

from dataclasses import dataclass

from kgtui.simulator.facts import number_of

HOUR = 3_600.0
DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Plan:
    """The days.

    Attributes:
        start: seconds since the epoch; time 0 of the cluster.
        seconds: how long all of it takes.
        seed: incidents come some minutes earlier or later, and rates are a bit other, with each seed.
    """

    start: float
    seconds: float
    seed: int = 1

    def before_end(self, hours: float, name: str = "") -> float:
        """So many hours before the end, in seconds after the start; with a name up to ten minutes off."""
        off = (number_of(self.seed, "when", name) % 1_200 - 600.0) if name else 0.0
        return max(0.0, self.seconds - hours * HOUR + off)

    def share(self, part: float, name: str) -> float:
        """That part of the whole time, up to ten minutes off."""
        return max(0.0, self.seconds * part + number_of(self.seed, "when", name) % 1_200 - 600.0)

    def scale(self, name: str) -> float:
        """A number between 0.8 and 1.2 that goes with a name."""
        return 0.8 + number_of(self.seed, "scale", name) % 400 / 1_000
