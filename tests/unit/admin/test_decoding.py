"""Descriptions from rows: what members wrote of themselves, and what newer describes tell."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtui.admin.decoding import DECODERS, operations
from kgtui.model.group import CLASSIC, CONSUMER, SHARE, STREAMS
from kgtui.model.members import ConnectWorker, Member, RegistryNode, StreamsAssignment
from kgtui.protocol import connect, consumer, registry
from kgtui.protocol.messages import (
    CONSUMER_GROUP_DESCRIBE,
    DESCRIBE_GROUPS,
    SHARE_GROUP_DESCRIBE,
    STREAMS_GROUP_DESCRIBE,
)

APIS = {
    CLASSIC: (DESCRIBE_GROUPS, 6),
    CONSUMER: (CONSUMER_GROUP_DESCRIBE, 1),
    SHARE: (SHARE_GROUP_DESCRIBE, 1),
    STREAMS: (STREAMS_GROUP_DESCRIBE, 1),
}


def decoded(group_type: str, row: dict[str, Any], version: int | None = None) -> Any:
    """A description, from a row that has gone over the wire."""
    api, newest = APIS[group_type]
    used = newest if version is None else version
    body = api.response.encode(used, {"Groups": [row]})
    (read,) = api.response.decode(used, body)["Groups"]
    return DECODERS[group_type](read, 7, "test")


def classic(protocol: str, *members: tuple[bytes, bytes], state: str = "Stable") -> tuple[Member, ...]:
    """Members of a classic group, by their metadata and assignments, in the order given."""
    rows = [
        {
            "MemberId": f"m-{number}",
            "ClientId": "client",
            "ClientHost": "/10.0.0.1",
            "MemberMetadata": metadata,
            "MemberAssignment": assigned,
        }
        for number, (metadata, assigned) in enumerate(members)
    ]
    row = {"GroupId": "g", "GroupState": state, "ProtocolType": protocol, "ProtocolData": "range", "Members": rows}
    members_read: tuple[Member, ...] = decoded(CLASSIC, row).members
    return members_read


def worker(url: str, allocation: connect.Assignment | None, assigned: connect.Assignment | None) -> tuple[bytes, bytes]:
    """The bytes of a Connect worker."""
    metadata = connect.encode_subscription(connect.Subscription(2, url, 5, allocation))
    return metadata, b"" if assigned is None else connect.encode_assignment(assigned)


def given_to(assigned: connect.Tasks = (), revoked: connect.Tasks = (), *, version: int = 2) -> connect.Assignment:
    """An assignment by the leader, whose address is http://a/."""
    return connect.Assignment(version, 0, "m-0", "http://a/", 9, assigned, revoked, 300_000 if revoked else 0)


# consumers


def test_a_consumer_tells_its_topics_rack_and_partitions() -> None:
    metadata = consumer.encode_subscription(consumer.Subscription(3, ("b", "a"), rack="r1"))
    assigned = consumer.encode_assignment([("b", (2, 0)), ("a", (1,)), ("b", (1,))])
    (member,) = classic("consumer", (metadata, assigned))
    assert (member.topics, member.rack) == (("a", "b"), "r1")
    assert member.assignment == (("a", (1,)), ("b", (0, 1, 2)))
    assert (member.protocol, member.epoch, member.target, member.undecoded) == ("classic", None, None, b"")


def test_a_rebalancing_group_tells_no_assignment() -> None:
    metadata = consumer.encode_subscription(consumer.Subscription(1, ("a",)))
    (member,) = classic("consumer", (metadata, b""), state="PreparingRebalance")
    assert (member.topics, member.assignment, member.assigned_count) == (("a",), None, None)
    (member,) = classic("consumer", (metadata, consumer.encode_assignment([])))
    assert (member.assignment, member.assigned_count) == ((), 0)


# Connect


