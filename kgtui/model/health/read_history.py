"""Collects the reads of one group: what a poller sees, in bounded memory, ready to be judged."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, NamedTuple

from kgtui.model.group_types import EMPTY, REBALANCING
from kgtui.model.health.values import DEFAULT_WATCHING, RebalanceRate
from kgtui.model.offsets import lags, total
from kgtui.model.series import Series

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgtui.model.group import GroupDescription
    from kgtui.model.health.values import Watching
    from kgtui.model.offsets import GroupOffsets, LagTotal, PartitionLag, TopicPartition

SAMPLES_KEPT = 120
"""Samples kept of a partition by default: 10 minutes at 5 s in full; what is older thins out, the oldest stays."""

_SAMPLE_FIELDS = 5
_UNKNOWN = -1  # offsets and lags are never negative


class Sample(NamedTuple):
    """One read of one partition.

    Attributes:
        at: milliseconds since the epoch.
        position: committed offset, or share-partition start offset; None when there is none or it is not known.
        lag: as the group's type counts it; None when not known.
    """

    at: int
    position: int | None
    log_end: int | None
    log_start: int | None
    lag: int | None


class Samples:
    """The samples of one partition, oldest first; 40 bytes each."""

    __slots__ = ("_rows",)

    def __init__(self) -> None:
        self._rows: array[int] = array("q")

    def __len__(self) -> int:
        return len(self._rows) // _SAMPLE_FIELDS

    def __iter__(self) -> Iterator[Sample]:
        # Written out, because it is done for thousands of partitions again and again.
        values = self._rows.tolist()
        numbers = iter(values)
        if values and min(values) >= 0:  # all is known
            yield from map(Sample._make, zip(numbers, numbers, numbers, numbers, numbers, strict=True))
            return
        for at, position, log_end, log_start, lag in zip(numbers, numbers, numbers, numbers, numbers, strict=True):
            yield Sample(
                at,
                None if position < 0 else position,
                None if log_end < 0 else log_end,
                None if log_start < 0 else log_start,
                None if lag < 0 else lag,
            )

    def add(self, at: int, row: PartitionLag, length: int = SAMPLES_KEPT) -> None:
        """Append what was read at `at`, in milliseconds, later than all before; keep at most `length`, at least 4."""
        while len(self._rows) >= length * _SAMPLE_FIELDS:
            self._thin()
        # Written out, because it is done for every partition in view at every poll.
        position, end, start, lag = row.position, row.log_end, row.log_start, row.lag
        self._rows.extend((
            at,
            _UNKNOWN if position is None else position,
            _UNKNOWN if end is None else end,
            _UNKNOWN if start is None else start,
            _UNKNOWN if lag is None else lag,
        ))  # fmt: skip

    def _thin(self) -> None:
        """Drop every other sample of the older half, but never the oldest."""
        half = len(self) // 2
        kept: array[int] = array("q")
        for number in range(0, half, 2):
            kept.extend(self._rows[number * _SAMPLE_FIELDS : (number + 1) * _SAMPLE_FIELDS])
        kept.extend(self._rows[half * _SAMPLE_FIELDS :])
        self._rows = kept


HOUR = 3600.0
STRETCHES_KEPT = 512
"""Stretches kept; a quiet minute is one, and so is each read that saw something change."""

_QUIET = 60.0
_STRETCH_FIELDS = 5  # end, seconds watched, state changes, entries into a rebalance, epoch steps


class RebalanceLog:
    """Collects what each read saw change since the read before, in an array of bounded length."""

    __slots__ = ("_epoch", "_has_epoch", "_rows", "_state")

    def __init__(self) -> None:
        self._rows: array[float] = array("d")
        self._state: str | None = None
        self._epoch: int | None = None
        self._has_epoch = False

    def add(self, at: float, state: str, epoch: int | None, watched: float | None) -> None:
        """Take a read.

        Args:
            at: seconds since the epoch.
            epoch: the group epoch; None for groups without.
            watched: seconds since the read before; None when there was none, or a gap lies in between: what changed
                over a gap is not counted, because nobody knows how often.
        """
        before, self._state = self._state, state
        was, self._epoch = self._epoch, epoch
        self._has_epoch = self._has_epoch or epoch is not None
        if watched is None or before is None:
            return
        changed = int(state != before)
        entered = int(state in REBALANCING and before not in REBALANCING)
        steps = max(epoch - was, 0) if epoch is not None and was is not None else 0
        last = self._rows[-_STRETCH_FIELDS:]
        if not (changed or steps) and last and not (last[2] or last[4]) and last[1] + watched <= _QUIET:
            self._rows[-_STRETCH_FIELDS] = at
            self._rows[1 - _STRETCH_FIELDS] += watched
            return
        self._rows.extend((at, watched, changed, entered, steps))
        del self._rows[: -STRETCHES_KEPT * _STRETCH_FIELDS]

    def rate(self, now: float) -> RebalanceRate | None:
        """What the last hour saw; None before two reads without a gap in between."""
        rows = [self._rows[i : i + _STRETCH_FIELDS] for i in range(0, len(self._rows), _STRETCH_FIELDS)]
        recent = [row for row in rows if row[0] > now - HOUR]
        if not recent:
            return None
        watched, changes, entries, steps = (sum(column) for column in list(zip(*recent, strict=True))[1:])
        return RebalanceRate(
            int(changes), int(steps) if self._has_epoch else None, int(max(entries, steps)), watched
        )  # fmt: skip


class ReadHistory:
    """The reads of one group, oldest first.

    A partition takes 5 kB at most (`Samples`), the group 50 kB more, however long it is watched.

    Args:
        watching: how the reads are to be judged.

    Attributes:
        length: samples kept of each partition from the next read on.
        samples: partition → its reads; only partitions of the newest read of offsets are kept.
        rows: the newest read of each partition.
        series: summed lag and members over time; the lag is NaN where it was not read.
        lag: summed at the newest good read of offsets; None before.
        description: the newest.
        state: at the newest read that told it.
        empty_since: when it was first seen Empty without a break, and whether it was so at the first read; None when
            it is not Empty.
        rebalances: what changed from read to read.
        gone: the group no longer exists.
        first_at: the first good read, or None.
        read_at: the newest good read, or None.
        reads: how many reads succeeded.
        failed: how many did not, in whole or in part.
        steady_since: the first read after the newest gap: rates are taken from there.
        lag_since: the first read since which the lag is summed over the same partitions; None when it is not known now.
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
        self._told_at: float | None = None

    @property
    def topics(self) -> set[str]:
        """The topics of the newest read."""
        return {topic for topic, _ in self.rows}

    def add(
        self, at: float, description: GroupDescription | None, offsets: GroupOffsets | None, *, fault: bool = False
    ) -> None:
        """Take what was read of the group; ignored when it is not later than the read before.

        Args:
            at: seconds since the epoch.
            description: None when the group could not be described, or was not asked for.
            offsets: None when they could not be read, or for groups that have none.
            fault: something was asked for and not learned: what is None is missing, and no rate goes across it.
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
        self._take_description(at, description)
        self._take_offsets(at, offsets)
        self.gone = False
        self.reads += 1
        self.first_at = at if self.first_at is None else self.first_at
        self.read_at = at

    def interrupt(self) -> None:
        """Nothing is known of the time until the next read: no rate is taken across it."""
        self.steady_since = self.lag_since = self._told_at = None

    def vanish(self) -> None:
        """The group does not exist any more."""
        self.gone = True

    def _take_description(self, at: float, description: GroupDescription | None) -> None:
        if description is None:
            self._told_at = None
            return
        watched = None if self._told_at is None or at - self._told_at > self.watching.gap_after else at - self._told_at
        state = description.state
        self.rebalances.add(at, state, description.group_epoch, watched)
        if state != EMPTY:
            self.empty_since = None
        elif self.empty_since is None or watched is None:
            # Over a gap it may have been something else in between.
            self.empty_since = (at, self.state in (None, EMPTY))
        self.description, self.state, self._told_at = description, state, at

    def _take_offsets(self, at: float, offsets: GroupOffsets | None) -> None:
        members = self.description.member_count if self.description is not None and self._told_at == at else None
        if offsets is None:
            self.series.add(at, None, members)
            self.lag_since = None
            return
        rows = lags(offsets)
        self.rows = {(row.topic, row.partition): row for row in rows}
        millis, length, before = round(at * 1000), self.length, self.samples
        self.samples = {}
        for key, row in self.rows.items():
            kept = self.samples[key] = before.get(key) or Samples()
            kept.add(millis, row, length)
        self.lag = summed = total(rows)
        self.series.add(at, summed.lag, members)
        composition = (summed.partitions, sum(1 for row in rows if row.lag is not None))
        if summed.lag is None:
            self.lag_since = None
        elif self.lag_since is None or composition != self._composition or self.steady_since == at:
            self.lag_since = at
        self._composition = composition
