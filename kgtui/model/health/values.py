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
"""Value of `GroupHealth.basis`: the verdict is computed from polled offsets, which do not show every commit."""


@dataclass(frozen=True, slots=True)
class Watching:
    """Settings for verdicts from polled offsets.

    Attributes:
        rules: Burrow's settings.
        commit_interval: assumed seconds between two commits, used until kgtui has observed enough commits. The default
            is that of Kafka's `auto.commit.interval.ms`.
        gap_after: a time between two reads counts as a gap if it is longer than this number of seconds. No rate is
            computed from reads on both sides of a gap.
    """

    rules: Options = DEFAULTS
    commit_interval: float = 5.0
    gap_after: float = 60.0

    @property
    def window(self) -> float:
        """Usual duration, in seconds, of the window of commits in Burrow's rules.

        This is the time from the first to the last of `rules.intervals` commits, if there is one commit every
        `commit_interval` seconds.
        """
        return (self.rules.intervals - 1) * self.commit_interval

    @property
    def enough(self) -> int:
        """Minimum number of commits with known lag for the verdict WARN: half of `rules.intervals`, but at least 3."""
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
    """The user needs a permission: brokers might hide offsets in topics on which the user lacks DESCRIBE.

    The reported verdict is based only on the offsets that the user is allowed to see.
    """


@dataclass(frozen=True, slots=True)
class Undecided:
    """A possible verdict that is worse than the reported one. kgtui lacks the data to confirm or exclude it.

    Attributes:
        status: the possible verdict, such as STOP.
        lack: kind of missing data.
        needs: number of seconds (if `lack` is TIME) or commits (if `lack` is COMMITS) that are needed for the verdict.
        has: number of these seconds or commits that kgtui has observed so far.
        partitions: number of partitions to which this possible verdict applies.
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
        at_most: highest possible age in seconds, if the time of the record is known only as a range; otherwise None.
        exact: whether the age comes from the record's timestamp. If False, it is an estimate.
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
        at_most: whether `seconds` is an upper bound, because the loss can also happen sooner.
        at: time of the loss in epoch seconds; None for the basis `size`.
        exact: whether `at` comes from the timestamp of the first unread record. This is so only if the group reads
            nothing, because otherwise the group may read this record before it is deleted.
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
        """Whether the loss counts as a problem.

        The loss must be expected within `NEAR` seconds, and the first unread record must be in the older half of the
        log. The time alone is not enough: if the retention time is one day, every unread record expires within `NEAR`
        seconds. A loss with the basis `size` never counts, because its time is unknown.
        """
        return self.basis != "size" and self.seconds <= self.NEAR and self.in_older_half


@dataclass(frozen=True, slots=True)
class RebalanceRate:
    """How often the state and the epoch of a group changed in the last hour.

    Changes during a gap (a failed read, or a long time without reads) do not count.

    Attributes:
        state_changes: number of reads that found another state than the previous read.
        epoch_steps: increase of the group epoch; None for groups without epochs.
        rebalances: number of observed rebalances, or `epoch_steps` if it is larger.
        seconds: for how many seconds of the last hour kgtui has watched the group.
    """

    state_changes: int
    epoch_steps: int | None
    rebalances: int
    seconds: float

    FLAPPING = 6.0
    """A group is flapping (rebalances again and again) if it has at least this many rebalances per hour.

    Also, at least `FLAPPING_LEAST` rebalances must have been observed. The background check of all groups uses another
    limit: `FLAPPING_SECONDS` in `kgtui.monitor.trail_rules`.
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
        after_commit: True if each offset expires a fixed time after its own commit (consumer and streams groups). Then
            `expires_in` is an upper bound, because it is counted from the time at which the group became Empty.
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
        still: seconds since the last change of `position`. For a share group: for how many seconds nothing has been
            acknowledged, although the lag was above `Options.allowed_lag`.
        commits: number of commits in the window, at most `Options.intervals`. For a share group: number of observed
            changes of the start offset, plus 1 for the first observed start offset.
        complete: how full the window is, from 0 to 1: `commits` divided by `Options.intervals`. For a share group:
            number of reads with a known lag, divided by `Options.intervals`, but at most 1.
        undecided: verdicts that are worse than `status` and that kgtui cannot exclude.
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
        worst: the partition with the worst status; None if all partitions are OK. If several partitions have the worst
            status, `worst` is the one with the largest lag.
        affected: number of partitions that have the same status as `worst`; 0 if all partitions are OK.
        undecided: verdicts that are worse than `verdict` and that kgtui cannot exclude.
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
        stopped_after: when the newest record that the group has consumed in its stopped partitions was written, in
            epoch seconds; None if unknown.
        rebalances: how often the group rebalanced in the last hour; None until the state was read twice without a gap.
        holding_up: id of each member whose epoch is below the assignment epoch → how many epochs the member is behind.
            The number is None for a static member that left temporarily.
        empty: how long the group has been Empty; None if the group is not Empty.
        unsettled: for how many seconds the group has been observed in a rebalance or in the state NotReady; None if the
            group is in another state, or if this time is still normal (`kgtui.model.problem.unsettled_limit`).
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
    """The lag grows only if the group leaves more than this fraction of the newly written records unread."""
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
        """Status of the worst partition, such as STOP; the status of the group if all its partitions are OK."""
        return self.worst.status if self.worst is not None else self.verdict.status
