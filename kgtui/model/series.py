"""Time series of groups: lag, members, rates and changes at each read. A full series drops its oldest values."""

from __future__ import annotations

import math
from array import array
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from kgtui.model.members import owners_of

if TYPE_CHECKING:
    from kgtui.model.group import GroupDescription
    from kgtui.model.members import Member
    from kgtui.model.offsets import GroupOffsets, TopicPartition


class OwnerMove(NamedTuple):
    """The move of a partition to a new owner: the member to which the partition is now assigned.

    Attributes:
        before: the last known owner; None if no owner was known.
        after: the new owner.
    """

    partition: TopicPartition
    before: Member | None
    after: Member


class MembershipChange(NamedTuple):
    """The differences between two reads of the members of a group.

    Attributes:
        joined: members that only the later read contains, sorted by id.
        left: members that only the earlier read contains, sorted by id.
        moved: partitions with a new owner, sorted by topic and partition number. Partitions that only lost their owner
            are not included.
    """

    joined: tuple[Member, ...] = ()
    left: tuple[Member, ...] = ()
    moved: tuple[OwnerMove, ...] = ()


_NO_CHANGE = MembershipChange()


class Membership:
    """The last known members of a group, and the last known owner of each partition.

    During a rebalance of a classic group, brokers report no assignments, so the last owners are kept.

    Args:
        members: the members before the first call of `update`; None if not known.
    """

    __slots__ = ("_members", "_owners")

    def __init__(self, members: tuple[Member, ...] | None = None) -> None:
        self._members = members
        self._owners: dict[TopicPartition, Member] = owners_of(members)

    def __len__(self) -> int:
        """Return the number of members plus the number of owned partitions, as a measure of memory use."""
        return len(self._members or ()) + len(self._owners)

    @property
    def members(self) -> tuple[Member, ...] | None:
        """The last known members; None if no members are known yet."""
        return self._members

    @property
    def known(self) -> bool:
        return self._members is not None

    def update(self, members: tuple[Member, ...] | None) -> MembershipChange:
        """Store the members of a new read, and return the differences from the last known members.

        If no members were known before, the result contains no differences.

        Args:
            members: the members in the new read; None if the broker has not reported them. For None, nothing is stored,
                and the result contains no differences.
        """
        old = self._members
        if members is None or old is members or old == members:
            return _NO_CHANGE
        self._members = members
        owners = owners_of(members)
        if old is None:
            self._owners = owners
            return _NO_CHANGE
        before, after = ({member.member_id: member for member in read} for read in (old, members))
        moved = []
        for partition, owner in owners.items():
            last = self._owners.get(partition)
            if last is None or last.member_id != owner.member_id:
                moved.append(OwnerMove(partition, last, owner))
        self._owners.update(owners)
        moved.sort(key=lambda move: move.partition)
        return MembershipChange(
            tuple(after[name] for name in sorted(after.keys() - before.keys())),
            tuple(before[name] for name in sorted(before.keys() - after.keys())),
            tuple(moved),
        )


LENGTH = 900
"""Maximum number of samples (reads) that are kept per group. At one sample every 2 seconds, this is half an hour."""
GROUPS = 500
"""Maximum number of groups whose series are kept.

If there are more groups, the series whose last sample is the oldest is dropped.
"""
CHANGE_POINTS = 500
"""Maximum number of change points that are kept per group. A change point is a read that shows a change."""


class GapRule(NamedTuple):
    """The rule that decides whether the time between two reads is a gap. No rate is computed across a gap.

    The time is a gap if it exceeds both limits.

    Attributes:
        at_least: limit in seconds.
        intervals: limit as a multiple of the usual time between two reads.
    """

    at_least: float
    intervals: float

    def limit(self, interval: float) -> float:
        """Return the limit in seconds. A longer time between two reads is a gap.

        Args:
            interval: usual time between two reads, in seconds.
        """
        return max(self.at_least, self.intervals * interval)


NO_GAPS = GapRule(math.inf, 0.0)


