"""Tests of time lags, expected losses of records and start times of stops, computed from timestamps of records."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from kgtui.model.burrow import Status
from kgtui.model.cluster import Retention, TopicRules
from kgtui.model.health import health_of, with_hidden_offsets
from kgtui.model.health.values import Loss, TimeLag
from kgtui.model.health.wording import age, local_clock, loss_when
from kgtui.model.record_times import COMPACTED, RecordTime, TimeRange, with_expiry
from tests.unit.model.health.reads import T0, offsets, watch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgtui.model.health import GroupHealth
    from kgtui.model.offsets import GroupOffsets

RULES = TopicRules(7_200.0)
RETENTION = Retention({"t": 7_200.0}, None, {"t": RULES})
WRITTEN = T0 - 3_000.0
LAST = T0 + 24 * 5
"""Time of the last of 25 reads, which are 5 s apart, in seconds since the epoch."""


def searched(offset: int, written: float = WRITTEN, *, width: float = 0.0, rules: TopicRules = RULES) -> RecordTime:
    """Return the times at which the records before and at a committed offset were written.

    The first unread record was written between `written` and `written + width`. The last consumed record was written 4
    to 5 seconds before `written`.
    """
    found = RecordTime(offset, TimeRange(written, written + width), TimeRange(written - 5, written - 4))
    return with_expiry(found, rules)


def judged(
    reads: Sequence[GroupOffsets], times: dict[int, RecordTime], retention: Retention = RETENTION
) -> GroupHealth:
    """Return the health of a group after `reads`. `times` maps partitions of the topic `t` to their record times."""
    history = watch(reads)
    history.set_record_times({("t", part): found for part, found in times.items()})
    return health_of(history, retention)


def stopped(position: int = 1000) -> list[GroupOffsets]:
    """Return 25 reads of a group that commits no new offsets. Between two reads, 10 records are written."""
    return [offsets((position, 2000 + 10 * n)) for n in range(25)]


def test_time_lag_is_computed_from_the_timestamp_of_the_first_unread_record() -> None:
    health = judged(stopped(), {0: searched(1000)})
    assert health.time_lag == TimeLag(LAST - WRITTEN, exact=True)
    assert health.partitions["t", 0].age == health.time_lag
    assert judged(stopped(), {}).time_lag == TimeLag(120.0, at_least=True)


@pytest.mark.parametrize(
    ("width", "expected"),
    [
        (20.0, TimeLag(LAST - WRITTEN - 10, exact=True)),
        (300.0, TimeLag(LAST - WRITTEN - 300, at_most=LAST - WRITTEN, exact=True)),
    ],
)
def test_time_lag_with_uncertainty_above_one_percent_is_a_range(width: float, expected: TimeLag) -> None:
    assert judged(stopped(), {0: searched(1000, width=width)}).time_lag == expected


def test_an_unknown_record_time_makes_the_time_lag_a_lower_bound() -> None:
    reads = [offsets((1000, 2000 + n), (1000, 2000 + n)) for n in range(25)]
    both = judged(reads, {0: searched(1000), 1: searched(1000, WRITTEN + 60)})
    assert both.time_lag == TimeLag(LAST - WRITTEN, exact=True)
    one = judged(reads, {0: searched(1000), 1: RecordTime(1000, reason=COMPACTED)})
    assert one.time_lag == TimeLag(LAST - WRITTEN, at_least=True, reason=COMPACTED)


def test_time_lag_after_progress_is_estimated_from_an_earlier_record_time() -> None:
    """Record 1000 was written 3,000 s before `T0`, and record 2000 at `T0`.

    kgtui estimates when record 1500, the first unread record after the progress, was written.
    """
    reads = [offsets((1000 + 500 * (n > 20), 2000 + n)) for n in range(25)]
    found = judged(reads, {0: searched(1000)}).time_lag
    assert found is not None
    assert (found.at_least, found.exact) == (False, False)
    assert found.seconds == pytest.approx(LAST - T0 + 1_500, abs=10)


def test_time_lag_is_a_lower_bound_if_topics_are_hidden() -> None:
    health = with_hidden_offsets(judged(stopped(), {0: searched(1000)}), none_visible=False)
    assert health.time_lag == TimeLag(LAST - WRITTEN, at_least=True)


def test_record_loss_is_expected_when_the_first_unread_record_expires() -> None:
    health = judged(stopped(), {0: searched(1000, width=20.0)})
    expected = WRITTEN + 7_200
    assert health.loss == Loss("t", 0, expected - LAST, "retention", 1000, at=expected, exact=True)
    assert loss_when(health.loss, local_clock(LAST)) == f"from {local_clock(LAST)(expected, seconds=True)}"
    observed = judged(stopped(), {}).loss
    assert observed is not None
    assert (observed.at_most, observed.exact) == (True, False)


def test_record_loss_of_a_slow_group_is_estimated_from_record_times() -> None:
    reads = [offsets((1000 + 5 * n, 2000 + 10 * n)) for n in range(25)]
    loss = judged(reads, {0: searched(1120)}).loss
    assert loss is not None
    assert (loss.exact, loss.at_most) == (False, False)
    assert loss.seconds == pytest.approx(2 * (WRITTEN + 7_200 - LAST))
    assert loss_when(loss) == "in about 2 h 16 min"


def test_topic_with_size_limit_can_lose_records_at_any_time() -> None:
    rules = TopicRules(7_200.0, by_size=True)
    health = judged(stopped(), {0: searched(1000, rules=rules)}, Retention(rules={"t": rules}))
    assert health.loss == Loss("t", 0, 0.0, "size", 1000)
    assert loss_when(health.loss, local_clock(LAST)) == "at any time"


def test_unknown_expiry_is_explained_by_the_missing_permission() -> None:
    """The user lacks DESCRIBE_CONFIGS on the topic, so kgtui does not know when records expire.

    If the group keeps up, kgtui does not mention the missing permission.
    """
    rules = TopicRules(fault="grant DESCRIBE_CONFIGS on the topic to this user")
    health = judged(stopped(), {0: searched(1000, rules=rules)}, Retention(rules={"t": rules}))
    assert (health.loss, health.expiry_reason) == (None, rules.fault)
    fine = [offsets((2000 + 10 * n, 2000 + 10 * n + 1)) for n in range(25)]
    assert judged(fine, {0: searched(2240, rules=rules)}, Retention(rules={"t": rules})).expiry_reason == ""


def test_ok_group_has_a_predicted_loss_only_for_old_records() -> None:
    first = stopped()[:3]
    assert judged(first, {0: searched(1000)}).loss is None
    old = judged(first, {0: searched(1000, T0 - 5_000)})
    assert old.status is Status.OK
    assert old.loss is not None
    assert old.loss.at == T0 - 5_000 + 7_200


def test_stop_cannot_begin_before_the_last_consumed_record_was_written() -> None:
    reads = [offsets((1000, 2000 + n), (1000, 2000 + n)) for n in range(25)]
    health = judged(reads, {0: searched(1000), 1: searched(1000, WRITTEN + 60)})
    assert health.kind is Status.STOP
    assert health.stopped_after == WRITTEN + 60 - 5
    seen = [offsets((1000 + 50 * min(n, 5), 2000 + 50 * n)) for n in range(30)]
    observed = judged(seen, {0: searched(1250)})
    assert (observed.kind, observed.stopped_after) == (Status.STOP, None)


@pytest.mark.parametrize(
    ("time_lag", "expected"),
    [
        (TimeLag(75.0), "1 min 15 s"),
        (TimeLag(75.0, at_least=True), "≥ 1 min 15 s"),
        (TimeLag(7_200.0, at_most=7_800.0, exact=True), "2 h to 2 h 10 min"),
    ],
)
def test_time_lag_is_shown_as_a_duration_or_lower_bound_or_range(time_lag: TimeLag, expected: str) -> None:
    assert age(time_lag) == expected


def test_clock_time_twelve_hours_away_is_shown_with_its_date() -> None:
    clock = local_clock(T0)
    assert len(clock(T0 + 3_600)) == len("01:18")
    assert len(clock(T0 + 3_600, seconds=True)) == len("01:18:04")
    assert len(clock(T0 - 43_200)) == len("2026-11-23 01:18")


def test_time_lag_uses_the_record_times_of_the_newest_read() -> None:
    history = watch(stopped()[:-1])
    read = replace(stopped()[-1], record_times={("t", 0): searched(1000)})
    history.add(LAST, history.description, read)
    assert health_of(history).time_lag == TimeLag(LAST - WRITTEN, exact=True)
