"""Tests of the health of a group, computed from sequences of reads."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kgtui.model.cluster import Retention
from kgtui.model.health import ReadHistory, Watching, health_of
from kgtui.model.health.read_history import PERIODS_KEPT, SAMPLES_KEPT, RebalanceLog
from kgtui.model.health.values import EmptyPeriod, RebalanceRate, TimeLag
from kgtui.model.health.wording import duration, expiry
from tests.scripted import member
from tests.unit.model.health.reads import T0, described, offsets, watch


def test_trend_and_drain_time_cover_all_reads() -> None:
    health = health_of(watch([offsets((1000 + 30 * n, 2000 + 10 * n)) for n in range(7)]))
    assert health.trend == pytest.approx(-4.0)
    assert health.drain == pytest.approx(220.0)
    assert health.trend_seconds == 30
    assert (health.reads, health.failed, health.seconds, health.read_at) == (7, 0, 30.0, T0 + 30)
    assert health_of(watch([offsets((5, 5))] * 3)).drain == 0


def test_no_rate_is_computed_across_a_gap() -> None:
    """After a failed read or a long pause, a new trend begins."""
    falling = [offsets((1000 + 10 * n, 2000)) for n in range(5)]
    assert health_of(watch(falling)).trend == pytest.approx(-2.0)
    broken = health_of(watch([*falling[:3], None, *falling[3:]]))
    assert (broken.trend, broken.drain, broken.failed) == (None, None, 1)
    seen = watch(falling)
    for n in range(3):
        seen.add(T0 + 500 + 5 * n, described(), offsets((1500, 2000 + 5 * n)))
    assert health_of(seen).trend == pytest.approx(1.0)
    assert health_of(seen).trend_seconds == 10


def test_changed_set_of_partitions_starts_a_new_trend() -> None:
    """The total lag jumps when the lag of a partition becomes known again, although the group became no slower."""
    reads = [offsets((10, 20), (10, None)), offsets((10, 20), (10, None)), offsets((10, 20), (10, 500))]
    assert health_of(watch(reads)).trend is None
    assert health_of(watch([*reads, *[reads[2]] * 2])).trend == 0
    assert health_of(watch([offsets((None, 9))] * 5)).trend is None


def test_time_lag_of_a_group_is_its_largest_time_lag() -> None:
    reads = [offsets((1000, 1000 + 10 * n), (500, 500)) for n in range(5)]
    # Offset 1000 is the first of ten records in the first 5 s. If they were written evenly, it was written at 0.5 s.
    assert health_of(watch(reads)).time_lag == TimeLag(19.5)
    old = [offsets((900, 1000 + 10 * n)) for n in range(5)]
    assert health_of(watch(old)).time_lag == TimeLag(20.0, at_least=True)
    assert health_of(watch([offsets((None, 9))])).time_lag is None
    part = health_of(watch([offsets((9, 9), (5, None))] * 2))
    assert part.time_lag == TimeLag(0.0, at_least=True)


def test_lost_records_are_summed_and_unknown_without_a_log_start() -> None:
    assert health_of(watch([offsets((10, 900), (10, 900), starts=(400, 5))])).lost == 390
    assert health_of(watch([offsets((10, 900), starts=(5,))])).lost == 0
    assert health_of(watch([offsets((10, 900), starts=(None,))])).lost is None


def test_expected_loss_uses_the_retention_of_the_topic() -> None:
    reads = [offsets((1000, 1000 + 10 * n)) for n in range(25)]
    soon = health_of(watch(reads), retention=Retention({"t": 300.0})).loss
    assert soon is not None
    assert (soon.topic, soon.basis) == ("t", "retention")
    assert soon.seconds == pytest.approx(300 - 119.5)
    assert health_of(watch(reads), retention=Retention({"other": 300.0})).loss is None
    assert health_of(watch(reads[:5]), retention=Retention({"t": 300.0})).loss is None, (
        "a group that is OK has no expected loss"
    )


def test_members_behind_the_target_assignment_are_listed_with_epochs() -> None:
    members = (member("a", epoch=7), member("b", epoch=5), member("c", epoch=-2), member("d"))
    description_read = described("Reconciling", members=members, epoch=8, assignment_epoch=7)
    assert health_of(watch([offsets((1, 1))], description=description_read)).holding_up == {"b": 2, "c": None}


def test_empty_period_starts_at_the_first_read_in_state_empty() -> None:
    seen = ReadHistory()
    for n, state in enumerate(["Stable", "Empty", "Empty", "Empty"]):
        seen.add(T0 + 10 * n, described(state), offsets((1, 1)))
    assert health_of(seen).empty == EmptyPeriod(20.0)
    seen.add(T0 + 40, described("Stable"), offsets((1, 1)))
    assert health_of(seen).empty is None
    ever = watch([offsets((1, 1))] * 3, description=described("Empty"))
    assert health_of(ever).empty == EmptyPeriod(10.0, at_least=True)


@pytest.mark.parametrize(("group_type", "text"), [
    ("classic", "offsets may expire in 58 min"),
    ("consumer", "offsets may expire in at most 58 min"),
    ("streams", "offsets may expire in at most 58 min"),
])  # fmt: skip
def test_expiry_is_an_upper_limit_if_offsets_expire_after_their_commits(group_type: str, text: str) -> None:
    """In classic groups, the retention time of offsets starts when the group becomes Empty.

    In consumer and streams groups, it starts at each commit.
    """
    history = ReadHistory()
    for n, state in enumerate(["Stable", "Empty", "Empty"]):
        history.add(T0 + 20 * n, described(state, group_type), offsets((1, 1)))
    empty = health_of(history, retention=Retention(offsets=3500.0)).empty
    assert empty == EmptyPeriod(20.0, expires_in=3480.0, after_commit=group_type != "classic")
    assert empty is not None
    assert expiry(empty) == text


def test_expiry_is_unknown_if_offsets_do_not_expire_with_the_group() -> None:
    """Offsets of share groups never expire; offsets of simple groups expire after commits that kgtui cannot observe."""
    for description_read, reads in (
        (replace(described("Empty"), type="share", protocol="share"), [offsets((1, 1))] * 3),
        (replace(described("Empty"), type="classic", protocol=""), [offsets((1, 1))] * 3),
        (described("Empty"), [offsets()] * 3),
    ):
        empty = health_of(watch(reads, description=description_read), retention=Retention(offsets=3600.0)).empty
        assert empty == EmptyPeriod(10.0, at_least=True)


def test_empty_period_restarts_after_a_gap() -> None:
    """The group may have had members during the gap, so the time since it became Empty is a lower bound."""
    seen = watch([offsets((1, 1))] * 3, description=described("Empty"))
    seen.add(T0 + 1000, described("Empty"), offsets((1, 1)))
    seen.add(T0 + 1005, described("Empty"), offsets((1, 1)))
    assert health_of(seen).empty == EmptyPeriod(5.0, at_least=True)


def test_state_changes_and_epoch_steps_of_the_last_hour_are_counted() -> None:
    seen = ReadHistory()
    states = ["Stable", "Reconciling", "Stable", "Reconciling", "Stable", "Stable"]
    for n, (state, epoch) in enumerate(zip(states, (1, 2, 2, 4, 4, 4), strict=True)):
        seen.add(T0 + 10 * n, described(state, epoch=epoch), offsets((1, 1)))
    rate = health_of(seen).rebalances
    assert rate == RebalanceRate(state_changes=4, epoch_steps=3, rebalances=3, seconds=50.0)
    assert rate is not None
    assert (rate.per_hour, rate.flapping) == (216.0, True)
    assert health_of(watch([offsets((1, 1))])).rebalances is None


def test_classic_groups_have_no_epoch_steps() -> None:
    seen = ReadHistory()
    for n, state in enumerate(["Stable", "PreparingRebalance", "CompletingRebalance", "Stable"]):
        seen.add(T0 + 10 * n, described(state), None)
    assert health_of(seen).rebalances == RebalanceRate(3, None, 1, 30.0)
    assert health_of(seen).lag is None


def test_rebalances_in_gaps_or_over_an_hour_ago_are_ignored() -> None:
    log = RebalanceLog()
    log.add(0.0, "Stable", 1, None)
    log.add(10.0, "Assigning", 2, 10.0)
    log.add(500.0, "Stable", 9, None)
    log.add(510.0, "Stable", 9, 10.0)
    assert log.rate(510.0) == RebalanceRate(1, 1, 1, 20.0)
    assert log.rate(3605.0) == RebalanceRate(1, 1, 1, 20.0)
    assert log.rate(3700.0) == RebalanceRate(0, 0, 0, 10.0)
    assert log.rate(9999.0) is None


def test_long_read_history_is_bounded_and_keeps_the_oldest_sample() -> None:
    seen = ReadHistory()
    for n in range(20 * SAMPLES_KEPT):
        seen.add(T0 + 5 * n, described("Stable" if n % 2 else "Reconciling"), offsets((7, 100 + n)))
    kept = list(seen.samples["t", 0])
    assert len(kept) <= SAMPLES_KEPT
    assert kept[0].at == T0 * 1000
    assert [one.log_end for one in kept[-40:]] == list(range(100 + 20 * SAMPLES_KEPT - 40, 100 + 20 * SAMPLES_KEPT))
    assert len(seen.rebalances._rows) <= PERIODS_KEPT * 5
    assert len(seen.series.times) <= 900
    assert health_of(seen).time_lag == TimeLag(5.0 * (20 * SAMPLES_KEPT - 1), at_least=True)
    assert health_of(seen).kind.name == "STOP"


def test_rebalance_log_stores_one_period_per_minute_without_changes() -> None:
    log = RebalanceLog()
    log.add(0.0, "Stable", None, None)
    for n in range(1, 721):
        log.add(5.0 * n, "Stable", None, 5.0)
    rate = log.rate(3600.0)
    assert rate is not None
    assert rate.seconds == pytest.approx(3600, abs=61)
    assert len(log._rows) // 5 <= 61


def test_partitions_missing_from_the_newest_read_are_dropped() -> None:
    seen = watch([offsets((1, 5), (1, 5)), offsets((1, 5))])
    assert set(seen.samples) == {("t", 0)}
    assert set(health_of(seen).partitions) == {("t", 0)}


def test_read_older_than_the_newest_read_is_ignored() -> None:
    seen = watch([offsets((1, 5))] * 2)
    seen.add(T0, described(), offsets((3, 5)))
    assert (seen.reads, seen.read_at, seen.rows["t", 0].position) == (2, T0 + 5, 1)


def test_health_of_a_group_without_reads_is_unknown() -> None:
    health = health_of(watch([None, None]))
    assert (health.reads, health.failed, health.lag, health.state, health.time_lag) == (0, 2, None, None, None)
    assert (health.rebalances, health.empty, health.lost, health.loss, health.trend) == (None,) * 5


def test_failed_describe_request_keeps_the_offsets() -> None:
    seen = ReadHistory()
    for n in range(4):
        seen.add(T0 + 5 * n, None if n % 2 else described(), offsets((1, 5 + n)), fault=bool(n % 2))
    health = health_of(seen)
    assert (health.reads, health.failed) == (4, 2)
    assert health.trend == pytest.approx(0.2)
    assert health.rebalances is None


def test_failed_read_of_offsets_is_a_gap() -> None:
    seen = watch([offsets((1, 5))] * 3)
    assert seen.steady_since == T0
    seen.add(T0 + 15, described(), None, fault=True)
    seen.add(T0 + 20, described(), offsets((1, 9)))
    assert seen.steady_since == T0 + 15
    assert health_of(seen).trend is None


def test_drain_time_is_unknown_if_some_lag_is_unknown() -> None:
    health = health_of(watch([offsets((10 * n, 900), (5, None)) for n in range(6)]))
    assert health.trend == pytest.approx(-2.0)
    assert health.drain is None


def test_time_without_a_read_that_is_a_gap_is_configurable() -> None:
    seen = watch([offsets((1, 5 + n)) for n in range(4)], 100.0, watching=Watching(gap_after=150.0))
    assert health_of(seen).trend == pytest.approx(0.01)
    assert health_of(watch([offsets((1, 5 + n)) for n in range(4)], 100.0)).trend is None


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.4, "0 s"),
        (59.6, "1 min"),
        (61, "1 min 1 s"),
        (7200, "2 h"),
        (7260, "2 h 1 min"),
        (90_061, "1 d 1 h"),
    ],
)
def test_durations_have_at_most_two_units(seconds: float, text: str) -> None:
    assert duration(seconds) == text
