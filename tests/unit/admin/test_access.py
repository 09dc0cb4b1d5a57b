"""Tests of `KafkaGroupAdmin.access`, which finds out whether the user has DESCRIBE on all groups and topics."""

from __future__ import annotations

from fnmatch import fnmatchcase
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


def metadata(code: int, operations: int, denied: tuple[str, ...] = ()) -> Callable[[Sent], dict[str, Any]]:
    """Return a function that responds to Metadata requests.

    Args:
        code: error code of each topic in the response.
        operations: bit set of the operations that the user is allowed to perform on the cluster.
        denied: names or `*` patterns of topics with the error `FORBIDDEN` instead of `code`.
    """

    def answer(sent: Sent) -> dict[str, Any]:
        names = [topic["Name"] for topic in sent.fields["Topics"]]
        codes = {name: FORBIDDEN if any(fnmatchcase(name, one) for one in denied) else code for name in names}
        return {
            "Topics": [{"ErrorCode": codes[name], "Name": name, "Partitions": []} for name in names],
            "ClusterAuthorizedOperations": operations,
        }

    return answer


ACL_OPERATIONS = {"ALL": 2, "READ": 3, "DESCRIBE": 8}
LITERAL, PREFIXED = 3, 4
DENY, ALLOW = 2, 3


def acls(*, deny: dict[str, str] | None = None, allow: str = "READ", code: int = 0) -> Callable[[Sent], dict[str, Any]]:
    """Return a function that responds to DescribeAcls requests.

    Args:
        deny: topic, or prefix that ends with `*` → denied operation.
        allow: operation that an ACL allows on all topics; empty if there is no such ACL.
        code: error code of the response.
    """

    def resource(name: str, pattern: int, operation: str, permission: int) -> dict[str, Any]:
        acl = {"Principal": "User:x", "Host": "*", "Operation": ACL_OPERATIONS[operation], "PermissionType": permission}
        return {"ResourceType": 2, "ResourceName": name, "PatternType": pattern, "Acls": [acl]}

    def answer(sent: Sent) -> dict[str, Any]:
        if sent.fields["PermissionType"] == ALLOW:
            found = [resource("*", LITERAL, allow, ALLOW)] if allow else []
        else:
            found = [
                resource(name.rstrip("*"), PREFIXED if name.endswith("*") else LITERAL, operation, DENY)
                for name, operation in (deny or {}).items()
            ]
        return {"ErrorCode": code, "ErrorMessage": None, "Resources": [] if code else found}

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
async def test_permissions_of_the_user_are_derived_from_the_metadata_response(
    code: int, operations: int, every_group: bool, any_topic: bool, every_topic: bool
) -> None:
    pool = FakePool(answers={"Metadata": metadata(code, operations)}, versions={"DescribeAcls": None})
    access = await KafkaGroupAdmin(pool).access()
    assert (access.lists_every_group, access.any_topic, access.sees_every_topic) == (
        every_group, any_topic, every_topic
    )  # fmt: skip


async def test_reading_permissions_takes_one_request_and_creates_no_topic() -> None:
    pool = FakePool(answers={"Metadata": metadata(NO_TOPIC, EVERY_OPERATION)})
    assert await KafkaGroupAdmin(pool).access() == FULL_ACCESS
    (sent,) = pool.sent
    assert sent.version == 10
    assert sent.fields["AllowAutoTopicCreation"] is False


@pytest.mark.parametrize(
    ("answer", "denied", "found"),
    [
        (acls(), (), frozenset()),
        (acls(deny={"payments": "DESCRIBE", "orders": "ALL"}), ("payments", "orders"), {"payments", "orders"}),
        (acls(deny={"payments": "DESCRIBE", "orders": "ALL"}), ("orders",), {"orders"}),
        (acls(deny={"payments": "READ"}), ("payments",), frozenset()),
        (acls(deny={"pay-*": "ALL"}), ("pay-*",), {"pay-*"}),
        (acls(deny={"payments": "ALL"}, allow=""), ("payments",), None),
        (acls(code=31), (), None),
    ],
    ids=["no ACL", "denied", "another user is denied", "may describe", "prefix", "no ACL for all topics", "refused"],
)
async def test_topics_that_acls_deny_to_the_user_are_found(
    answer: Callable[[Sent], dict[str, Any]], denied: tuple[str, ...], found: set[str] | None
) -> None:
    """kgtui does not know the user's principal, so it reads the DENY ACLs of all users.

    It then requests the metadata of the topics in these ACLs. An error shows that a topic is denied to this user.
    """
    pool = FakePool(answers={"Metadata": metadata(NO_TOPIC, DESCRIBE, denied), "DescribeAcls": answer})
    access = await KafkaGroupAdmin(pool).access()
    assert access.denied_topics == found
    assert (access.any_topic, access.hides_topics, access.sees_every_topic) == (True, bool(found), found == set())


