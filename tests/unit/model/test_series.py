"""Tests of the time series of a group: limited length, lag trends, rates and change points.

A change point is a read that shows a change of the group, such as a new state.
"""

from __future__ import annotations

from kgtui.model.group import GroupDescription
from kgtui.model.members import Member
from kgtui.model.offsets import CommittedOffset, GroupOffsets, PartitionBounds
from kgtui.model.series import CHANGE_POINTS, GROUPS, LENGTH, GapRule, Series, SeriesStore
from kgtui.model.timeline import timeline_of

GAPS = GapRule(at_least=30.0, intervals=3.0)


def test_lag_trend_is_the_change_of_lag_per_second() -> None:
    series = Series()
    series.add(0.0, 100, 1)
    assert series.lag_trend() is None
    series.add(5.0, None, 1)
    series.add(10.0, 200, 1)
    assert series.lag_trend() == 10.0
    assert series.lag_trend(window=1.0) is None


def test_full_lag_series_drops_its_oldest_samples() -> None:
    series = Series()
    for second in range(LENGTH + 1):
        series.add(float(second), second, None)
    assert len(series.times) <= LENGTH
    assert series.times[-1] == LENGTH


def test_full_store_of_lag_series_drops_the_least_recently_updated_group() -> None:
    store = SeriesStore()
    store.add("first", 0.0, 1, 1)
    store.add("second", 0.0, 1, 1)
    store.add("first", 1.0, 1, 1)
    for number in range(GROUPS - 1):
        store.add(f"g{number}", 2.0, 1, 1)
    assert store.get("first") is not None
    assert store.get("second") is None


def description(state: str, epoch: int, *people: tuple[str, tuple[int, ...]]) -> GroupDescription:
    members = tuple(Member(name, "client", "/10.0.0.1", assignment=(("t", parts),)) for name, parts in people)
    return GroupDescription("pay", "consumer", "consumer", state, 1, group_epoch=epoch, members=members)


def offsets(position: int, end: int) -> GroupOffsets:
    return GroupOffsets((CommittedOffset("t", 0, position),), bounds={("t", 0): PartitionBounds(0, end)})


def test_write_and_read_rates_are_computed_from_consecutive_samples() -> None:
    """The rates of a sample are unknown if the previous read failed, or was too long ago (a gap).

    If the committed offset decreases, the read rate is unknown.
    """
    series = Series(gap_rule=GAPS)
    for at, position, end in ((0.0, 100, 100), (2.0, 120, 150), (4.0, 90, 150)):
        series.add(at, end - position, 1, offsets=offsets(position, end))
    series.add(6.0, None, 1)
    series.add(8.0, 60, 1, offsets=offsets(90, 150))
    series.add(50.0, 60, 1, offsets=offsets(100, 160))
    rates = [(None if w != w else w, None if r != r else r) for w, r in zip(series.written, series.read, strict=True)]
    assert rates == [(None, None), (25.0, 10.0), (0.0, None), (None, None), (None, None), (None, None)]


def test_last_progress_is_the_time_when_an_offset_last_increased() -> None:
    series = Series()
    for at, position in ((0.0, 10), (5.0, 10), (10.0, 30)):
        series.add(at, None, 1, offsets=offsets(position, 100))
        assert series.last_progress() == (10.0 if position == 30 else None)
    series.add(15.0, None, 1, offsets=offsets(30, 100))
    assert series.last_progress() == 10.0
    series.add(20.0, None, 1, offsets=offsets(5, 100))
    assert series.last_progress() == 10.0, "a lower offset is not progress"


def test_state_epoch_and_member_changes_are_stored_as_change_points() -> None:
    series = Series(gap_rule=GAPS)
    series.add(0.0, 0, 1, description=description("Stable", 4, ("a", (0, 1))))
    series.add(2.0, 0, 1, description=description("Stable", 4, ("a", (0, 1))))
    series.add(4.0, 0, 2, description=description("Reconciling", 5, ("a", (0,)), ("b", ())))
    series.add(6.0, 0, 2, description=description("Stable", 5, ("a", (0,)), ("b", (1,))))
    series.add(99.0, 0, 1, description=description("Stable", 6, ("b", (0, 1))))
    found = [(s.at, s.state, s.epoch, s.joined, s.left, s.moved, s.gap) for s in series.change_points]
    assert found == [
        (0.0, "Stable", 4, (), (), 0, ""),
        (4.0, "Reconciling", 5, ("b",), (), 0, ""),
        (6.0, "Stable", 5, (), (), 1, ""),
        (99.0, "Stable", 6, (), ("a",), 1, "not watched"),
    ]
    past = timeline_of(series, 5.0, 100.0)
    assert [change.rebalanced for change in past.changes] == [2.0, None]
    seen = [past.change_point_at(at) for at in (5.0, 7.0, 99.5)]
    assert [sight.state if sight else None for sight in seen] == ["Reconciling", None, "Stable"]


def test_lag_series_keeps_a_limited_number_of_change_points() -> None:
    series = Series()
    for second in range(CHANGE_POINTS + 20):
        series.add(float(second), 0, 0, description=description("Stable", second))
    assert len(series.change_points) == CHANGE_POINTS
    assert series.change_points[-1].epoch == CHANGE_POINTS + 19
