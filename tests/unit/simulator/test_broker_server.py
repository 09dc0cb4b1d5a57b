"""Tests that a simulated broker responds to requests in order, and rejects requests like a real broker."""

from __future__ import annotations

import asyncio
from struct import pack, unpack_from
from typing import TYPE_CHECKING, Any

import pytest

from kgtui.protocol.messages import APIS
from kgtui.protocol.messages.cluster import API_VERSIONS, DESCRIBE_CONFIGS, FIND_COORDINATOR, METADATA
from kgtui.protocol.messages.groups import (
    CONSUMER_GROUP_DESCRIBE,
    DELETE_GROUPS,
    DESCRIBE_GROUPS,
    LIST_GROUPS,
    SHARE_GROUP_DESCRIBE,
    STREAMS_GROUP_DESCRIBE,
)
from kgtui.protocol.messages.offsets import DESCRIBE_SHARE_GROUP_OFFSETS, LIST_OFFSETS, OFFSET_FETCH
from tests.unit.simulator.raw_client import RawClient, address, ask

if TYPE_CHECKING:
    from kgtui.protocol.api import Api
    from kgtui.simulator import Simulator

ME = {"ClientSoftwareName": "kgtui", "ClientSoftwareVersion": "1.0"}
NOT_ASKED = -(2**31)
NOT_FOUND_MESSAGE = "16 47726f7570206e6f7065206e6f7420666f756e642e"
"""The error message `Group nope not found.`, encoded as a compact string, in hexadecimal."""


async def test_simulator_responds_to_every_api_version_that_kgtui_supports(cluster: Simulator) -> None:
    fields: dict[int, dict[str, Any]] = {
        API_VERSIONS.key: ME,
        METADATA.key: {"Topics": []},
        FIND_COORDINATOR.key: {},
        LIST_GROUPS.key: {},
        LIST_OFFSETS.key: {"ReplicaId": -1, "Topics": []},
        OFFSET_FETCH.key: {},
        DESCRIBE_CONFIGS.key: {"Resources": []},
        DELETE_GROUPS.key: {"GroupsNames": []},
    }
    async with RawClient(address(cluster, 1)) as client:
        for api in APIS.values():
            for version in range(api.low, api.high + 1):
                await client.call(api, version, fields.get(api.key, {}))


async def test_simulated_broker_reports_all_supported_api_versions_and_features(cluster: Simulator) -> None:
    answer = await ask(cluster, 1, API_VERSIONS, ME)
    assert {row["ApiKey"]: (row["MinVersion"], row["MaxVersion"]) for row in answer["ApiKeys"]} == {
        api.key: (api.low, api.high) for api in APIS.values()
    }
    features = {row["Name"]: row["MaxVersionLevel"] for row in answer["FinalizedFeatures"]}
    assert features == cluster.state.features
    assert features["share.version"] > 0


async def test_apiversions_request_of_an_unsupported_version_gets_a_version_0_response(cluster: Simulator) -> None:
    async with RawClient(address(cluster, 1)) as client:
        client.write(pack(">hhih", 18, 99, 7, -1) + b"\0")
        answer = await client.read()
    assert answer is not None
    assert unpack_from(">i", answer) == (7,)
    body = API_VERSIONS.response.decode(0, answer, 4)
    assert body["ErrorCode"] == 35
    assert [(row["ApiKey"], row["MinVersion"], row["MaxVersion"]) for row in body["ApiKeys"]] == [(18, 0, 4)]


@pytest.mark.parametrize(
    "frame",
    [
        pack(">hhih", 0, 9, 1, -1),
        pack(">hhih", 60, 0, 1, -1),
        pack(">hhih", 16, 6, 1, -1),
        pack(">hhih", 16, -1, 1, -1),
        pack(">hhih", 3, 0, 1, -1),
        pack(">hhih", 15, 0, 1, -1) + b"\x7f\xff\xff\xff",
        b"\0\1",
        b"",
    ],
    ids=["unknown api", "newer api", "newer version", "negative", "older version", "hostile length", "short", "empty"],
)
async def test_broker_closes_the_connection_after_an_unsupported_or_malformed_request(
    cluster: Simulator, frame: bytes
) -> None:
    async with RawClient(address(cluster, 1)) as client:
        client.write(frame)
        assert await client.read() is None
    assert (await ask(cluster, 1, LIST_GROUPS, {}))["ErrorCode"] == 0


async def test_sending_bytes_that_are_not_a_request_closes_the_connection(cluster: Simulator) -> None:
    async with RawClient(address(cluster, 1)) as client:
        client.write_raw(b"GET / HTTP/1.1\r\n\r\n")
        assert await client.read() is None


