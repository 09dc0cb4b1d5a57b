"""The history of one group in an interval: lag, members and rates for plots, and a list of changes."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from kgtui.model.event import EventKind
from kgtui.model.group_types import REBALANCING
from kgtui.model.series import ChangePoint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgtui.model.event import Event
    from kgtui.model.series import Series


_IN_CHANGE_POINTS = frozenset(
    {EventKind.STATE, EventKind.JOINED, EventKind.LEFT, EventKind.MOVED, EventKind.EPOCH, EventKind.REWOUND}
)
"""Kinds of events that say the same as a change point (a read that differs from the previous one).

To list no change twice, these events are normally left out of the list of changes. But they are listed if no change
point can show the change: in gaps (times without data), and before the first change point.
"""


class Change(NamedTuple):
    """A change of a group: the difference between two change points (reads that found a change), or an event.

    Attributes:
        before: the earlier change point; None if there is none, or if there is a gap between it and `now`.
        now: the later change point. For an event, this is a change point of which only the time (`at`) is set.
        lasted: how long the group was in its previous state, in seconds; None if the state did not change, or if the
            start of the previous state is unknown.
        rebalanced: duration in seconds of the rebalance that ended with this change; None if no rebalance ended, or if
            the start of the rebalance is unknown.
        event: an event that no change point shows, or None.
    """

    before: ChangePoint | None
    now: ChangePoint
    lasted: float | None = None
    rebalanced: float | None = None
    event: Event | None = None

    @property
    def at(self) -> float:
        """Time of the change in seconds since the epoch."""
        return self.now.at


class ObservedTimes(NamedTuple):
    """Times of polls in a recording that show important facts about a group, in epoch seconds or None.

    If the group was deleted and created again, polls before its last creation do not count.

    Attributes:
        first_seen: first poll that found the group.
        state_since: first poll that found the current state; None if the first poll of the recording found it already.
        last_progress: last poll that found that committed offsets had moved forward.
    """

    first_seen: float | None = None
    state_since: float | None = None
    last_progress: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class GroupTimeline:
    """The history of one group in an interval: samples for plots, and change points (reads that found a change).

    `times`, `lag`, `members`, `written` and `read` have one entry per sample; NaN stands for an unknown value.

    Attributes:
        since, until: the interval in epoch seconds.
        times: times of the samples in epoch seconds, ascending.
        lag: total lag in records.
        members: number of members.
        written: records written per second since the previous sample.
        read: records that the group has read per second since the previous sample.
        change_points: reads that found a change, oldest first; some may be older than `since`.
        gaps: `(start, end, reason)` of each period without data. Start and end are epoch seconds.
        may_lack_topics: whether lag and rates are lower bounds, because brokers may have hidden topics.
        events: events to list with the changes, oldest first.
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
    may_lack_topics: bool = False
    events: tuple[Event, ...] = ()

    @property
    def log(self) -> list[Change]:
        """The changes in the interval, oldest first, including events that no change point shows."""
        events = [Change(None, ChangePoint(event.at), event=event) for event in self.events if not self._shows(event)]
        return sorted((*self.changes, *events), key=lambda change: change.at)

    def _shows(self, event: Event) -> bool:
        """Return whether a change point already shows the change that an event is about."""
        if event.kind not in _IN_CHANGE_POINTS or not self.change_points or event.at < self.change_points[0].at:
            return False
        return not any(start < event.at < end for start, end, _ in self.gaps)

    @property
    def changes(self) -> list[Change]:
        """The changes that the change points in the interval show, oldest first."""
        return [change for change in changes_of(self.change_points) if self.since <= change.at <= self.until]

    @property
    def observed_times(self) -> ObservedTimes:
        """When the group was first seen, when its current state began, and when it last made progress.

        The times are correct only for a timeline that begins at the start of the recording.
        """
        found, state = ObservedTimes(), None
        for number, point in enumerate(self.change_points):
            if not point.listed:
                found, state = ObservedTimes(), None
            elif found.first_seen is None:
                found, state = ObservedTimes(point.at, point.at if number else None), point.state
            elif point.state != state:
                found, state = found._replace(state_since=point.at), point.state
        progress = [at for at, rate in zip(self.times, self.read, strict=True) if rate > 0]
        if found.first_seen is not None and progress and progress[-1] >= found.first_seen:
            return found._replace(last_progress=progress[-1])
        return found

    def value_at(self, column: Sequence[float], at: float | None = None) -> float | None:
        """Return the value of a column in the last sample at or before `at`.

        None if there is no such sample, or if its value is unknown.

        Args:
            column: the value of an attribute with one entry per sample, such as `timeline.lag`.
            at: epoch seconds; None for the end of the interval.
        """
        index = len(self.times) if at is None else bisect_right(self.times, at)
        return column[index - 1] if index and not math.isnan(column[index - 1]) else None

    def mean_at(self, column: Sequence[float], seconds: float, at: float | None = None) -> float | None:
        """Return the mean of a column, such as `lag`, over a period that ends at the last sample at or before `at`.

        Unknown values in the period are left out. The result is None if there is no sample at or before `at`, or if the
        value of the last such sample is unknown.

        Args:
            column: the value of an attribute with one entry per sample, such as `timeline.lag`.
            seconds: length of the period.
            at: epoch seconds; None for the end of the interval.
        """
        stop = len(self.times) if at is None else bisect_right(self.times, at)
        if not stop or math.isnan(column[stop - 1]):
            return None
        start = bisect_right(self.times, self.times[stop - 1] - seconds)
        known = [value for value in column[start:stop] if not math.isnan(value)]
        return sum(known) / len(known)

    def change_point_at(self, at: float) -> ChangePoint | None:
        """Return the newest change point (read that found a change) at or before `at`.

        None if `at` is in a gap or before the first change point. Also None if `at` is later than the last sample by
        more than 1/20 of the timeline's interval, because the group may have changed since that sample.
        """
        for start, end, _ in self.gaps:
            if start < at < end:
                return None
        if self.times and at > self.times[-1] + (self.until - self.since) / 20:
            return None
        index = bisect_right(self.change_points, at, key=lambda point: point.at)
        return self.change_points[index - 1] if index else None


