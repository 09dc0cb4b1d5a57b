"""Finds the time at which a group or partition began to fall behind, from a series of its time lags.

The time lag is the age of the oldest unread record. It stays nearly constant while a group keeps up, and rises as soon
as the group reads too slowly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    Ages = Sequence[tuple[int, float]]
    """Pairs, oldest first: time of a read in milliseconds since the epoch, and time lag in seconds."""

_TOLERANCE = 0.25
"""A fall of the time lag by less than this fraction of the newest time lag is ignored as noise."""

_LOW, _HIGHER = 0.1, 0.2
"""Two points on the rise of the time lag, as fractions of the whole rise from the lowest to the newest value."""


def rising_since(ages: Ages) -> int:
    """Return the time at which the time lag began to rise to its newest value, in milliseconds since the epoch.

    The function goes back in time from the newest read, to find the lowest time lag before the rise. It then
    extrapolates the beginning of the rise, assuming that the first 10 % of the rise (`_LOW`) took as long as the next
    10 %. If the time lag was already high at the oldest read and was never lower, the result is the time of the oldest
    read. The result is never earlier than the oldest read.

    Args:
        ages: pairs (time of a read in milliseconds since the epoch, time lag in seconds), oldest first, at least one.
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
    """Return the time at which the backlog began, in milliseconds since the epoch, even if the group is catching up.

    The function finds the last read with nearly no backlog, which means a time lag of at most 10 % of the newest one.
    After this read, the time lag rose to its highest value. The result is the beginning of this rise.

    Args:
        ages: pairs (time of a read in milliseconds since the epoch, time lag in seconds), oldest first, at least one.
    """
    caught_up_at = _last_below(ages, ages[-1][1] * _LOW)
    _, peak = max((age, at) for at, age in ages if at >= caught_up_at)
    return rising_since([(at, age) for at, age in ages if at <= peak])


def _last_below(ages: Ages, height: float) -> int:
    """Return the time of the last read with a time lag of at most `height`; if there is none, that of the oldest."""
    return max((at for at, age in ages if age <= height), default=ages[0][0])
