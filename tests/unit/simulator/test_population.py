"""Generated groups: many, cheap, changing as ordered, and the same for the same seed."""

from __future__ import annotations

from collections import Counter

import pytest

from kgtui.protocol.messages.groups import LIST_GROUPS
from kgtui.simulator import ManualClock, Simulator
from kgtui.simulator.generated_groups import DELETED, GENERATED_KINDS, GeneratedGroups, group_names, topic_names
from kgtui.simulator.handlers.groups import ListGroupsRowCache
from tests.unit.simulator.wire import ask

TYPES = ("classic", "consumer", "share", "streams")


def population(count: int = 5_000, churn: float = 0.01, seed: int = 1) -> GeneratedGroups:
    return GeneratedGroups(count, seed=seed, partitions=6, churn=churn, types=TYPES)


def picture(people: GeneratedGroups) -> dict[str, tuple[int, int]]:
    return {name: (kind, state) for name, kind, state in people.groups()}


def test_names_are_many_and_different() -> None:
    names = [name for name, _ in zip(group_names(), range(250_000), strict=False)]
    assert len(set(names)) == 250_000
    assert len(set(topic_names(2_000))) == 2_000


def test_most_groups_are_stable_or_empty_classic_or_consumer_groups() -> None:
    people = population()
    types = Counter(GENERATED_KINDS[kind][0] for _, kind, _ in people.groups())
    states = Counter(GENERATED_KINDS[kind][2][state] for _, kind, state in people.groups())
    assert set(types) == set(TYPES)
    assert types["classic"] + types["consumer"] > 0.85 * 5_000
    assert set(states) == {"Empty", "Stable"}


def test_about_as_many_groups_change_as_ordered() -> None:
    people = population(20_000, churn=0.01)
    for tick in range(1, 6):
        before = picture(people)
        people.advance_to(tick * 2.0)
        after = picture(people)
        changed = sum(before.get(name) != kind for name, kind in after.items())
        assert 100 <= changed <= 260


def test_no_churn_is_no_change() -> None:
    people = population(churn=0)
    before = picture(people)
    people.advance_to(1_000.0)
    assert picture(people) == before


def test_changes_are_the_same_however_often_one_looks() -> None:
    once, often = population(), population()
    once.advance_to(200.0)
    for second in range(0, 201, 5):
        often.advance_to(float(second))
    assert picture(once) == picture(often)
    assert picture(once) != picture(population(seed=2))


def test_visitors_come_and_go_without_end_in_bounded_space() -> None:
    people = population(1_000, churn=0.1)
    people.advance_to(400.0)
    room = len(people.names)
    names = set(people.index)
    people.advance_to(4_000.0)
    assert set(people.index) != names
    assert len(people.names) < room * 1.2
    assert sum(people.existing) == len(people.index)


@pytest.mark.parametrize("version", [0, 2, 3, 4, 5])
def test_patched_rows_are_the_same_as_new_ones(version: int) -> None:
    people = population(2_000, churn=0.05)
    kept = ListGroupsRowCache(people, version)
    for second in range(0, 60, 2):
        people.advance_to(float(second))
        kept.rows_of_partition(second % 50)
    people.remove(5)
    fresh = ListGroupsRowCache(people, version)
    assert [kept.rows_of_partition(p) for p in range(50)] == [fresh.rows_of_partition(p) for p in range(50)]


async def test_lists_with_and_without_filters_agree_in_all_versions() -> None:
    async with Simulator(groups=1_500, scenario="plain", churn=0.1, clock=ManualClock()) as cluster:
        for _ in range(5):
            cluster.advance(2)
        people = cluster.state.generated
        assert people is not None
        for version in range(6):
            names = [
                row["GroupId"] for n in (1, 2, 3) for row in (await ask(cluster, n, LIST_GROUPS, {}, version))["Groups"]
            ]
            assert len(names) == len(set(names))
            assert set(names) == set(people.index)
        empty = {"StatesFilter": ["Empty"]}
        filtered = [row["GroupId"] for n in (1, 2, 3) for row in (await ask(cluster, n, LIST_GROUPS, empty))["Groups"]]
        assert sorted(filtered) == sorted(
            n for n, kind, state in people.groups() if GENERATED_KINDS[kind][2][state] == "Empty"
        )


async def test_a_generated_group_in_full_is_as_it_is_listed() -> None:
    cluster = Simulator(groups=3_000, scenario="plain", churn=0.2, clock=ManualClock())
    cluster.advance(20)
    people = cluster.state.generated
    assert people is not None
    for name, kind, state in people.groups():
        group = cluster.state.find(name)
        assert group is not None
        group_type, protocol, states = GENERATED_KINDS[kind]
        assert (group.type, group.protocol, group.state(20)) == (group_type, protocol, states[state])
        assert bool(group.describe(20, operations=0)["Members"]) == (states[state] != "Empty")


async def test_a_deleted_generated_group_is_gone() -> None:
    cluster = Simulator(groups=500, scenario="plain", clock=ManualClock())
    people = cluster.state.generated
    assert people is not None
    name = next(name for name, kind, state in people.groups() if GENERATED_KINDS[kind][2][state] == "Empty")
    busy = next(name for name, kind, state in people.groups() if GENERATED_KINDS[kind][2][state] == "Stable")
    index = people.index[name]
    assert (cluster.state.delete_group(name), cluster.state.delete_group(busy)) == (0, 68)
    assert cluster.state.find(name) is None
    assert people.states[index] == DELETED
    assert cluster.state.delete_group(name) == 69
