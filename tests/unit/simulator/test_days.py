"""The days of a demo history: traffic with an ebb and a flow, incidents when they are due, the same for a seed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtui.simulator import ManualClock, Simulator
from kgtui.simulator.days import Plan, fill
from kgtui.simulator.days.lives import Paced, Roster, restless
from kgtui.simulator.days.plan import DAY, HOUR
from kgtui.simulator.days.topics import DailyTopic, topics

PLAN = Plan(20_000 * DAY, 3 * DAY)


def simulated(plan: Plan = PLAN) -> Simulator:
    made = Simulator(scenario="empty", seed=plan.seed, clock=ManualClock(plan.start))
    fill(made.world, plan)
    return made


def lag(made: Simulator, group: str, t: float) -> int:
    found = made.world.groups[group]
    return sum(
        max(0, read.topic.log_ends(t)[partition] - offset)
        for read, pairs in found.commits(t)
        for partition, offset in pairs
    )


@given(st.floats(-DAY, 4 * DAY), st.floats(0, HOUR))
def test_logs_never_shrink(t: float, later: float) -> None:
    for topic in topics(PLAN).values():
        assert all(a <= b for a, b in zip(topic.log_ends(t), topic.log_ends(t + later), strict=True))
        assert all(a <= b for a, b in zip(topic.log_starts(t), topic.log_starts(t + later), strict=True))
        assert all(a <= b for a, b in zip(topic.log_starts(t), topic.log_ends(t), strict=True))


def test_more_comes_in_the_afternoon_than_at_night() -> None:
    topic = DailyTopic("t", 1, 10.0)
    assert topic.flow(16 * HOUR) - topic.flow(14 * HOUR) > 2 * (topic.flow(4 * HOUR) - topic.flow(2 * HOUR))
    late = DailyTopic("t", 1, 10.0, midnight=12 * HOUR)
    assert late.flow(4 * HOUR) - late.flow(2 * HOUR) > 2 * (late.flow(16 * HOUR) - late.flow(14 * HOUR))


def test_a_surge_brings_more_for_its_time_only() -> None:
    usual, surging = (DailyTopic("t", 1, 10.0, surge=(100.0, 200.0), surging=more) for more in (0.0, 4.0))
    assert surging.flow(100) == usual.flow(100)
    assert surging.flow(150) == pytest.approx(usual.flow(150) + 200)
    assert surging.flow(900) == pytest.approx(usual.flow(900) + 400)


def test_reading_stands_still_and_catches_up() -> None:
    habit = Paced(((100.0, 0.0), (200.0, 3.0)))
    assert [habit.read_until(t) for t in (50, 100, 150, 200, 220, 250, 300)] == [49, 99, 99, 99, 159, 249, 299]


@given(st.lists(st.tuples(st.floats(0, 1_000), st.floats(0, 5)), max_size=4), st.floats(0, 2_000), st.floats(0, 100))
def test_reading_never_goes_back_or_ahead(stretches: list[tuple[float, float]], t: float, later: float) -> None:
    habit = Paced(tuple(sorted(stretches)))
    assert habit.read_until(t) <= t - 1 + 1e-6
    assert habit.read_until(t) <= habit.read_until(t + later) + 1e-6


def test_members_come_and_go_and_one_that_comes_back_is_another() -> None:
    life = Roster((0, 1), ((10.0, (0,)), (20.0, (0, 1))))
    assert [slot.joined for slot in life.moment(5).slots] == [0, 0]
    assert [slot.number for slot in life.moment(15).slots] == [0]
    assert [slot.joined for slot in life.moment(25).slots] == [0, 2]
    assert (life.moment(25).change, life.moment(25).since) == (2, 5.0)


def test_restless_between_two_times() -> None:
    life = restless(100, 200, 30, ((0,), (0, 1)))
    counts = [len(life.moment(t).slots) for t in (0, 99, 100, 131, 161, 191, 201, 999)]
    assert counts == [1, 1, 2, 1, 2, 1, 1, 1]


def test_every_incident_happens() -> None:
    made, end = simulated(), PLAN.seconds
    assert lag(made, "payments.settle", end - 5 * HOUR) < 1_000 < 100_000 < lag(made, "payments.settle", end)
    archive = [lag(made, "orders.archive", end * part) for part in (0.35, 0.44, 0.99)]
    assert archive[0] < 1_000 < 100_000 < archive[1]
    assert archive[2] < 1_000
    world = made.world
    ((read, pairs),) = world.groups["search.index"].commits(end)
    assert all(offset < read.topic.log_starts(end)[partition] for partition, offset in pairs)
    ((read, pairs),) = world.groups["fraud.score"].commits(end)
    assert all(offset > read.topic.log_starts(end)[partition] for partition, offset in pairs)
    ((later, pairs),) = world.groups["fraud.score"].commits(end + 4 * HOUR)
    assert all(offset < later.topic.log_starts(end + 4 * HOUR)[partition] for partition, offset in pairs)
    assert lag(made, "dwh.backfill", end) < lag(made, "dwh.backfill", end - HOUR)
    assert world.groups["orders.enrich"].moment(end).change > 100
    assert world.groups["customers.sync"].state(end) == world.groups["team-099.cache"].state(end) == "Empty"


def test_the_same_seed_gives_the_same_days() -> None:
    def all_commits(seed: int) -> list[object]:
        made = simulated(Plan(PLAN.start, PLAN.seconds, seed))
        return [
            (name, read.topic.name, pairs)
            for name, group in made.world.groups.items()
            for read, pairs in group.commits(2 * DAY)
        ]

    assert all_commits(1) == all_commits(1) != all_commits(2)
