"""Finds the time at which a group or partition began to fall behind, from its time lags.

The time lag is the age of the oldest unread record. It stays nearly constant while a group keeps up, and rises as soon
as the group reads too slowly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    Ages = Sequence[tuple[int, float]]
    """Time lags in order of time: each is a pair of the time of a read in milliseconds, and the time lag in seconds."""

_TOLERANCE = 0.25
"""A fall of the time lag by less than this fraction of the newest time lag is noise."""

_LOW, _HIGHER = 0.1, 0.2
"""Two heights of the rise, as fractions of its whole height (newest minus lowest time lag)."""


def rising_since(ages: Ages) -> int:
    """Return the time at which the time lag began to rise to its newest value, in milliseconds.

    The lowest time lag is found first, going back in time. The start is then extrapolated: the rise to `_LOW` took as
    long as the rise from `_LOW` to `_HIGHER`. The result is not before the oldest read.
    """
    oldest, newest = ages[0][1], ages[-1][1]
    lowest = newest
    for _, age in reversed(ages):
        if age > lowest + newest * _TOLERANCE:
            break
        lowest = min(lowest, age)
    if lowest >= oldest > newest * _TOLERANCE:
        return ages[0][0]
    low, higher = (_last_below(ages, lowest + (newest - lowest) * part) for part in (_LOW, _HIGHER))
    return max(low - (higher - low), ages[0][0])


def behind_since(ages: Ages) -> int:
    """Return the time at which the backlog began, in milliseconds, even if the group is catching up.

    This is the start of the rise to the highest time lag since the group last had no backlog.
    """
    caught_up_at = _last_below(ages, ages[-1][1] * _LOW)
    _, peak = max((age, at) for at, age in ages if at >= caught_up_at)
    return rising_since([(at, age) for at, age in ages if at <= peak])


def _last_below(ages: Ages, height: float) -> int:
    """Return the latest time with a time lag of at most `height`; the oldest time if there is none."""
    return max((at for at, age in ages if age <= height), default=ages[0][0])
