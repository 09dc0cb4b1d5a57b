"""Computes the health of one group from its read history."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kgtui.model.access import HIDDEN
from kgtui.model.assignment import epochs_behind, subscribed_topics
from kgtui.model.burrow import PartitionVerdict, Status, roll_up
from kgtui.model.cluster import Retention
from kgtui.model.group_types import SHARE_OFFSET_TYPES, TYPES_BY_OFFSET_EXPIRY, OffsetExpiry
from kgtui.model.health.judging import judge_observed, judge_share
from kgtui.model.health.rates import Slope, age_of_unread, drain, loss_to_come, slope
from kgtui.model.health.values import OBSERVED, EmptyPeriod, GroupHealth, Lack, TimeLag, Undecided
from kgtui.model.problem import unsettled_limit
from kgtui.model.slices import run_at_once

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping, Sequence

    from kgtui.model.health.read_history import ReadHistory, Sample
    from kgtui.model.health.values import Loss, PartitionHealth
    from kgtui.model.offsets import PartitionLag, TopicPartition

NOT_KNOWN = Retention()
TREND_SECONDS = 300.0
"""The lag trend is computed from the reads in this many seconds before the newest read."""


def health_of(history: ReadHistory, retention: Retention = NOT_KNOWN) -> GroupHealth:
    """Return the health of a group at its newest read.

    Args:
        history: the reads of the group.
        retention: how long the cluster keeps records and offsets.
    """
    return run_at_once(health_steps(history, retention))


def with_hidden_offsets(health: GroupHealth, *, none_visible: bool) -> GroupHealth:
    """Return a copy of the health for a group whose offsets might be hidden from the user.

    Partitions with hidden offsets might have a problem. Therefore, an ERR is normally added to `GroupHealth.undecided`
    (the worse verdicts that kgtui cannot exclude).

    If the user sees some of the offsets, the lag and the time lag (age of the oldest unread record) of the copy are
    lower bounds, and no ERR is added if the verdict already is ERR. If the user sees no offset at all, the lag of the
    copy is None (unknown), and the time lag is unchanged.

    Args:
        none_visible: whether the user sees no offset at all.
    """
    if health.status is Status.NOT_FOUND:
        return health
    if none_visible:
        hidden = Undecided(Status.ERR, Lack.LAG, why=HIDDEN)
        return replace(health, lag=None, undecided=(*health.undecided, hidden))
    worse = () if health.status >= Status.ERR else (Undecided(Status.ERR, Lack.PERMISSION, why=HIDDEN),)
    return replace(
        health,
        lag=None if health.lag is None else replace(health.lag, hidden=True),
        time_lag=None if health.time_lag is None else TimeLag(health.time_lag.seconds, at_least=True),
        drain=None,
        undecided=(*health.undecided, *worse),
    )


def health_steps(history: ReadHistory, retention: Retention = NOT_KNOWN) -> Generator[None, None, GroupHealth]:
    """Compute the result of `health_of` in a generator, which yields after each partition so that other tasks can run.

    The result is the return value of the generator. `history` must not change before the generator ends.
    """
    if history.gone:
        return _gone(history)
    judge = _judge(history)
    topics = subscribed_topics(history.description) if history.description is not None else None
    verdicts: dict[TopicPartition, PartitionVerdict] = {}
    partitions: dict[TopicPartition, PartitionHealth] = {}
    ages, losses, written = _Ages(), [], 0.0
    trend_since = _trend_since(history)
    for key, row in history.rows.items():
        samples = list(history.samples[key])
        verdicts[key], health = judge(row, samples)
        age = age_of_unread(row, samples) if row.lag else None
        partitions[key] = replace(health, age=age, subscribed=None if topics is None else row.topic in topics)
        ages.add(row, age)
        loss = _loss(history, row, samples, _retention_to_check(retention, row, health, age))
        losses += [] if loss is None else [loss]
        written += 0.0 if trend_since is None else _written(samples, trend_since)
        yield
    verdict = roll_up(verdicts)
    undecided = [one for row in partitions.values() for one in row.undecided]
    if history.offsets_failed and not history.rows:
        undecided.append(Undecided(Status.ERR, Lack.LAG, why="the offsets could not be read"))
    bad = [row for row in partitions.values() if row.status == verdict.worst and row.status > Status.OK]
    trend = _trend(history, trend_since)
    return GroupHealth(
        verdict=verdict,
        basis=OBSERVED,
        worst=max(bad, key=lambda row: row.lag or 0, default=None),
        affected=len(bad),
        undecided=_merged(undecided, verdict.status),
        lag=history.lag,
        trend=None if trend is None else trend.rate,
        trend_seconds=0.0 if trend is None else trend.seconds,
        trend_error=0.0 if trend is None else trend.error,
        written=0.0 if trend is None else written,
        time_lag=ages.oldest,
        drain=_drain(history, trend),
        lost=_lost(history),
        loss=min(losses, key=lambda loss: loss.seconds, default=None),
        rebalances=history.rebalances.rate(history.read_at or 0.0),
        holding_up=epochs_behind(history.description) if history.description is not None else {},
        empty=_empty(history, retention.offsets),
        seconds=(history.read_at or 0.0) - (history.first_at or 0.0),
        reads=history.reads,
        failed=history.failed,
        state=history.state,
        read_at=history.read_at,
        partitions=partitions,
        expiry_reason=_expiry_reason(history, partitions),
        stopped_after=_stopped_after(history, partitions),
        unsettled=_unsettled(history),
    )


def _retention_to_check(
    retention: Retention, row: PartitionLag, health: PartitionHealth, age: TimeLag | None
) -> float | None:
    """Return the retention time of a topic in seconds; None if it is unknown or not needed.

    The retention time is needed to predict when unread records of a partition expire. kgtui makes
    this prediction only if the partition is not OK, or if the timestamp of its first unread record
    shows that half of the retention time has passed.
    """
    kept = retention.topics.get(row.topic)
    if health.status > Status.OK:
        return kept
    old = kept is not None and age is not None and age.exact and age.seconds >= kept / 2
    return kept if old else None


def _expiry_reason(history: ReadHistory, partitions: Mapping[TopicPartition, PartitionHealth]) -> str:
    rows = (history.rows[key] for key, health in partitions.items() if health.status > Status.OK)
    reasons = (row.times.expiry_reason for row in rows if row.times is not None and row.times.expiry_reason)
    return next(reasons, "")


def _stopped_after(history: ReadHistory, partitions: Mapping[TopicPartition, PartitionHealth]) -> float | None:
    """Return when the newest record that the group has consumed in its stopped partitions was written.

    The result is in epoch seconds, or None if unknown. A partition counts as stopped if it has unread records, and the
    group's offset has not changed since kgtui first read it.
    """
    found = []
    for key, health in partitions.items():
        times = history.rows[key].exact_times
        if health.lag and health.commits <= 1 and times is not None and times.consumed is not None:
            found.append(times.consumed.earliest)
    return max(found, default=None)


def _unsettled(history: ReadHistory) -> float | None:
    """Return for how many seconds a group has been in a rebalance or in the state NotReady, if this is a problem.

    The result is None if the group is in another state, or if the time is still normal (below `unsettled_limit`).
    """
    if history.unsettled_since is None or history.read_at is None or history.description is None:
        return None
    seconds = history.read_at - history.unsettled_since
    limit = unsettled_limit(history.state, history.description.type)
    return None if limit is None or seconds < limit else seconds


def _gone(history: ReadHistory) -> GroupHealth:
    """Return the health of a group that no longer exists.

    The status is `NOT_FOUND`. The only other values are the number of kgtui's reads of the group, and their times.
    """
    nothing = health_of(type(history)(history.watching))
    return replace(
        nothing,
        verdict=replace(nothing.verdict, status=Status.NOT_FOUND),
        seconds=(history.read_at or 0.0) - (history.first_at or 0.0),
        reads=history.reads,
        failed=history.failed,
        read_at=history.read_at,
    )


def _judge(
    history: ReadHistory,
) -> Callable[[PartitionLag, Sequence[Sample]], tuple[PartitionVerdict, PartitionHealth]]:
    description, watching = history.description, history.watching
    if description is None or description.type not in SHARE_OFFSET_TYPES:
        return lambda row, samples: judge_observed(row, samples, watching)
    members = description.member_count
    return lambda row, samples: judge_share(row, samples, members, watching)


def _merged(undecided: Iterable[Undecided], given: Status) -> tuple[Undecided, ...]:
    """Merge the undecided verdicts on partitions (worse verdicts that kgtui cannot exclude). The worst comes first.

    Verdicts with equal `status`, `lack` and `why` become one verdict. It has the largest `needs` (amount of data that
    is needed for the verdict) and the smallest `has` (amount of data so far) of the merged verdicts.

    Args:
        given: the reported verdict on the group. Undecided verdicts that are not worse than this one are dropped.
    """
    kinds: dict[tuple[object, ...], Undecided] = {}
    for one in undecided:
        if min(one.status, Status.ERR) <= given:
            continue
        key = (one.status, one.lack, one.why)
        known = kinds.get(key)
        kinds[key] = one if known is None else replace(
            known, needs=max(known.needs, one.needs), has=min(known.has, one.has), partitions=known.partitions + 1
        )  # fmt: skip
    return tuple(sorted(kinds.values(), key=lambda one: -one.status))


def _trend_since(history: ReadHistory) -> float | None:
    if history.lag_since is None or history.read_at is None:
        return None
    return max(history.lag_since, history.read_at - TREND_SECONDS)


def _written(samples: Sequence[Sample], since: float) -> float:
    """Return how many records per second were written to one partition after the time `since` (epoch seconds)."""
    ends = [(one.at / 1000, one.log_end) for one in samples if one.log_end is not None and one.at >= since * 1000]
    if len(ends) < 2:
        return 0.0
    (began, first), (at, last) = ends[0], ends[-1]
    return max(last - first, 0) / (at - began)


def _trend(history: ReadHistory, since: float | None) -> Slope | None:
    if since is None:
        return None
    series = history.series
    points = [(at, lag) for at, lag in zip(series.times, series.lag, strict=True) if at >= since]
    return slope([at for at, _ in points], [lag for _, lag in points])


def _drain(history: ReadHistory, trend: Slope | None) -> float | None:
    if history.lag is None or history.lag.lower_bound:
        return None
    return drain(history.lag.lag, trend)


@dataclass(slots=True)
class _Ages:
    """Computes the age of the oldest unread record of a group from the ages in the partitions of the group.

    If the age is not known for some partitions, the result is a lower bound.
    """

    found: TimeLag | None = None
    at_least: bool = False
    at_most: float = 0.0
    reason: str = ""

    def add(self, row: PartitionLag, age: TimeLag | None) -> None:
        """Include one partition in the age that `oldest` returns.

        Args:
            row: offsets and lag of the partition.
            age: age of the first unread record in the partition; None if unknown.
        """
        if row.lag == 0:
            age = TimeLag(0.0)
        if age is not None:
            if self.found is None or age.seconds > self.found.seconds:
                self.found = age
            self.at_most = max(self.at_most, age.seconds if age.at_most is None else age.at_most)
            self.at_least |= age.at_least
            self.reason = self.reason or (age.reason if age.at_least else "")
        elif row.reason != "no commit":
            self.at_least = True

    @property
    def oldest(self) -> TimeLag | None:
        found = self.found
        if found is None:
            return None
        wide = self.at_most > found.seconds and not self.at_least
        return TimeLag(
            found.seconds,
            self.at_least,
            self.at_most if wide else None,
            found.exact and not self.at_least,
            self.reason if self.at_least else "",
        )


def _lost(history: ReadHistory) -> int | None:
    known = [row.lost for row in history.rows.values() if row.lost is not None]
    return sum(known) if known else None


def _loss(history: ReadHistory, row: PartitionLag, samples: Sequence[Sample], retention: float | None) -> Loss | None:
    if history.steady_since is None:
        return None
    since = round(history.steady_since * 1000)
    steady = samples if samples[0].at >= since else [sample for sample in samples if sample.at >= since]
    return loss_to_come(row, steady, retention)


def _empty(history: ReadHistory, offsets_retention: float | None) -> EmptyPeriod | None:
    if history.empty_since is None or history.read_at is None:
        return None
    since, at_least = history.empty_since
    seconds = history.read_at - since
    description = history.description
    # A simple group has no protocol. Its offsets are committed while it is Empty, so the time since it became Empty
    # does not show when they expire.
    if offsets_retention is None or not history.rows or description is None or not description.protocol:
        return EmptyPeriod(seconds, at_least)
    if description.type in TYPES_BY_OFFSET_EXPIRY[OffsetExpiry.NEVER]:
        return EmptyPeriod(seconds, at_least)
    after_commit = description.type in TYPES_BY_OFFSET_EXPIRY[OffsetExpiry.AFTER_COMMIT]
    return EmptyPeriod(seconds, at_least, max(offsets_retention - seconds, 0.0), after_commit)
