"""Tests of the groups that the simulator generates: their names and states, and how the states depend on the seed."""

from __future__ import annotations

from collections import Counter

import pytest

from kgtui.protocol.messages.groups import LIST_GROUPS
from kgtui.simulator import ManualClock, Simulator
from kgtui.simulator.generated_groups import DELETED, GENERATED_KINDS, GeneratedGroups, group_names, topic_names
from kgtui.simulator.handlers.groups import ListGroupsRowCache
from tests.unit.simulator.raw_client import ask

TYPES = ("classic", "consumer", "share", "streams")


def generate(count: int = 5_000, churn: float = 0.01, seed: int = 1) -> GeneratedGroups:
    return GeneratedGroups(count, seed=seed, partitions=6, churn=churn, types=TYPES)


def kinds_and_states(generated: GeneratedGroups) -> dict[str, tuple[int, int]]:
    return {name: (kind, state) for name, kind, state in generated.groups()}


def test_names_of_generated_groups_and_topics_are_unique() -> None:
    names = [name for name, _ in zip(group_names(), range(250_000), strict=False)]
    assert len(set(names)) == 250_000
    assert len(set(topic_names(2_000))) == 2_000


def test_most_generated_groups_are_classic_or_consumer_groups() -> None:
    generated = generate()
    types = Counter(GENERATED_KINDS[kind][0] for _, kind, _ in generated.groups())
    states = Counter(GENERATED_KINDS[kind][2][state] for _, kind, state in generated.groups())
    assert set(types) == set(TYPES)
    assert types["classic"] + types["consumer"] > 0.85 * 5_000
    assert set(states) == {"Empty", "Stable"}


def test_churn_is_the_fraction_of_generated_groups_that_change_in_one_step() -> None:
    """With churn 0.01, about 1 % of the 20,000 groups change their state in each step of 2 s, and new groups appear."""
    generated = generate(20_000, churn=0.01)
    for tick in range(1, 6):
        before = kinds_and_states(generated)
        generated.advance_to(tick * 2.0)
        after = kinds_and_states(generated)
        changed = sum(before.get(name) != kind for name, kind in after.items())
        assert 100 <= changed <= 260


def test_generated_groups_do_not_change_if_churn_is_0() -> None:
    generated = generate(churn=0)
    before = kinds_and_states(generated)
    generated.advance_to(1_000.0)
    assert kinds_and_states(generated) == before


def test_states_of_generated_groups_depend_only_on_the_time_and_the_seed() -> None:
    once, often = generate(), generate()
    once.advance_to(200.0)
    for second in range(0, 201, 5):
        often.advance_to(float(second))
    assert kinds_and_states(once) == kinds_and_states(often)
    assert kinds_and_states(once) != kinds_and_states(generate(seed=2))


def test_new_console_consumer_groups_reuse_the_memory_of_deleted_groups() -> None:
    generated = generate(1_000, churn=0.1)
    generated.advance_to(400.0)
    size = len(generated.names)
    names = set(generated.index)
    generated.advance_to(4_000.0)
    assert set(generated.index) != names
    assert len(generated.names) < size * 1.2
    assert sum(generated.existing) == len(generated.index)


@pytest.mark.parametrize("version", [0, 2, 3, 4, 5])
def test_cached_listgroups_rows_equal_newly_encoded_rows(version: int) -> None:
    generated = generate(2_000, churn=0.05)
    cached = ListGroupsRowCache(generated, version)
    for second in range(0, 60, 2):
        generated.advance_to(float(second))
        cached.rows_of_partition(second % 50)
    generated.remove(5)
    fresh = ListGroupsRowCache(generated, version)
    assert [cached.rows_of_partition(p) for p in range(50)] == [fresh.rows_of_partition(p) for p in range(50)]


async def test_listgroups_returns_all_generated_groups_that_match_its_filters() -> None:
    async with Simulator(groups=1_500, scenario="plain", churn=0.1, clock=ManualClock()) as cluster:
        for _ in range(5):
            cluster.advance(2)
        generated = cluster.state.generated
        assert generated is not None
        for version in range(6):
            names = [
                row["GroupId"] for n in (1, 2, 3) for row in (await ask(cluster, n, LIST_GROUPS, {}, version))["Groups"]
            ]
            assert len(names) == len(set(names))
            assert set(names) == set(generated.index)
        empty = {"StatesFilter": ["Empty"]}
        filtered = [row["GroupId"] for n in (1, 2, 3) for row in (await ask(cluster, n, LIST_GROUPS, empty))["Groups"]]
        assert sorted(filtered) == sorted(
            n for n, kind, state in generated.groups() if GENERATED_KINDS[kind][2][state] == "Empty"
        )


async def test_a_generated_group_is_found_by_id_with_its_type_and_state() -> None:
    cluster = Simulator(groups=3_000, scenario="plain", churn=0.2, clock=ManualClock())
    cluster.advance(20)
    generated = cluster.state.generated
    assert generated is not None
    for name, kind, state in generated.groups():
        group = cluster.state.find(name)
        assert group is not None
        group_type, protocol, states = GENERATED_KINDS[kind]
        assert (group.type, group.protocol, group.state(20)) == (group_type, protocol, states[state])
        assert bool(group.describe(20, operations=0)["Members"]) == (states[state] != "Empty")


async def test_only_an_empty_generated_group_can_be_deleted() -> None:
    cluster = Simulator(groups=500, scenario="plain", clock=ManualClock())
    generated = cluster.state.generated
    assert generated is not None
    name = next(name for name, kind, state in generated.groups() if GENERATED_KINDS[kind][2][state] == "Empty")
    stable = next(name for name, kind, state in generated.groups() if GENERATED_KINDS[kind][2][state] == "Stable")
    index = generated.index[name]
    assert (cluster.state.delete_group(name), cluster.state.delete_group(stable)) == (0, 68)
    assert cluster.state.find(name) is None
    assert generated.states[index] == DELETED
    assert cluster.state.delete_group(name) == 69