@pytest.mark.parametrize(("code", "operations"), [(NO_TOPIC, EVERY_OPERATION), (FORBIDDEN, DESCRIBE), (NO_TOPIC, 0)])
async def test_acls_are_not_read_if_they_are_unnecessary_or_unreadable(code: int, operations: int) -> None:
    """ACLs are unnecessary if the user has all permissions, or has no general DESCRIBE permission on topics.

    ACLs are unreadable for a user without DESCRIBE on the cluster.
    """
    pool = FakePool(answers={"Metadata": metadata(code, operations)})
    await KafkaGroupAdmin(pool).access()
    assert [sent.api for sent in pool.sent] == ["Metadata"]


async def test_a_denied_topic_is_reported_if_the_broker_omits_its_offsets() -> None:
    """OffsetFetch omits the offsets in deleted topics and in denied topics. kgtui reports only denied topics as hidden.

    A denied topic is a topic that the user is not allowed to describe.
    """
    pool = FakePool(answers={"Metadata": metadata(NO_TOPIC, 0), "OffsetFetch": offsets(topics=("deleted", "orders"))})
    admin = KafkaGroupAdmin(pool)
    await admin.access()
    assert (await admin.committed_offsets(["pay"])).hidden == {}
    pool.answers |= {"Metadata": metadata(NO_TOPIC, 0, ("orders",)), "OffsetFetch": offsets(topics=())}
    for _ in range(2):
        assert (await admin.committed_offsets(["pay"])).hidden == {"pay": ("orders",)}
        assert (await admin.access(max_age=60)).denied_topics == frozenset({"orders"})
    pool.answers["Metadata"] = metadata(NO_TOPIC, 0)
    assert (await admin.access()).denied_topics is None
    assert (await admin.committed_offsets(["pay"])).hidden == {}


async def test_a_topic_that_listoffsets_refuses_is_reported_as_denied() -> None:
    pool = FakePool(answers={"Metadata": metadata(NO_TOPIC, 0, ("orders",)), "ListOffsets": log_ends(29)})
    admin = KafkaGroupAdmin(pool)
    assert not (await admin.access()).hides_topics
    await admin.partition_bounds([("orders", 0)], starts=False)
    access = await admin.access(max_age=60)
    assert (access.denied_topics, access.hides_topics) == (frozenset({"orders"}), True)


async def test_permissions_are_read_again_only_after_their_maximum_age() -> None:
    pool = FakePool(answers={"Metadata": metadata(NO_TOPIC, EVERY_OPERATION)})
    admin = KafkaGroupAdmin(pool)
    assert await admin.access() == FULL_ACCESS
    pool.answers["Metadata"] = metadata(FORBIDDEN, DESCRIBE)
    assert await admin.access(max_age=60) == FULL_ACCESS
    assert len(pool.sent) == 1
    assert await admin.access() == Access(frozenset({"DESCRIBE"}), any_topic=False)


async def test_permissions_are_read_again_after_group_access_was_granted_or_revoked() -> None:
    pool = FakePool(answers={"Metadata": metadata(NO_TOPIC, 0), "OffsetFetch": offsets()})
    admin = KafkaGroupAdmin(pool)
    answers = [offsets(), offsets(30), offsets(30), offsets(), offsets()]
    assert [await reads_after(admin, pool, "OffsetFetch", answer) for answer in answers] == [1, 1, 0, 1, 0]


