"""Tests that simulated brokers of older releases respond like real brokers, also in a cluster with several releases."""

from __future__ import annotations

import pytest

from kgtui.errors import UsageError
from kgtui.protocol.messages.cluster import API_VERSIONS, METADATA
from kgtui.protocol.messages.groups import (
    CONSUMER_GROUP_DESCRIBE,
    DESCRIBE_GROUPS,
    LIST_GROUPS,
    SHARE_GROUP_DESCRIBE,
    STREAMS_GROUP_DESCRIBE,
)
from kgtui.protocol.messages.offsets import DESCRIBE_SHARE_GROUP_OFFSETS, OFFSET_FETCH
from kgtui.simulator import ManualClock, Simulator
from tests.unit.simulator.raw_client import RawClient, address, ask


def old(version: str, **options: int) -> Simulator:
    """Return a simulated cluster whose brokers run the Kafka release `version`, such as `2.4`."""
    return Simulator(kafka_version=version, clock=ManualClock(), **options)  # type: ignore[arg-type]


async def test_simulated_kafka_2_4_has_the_api_versions_of_kafka_2_4() -> None:
    async with old("2.4") as cluster:
        answer = await ask(cluster, 1, API_VERSIONS, {"ClientSoftwareName": "a", "ClientSoftwareVersion": "1"}, 3)
        ranges = {row["ApiKey"]: (row["MinVersion"], row["MaxVersion"]) for row in answer["ApiKeys"]}
        assert ranges[16] == (0, 3)
        assert ranges[9] == (1, 6)
        assert ranges[10] == (0, 3)
        assert 69 not in ranges
        assert answer["FinalizedFeatures"] == []
        for node in (1, 2, 3):
            listed = (await ask(cluster, node, LIST_GROUPS, {}, 3))["Groups"]
            assert {row["GroupState"] for row in listed} == {""}
            async with RawClient(address(cluster, node)) as client:
                client.ask(LIST_GROUPS, 4, {})
                assert await client.read() is None


@pytest.mark.parametrize(
    ("version", "types"),
    [
        ("2.4", {"classic"}),
        ("3.3", {"classic"}),
        ("3.9", {"classic", "consumer"}),
        ("4.1", {"classic", "consumer", "share"}),
        ("4.4", {"classic", "consumer", "share", "streams"}),
    ],
)
async def test_a_simulated_cluster_has_exactly_the_group_types_of_the_kafka_release(
    version: str, types: set[str]
) -> None:
    async with old(version, groups=300) as cluster:
        population = cluster.state.generated
        assert population is not None
        assert {group.type for group in cluster.state.groups.values()} == types
        assert {population.type_of(name) for name in population.index} == types


async def test_listgroups_state_filters_of_the_old_scala_coordinator_are_case_sensitive() -> None:
    async with old("3.3") as cluster:

        async def count(state: str) -> int:
            return sum(
                [len((await ask(cluster, n, LIST_GROUPS, {"StatesFilter": [state]}, 4))["Groups"]) for n in (1, 2, 3)]
            )

        assert await count("Empty") > 5
        assert await count("empty") == 0


async def test_only_the_old_scala_coordinator_lists_groups_while_it_is_loading() -> None:
    """Kafka 3.3 has the old group coordinator. The new coordinator in Kafka 4.4 lists no groups while loading them."""
    for version, listed in (("3.3", True), ("4.4", False)):
        async with old(version) as cluster:
            cluster.faults.load(1, 30)
            answer = await ask(cluster, 1, LIST_GROUPS, {}, 4)
            assert answer["ErrorCode"] == 14
            assert bool(answer["Groups"]) == listed
            cluster.advance(31)
            assert (await ask(cluster, 1, LIST_GROUPS, {}, 4))["ErrorCode"] == 0


async def test_share_groups_are_disabled_by_default_in_kafka_4_1() -> None:
    async with old("4.1") as cluster:
        node = cluster.state.coordinator("jobs.run")
        described = await ask(cluster, node, SHARE_GROUP_DESCRIBE, {"GroupIds": ["jobs.run"]})
        assert (described["Groups"][0]["ErrorCode"], described["Groups"][0]["ErrorMessage"]) == (35, None)
        requested = {"Groups": [{"GroupId": "jobs.run", "Topics": None}]}
        offsets = await ask(cluster, node, DESCRIBE_SHARE_GROUP_OFFSETS, requested, 0)
        assert offsets["Groups"][0]["ErrorCode"] == 35
        async with RawClient(address(cluster, node)) as client:
            client.ask(STREAMS_GROUP_DESCRIBE, 0, {"GroupIds": []})
            assert await client.read() is None, "a request for an unsupported API must close the connection"


