"""Tests of the health of a group, computed from sequences of reads."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kgtui.model.cluster import Retention
from kgtui.model.health import Lack, ReadHistory, Watching, health_of, with_hidden_offsets
from kgtui.model.health.read_history import PERIODS_KEPT, SAMPLES_KEPT, RebalanceLog
from kgtui.model.health.values import EmptyPeriod, RebalanceRate, TimeLag
from kgtui.model.health.wording import duration, expiry
from tests.scripted import member
from tests.unit.model.health.reads import T0, described, offsets, watch


def test_lag_trend_and_time_until_zero_lag_are_computed_from_all_reads() -> None:
    health = health_of(watch([offsets((1000 + 30 * n, 2000 + 10 * n)) for n in range(7)]))
    assert health.trend == pytest.approx(-4.0)
    assert health.drain == pytest.approx(220.0)
    assert health.trend_seconds == 30
    assert (health.reads, health.failed, health.seconds, health.read_at) == (7, 0, 30.0, T0 + 30)
    assert health_of(watch([offsets((5, 5))] * 3)).drain == 0


def test_lag_trend_is_not_computed_across_a_gap_between_reads() -> None:
    """After a failed read or a long time without a read, the lag trend is computed only from the reads that follow."""
    falling = [offsets((1000 + 10 * n, 2000)) for n in range(5)]
    assert health_of(watch(falling)).trend == pytest.approx(-2.0)
    broken = health_of(watch([*falling[:3], None, *falling[3:]]))
    assert (broken.trend, broken.drain, broken.failed) == (None, None, 1)
    seen = watch(falling)
    for n in range(3):
        seen.add(T0 + 500 + 5 * n, described(), offsets((1500, 2000 + 5 * n)))
    assert health_of(seen).trend == pytest.approx(1.0)
    assert health_of(seen).trend_seconds == 10


def test_lag_trend_restarts_when_the_unknown_lag_of_a_partition_becomes_known() -> None:
    """When the lag of partition 1 becomes known, the total lag jumps. The trend uses only the reads after the jump."""
    reads = [offsets((10, 20), (10, None)), offsets((10, 20), (10, None)), offsets((10, 20), (10, 500))]
    assert health_of(watch(reads)).trend is None
    assert health_of(watch([*reads, *[reads[2]] * 2])).trend == 0
    assert health_of(watch([offsets((None, 9))] * 5)).trend is None


def test_time_lag_of_a_group_is_the_largest_time_lag_of_its_partitions() -> None:
    reads = [offsets((1000, 1000 + 10 * n), (500, 500)) for n in range(5)]
    # The log end was 1000 at 0 s and 1010 at 5 s, so one record was written every 0.5 s. Record 1000, the first unread
    # record, was written at 0.5 s. At the last read (20 s), it was 19.5 s old.
    assert health_of(watch(reads)).time_lag == TimeLag(19.5)
    old = [offsets((900, 1000 + 10 * n)) for n in range(5)]
    assert health_of(watch(old)).time_lag == TimeLag(20.0, at_least=True)
    assert health_of(watch([offsets((None, 9))])).time_lag is None
    part = health_of(watch([offsets((9, 9), (5, None))] * 2))
    assert part.time_lag == TimeLag(0.0, at_least=True)


def test_number_of_lost_records_is_unknown_without_a_log_start_offset() -> None:
    assert health_of(watch([offsets((10, 900), (10, 900), starts=(400, 5))])).lost == 390
    assert health_of(watch([offsets((10, 900), starts=(5,))])).lost == 0
    assert health_of(watch([offsets((10, 900), starts=(None,))])).lost is None


def test_record_loss_is_predicted_from_the_retention_time() -> None:
    reads = [offsets((1000, 1000 + 10 * n)) for n in range(25)]
    soon = health_of(watch(reads), retention=Retention({"t": 300.0})).loss
    assert soon is not None
    assert (soon.topic, soon.basis) == ("t", "retention")
    assert soon.seconds == pytest.approx(300 - 119.5)
    assert health_of(watch(reads), retention=Retention({"other": 300.0})).loss is None
    assert health_of(watch(reads[:5]), retention=Retention({"t": 300.0})).loss is None, (
        "after five reads, the group is still OK, so no loss is predicted"
    )


def test_health_says_how_many_epochs_members_are_behind() -> None:
    """The assignment epoch of the group is 7. Member `b` has epoch 5, so it is two epochs behind.

    For `c`, a static member that has left temporarily, the number of epochs is None.
    """
    members = (member("a", epoch=7), member("b", epoch=5), member("c", epoch=-2), member("d"))
    description_read = described("Reconciling", members=members, epoch=8, assignment_epoch=7)
    assert health_of(watch([offsets((1, 1))], description=description_read)).holding_up == {"b": 2, "c": None}


def test_period_in_state_empty_begins_when_kgtui_first_reads_this_state() -> None:
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
def test_time_until_offset_expiry_is_exact_only_for_classic_groups(group_type: str, text: str) -> None:
    """In a classic group, the retention time of all offsets starts when the group becomes Empty.

    In consumer and streams groups, the retention time of an offset already starts when the offset is committed. kgtui
    does not know this time, so it shows only an upper limit.
    """
    history = ReadHistory()
    for n, state in enumerate(["Stable", "Empty", "Empty"]):
        history.add(T0 + 20 * n, described(state, group_type), offsets((1, 1)))
    empty = health_of(history, retention=Retention(offsets=3500.0)).empty
    assert empty == EmptyPeriod(20.0, expires_in=3480.0, after_commit=group_type != "classic")
    assert empty is not None
    assert expiry(empty) == text


def test_share_groups_and_simple_groups_have_no_known_offset_expiry() -> None:
    """Offsets of share groups never expire. Offsets of simple groups expire, but kgtui does not know when.

    A group without offsets has no expiry time either.
    """
    for description_read, reads in (
        (replace(described("Empty"), type="share", protocol="share"), [offsets((1, 1))] * 3),
        (replace(described("Empty"), type="classic", protocol=""), [offsets((1, 1))] * 3),
        (described("Empty"), [offsets()] * 3),
    ):
        empty = health_of(watch(reads, description=description_read), retention=Retention(offsets=3600.0)).empty
        assert empty == EmptyPeriod(10.0, at_least=True)


def test_time_in_state_empty_is_measured_only_from_reads_after_a_gap() -> None:
    """The group was not read for 990 s, and could have had members then. Only the time after this gap counts."""
    seen = watch([offsets((1, 1))] * 3, description=described("Empty"))
    seen.add(T0 + 1000, described("Empty"), offsets((1, 1)))
    seen.add(T0 + 1005, described("Empty"), offsets((1, 1)))
    assert health_of(seen).empty == EmptyPeriod(5.0, at_least=True)


def test_state_changes_and_epoch_increases_in_the_last_hour_are_counted() -> None:
    seen = ReadHistory()
    states = ["Stable", "Reconciling", "Stable", "Reconciling", "Stable", "Stable"]
    for n, (state, epoch) in enumerate(zip(states, (1, 2, 2, 4, 4, 4), strict=True)):
        seen.add(T0 + 10 * n, described(state, epoch=epoch), offsets((1, 1)))
    rate = health_of(seen).rebalances
    assert rate == RebalanceRate(state_changes=4, epoch_steps=3, rebalances=3, seconds=50.0)
    assert rate is not None
    assert (rate.per_hour, rate.flapping) == (216.0, True)
    assert health_of(watch([offsets((1, 1))])).rebalances is None


def test_rebalances_of_a_classic_group_are_inferred_from_states() -> None:
    seen = ReadHistory()
    for n, state in enumerate(["Stable", "PreparingRebalance", "CompletingRebalance", "Stable"]):
        seen.add(T0 + 10 * n, described(state), None)
    assert health_of(seen).rebalances == RebalanceRate(3, None, 1, 30.0)
    assert health_of(seen).lag is None


def test_changed_members_between_two_reads_count_as_a_rebalance() -> None:
    """Members that were read during a rebalance are not compared, because this list of members may be incomplete."""
    log = RebalanceLog()
    reads = [("Stable", 1), ("Stable", 2), ("Stable", 2), ("PreparingRebalance", 3), ("Stable", 4), ("Stable", 5)]
    for n, (state, members) in enumerate(reads):
        log.add(10.0 * n, state, None, 10.0 if n else None, members)
    rate = log.rate(50.0)
    assert rate is not None
    assert rate.rebalances == 3


def test_rebalance_rate_excludes_gaps_and_reads_older_than_one_hour() -> None:
    log = RebalanceLog()
    log.add(0.0, "Stable", 1, None)
    log.add(10.0, "Assigning", 2, 10.0)
    log.add(500.0, "Stable", 9, None)
    log.add(510.0, "Stable", 9, 10.0)
    assert log.rate(510.0) == RebalanceRate(1, 1, 1, 20.0)
    assert log.rate(3605.0) == RebalanceRate(1, 1, 1, 20.0)
    assert log.rate(3700.0) == RebalanceRate(0, 0, 0, 10.0)
    assert log.rate(9999.0) is None


def test_history_of_many_reads_has_a_limited_size() -> None:
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


def test_unchanged_group_adds_at_most_one_row_per_minute_to_the_rebalance_log() -> None:
    log = RebalanceLog()
    log.add(0.0, "Stable", None, None)
    for n in range(1, 721):
        log.add(5.0 * n, "Stable", None, 5.0)
    rate = log.rate(3600.0)
    assert rate is not None
    assert rate.seconds == pytest.approx(3600, abs=61)
    assert len(log._rows) // 5 <= 61


def test_partition_missing_from_the_newest_read_is_removed_from_history() -> None:
    seen = watch([offsets((1, 5), (1, 5)), offsets((1, 5))])
    assert set(seen.samples) == {("t", 0)}
    assert set(health_of(seen).partitions) == {("t", 0)}


def test_read_history_ignores_a_read_that_is_older_than_the_newest_read() -> None:
    seen = watch([offsets((1, 5))] * 2)
    seen.add(T0, described(), offsets((3, 5)))
    assert (seen.reads, seen.read_at, seen.rows["t", 0].position) == (2, T0 + 5, 1)


def test_health_of_a_group_without_a_successful_read_is_unknown() -> None:
    health = health_of(watch([None, None]))
    assert (health.reads, health.failed, health.lag, health.state, health.time_lag) == (0, 2, None, None, None)
    assert (health.rebalances, health.empty, health.lost, health.loss, health.trend) == (None,) * 5


def test_verdict_is_undecided_if_the_offsets_could_never_be_read() -> None:
    history = ReadHistory()
    for number in range(3):
        history.add(T0 + 5 * number, described(), None, fault=True)
    (undecided,) = health_of(history).undecided
    assert (undecided.lack, undecided.why) == (Lack.LAG, "the offsets could not be read")
    history.add(T0 + 20, described(), offsets((5, 5)))
    assert undecided not in health_of(history).undecided


def test_failed_describe_request_does_not_interrupt_the_lag_trend() -> None:
    seen = ReadHistory()
    for n in range(4):
        seen.add(T0 + 5 * n, None if n % 2 else described(), offsets((1, 5 + n)), fault=bool(n % 2))
    health = health_of(seen)
    assert (health.reads, health.failed) == (4, 2)
    assert health.trend == pytest.approx(0.2)
    assert health.rebalances is None


def test_failed_read_of_the_offsets_interrupts_the_lag_trend() -> None:
    seen = watch([offsets((1, 5))] * 3)
    assert seen.steady_since == T0
    seen.add(T0 + 15, described(), None, fault=True)
    seen.add(T0 + 20, described(), offsets((1, 9)))
    assert seen.steady_since == T0 + 15
    assert health_of(seen).trend is None


def test_an_unknown_partition_lag_makes_the_time_until_zero_lag_unknown() -> None:
    health = health_of(watch([offsets((10 * n, 900), (5, None)) for n in range(6)]))
    assert health.trend == pytest.approx(-2.0)
    assert health.drain is None


def test_lag_trend_is_interrupted_only_by_long_gaps() -> None:
    """The reads are 100 s apart.

    By default, more than 60 s between two reads count as a gap. With `gap_after=150`, there is no gap.
    """
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
def test_text_of_a_duration_has_at_most_two_units(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_lag_and_time_lag_are_lower_bounds_if_topics_may_be_hidden() -> None:
    healthy = health_of(watch([offsets((10 * n, 900)) for n in range(12)]))
    assert (healthy.drain is None, healthy.time_lag is None) == (False, False)
    hidden = with_hidden_offsets(healthy, none_visible=False)
    assert hidden.lag is not None
    assert hidden.lag.lower_bound
    assert hidden.time_lag is not None
    assert hidden.time_lag.at_least
    assert hidden.drain is None
    assert [one.lack for one in hidden.undecided][-1] is Lack.PERMISSION
