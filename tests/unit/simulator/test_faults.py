"""Tests of the faults that a test can inject into a simulated cluster, such as a broker that does not respond."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from kgtui.errors import DecodeError
from kgtui.protocol.messages.cluster import API_VERSIONS, DESCRIBE_CONFIGS, FIND_COORDINATOR, METADATA
from kgtui.protocol.messages.groups import CONSUMER_GROUP_DESCRIBE, DELETE_GROUPS, DESCRIBE_GROUPS, LIST_GROUPS
from kgtui.protocol.messages.offsets import LIST_OFFSETS, OFFSET_FETCH
from tests.unit.simulator.raw_client import RawClient, address, ask

if TYPE_CHECKING:
    from kgtui.simulator import Simulator

CLIENT = {"ClientSoftwareName": "kgtui", "ClientSoftwareVersion": "1.0"}


async def test_only_the_broker_with_the_fault_black_hole_stops_responding(cluster: Simulator) -> None:
    cluster.faults.black_hole(2)
    async with RawClient(address(cluster, 2)) as client:
        client.ask(API_VERSIONS, 4, CLIENT)
        response = asyncio.ensure_future(client.read())
        for _ in range(3):
            assert (await ask(cluster, 1, LIST_GROUPS, {}))["ErrorCode"] == 0
        assert not response.done()
        cluster.faults.black_hole(2, on=False)
        assert await response is not None, "the request must get its response after the fault has ended"


async def test_a_broker_that_stops_responding_still_notices_when_a_client_disconnects(cluster: Simulator) -> None:
    async with RawClient(address(cluster, 1)) as client:
        await client.call(API_VERSIONS, 4, CLIENT)
        cluster.faults.black_hole(1)
        client.ask(LIST_GROUPS, 5, {})
        (connection,) = cluster.servers[1].connections
        assert connection.task is not None
    await asyncio.wait([connection.task], timeout=60)
    assert connection.task.done()
    assert not cluster.servers[1].connections


async def test_injected_latency_delays_responses(cluster: Simulator) -> None:
    cluster.faults.latency(1, 0.15)
    loop = asyncio.get_running_loop()
    begin = loop.time()
    await ask(cluster, 1, LIST_GROUPS, {})
    assert loop.time() - begin >= 0.15


async def test_a_delayed_response_delays_later_responses_on_the_same_connection(cluster: Simulator) -> None:
    cluster.faults.latency(1, 0.2, api=LIST_GROUPS.key)
    loop = asyncio.get_running_loop()
    begin = loop.time()
    await ask(cluster, 1, METADATA, {"Topics": []})
    quick = loop.time() - begin
    async with RawClient(address(cluster, 1)) as client:
        begin = loop.time()
        client.ask(LIST_GROUPS, 5, {})
        client.ask(METADATA, 12, {"Topics": []})
        await client.read()
        await client.read()
        assert loop.time() - begin >= 0.2 > quick


async def test_internal_error_of_a_simulated_broker_is_logged_and_closes_the_connection(
    cluster: Simulator, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_name: str) -> int:
        raise RuntimeError("out of order")

    monkeypatch.setattr(cluster.state, "coordinator", broken)
    async with RawClient(address(cluster, 1)) as client:
        client.ask(LIST_GROUPS, 5, {})
        assert await client.read() is None
    assert "out of order" in caplog.text
    assert (await ask(cluster, 1, METADATA, {"Topics": []}))["Brokers"]


async def test_a_throttled_broker_reports_the_throttle_time_and_responds_later(cluster: Simulator) -> None:
    cluster.faults.throttle(1, 200)
    loop = asyncio.get_running_loop()
    async with RawClient(address(cluster, 1)) as client:
        assert (await client.call(LIST_GROUPS, 5, {}))["ThrottleTimeMs"] == 200
        begin = loop.time()
        await client.call(LIST_GROUPS, 5, {})
        assert loop.time() - begin >= 0.15
    assert (await ask(cluster, 2, LIST_GROUPS, {}))["ThrottleTimeMs"] == 0


async def test_cutting_the_connections_of_a_broker_does_not_prevent_new_connections(cluster: Simulator) -> None:
    async with RawClient(address(cluster, 1)) as one, RawClient(address(cluster, 2)) as other:
        await one.call(LIST_GROUPS, 5, {})
        await other.call(LIST_GROUPS, 5, {})
        cluster.faults.cut(1)
        assert await one.read() is None
        await other.call(LIST_GROUPS, 5, {})
    assert (await ask(cluster, 1, LIST_GROUPS, {}))["ErrorCode"] == 0


async def test_a_restarted_broker_has_the_same_port_and_groups(cluster: Simulator) -> None:
    state = cluster.state
    before = {name: state.coordinator(name) for name in state.groups}
    port = state.node(2).port
    topic = state.topics["web.clicks"]
    epochs = [state.leadership(topic, p).epoch for p in range(topic.partitions)]
    await cluster.faults.kill(2)
    with pytest.raises(OSError, match=r"refused|Connect call failed"):
        await asyncio.open_connection("127.0.0.1", port)
    answer = await ask(cluster, 1, METADATA, {"Topics": [{"Name": "web.clicks"}]})
    assert [row["NodeId"] for row in answer["Brokers"]] == [1, 3]
    partitions = answer["Topics"][0]["Partitions"]
    assert {row["LeaderId"] for row in partitions} == {1, 3}
    assert any(row["OfflineReplicas"] == [2] for row in partitions)
    assert all(state.coordinator(name) in (1, 3) for name in before)
    assert all(state.coordinator(name) == node for name, node in before.items() if node != 2)
    await cluster.faults.restart(2)
    assert state.node(2).port == port
    assert {name: state.coordinator(name) for name in state.groups} == before
    after = [state.leadership(topic, p).epoch for p in range(topic.partitions)]
    assert any(new > old for old, new in zip(epochs, after, strict=True))
    assert (await ask(cluster, 2, LIST_GROUPS, {}))["ErrorCode"] == 0


async def test_a_group_has_no_coordinator_if_all_brokers_are_killed(cluster: Simulator) -> None:
    async with RawClient(address(cluster, 1)) as client:
        await client.call(LIST_GROUPS, 5, {})
        for node in (1, 2, 3):
            await cluster.faults.kill(node)
        assert await client.read() is None
    assert cluster.state.coordinator("payments.settle") == -1


async def test_the_previous_coordinator_of_a_moved_group_returns_not_coordinator(cluster: Simulator) -> None:
    name = "payments.settle"
    was = cluster.state.coordinator(name)
    now = was % 3 + 1
    cluster.faults.move_coordinator(name, now)
    old = await ask(cluster, was, DESCRIBE_GROUPS, {"Groups": [name]})
    new = await ask(cluster, now, DESCRIBE_GROUPS, {"Groups": [name]})
    found = await ask(cluster, was, FIND_COORDINATOR, {"CoordinatorKeys": [name]})
    assert (old["Groups"][0]["ErrorCode"], new["Groups"][0]["ErrorCode"]) == (16, 0)
    assert found["Coordinators"][0]["NodeId"] == now
    listed = [row["GroupId"] for row in (await ask(cluster, now, LIST_GROUPS, {}))["Groups"]]
    assert name in listed


async def test_a_loading_coordinator_returns_the_error_coordinator_load_in_progress(cluster: Simulator) -> None:
    name = "payments.settle"
    node = cluster.state.coordinator(name)
    cluster.faults.load(node, 20)
    request = {"Groups": [{"GroupId": name, "Topics": None}]}
    assert (await ask(cluster, node, OFFSET_FETCH, request))["Groups"][0]["ErrorCode"] == 14
    cluster.advance(21)
    assert (await ask(cluster, node, OFFSET_FETCH, request))["Groups"][0]["ErrorCode"] == 0


async def test_every_group_api_rejects_requests_about_a_forbidden_group(cluster: Simulator) -> None:
    cluster.faults.forbid_groups(["payments.*"])
    name = "payments.settle"
    node = cluster.state.coordinator(name)
    described = await ask(cluster, node, DESCRIBE_GROUPS, {"Groups": [name]})
    fetched = await ask(cluster, node, OFFSET_FETCH, {"Groups": [{"GroupId": name, "Topics": None}]})
    deleted = await ask(cluster, node, DELETE_GROUPS, {"GroupsNames": [name]})
    found = await ask(cluster, node, FIND_COORDINATOR, {"CoordinatorKeys": [name]})
    resource = {"ResourceType": 32, "ResourceName": name, "ConfigurationKeys": None}
    configs = await ask(cluster, node, DESCRIBE_CONFIGS, {"Resources": [resource]})
    rows = [described["Groups"][0], fetched["Groups"][0], deleted["Results"][0], found["Coordinators"][0]]
    assert [row["ErrorCode"] for row in (*rows, configs["Results"][0])] == [30] * 5
    listed = [row["GroupId"] for row in (await ask(cluster, node, LIST_GROUPS, {}))["Groups"]]
    assert name in listed, "a user who may describe the cluster sees all names"
    cluster.faults.forbid_cluster()
    listed = [row["GroupId"] for row in (await ask(cluster, node, LIST_GROUPS, {}))["Groups"]]
    assert name not in listed
    assert listed
    cluster.faults.clear()
    assert (await ask(cluster, node, DESCRIBE_GROUPS, {"Groups": [name]}))["Groups"][0]["ErrorCode"] == 0


@pytest.mark.parametrize("fault", ["forbid_topics", "deny_topics"])
async def test_no_response_reveals_members_or_offsets_for_a_forbidden_topic(cluster: Simulator, fault: str) -> None:
    getattr(cluster.faults, fault)(["payments.settled"])
    name = "payments.ledger"
    node = cluster.state.coordinator(name)
    group = (await ask(cluster, node, CONSUMER_GROUP_DESCRIBE, {"GroupIds": [name]}))["Groups"][0]
    assert (group["ErrorCode"], group["Members"]) == (29, [])
    every = await ask(cluster, node, OFFSET_FETCH, {"Groups": [{"GroupId": name, "Topics": None}]})
    assert every["Groups"][0]["Topics"] == []
    requested = [{"Name": "payments.settled", "PartitionIndexes": [0]}]
    some = await ask(cluster, node, OFFSET_FETCH, {"Groups": [{"GroupId": name, "Topics": requested}]})
    assert some["Groups"][0]["Topics"][0]["Partitions"][0]["ErrorCode"] == 29
    bounds = [{"Name": "payments.settled", "Partitions": [{"PartitionIndex": 0, "Timestamp": -1}]}]
    log_offsets = await ask(cluster, node, LIST_OFFSETS, {"ReplicaId": -1, "Topics": bounds})
    assert log_offsets["Topics"][0]["Partitions"][0]["ErrorCode"] == 29
    named = await ask(cluster, node, METADATA, {"Topics": [{"Name": "payments.settled"}]})
    assert named["Topics"][0]["ErrorCode"] == 29
    everything = await ask(cluster, node, METADATA, {"Topics": None})
    assert "payments.settled" not in {row["Name"] for row in everything["Topics"]}


async def test_an_injected_error_code_is_returned_only_for_the_next_request(cluster: Simulator) -> None:
    cluster.faults.fail(LIST_GROUPS.key, 15)
    assert (await ask(cluster, 1, LIST_GROUPS, {}))["ErrorCode"] == 15
    assert (await ask(cluster, 1, LIST_GROUPS, {}))["ErrorCode"] == 0


@pytest.mark.parametrize("kind", ["truncated", "length", "garbage"])
async def test_a_response_with_a_damaged_body_cannot_be_decoded(cluster: Simulator, kind: str) -> None:
    cluster.faults.damage(1, kind)
    async with RawClient(address(cluster, 1)) as client:
        await client.call(API_VERSIONS, 4, CLIENT)
        with pytest.raises(DecodeError):
            await client.call(LIST_GROUPS, 5, {})
        assert (await client.call(LIST_GROUPS, 5, {}))["ErrorCode"] == 0


async def test_injected_damage_can_truncate_a_response_or_change_its_correlation_id(cluster: Simulator) -> None:
    cluster.faults.damage(1, "cut")
    async with RawClient(address(cluster, 1)) as client:
        client.ask(LIST_GROUPS, 5, {})
        assert await client.read() is None
    cluster.faults.damage(1, "correlation")
    async with RawClient(address(cluster, 1)) as client:
        with pytest.raises(AssertionError):
            await client.call(LIST_GROUPS, 5, {})


def test_faults_with_an_unknown_broker_or_kind_of_damage_are_rejected(cluster: Simulator) -> None:
    with pytest.raises(KeyError, match="no broker has the node id 9"):
        cluster.faults.black_hole(9)
    with pytest.raises(ValueError, match="rust"):
        cluster.faults.damage(1, "rust")
