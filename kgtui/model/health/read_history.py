"""Collects the state and the offsets of one group, which kgtui polls, in bounded memory."""

from __future__ import annotations

from array import array
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from kgtui.model.burrow import DEFAULTS
from kgtui.model.group import membership_signature
from kgtui.model.group_types import EMPTY, REBALANCING
from kgtui.model.health.values import DEFAULT_WATCHING, RebalanceRate
from kgtui.model.offsets import lags, total
from kgtui.model.series import Series

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kgtui.model.group import GroupDescription
    from kgtui.model.health.values import Watching
    from kgtui.model.offsets import GroupOffsets, LagTotal, PartitionLag, TopicPartition
    from kgtui.model.record_times import RecordTime

SAMPLES_KEPT = 120
"""Default maximum number of samples that are kept per partition. A sample is one read of the partition by kgtui."""

_SAMPLE_FIELDS = 5
# `_UNKNOWN` stands for None in arrays of integers. Offsets and lags are never negative.
_UNKNOWN = -1


class Sample(NamedTuple):
    """The values that kgtui has read about a group in one partition, in one poll.

    Attributes:
        at: time of the read, in milliseconds since the epoch.
        position: committed offset or share-partition start offset, or None.
        log_end: log end offset, or None.
        log_start: log start offset, or None.
        lag: lag in records, or None.
    """

    at: int
    position: int | None
    log_end: int | None
    log_start: int | None
    lag: int | None


class Samples:
    """The samples of one partition, oldest first, in an array with 40 bytes per sample.

    When the array is full, every second sample of its older half is dropped. The samples at which `position` last
    changed are kept. Without them, the last commits would seem to have happened later than they did, and a group that
    has stopped would become OK again.
    """

    __slots__ = ("_rows",)

    def __init__(self) -> None:
        self._rows: array[int] = array("q")

    def __len__(self) -> int:
        return len(self._rows) // _SAMPLE_FIELDS

    def __iter__(self) -> Iterator[Sample]:
        values = self._rows.tolist()
        numbers = iter(values)
        # Fast path for samples without -1: no value has to be converted to None.
        if values and min(values) >= 0:
            yield from map(Sample._make, zip(numbers, numbers, numbers, numbers, numbers, strict=True))
            return
        for at, position, log_end, log_start, lag in zip(numbers, numbers, numbers, numbers, numbers, strict=True):
            # Values are converted inline, because a function call per value would be slow for thousands of partitions.
            yield Sample(
                at,
                None if position < 0 else position,
                None if log_end < 0 else log_end,
                None if log_start < 0 else log_start,
                None if lag < 0 else lag,
            )

    def add(self, at: int, row: PartitionLag, length: int = SAMPLES_KEPT, changes: int = DEFAULTS.intervals) -> None:
        """Append a sample.

        Args:
            at: milliseconds since the epoch; later than all earlier samples.
            row: the offsets and the lag of the partition in this read.
            length: maximum number of samples to keep, at least 4.
            changes: number of newest changes of `Sample.position` that must not be lost. The first sample after each of
                these changes is never dropped.
        """
        while len(self._rows) >= length * _SAMPLE_FIELDS:
            self._thin(changes)
        position, end, start, lag = row.position, row.log_end, row.log_start, row.lag
        # Values are converted inline, because a function call per value would be slow for thousands of partitions.
        self._rows.extend((
            at,
            _UNKNOWN if position is None else position,
            _UNKNOWN if end is None else end,
            _UNKNOWN if start is None else start,
            _UNKNOWN if lag is None else lag,
        ))  # fmt: skip

    def _thin(self, changes: int) -> None:
        half = len(self) // 2
        changed = self._last_changes(changes)
        droppable = [number for number in range(1, half) if number not in changed]
        # If every sample of the older half must be kept because it shows a change, every second one is dropped anyway.
        dropped = set(droppable[::2] or range(1, half, 2))
        kept: array[int] = array("q")
        for number in range(half):
            if number not in dropped:
                kept.extend(self._rows[number * _SAMPLE_FIELDS : (number + 1) * _SAMPLE_FIELDS])
        kept.extend(self._rows[half * _SAMPLE_FIELDS :])
        self._rows = kept

    def _last_changes(self, most: int) -> set[int]:
        """Return the indexes of the samples with the last `most` changes of `Sample.position`."""
        positions = self._rows[1::_SAMPLE_FIELDS]
        known = [number for number, position in enumerate(positions) if position != _UNKNOWN]
        changed = [after for before, after in pairwise(known) if positions[before] != positions[after]]
        return set(changed[-most:])


HOUR = 3600.0
PERIODS_KEPT = 512
"""Maximum number of periods in a `RebalanceLog`.

A period is the time between two consecutive reads of a group. Consecutive periods without changes are merged, up to one
minute.
"""

