"""Tests of simulated groups of each type: their states, members and assignments are like those of real groups."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from kgtui.protocol.member_data import connect, consumer, schema_registry
from kgtui.simulator import ManualClock, Simulator
from kgtui.simulator.commit_patterns import NeverCommitted, Steady, Stuck
from kgtui.simulator.groups.base import Client, ConsumedTopic, Group
from kgtui.simulator.groups.classic import (
    ClassicGroup,
    ConnectMemberData,
    ConsumerMemberData,
    RawMemberData,
    SchemaRegistryMemberData,
)
from kgtui.simulator.groups.consumer import ConsumerGroup
from kgtui.simulator.groups.share import ShareGroup
from kgtui.simulator.groups.streams import StreamsGroup, Subtopology
from kgtui.simulator.membership import ConstantMembership, RotatingMembership
from kgtui.simulator.topics import Topic

TOPIC = Topic("orders.placed", partitions=6)
GROWING = RotatingMembership(100.0, ((0, 1), (0, 1, 2)))


def states(group: Group, times: range) -> list[str]:
    """Return the states of a group at `times` (in seconds). Of consecutive equal states, only one is returned."""
    at_each_time = [group.state(t) for t in times]
    return at_each_time[:1] + [after for before, after in pairwise(at_each_time) if before != after]


def described(group: Group, t: float) -> dict[str, Any]:
    return group.describe(t, operations=0)


def test_a_classic_group_passes_through_the_states_of_a_rebalance() -> None:
    group = ClassicGroup("g", GROWING, [ConsumedTopic(TOPIC)])
    assert states(group, range(90, 200)) == ["Stable", "PreparingRebalance", "CompletingRebalance", "Stable"]


def test_describegroups_returns_member_metadata_only_for_stable_groups() -> None:
    group = ClassicGroup("g", GROWING, [ConsumedTopic(TOPIC)], member_data=ConsumerMemberData("range"))
    stable, moving = described(group, 150), described(group, 101)
    assert stable["ProtocolData"] == "range"
    assert moving["ProtocolData"] == ""
    assert moving["ProtocolType"] == "consumer"
    assert len(moving["Members"]) == 3
    assert all(row["MemberMetadata"] == b"" == row["MemberAssignment"] for row in moving["Members"])
    owned = [consumer.decode_assignment(row["MemberAssignment"]) for row in stable["Members"]]
    assert sorted(p for parts in owned for _, ps in parts or () for p in ps) == [0, 1, 2, 3, 4, 5]
    subscription = consumer.decode_subscription(stable["Members"][0]["MemberMetadata"])
    assert subscription is not None
    assert subscription.topics == ("orders.placed",)


def test_an_empty_classic_group_becomes_dead_after_a_configured_time() -> None:
    group = ClassicGroup(
        "g", RotatingMembership(100.0, ((0,), ())), [ConsumedTopic(TOPIC, NeverCommitted())], outlives=60.0
    )
    assert states(group, range(90, 250)) == [
        "Stable",
        "Empty",
        "Dead",
        "PreparingRebalance",
        "CompletingRebalance",
        "Stable",
    ]
    assert described(group, 170)["GroupState"] == "Dead"


def test_classic_groups_of_the_company_scenario_have_every_state() -> None:
    company = Simulator(clock=ManualClock()).state.groups.values()
    states_seen = {group.state(t) for group in company if group.type == "classic" for t in range(0, 250, 2)}
    assert states_seen == {"Stable", "PreparingRebalance", "CompletingRebalance", "Empty", "Dead"}


def test_a_group_without_members_is_empty_and_stops_committing() -> None:
    group = ClassicGroup("g", RotatingMembership(100.0, ((0,), ())), [ConsumedTopic(TOPIC, Steady())])
    assert group.state(150) == "Empty"
    assert described(group, 150)["Members"] == []
    assert list(group.commits(110)) == list(group.commits(190))
    assert list(group.commits(190)) != list(group.commits(290))


def test_consumer_group_members_get_new_assignments_one_by_one() -> None:
    group = ConsumerGroup("g", GROWING, [ConsumedTopic(TOPIC)], epoch=10)
    assert states(group, range(90, 200)) == ["Stable", "Assigning", "Reconciling", "Stable"]
    assigning, middle, stable = described(group, 100.5), described(group, 105), described(group, 150)
    assert (assigning["GroupEpoch"], assigning["AssignmentEpoch"]) == (11, 10)
    assert (middle["GroupEpoch"], middle["AssignmentEpoch"]) == (11, 11)
    reconciled = [row["Assignment"] == row["TargetAssignment"] for row in middle["Members"]]
    assert True in reconciled
    assert False in reconciled
    assert {row["MemberEpoch"] for row in middle["Members"]} > {11}
    assert all(row["Assignment"] == row["TargetAssignment"] for row in stable["Members"])
    assert {row["MemberEpoch"] for row in stable["Members"]} == {11}


@pytest.mark.parametrize("t", [100.5, 102.0, 104.0, 106.0, 108.0, 150.0])
def test_no_partition_of_a_consumer_group_has_two_owners(t: float) -> None:
    group = ConsumerGroup("g", GROWING, [ConsumedTopic(TOPIC)])
    owned = [
        (row["TopicName"], partition)
        for member in described(group, t)["Members"]
        for row in member["Assignment"]["TopicPartitions"]
        for partition in row["Partitions"]
    ]
    assert len(owned) == len(set(owned))


def test_group_in_migration_has_classic_and_consumer_members() -> None:
    group = ConsumerGroup("g", ConstantMembership(3), [ConsumedTopic(TOPIC)], classic=frozenset({1}))
    assert [row["MemberType"] for row in described(group, 5)["Members"]] == [1, 0, 1]


def test_a_share_group_assigns_partitions_to_several_members() -> None:
    group = ShareGroup(
        "g", RotatingMembership(100.0, ((0, 1, 2), ())), [ConsumedTopic(TOPIC, without=frozenset({3}))], epoch=4
    )
    active, empty = described(group, 50), described(group, 150)
    owners = [p for row in active["Members"] for tp in row["Assignment"]["TopicPartitions"] for p in tp["Partitions"]]
    assert set(owners) == set(range(6))
    assert len(owners) > 6
    assert (empty["GroupState"], empty["GroupEpoch"], empty["AssignmentEpoch"]) == ("Empty", 5, 4)
    assert list(group.commits(50)) == []
    ((_, rows),) = group.start_offsets(50)
    assert rows[3] == (3, -1, -1)
    assert all(start > 0 and lag >= 0 for p, start, lag in rows if p != 3)


@pytest.mark.parametrize("group_class", [ConsumerGroup, ShareGroup, StreamsGroup])
def test_the_protocol_type_equals_the_group_type_except_for_classic_groups(group_class: type[Group]) -> None:
    group = group_class("g", ConstantMembership(1), [ConsumedTopic(TOPIC)])
    assert group.protocol == group.type
    assert bool(list(group.start_offsets(5))) == (group_class is ShareGroup)


def test_share_group_lag_excludes_acknowledged_records() -> None:
    group = ShareGroup("g", ConstantMembership(2), [ConsumedTopic(TOPIC, Stuck(100))], in_flight=30)
    ((_, rows),) = group.start_offsets(0)
    assert {lag for _, _, lag in rows} == {70}


def streams_group(**changes: Any) -> StreamsGroup:
    parts = [Subtopology(("orders.placed",), 6), Subtopology((), 6, repartition=("g-r",), changelogs=("g-c",))]
    schedule = RotatingMembership(100.0, ((0, 1, 2), (0, 1, 2, 3)))
    return StreamsGroup("g", schedule, [ConsumedTopic(TOPIC)], topology=parts, standbys=1, **changes)


def test_each_streams_task_is_active_on_exactly_one_member() -> None:
    group = streams_group()
    assert states(group, range(90, 200)) == ["Stable", "Assigning", "Reconciling", "Stable"]
    for t in (50.0, 120.0, 190.0):
        roles = [row["Assignment"] for row in described(group, t)["Members"]]
        active = [(task["SubtopologyId"], p) for r in roles for task in r["ActiveTasks"] for p in task["Partitions"]]
        assert sorted(active) == sorted((part, p) for part in "01" for p in range(6))
        standby = [(task["SubtopologyId"], p) for r in roles for task in r["StandbyTasks"] for p in task["Partitions"]]
        assert sorted(standby) == [("1", p) for p in range(6)], "only stateful tasks have standbys"
        warm = [task for r in roles for task in r["WarmupTasks"]]
        assert bool(warm) == (t == 120.0)


def test_streams_threads_of_one_process_report_the_same_process_id_and_host() -> None:
    members = described(streams_group(), 50)["Members"]
    assert members[0]["ProcessId"] == members[1]["ProcessId"] != members[2]["ProcessId"]
    assert members[0]["ClientHost"] == members[1]["ClientHost"]
    assert members[0]["ClientId"].endswith("StreamThread-1-consumer")


def test_a_streams_group_that_is_not_ready_has_no_assignments() -> None:
    group = streams_group(phases=(("NotReady", 50.0),))
    answer = described(group, 110)
    assert answer["GroupState"] == "NotReady"
    assert all(not any(row["Assignment"].values()) for row in answer["Members"])


@pytest.mark.parametrize(("name", "version"), [("default", 0), ("compatible", 1), ("sessioned", 2)])
def test_connectors_and_tasks_are_divided_among_the_connect_workers(name: str, version: int) -> None:
    member_data = ConnectMemberData(name, (("sink", 3), ("source", 1)))
    group = ClassicGroup(
        "c", ConstantMembership(2), protocol="connect", member_data=member_data, client=Client("worker")
    )
    rows = described(group, 5)["Members"]
    assignments = [connect.decode_assignment(row["MemberAssignment"]) for row in rows]
    subscriptions = [connect.decode_subscription(row["MemberMetadata"]) for row in rows]
    assert all(one is not None and one.version == version and one.leader == rows[0]["MemberId"] for one in assignments)
    assert [one.url for one in subscriptions if one] == [f"http://worker-{n}.connect.svc:8083/" for n in (0, 1)]
    tasks = sorted((name, t) for one in assignments if one for name, ts in one.assigned for t in ts)
    assert tasks == sorted([("sink", -1), ("sink", 0), ("sink", 1), ("sink", 2), ("source", -1), ("source", 0)])


def test_one_eligible_schema_registry_instance_is_the_primary() -> None:
    member_data = SchemaRegistryMemberData(ineligible=frozenset({0}))
    rows = described(ClassicGroup("s", ConstantMembership(2), protocol="sr", member_data=member_data), 5)["Members"]
    assignments = {schema_registry.decode_assignment(row["MemberAssignment"]) for row in rows}
    assert len(assignments) == 1
    (one,) = assignments
    assert one is not None
    assert one.master == rows[1]["MemberId"]
    duplicated = ClassicGroup(
        "s", ConstantMembership(2), protocol="sr", member_data=SchemaRegistryMemberData(duplicate=True)
    )
    answer = schema_registry.decode_assignment(described(duplicated, 5)["Members"][0]["MemberAssignment"])
    assert answer is not None
    assert (answer.error, answer.master) == (schema_registry.DUPLICATE_URLS, None)


def test_member_data_that_a_scenario_defines_is_sent_unchanged() -> None:
    group = ClassicGroup("f", ConstantMembership(1), protocol="x", member_data=RawMemberData("p", b"\1", b"\2"))
    (row,) = described(group, 5)["Members"]
    assert (row["MemberMetadata"], row["MemberAssignment"]) == (b"\1", b"\2")


def test_members_report_configured_racks_and_static_instance_ids() -> None:
    client = Client("web", static=True, racks=("a", "b"))
    rows = described(ConsumerGroup("g", ConstantMembership(3), [ConsumedTopic(TOPIC)], client=client), 5)["Members"]
    assert [row["InstanceId"] for row in rows] == ["web-0", "web-1", "web-2"]
    assert [row["RackId"] for row in rows] == ["a", "b", "a"]


def test_two_simulated_clusters_are_equal_only_if_their_seeds_are_equal() -> None:
    def snapshot(seed: int) -> list[object]:
        state = Simulator(groups=400, seed=seed, clock=ManualClock()).state
        state.generated.advance_to(500.0) if state.generated else None
        found = [state.find(name) for name in (*state.groups, *(state.generated.index if state.generated else ()))]
        return [(group.describe(500.0, operations=0), list(map(str, group.commits(0)))) for group in found if group]

    def without_objects(snapshot: list[object]) -> list[object]:
        return [row[0] for row in snapshot if isinstance(row, tuple)]

    assert without_objects(snapshot(3)) == without_objects(snapshot(3))
    assert without_objects(snapshot(3)) != without_objects(snapshot(4))
