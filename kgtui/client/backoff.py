"""Compute the pauses after failures (`Backoff`), and read from responses for how long a broker throttles kgtui."""

from __future__ import annotations

import random
import time
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from kgtui.protocol.api import Api


class Backoff:
    """Exponential backoff with jitter, as with Kafka's `reconnect.backoff.ms` and `reconnect.backoff.max.ms`.

    The pause after the first failure is `first` seconds. It doubles with each further failure, up to `longest`. Each
    pause is then changed at random by up to ±20 %.

    Args:
        clock: function that returns the time of a monotonic clock, in seconds.
        chance: function that returns a random number from 0 to 1.
    """

    __slots__ = ("_clock", "_first", "_longest", "_random", "_until", "failures")

    def __init__(
        self,
        first: float,
        longest: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._first = first
        self._longest = longest
        self._clock = clock
        self._random = chance
        self._until = 0.0
        self.failures = 0
        """Number of failures since the last success."""

    def failed(self) -> float:
        """Count a failure. Return the pause before the next attempt, in seconds."""
        self.failures += 1
        pause = min(self._longest, self._first * 2.0 ** min(self.failures - 1, 30))
        pause *= 0.8 + 0.4 * self._random()
        self._until = self._clock() + pause
        return pause

    def succeeded(self) -> None:
        """Reset the backoff, so that the pause after the next failure is about `first` seconds again."""
        self.failures = 0
        self._until = 0.0

    def remaining(self) -> float:
        """Return the rest of the pause after the last failure, in seconds; 0 if the next attempt is allowed now."""
        return max(0.0, self._until - self._clock())


_THROTTLE_TIME_SIZE = 4
"""Size of the field ThrottleTimeMs in a response, in bytes."""

_LONGEST_THROTTLE_MS = 600_000
"""Longest throttle time that kgtui obeys, in milliseconds.

A longer throttle time is ignored, because the response that contains it is probably damaged.
"""


def throttle_ms(api: Api, version: int, body: bytes) -> int:
    """Return the throttle time (ThrottleTimeMs) at the start of an encoded response, in milliseconds.

    The result is 0 if the value is negative or above `_LONGEST_THROTTLE_MS`. It is also 0 if responses of this API
    version do not start with ThrottleTimeMs. For example, ApiVersions responses start with an error code.
    """
    if len(body) < _THROTTLE_TIME_SIZE or not _comes_first(api, version):
        return 0
    asked = int.from_bytes(body[:_THROTTLE_TIME_SIZE], "big", signed=True)
    return asked if 0 <= asked <= _LONGEST_THROTTLE_MS else 0


@cache
def _comes_first(api: Api, version: int) -> bool:
    return api.response.struct.untagged(version)[0].name == "ThrottleTimeMs"
