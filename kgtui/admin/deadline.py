"""The time limit of a call, and how its steps divide the time."""

from __future__ import annotations

import time


class Deadline:
    """Point in time by which a call must have ended. It is handed down, so that every step knows how much is left.

    Args:
        timeout: seconds from now.
        steps: number of steps that `step` divides the time between.
    """

    def __init__(self, timeout: float, *, steps: int = 1) -> None:
        self.at = time.monotonic() + timeout
        self._steps = steps

    def left(self) -> float:
        """Return the seconds left, at least a millisecond: a step that starts too late fails by its own deadline."""
        return max(self.at - time.monotonic(), 0.001)

    def step(self) -> float:
        """Return the seconds that the next step may take: an equal part of what the steps before it have left.

        The last step, and any that follows it, gets all the time that is left.
        """
        seconds = (self.at - time.monotonic()) / max(self._steps, 1)
        self._steps -= 1
        return max(seconds, 0.001)

    @property
    def over(self) -> bool:
        """Whether no time is left."""
        return time.monotonic() >= self.at