_QUIET = 60.0
_PERIOD_FIELDS = 5
"""Number of array elements per period.

The elements are: end of the period in seconds since the epoch, duration in seconds, number of changes of the group
state, number of rebalances that began, and increase of the group epoch.
"""


class RebalanceLog:
    """Counts rebalances between consecutive reads, in an array of bounded length.

    A rebalance is detected when the group enters a rebalancing state, or when the group epoch increases. In a group
    without epochs, a rebalance that begins and ends between two reads is detected because the members, their
    assignments or the leader have changed.
    """

    __slots__ = ("_epoch", "_has_epoch", "_is_counted", "_members", "_rows", "_state")

    def __init__(self) -> None:
        self._rows: array[float] = array("d")
        self._state: str | None = None
        self._epoch: int | None = None
        self._has_epoch = False
        self._members: int | None = None
        self._is_counted = False

    def add(self, at: float, state: str, epoch: int | None, watched: float | None, members: int | None = None) -> None:
        """Add a read of the group.

        Args:
            at: time of the read, in seconds since the epoch.
            state: the group state.
            epoch: the group epoch; None for groups without epochs.
            watched: seconds since the previous read. None for the first read, and after a gap, because changes during a
                gap are not counted.
            members: hash of the members and their assignments (`membership_signature`); None to compare no members.
        """
        before, self._state = self._state, state
        was, self._epoch = self._epoch, epoch
        self._has_epoch = self._has_epoch or epoch is not None
        if watched is None or before is None:
            self._members, self._is_counted = None if state in REBALANCING else members, state in REBALANCING
            return
        changed = int(state != before)
        entered = int(state in REBALANCING and before not in REBALANCING)
        self._is_counted |= bool(entered)
        if state not in REBALANCING and members is not None:
            # Members are compared only outside a rebalance, because they are incomplete during a rebalance.
            if epoch is None and self._members not in (None, members) and not self._is_counted:
                entered = 1
            self._members, self._is_counted = members, False
        steps = max(epoch - was, 0) if epoch is not None and was is not None else 0
        last = self._rows[-_PERIOD_FIELDS:]
        quiet = not (changed or entered or steps) and not any(last[2:])
        if quiet and last and last[1] + watched <= _QUIET:
            self._rows[-_PERIOD_FIELDS] = at
            self._rows[1 - _PERIOD_FIELDS] += watched
            return
        self._rows.extend((at, watched, changed, entered, steps))
        del self._rows[: -PERIODS_KEPT * _PERIOD_FIELDS]

    def rate(self, now: float) -> RebalanceRate | None:
        """Return how often the group state and the group epoch changed in the hour before `now`.

        None if this hour does not contain two reads without a gap between them.

        Args:
            now: seconds since the epoch.
        """
        rows = [self._rows[i : i + _PERIOD_FIELDS] for i in range(0, len(self._rows), _PERIOD_FIELDS)]
        recent = [row for row in rows if row[0] > now - HOUR]
        if not recent:
            return None
        watched, changes, entries, steps = (sum(column) for column in list(zip(*recent, strict=True))[1:])
        return RebalanceRate(
            int(changes), int(steps) if self._has_epoch else None, int(max(entries, steps)), watched
        )  # fmt: skip


