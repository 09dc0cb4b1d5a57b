"""When a broker is left alone: for a while after a failure, and for as long as it throttles this client."""

from __future__ import annotations

import random
import time
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from kgtui.protocol.api import Api


class Backoff:
    """Exponential backoff with jitter, and the breaker that it opens.

    After the n-th failure in a row the breaker stays open for `first · 2^(n-1)` seconds, at most `longest`, give or
    take a fifth by chance, so that many clients of a restarted broker do not return at one moment (as Kafka's clients
    do with `reconnect.backoff.ms` and `reconnect.backoff.max.ms`). While it is open, nothing is tried.
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
        """Failures since the last success."""

    def failed(self) -> float:
        """Note a failure; return the seconds for which the breaker stays open."""
        self.failures += 1
        pause = min(self._longest, self._first * 2.0 ** min(self.failures - 1, 30))
        pause *= 0.8 + 0.4 * self._random()
        self._until = self._clock() + pause
        return pause

    def succeeded(self) -> None:
        """Note a success: the breaker closes, the next failure counts as the first."""
        self.failures = 0
        self._until = 0.0

    def remaining(self) -> float:
        """Seconds until the next try is allowed; 0 when it is allowed now."""
        return max(0.0, self._until - self._clock())


_SIZE = 4
_MOST_MS = 600_000
"""No quota's windows reach that far: a longer time stands in a damaged answer, and nobody waits for it."""


def throttle_ms(api: Api, version: int, body: bytes) -> int:
    """Return the throttle time of an answer without decoding it; 0 where this version has none.

    In every answer that matters to us, it is the first field (ApiVersions has it later, and is sent once a
    connection).
    """
    if len(body) < _SIZE or not _comes_first(api, version):
        return 0
    asked = int.from_bytes(body[:_SIZE], "big", signed=True)
    return asked if 0 <= asked <= _MOST_MS else 0


@cache
def _comes_first(api: Api, version: int) -> bool:
    return api.response.struct.untagged(version)[0].name == "ThrottleTimeMs"