def test_an_increment_counts_on_what_the_worker_had() -> None:
    """KIP-415: what it said it had, less what is revoked, and what is new."""
    had = given_to((("files", (-1, 0, 1)), ("db", (0,)), ("old", (-1, 3))))
    now = given_to((("db", (-1, 1)), ("files", (0,))), (("files", (1,)), ("old", (-1, 3))))
    (member,) = classic("connect", worker("http://a/", had, now))
    assert member.connect == ConnectWorker(
        url="http://a/",
        leader=True,
        leader_url="http://a/",
        config_offset=9,
        connectors=("db", "files"),
        tasks=(("db", (0, 1)), ("files", (0,))),
        revoked=("files-1", "old", "old-3"),
        delay_ms=300_000,
    )
    assert member.assigned_count == 5


def test_an_eager_assignment_is_all_that_the_worker_has() -> None:
    metadata = connect.encode_subscription(connect.Subscription(0, "http://b/", 5))
    assigned = connect.encode_assignment(given_to((("db", (-1, 0)),), version=0))
    (member,) = classic("connect", (metadata, assigned))
    assert member.connect is not None
    assert (member.connect.connectors, member.connect.tasks) == (("db",), (("db", (0,)),))
    assert member.connect.leader is False


def test_who_leads_is_known_while_any_worker_has_an_assignment() -> None:
    waiting, leads = classic(
        "connect", worker("http://b/", None, None), worker("http://a/", None, given_to((("db", (0,)),)))
    )
    assert waiting.connect == ConnectWorker(url="http://b/", config_offset=5)
    assert leads.connect is not None
    assert leads.connect.leader is True
    (alone,) = classic("connect", worker("http://a/", None, None))
    assert alone.connect is not None
    assert alone.connect.leader is None, "nobody has said yet who leads"


units = st.sets(st.tuples(st.sampled_from(["a", "b-1", "c"]), st.integers(-1, 3)))


def rows_of(found: set[tuple[str, int]]) -> connect.Tasks:
    return tuple(
        (name, tuple(sorted(task for other, task in found if other == name))) for name in {n for n, _ in found}
    )


@given(had=units, revoked=units, new=units)
def test_whatever_the_increments_a_worker_runs_what_is_left_of_them(
    had: set[tuple[str, int]], revoked: set[tuple[str, int]], new: set[tuple[str, int]]
) -> None:
    allocation, increment = given_to(rows_of(had)), given_to(rows_of(new), rows_of(revoked))
    (member,) = classic("connect", worker("http://a/", allocation, increment))
    assert member.connect is not None
    running = {(name, -1) for name in member.connect.connectors}
    running |= {(name, task) for name, tasks in member.connect.tasks for task in tasks}
    assert running == (had - revoked) | new
    assert member.assigned_count == len(running)


# schema registries


def node(host: str, *, eligible: bool = True) -> registry.Identity:
    return registry.Identity(1, host, 8081, eligible)


def test_registry_nodes_tell_who_leads() -> None:
    assigned = registry.encode_assignment(registry.Assignment(1, 0, "m-0", node("a")))
    nodes = classic(
        "sr",
        (registry.encode_identity(node("a")), assigned),
        (registry.encode_identity(node("b", eligible=False)), assigned),
    )
    assert [member.registry for member in nodes] == [
        RegistryNode("http://a:8081", True, True, "http://a:8081"),
        RegistryNode("http://b:8081", False, False, "http://a:8081"),
    ]


def test_registry_nodes_without_a_leader_or_an_assignment() -> None:
    nobody = registry.encode_assignment(registry.Assignment(1, registry.DUPLICATE_URLS, None, None))
    refused, waiting = classic(
        "sr", (registry.encode_identity(node("a")), nobody), (registry.encode_identity(node("b")), b"")
    )
    assert refused.registry == RegistryNode("http://a:8081", True, None, None, error=1)
    assert waiting.registry == RegistryNode("http://b:8081", True)


