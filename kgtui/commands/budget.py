"""Time of a command, spread over its steps."""

from __future__ import annotations

import time


class Budget:
    """Time for a number of steps: each gets an even share of what those before it left.

    Args:
        timeout: seconds in all.
    """

    def __init__(self, timeout: float, *, steps: int) -> None:
        self._end = time.monotonic() + timeout
        self._steps = steps

    def step(self) -> float:
        """Seconds that the next step may take."""
        left = (self._end - time.monotonic()) / max(self._steps, 1)
        self._steps -= 1
        return max(left, 0.001)
