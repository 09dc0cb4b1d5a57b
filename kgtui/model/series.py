"""Samples of a group over time, in compact rings: lag, members, rates; and each look that found it otherwise."""

from __future__ import annotations

import math
from array import array
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgtui.model.group import GroupDescription
    from kgtui.model.members import Member
    from kgtui.model.offsets import GroupOffsets

LENGTH = 900  # samples kept per group: half an hour at 2 s
GROUPS = 500  # groups kept; the one not looked at for longest goes first
SIGHTS = 500  # looks that found a group otherwise, kept of each


class GapRule(NamedTuple):
    """Decides which time between two reads of a series is a gap, across which no rate is computed.

    Attributes:
        at_least: shortest time that is a gap, in seconds.
        intervals: the same in intervals between reads; the longer of both counts.
    """

    at_least: float
    intervals: float

    def limit(self, interval: float) -> float:
        """Return the longest time between two reads that is no gap, in seconds.

        Args:
            interval: usual seconds between two reads.
        """
        return max(self.at_least, self.intervals * interval)


NO_GAPS = GapRule(math.inf, 0.0)


class ChangePoint(NamedTuple):
    """A look at a group that found it otherwise than the look before; the first look too.

    Attributes:
        at: seconds since the epoch.
        listed: False when there is no such group.
        state: None when it is not told.
        epoch, assignment_epoch: None for groups without.
        members: how many; None when unknown.
        joined, left: member ids, sorted; nobody at the first look.
        moved: partitions that have another owner than before; those that have none now do not count.
        rewound: records that the position went back by.
        gap: why nothing is known of the time before, ``""`` when something is.
        since: the look before; None at the first.
    """

    at: float
    listed: bool = True
    state: str | None = None
    epoch: int | None = None
    assignment_epoch: int | None = None
    members: int | None = None
    joined: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    moved: int = 0
    rewound: int = 0
    gap: str = ""
    since: float | None = None

    @property
    def standing(self) -> tuple[object, ...]:
        """What makes it another look, beside who came and went."""
        return self.listed, self.state, self.epoch, self.assignment_epoch, self.members


class _Sums(NamedTuple):
    """Positions and log ends of a group, summed, and of how many partitions."""

    ends: int
    with_end: int
    positions: int
    with_position: int