# what nobody can read


@pytest.mark.parametrize("protocol", ["consumer", "connect", "sr", "weblogic", ""])
@pytest.mark.parametrize("garbage", [b"\xff\xfe\xfd", b"\x00", b"\x00\x01\x7f\xff\xff\xff", b"not json {", b"[1, 2]"])
def test_bytes_that_follow_no_protocol_are_kept(protocol: str, garbage: bytes) -> None:
    (member,) = classic(protocol, (garbage, garbage))
    assert member.undecoded == garbage
    assert (member.member_id, member.client_id, member.host) == ("m-0", "client", "/10.0.0.1")
    assert (member.topics, member.assignment, member.connect, member.registry) == (None, None, None, None)


@given(protocol=st.sampled_from(["consumer", "connect", "sr", "x"]), metadata=st.binary(), assigned=st.binary())
def test_no_bytes_of_a_member_hide_a_group(protocol: str, metadata: bytes, assigned: bytes) -> None:
    damaged, _ = classic(protocol, (metadata, assigned), (b"", b""))
    told = (damaged.topics, damaged.connect, damaged.registry)
    assert damaged.undecoded == (b"" if any(part is not None for part in told) else metadata)


# the newer describes


def newer(**changes: Any) -> dict[str, Any]:
    """What the rows of the newer describes have in common."""
    return {
        "GroupId": "g",
        "GroupState": "STABLE",
        "GroupEpoch": 4,
        "AssignmentEpoch": 3,
        "AssignorName": "uniform",
        "AuthorizedOperations": 3400,
        "Members": [],
    } | changes


def newer_member(**changes: Any) -> dict[str, Any]:
    return {
        "MemberId": "m",
        "MemberEpoch": 3,
        "ClientId": "c",
        "ClientHost": "/h",
        "SubscribedTopicNames": ["b", "a"],
    } | changes


def owned(*partitions: int) -> dict[str, Any]:
    return {"TopicPartitions": [{"TopicId": UUID(int=1), "TopicName": "a", "Partitions": list(partitions)}]}


def test_a_consumer_group_tells_what_members_have_and_shall_have() -> None:
    row = newer_member(
        InstanceId="i",
        RackId="r",
        SubscribedTopicRegex="a.*",
        Assignment=owned(1, 0),
        TargetAssignment=owned(),
        MemberType=0,
    )
    found = decoded(CONSUMER, newer(Members=[row]))
    (member,) = found.members
    assert (found.state, found.assignor, found.group_epoch, found.assignment_epoch) == ("Stable", "uniform", 4, 3)
    assert (member.instance_id, member.rack, member.regex, member.epoch) == ("i", "r", "a.*", 3)
    assert (member.topics, member.assignment, member.target) == (("a", "b"), (("a", (0, 1)),), (("a", ()),))
    assert (member.protocol, found.coordinator, found.protocol) == ("classic", 7, "consumer")


@pytest.mark.parametrize(
    ("version", "told", "protocol"), [(0, {}, None), (1, {"MemberType": 1}, "consumer"), (1, {"MemberType": 9}, None)]
)
def test_a_kind_of_member_that_is_not_told_or_not_known(
    version: int, told: dict[str, Any], protocol: str | None
) -> None:
    row = newer_member(SubscribedTopicRegex="", Assignment=owned(), TargetAssignment=owned(), **told)
    (member,) = decoded(CONSUMER, newer(Members=[row]), version).members
    assert (member.protocol, member.regex, member.instance_id) == (protocol, None, None)


def test_a_share_group_has_no_target() -> None:
    found = decoded(SHARE, newer(Members=[newer_member(Assignment=owned(0))]))
    (member,) = found.members
    assert (found.type, member.protocol, member.assignment, member.target) == ("share", "share", (("a", (0,)),), None)


