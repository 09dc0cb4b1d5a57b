"""Data classes for the health of a group, and for the settings of the health computation."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from kgtui.model.burrow import DEFAULTS, Options, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kgtui.model.burrow import GroupVerdict
    from kgtui.model.offsets import LagTotal, TopicPartition

OBSERVED = "observed"
"""Value of `GroupHealth.basis`. It means that the verdict is computed from polled offsets instead of commits."""


@dataclass(frozen=True, slots=True)
class Watching:
    """Settings for computing the verdicts on a group and its partitions from polled offsets.

    Attributes:
        rules: Burrow's settings.
        commit_interval: assumed time between two commits, in seconds, until the actual time is known. The default
            equals the default value of Kafka's `auto.commit.interval.ms`.
        gap_after: longest time between two polls of a group, in seconds. A longer time is a gap, across which no rate
            is computed.
    """

    rules: Options = DEFAULTS
    commit_interval: float = 5.0
    gap_after: float = 60.0

    @property
    def window(self) -> float:
        """Time that `rules.intervals` commits take, in seconds, if they are `commit_interval` apart."""
        return (self.rules.intervals - 1) * self.commit_interval

    @property
    def enough(self) -> int:
        """Minimum number of commits with a known lag that WARN requires: half of `rules.intervals`, but at least 3."""
        return max(3, self.rules.intervals // 2)


DEFAULT_WATCHING = Watching()


class Lack(Enum):
    """The kind of data that is missing to confirm or exclude a verdict on a group."""

    TIME = "time"
    """The group must be watched for longer. `Undecided.needs` and `has` are durations in seconds."""
    COMMITS = "commits"
    """More commits are needed. `Undecided.needs` and `has` are numbers of observed commits."""
    LAG = "lag"
    """The lag of a partition is needed, but not known. `Undecided.why` is the reason."""
    PERMISSION = "permission"
    """Brokers might hide offsets in topics on which the user has no DESCRIBE permission.

    The reported verdict is based only on the visible offsets.
    """


@dataclass(frozen=True, slots=True)
class Undecided:
    """A verdict that is worse than the reported verdict, and that the polled data can neither confirm nor exclude.

    Attributes:
        status: the undecided verdict, such as STOP.
        lack: kind of data that is missing.
        needs: how much data is needed: seconds or a number of commits, depending on `lack`.
        has: how much data there is, in the unit of `needs`.
        partitions: number of partitions for which the verdict is undecided.
        why: reason for an unknown lag, such as `forbidden` or `no leader`; `kgtui.model.access.HIDDEN` if brokers might
            hide offsets; empty if other data is missing.
    """

    status: Status
    lack: Lack
    needs: float = 0.0
    has: float = 0.0
    partitions: int = 1
    why: str = ""


@dataclass(frozen=True, slots=True)
class TimeLag:
    """The age of the oldest unread record.

    Attributes:
        seconds: the age, or its lowest possible value; 0 if nothing is unread.
        at_least: True if the record might be older than `seconds`, because it was written before kgtui first read the
            group, or because the age is not known for some partition.
        at_most: highest possible age, if the search for the timestamp of the record found only a range of times;
            otherwise None.
        exact: True if the age comes from the timestamp of the record, False if it is estimated.
        reason: why the search for the timestamp of the record found none; empty otherwise.
    """

    seconds: float
    at_least: bool = False
    at_most: float | None = None
    exact: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Loss:
    """An expected loss of records: at the current speed of the group, retention will delete them before they are read.

    Attributes:
        seconds: time until the first unread record is deleted, in seconds; 0 for the basis `size`.
        basis: `retention` (the topic's retention and the age of the oldest unread record), `log start` (the observed
            movement of the log start offset), or `size` (`retention.bytes` can delete the record at any time).
        lead: number of records from the log start offset to the committed offset, or None.
        at_most: True if the loss might come sooner, because the first unread record might be older than estimated.
        at: time of the loss, in seconds since the epoch; None for the basis `size`.
        exact: True if `at` is computed from the timestamp of the first unread record, for a group that reads nothing.
            Retention can delete the record at `at` or later.
        in_older_half: whether the first unread record is in the older half of the log, by number of records or by age.
    """

    topic: str
    partition: int
    seconds: float
    basis: str
    lead: int | None
    at_most: bool = False
    at: float | None = None
    exact: bool = False
    in_older_half: bool = True

    SOON = 86_400.0
    """An expected loss of records within this many seconds is shown as an error."""
    NEAR = 3 * 86_400.0
    """A loss of records is reported if it is expected within this many seconds.

    The value is longer than a weekend, so that somebody can act in time.
    """

    @property
    def is_near(self) -> bool:
        """Whether the loss is a problem: it is expected within `NEAR` seconds, and `in_older_half` is true.

        The second condition is needed for topics that keep records for only a day, because every loss in these topics
        is expected within `NEAR` seconds. The time of a loss with the basis `size` is unknown, so it is not near.
        """
        return self.basis != "size" and self.seconds <= self.NEAR and self.in_older_half


@dataclass(frozen=True, slots=True)
class RebalanceRate:
    """How often the group state and the group epoch changed in the last hour. Changes during gaps are not counted.

    Attributes:
        state_changes: number of reads in which the group state differs from that in the previous read.
        epoch_steps: increase of the group epoch (KIP-848, KIP-932, KIP-1071); None for groups without epochs.
        rebalances: `epoch_steps`, or the number of observed rebalances if that is larger.
        seconds: number of seconds in the last hour for which kgtui has watched the group.
    """

    state_changes: int
    epoch_steps: int | None
    rebalances: int
    seconds: float

    FLAPPING = 6.0
    """Minimum rebalances per hour of a flapping group. The group must also rebalance at least `FLAPPING_LEAST` times.

    The background read of all groups uses a different limit, `FLAPPING_SECONDS` in `kgtui.monitor.trail_rules`.
    """
    FLAPPING_LEAST = 3

    @property
    def per_hour(self) -> float | None:
        """Rebalances per hour; None if the group has not been watched yet."""
        return self.rebalances * 3600 / self.seconds if self.seconds > 0 else None

    @property
    def flapping(self) -> bool:
        """Whether the group is flapping, which means that it rebalances again and again."""
        rate = self.per_hour
        return rate is not None and self.rebalances >= self.FLAPPING_LEAST and rate >= self.FLAPPING


@dataclass(frozen=True, slots=True)
class EmptyPeriod:
    """How long the group has been Empty.

    Attributes:
        seconds: observed time in the state Empty, in seconds.
        at_least: True if the group was already Empty at the first read, so that `seconds` is a lower bound.
        expires_in: seconds until the broker can delete the offsets of the group; None if the time is not known, or does
            not depend on the time at which the group became Empty.
        after_commit: whether each offset expires a fixed time after its own commit (consumer and streams groups).
            `expires_in` is then an upper bound, unless offsets were reset while the group was Empty.
    """

    seconds: float
    at_least: bool = False
    expires_in: float | None = None
    after_commit: bool = False

    SOON = 86_400.0
    """A warning is shown if the offsets can expire within this many seconds."""

    @property
    def at_most(self) -> bool:
        """Whether `expires_in` is only an upper bound, because the offsets might expire earlier."""
        return self.at_least or self.after_commit


class Rewind(NamedTuple):
    """A decrease of a committed offset, or of a share-partition start offset.

    Attributes:
        at: time of the first read of the smaller offset, in seconds since the epoch.
        before: the larger offset before the decrease.
        after: the smaller offset, in the read at `at`.
    """

    at: float
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class PartitionHealth:
    """The verdict on the progress of a group in one partition, and the values on which the verdict is based.

    Attributes:
        position: committed offset, or share-partition start offset in a share group; None if there is none.
        still: seconds since the last observed change of `position`. In a share group, seconds for which nothing has
            been acknowledged while the lag was above the allowed lag.
        commits: number of commits in the window (the last commits, from which the verdict is computed). In a share
            group, the first observed start offset and each change of it are counted instead of commits.
        complete: `commits` as a fraction (0 to 1) of `Options.intervals`. In a share group, the polls with a known lag
            are counted instead of commits.
        undecided: verdicts worse than `status` that the polled data can neither confirm nor exclude.
        subscribed: whether a member subscribes to the topic; None if the subscriptions are not known.
        age: age of the first unread record, or None.
        rate: records per second that the group has read since the first commit in the window; None if not known.
        rewind: how `position` went back, if the status is REWIND; else None.
    """

    topic: str
    partition: int
    status: Status
    lag: int | None
    position: int | None
    still: float
    commits: int
    complete: float
    undecided: tuple[Undecided, ...] = ()
    subscribed: bool | None = None
    age: TimeLag | None = None
    rate: float | None = None
    rewind: Rewind | None = None


@dataclass(frozen=True, slots=True)
class GroupHealth:
    """The health of a group.

    Attributes:
        verdict: the verdict on the group, by the rules of `kgtui.model.health.judging`.
        basis: always `observed`, which means polled offsets.
        worst: the partition with the worst status; of several such partitions, the one with the largest lag. None if
            every partition is OK.
        affected: number of partitions that have the same status as `worst`; 0 if every partition is OK.
        undecided: verdicts worse than `status` that the polled data can neither confirm nor exclude.
        lag: total lag at the newest read; None if the offsets were never read.
        trend: change of the lag in records per second, negative if it falls; None with too few reads for a trend.
        trend_seconds: number of seconds over which the trend was computed; 0 without a trend.
        trend_error: standard error of the trend, in records per second; 0 without a trend.
        written: records written per second during `trend_seconds`; 0 without a trend.
        time_lag: age of the oldest unread record, or None.
        drain: seconds until the lag is 0 at the current trend; 0 if there is no lag, None if the lag does not fall.
        lost: number of records that expired before they were read; None if it is not known.
        loss: the soonest expected loss of records, or None.
        expiry_reason: why it is not known when unread records expire; empty if it is known, or if every partition is
            OK.
        stopped_after: time after which the group stopped, in seconds since the epoch: the time at which the newest
            consumed record of the partitions without progress was written. None if it is not known.
        rebalances: rebalances of the last hour; None until the state has been read twice.
        holding_up: the members that have not reached the target assignment: member id → number of epochs by which the
            member is behind. The number is None for a static member that left temporarily.
        empty: how long the group has been Empty; None if it is not Empty.
        seconds: time from the first to the newest read of the group, in seconds.
        reads: number of reads of the group that succeeded, at least in part.
        failed: number of reads of the group that failed, completely or in part.
        state: group state at the newest read; None if it was never read.
        read_at: time of the newest successful read in seconds since the epoch, or None.
        partitions: `(topic, partition)` → health, for every partition.
    """

    verdict: GroupVerdict
    basis: str
    worst: PartitionHealth | None
    affected: int
    undecided: tuple[Undecided, ...]
    lag: LagTotal | None
    trend: float | None
    trend_seconds: float
    time_lag: TimeLag | None
    drain: float | None
    lost: int | None
    loss: Loss | None
    rebalances: RebalanceRate | None
    holding_up: Mapping[str, int | None]
    empty: EmptyPeriod | None
    seconds: float
    reads: int
    failed: int
    state: str | None
    read_at: float | None
    partitions: Mapping[TopicPartition, PartitionHealth] = field(default_factory=dict)
    expiry_reason: str = ""
    stopped_after: float | None = None
    trend_error: float = 0.0
    written: float = 0.0

    GROWS_BY = 0.05
    """The lag grows if at least this fraction of the new records stays unread."""
    GROWS_AFTER = 60.0
    """Minimum length of a trend, in seconds. A shorter trend does not show whether the lag grows."""

    @property
    def status(self) -> Status:
        """Verdict on the group: `OK`, `WARN`, `ERR` or `NOT_FOUND`."""
        return self.verdict.status

    @property
    def lag_grows(self) -> bool | None:
        """Whether the group leaves so many new records unread that its lag grows; None if there are too few reads.

        Even if a group keeps up, its lag rises and falls with the traffic. The lag counts as growing only if the
        trend is larger than three standard errors, and larger than the fraction `GROWS_BY` of the new records.
        """
        if self.trend is None or self.trend_seconds < self.GROWS_AFTER:
            return None
        return self.trend > max(3 * self.trend_error, self.GROWS_BY * self.written)

    @property
    def kind(self) -> Status:
        """Status of the worst partition, such as STOP. If every partition is OK, the status of the group."""
        return self.worst.status if self.worst is not None else self.verdict.status