@dataclass(slots=True)
class Series:
    """The samples of one group, oldest first. An unknown value is NaN.

    Attributes:
        times: seconds since the epoch.
        lag: records.
        members: count.
        written, read: records a second since the sample before: how the log ends grew, and the group's positions.
        sights: each look that found the group otherwise, oldest first.
        gap_rule: which time between two reads is a gap.
    """

    times: array[float] = field(default_factory=lambda: array("d"))
    lag: array[float] = field(default_factory=lambda: array("d"))
    members: array[float] = field(default_factory=lambda: array("d"))
    written: array[float] = field(default_factory=lambda: array("d"))
    read: array[float] = field(default_factory=lambda: array("d"))
    change_points: list[ChangePoint] = field(default_factory=list)
    gap_rule: GapRule = NO_GAPS
    _sums: tuple[float, _Sums] | None = None
    _people: tuple[Member, ...] | None = None
    _owned: dict[tuple[str, int], str] = field(default_factory=dict)

    def add(
        self,
        at: float,
        lag: int | None,
        members: int | None,
        *,
        description: GroupDescription | None = None,
        offsets: GroupOffsets | None = None,
    ) -> None:
        """Append a sample; drops the oldest tenth when full.

        Args:
            description: as read for this sample; None when it was not, and the group is taken to be as before.
            offsets: the same; without them no rate is known.
        """
        gap = self._gap(at)
        if len(self.times) >= LENGTH:
            for column in (self.times, self.lag, self.members, self.written, self.read):
                del column[: LENGTH // 10]
        written, read, rewound = self._rates(at, offsets, gap)
        before = self.times[-1] if self.times else None
        self.times.append(at)
        self.lag.append(math.nan if lag is None else lag)
        self.members.append(math.nan if members is None else members)
        self.written.append(written)
        self.read.append(read)
        if description is not None:
            self._see(at, description, rewound, gap, before)

    def _gap(self, at: float) -> str:
        """Why nothing is known of the time before."""
        if not self.times:
            return ""
        usual = self.times[-1] - self.times[-2] if len(self.times) > 1 else 0.0
        away = at - self.times[-1]
        return "not watched" if away > self.gap_rule.limit(usual) else ""

    def _rates(self, at: float, offsets: GroupOffsets | None, gap: str) -> tuple[float, float, int]:
        """Written and read a second, and by how much the position went back."""
        before, self._sums = self._sums, None if offsets is None else (at, _summed(offsets))
        if before is None or self._sums is None or gap or at <= before[0]:
            return math.nan, math.nan, 0
        old, new, seconds = before[1], self._sums[1], at - before[0]
        grown, moved = new.ends - old.ends, new.positions - old.positions
        written = grown / seconds if new.with_end == old.with_end > 0 and grown >= 0 else math.nan
        if new.with_position != old.with_position or not new.with_position:
            return written, math.nan, 0
        return (written, moved / seconds, 0) if moved >= 0 else (written, math.nan, -moved)

    def _see(self, at: float, description: GroupDescription, rewound: int, gap: str, before: float | None) -> None:
        last = self.change_points[-1] if self.change_points else None
        joined, left, moved = self._meet(description.members)
        point = ChangePoint(
            at, True, description.state, description.group_epoch, description.assignment_epoch,
            description.member_count, joined, left, moved, rewound, gap, before,
        )  # fmt: skip
        if last is None:
            self.change_points.append(point._replace(joined=(), left=(), moved=0))
        elif gap or joined or left or moved or rewound or point.standing != last.standing:
            del self.change_points[: max(0, len(self.change_points) + 1 - SIGHTS)]
            self.change_points.append(point)

    def _meet(self, people: tuple[Member, ...] | None) -> tuple[tuple[str, ...], tuple[str, ...], int]:
        """Who joined, who left, and how many partitions have another owner now than the last that was known."""
        old, self._people = self._people, people if people is not None else self._people
        if people is None or old is people or old == people:
            return (), (), 0
        before, after = {member.member_id for member in old or ()}, {member.member_id for member in people}
        moved = 0
        for place, owner in _owners(people):
            moved += self._owned.get(place) != owner
            self._owned[place] = owner
        return tuple(sorted(after - before)), tuple(sorted(before - after)), moved

    def lag_trend(self, window: float = 60.0) -> float | None:
        """Change of the lag in records a second over the last `window` seconds; None until two samples tell."""
        known = [(t, lag) for t, lag in zip(self.times, self.lag, strict=True) if not math.isnan(lag)]
        if not known:
            return None
        recent = [(t, lag) for t, lag in known if t >= known[-1][0] - window]
        (first, before), (last, now) = recent[0], recent[-1]
        return (now - before) / (last - first) if last > first else None


def _summed(offsets: GroupOffsets) -> _Sums:
    bounds = (offsets.bounds or {}).values()
    ends = [log.log_end for log in bounds if log.log_end is not None]
    positions = [row.offset for row in offsets.committed if row.offset is not None]
    positions += [row.start_offset for row in offsets.share if row.start_offset is not None]
    return _Sums(sum(ends), len(ends), sum(positions), len(positions))


def _owners(members: tuple[Member, ...] | None) -> Iterator[tuple[tuple[str, int], str]]:
    for member in members or ():
        for topic, numbers in member.assignment or ():
            for number in numbers:
                yield (topic, number), member.member_id


class SeriesStore:
    """Series of the groups that were looked at."""

    def __init__(self, gap_rule: GapRule = NO_GAPS) -> None:
        self._gap_rule = gap_rule
        self._series: OrderedDict[str, Series] = OrderedDict()

    def add(
        self,
        group: str,
        at: float,
        lag: int | None,
        members: int | None,
        *,
        description: GroupDescription | None = None,
        offsets: GroupOffsets | None = None,
    ) -> None:
        """Append a sample of a group."""
        series = self._series.get(group)
        if series is None:
            series = self._series[group] = Series(gap_rule=self._gap_rule)
            if len(self._series) > GROUPS:
                self._series.popitem(last=False)
        self._series.move_to_end(group)
        series.add(at, lag, members, description=description, offsets=offsets)

    def get(self, group: str) -> Series | None:
        """The samples of a group, or None if it was never looked at."""
        return self._series.get(group)
