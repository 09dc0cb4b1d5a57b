"""Computes trends and estimates from samples: lag trend, log growth, age of unread records, time of data loss.

A sample contains the offsets or the lag that kgtui has read at one time. For trends and the time of data loss, callers
must pass only samples without a gap (a failed read or a long time without reads) between them. Functions return None if
there are too few samples.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from kgtui.model.health.values import Loss, TimeLag
from kgtui.model.record_times import PRECISION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgtui.model.health.read_history import Sample
    from kgtui.model.offsets import PartitionLag
    from kgtui.model.record_times import TimeRange

LEAST = 3
"""Minimum number of samples for a trend.

Two samples show no trend, because the lag of every group rises between two commits and falls with each commit.
"""

_NOISE = 0.1
"""A group keeps up if less than this fraction of the new records stays unread.

The limit is not 0, because every group falls behind a little between two commits.
"""


class Slope(NamedTuple):
    """A straight line fitted to samples.

    Attributes:
        rate: change per second.
        error: standard error of the rate.
        seconds: time from the first to the last sample.
    """

    rate: float
    error: float
    seconds: float


def slope(times: Sequence[float], values: Sequence[float]) -> Slope | None:
    """Fit a straight line to values by least squares. `times` are the times of the values, in seconds.

    The result is None if there are fewer than `LEAST` values, or if all times are equal.
    """
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
    """Return after how many seconds the lag will be 0 if its trend continues; 0 if the lag is already 0.

    The result is None if lag or trend is unknown, or if it is not certain that the lag falls: the trend must be below 0
    by more than two of its standard errors.
    """
    if lag is None or lag <= 0:
        return None if lag is None else 0.0
    if trend is None or trend.rate >= 0 or -trend.rate <= 2 * trend.error:
        return None
    return lag / -trend.rate


def age_of_unread(row: PartitionLag, samples: Sequence[Sample]) -> TimeLag | None:
    """Return the age of the first unread record of a partition; None if unknown.

    The age comes from the record's timestamp. If the timestamp is not known, the age is estimated from the samples.

    Args:
        row: newest offsets of the partition.
        samples: samples of the partition. The last sample is from the same read as `row`.
    """
    if row.position is None or row.lag is None:
        return None
    times, exact = row.times, row.exact_times
    if exact is not None and exact.unread is not None:
        return age_from_timestamp(exact.unread, samples[-1].at / 1000)
    if times is None or times.unread is None:
        estimated = time_lag(row.position, samples)
        reason = "" if times is None else times.reason
        return replace(estimated, reason=reason) if estimated is not None and reason else estimated
    # kgtui knows when the record at an earlier committed offset was written, but not when the record at the current one
    # was written. The known time is one more point from which the age is estimated.
    return time_lag(row.position, samples, known=(round(times.unread.earliest * 1000), times.offset + 1))


def age_from_timestamp(written: TimeRange, now: float) -> TimeLag:
    """Return the age of a record from its timestamp, which may be known only as a range of times.

    The result has the lowest and the highest possible age, or only one age if the two are nearly equal.

    Args:
        written: range of times that contains the timestamp of the record.
        now: epoch seconds.
    """
    youngest, oldest = max(now - written.latest, 0.0), max(now - written.earliest, 0.0)
    if oldest - youngest <= max(1.0, PRECISION * youngest):
        return TimeLag((youngest + oldest) / 2, exact=True)
    return TimeLag(youngest, at_most=oldest, exact=True)


def time_lag(position: int, samples: Sequence[Sample], known: tuple[int, int] | None = None) -> TimeLag | None:
    """Estimate the age of the record at offset `position`; 0 seconds if the record has not been written yet.

    The estimate assumes that the log grows evenly between two samples. If the record is older than all samples, the
    result is a lower bound. The result is None if no sample has a log end offset.

    Args:
        known: a known log end offset from before the first sample, as `(epoch milliseconds, offset)`, or None.
    """
    ends = [(sample.at, sample.log_end) for sample in samples if sample.log_end is not None]
    if not ends:
        return None
    if known is not None and known[0] < ends[0][0] and known[1] <= ends[0][1]:
        ends.insert(0, known)
    now, newest = ends[-1]
    if newest <= position:
        return TimeLag(0.0)
    for (before, low), (after, high) in reversed(list(pairwise(ends))):
        if low <= position < high:
            written = before + (after - before) * (position + 1 - low) / (high - low)
            return TimeLag((now - written) / 1000)
    return TimeLag((now - ends[0][0]) / 1000, at_least=True)


def growth(points: Sequence[tuple[int, int | None]]) -> float | None:
    """Return by how much an offset grows per second. `points` are pairs (milliseconds, offset), oldest first.

    If the offset of a point is unknown, this point and all earlier points are ignored. The result is None if fewer than
    two points remain.
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
    """Return how fast retention moves the log start offset, in records per second.

    The log start offset moves in jumps, because retention deletes whole segments. The result is None if there were
    fewer than two jumps.
    """
    if not samples or samples[0].log_start == samples[-1].log_start is not None:
        # A log start offset never decreases. If the first and the last sample have the same log start offset, it has
        # not moved.
        return None
    known = [(sample.at, sample.log_start) for sample in samples if sample.log_start is not None]
    leaps = [(at, start) for (_, before), (at, start) in pairwise(known) if start > before]
    return growth(leaps)


