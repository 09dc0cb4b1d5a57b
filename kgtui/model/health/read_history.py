"""Stores the polled states and offsets of one group over time, in a limited amount of memory."""

from __future__ import annotations

from array import array
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from kgtui.model.burrow import DEFAULTS
from kgtui.model.group import membership_signature
from kgtui.model.group_types import EMPTY, REBALANCING, UNSETTLED
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
"""Default for the maximum number of samples per partition. A sample contains the values from one read."""

_SAMPLE_FIELDS = 5
# `_UNKNOWN` stands for None in arrays of integers. Offsets and lags are never negative.
_UNKNOWN = -1


class Sample(NamedTuple):
    """The offsets of a group in one partition, in one poll. An unknown offset is None.

    Attributes:
        at: time of the poll in epoch milliseconds.
        position: committed offset or share-partition start offset.
        log_end: log end offset.
        log_start: log start offset.
        lag: lag in records.
    """

    at: int
    position: int | None
    log_end: int | None
    log_start: int | None
    lag: int | None


class Samples:
    """The samples of one partition, oldest first, in an array with 40 bytes per sample.

    A sample contains the offsets from one read. When the maximum number of samples is reached, every second sample in
    the older half is dropped. Samples that show the last changes of the committed offset (`Sample.position`) stay.
    Without them, a stopped group would get the verdict OK again.
    """

    __slots__ = ("_rows",)

    def __init__(self) -> None:
        self._rows: array[int] = array("q")

    def __len__(self) -> int:
        return len(self._rows) // _SAMPLE_FIELDS

    def __iter__(self) -> Iterator[Sample]:
        values = self._rows.tolist()
        numbers = iter(values)
        # Fast path for samples without unknown values (-1): nothing has to be converted to None.
        if values and min(values) >= 0:
            yield from map(Sample._make, zip(numbers, numbers, numbers, numbers, numbers, strict=True))
            return
        for at, position, log_end, log_start, lag in zip(numbers, numbers, numbers, numbers, numbers, strict=True):
            # -1 is converted to None inline, because a function call per value is too slow for thousands of partitions.
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
            at: epoch milliseconds; later than all earlier samples.
            row: offsets and lag of the partition.
            length: maximum number of kept samples, at least 4.
            changes: how many of the last changes of the committed offset (`Sample.position`) to keep. A sample that
                shows one of these changes is dropped only if the older half of the samples contains no others.
        """
        while len(self._rows) >= length * _SAMPLE_FIELDS:
            self._thin(changes)
        position, end, start, lag = row.position, row.log_end, row.log_start, row.lag
        # None is converted to -1 inline, because a function call per value is too slow for thousands of partitions.
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
        # If all samples in the older half show changes of the committed offset that should be kept, drop every second
        # sample anyway, to limit the length.
        dropped = set(droppable[::2] or range(1, half, 2))
        kept: array[int] = array("q")
        for number in range(half):
            if number not in dropped:
                kept.extend(self._rows[number * _SAMPLE_FIELDS : (number + 1) * _SAMPLE_FIELDS])
        kept.extend(self._rows[half * _SAMPLE_FIELDS :])
        self._rows = kept

    def _last_changes(self, most: int) -> set[int]:
        """Return the indexes of the newest samples in which `Sample.position` has changed, at most `most` of them."""
        positions = self._rows[1::_SAMPLE_FIELDS]
        known = [number for number, position in enumerate(positions) if position != _UNKNOWN]
        changed = [after for before, after in pairwise(known) if positions[before] != positions[after]]
        return set(changed[-most:])


HOUR = 3600.0
PERIODS_KEPT = 512
"""Maximum number of periods in a `RebalanceLog`.

A period is the time between two reads of a group. Successive periods in which the group has not changed are merged into
one period of at most one minute.
"""

_QUIET = 60.0
_PERIOD_FIELDS = 5
"""Number of array elements per period (the time between two reads of a group).

