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
"""Value of `GroupHealth.basis`: the verdict is computed from polled offsets, because kgtui misses some commits."""


@dataclass(frozen=True, slots=True)
class Watching:
    """Settings for verdicts from polled offsets.

    Attributes:
        rules: Burrow's settings.
        commit_interval: assumed seconds between two commits, used until kgtui has observed enough commits. The default
            is Kafka's own (`auto.commit.interval.ms`).
        gap_after: longest time between two polls, in seconds. A longer time is a gap. No rate is computed across a gap.
    """

    rules: Options = DEFAULTS
    commit_interval: float = 5.0
    gap_after: float = 60.0

    @property
    def window(self) -> float:
        """Time in seconds that `rules.intervals` commits take if there are `commit_interval` seconds between them."""
        return (self.rules.intervals - 1) * self.commit_interval

    @property
    def enough(self) -> int:
        """Minimum number of commits for the verdict WARN: half of `rules.intervals`, but at least 3.

        Only commits with a known lag count.
        """
        return max(3, self.rules.intervals // 2)


DEFAULT_WATCHING = Watching()


class Lack(Enum):
    """The kind of data that is missing to confirm or exclude a verdict on a group."""

    TIME = "time"
    """The group must be watched for longer. `Undecided.needs` and `Undecided.has` are durations in seconds."""
    COMMITS = "commits"
    """More commits are needed. `Undecided.needs` and `Undecided.has` are numbers of observed commits."""
    LAG = "lag"
    """The lag of a partition is needed, but not known. `Undecided.why` says why it is not known."""
    PERMISSION = "permission"
    """A permission is needed: brokers might hide offsets in topics on which the user lacks DESCRIBE.

    The reported verdict is based only on the visible offsets.
    """


@dataclass(frozen=True, slots=True)
class Undecided:
    """A verdict that is worse than the reported one, and may be the true one. There is too little data to decide.

    Attributes:
        status: the undecided verdict, such as STOP.
        lack: kind of missing data.
        needs: how many seconds (if `lack` is TIME) or commits (if it is COMMITS) are needed for the verdict.
        has: how many of these seconds or commits kgtui has observed so far.
        partitions: number of partitions with this undecided verdict.
        why: reason for an unknown lag, such as `forbidden`, or `kgtui.model.access.HIDDEN`; otherwise empty.
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
        at_least: whether the record may be older than `seconds`.
        at_most: highest possible age in seconds, if only a range of times was found; otherwise None.
        exact: whether the age comes from the record's timestamp, not from an estimate.
        reason: why no timestamp was found, or empty.
    """

    seconds: float
    at_least: bool = False
    at_most: float | None = None
    exact: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Loss:
    """An expected loss: at the current speed, retention will delete records before they are read.

    Attributes:
        seconds: time until the first unread record is deleted; 0 for the basis `size`.
        basis: what the estimate is based on: `retention` (the age of the oldest unread record), `log start` (how fast
            the log start offset moves) or `size` (`retention.bytes`, which can delete records at any time).
        lead: number of records from the log start offset to the committed offset; None if unknown.
        at_most: whether the loss can also happen sooner than in `seconds` seconds.
        at: time of the loss in epoch seconds; None for the basis `size`.
        exact: whether `at` comes from the timestamp of the first unread record. This is possible only if the group
            reads nothing, because otherwise it may read this record in time.
        in_older_half: whether the first unread record is in the older half of the log.
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
    """A loss of records that is expected within this many seconds is an error. A later loss is only a warning."""
    NEAR = 3 * 86_400.0
    """A loss of records is reported if it is expected within this many seconds.

    The value is longer than a weekend, so that somebody can act in time.
    """

    @property
    def is_near(self) -> bool:
        """Whether the loss is a problem: expected within `NEAR` seconds, and of records in the older half of the log.

        The time alone says little if the retention time is short. With a retention time of one day, for example, every
        unread record expires within `NEAR` seconds.
        """
        return self.basis != "size" and self.seconds <= self.NEAR and self.in_older_half


@dataclass(frozen=True, slots=True)
class RebalanceRate:
    """How often the state and the epoch of a group changed in the last hour, except in times without reads.

    Attributes:
        state_changes: number of reads that found a state different from that in the previous read.
        epoch_steps: increase of the group epoch; None for groups without epochs.
        rebalances: the larger of `epoch_steps` and the number of observed rebalances.
        seconds: for how many seconds of the last hour kgtui has watched the group.
    """

    state_changes: int
    epoch_steps: int | None
    rebalances: int
    seconds: float

    FLAPPING = 6.0
    """A group is flapping at this many rebalances per hour or more, if at least `FLAPPING_LEAST` were observed.

    The background read of all groups uses a different limit: `FLAPPING_SECONDS` in `kgtui.monitor.trail_rules`.
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
        seconds: observed time in the state Empty.
        at_least: whether the group may have been Empty for longer.
        expires_in: seconds until the offsets can expire; None if unknown, or if they never expire.
        after_commit: whether each offset expires a fixed time after its own commit (consumer and streams groups).
            `expires_in` is an upper bound in this case.
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
    """A decrease of a committed offset or share-partition start offset.

    Attributes:
        at: when kgtui first read the smaller offset, in epoch seconds.
        before: offset before the decrease.
        after: offset after the decrease.
    """

    at: float
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class PartitionHealth:
    """The verdict on a group in one partition, with the values behind it.

    Attributes:
        position: committed offset or share-partition start offset, or None.
        still: seconds since the last change of `position`. For a share group: seconds in which nothing was
            acknowledged, although the lag was above `Options.allowed_lag`.
        commits: number of commits in the window, which has at most `Options.intervals` commits. For a share group:
            number of observed start offsets.
        complete: `commits` as a fraction (0 to 1) of `Options.intervals`. For a share group, it is the number of polls
            with a known lag, as a fraction of `Options.intervals`, at most 1.
        undecided: worse verdicts that cannot be excluded.
        subscribed: whether a member subscribes to the topic; None if unknown.
        age: age of the first unread record; None if unknown.
        rate: records per second that the group has read since the first commit in the window; None if unknown.
        rewind: the decrease of `position`, if the status is REWIND; otherwise None.
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
        verdict: verdict on the group by the rules in `kgtui.model.health.judging`.
        basis: always `observed`, because the verdict is computed from polled offsets.
        worst: the partition with the worst status; None if all partitions are OK. If several partitions have this
            status, the one with the largest lag.
        affected: number of partitions with the status of `worst`; 0 if all partitions are OK.
        undecided: worse verdicts that cannot be excluded.
        lag: newest total lag; None if offsets were never read.
        trend: change of the lag in records per second; None if there are too few comparable reads.
        trend_seconds: seconds from the first to the last read that `trend` is computed from; 0 if `trend` is None.
        trend_error: standard error of `trend`; 0 if `trend` is None.
        written: records written per second during `trend_seconds`; 0 if `trend` is None.
        time_lag: age of the oldest unread record, or None.
        drain: seconds until the lag is 0 if `trend` continues; None if the lag does not fall.
        lost: number of records that expired before they were read, or None.
        loss: soonest expected loss of records; None if no loss is expected, or if it cannot be predicted.
        expiry_reason: why it is not known when unread records expire, or empty.
        stopped_after: when the newest consumed record in stopped partitions was written (epoch seconds), or None.
        rebalances: how often the group rebalanced in the last hour; None until the state was read twice.
        holding_up: members that have not reached the target assignment: member id → number of epochs that the member
            is behind. The number is None for a static member that left temporarily.
        empty: how long the group has been Empty; None if the group is not Empty.
        unsettled: for how many seconds the group has been observed in a rebalance or in the state NotReady; None if the
            group is in another state, or if this time is still normal (`kgtui.model.judgment.unsettled_limit`).
        seconds: time from the first to the newest read.
        reads: number of reads that succeeded, at least in part.
        failed: number of reads that failed, at least in part.
        state: newest group state, or None.
        read_at: newest successful read in epoch seconds, or None.
        partitions: `(topic, partition)` → health of the partition.
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
    unsettled: float | None = None

    GROWS_BY = 0.05
    """The lag counts as growing only if more than this fraction of the newly written records stays unread."""
    GROWS_AFTER = 60.0
    """Minimum length of a trend, in seconds. A shorter trend does not show whether the lag grows."""

    @property
    def status(self) -> Status:
        """Verdict on the group: `OK`, `WARN`, `ERR` or `NOT_FOUND`."""
        return self.verdict.status

    @property
    def lag_grows(self) -> bool | None:
        """Whether the lag grows; None if there is no trend, or if the trend covers less than `GROWS_AFTER` seconds.

        The lag grows if `trend` is larger than three times its standard error, and larger than `GROWS_BY` times
        `written` (the records written per second).
        """
        if self.trend is None or self.trend_seconds < self.GROWS_AFTER:
            return None
        return self.trend > max(3 * self.trend_error, self.GROWS_BY * self.written)

    @property
    def kind(self) -> Status:
        """Status of the worst partition, such as STOP; the status of the group if all partitions are OK."""
        return self.worst.status if self.worst is not None else self.verdict.status