async def test_apiversions_request_with_an_invalid_client_software_name_is_rejected(cluster: Simulator) -> None:
    answer = await ask(cluster, 1, API_VERSIONS, {"ClientSoftwareName": "-no-", "ClientSoftwareVersion": "1"})
    assert answer["ErrorCode"] == 42


async def test_simulated_broker_sends_responses_in_the_order_of_the_requests(cluster: Simulator) -> None:
    async with RawClient(address(cluster, 1)) as client:
        sent = [client.ask(LIST_GROUPS, 5, {}) for _ in range(20)]
        answers = [await client.read() for _ in sent]
    assert [unpack_from(">i", answer)[0] for answer in answers if answer] == sent


async def test_a_request_that_arrives_byte_by_byte_gets_one_response(cluster: Simulator) -> None:
    async with RawClient(address(cluster, 1)) as client:
        frame = pack(">hhih", 16, 0, 5, -1)
        for byte in pack(">i", len(frame)) + frame:
            client.write_raw(bytes([byte]))
            await asyncio.sleep(0)
        answer = await client.read()
    assert answer is not None
    assert unpack_from(">i", answer) == (5,)


async def test_metadata_request_lists_topics_and_never_creates_missing_topics(cluster: Simulator) -> None:
    answer = await ask(cluster, 2, METADATA, {"Topics": None})
    assert [row["NodeId"] for row in answer["Brokers"]] == [1, 2, 3]
    assert {row["Name"] for row in answer["Topics"]} == set(cluster.state.topics)
    assert [row["Name"] for row in answer["Topics"] if row["IsInternal"]] == ["__consumer_offsets"]
    returned = [{"Name": "nope"}, {"Name": "bad name!"}, {"Name": "orders.placed"}]
    rows = (await ask(cluster, 2, METADATA, {"Topics": returned, "AllowAutoTopicCreation": True}))["Topics"]
    assert [row["ErrorCode"] for row in rows] == [3, 17, 0]
    assert "nope" not in cluster.state.topics
    by_id = [{"Name": None, "TopicId": rows[2]["TopicId"]}]
    assert (await ask(cluster, 2, METADATA, {"Topics": by_id}))["Topics"][0]["Name"] == "orders.placed"


async def test_each_group_is_listed_only_by_its_coordinator(cluster: Simulator) -> None:
    listed = {}
    for node in (1, 2, 3):
        for row in (await ask(cluster, node, LIST_GROUPS, {}))["Groups"]:
            assert row["GroupId"] not in listed
            listed[row["GroupId"]] = node
    assert set(listed) == set(cluster.state.groups)
    found = await ask(cluster, 1, FIND_COORDINATOR, {"KeyType": 0, "CoordinatorKeys": list(listed)[:30]})
    assert {row["Key"]: row["NodeId"] for row in found["Coordinators"]} == dict(list(listed.items())[:30])
    for key in list(listed)[:3]:
        one = await ask(cluster, 1, FIND_COORDINATOR, {"KeyType": 0, "Key": key}, version=2)
        assert one["NodeId"] == listed[key]


async def test_filters_of_listgroups_ignore_case_and_accept_unknown_values(cluster: Simulator) -> None:
    async def count(**filters: list[str]) -> int:
        return sum([len((await ask(cluster, node, LIST_GROUPS, filters))["Groups"]) for node in (1, 2, 3)])

    state = cluster.state
    assert await count(TypesFilter=["SHARE"]) == sum(group.type == "share" for group in state.groups.values())
    assert await count(StatesFilter=[" empty "]) == sum(group.state(0) == "Empty" for group in state.groups.values())
    assert await count(TypesFilter=["nonsense"]) == 0
    assert await count(StatesFilter=["nonsense"]) == 0


async def test_brokers_other_than_the_coordinator_reject_requests_about_a_group(cluster: Simulator) -> None:
    for name in ("payments.settle", "no-such-group"):
        wrong = cluster.state.coordinator(name) % 3 + 1
        described = await ask(cluster, wrong, DESCRIBE_GROUPS, {"Groups": [name]})
        fetched = await ask(cluster, wrong, OFFSET_FETCH, {"Groups": [{"GroupId": name, "Topics": None}]})
        deleted = await ask(cluster, wrong, DELETE_GROUPS, {"GroupsNames": [name]})
        codes = [described["Groups"][0], fetched["Groups"][0], deleted["Results"][0]]
        assert [row["ErrorCode"] for row in codes] == [16, 16, 16]