def tasks(**roles: list[tuple[str, list[int]]]) -> dict[str, Any]:
    names = {"active": "ActiveTasks", "standby": "StandbyTasks", "warmup": "WarmupTasks"}
    return {
        name: [{"SubtopologyId": sub, "Partitions": parts} for sub, parts in roles.get(role, [])]
        for role, name in names.items()
    }


def streams_member(**changes: Any) -> dict[str, Any]:
    row = newer_member(
        TopologyEpoch=2, ProcessId="p", UserEndpoint=None, ClientTags=[], TaskOffsets=[], TaskEndOffsets=[],
        Assignment=tasks(), TargetAssignment=tasks(), IsClassic=False,
    )  # fmt: skip
    del row["SubscribedTopicNames"]
    return row | changes


def test_a_streams_group_tells_tasks_by_role() -> None:
    row = streams_member(
        UserEndpoint={"Host": "h", "Port": 80},
        ClientTags=[{"Key": "zone", "Value": "b"}, {"Key": "a", "Value": ""}],
        TaskOffsets=[{"SubtopologyId": "1", "Partition": 0, "Offset": 5}],
        Assignment=tasks(active=[("1", [1, 0]), ("0", [2])], warmup=[("2", [3])]),
        TargetAssignment=tasks(standby=[("0", [2])]),
    )
    found = decoded(STREAMS, newer(Topology=None, Members=[row]))
    (member,) = found.members
    assert member.streams.assignment == StreamsAssignment((("0", (2,)), ("1", (0, 1))), (), (("2", (3,)),))
    assert member.streams.target == StreamsAssignment((), (("0", (2,)),), ())
    assert (member.streams.endpoint, member.streams.tags) == ("h:80", (("a", ""), ("zone", "b")))
    assert (member.streams.task_offsets, member.assigned_count, member.protocol) == ((("1", 0, 5),), 4, "streams")
    assert found.topology is None


def test_a_topology_that_is_there_and_one_that_was_never_stored() -> None:
    sub = {
        "SubtopologyId": "0",
        "SourceTopics": ["in"],
        "RepartitionSinkTopics": [],
        "StateChangelogTopics": [
            {"Name": "log", "Partitions": 2, "ReplicationFactor": -1, "TopicConfigs": [{"Key": "k", "Value": "v"}]}
        ],
        "RepartitionSourceTopics": [],
    }
    found = decoded(
        STREAMS, newer(Topology={"Epoch": 1, "Subtopologies": [sub]}, Members=[streams_member(IsClassic=True)])
    )
    (part,) = found.topology.subtopologies
    assert (part.source_topics, part.changelog_topics[0].configs) == (("in",), (("k", "v"),))
    assert found.members[0].protocol == "classic"
    assert decoded(STREAMS, newer(Topology={"Epoch": 1, "Subtopologies": None})).topology.subtopologies is None


def test_operations_are_named_and_not_told_is_not_none_allowed() -> None:
    assert operations(3400) == frozenset({"READ", "DELETE", "DESCRIBE", "DESCRIBE_CONFIGS", "ALTER_CONFIGS"})
    assert operations(0) == frozenset()
    assert operations(-2147483648) is None


@given(names=st.lists(st.tuples(st.text(max_size=2), st.text(max_size=2), st.text(max_size=2)), max_size=6))
def test_members_come_in_one_order_whatever_the_brokers(names: list[tuple[str, str, str]]) -> None:
    rows = [
        {"MemberId": member, "ClientId": client, "ClientHost": host, "MemberMetadata": b"", "MemberAssignment": b""}
        for member, client, host in names
    ]
    group = {"GroupId": "g", "GroupState": "Stable", "ProtocolType": "x", "ProtocolData": ""}
    members = decoded(CLASSIC, group | {"Members": rows}).members
    assert [(m.client_id, m.host, m.member_id) for m in members] == sorted((c, h, m) for m, c, h in names)
    assert members == decoded(CLASSIC, group | {"Members": rows[::-1]}).members
