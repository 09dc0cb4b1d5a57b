"""`Deadline`: the time limit of a call, which is divided among the steps of the call."""

from __future__ import annotations

import time


class Deadline:
    """The time by which a call must have ended. All steps of the call use the same `Deadline`.

    Args:
        timeout: seconds from now.
        steps: number of steps among which `step` divides the time.
    """

    def __init__(self, timeout: float, *, steps: int = 1) -> None:
        self.at = time.monotonic() + timeout
        self._steps = steps

    def left(self) -> float:
        """Return the number of seconds until the deadline.

        The result is at least 0.001, so that a step that begins after the deadline fails with a normal timeout.
        """
        return max(self.at - time.monotonic(), 0.001)

    def step(self) -> float:
        """Return the time limit of the next step, in seconds.

        The remaining time is divided equally among the remaining steps. The last step gets all of the remaining time,
        and so does every further step if this method is called more often than planned.
        """
        seconds = (self.at - time.monotonic()) / max(self._steps, 1)
        self._steps -= 1
        return max(seconds, 0.001)

    @property
    def over(self) -> bool:
        """Whether the deadline has passed."""
        return time.monotonic() >= self.at