async def test_describe_errors_distinguish_missing_groups_from_groups_of_another_type(cluster: Simulator) -> None:
    async def one(api: object, name: str, version: int | None = None) -> dict[str, object]:
        assert api in APIS.values()
        for found in APIS.values():
            if found is api:
                key = "Groups" if found is DESCRIBE_GROUPS else "GroupIds"
                node = cluster.state.coordinator(name)
                answer = await ask(cluster, node, found, {key: [name], "IncludeAuthorizedOperations": True}, version)
                row: dict[str, object] = answer["Groups"][0]
                return row
        raise AssertionError

    unknown = await one(DESCRIBE_GROUPS, "nope")
    assert (unknown["ErrorCode"], unknown["ErrorMessage"], unknown["GroupState"]) == (
        69,
        "Group nope not found.",
        "Dead",
    )
    wrong = await one(DESCRIBE_GROUPS, "jobs.run")
    assert (wrong["ErrorCode"], wrong["ErrorMessage"]) == (69, "Group jobs.run is not a classic group.")
    old = await one(DESCRIBE_GROUPS, "jobs.run", version=5)
    assert (old["ErrorCode"], old["GroupState"], old["AuthorizedOperations"]) == (0, "Dead", 3400)
    for api, kind in (
        (CONSUMER_GROUP_DESCRIBE, "consumer"),
        (SHARE_GROUP_DESCRIBE, "share"),
        (STREAMS_GROUP_DESCRIBE, "streams"),
    ):
        row = await one(api, "payments.settle")
        assert (row["ErrorCode"], row["GroupState"], row["AuthorizedOperations"]) == (69, "", NOT_ASKED)
        assert row["ErrorMessage"] == f"Group payments.settle is not a {kind} group."
        assert (await one(api, ""))["ErrorCode"] == 24
    assert (await one(SHARE_GROUP_DESCRIBE, "jobs.run"))["AuthorizedOperations"] == 3400


async def test_offsetfetch_returns_minus_one_for_a_partition_without_a_commit(cluster: Simulator) -> None:
    async def fetch(name: str, topics: list[dict[str, Any]] | None = None) -> dict[str, object]:
        node = cluster.state.coordinator(name)
        answer = await ask(cluster, node, OFFSET_FETCH, {"Groups": [{"GroupId": name, "Topics": topics}]})
        group: dict[str, object] = answer["Groups"][0]
        return group

    for name in ("nope", "", "jobs.run", "connect-cluster"):
        assert await fetch(name) == {"GroupId": name, "Topics": [], "ErrorCode": 0}
    requested = [{"Name": "customers.changed", "PartitionIndexes": [0, 2, 9]}]
    returned = (await fetch("customers.export", requested))["Topics"]
    assert isinstance(returned, list)
    assert [row["CommittedOffset"] > 0 for row in returned[0]["Partitions"]] == [True, False, False]
    assert [row["CommittedOffset"] for row in returned[0]["Partitions"]][1:] == [-1, -1]


async def test_all_versions_of_offsetfetch_return_the_same_offsets(cluster: Simulator) -> None:
    """The requests ask for all topics of the group. Version 1 is not tested, because it cannot request all topics."""
    name = "notifications.push"
    node = cluster.state.coordinator(name)
    batch = await ask(cluster, node, OFFSET_FETCH, {"Groups": [{"GroupId": name, "Topics": None}]}, version=8)
    new = batch["Groups"][0]["Topics"]
    for version in range(2, 8):
        answer = await ask(cluster, node, OFFSET_FETCH, {"GroupId": name, "Topics": None}, version)
        rows = answer["Topics"][0]["Partitions"]
        assert [row["CommittedOffset"] for row in rows] == [row["CommittedOffset"] for row in new[0]["Partitions"]]
        assert {row["Metadata"] for row in rows} == {"v3"}
    named = [{"Name": "notifications.push", "PartitionIndexes": [0, 1, 2]}]
    again = await ask(cluster, node, OFFSET_FETCH, {"Groups": [{"GroupId": name, "Topics": named}]})
    assert again["Groups"][0]["Topics"][0]["Partitions"] == new[0]["Partitions"]


async def test_listoffsets_returns_offsets_only_from_the_partition_leader(cluster: Simulator) -> None:
    """The leader returns the log end offset, the log start offset, or the first offset at or after a timestamp."""
    topic = cluster.state.topics["orders.placed"]
    leader = cluster.state.leadership(topic, 0).leader

    async def bound(node: int, timestamp: int, partition: int = 0) -> tuple[int, int, int]:
        requested = [{"Name": topic.name, "Partitions": [{"PartitionIndex": partition, "Timestamp": timestamp}]}]
        answer = await ask(cluster, node, LIST_OFFSETS, {"ReplicaId": -1, "Topics": requested})
        row = answer["Topics"][0]["Partitions"][0]
        return row["ErrorCode"], row["Offset"], row["Timestamp"]

    cluster.advance(100)
    now = cluster.state.timestamp(cluster.state.time())
    assert await bound(leader, -1) == (0, topic.log_ends(100)[0], -1)
    assert await bound(leader, -2) == (0, topic.log_starts(100)[0], -1)
    assert (await bound(leader % 3 + 1, -1))[0] == 6
    assert (await bound(leader, -1, partition=99))[0] == 3
    code, offset, at = await bound(leader, now - 30_000)
    assert code == 0
    assert topic.log_ends(60)[0] < offset < topic.log_ends(80)[0]
    assert at >= now - 30_000
    assert await bound(leader, now + 5_000) == (0, -1, -1)


