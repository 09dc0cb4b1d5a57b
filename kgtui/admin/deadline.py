"""`Deadline`: the time limit of a call, which is divided among the steps of the call."""

from __future__ import annotations

import time


class Deadline:
    """The time limit of a call, which all steps of the call share.

    Args:
        timeout: seconds from now.
        steps: number of steps of the call. Call `step` once at the start of each step.
    """

    def __init__(self, timeout: float, *, steps: int = 1) -> None:
        self.at = time.monotonic() + timeout
        self._steps = steps

    def left(self) -> float:
        """Return the number of seconds until the deadline, at least 0.001.

        After the deadline, the result is 0.001 instead of a negative number, so that a step fails with an ordinary
        timeout.
        """
        return max(self.at - time.monotonic(), 0.001)

    def step(self) -> float:
        """Return the time limit of the next step, in seconds: an equal part of the remaining time.

        For example, if 3 steps and 9 s remain, the next step gets 3 s. The last step gets all remaining time.
        """
        seconds = (self.at - time.monotonic()) / max(self._steps, 1)
        self._steps -= 1
        return max(seconds, 0.001)

    @property
    def over(self) -> bool:
        """Whether the deadline has passed."""
        return time.monotonic() >= self.at
