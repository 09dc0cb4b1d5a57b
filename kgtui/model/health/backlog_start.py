"""Finds the time at which a group or partition began to fall behind, from its time lags.

The time lag is the age of the oldest unread record. It stays nearly constant while a group keeps up, and rises as soon
as the group reads too slowly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    Ages = Sequence[tuple[int, float]]
    """Pairs of the time of a read in milliseconds and the time lag in seconds, oldest first."""

_TOLERANCE = 0.25
"""If the time lag falls by less than this fraction of the newest time lag, the fall is noise."""

_LOW, _HIGHER = 0.1, 0.2
"""Two points on the rise of the time lag, as fractions of the whole rise from the lowest to the newest time lag."""


def rising_since(ages: Ages) -> int:
    """Return the time at which the time lag began to rise to its newest value, in milliseconds.

    First, the lowest time lag before the rise is searched, going back in time. The start is then extrapolated: the
    first 10 % of the rise (`_LOW`) are assumed to take as long as the next 10 %. The result is not before the oldest
    read.
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

    First, the last read with nearly no backlog is searched. The backlog began with the rise of the time lag from this
    read to its highest value.
    """
    caught_up_at = _last_below(ages, ages[-1][1] * _LOW)
    _, peak = max((age, at) for at, age in ages if at >= caught_up_at)
    return rising_since([(at, age) for at, age in ages if at <= peak])


def _last_below(ages: Ages, height: float) -> int:
    """Return the latest time with a time lag of at most `height`; the oldest time if there is none."""
    return max((at for at, age in ages if age <= height), default=ages[0][0])
