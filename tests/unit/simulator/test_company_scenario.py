"""Tests of the groups in the simulator's scenarios, mainly in `company`, whose groups have all types and states."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kgtui.protocol.messages.groups import DESCRIBE_GROUPS, LIST_GROUPS
from kgtui.protocol.messages.offsets import OFFSET_FETCH
from kgtui.simulator import ManualClock, Simulator
from kgtui.simulator.groups.consumer import ConsumerGroup
from tests.hostile_ids import hostile_group_ids
from tests.unit.simulator.raw_client import ask

if TYPE_CHECKING:
    from kgtui.simulator.groups.base import Group


@pytest.fixture(scope="module")
def company() -> Simulator:
    return Simulator(clock=ManualClock())


def find_group(simulator: Simulator, name: str) -> Group:
    group = simulator.state.find(name)
    assert group is not None
    return group


def lag(simulator: Simulator, name: str, t: float) -> int:
    return sum(
        read.topic.log_ends(t)[partition] - offset
        for read, pairs in find_group(simulator, name).commits(t)
        for partition, offset in pairs
    )


def test_the_company_scenario_has_groups_of_every_type_and_protocol(company: Simulator) -> None:
    groups = company.state.groups.values()
    assert {group.type for group in groups} == {"classic", "consumer", "share", "streams"}
    assert {group.protocol for group in groups} >= {"consumer", "connect", "sr", "share", "streams", ""}
    assert len(groups) > 100


def test_groups_of_the_company_scenario_reach_every_state_within_400_s(company: Simulator) -> None:
    states = {(group.type, group.state(t)) for t in range(400) for group in company.state.groups.values()}
    assert states >= {
        *(("classic", state) for state in ("Empty", "PreparingRebalance", "CompletingRebalance", "Stable")),
        *(("consumer", state) for state in ("Empty", "Assigning", "Reconciling", "Stable")),
        *(("share", state) for state in ("Empty", "Stable")),
        *(("streams", state) for state in ("Empty", "NotReady", "Assigning", "Reconciling", "Stable")),
    }


def test_unhealthy_groups_of_the_company_scenario_have_the_intended_problems(company: Simulator) -> None:
    assert lag(company, "payments.settle", 600) < 12 * 18 * 20
    assert lag(company, "payments.refund", 600) > lag(company, "payments.refund", 60) > 200_000
    assert lag(company, "orders.ship", 30) > 5 * lag(company, "orders.ship", 500)
    assert lag(company, "orders.archive", 600) > lag(company, "orders.archive", 0) > 0
    below = find_group(company, "fraud.score")
    ((read, pairs),) = below.commits(60)
    assert all(offset < read.topic.log_starts(60)[partition] for partition, offset in pairs)
    commits = {
        read.topic.name: [p for p, _ in pairs] for read, pairs in find_group(company, "customers.export").commits(60)
    }
    assert commits == {"customers.changed": [0, 1]}
    states = {find_group(company, "orders.enrich").state(t) for t in range(30)}
    assert states == {"PreparingRebalance", "CompletingRebalance", "Stable"}
    migrating = find_group(company, "web.recommend")
    assert isinstance(migrating, ConsumerGroup)
    assert migrating.keys.classic


async def test_groups_with_special_characters_in_ids_are_described_and_have_offsets(company: Simulator) -> None:
    async with Simulator(clock=ManualClock()) as cluster:
        for node in (1, 2, 3):
            listed = [row["GroupId"] for row in (await ask(cluster, node, LIST_GROUPS, {}))["Groups"]]
            coordinated = [name for name in hostile_group_ids() if cluster.state.coordinator(name) == node]
            assert set(coordinated) <= set(listed)
            described = (await ask(cluster, node, DESCRIBE_GROUPS, {"Groups": coordinated}))["Groups"]
            assert {row["GroupId"]: row["ErrorCode"] for row in described} == dict.fromkeys(coordinated, 0)
            request = {"Groups": [{"GroupId": name, "Topics": None} for name in coordinated]}
            fetched = (await ask(cluster, node, OFFSET_FETCH, request))["Groups"]
            assert [row["GroupId"] for row in fetched if row["Topics"]] == coordinated


def test_hostile_group_ids_have_control_characters_emoji_and_markup() -> None:
    names = hostile_group_ids()
    assert {len(name) for name in names} >= {249, 32_000}
    assert "[/red]" in names
    for part in ("\x1b", "\n", "\u202e", "🚀", "\x9b", "\x00"):
        assert any(part in name for name in names)
    assert len(set(names)) == len(names)


async def test_the_scenario_named_wild_contains_deleted_topics_and_malformed_data() -> None:
    cluster = Simulator(scenario="wild", clock=ManualClock())
    deleted = [
        read.topic
        for read, _ in find_group(cluster, "iot.migrate").commits(5)
        if read.topic.name not in cluster.state.topics
    ]
    assert [topic.name for topic in deleted] == ["iot.raw"]
    assert (
        find_group(cluster, "node.mailmerge").describe(5, operations=0)["Members"][0]["MemberAssignment"]
        == b"\xde\xad\xbe\xef"
    )


async def test_the_scenarios_named_plain_and_empty_define_no_groups() -> None:
    """All groups of `plain` are generated. The scenario `empty` has topics, but no groups at all."""
    plain = Simulator(scenario="plain", groups=40, clock=ManualClock()).state
    assert plain.groups == {}
    assert plain.generated is not None
    assert len(plain.generated.index) == 40
    empty = Simulator(scenario="empty", groups=40, clock=ManualClock()).state
    assert empty.groups == {}
    assert empty.generated is None
    assert "orders.placed" in empty.topics


async def test_a_simulated_cluster_has_the_requested_number_of_groups() -> None:
    """The option `groups` sets the total number of groups, including the groups that the scenario file defines."""
    state = Simulator(groups=500, clock=ManualClock()).state
    assert state.generated is not None
    assert len(state.groups) + len(state.generated.index) == 500
