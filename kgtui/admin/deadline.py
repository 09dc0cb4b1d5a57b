"""How much time is left for a call."""

from __future__ import annotations

import time


class Deadline:
    """A moment by which a call must be over; handed down so that every step knows what is left.

    Args:
        timeout: seconds from now.
    """

    def __init__(self, timeout: float) -> None:
        self.at = time.monotonic() + timeout

    def left(self) -> float:
        """Seconds left, never below a millisecond: a step that starts too late fails by its own deadline."""
        return max(self.at - time.monotonic(), 0.001)

    @property
    def over(self) -> bool:
        """Whether there is no time left."""
        return time.monotonic() >= self.at
