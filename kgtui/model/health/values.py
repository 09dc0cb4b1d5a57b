"""The values that tell how a group does, and the settings of a watch."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from kgtui.model.verdict import DEFAULTS, Options, Status

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kgtui.model.offsets import LagTotal, TopicPartition
    from kgtui.model.verdict import GroupVerdict

OBSERVED = "observed"
"""The label of a verdict made from reads, not from the commits themselves."""


@dataclass(frozen=True, slots=True)
class Watching:
    """How reads are judged.

    Attributes:
        rules: Burrow's settings.
        commit_interval: seconds between the commits of a healthy group, until its own pace was seen; by default
            Kafka's `auto.commit.interval.ms`.
        gap_after: longest time between two reads of a group, in seconds; a longer one is a gap, across which no rate
            is computed.
    """

    rules: Options = DEFAULTS
    commit_interval: float = 5.0
    gap_after: float = 60.0

    @property
    def window(self) -> float:
        """Seconds that a full window of commits spans in a healthy group whose pace was not seen."""
        return (self.rules.intervals - 1) * self.commit_interval

    @property
    def enough(self) -> int:
        """Commits seen, with their lag, from which a slow consumer is told: half a window, at least 3."""
        return max(3, self.rules.intervals // 2)


DEFAULT_WATCHING = Watching()


class Lack(Enum):
    """What a watch lacks to decide a verdict."""

    TIME = "time"
    """`needs` and `has` are seconds in which the offset stands still."""
    COMMITS = "commits"
    """`needs` and `has` are commits seen."""
    LAG = "lag"
    """The lag is unknown; `why` says the reason."""


@dataclass(frozen=True, slots=True)
class Undecided:
    """A verdict worse than the one given, which the watch could neither find nor rule out.

    Attributes:
        status: that verdict.
        partitions: how many partitions it concerns.
        why: the reason, for `Lack.LAG`: `forbidden`, `no leader`, …
    """

    status: Status
    lack: Lack
    needs: float = 0.0
    has: float = 0.0
    partitions: int = 1
    why: str = ""


@dataclass(frozen=True, slots=True)
class TimeLag:
    """How old the oldest unread record is.

    Attributes:
        seconds: its age; 0 when nothing is unread.
        at_least: it was there before the watch began, or a partition's is not known: the true age may be more.
    """

    seconds: float
    at_least: bool = False


@dataclass(frozen=True, slots=True)
class Loss:
    """Records that retention will delete before they are read, if all goes on as it does.

    Attributes:
        seconds: until the first of them is gone.
        basis: `retention` (the topic's, and the age of the record) or `log start` (its measured movement).
        lead: records between log start and the group's position now.
        at_most: it may come sooner, because the record may be older than was seen.
    """

    topic: str
    partition: int
    seconds: float
    basis: str
    lead: int | None
    at_most: bool = False

    SOON = 86_400.0
    """Seconds within which it is an error."""
    NEAR = 3 * 86_400.0
    """Seconds within which it is worth telling: a weekend."""


@dataclass(frozen=True, slots=True)
class RebalanceRate:
    """Changes of state and steps of the group epoch, while it was watched without a gap.

    Attributes:
        state_changes: how often another state was seen than before.
        epoch_steps: by how much the group epoch grew (KIP-848, KIP-932, KIP-1071); None for groups without.
        rebalances: steps of the epoch or entries into a rebalance, whichever are more.
        seconds: watched, of the last hour.
    """

    state_changes: int
    epoch_steps: int | None
    rebalances: int
    seconds: float

    FLAPPING = 6.0
    """Rebalances an hour from which a group flaps, once there were `FLAPPING_LEAST`."""
    FLAPPING_LEAST = 3

    @property
    def per_hour(self) -> float | None:
        """Rebalances an hour; None before anything was watched."""
        return self.rebalances * 3600 / self.seconds if self.seconds > 0 else None

    @property
    def flapping(self) -> bool:
        """Whether the group rebalances again and again."""
        rate = self.per_hour
        return rate is not None and self.rebalances >= self.FLAPPING_LEAST and rate >= self.FLAPPING


@dataclass(frozen=True, slots=True)
class EmptySpell:
    """For how long the group has been seen Empty.

    Attributes:
        at_least: it was Empty when the watch began.
        expires_in: seconds until the broker may delete its offsets, at the latest; None when the broker's
            `offsets.retention.minutes` is not known.
    """

    seconds: float
    at_least: bool = False
    expires_in: float | None = None

    SOON = 86_400.0
    """Seconds within which the expiry is worth a warning."""


@dataclass(frozen=True, slots=True)
class PartitionHealth:
    """The verdict on one partition and what it rests on.

    Attributes:
        position: committed offset, or share-partition start offset.
        still: seconds for which the position has not moved, as far as was seen.
        commits: how many commits the window holds, or start offsets.
        complete: how full the window is, 0 to 1.
        undecided: see `Undecided`.
        subscribed: whether a member subscribes to the topic; None when it is not known.
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


@dataclass(frozen=True, slots=True)
class GroupHealth:
    """How a group does.

    Attributes:
        verdict: by Burrow's rules over the observed window, or for share groups by the rule of
            `kgtui.model.health.judging`.
        basis: `observed`.
        worst: the partition that the verdict rests on: of those with the worst status the one with most lag; None
            when all is well.
        affected: how many partitions have that status.
        undecided: worse verdicts that the watch could not decide.
        lag: summed lag at the newest read; None when the offsets were never read.
        trend: by how much the lag grows, in records a second; negative when it falls; None when not known.
        trend_seconds: the span that the trend is taken over; 0 without one.
        time_lag: None when not known.
        drain: seconds until the lag is gone at the present trend, 0 when there is none; None when it does not fall.
        lost: records that expired before they were read; None when not known.
        loss: the soonest loss to come; None when none is in sight or it cannot be told.
        rebalances: None before two reads of the group's state.
        holding_up: member id → epochs that it is behind the target assignment, None when it has left.
        empty: None when the group is not Empty.
        seconds: from the first read to the newest.
        reads: how many reads succeeded.
        failed: how many did not.
        state: at the newest read.
        read_at: when the newest good read was made; None when there was none.
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
    empty: EmptySpell | None
    seconds: float
    reads: int
    failed: int
    state: str | None
    read_at: float | None
    partitions: Mapping[TopicPartition, PartitionHealth] = field(default_factory=dict)

    @property
    def status(self) -> Status:
        """`OK`, `WARN`, `ERR` or `NOT_FOUND`."""
        return self.verdict.status

    @property
    def kind(self) -> Status:
        """The status that says most: that of the worst partition where there is one, else the group's."""
        return self.worst.status if self.worst is not None else self.verdict.status
