"""Trends and estimates from reads: of the lag, of a log's growth, of the age of unread records, of losses to come.

Pure functions over samples without a gap in them; None where the samples do not tell.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from kgtui.model.health.values import Loss, TimeLag

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgtui.model.health.read_history import Sample
    from kgtui.model.offsets import PartitionLag

LEAST = 3
"""Reads from which a trend is taken: two are a difference, and lag is a saw of commits and new records."""

_NOISE = 0.1
"""A group that keeps up seems slower than the log by up to this part of it, between two commits in a rush hour."""


class Slope(NamedTuple):
    """A straight line through reads.

    Attributes:
        rate: change a second.
        error: standard error of the rate; 0 for a perfect line.
        seconds: the span it is taken over.
    """

    rate: float
    error: float
    seconds: float


def slope(times: Sequence[float], values: Sequence[float]) -> Slope | None:
    """The line of least squares through values over times in seconds; None from fewer than `LEAST` reads."""
    count = len(times)
    if count < LEAST:
        return None
    start, mean = times[0], sum(values) / count
    middle = sum(time - start for time in times) / count
    spread = sum((time - start - middle) ** 2 for time in times)
    if spread <= 0:
        return None
    rate = sum((time - start - middle) * (value - mean) for time, value in zip(times, values, strict=True)) / spread
    off = sum((value - mean - rate * (time - start - middle)) ** 2 for time, value in zip(times, values, strict=True))
    return Slope(rate, (off / (count - 2) / spread) ** 0.5, times[-1] - times[0])


def drain(lag: float | None, trend: Slope | None) -> float | None:
    """Seconds until the lag is gone at this trend, 0 when there is none.

    None when it does not fall, or not by twice the error of its trend: the saw of a group that keeps up is no trend.
    """
    if lag is None or lag <= 0:
        return None if lag is None else 0.0
    if trend is None or trend.rate >= 0 or -trend.rate <= 2 * trend.error:
        return None
    return lag / -trend.rate


def time_lag(position: int, samples: Sequence[Sample]) -> TimeLag | None:
    """How old the record at `position` is, by interpolation over the log ends seen; 0 when the log ends there.

    Between two reads the log is taken to have grown evenly. A record that was there at the first read is at least as
    old as that read. None when no log end is known.

    Source: the record at offset n is written when the log end becomes n + 1.
    """
    ends = [(sample.at, sample.log_end) for sample in samples if sample.log_end is not None]
    if not ends:
        return None
    now, newest = ends[-1]
    if newest <= position:
        return TimeLag(0.0)
    for (before, low), (after, high) in reversed(list(pairwise(ends))):
        if low <= position < high:
            written = before + (after - before) * (position + 1 - low) / (high - low)
            return TimeLag((now - written) / 1000)
    return TimeLag((now - ends[0][0]) / 1000, at_least=True)


def growth(points: Sequence[tuple[int, int | None]]) -> float | None:
    """By how much an offset grows a second, from the first to the last of `(milliseconds, offset)`.

    Only the newest reads count that follow each other without an unknown one; None from fewer than two.
    """
    known: list[tuple[int, int]] = []
    for at, value in reversed(points):
        if value is None:
            break
        known.append((at, value))
    if len(known) < 2 or known[0][0] <= known[-1][0]:
        return None
    return (known[0][1] - known[-1][1]) * 1000 / (known[0][0] - known[-1][0])


def deletion(samples: Sequence[Sample]) -> float | None:
    """By how much the log start moves a second; None until it was seen to move twice.

    Retention deletes whole segments: the start stands still for long and then leaps. So the pace is taken from the
    first leap seen to the last.
    """
    if not samples or samples[0].log_start == samples[-1].log_start is not None:
        return None  # it never goes back
    known = [(sample.at, sample.log_start) for sample in samples if sample.log_start is not None]
    leaps = [(at, start) for (_, before), (at, start) in pairwise(known) if start > before]
    return growth(leaps)


def loss_to_come(row: PartitionLag, samples: Sequence[Sample], retention: float | None = None) -> Loss | None:
    """When retention will reach the group's position, if log start, log end and group go on as they did.

    By the topic's retention where it is known: the oldest unread record has an age, and it grows as far as the group
    is slower than the log. And by the measured movement of the log start towards the position. The sooner counts.

    Args:
        row: the newest read.
        samples: reads of the partition without a gap.
        retention: seconds that the topic keeps records for; None when not known or unlimited.

    Returns:
        None when nothing is unread, when the group outruns the deletion, and when it cannot be told.
    """
    if row.position is None or not row.lag or row.lost:
        return None
    deleted = deletion(samples)
    if retention is None and deleted is None:
        return None
    moved = growth([(sample.at, sample.position) for sample in samples])
    age = time_lag(row.position, samples)
    if moved is None or age is None:
        return None
    behind = _falling_behind(moved, growth([(sample.at, sample.log_end) for sample in samples]))
    if behind is None or behind <= 0 or (behind < _NOISE and not age.at_least):
        return None
    losses = []
    if retention is not None:
        seconds = max(retention - age.seconds, 0.0) / behind
        losses.append(Loss(row.topic, row.partition, seconds, "retention", row.lead, age.at_least))
    if deleted is not None and row.lead is not None and deleted > moved:
        losses.append(Loss(row.topic, row.partition, row.lead / (deleted - moved), "log start", row.lead))
    return min(losses, key=lambda loss: loss.seconds, default=None)


def _falling_behind(moved: float, grown: float | None) -> float | None:
    """The part of what comes in that is not read: 1 when the group stands still, 0 or less when it keeps up."""
    if grown is None:
        return None
    if grown <= 0:
        return 1.0 if moved <= 0 else 0.0
    return 1 - moved / grown
