"""The time limit of a call, and the division of this time among the steps of the call."""

from __future__ import annotations

import time


class Deadline:
    """The point in time by which a call must have ended.

    It is passed to every step of the call, so that each step knows how much time is left.

    Args:
        timeout: seconds from now.
        steps: number of steps among which the method `step` divides the time.
    """

    def __init__(self, timeout: float, *, steps: int = 1) -> None:
        self.at = time.monotonic() + timeout
        self._steps = steps

    def left(self) -> float:
        """Return the seconds left, but never less than 0.001.

        A step that starts after the deadline gets this short time limit, and fails with a timeout.
        """
        return max(self.at - time.monotonic(), 0.001)

    def step(self) -> float:
        """Return the time limit of the next step, in seconds.

        The remaining time is divided equally among the remaining steps. The last step gets all the remaining time.
        Calls of this method after the last step return all the remaining time too.
        """
        seconds = (self.at - time.monotonic()) / max(self._steps, 1)
        self._steps -= 1
        return max(seconds, 0.001)

    @property
    def over(self) -> bool:
        """Whether the deadline has passed."""
        return time.monotonic() >= self.at
