"""Tests of the polling policy of the terminal UI, such as the rate of background reads."""

from __future__ import annotations

import pytest

from kgtui.model.snapshot import BrokerStatus
from kgtui.monitor.policy import MonitorOptions, answered_since, background_pause, sweep_rate

POLLED = BrokerStatus(1, "one:9092", answered_at=1_000.0, answered_since=400.0, interval=20.0)


@pytest.mark.parametrize(("now", "expected"), [(1_060.0, 400.0), (1_061.0, 1_061.0), (990.0, 990.0)])
def test_answered_since_starts_again_after_a_long_silence_of_the_broker(now: float, expected: float) -> None:
    """`answered_since` is the start of the period in which a broker has responded without a long silence.

    A silence is long if it lasts more than 60 s (three polling intervals). Setting the clock back also starts a new
    period.
    """
    assert answered_since(POLLED, now) == expected


def test_a_broker_counts_as_responding_since_its_first_response() -> None:
    assert answered_since(None, 7.0) == 7.0
    assert answered_since(BrokerStatus(1, "one:9092"), 7.0) == 7.0


@pytest.mark.parametrize(
    ("groups", "first", "expected"),
    [(20_000, True, 300.0), (20_001, True, 150.0), (20_000, False, 100.0), (20_001, False, 25.0)],
)
def test_the_rate_of_background_reads_is_lower_above_20_000_groups(groups: int, first: bool, expected: float) -> None:
    options = MonitorOptions(sweep_rate=100.0, first_sweep_factor=3.0, large_first_factor=0.5, large_later_factor=0.25)
    assert sweep_rate(options, groups, first=first) == expected


def test_pauses_between_background_reads_are_longer_above_20_000_groups() -> None:
    assert [background_pause(5.0, groups) for groups in (0, 20_000, 20_001)] == [5.0, 5.0, 15.0]


def test_background_read_rate_is_high_enough_for_100_000_groups() -> None:
    """The first read of all groups must take less than 8 s for 10,000 groups, and 115 s for 100,000 groups."""
    options = MonitorOptions()
    assert 10_000 / sweep_rate(options, 10_000, first=True) < 8.0
    assert 100_000 / sweep_rate(options, 100_000, first=True) < 115.0