The elements are the end of the period (epoch seconds), its duration (seconds), the number of state changes, the number
of rebalances that began, and the increase of the group epoch.
"""


class RebalanceLog:
    """Counts the rebalances of a group between consecutive reads, in an array of bounded length.

    A change to a rebalancing state, or a larger group epoch, counts as a rebalance. In groups without epochs, changed
    members or assignments count, too, because a rebalance can begin and end between two reads.
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
        """Add a read of the group, and count the rebalances since the previous read.

        Args:
            at: time of the read in epoch seconds.
            state: the group state.
            epoch: group epoch, or None.
            watched: seconds since the previous read; None for the first read and after a gap (a long time without
                successful reads).
            members: hash of members and assignments (`membership_signature`); None to ignore changes of members.
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
            # During a rebalance, the list of members is incomplete, so it is not compared.
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
        """Return how often state and epoch changed in the hour before `now` (epoch seconds).

        A change between two reads does not count if there was a gap (a failed read, or a long time without reads)
        between them. The result is None if the hour does not contain two reads without a gap between them.
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
    """The reads of one group since kgtui began to watch it. They need at most 50 kB of memory, plus 5 kB per partition.

    A gap is a failed read, or a time of more than `watching.gap_after` seconds without reads. No rate is computed from
    reads on both sides of a gap.

    Args:
        watching: settings for verdicts.

    Attributes:
        length: maximum number of samples per partition. Callers may change it at any time.
        samples: `(topic, partition)` → samples, for all partitions in the newest read.
        rows: `(topic, partition)` → newest offsets and lag.
        series: total lag and number of members over time.
        lag: newest total lag, or None.
        description: newest description, or None.
        state: newest known state, or None.
        empty_since: start of the current Empty state, as `(epoch seconds, at_least)`; None if the group is not Empty.
            The time is that of the first read that found the group Empty; reads before the newest gap do not count.
            `kgtui.monitor.health` replaces it with a better time if the lists of groups show one. `at_least` is True if
            the group may have been Empty earlier.
        unsettled_since: start of the current rebalance or NotReady state, in epoch seconds; None if the group is in
            another state. The time is that of the first read that found such a state; reads before the newest gap do
            not count.
        rebalances: counter of rebalances, and of changes of state and epoch.
        gone: whether the group no longer exists.
        first_at: epoch seconds of the first successful read, or None.
        read_at: epoch seconds of the newest successful read, or None.
        reads: number of reads that succeeded, at least in part.
        failed: number of reads that failed, at least in part.
        offsets_failed: whether the offsets could not be read in the newest read.
        steady_since: epoch seconds of the first read after the newest gap; None during a gap. Rates are computed only
            from this read and later ones.
        lag_since: epoch seconds of the oldest total lag that can be compared with the newest one, or None. Since that
            time, there was no gap, and neither the number of partitions nor the number of known lags has changed.
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
        self.unsettled_since: float | None = None
        self.rebalances = RebalanceLog()
        self.gone = False
        self.first_at: float | None = None
        self.read_at: float | None = None
        self.reads = 0
        self.failed = 0
        self.offsets_failed = False
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
            at: epoch seconds.
            description: None if it was not read.
            offsets: None if they were not read, or if the group has none.
            fault: whether a part of the data could not be read. If True, and `offsets` is None, the read counts as a
                gap: no rate is computed from earlier and later reads together.
        """
        if self.read_at is not None and at <= self.read_at:
            return
        self.offsets_failed = fault and offsets is None
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
        """Store when the last consumed and the first unread record of partitions were written.

        Args:
            times: `(topic, partition)` → times. Partitions that were not in the newest read are ignored.
        """
        for key, found in times.items():
            if key in self.rows:
                self.rows[key] = replace(self.rows[key], times=found)

    def begin_gap(self) -> None:
        """Begin a gap (a time without reads), which ends with the next read. No rate is computed across the gap."""
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
        # Members are compared only in groups without epochs. In all other groups, each rebalance changes the epoch.
        compared = description.group_epoch is None and description.members is not None
        members = membership_signature(description) if compared else None
        self.rebalances.add(at, state, description.group_epoch, watched, members)
        if state != EMPTY:
            self.empty_since = None
        elif self.empty_since is None or watched is None:
            # The second value, `at_least`, is True if the group may have been Empty before this read. This is so if it
            # was already Empty before a gap (a time without reads), or if no earlier state is known.
            self.empty_since = (at, self.state in (None, EMPTY))
        if state not in UNSETTLED:
            self.unsettled_since = None
        elif self.unsettled_since is None or watched is None:
            self.unsettled_since = at
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
