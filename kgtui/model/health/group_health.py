"""From the reads of one group to its health."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kgtui.model.assignment import epochs_behind, subscribed_topics
from kgtui.model.cluster import Retention
from kgtui.model.group_types import SHARE
from kgtui.model.health.judging import judge_observed, judge_share
from kgtui.model.health.rates import Slope, drain, loss_to_come, slope, time_lag
from kgtui.model.health.values import OBSERVED, EmptySpell, GroupHealth, TimeLag
from kgtui.model.slices import run_at_once
from kgtui.model.verdict import PartitionVerdict, Status, roll_up

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence

    from kgtui.model.health.read_history import ReadHistory, Sample
    from kgtui.model.health.values import Loss, PartitionHealth, Undecided
    from kgtui.model.offsets import PartitionLag, TopicPartition

NOT_KNOWN = Retention()
TREND_SECONDS = 300.0
"""The newest stretch of reads that a trend is taken over."""


def health_of(observation: ReadHistory, retention: Retention = NOT_KNOWN) -> GroupHealth:
    """How a group does as of its newest read: verdict, trends and estimates, each None where the reads do not tell.

    Args:
        observation: its reads.
        retention: how long its topics and the brokers keep what it depends on.
    """
    return run_at_once(health_steps(observation, retention))


def health_steps(observation: ReadHistory, retention: Retention = NOT_KNOWN) -> Generator[None, None, GroupHealth]:
    """`health_of`, a partition at a time: yields after each. The observation must not change until the end."""
    if observation.gone:
        return _gone(observation)
    judge = _judge(observation)
    topics = subscribed_topics(observation.description) if observation.description is not None else None
    verdicts: dict[TopicPartition, PartitionVerdict] = {}
    partitions: dict[TopicPartition, PartitionHealth] = {}
    ages, losses = _Ages(), []
    for key, row in observation.rows.items():
        samples = list(observation.samples[key])
        verdicts[key], health = judge(row, samples)
        partitions[key] = health if topics is None else replace(health, subscribed=row.topic in topics)
        ages.add(row, samples)
        # One that gets on has only not committed for a moment, and nothing of it is in danger.
        kept = retention.topics.get(row.topic) if health.status > Status.OK else None
        loss = _loss(observation, row, samples, kept)
        losses += [] if loss is None else [loss]
        yield
    verdict = roll_up(verdicts)
    bad = [row for row in partitions.values() if row.status == verdict.worst and row.status > Status.OK]
    trend = _trend(observation)
    return GroupHealth(
        verdict=verdict,
        basis=OBSERVED,
        worst=max(bad, key=lambda row: row.lag or 0, default=None),
        affected=len(bad),
        undecided=_merged((one for row in partitions.values() for one in row.undecided), verdict.status),
        lag=observation.lag,
        trend=None if trend is None else trend.rate,
        trend_seconds=0.0 if trend is None else trend.seconds,
        time_lag=ages.oldest,
        drain=_drain(observation, trend),
        lost=_lost(observation),
        loss=min(losses, key=lambda loss: loss.seconds, default=None),
        rebalances=observation.rebalances.rate(observation.read_at or 0.0),
        holding_up=epochs_behind(observation.description) if observation.description is not None else {},
        empty=_empty(observation, retention.offsets),
        seconds=(observation.read_at or 0.0) - (observation.first_at or 0.0),
        reads=observation.reads,
        failed=observation.failed,
        state=observation.state,
        read_at=observation.read_at,
        partitions=partitions,
    )


def _gone(observation: ReadHistory) -> GroupHealth:
    """Nothing is known of a group that does not exist any more, but how it was watched."""
    nothing = health_of(type(observation)(observation.watching))
    return replace(
        nothing,
        verdict=replace(nothing.verdict, status=Status.NOT_FOUND),
        seconds=(observation.read_at or 0.0) - (observation.first_at or 0.0),
        reads=observation.reads,
        failed=observation.failed,
        read_at=observation.read_at,
    )


def _judge(
    observation: ReadHistory,
) -> Callable[[PartitionLag, Sequence[Sample]], tuple[PartitionVerdict, PartitionHealth]]:
    """The rule for a partition of a group of its type."""
    description, watching = observation.description, observation.watching
    if description is None or description.type != SHARE:
        return lambda row, samples: judge_observed(row, samples, watching)
    members = description.member_count
    return lambda row, samples: judge_share(row, samples, members, watching)


def _merged(undecided: Iterable[Undecided], given: Status) -> tuple[Undecided, ...]:
    """One entry for each kind that is worse than the verdict given: the most it needs, the least there is."""
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


def _trend(observation: ReadHistory) -> Slope | None:
    if observation.lag_since is None or observation.read_at is None:
        return None
    start, series = max(observation.lag_since, observation.read_at - TREND_SECONDS), observation.series
    points = [(at, lag) for at, lag in zip(series.times, series.lag, strict=True) if at >= start]
    return slope([at for at, _ in points], [lag for _, lag in points])


def _drain(observation: ReadHistory, trend: Slope | None) -> float | None:
    if observation.lag is None or observation.lag.unknown:
        return None
    return drain(observation.lag.lag, trend)


@dataclass(slots=True)
class _Ages:
    """The age of the oldest unread record of all partitions; at least that where a partition's is not known."""

    found: float | None = None
    at_least: bool = False

    def add(self, row: PartitionLag, samples: Sequence[Sample]) -> None:
        age = None
        if row.lag == 0:
            age = TimeLag(0.0)
        elif row.position is not None and row.lag is not None:
            age = time_lag(row.position, samples)
        if age is not None:
            self.found = max(self.found or 0.0, age.seconds)
            self.at_least |= age.at_least
        elif row.reason != "no commit":
            self.at_least = True

    @property
    def oldest(self) -> TimeLag | None:
        return None if self.found is None else TimeLag(self.found, self.at_least)


def _lost(observation: ReadHistory) -> int | None:
    known = [row.lost for row in observation.rows.values() if row.lost is not None]
    return sum(known) if known else None


def _loss(
    observation: ReadHistory, row: PartitionLag, samples: Sequence[Sample], retention: float | None
) -> Loss | None:
    if observation.steady_since is None:
        return None
    since = round(observation.steady_since * 1000)
    steady = samples if samples[0].at >= since else [sample for sample in samples if sample.at >= since]
    return loss_to_come(row, steady, retention)


def _empty(observation: ReadHistory, offsets_retention: float | None) -> EmptySpell | None:
    if observation.empty_since is None or observation.read_at is None:
        return None
    since, at_least = observation.empty_since
    seconds = observation.read_at - since
    expires = None
    if offsets_retention is not None and _forgets(observation):
        expires = max(offsets_retention - seconds, 0.0)
    return EmptySpell(seconds, at_least, expires)


def _forgets(observation: ReadHistory) -> bool:
    """Whether the brokers drop its offsets some time after it became Empty.

    They keep those of share groups, and those of simple groups expire one by one, from when they were committed.
    """
    description = observation.description
    return (
        bool(observation.rows) and description is not None and description.type != SHARE and bool(description.protocol)
    )
