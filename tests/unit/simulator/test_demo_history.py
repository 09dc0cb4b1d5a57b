"""Tests of the demo history: several simulated days with daily traffic, and with incidents that a TOML file defines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtui.errors import UsageError
from kgtui.simulator import ManualClock, Simulator
from kgtui.simulator.commit_patterns import VariableSpeed
from kgtui.simulator.demo_history import HistoryPlan, add_history
from kgtui.simulator.membership import ScheduledMembership
from kgtui.simulator.topics import DAY, HOUR, DailyTopic

if TYPE_CHECKING:
    from pathlib import Path

PLAN = HistoryPlan(20_000 * DAY, 3 * DAY)


def simulator_with_history(plan: HistoryPlan = PLAN) -> Simulator:
    simulator = Simulator(scenario="empty", seed=plan.seed, clock=ManualClock(plan.start))
    add_history(simulator.state, plan)
    return simulator


HISTORY = simulator_with_history()


def lag(simulator: Simulator, group: str, t: float) -> int:
    return sum(
        max(0, read.topic.log_ends(t)[partition] - offset)
        for read, pairs in simulator.state.groups[group].commits(t)
        for partition, offset in pairs
    )


@given(st.floats(-DAY, 4 * DAY), st.floats(0, HOUR))
def test_log_offsets_of_topics_in_the_demo_history_never_decrease(t: float, later: float) -> None:
    topics = {read.topic for group in HISTORY.state.groups.values() for read in group.topics_read}
    assert len(topics) > 10
    for topic in topics:
        assert all(a <= b for a, b in zip(topic.log_ends(t), topic.log_ends(t + later), strict=True))
        assert all(a <= b for a, b in zip(topic.log_starts(t), topic.log_starts(t + later), strict=True))
        assert all(a <= b for a, b in zip(topic.log_starts(t), topic.log_ends(t), strict=True))


def test_simulated_daily_traffic_is_higher_in_the_afternoon_than_at_night() -> None:
    topic = DailyTopic("t", 1, 10.0)
    assert topic.flow(16 * HOUR) - topic.flow(14 * HOUR) > 2 * (topic.flow(4 * HOUR) - topic.flow(2 * HOUR))
    from_noon = DailyTopic("t", 1, 10.0, midnight=12 * HOUR)
    night, afternoon = (from_noon.flow(begin + 2 * HOUR) - from_noon.flow(begin) for begin in (14 * HOUR, 2 * HOUR))
    assert afternoon > 2 * night


def test_a_traffic_surge_adds_records_only_while_it_lasts() -> None:
    without, surging = (DailyTopic("t", 1, 10.0, surge=(100.0, 200.0), surging=extra) for extra in (0.0, 4.0))
    assert surging.flow(100) == without.flow(100)
    assert surging.flow(150) == pytest.approx(without.flow(150) + 200)
    assert surging.flow(900) == pytest.approx(without.flow(900) + 400)


def test_a_group_with_variable_consumption_speed_catches_up_after_a_stop() -> None:
    commits = VariableSpeed(((100.0, 0.0), (200.0, 3.0)))
    assert [commits.read_until(t) for t in (50, 100, 150, 200, 220, 250, 300)] == [49, 99, 99, 99, 159, 249, 299]


@given(st.lists(st.tuples(st.floats(0, 1_000), st.floats(0, 5)), max_size=4), st.floats(0, 2_000), st.floats(0, 100))
def test_offsets_committed_at_variable_speed_never_decrease_or_exceed_the_log_end(
    speeds: list[tuple[float, float]], t: float, later: float
) -> None:
    commits = VariableSpeed(tuple(sorted(speeds)))
    assert commits.read_until(t) <= t - 1 + 1e-6
    assert commits.read_until(t) <= commits.read_until(t + later) + 1e-6


def test_a_scheduled_member_that_leaves_and_returns_counts_as_a_new_member() -> None:
    schedule = ScheduledMembership((0, 1), ((10.0, (0,)), (20.0, (0, 1))))
    assert [slot.joined for slot in schedule.at(5).slots] == [0, 0]
    assert [slot.number for slot in schedule.at(15).slots] == [0]
    assert [slot.joined for slot in schedule.at(25).slots] == [0, 2]
    assert (schedule.at(25).change, schedule.at(25).since) == (2, 5.0)


def test_members_join_and_leave_only_in_the_scheduled_time_range() -> None:
    schedule = ScheduledMembership.rotating_between(100, 200, 30, ((0,), (0, 1)))
    counts = [len(schedule.at(t).slots) for t in (0, 99, 100, 131, 161, 191, 201, 999)]
    assert counts == [1, 1, 2, 1, 2, 1, 1, 1]


def test_groups_have_the_incidents_that_the_demo_history_defines() -> None:
    end = PLAN.seconds
    assert lag(HISTORY, "payments.settle", end - 5 * HOUR) < 1_000 < 100_000 < lag(HISTORY, "payments.settle", end)
    archive = [lag(HISTORY, "orders.archive", end * fraction) for fraction in (0.35, 0.44, 0.99)]
    assert archive[0] < 1_000 < 100_000 < archive[1]
    assert archive[2] < 1_000
    groups = HISTORY.state.groups
    ((read, pairs),) = groups["search.index"].commits(end)
    assert all(offset < read.topic.log_starts(end)[partition] for partition, offset in pairs)
    ((read, pairs),) = groups["fraud.score"].commits(end)
    assert all(offset > read.topic.log_starts(end)[partition] for partition, offset in pairs)
    ((later, pairs),) = groups["fraud.score"].commits(end + 4 * HOUR)
    assert all(offset < later.topic.log_starts(end + 4 * HOUR)[partition] for partition, offset in pairs)
    assert lag(HISTORY, "dwh.backfill", end) < lag(HISTORY, "dwh.backfill", end - HOUR)
    assert groups["orders.enrich"].membership(end).change > 100
    assert groups["customers.sync"].state(end) == groups["team-099.cache"].state(end) == "Empty"


def test_the_same_seed_gives_the_same_demo_history() -> None:
    def all_commits(seed: int) -> list[object]:
        simulator = simulator_with_history(HistoryPlan(PLAN.start, PLAN.seconds, seed))
        return [
            (name, read.topic.name, pairs)
            for name, group in simulator.state.groups.items()
            for read, pairs in group.commits(2 * DAY)
        ]

    assert all_commits(1) == all_commits(1) != all_commits(2)


@pytest.mark.parametrize(
    ("group", "message"),
    [
        ("schedule = { first = [0], changes = [[{ fraction = 0.1, hours_before_end = 1 }, []]] }", "use exactly one"),
        ("schedule = { first = [0], changes = [[{ fraction = 'x' }, []]] }", "Expected `float .* null`, got `str`"),
        ("rotation_between = { begin = 0, end = 9, turns = [[0]] }", "group 'g': .*`every`"),
    ],
)
def test_an_invalid_file_of_demo_incidents_raises_a_usage_error(tmp_path: Path, group: str, message: str) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(f'[[groups]]\nid = "g"\ntype = "classic"\n{group}\n')
    simulator = Simulator(scenario="plain", clock=ManualClock(PLAN.start))
    with pytest.raises(UsageError, match=rf"bad\.toml.*{message}"):
        add_history(simulator.state, PLAN, file)
