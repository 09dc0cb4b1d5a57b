"""Samples of a group: rings, trends, and what is unknown in between."""

from __future__ import annotations

from kgtui.model.series import GROUPS, LENGTH, Series, SeriesStore


def test_trend_is_the_change_of_lag_a_second() -> None:
    series = Series()
    series.add(0.0, 100, 1)
    assert series.lag_trend() is None
    series.add(5.0, None, 1)
    series.add(10.0, 200, 1)
    assert series.lag_trend() == 10.0
    assert series.lag_trend(window=1.0) is None


def test_old_samples_make_room() -> None:
    series = Series()
    for second in range(LENGTH + 1):
        series.add(float(second), second, None)
    assert len(series.times) <= LENGTH
    assert series.times[-1] == LENGTH


def test_the_group_not_looked_at_for_longest_goes_first() -> None:
    store = SeriesStore()
    store.add("first", 0.0, 1, 1)
    store.add("second", 0.0, 1, 1)
    store.add("first", 1.0, 1, 1)
    for number in range(GROUPS - 1):
        store.add(f"g{number}", 2.0, 1, 1)
    assert store.get("first") is not None
    assert store.get("second") is None
