"""Tests of estimates: lag trend, time until the lag is 0, age of a record, and time until unread records are deleted.

If there is not enough data, an estimate is None.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtui.model.health.rates import Slope, deletion, drain, growth, loss_to_come, slope, time_lag
from kgtui.model.health.values import Loss, TimeLag
from kgtui.model.offsets import CommittedOffset, PartitionBounds, lag_of_commit
from tests.unit.model.health.reads import T0, samples


@given(st.lists(st.integers(1, 60), min_size=3, max_size=30), st.floats(-100, 100), st.floats(-1e6, 1e6))
def test_estimated_slope_of_points_on_a_straight_line_is_exact(gaps: list[int], rate: float, start: float) -> None:
    times = [1e9 + sum(gaps[: n + 1]) for n in range(len(gaps))]
    found = slope(times, [start + rate * (at - times[0]) for at in times])
    assert found is not None
    assert found.rate == pytest.approx(rate, abs=1e-3)
    assert found.seconds == times[-1] - times[0]


def test_slope_of_fewer_than_three_samples_is_none() -> None:
    assert slope([1.0, 2.0], [5.0, 6.0]) is None
    assert slope([], []) is None


def test_time_until_zero_lag_is_known_only_for_zero_or_falling_lag() -> None:
    assert drain(1000, Slope(-10.0, 0.5, 60)) == 100
    assert drain(0, None) == 0
    assert drain(1000, Slope(-10.0, 6.0, 60)) is None
    assert drain(1000, Slope(10.0, 0.0, 60)) is None
    assert drain(1000, None) is None
    assert drain(None, Slope(-10.0, 0.0, 60)) is None


def test_age_of_a_record_is_interpolated_between_samples() -> None:
    rows = samples((0, 0, 100, 0), (10, 0, 100, 0), (20, 0, 120, 0), (30, 0, 160, 0))
    assert time_lag(160, rows) == TimeLag(0)
    assert time_lag(119, rows) == TimeLag(10)
    assert time_lag(109, rows) == TimeLag(15)
    assert time_lag(139, rows) == TimeLag(5)
    assert time_lag(99, rows) == TimeLag(30, at_least=True)
    assert time_lag(5, samples((0, 0, None, 0))) is None


@given(st.lists(st.tuples(st.integers(1, 20), st.integers(0, 30)), min_size=1, max_size=20), st.integers(-5, 700))
def test_estimated_age_of_a_record_is_between_the_ages_of_two_samples(
    steps: list[tuple[int, int]], position: int
) -> None:
    """A record was written between two successive samples: the log contained the record only at the later one."""
    at, end, rows = 0, 10, [(0.0, 0, 10, 0)]
    for gap, more in steps:
        at, end = at + gap, end + more
        rows.append((float(at), 0, end, 0))
    found = time_lag(position, samples(*rows))
    assert found is not None
    there = [at - second for second, _, log_end, _ in rows if log_end > position]
    absent = [at - second for second, _, log_end, _ in rows if log_end <= position]
    assert found.at_least == (not absent)
    assert found.seconds >= max(there, default=0) - 1e-6
    if absent and there:
        assert found.seconds <= min(absent) + 1e-6


def test_growth_of_an_offset_is_computed_from_samples_after_the_last_unknown_offset() -> None:
    assert growth([(0, 0), (1000, 10), (2000, 30)]) == 15
    assert growth([(0, 0), (1000, None), (2000, 30), (3000, 35)]) == 5
    assert growth([(0, 0), (1000, None), (2000, 30)]) is None
    assert growth([(0, 0), (1000, 5), (2000, None)]) is None


def test_record_deletion_rate_is_measured_between_increases_of_the_log_start_offset() -> None:
    leaps = samples(*((at, 0, 9000, 100 * (int(at) // 30)) for at in range(0, 100, 5)))
    assert deletion(leaps) == pytest.approx(100 / 30)
    assert deletion(leaps[:10]) is None
    assert deletion(samples((0, 0, 9, None), (5, 0, 9, None))) is None


def row_of(position: int, log_end: int, log_start: int = 0) -> tuple[CommittedOffset, PartitionBounds]:
    return CommittedOffset("t", 0, position), PartitionBounds(log_start, log_end)


def test_record_loss_is_predicted_from_the_rising_log_start_offset() -> None:
    rows = samples(*((at, 5000, 9000 + 20 * int(at), 100 * (int(at) // 30)) for at in range(0, 125, 5)))
    loss = loss_to_come(lag_of_commit(*row_of(5000, 11_400, 400)), rows)
    assert loss is not None
    assert (loss.basis, loss.lead) == ("log start", 4600)
    assert loss.seconds == pytest.approx(4600 / (100 / 30))


def test_predicted_record_loss_is_the_earlier_of_two_estimates() -> None:
    """One estimate uses the increases of the log start offset. The other one uses the retention time of the topic."""
    rows = samples(*((at, 5000, 9000 + 20 * int(at), 100 * (int(at) // 30)) for at in range(0, 125, 5)))
    row = lag_of_commit(*row_of(5000, 11_400, 400))
    found = {retention: loss_to_come(row, rows, retention=retention) for retention in (3600.0, 600.0)}
    assert {retention: loss.basis for retention, loss in found.items() if loss is not None} == {
        3600.0: "log start", 600.0: "retention",
    }  # fmt: skip


def test_record_loss_predicted_from_retention_depends_on_record_ages() -> None:
    still = samples(*((at, 9100, 9000 + 20 * int(at), 0) for at in range(0, 125, 5)))
    row = lag_of_commit(*row_of(9100, 11_400))
    loss = loss_to_come(row, still, retention=3600.0)
    # The first unread record (offset 9100) was written at 5 s. At the last sample (120 s), it was 115 s old.
    assert loss is not None
    assert loss.seconds == pytest.approx(3600 - 115, abs=0.1)
    assert loss == Loss("t", 0, loss.seconds, "retention", 9100, at=loss.at, in_older_half=False)
    assert loss.at == pytest.approx(T0 + 120 + 3600 - 115, abs=0.1)
    half = samples(*((at, 9000 + 10 * int(at), 9000 + 20 * int(at), 0) for at in range(0, 125, 5)))
    slower = loss_to_come(lag_of_commit(*row_of(10_200, 11_400)), half, retention=3600.0)
    assert slower is not None
    assert slower.seconds == pytest.approx(2 * (3600 - 60), abs=1)


@pytest.mark.parametrize(
    ("position", "log_start", "retention", "near"),
    [
        pytest.param(9100, 0, 3600.0, False, id="newer half by records, and 115 of 3,600 s"),
        pytest.param(9100, 8000, 3600.0, True, id="older half by records"),
        pytest.param(9100, 0, 200.0, True, id="115 of 200 s"),
    ],
)
def test_expected_loss_in_newer_half_of_log_is_no_problem(
    position: int, log_start: int, retention: float, near: bool
) -> None:
    """A loss is a problem only if the first unread record is in the older half of the log, by its offset or by its age.

    A short time until the loss alone is no problem: with a retention time of one hour, the time is always short.
    """
    still = samples(*((at, position, 9000 + 20 * int(at), log_start) for at in range(0, 125, 5)))
    loss = loss_to_come(lag_of_commit(*row_of(position, 11_400, log_start)), still, retention=retention)
    assert loss is not None
    assert loss.is_near is near


@pytest.mark.parametrize(
    ("position", "per_second", "why"),
    [
        (11_390, 20, "keeps up"),
        (11_300, 19, "keeps up, except for noise"),
        (8000, 40, "catches up"),
        (11_400, 20, "has read everything"),
    ],
)
def test_no_record_loss_is_expected_for_a_group_that_keeps_up(position: int, per_second: int, why: str) -> None:
    rows = samples(
        *((at, position - per_second * (120 - int(at)), 9000 + 20 * int(at), 300 * (int(at) // 30))
          for at in range(0, 125, 5))
    )  # fmt: skip
    assert loss_to_come(lag_of_commit(*row_of(position, 11_400, 1200)), rows) is None, why
    assert loss_to_come(lag_of_commit(*row_of(position, 11_400, 1200)), rows, retention=3600.0) is None, why


def test_no_further_record_loss_is_predicted_after_records_were_lost() -> None:
    rows = samples(*((at, 100, 9000, 400) for at in range(0, 125, 5)))
    assert loss_to_come(lag_of_commit(*row_of(100, 9000, 400)), rows, retention=10.0) is None
