"""Tests that kgtui tells users with few permissions which permission they lack, on a real Kafka 4.3.1 broker."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from kgtui.admin.kafka import KafkaGroupAdmin, connect
from kgtui.config import read_properties
from kgtui.model.cluster import Retention, TopicRules
from kgtui.model.offsets import GroupOffsets, lags
from tests.brokers.secure import COMMITS, LIVE_GROUP

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.brokers.secure import Secure


@asynccontextmanager
async def as_principal(secure: Secure, principal: str) -> AsyncIterator[KafkaGroupAdmin]:
    async with connect([secure.sasl], read_properties(secure.command_config(principal))) as admin:
        yield admin


async def test_a_principal_that_has_only_describe_permission_cannot_delete_a_group(secure_broker: Secure) -> None:
    async with as_principal(secure_broker, "viewer") as admin:
        listed = set((await admin.list_groups()).rows)
        assert listed >= {*COMMITS, LIVE_GROUP}
        described = await admin.describe_groups(["team-a-app", LIVE_GROUP])
        assert described.faults == ()
        assert "DELETE" not in (described.rows["team-a-app"].operations or ())
        assert described.rows[LIVE_GROUP].member_count == 1
        (outcome,) = await admin.delete_groups(["team-a-app"])
        assert outcome.fault is not None
        assert outcome.fault.name == "GROUP_AUTHORIZATION_FAILED"
        assert "DELETE" in outcome.fault.advice


async def test_a_principal_can_describe_only_groups_for_which_it_has_acls(secure_broker: Secure) -> None:
    async with as_principal(secure_broker, "team") as admin:
        listed = set((await admin.list_groups()).rows)
        assert {"team-a-app", LIVE_GROUP} <= listed
        assert "team-b-app" not in listed
        answer = await admin.describe_groups(["team-a-app", "team-b-app"])
        assert list(answer.rows) == ["team-a-app"]
        (fault,) = answer.faults
        assert (fault.name, fault.group) == ("GROUP_AUTHORIZATION_FAILED", "team-b-app")
        assert "DESCRIBE" in fault.advice
        offsets = await admin.committed_offsets(["team-a-app", "team-b-app"])
        assert [fault.code for fault in offsets.faults] == [30]


async def test_the_lag_in_a_forbidden_topic_is_unknown(secure_broker: Secure) -> None:
    """The OffsetFetch response omits the forbidden topic without an error. Only ListOffsets returns an error."""
    async with as_principal(secure_broker, "team") as admin:
        rows = (await admin.committed_offsets(["team-a-and-b"])).rows["team-a-and-b"]
        assert [row.topic for row in rows] == ["team-a-events"]
        bounds = (await admin.partition_bounds([("team-a-events", 0), ("team-b-events", 0)])).rows
        assert bounds["team-a-events", 0].log_end == 10
        assert bounds["team-b-events", 0].log_end is None
        assert bounds["team-b-events", 0].error in {3, 29}
        assert [row.lag for row in lags(GroupOffsets(rows, (), bounds))] == [0, None]


async def test_the_error_for_forbidden_configs_mentions_the_missing_acl(secure_broker: Secure) -> None:
    async with as_principal(secure_broker, "viewer") as admin:
        answer = await admin.retention(["team-a-events"])
    assert answer.rows == Retention(
        rules={"team-a-events": TopicRules(fault="grant DESCRIBE_CONFIGS on the topic to this user")}
    )
    assert {fault.name: fault.advice for fault in answer.faults} == {
        "CLUSTER_AUTHORIZATION_FAILED": "grant DESCRIBE_CONFIGS on the cluster to this user",
        "TOPIC_AUTHORIZATION_FAILED": "grant DESCRIBE_CONFIGS on the topic to this user",
    }


async def test_a_group_that_subscribes_to_a_forbidden_topic_cannot_be_described(secure_broker: Secure) -> None:
    """If the principal lacks DESCRIBE on one of the group's topics, ConsumerGroupDescribe returns only an error."""
    async with as_principal(secure_broker, "groupsonly") as admin:
        answer = await admin.describe_groups([LIVE_GROUP])
        assert LIVE_GROUP not in answer.rows
        assert [fault.name for fault in answer.faults] == ["TOPIC_AUTHORIZATION_FAILED"]
        assert "topic" in answer.faults[0].advice


async def test_a_principal_without_permissions_sees_no_groups(secure_broker: Secure) -> None:
    async with as_principal(secure_broker, "nobody") as admin:
        answer = await admin.list_groups()
        assert answer.rows == {}
        (outcome,) = await admin.delete_groups(["team-a-app"])
        assert outcome.fault is not None
        assert outcome.fault.code == 30