async def test_permissions_are_read_again_after_topic_access_was_granted_or_revoked() -> None:
    pool = FakePool(answers={"Metadata": metadata(NO_TOPIC, 0)})
    admin = KafkaGroupAdmin(pool)
    reads = []
    for code in (0, FORBIDDEN, FORBIDDEN, 0):
        pool.answers["Metadata"] = metadata(NO_TOPIC, 0, ("orders",) if code else ())
        reads.append(await reads_after(admin, pool, "ListOffsets", log_ends(code)))
    assert reads == [1, 1, 0, 1]


def offsets(code: int = 0, topics: tuple[str, ...] = ("orders",)) -> Callable[[Sent], dict[str, Any]]:
    """Return a function that responds to OffsetFetch with one committed offset per topic, or with the error `code`."""

    def answer(sent: Sent) -> dict[str, Any]:
        commits = [
            {"PartitionIndex": 0, "CommittedOffset": 5, "CommittedLeaderEpoch": -1, "Metadata": "", "ErrorCode": 0}
        ]
        rows = [] if code else [{"Name": topic, "Partitions": commits} for topic in topics]
        names = [group["GroupId"] for group in sent.fields["Groups"]]
        return {"Groups": [{"GroupId": name, "Topics": rows, "ErrorCode": code} for name in names]}

    return answer


def log_ends(code: int = 0) -> Callable[[Sent], dict[str, Any]]:
    """Return a function that responds to ListOffsets with the log end offset 9 per partition, or the error `code`."""

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
    """Send a request of the API `api`, and then read the user's permissions.

    Return how many requests kgtui sent to read the permissions; 0 if kgtui used the cached permissions.
    """
    pool.answers[api] = answer
    if api == "OffsetFetch":
        await admin.committed_offsets(["pay"])
    else:
        await admin.partition_bounds([("orders", 0)], starts=False)
    before = len(pool.sent)
    await admin.access(max_age=60)
    return len(pool.sent) - before


@pytest.mark.parametrize(("before", "during"), [(FORBIDDEN, NO_TOPIC), (NO_TOPIC, FORBIDDEN), (NO_TOPIC, NO_TOPIC)])
async def test_offsets_count_as_incomplete_if_some_topics_may_have_been_forbidden(before: int, during: int) -> None:
    """Offsets are complete only if no topic was forbidden before or during OffsetFetch.

    Brokers omit the offsets in forbidden topics. kgtui requests Metadata twice: `before` is the error code of all
    topics in the response before OffsetFetch, and `during` is their error code in the response during OffsetFetch.
    """
    pool = FakePool(answers={"Metadata": metadata(before, 0)})
    admin = KafkaGroupAdmin(pool)
    await admin.access()
    commits = offsets()

    async def answer(sent: Sent) -> dict[str, Any]:
        pool.answers["Metadata"] = metadata(during, 0)
        await admin.access()
        return commits(sent)

    pool.answers["OffsetFetch"] = answer
    hidden = (await admin.committed_offsets(["pay"])).hidden
    assert hidden == ({"pay": ()} if FORBIDDEN in (before, during) else {})


async def test_each_client_tests_permissions_with_a_random_topic_name() -> None:
    """kgtui requests the metadata of a topic that does not exist. The error code shows whether DESCRIBE is allowed."""
    names = set()
    for _ in range(3):
        pool = FakePool(answers={"Metadata": metadata(NO_TOPIC, EVERY_OPERATION)})
        await KafkaGroupAdmin(pool).access()
        names.add(pool.sent[0].fields["Topics"][0]["Name"])
    assert len(names) == 3


async def test_permissions_are_requested_again_after_a_failed_request() -> None:
    pool = FakePool(answers={"Metadata": lambda _: UnreachableError("no broker answered")})
    admin = KafkaGroupAdmin(pool)
    with pytest.raises(UnreachableError):
        await admin.access()
    pool.answers["Metadata"] = metadata(NO_TOPIC, EVERY_OPERATION)
    assert await admin.access() == FULL_ACCESS


@pytest.mark.parametrize("release", ["2.4", "3.9", "4.3"])
async def test_simulator_reports_the_permissions_of_a_user_as_a_real_broker_does(release: str) -> None:
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
