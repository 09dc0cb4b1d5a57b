"""Tests of listing groups, reading group configs and topic retention times, and deleting groups without permission."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from kgtui.admin import kafka
from kgtui.admin.kafka import KafkaGroupAdmin
from kgtui.client.pool import Lane
from kgtui.errors import BrokerError, ConnectError, DeadlineError, UnreachableError
from kgtui.model.cluster import Retention, TopicRules
from tests.event_loop import longer_if_busy
from tests.unit.admin.fake_pool import FakePool

if TYPE_CHECKING:
    from kgtui.protocol.api import Api
    from tests.unit.admin.fake_pool import Sent

LOADING, FORBIDDEN, NOT_KNOWN = 14, 30, 42


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka, "FIRST_PAUSE", 0.001)


def row(group: str, state: str = "Stable", kind: str = "classic", protocol: str = "consumer") -> dict[str, Any]:
    """Return the fields of a group in a ListGroups v5 response."""
    return {"GroupId": group, "ProtocolType": protocol, "GroupState": state, "GroupType": kind}


def lists(*rows: dict[str, Any], code: int = 0) -> dict[str, Any]:
    return {"ErrorCode": code, "Groups": list(rows)}


async def test_group_lists_of_all_brokers_are_merged_and_sorted() -> None:
    pool = FakePool(answers={"ListGroups": lambda sent: lists(row(f"g{3 - sent.node}"), row(f"z{sent.node}"))})
    answer = await KafkaGroupAdmin(pool).list_groups()
    assert [(group, found.coordinator) for group, found in answer.rows.items()] == [
        ("g0", 3), ("g1", 2), ("g2", 1), ("z1", 1), ("z2", 2), ("z3", 3),
    ]  # fmt: skip
    assert answer.coverage.brokers == (3, 3)
    assert pool.learned["g1"] == 2


async def test_groups_of_a_broker_that_was_added_later_are_listed() -> None:
    pool = FakePool(answers={"ListGroups": lambda sent: lists(row(f"g{sent.node}"))}, nodes=(1,))
    admin = KafkaGroupAdmin(pool)
    assert list((await admin.list_groups()).rows) == ["g1"]
    pool.nodes = (1, 2)
    assert list((await admin.list_groups()).rows) == ["g1", "g2"]


async def test_a_group_listed_by_two_brokers_appears_once_in_the_result() -> None:
    """While a group moves from one broker to another, both brokers can list the group."""
    pool = FakePool(answers={"ListGroups": lambda _: lists(row("moves"))})
    assert list((await KafkaGroupAdmin(pool).list_groups()).rows) == ["moves"]


@pytest.mark.parametrize("honest", [True, False], ids=["filtered by the broker", "filtered here"])
async def test_listed_groups_are_filtered_even_if_the_broker_ignores_the_filters(honest: bool) -> None:
    rows = [row("a", "Empty", "consumer"), row("b"), row("c", "Empty", "share", "share"), row("d", "Odd", "swarm", "x")]

    def answer(sent: Sent) -> Any:
        assert sent.fields in ({"TypesFilter": ["consumer"], "StatesFilter": ["Empty"]}, {"TypesFilter": ["swarm"]}, {})
        if not honest:
            return lists(*rows)
        types, states = sent.fields.get("TypesFilter"), sent.fields.get("StatesFilter")
        matching = [
            r for r in rows if (not types or r["GroupType"] in types) and (not states or r["GroupState"] in states)
        ]
        return lists(*matching)

    admin = KafkaGroupAdmin(FakePool(answers={"ListGroups": answer}, nodes=(1,)))

    async def listed(**filters: list[str]) -> list[str]:
        return list((await admin.list_groups(**filters)).rows)  # type: ignore[arg-type]

    assert await listed(types=["CONSUMER"], states=["empty"]) == ["a"]
    assert await listed(types=["swarm"]) == ["d"]
    assert await listed(protocols=["share", "x"]) == ["c", "d"]
    assert await listed(protocols=[]) == []


@longer_if_busy(0.5)
async def test_listing_groups_repeats_requests_to_a_broker_that_is_loading_groups(timeout: float) -> None:
    times: dict[int, int] = {1: 0, 2: 0}

    def answer(sent: Sent) -> Any:
        times[sent.node] += 1
        return lists(code=LOADING) if sent.node == 2 or times[1] < 3 else lists(row("a"))

    pool = FakePool(answers={"ListGroups": answer}, nodes=(1, 2))
    answered = await KafkaGroupAdmin(pool).list_groups(timeout=timeout)
    assert list(answered.rows) == ["a"]
    assert [(fault.broker, fault.name, fault.code) for fault in answered.faults] == [
        (2, "COORDINATOR_LOAD_IN_PROGRESS", LOADING)
    ]
    assert (times[1], times[2] > 3, answered.coverage.brokers) == (3, True, (1, 2))


async def test_listing_groups_raises_an_error_if_no_broker_responds() -> None:
    pool = FakePool(answers={"ListGroups": lambda sent: DeadlineError("late", broker=sent.node)}, nodes=(1, 2))
    with pytest.raises(UnreachableError) as caught:
        await KafkaGroupAdmin(pool).list_groups()
    assert caught.value.attempts == (("127.0.0.1:9092", "late"), ("127.0.0.1:9093", "late"))


def config(name: str, source: int = 5) -> dict[str, Any]:
    """Return the fields of a config in a DescribeConfigs v4 response."""
    return {
        "Name": name, "Value": "1", "ReadOnly": False, "ConfigSource": source, "IsSensitive": False,
        "Synonyms": [{"Name": f"group.{name}", "Value": "1", "Source": source}], "ConfigType": 3, "Documentation": None,
    }  # fmt: skip


def configs(sent: Sent, codes: dict[str, int] | None = None, *rows: dict[str, Any]) -> dict[str, Any]:
    return {
        "Results": [
            {
                "ErrorCode": (codes or {}).get(resource["ResourceName"], 0),
                "ErrorMessage": None,
                "ResourceType": 32,
                "ResourceName": resource["ResourceName"],
                "Configs": list(rows),
            }
            for resource in sent.fields["Resources"]
        ]
    }


async def test_group_configs_are_sorted_by_name_and_have_sources() -> None:
    pool = FakePool(answers={"DescribeConfigs": lambda sent: configs(sent, None, config("b", 8), config("a", 99))})
    (a, b) = (await KafkaGroupAdmin(pool).group_configs(["g"])).rows["g"]
    assert (a.name, a.source, a.type) == ("a", "UNKNOWN_99", "INT")
    assert (b.source, b.synonyms) == ("DYNAMIC_GROUP_CONFIG", (("group.b", "1", "DYNAMIC_GROUP_CONFIG"),))


async def test_configs_are_read_from_a_second_broker_if_the_first_is_unreachable() -> None:
    def answer(sent: Sent) -> Any:
        return ConnectError("refused", broker=1) if sent.node == 1 else configs(sent, None, config("a"))

    pool = FakePool(answers={"DescribeConfigs": answer})
    assert list((await KafkaGroupAdmin(pool).group_configs(["g", "h"])).rows) == ["g", "h"]
    assert [sent.node for sent in pool.sent] == [1, 2]
    pool.answers["DescribeConfigs"] = lambda sent: ConnectError("refused", broker=sent.node)
    answered = await KafkaGroupAdmin(pool).group_configs(["g", "h"])
    assert [(fault.group, fault.name) for fault in answered.faults] == [("g", "NOT_CONNECTED"), ("h", "NOT_CONNECTED")]


CONFIGS = {
    "plain": {"retention.ms": "60000", "retention.bytes": "-1", "cleanup.policy": "delete"},
    "both": {"retention.ms": "60000", "retention.bytes": "-1", "cleanup.policy": "compact,delete"},
    "by-size": {"retention.ms": "60000", "retention.bytes": "1000", "cleanup.policy": "delete"},
    "by-key": {"retention.ms": "60000", "cleanup.policy": "compact", "remote.storage.enable": "true"},
    "for-ever": {"retention.ms": "-1", "retention.bytes": "-1", "cleanup.policy": "delete"},
    "longest": {"retention.ms": "9223372036854775807", "retention.bytes": "-1", "cleanup.policy": "delete"},
    "1": {"offsets.retention.minutes": "2"},
}


def retention_rows(sent: Sent) -> dict[str, Any]:
    """Return a response with the topic configs in `CONFIGS`. Other topics get TOPIC_AUTHORIZATION_FAILED."""
    results = []
    for asked in sent.fields["Resources"]:
        name = asked["ResourceName"]
        rows = [config("x") | {"Name": key, "Value": CONFIGS[name][key]} for key in asked["ConfigurationKeys"]
                if key in CONFIGS.get(name, {})]  # fmt: skip
        results.append({
            "ErrorCode": 0 if name in CONFIGS else 29, "ErrorMessage": None, "ResourceType": asked["ResourceType"],
            "ResourceName": name, "Configs": rows,
        })  # fmt: skip
    return {"Results": results}


async def test_topics_limited_only_by_age_have_a_retention_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A topic has no retention time if it has a size limit, keeps records forever, or is only compacted."""
    monkeypatch.setattr("kgtui.admin.configs.TOPICS_PER_REQUEST", 2)
    pool = FakePool(answers={"DescribeConfigs": retention_rows})
    answer = await KafkaGroupAdmin(pool).retention(
        ["plain", "both", "by-size", "by-key", "for-ever", "longest", "secret"]
    )
    assert (answer.rows.topics, answer.rows.offsets) == ({"plain": 60.0, "both": 60.0}, 120.0)
    assert answer.rows.rules == {
        "plain": TopicRules(60.0),
        "both": TopicRules(60.0, compacted=True),
        "by-size": TopicRules(60.0, by_size=True),
        "by-key": TopicRules(60.0, compacted=True, deletes=False, tiered=True),
        "for-ever": TopicRules(),
        "longest": TopicRules(),
        "secret": TopicRules(fault="grant DESCRIBE_CONFIGS on the topic to this user"),
    }
    (fault,) = answer.faults
    assert fault.message == "read configs of topic secret: Topic authorization failed."
    assert fault.advice == "grant DESCRIBE_CONFIGS on the topic to this user"
    assert len(pool.sent) == 4