class ChangePoint(NamedTuple):
    """The first read of a group, or a read that shows a change since the previous read.

    Attributes:
        at: time of the read, in epoch seconds.
        listed: False if the group did not exist.
        state: group state, or None.
        epoch: group epoch, or None.
        assignment_epoch: epoch of the target assignment, or None.
        members: number of members, or None.
        joined, left: sorted ids of members that joined or left since the previous read.
        moved: number of partitions with a new owner. Partitions that are now without an owner do not count.
        rewound: number of records by which the sum of the committed offsets went back since the previous read.
        gap: why nothing is known about the time since the previous read; empty if there is no gap.
        since: time of the previous read in epoch seconds, or None.
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
    def compared(self) -> tuple[object, ...]:
        """The values that are compared with those of the previous read, to find a change.

        Member ids and the owners of partitions are not included, because `joined`, `left` and `moved` already show
        their changes.
        """
        return self.listed, self.state, self.epoch, self.assignment_epoch, self.members


class _Sums(NamedTuple):
    """Sums over the partitions of a group, from which rates are computed.

    Attributes:
        ends: sum of the known log end offsets.
        with_end: number of partitions in `ends`.
        positions: sum of the known committed offsets or share-partition start offsets.
        with_position: number of partitions in `positions`.
    """

    ends: int
    with_end: int
    positions: int
    with_position: int


@dataclass(slots=True)
class Series:
    """The samples (reads by kgtui) of one group, oldest first. NaN stands for an unknown value.

    Each of `times`, `lag`, `members`, `written` and `read` has one entry per sample.

    Attributes:
        times: times of the samples, in epoch seconds.
        lag: total lag in records.
        members: number of members.
        written: records written per second since the previous sample.
        read: records that the group has read per second since the previous sample.
        change_points: the first read by kgtui, and each read with a change, oldest first.
        gap_rule: how long the time between two samples must be to count as a gap.
    """

    times: array[float] = field(default_factory=lambda: array("d"))
    lag: array[float] = field(default_factory=lambda: array("d"))
    members: array[float] = field(default_factory=lambda: array("d"))
    written: array[float] = field(default_factory=lambda: array("d"))
    read: array[float] = field(default_factory=lambda: array("d"))
    change_points: list[ChangePoint] = field(default_factory=list)
    gap_rule: GapRule = NO_GAPS
    _sums: tuple[float, _Sums] | None = None
    _membership: Membership = field(default_factory=Membership)

    def add(
        self,
        at: float,
        lag: int | None,
        members: int | None,
        *,
        description: GroupDescription | None = None,
        offsets: GroupOffsets | None = None,
    ) -> None:
        """Append a sample. If the series is full, drop the oldest tenth of its samples first.

        Append a change point (a read that shows a change), too, if the description is the first one or differs from the
        previous one, if committed offsets went back, or if the time since the previous sample is a gap.

        Args:
            at: epoch seconds.
            lag: total lag in records, or None.
            members: number of members, or None.
            description: the newest description; None if not read. Without a description, no change point is appended.
            offsets: the newest offsets, from which the rates are computed; None if not read.
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
            self._add_change_point(at, description, rewound, gap, before)

    def _gap(self, at: float) -> str:
        """Return `not watched` if the time from the last read to `at` is so long that it is a gap; otherwise `""`."""
        if not self.times:
            return ""
        usual = self.times[-1] - self.times[-2] if len(self.times) > 1 else 0.0
        away = at - self.times[-1]
        return "not watched" if away > self.gap_rule.limit(usual) else ""

    def _rates(self, at: float, offsets: GroupOffsets | None, gap: str) -> tuple[float, float, int]:
        """Return the write rate and the read rate since the previous sample, and how far committed offsets went back.

        Returns:
            `(records written per second, records read per second, number of records by which the sum of the committed
            offsets decreased)`. An unknown rate is NaN.
        """
        before, self._sums = self._sums, None if offsets is None else (at, _summed(offsets))
        if before is None or self._sums is None or gap or at <= before[0]:
            return math.nan, math.nan, 0
        old, new, seconds = before[1], self._sums[1], at - before[0]
        grown, moved = new.ends - old.ends, new.positions - old.positions
        written = grown / seconds if new.with_end == old.with_end > 0 and grown >= 0 else math.nan
        if new.with_position != old.with_position or not new.with_position:
            return written, math.nan, 0
        return (written, moved / seconds, 0) if moved >= 0 else (written, math.nan, -moved)

    def _add_change_point(
        self, at: float, description: GroupDescription, rewound: int, gap: str, before: float | None
    ) -> None:
        last = self.change_points[-1] if self.change_points else None
        joined, left, moved = self._compare_members(description.members)
        point = ChangePoint(
            at, True, description.state, description.group_epoch, description.assignment_epoch,
            description.member_count, joined, left, moved, rewound, gap, before,
        )  # fmt: skip
        if last is None:
            self.change_points.append(point._replace(joined=(), left=(), moved=0))
        elif gap or joined or left or moved or rewound or point.compared != last.compared:
            del self.change_points[: max(0, len(self.change_points) + 1 - CHANGE_POINTS)]
            self.change_points.append(point)

    def _compare_members(self, members: tuple[Member, ...] | None) -> tuple[tuple[str, ...], tuple[str, ...], int]:
        """Compare the members with those of the previous read in which the members were known.

        Returns:
            `(ids of joined members, ids of members that left, number of moved partitions)`.
        """
        change = self._membership.update(members)
        joined, left = (tuple(member.member_id for member in part) for part in (change.joined, change.left))
        return joined, left, len(change.moved)

    def last_progress(self) -> float | None:
        """Return the time of the last sample in which the committed offsets were higher than in the sample before.

        The time is in seconds since the epoch. None if there is no such sample.
        """
        return next((at for at, rate in zip(reversed(self.times), reversed(self.read), strict=True) if rate > 0), None)

    def lag_trend(self, window: float = 60.0) -> float | None:
        """Return the change of the lag in records per second, over the `window` seconds before the newest known lag.

        None if the lag is known in fewer than two samples of this period.
        """
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


class SeriesStore:
    """The time series (lag, members, rates and changes) of at most `GROUPS` groups."""

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
        """Append a sample to the series of a group. The arguments are those of `Series.add`."""
        series = self._series.get(group)
        if series is None:
            series = self._series[group] = Series(gap_rule=self._gap_rule)
            if len(self._series) > GROUPS:
                self._series.popitem(last=False)
        self._series.move_to_end(group)
        series.add(at, lag, members, description=description, offsets=offsets)

    def get(self, group: str) -> Series | None:
        """Return the series of a group; None if it has no sample, or if its series was dropped."""
        return self._series.get(group)