async def test_share_groups_can_be_enabled_and_disabled() -> None:
    for version, features, code in (("4.1", {"share.version": 1}, 0), ("4.4", {"share.version": 0}, 35)):
        async with Simulator(kafka_version=version, features=features, clock=ManualClock()) as cluster:
            node = cluster.state.coordinator("jobs.run")
            described = await ask(cluster, node, SHARE_GROUP_DESCRIBE, {"GroupIds": ["jobs.run"]})
            assert described["Groups"][0]["ErrorCode"] == code
            versions = await ask(cluster, 1, API_VERSIONS, {"ClientSoftwareName": "a", "ClientSoftwareVersion": "1"})
            assert ("share.version" in {row["Name"] for row in versions["FinalizedFeatures"]}) == (code == 0)


async def test_consumergroupdescribe_of_kafka_3_9_has_no_error_text_or_member_type() -> None:
    async with old("3.9") as cluster:
        node = cluster.state.coordinator("payments.settle")
        wrong = await ask(cluster, node, CONSUMER_GROUP_DESCRIBE, {"GroupIds": ["payments.settle"]}, 0)
        assert (wrong["Groups"][0]["ErrorCode"], wrong["Groups"][0]["ErrorMessage"]) == (69, None)
        node = cluster.state.coordinator("web.recommend")
        right = await ask(cluster, node, CONSUMER_GROUP_DESCRIBE, {"GroupIds": ["web.recommend"]}, 0)
        assert {row["MemberType"] for row in right["Groups"][0]["Members"]} == {-1}
        dead = await ask(cluster, node, DESCRIBE_GROUPS, {"Groups": ["web.recommend"]}, 5)
        assert (dead["Groups"][0]["ErrorCode"], dead["Groups"][0]["GroupState"]) == (0, "Dead")


async def test_offsetfetch_before_v8_returns_the_offsets_of_one_group() -> None:
    async with old("2.4") as cluster:
        node = cluster.state.coordinator("audit.sink")
        requested = [{"Name": "audit.log", "PartitionIndexes": [0]}]
        answer = await ask(cluster, node, OFFSET_FETCH, {"GroupId": "audit.sink", "Topics": requested}, 1)
        assert answer["Topics"][0]["Partitions"][0]["CommittedOffset"] > 0
        wrong = await ask(cluster, node % 3 + 1, OFFSET_FETCH, {"GroupId": "audit.sink", "Topics": requested}, 1)
        assert wrong["Topics"][0]["Partitions"][0]["ErrorCode"] == 16


async def test_only_newer_brokers_coordinate_groups_of_newer_types() -> None:
    async with Simulator(brokers=4, kafka_version="2.4,4.4", clock=ManualClock()) as cluster:
        names = [node.release.name for node in cluster.state.nodes]
        assert names == ["2.4", "4.4", "2.4", "4.4"]
        for name, group in cluster.state.groups.items():
            if group.type != "classic":
                assert cluster.state.coordinator(name) in (2, 4)
        listed = set()
        for node in (1, 2, 3, 4):
            version = cluster.state.node(node).release.ranges[16][1]
            rows = (await ask(cluster, node, LIST_GROUPS, {}, version))["Groups"]
            listed |= {row["GroupId"] for row in rows}
        assert listed == set(cluster.state.groups)


@pytest.mark.parametrize(
    "version", ["2.4", "2.8", "3.3", "3.6", "3.7", "3.8", "3.9", "4.0", "4.1", "4.2", "4.3", "4.4"]
)
async def test_every_kafka_release_can_be_simulated(version: str) -> None:
    async with old(version) as cluster:
        newest = cluster.state.node(1).release.ranges[3][1]
        answer = await ask(cluster, 1, METADATA, {"Topics": []}, newest)
        assert len(answer["Brokers"]) == 3


def test_unknown_kafka_releases_and_scenarios_are_rejected() -> None:
    with pytest.raises(UsageError, match="0\\.8"):
        Simulator(kafka_version="0.8")
    with pytest.raises(UsageError, match="mars"):
        Simulator(scenario="mars")
