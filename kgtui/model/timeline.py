"""One group's past over an interval: samples to plot, and what changed when; of a session or of a recording."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from kgtui.model.group_types import REBALANCING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgtui.model.series import ChangePoint, Series


class Change(NamedTuple):
    """What a look found otherwise than the look before.

    Attributes:
        before: None when nothing is known of the time before.
        lasted: seconds that the state before had lasted as far as it was seen; None where the state is the same, or
            nobody knows since when it was.
        rebalanced: seconds that a rebalance took that ended here, from the look that first saw it; None otherwise.
    """

    before: ChangePoint | None
    now: ChangePoint
    lasted: float | None = None
    rebalanced: float | None = None

    @property
    def at(self) -> float:
        """Seconds since the epoch."""
        return self.now.at


@dataclass(frozen=True, slots=True, eq=False)
class GroupTimeline:
    """One group's past; the columns belong together, and NaN is not known.

    Attributes:
        since, until: what it is about; there may be fewer samples.
        times: seconds since the epoch, growing.
        lag, members: records; count.
        written, read: records a second since the sample before.
        sights: what was found otherwise, oldest first; some may be older than `since`.
        gaps: intervals of which nothing is known, with why.
    """

    since: float
    until: float
    times: Sequence[float] = ()
    lag: Sequence[float] = ()
    members: Sequence[float] = ()
    written: Sequence[float] = ()
    read: Sequence[float] = ()
    change_points: tuple[ChangePoint, ...] = ()
    gaps: tuple[tuple[float, float, str], ...] = ()

    @property
    def changes(self) -> list[Change]:
        """What changed in the interval, oldest first."""
        return [change for change in changes_of(self.change_points) if self.since <= change.at <= self.until]

    def value_at(self, column: Sequence[float], at: float | None = None) -> float | None:
        """A column's value at a moment, or at the end; None when it is not known."""
        index = len(self.times) if at is None else bisect_right(self.times, at)
        return column[index - 1] if index and not math.isnan(column[index - 1]) else None

    def mean_at(self, column: Sequence[float], seconds: float, at: float | None = None) -> float | None:
        """The mean of a column over so many seconds until a moment, or the end; None when it is not known then."""
        stop = len(self.times) if at is None else bisect_right(self.times, at)
        if not stop or math.isnan(column[stop - 1]):
            return None
        start = bisect_right(self.times, self.times[stop - 1] - seconds)
        known = [value for value in column[start:stop] if not math.isnan(value)]
        return sum(known) / len(known)

    def change_point_at(self, at: float) -> ChangePoint | None:
        """How the group was; None when nothing is known of it."""
        for start, end, _ in self.gaps:
            if start < at < end:
                return None
        if self.times and at > self.times[-1] + (self.until - self.since) / 20:
            return None
        index = bisect_right(self.change_points, at, key=lambda point: point.at)
        return self.change_points[index - 1] if index else None


def changes_of(change_points: Sequence[ChangePoint]) -> list[Change]:
    """Each sight beside the one before."""
    found: list[Change] = []
    before: ChangePoint | None = None
    since: float | None = None  # when the state began that lasts now
    settled: float | None = None  # when the group was last seen to leave Stable or Empty
    for now in change_points:
        lasted = rebalanced = None
        if before is None or now.gap:
            found.append(Change(None if now.gap else before, now))
            since = settled = None
        else:
            if now.state != before.state:
                lasted = None if since is None else now.at - since
                if settled is not None and now.state not in REBALANCING:
                    rebalanced, settled = now.at - settled, None
                elif now.state in REBALANCING and before.state not in REBALANCING:
                    settled = now.at
                since = now.at
            found.append(Change(before, now, lasted, rebalanced))
        before = now
    return found


def timeline_of(series: Series | None, since: float, until: float) -> GroupTimeline:
    """What a session has seen of a group in an interval."""
    if series is None:
        return GroupTimeline(since, until)
    start, stop = bisect_left(series.times, since), bisect_right(series.times, until)
    change_points = tuple(series.change_points[: bisect_right(series.change_points, until, key=lambda point: point.at)])
    gaps = tuple((point.since, point.at, point.gap) for point in change_points if point.gap and point.since is not None)
    return GroupTimeline(
        since, until, series.times[start:stop], series.lag[start:stop], series.members[start:stop],
        series.written[start:stop], series.read[start:stop], change_points, gaps,
    )  # fmt: skip


def largest(values: Sequence[float]) -> float | None:
    """The largest value that is known."""
    return max((value for value in values if not math.isnan(value)), default=None)


@dataclass(frozen=True, slots=True)
class LagHistory:
    """How a group went: one value a minute, None where nothing is known.

    Attributes:
        minutes: seconds since the epoch, growing.
        lag: records.
        rate_in, rate_out: records a second.
        time_lag: seconds.
        breaks: minutes before which polls are missing: nothing connects them to the one before.
    """

    minutes: tuple[float, ...]
    lag: tuple[int | None, ...]
    rate_in: tuple[float | None, ...]
    rate_out: tuple[float | None, ...]
    time_lag: tuple[float | None, ...]
    members: tuple[int | None, ...]
    breaks: frozenset[float] = frozenset()

    def timeline(self, since: float, until: float) -> GroupTimeline:
        """The same for plots over an interval; states and epochs are not among it."""
        gaps = tuple((old, new, "nothing recorded") for old, new in pairwise(self.minutes) if new in self.breaks)
        return GroupTimeline(
            since, until, self.minutes, _with_nan(self.lag), _with_nan(self.members), _with_nan(self.rate_in),
            _with_nan(self.rate_out), gaps=gaps,
        )  # fmt: skip


def _with_nan(values: Sequence[float | None]) -> tuple[float, ...]:
    return tuple(math.nan if value is None else float(value) for value in values)
