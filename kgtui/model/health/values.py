"""Data classes for the health of a group, and for the settings from which it is computed."""

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
"""Value of `GroupHealth.basis`: the verdict is computed from polled offsets, because the commits are not known."""


@dataclass(frozen=True, slots=True)
class Watching:
    """Settings for computing verdicts from the reads of a group.

    Attributes:
        rules: Burrow's settings.
        commit_interval: assumed time between the commits of a healthy group, in seconds, until the actual time is
            known. The default is the default of Kafka's `auto.commit.interval.ms`.
        gap_after: if the time between two reads of a group is longer, in seconds, it is a gap. No rate is computed
            across a gap.
    """

    rules: Options = DEFAULTS
    commit_interval: float = 5.0
    gap_after: float = 60.0

    @property
    def window(self) -> float:
        """How long a healthy group takes for a full window (`rules.intervals` commits), in seconds.

        This estimate is used until the actual interval between the group's commits is known.
        """
        return (self.rules.intervals - 1) * self.commit_interval

    @property
    def enough(self) -> int:
        """Minimum number of commits with a known lag for the status WARN: half of `rules.intervals`, but at least 3."""
        return max(3, self.rules.intervals // 2)


DEFAULT_WATCHING = Watching()


class Lack(Enum):
    """The kind of data that is still missing to decide a verdict."""

    TIME = "time"
    """The group must be watched for longer. `Undecided.needs` and `has` are durations in seconds."""
    COMMITS = "commits"
    """More commits are needed. `Undecided.needs` and `has` are numbers of observed commits."""
    LAG = "lag"
    """The lag is needed, but not known. `Undecided.why` is the reason."""
    PERMISSION = "permission"
    """Brokers possibly hide offsets in topics that the user lacks permission to describe.

    The verdict is about all other topics.
    """


@dataclass(frozen=True, slots=True)
class Undecided:
    """A verdict that is worse than the computed one, and that the reads could neither confirm nor exclude.

    Attributes:
        status: the undecided verdict, such as STOP.
        lack: kind of data that is missing.
        needs: how much data is needed to decide, in seconds or commits (see `Lack`).
        has: how much data there is so far, in the same unit.
        partitions: number of partitions for which the verdict is undecided.
        why: reason for an unknown lag, such as `forbidden` or `no leader`, or `kgtui.model.access.HIDDEN` if a broker
            may have left out all offsets; `` if other data is missing.
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
        seconds: the age; 0 if nothing is unread.
        at_least: True if the record may be older, because it was written before the first read, or because the age is
            not known for some partition.
        at_most: highest possible age, if the search for the timestamp ended with a range; otherwise None. `seconds` is
            then the lowest possible age.
        exact: whether the age comes from the timestamp of the record, and not from observed log end offsets.
        reason: why a search for the timestamp did not find it; `` if `exact` is True, or if there was no search.
    """

    seconds: float
    at_least: bool = False
    at_most: float | None = None
    exact: bool = False
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Loss:
    """Records that retention will delete before the group reads them, if all rates stay the same.

    Attributes:
        seconds: time until the first unread record is deleted; 0 for the basis `size`.
        basis: what the estimate is computed from: `retention` (the topic's retention and the age of the oldest unread
            record) or `log start` (the observed movement of the log start offset). With `size`, the record may be
            deleted at any time, because `retention.bytes` is set.
        lead: number of records from the log start to the group's position.
        at_most: True if the loss may come sooner, because the oldest unread record may be older than its estimated age.
        at: time of the loss, in seconds since the epoch; None for the basis `size`.
        exact: True if `at` is computed from the timestamp of the record, and the group reads nothing from the
            partition. Retention may then delete the record from the time `at` on.
        in_older_half: whether the first unread record is in the older half of the log, counted in records or in time.
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
    """An expected loss of records within this many seconds is reported.

    The value is longer than a weekend, so that somebody can act in time.
    """

    @property
    def is_near(self) -> bool:
        """Whether the loss is a problem: it is expected soon, and unread records are in the older half of the log.

        The second condition is needed because in a topic that keeps records for a day, each loss is expected soon, even
        if the group is only a second behind. A loss with the basis `size` is not near, because its time is unknown.
        """
        return self.basis != "size" and self.seconds <= self.NEAR and self.in_older_half


@dataclass(frozen=True, slots=True)
class RebalanceRate:
    """Changes of the state and the group epoch in the last hour. Times without reads are not included.

    Attributes:
        state_changes: number of reads that had another state than the previous read.
        epoch_steps: increase of the group epoch (KIP-848, KIP-932, KIP-1071); None for groups without epochs.
        rebalances: number of rebalances: `epoch_steps`, or the number of observed rebalances if that is larger.
        seconds: how long the group was watched within the last hour.
    """

    state_changes: int
    epoch_steps: int | None
    rebalances: int
    seconds: float

    FLAPPING = 6.0
    """A group is flapping if it rebalances at least this often per hour, and at least `FLAPPING_LEAST` times in all.

    The sweep has its own limit, `FLAPPING_SECONDS` in `kgtui.monitor.screening`.
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
        at_least: whether the group may have been Empty for longer, because it was already Empty at the first read.
        expires_in: time until the broker may delete offsets of the group, in seconds. None if the time is not known, or
            if it does not depend on when the group became Empty.
        after_commit: whether each offset expires a fixed time after its own commit (consumer and streams groups). If
            so, `expires_in` is an upper limit, because an offset may have been committed long before the group became
            Empty. Offsets that were reset while the group was Empty expire later.
    """

    seconds: float
    at_least: bool = False
    expires_in: float | None = None
    after_commit: bool = False

    SOON = 86_400.0
    """A warning is shown if the offsets may expire within this many seconds."""

    @property
    def at_most(self) -> bool:
        """Whether `expires_in` is an upper limit: the offsets may expire earlier."""
        return self.at_least or self.after_commit


class Rewind(NamedTuple):
    """A committed offset that went back.

    Attributes:
        at: time of the first read of the smaller offset, in seconds since the epoch.
        before: the committed offset before it went back.
        after: the committed offset in the read at `at`.
    """

    at: float
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class PartitionHealth:
    """The verdict on one partition, with the values that it is based on.

    Attributes:
        position: committed offset or share-partition start offset; None if there is none.
        still: observed time since the last change of the position, in seconds.
        commits: number of commits in the window; for a share group, number of different start offsets.
        complete: how full the window of commits is, as a fraction (0 to 1) of Burrow's setting `intervals`. For a share
            group, reads with a known lag are counted instead of commits.
        undecided: worse verdicts that the reads could neither confirm nor exclude.
        subscribed: whether a member subscribes to the topic; None if it is not known.
        age: age of the first unread record; None if it is not known.
        rate: records per second that the group has read since the first commit of the window; None if it is not known.
        rewind: when and from where the position went back, if the status is REWIND; otherwise None.
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
        verdict: verdict by the rules of `kgtui.model.health.judging`.
        basis: what the verdict is computed from; always `observed`, which means polled offsets.
        worst: the partition with the worst status; if there are several, the one with the largest lag. None if every
            partition is OK.
        affected: number of partitions with the worst status.
        undecided: worse verdicts that the reads could neither confirm nor exclude.
        lag: total lag at the newest read; None if the offsets were never read.
        trend: change of the lag in records per second, negative if it falls; None if it is not known.
        trend_seconds: time over which the trend was computed; 0 without a trend.
        trend_error: standard error of the trend, in records per second; 0 without a trend.
        written: new records per second in the time of the trend; 0 without a trend.
        time_lag: age of the oldest unread record; None if it is not known.
        drain: seconds until the lag is 0 at the current trend; 0 if there is no lag, None if the lag does not fall.
        lost: records that expired before they were read; None if that is not known.
        loss: the soonest expected loss of records; None if none is expected, or if it cannot be estimated.
        expiry_reason: why it is not known when unread records expire; `` if it is known, or if every partition is OK.
        stopped_after: if the group has stopped, it stopped after this time, in seconds since the epoch. It is the time
            at which the newest consumed record was written, in the partitions with unread records whose offset has not
            changed since the first read. None if there is no such partition, or if the time is not known.
        rebalances: rebalances of the last hour; None until the state has been read twice.
        holding_up: member id → number of epochs that the member is behind the target assignment, for all members that
            delay the change to it. The number is None for a static member that has left temporarily.
        empty: how long the group has been Empty; None if it is not Empty.
        seconds: time from the first read to the newest.
        reads: number of reads that succeeded.
        failed: number of reads that failed.
        state: state at the newest read.
        read_at: time of the newest successful read in seconds since the epoch; None if there was none.
        partitions: `(topic, partition)` → health of the partition, for every partition.
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
    """Minimum growth of the lag to say that it grows, as a fraction of the new records."""
    GROWS_AFTER = 60.0
    """Minimum time over which the trend must be computed to say that the lag grows, in seconds."""

    @property
    def status(self) -> Status:
        """Verdict on the group: `OK`, `WARN`, `ERR` or `NOT_FOUND`."""
        return self.verdict.status

    @property
    def lag_grows(self) -> bool | None:
        """Whether the group leaves so many new records unread that its lag grows. None if that is not known.

        The lag of a group that keeps up rises and falls too, and follows the traffic. Its trend is therefore compared
        with its standard error and with the number of new records.
        """
        if self.trend is None or self.trend_seconds < self.GROWS_AFTER:
            return None
        return self.trend > max(3 * self.trend_error, self.GROWS_BY * self.written)

    @property
    def kind(self) -> Status:
        """Status of the worst partition, such as STOP, which is more specific than the status ERR of the group.

        If every partition is OK, it is the status of the group.
        """
        return self.worst.status if self.worst is not None else self.verdict.status
