"""One group's past over an interval: samples to plot, and what changed when; of a session or of a recording."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from kgtui.model.group_types import REBALANCING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgtui.model.series import Series, Sight


class Change(NamedTuple):
    """What a look found otherwise than the look before.

    Attributes:
        before: None when nothing is known of the time before.
        lasted: seconds that the state before had lasted as far as it was seen; None where the state is the same, or
            nobody knows since when it was.
        rebalanced: seconds that a rebalance took that ended here, from the look that first saw it; None otherwise.
    """

    before: Sight | None
    now: Sight
    lasted: float | None = None
    rebalanced: float | None = None

    @property
    def at(self) -> float:
        """Seconds since the epoch."""
        return self.now.at


@dataclass(frozen=True, slots=True, eq=False)
class Past:
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
    sights: tuple[Sight, ...] = ()
    gaps: tuple[tuple[float, float, str], ...] = ()

    @property
    def changes(self) -> list[Change]:
        """What changed in the interval, oldest first."""
        return [change for change in changes_of(self.sights) if self.since <= change.at <= self.until]

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

    def sight_at(self, at: float) -> Sight | None:
        """How the group was; None when nothing is known of it."""
        for start, end, _ in self.gaps:
            if start < at < end:
                return None
        if self.times and at > self.times[-1] + (self.until - self.since) / 20:
            return None
        index = bisect_right(self.sights, at, key=lambda sight: sight.at)
        return self.sights[index - 1] if index else None


def changes_of(sights: Sequence[Sight]) -> list[Change]:
    """Each sight beside the one before."""
    found: list[Change] = []
    before: Sight | None = None
    since: float | None = None  # when the state began that lasts now
    settled: float | None = None  # when the group was last seen to leave Stable or Empty
    for now in sights:
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


def past_of(series: Series | None, since: float, until: float) -> Past:
    """What a session has seen of a group in an interval."""
    if series is None:
        return Past(since, until)
    start, stop = bisect_left(series.times, since), bisect_right(series.times, until)
    sights = tuple(series.sights[: bisect_right(series.sights, until, key=lambda sight: sight.at)])
    gaps = tuple((sight.since, sight.at, sight.gap) for sight in sights if sight.gap and sight.since is not None)
    return Past(
        since, until, series.times[start:stop], series.lag[start:stop], series.members[start:stop],
        series.written[start:stop], series.read[start:stop], sights, gaps,
    )  # fmt: skip


def largest(values: Sequence[float]) -> float | None:
    """The largest value that is known."""
    return max((value for value in values if not math.isnan(value)), default=None)