async def test_retention_times_that_were_already_read_are_kept_if_a_request_fails(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kgtui.admin.configs.TOPICS_PER_REQUEST", 1)
    pool = FakePool(answers={
        "DescribeConfigs": lambda sent: (
            retention_rows(sent) if len(pool.sent) == 1 else ConnectError("refused", broker=sent.node)
        )
    })  # fmt: skip
    answer = await KafkaGroupAdmin(pool).retention(["plain", "both", "by-size"])
    assert answer.rows == Retention({"plain": 60.0}, 120.0, {"plain": TopicRules(60.0)})
    assert [fault.name for fault in answer.faults] == ["NOT_CONNECTED"]


async def test_a_silent_broker_does_not_delay_reading_group_configs(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = FakePool(answers={"DescribeConfigs": lambda sent: configs(sent, None, config("a"))})
    version = pool.version

    async def silent(node: int, api: Api, *, timeout: float, lane: Lane = Lane.BULK) -> int:
        if node == 1:
            await asyncio.Event().wait()
        return await version(node, api, timeout=timeout, lane=lane)

    monkeypatch.setattr(pool, "version", silent)
    assert list((await KafkaGroupAdmin(pool).group_configs(["g"], timeout=60)).rows) == ["g"]


async def test_unsupported_and_forbidden_group_configs_are_reported_as_different_faults() -> None:
    codes = {"old": NOT_KNOWN, "forbidden": FORBIDDEN, "": NOT_KNOWN}
    pool = FakePool(answers={"DescribeConfigs": lambda sent: configs(sent, codes)})
    answered = await KafkaGroupAdmin(pool).group_configs(["old", "forbidden", "", "fine"])
    assert [(fault.group, fault.name, fault.code) for fault in answered.faults] == [
        ("old", "NOT_SUPPORTED", None),
        ("forbidden", "GROUP_AUTHORIZATION_FAILED", FORBIDDEN),
        ("", "INVALID_REQUEST", NOT_KNOWN),
    ]
    assert answered.faults[1].advice == "grant DESCRIBE_CONFIGS on the group to this user"
    assert answered.rows == {"fine": ()}


@pytest.mark.parametrize("lookup", [True, False], ids=["coordinator lookup", "coordinator"])
async def test_error_for_a_forbidden_deletion_mentions_the_acl_operation_delete(lookup: bool) -> None:
    pool = FakePool(answers={
        "DeleteGroups": lambda _: {"Results": [{"GroupId": "g", "ErrorCode": FORBIDDEN, "ErrorMessage": None}]}
    })  # fmt: skip
    if lookup:
        pool.coordinators["g"] = BrokerError("no", code=FORBIDDEN, name="GROUP_AUTHORIZATION_FAILED", advice="read it")
    (outcome,) = await KafkaGroupAdmin(pool).delete_groups(["g"])
    assert outcome.fault is not None
    assert outcome.fault.advice == "grant DELETE on the group to this user"
