"""Collects the reads of one group: what a poller sees, in bounded memory, ready to be judged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.model.group_types import EMPTY
from kgtui.model.health.rebalances import RebalanceLog
from kgtui.model.health.samples import LENGTH, Samples
from kgtui.model.health.values import DEFAULT_WATCHING
from kgtui.model.offsets import lags, total
from kgtui.model.series import Series

if TYPE_CHECKING:
    from kgtui.model.group import GroupDescription
    from kgtui.model.health.values import Watching
    from kgtui.model.offsets import GroupOffsets, LagTotal, PartitionLag, TopicPartition


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
        self.length = LENGTH
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
        gap = self.read_at is None or at - self.read_at > self.watching.patience
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
        watched = None if self._told_at is None or at - self._told_at > self.watching.patience else at - self._told_at
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