class ReadHistory:
    """What kgtui has read about one group, in all polls since it began to watch the group.

    A gap is a failed read, or a time without reads that is longer than `watching.gap_after`. No rate is computed across
    a gap. The memory is at most 5 kB per partition plus 50 kB.

    Args:
        watching: settings for computing verdicts from the reads.

    Attributes:
        length: maximum number of samples per partition. Can be changed; a new value takes effect at the next read.
        samples: `(topic, partition)` → samples, for all partitions in the newest read of offsets.
        rows: `(topic, partition)` → committed offset, log offsets and lag, as in the newest read of offsets.
        series: total lag and number of members over time. An unknown lag is NaN.
        lag: total lag at the newest successful read of offsets, or None.
        description: the newest description, or None.
        state: the newest known state, or None.
        empty_since: None unless the group is Empty. Otherwise a pair: the time of the first read since which the group
            has been Empty without a gap, in seconds since the epoch; and whether it might have been Empty even earlier.
        rebalances: counts how often the group state and the group epoch changed between consecutive reads.
        gone: True if the group no longer exists.
        first_at: time of the first successful read in seconds since the epoch, or None.
        read_at: time of the newest successful read in seconds since the epoch, or None.
        reads: number of reads that succeeded, at least in part.
        failed: number of reads that failed, completely or in part.
        steady_since: time of the first read after the newest gap, in seconds since the epoch; None during a gap. Only
            reads from this time on are used to compute rates.
        lag_since: time of the oldest read whose total lag can be compared with the newest total lag, in seconds since
            the epoch. Two total lags can be compared if there is no gap between the reads, and if the lag is known for
            the same number of partitions. None if the newest total lag is not known.
    """

    def __init__(self, watching: Watching = DEFAULT_WATCHING) -> None:
        self.watching = watching
        self.length = SAMPLES_KEPT
        self.samples: dict[TopicPartition, Samples] = {}
        self.rows: dict[TopicPartition, PartitionLag] = {}
        self.series = Series()
        self.lag: LagTotal | None = None
        self.description: GroupDescription | None = None
        self.state: str | None = None
        self.empty_since: tuple[float, bool] | None = None
        self.rebalances = RebalanceLog()
        self.gone = False
        self.first_at: float | None = None
        self.read_at: float | None = None
        self.reads = 0
        self.failed = 0
        self.steady_since: float | None = None
        self.lag_since: float | None = None
        self._composition: tuple[int, int] | None = None
        self._described_at: float | None = None

    @property
    def topics(self) -> set[str]:
        """The topics in the newest read of offsets."""
        return {topic for topic, _ in self.rows}

    def add(
        self, at: float, description: GroupDescription | None, offsets: GroupOffsets | None, *, fault: bool = False
    ) -> None:
        """Add a read of the group. A read that is not later than the previous one is ignored.

        Args:
            at: seconds since the epoch.
            description: None if the group was not described in this read.
            offsets: None if they could not be read, or if groups of this kind have no offsets.
            fault: True if some data of the group could not be read. If it is True and `offsets` is None, this read
                counts as a gap.
        """
        if self.read_at is not None and at <= self.read_at:
            return
        if fault:
            self.failed += 1
        if description is None and offsets is None:
            if fault:
                self.steady_since = self.lag_since = None
            return
        gap = self.read_at is None or at - self.read_at > self.watching.gap_after
        if gap or (fault and offsets is None) or self.steady_since is None:
            self.steady_since = at
        self._add_description(at, description)
        self._add_offsets(at, offsets)
        self.gone = False
        self.reads += 1
        self.first_at = at if self.first_at is None else self.first_at
        self.read_at = at

    def set_record_times(self, times: Mapping[TopicPartition, RecordTime]) -> None:
        """Store the times at which the records next to the newest committed offsets were written.

        Partitions that are not in the newest read of offsets are ignored.

        Args:
            times: `(topic, partition)` → times of the records next to the committed offset.
        """
        for key, found in times.items():
            if key in self.rows:
                self.rows[key] = replace(self.rows[key], times=found)

    def begin_gap(self) -> None:
        """Begin a gap, which lasts until the next read of the group. No rate is computed across it."""
        self.steady_since = self.lag_since = self._described_at = None

    def mark_gone(self) -> None:
        """Store that the group no longer exists."""
        self.gone = True

    def _add_description(self, at: float, description: GroupDescription | None) -> None:
        if description is None:
            self._described_at = None
            return
        watched = (
            None
            if self._described_at is None or at - self._described_at > self.watching.gap_after
            else at - self._described_at
        )
        state = description.state
        # Each rebalance of a group with epochs changes the epoch, so the members of such a group need not be compared.
        compared = description.group_epoch is None and description.members is not None
        members = membership_signature(description) if compared else None
        self.rebalances.add(at, state, description.group_epoch, watched, members)
        if state != EMPTY:
            self.empty_since = None
        elif self.empty_since is None or watched is None:
            # `empty_since[1]` says whether the group might have been Empty before this read. It is False only if the
            # last known state was a different state.
            self.empty_since = (at, self.state in (None, EMPTY))
        self.description, self.state, self._described_at = description, state, at

    def _add_offsets(self, at: float, offsets: GroupOffsets | None) -> None:
        members = self.description.member_count if self.description is not None and self._described_at == at else None
        if offsets is None:
            self.series.add(at, None, members)
            self.lag_since = None
            return
        rows = lags(offsets)
        self.rows = {(row.topic, row.partition): row for row in rows}
        millis, length, before = round(at * 1000), self.length, self.samples
        changes = self.watching.rules.intervals
        self.samples = {}
        for key, row in self.rows.items():
            kept = self.samples[key] = before.get(key) or Samples()
            kept.add(millis, row, length, changes)
        self.lag = summed = total(rows)
        self.series.add(at, summed.lag, members)
        composition = (summed.partitions, sum(1 for row in rows if row.lag is not None))
        if summed.lag is None:
            self.lag_since = None
        elif self.lag_since is None or composition != self._composition or self.steady_since == at:
            self.lag_since = at
        self._composition = composition