def loss_to_come(row: PartitionLag, samples: Sequence[Sample], retention: float | None = None) -> Loss | None:
    """Estimate when retention will delete unread records, if writing and reading continue at the current speed.

    A loss is expected when the age of the oldest unread record reaches the retention time, or when the log start offset
    reaches the committed offset, whichever comes first. If only `retention.bytes` can delete the records, the time of
    the loss is unknown, and `Loss.basis` is `size`.

    Args:
        row: newest offsets and lag of the partition.
        samples: samples of the partition, with no gap between them.
        retention: retention time of the topic in seconds; None if unlimited or not known.

    Returns:
        The expected loss. None if no loss is expected, if records are already lost, or if no estimate is possible.
    """
    if row.position is None or not row.lag or row.lost:
        return None
    deleted, times = deletion(samples), row.exact_times
    any_time = times is not None and times.any_time
    if retention is None and deleted is None and not any_time:
        return None
    moved = growth([(sample.at, sample.position) for sample in samples])
    age = age_of_unread(row, samples)
    if moved is None or age is None:
        return None
    behind = _falling_behind(moved, growth([(sample.at, sample.log_end) for sample in samples]))
    if behind is None or behind <= 0 or (behind < _NOISE and not age.at_least):
        return None
    losses, now = [], samples[-1].at / 1000
    older_half = (row.lead is not None and row.lead < row.lag) or (
        retention is not None and age.seconds >= retention / 2
    )
    if retention is not None:
        if times is not None and times.expires_at is not None and moved <= 0:
            seconds, exact = max(times.expires_at - now, 0.0), True
        else:
            seconds, exact = max(retention - age.seconds, 0.0) / behind, False
        at = now + seconds if not exact or times is None else times.expires_at
        losses.append(
            Loss(row.topic, row.partition, seconds, "retention", row.lead, age.at_least, at, exact, older_half)
        )
    if deleted is not None and row.lead is not None and deleted > moved:
        seconds = row.lead / (deleted - moved)
        losses.append(
            Loss(row.topic, row.partition, seconds, "log start", row.lead, at=now + seconds, in_older_half=older_half)
        )
    if any_time and not losses:
        losses.append(Loss(row.topic, row.partition, 0.0, "size", row.lead))
    return min(losses, key=lambda loss: loss.seconds, default=None)


def _falling_behind(moved: float, grown: float | None) -> float | None:
    """Return the fraction of new records that stays unread: 1 if the group reads nothing, at most 0 if it keeps up.

    Args:
        moved: growth of the committed offset, in records per second.
        grown: growth of the log end, in records per second; if it is None (unknown), the result is None, too.
    """
    if grown is None:
        return None
    if grown <= 0:
        return 1.0 if moved <= 0 else 0.0
    return 1 - moved / grown
