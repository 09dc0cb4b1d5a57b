"""Tests of the time at which a group began to fall behind, computed from its time lags.

The time lag of a group is the age of its oldest unread record.
"""

from __future__ import annotations

from random import Random

import pytest

from kgtui.model.health.backlog_start import behind_since, rising_since

MINUTE = 60_000


def ages(*parts: tuple[int, float, float], noise: float = 5.0) -> list[tuple[int, float]]:
    """Return `(time in milliseconds, time lag in seconds)` for each minute, beginning at time 0.

    Args:
        parts: successive periods, as `(duration in minutes, first time lag, increase of the time lag per minute)`.
        noise: a random number from 0 to `noise` is added to each time lag, in seconds.
    """
    random, found = Random(3), []
    for minutes, start, growth in parts:
        found += [start + growth * minute + random.uniform(0, noise) for minute in range(minutes)]
    return [(minute * MINUTE, age) for minute, age in enumerate(found)]


@pytest.mark.parametrize("growth", [60.0, 30.0, 6.0, 1.8])
def test_start_of_rising_time_lag_is_found_within_five_minutes(growth: float) -> None:
    """From minute 600 on, the time lag (age of the oldest unread record) rises by `growth` seconds per minute.

    It rises by 60 seconds per minute if the group reads nothing.
    """
    minutes = rising_since(ages((600, 10.0, 0.0), (240, 10.0, growth))) / MINUTE
    assert abs(minutes - 600) <= 5


def test_rise_of_time_lag_starts_when_its_last_fall_ends() -> None:
    history = ages((100, 5.0, 0.0), (60, 5.0, 60.0), (40, 3_605.0, -60.0), (100, 1_205.0, 60.0))
    assert abs(rising_since(history) / MINUTE - 200) <= 5


def test_time_lag_that_never_fell_has_risen_since_the_first_read() -> None:
    assert rising_since(ages((100, 5_000.0, 30.0))) == 0


def test_shrinking_backlog_began_when_the_time_lag_last_started_to_rise() -> None:
    history = ages((300, 10.0, 0.0), (120, 10.0, 60.0), (60, 7_210.0, -60.0))
    assert abs(behind_since(history) / MINUTE - 300) <= 5
    earlier = ages((60, 10.0, 60.0), (60, 3_610.0, -60.0), (60, 10.0, 0.0), (60, 10.0, 60.0), (30, 3_610.0, -60.0))
    assert abs(behind_since(earlier) / MINUTE - 180) <= 5
