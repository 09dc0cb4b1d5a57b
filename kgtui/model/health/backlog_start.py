"""Finds the time at which a group or partition began to fall behind, from a series of time lags.

The time lag is the age of the oldest unread record. It rises as soon as a group reads too slowly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    Ages = Sequence[tuple[int, float]]
    """Pairs, oldest first: time of a poll in milliseconds since the epoch, and time lag at this poll in seconds."""

_TOLERANCE = 0.25
"""A fall of the time lag by less than this fraction of the newest time lag is ignored as noise."""

_LOW, _HIGHER = 0.1, 0.2
"""Two fractions of a rise of the time lag: 10 % and 20 %.

The start of a rise is extrapolated from the two times at which the time lag had risen this far.
"""


def rising_since(ages: Ages) -> int:
    """Return when the time lag began to rise to its newest value, in epoch milliseconds.

    The result is never earlier than the first time in `ages`.

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
    # The first 10 % of the rise are assumed to have taken as long as the next 10 %.
    low, higher = (_last_below(ages, lowest + (newest - lowest) * part) for part in (_LOW, _HIGHER))
    return max(low - (higher - low), ages[0][0])


def behind_since(ages: Ages) -> int:
    """Return when the current backlog began, in epoch milliseconds. The group may already be catching up.

    Args:
        ages: at least one pair (epoch milliseconds, time lag in seconds), oldest first.
    """
    # At `caught_up_at`, the group had nearly no backlog for the last time. Then the time lag rose to its peak. The
    # backlog began at the start of this rise.
    caught_up_at = _last_below(ages, ages[-1][1] * _LOW)
    _, peak = max((age, at) for at, age in ages if at >= caught_up_at)
    return rising_since([(at, age) for at, age in ages if at <= peak])


def _last_below(ages: Ages, height: float) -> int:
    """Return the time of the last pair whose time lag is at most `height`; the first time if all are higher."""
    return max((at for at, age in ages if age <= height), default=ages[0][0])
