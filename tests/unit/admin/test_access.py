"""Tests of `KafkaGroupAdmin.access`, which reads whether the user is allowed to describe all groups and topics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kgtui.admin.kafka import KafkaGroupAdmin, connect
from kgtui.errors import UnreachableError
from kgtui.model.access import CLUSTER_OPERATIONS, FULL_ACCESS, Access
from kgtui.simulator import Simulator
from tests.unit.admin.fake_pool import FakePool

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.admin.fake_pool import Sent

NO_TOPIC, FORBIDDEN, NO_LEADER = 3, 29, 5
EVERY_OPERATION, DESCRIBE = 8096, 256


def metadata(code: int, operations: int) -> Callable[[Sent], dict[str, Any]]:
    """Return a function that responds to Metadata requests.

    Args:
        code: error code of the requested topic.
        operations: bit set of the operations that the user may perform on the cluster.
    """

    def answer(sent: Sent) -> dict[str, Any]:
        (topic,) = sent.fields["Topics"]
        return {
            "Topics": [{"ErrorCode": code, "Name": topic["Name"], "Partitions": []}],
            "ClusterAuthorizedOperations": operations,
        }

    return answer


@pytest.mark.parametrize(
    ("code", "operations", "every_group", "any_topic", "every_topic"),
    [
        (NO_TOPIC, EVERY_OPERATION, True, True, True),
        (NO_TOPIC, DESCRIBE, True, True, False),
        (FORBIDDEN, EVERY_OPERATION, True, False, False),
        (FORBIDDEN, 0, False, False, False),
        (NO_LEADER, EVERY_OPERATION, True, False, False),
        (NO_TOPIC, -(2**31), False, True, False),
    ],
    ids=["super user", "any topic", "no topic", "nothing", "other error", "operations not reported"],
)
async def test_permissions_are_derived_from_the_metadata_response(
    code: int, operations: int, every_group: bool, any_topic: bool, every_topic: bool
) -> None:
    pool = FakePool(answers={"Metadata": metadata(code, operations)})
    access = await KafkaGroupAdmin(pool).access()
    assert (access.lists_every_group, access.any_topic, access.sees_every_topic) == (
        every_group, any_topic, every_topic
    )  # fmt: skip


async def test_permissions_are_read_with_one_request_that_creates_no_topic() -> None:
    pool = FakePool(answers={"Metadata": metadata(NO_TOPIC, EVERY_OPERATION)})
    assert await KafkaGroupAdmin(pool).access() == FULL_ACCESS
    (sent,) = pool.sent
    assert sent.version == 10
    assert sent.fields["AllowAutoTopicCreation"] is False


async def test_permissions_are_read_again_only_if_older_than_max_age() -> None:
    pool = FakePool(answers={"Metadata": metadata(NO_TOPIC, EVERY_OPERATION)})
    admin = KafkaGroupAdmin(pool)
    assert await admin.access() == FULL_ACCESS
    pool.answers["Metadata"] = metadata(FORBIDDEN, DESCRIBE)
    assert await admin.access(max_age=60) == FULL_ACCESS
    assert len(pool.sent) == 1
    assert await admin.access() == Access(frozenset({"DESCRIBE"}), any_topic=False)


async def test_permissions_are_read_again_after_group_access_was_granted_or_revoked() -> None:
    pool = FakePool(answers={"Metadata": metadata(NO_TOPIC, DESCRIBE), "OffsetFetch": offsets()})
    admin = KafkaGroupAdmin(pool)
    answers = [offsets(), offsets(30), offsets(30), offsets(), offsets()]
    assert [await reads_after(admin, pool, "OffsetFetch", answer) for answer in answers] == [1, 1, 0, 1, 0]


async def test_permissions_are_read_again_after_topic_access_was_granted_or_revoked() -> None:
    pool = FakePool(answers={"Metadata": metadata(NO_TOPIC, DESCRIBE)})
    admin = KafkaGroupAdmin(pool)
    answers = [log_ends(), log_ends(29), log_ends(29), log_ends()]
    assert [await reads_after(admin, pool, "ListOffsets", answer) for answer in answers] == [1, 1, 0, 1]


def offsets(code: int = 0) -> Callable[[Sent], dict[str, Any]]:
    """Return a function that responds to OffsetFetch: one committed offset per group, or the error code `code`."""

    def answer(sent: Sent) -> dict[str, Any]:
        commits = [
            {"PartitionIndex": 0, "CommittedOffset": 5, "CommittedLeaderEpoch": -1, "Metadata": "", "ErrorCode": 0}
        ]
        topics = [] if code else [{"Name": "orders", "Partitions": commits}]
        names = [group["GroupId"] for group in sent.fields["Groups"]]
        return {"Groups": [{"GroupId": name, "Topics": topics, "ErrorCode": code} for name in names]}

    return answer


def log_ends(code: int = 0) -> Callable[[Sent], dict[str, Any]]:
    """Return a function that responds to ListOffsets: log end offset 9 per partition, or the error code `code`."""

    def answer(sent: Sent) -> dict[str, Any]:
        rest = {"ErrorCode": code, "Timestamp": -1, "Offset": -1 if code else 9, "LeaderEpoch": -1}
        topics = [
            {
                "Name": topic["Name"],
                "Partitions": [{"PartitionIndex": row["PartitionIndex"]} | rest for row in topic["Partitions"]],
            }
            for topic in sent.fields["Topics"]
        ]
        return {"Topics": topics}

    return answer


async def reads_after(admin: KafkaGroupAdmin, pool: FakePool, api: str, answer: Callable[[Sent], Any]) -> int:
    """Return how many requests a read of permissions sends after the brokers have responded to `api` with `answer`."""
    pool.answers[api] = answer
    if api == "OffsetFetch":
        await admin.committed_offsets(["pay"])
    else:
        await admin.partition_bounds([("orders", 0)], starts=False)
    before = len(pool.sent)
    await admin.access(max_age=60)
    return len(pool.sent) - before


@pytest.mark.parametrize(("before", "during"), [(FORBIDDEN, NO_TOPIC), (NO_TOPIC, FORBIDDEN), (NO_TOPIC, NO_TOPIC)])
async def test_offsets_are_marked_if_topics_were_hidden_before_or_during_the_read(before: int, during: int) -> None:
    """`Answer.hidden` marks a group. Permissions are read before the offsets, and again during the request for them."""
    pool = FakePool(answers={"Metadata": metadata(before, DESCRIBE)})
    admin = KafkaGroupAdmin(pool)
    await admin.access()
    commits = offsets()

    async def answer(sent: Sent) -> dict[str, Any]:
        pool.answers["Metadata"] = metadata(during, DESCRIBE)
        await admin.access()
        return commits(sent)

    pool.answers["OffsetFetch"] = answer
    hidden = (await admin.committed_offsets(["pay"])).hidden
    assert hidden == ({"pay": ()} if FORBIDDEN in (before, during) else {})


async def test_each_admin_reads_permissions_with_another_random_topic_name() -> None:
    names = set()
    for _ in range(3):
        pool = FakePool(answers={"Metadata": metadata(NO_TOPIC, EVERY_OPERATION)})
        await KafkaGroupAdmin(pool).access()
        names.add(pool.sent[0].fields["Topics"][0]["Name"])
    assert len(names) == 3


async def test_permissions_are_read_again_after_a_failed_read() -> None:
    pool = FakePool(answers={"Metadata": lambda _: UnreachableError("no broker answered")})
    admin = KafkaGroupAdmin(pool)
    with pytest.raises(UnreachableError):
        await admin.access()
    pool.answers["Metadata"] = metadata(NO_TOPIC, EVERY_OPERATION)
    assert await admin.access() == FULL_ACCESS


@pytest.mark.parametrize("release", ["2.4", "3.9", "4.3"])
async def test_simulator_reports_permissions_of_a_user_like_a_real_broker(release: str) -> None:
    async with Simulator(kafka_version=release) as cluster:

        async def access() -> Access:
            async with connect(cluster.bootstrap.split(",")) as admin:
                return await admin.access()

        assert await access() == FULL_ACCESS
        cluster.faults.forbid_topics(["payments.*"])
        assert await access() == Access(frozenset({"DESCRIBE"}), any_topic=False)
        cluster.faults.forbid_topics([])
        cluster.faults.deny_topics(["payments.*"])
        assert await access() == FULL_ACCESS
        cluster.faults.forbid_groups(["payments.*"])
        assert await access() == Access(frozenset({"DESCRIBE"}), any_topic=True)
        cluster.faults.forbid_cluster()
        assert await access() == Access(frozenset(), any_topic=True)
        assert len(CLUSTER_OPERATIONS) == 7