def changes_of(change_points: Sequence[ChangePoint]) -> list[Change]:
    """Return one `Change` per change point: the difference between the previous change point and this one."""
    found: list[Change] = []
    before: ChangePoint | None = None
    # `since` is the time at which the current state of the group began; None if that was not observed.
    since: float | None = None
    # `rebalancing_since` is the time at which the current rebalance began; None without a rebalance, or if the time is
    # unknown.
    rebalancing_since: float | None = None
    for now in change_points:
        lasted = rebalanced = None
        if before is None or now.gap:
            found.append(Change(None if now.gap else before, now))
            since = rebalancing_since = None
        else:
            if now.state != before.state:
                lasted = None if since is None else now.at - since
                if rebalancing_since is not None and now.state not in REBALANCING:
                    rebalanced, rebalancing_since = now.at - rebalancing_since, None
                elif now.state in REBALANCING and before.state not in REBALANCING:
                    rebalancing_since = now.at
                since = now.at
            found.append(Change(before, now, lasted, rebalanced))
        before = now
    return found


def timeline_of(series: Series | None, since: float, until: float) -> GroupTimeline:
    """Return the history of a group. It is empty if there are no samples of the group.

    Args:
        since, until: the interval in epoch seconds.
    """
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
    """Return the largest known value; None if no value is known."""
    return max((value for value in values if not math.isnan(value)), default=None)


@dataclass(frozen=True, slots=True)
class LagHistory:
    """The recorded lag of one group, with one value per minute. None stands for an unknown value.

    The values come from the gold tables of kgtui's PySpark pipeline.

    Attributes:
        minutes: start of each minute in epoch seconds, ascending.
        lag: total lag in records.
        rate_in: records written per second.
        rate_out: records read per second.
        time_lag: age of the oldest unread record, in seconds.
        members: number of members.
        breaks: minutes that directly follow a time without polls. Plots show a gap before each of these minutes.
    """

    minutes: tuple[float, ...]
    lag: tuple[int | None, ...]
    rate_in: tuple[float | None, ...]
    rate_out: tuple[float | None, ...]
    time_lag: tuple[float | None, ...]
    members: tuple[int | None, ...]
    breaks: frozenset[float] = frozenset()

    def timeline(self, since: float, until: float) -> GroupTimeline:
        """Convert the recorded lag to a `GroupTimeline`, for plots.

        The timeline has no change points, because the gold tables contain no states.
        """
        gaps = tuple((old, new, "nothing recorded") for old, new in pairwise(self.minutes) if new in self.breaks)
        return GroupTimeline(
            since, until, self.minutes, _with_nan(self.lag), _with_nan(self.members), _with_nan(self.rate_in),
            _with_nan(self.rate_out), gaps=gaps,
        )  # fmt: skip


def _with_nan(values: Sequence[float | None]) -> tuple[float, ...]:
    return tuple(math.nan if value is None else float(value) for value in values)
