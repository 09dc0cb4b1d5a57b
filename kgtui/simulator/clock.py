"""What time it is in the cluster: the machine's clock, or one that a test moves by hand."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Tells seconds since the epoch."""

    def now(self) -> float:
        """Seconds since the epoch."""


class RealClock:
    """The machine's clock."""

    def now(self) -> float:
        """Seconds since the epoch."""
        return time.time()


class ManualClock:
    """A clock that stands still until it is advanced.

    Attributes:
        start: where it begins, in seconds since the epoch; by default 2026-03-02 09:00 UTC.
    """

    def __init__(self, start: float = 1_772_442_000.0) -> None:
        self.start = start
        self._now = start

    def now(self) -> float:
        """Seconds since the epoch."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Let time pass; it never runs backwards.

        Raises:
            ValueError: `seconds` is negative.
        """
        if seconds < 0:
            raise ValueError(f"a clock cannot go back by {-seconds} s")
        self._now += seconds
