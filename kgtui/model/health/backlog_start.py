"""Finds the time at which a group or partition began to fall behind, using its time lags.

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
"""Two points on the rise of the time lag, as fractions of the whole rise from the lowest to the newest time lag."""


def rising_since(ages: Ages) -> int:
    """Return the time at which the time lag began to rise to its newest value, in milliseconds since the epoch.

    The lowest time lag before the rise is searched from the newest read back in time. The beginning of the rise is then
    extrapolated: it is assumed that the first 10 % of the rise (`_LOW`) took as long as the next 10 %. If the time lag
    was already high at the oldest read and was never lower, the result is the time of the oldest read. It is never
    earlier.
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

    After the last read with nearly no backlog (a time lag of at most 10 % of the newest one), the time lag rose to its
    highest value. The result is the beginning of this rise.
    """
    caught_up_at = _last_below(ages, ages[-1][1] * _LOW)
    _, peak = max((age, at) for at, age in ages if at >= caught_up_at)
    return rising_since([(at, age) for at, age in ages if at <= peak])


def _last_below(ages: Ages, height: float) -> int:
    """Return the time of the last read with a time lag of at most `height`; of the oldest read if there is none."""
    return max((at for at, age in ages if age <= height), default=ages[0][0])
