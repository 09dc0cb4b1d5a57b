"""Finds the time at which a group or partition began to fall behind, from a series of time lags.

The time lag is the age of the oldest unread record. The time lag rises when records are read too slowly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    Ages = Sequence[tuple[int, float]]
    """One pair per poll, oldest first: `(epoch milliseconds, age of the oldest unread record in seconds)`."""

_TOLERANCE = 0.25
"""A fall of the time lag (age of the oldest unread record) is ignored as noise if it is small.

It is small if it is at most this fraction of the newest time lag.
"""

_LOW, _HIGHER = 0.1, 0.2
"""Two fractions (10 % and 20 %) of a rise of the time lag (age of the oldest unread record).

The start of the rise is extrapolated from the times at which the time lag had risen by these two fractions.
"""


def rising_since(ages: Ages) -> int:
    """Return when the time lag (age of the oldest unread record) began to rise to its newest value.

    The result is in epoch milliseconds. It is never earlier than the first time in `ages`.

    Args:
        ages: at least one pair (epoch milliseconds, time lag in seconds), oldest first.
    """
    oldest, newest = ages[0][1], ages[-1][1]
    lowest = newest
    for _, age in reversed(ages):
        if age > lowest + newest * _TOLERANCE:
            break
        lowest = min(lowest, age)
    if lowest >= oldest > newest * _TOLERANCE:
        return ages[0][0]
    # Assume that the first 10 % of the time lag's rise took as long as the next 10 %.
    low, higher = (_last_below(ages, lowest + (newest - lowest) * part) for part in (_LOW, _HIGHER))
    return max(low - (higher - low), ages[0][0])


def behind_since(ages: Ages) -> int:
    """Return when the group began to fall behind, in epoch milliseconds, even if it is already catching up again.

    Args:
        ages: at least one pair (epoch milliseconds, age of the oldest unread record in seconds), oldest first.
    """
    # `caught_up_at` is the last time at which the time lag (age of the oldest unread record) was at most 10 % of its
    # newest value. After that, the time lag rose to its peak. The group began to fall behind when this rise began.
    caught_up_at = _last_below(ages, ages[-1][1] * _LOW)
    _, peak = max((age, at) for at, age in ages if at >= caught_up_at)
    return rising_since([(at, age) for at, age in ages if at <= peak])


def _last_below(ages: Ages, height: float) -> int:
    """Return the last time at which the oldest unread record was at most `height` seconds old, in epoch milliseconds.

    If it was always older, return the first time in `ages`.
    """
    return max((at for at, age in ages if age <= height), default=ages[0][0])