async def test_start_offsets_of_share_partitions_are_returned_only_for_share_groups(cluster: Simulator) -> None:
    async def offsets(name: str, version: int) -> list[dict[str, object]]:
        node = cluster.state.coordinator(name)
        fields = {"Groups": [{"GroupId": name, "Topics": None}]}
        answer = await ask(cluster, node, DESCRIBE_SHARE_GROUP_OFFSETS, fields, version)
        assert answer["Groups"][0]["ErrorCode"] == 0
        return [row for topic in answer["Groups"][0]["Topics"] for row in topic["Partitions"]]

    rows = await offsets("fraud.review", 1)
    assert [row["StartOffset"] == -1 for row in rows] == [False, True, False, False, True, False]
    assert [row["Lag"] == -1 for row in rows] == [False, True, False, False, True, False]
    assert {row["Lag"] for row in await offsets("fraud.review", 0)} == {-1}
    assert await offsets("payments.settle", 1) == []
    assert await offsets("nope", 1) == []


async def test_describeconfigs_accepts_every_group_id_except_the_empty_one(cluster: Simulator) -> None:
    resources = [
        {"ResourceType": 32, "ResourceName": name, "ConfigurationKeys": None} for name in ("nope", "", "emails.workers")
    ]
    rows = (await ask(cluster, 1, DESCRIBE_CONFIGS, {"Resources": resources, "IncludeSynonyms": True}))["Results"]
    assert [row["ErrorCode"] for row in rows] == [0, 42, 0]
    assert rows[1]["ErrorMessage"] == "Group name must not be empty"
    assert len(rows[0]["Configs"]) == 17
    assert {row["ConfigSource"] for row in rows[0]["Configs"]} == {5}
    own = {row["Name"]: row["Value"] for row in rows[2]["Configs"] if row["ConfigSource"] == 8}
    assert own == {"share.delivery.count.limit": "3", "share.record.lock.duration.ms": "60000"}


async def test_deletegroups_deletes_only_existing_groups_without_members(cluster: Simulator) -> None:
    names = ["[/red]", "payments.settle", "jobs.run", "jobs.retired", "clicks.heatmap-v1", "test-group", "nope", ""]
    codes: dict[str, int] = {}
    orders = []
    for node in (1, 2, 3):
        coordinated = [name for name in names if cluster.state.coordinator(name) == node]
        answer = await ask(cluster, node, DELETE_GROUPS, {"GroupsNames": coordinated})
        codes |= {row["GroupId"]: row["ErrorCode"] for row in answer["Results"]}
        orders.append((coordinated, [row["GroupId"] for row in answer["Results"]]))
    assert codes == {
        "[/red]": 0, "payments.settle": 68, "jobs.run": 68, "jobs.retired": 0, "clicks.heatmap-v1": 0,
        "test-group": 0, "nope": 69, "": 69,
    }  # fmt: skip
    assert any(returned != answered for returned, answered in orders), "all results are in the order of the request"
    assert "jobs.retired" not in cluster.state.groups
    assert "payments.settle" in cluster.state.groups


@pytest.mark.parametrize(
    ("api", "version", "fields", "body"),
    [
        (
            DESCRIBE_GROUPS,
            6,
            {"Groups": ["nope"]},
            "00000000 02 0045" + NOT_FOUND_MESSAGE + "05 6e6f7065 05 44656164 01 01 01 80000000 00 00",
        ),
        (DESCRIBE_GROUPS, 5, {"Groups": ["nope"]}, "00000000 02 0000 05 6e6f7065 05 44656164 01 01 01 80000000 00 00"),
        (DELETE_GROUPS, 2, {"GroupsNames": ["nope"]}, "00000000 02 05 6e6f7065 0045 00 00"),
    ],
    ids=["describe v6", "describe v5", "delete v2"],
)
async def test_responses_about_an_unknown_group_equal_those_of_real_brokers(
    cluster: Simulator, api: Api, version: int, fields: dict[str, Any], body: str
) -> None:
    async with RawClient(address(cluster, cluster.state.coordinator("nope"))) as client:
        client.ask(api, version, fields)
        answer = await client.read()
    assert answer is not None
    assert answer[5:] == bytes.fromhex(body)
