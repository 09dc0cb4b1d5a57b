"""Tests of decoding the describe responses for each group type."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtui.admin.decoding import DECODERS, operations
from kgtui.model.group_types import CLASSIC, CONSUMER, SHARE, STREAMS
from kgtui.model.members import StreamsAssignment
from kgtui.protocol.messages.groups import (
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


def decode_row(group_type: str, row: dict[str, Any], version: int | None = None) -> Any:
    """Encode and decode a describe response with one group, and return the group's description.

    Args:
        version: version of the API; None for the newest.
    """
    api, newest = APIS[group_type]
    used = newest if version is None else version
    body = api.response.encode(used, {"Groups": [row]})
    (read,) = api.response.decode(used, body)["Groups"]
    return DECODERS[group_type](read, 7, "test")


def newer(**changes: Any) -> dict[str, Any]:
    """Return a group in a describe response, with the fields that all newer group types have in common.

    The newer types are consumer, share and streams. `changes` contains fields to replace or to add.
    """
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


def partitions(*partitions: int) -> dict[str, Any]:
    return {"TopicPartitions": [{"TopicId": UUID(int=1), "TopicName": "a", "Partitions": list(partitions)}]}


def test_consumer_group_members_have_current_and_target_assignments() -> None:
    row = newer_member(
        InstanceId="i",
        RackId="r",
        SubscribedTopicRegex="a.*",
        Assignment=partitions(1, 0),
        TargetAssignment=partitions(),
        MemberType=0,
    )
    found = decode_row(CONSUMER, newer(Members=[row]))
    (member,) = found.members
    assert (found.state, found.assignor, found.group_epoch, found.assignment_epoch) == ("Stable", "uniform", 4, 3)
    assert (member.instance_id, member.rack, member.regex, member.epoch) == ("i", "r", "a.*", 3)
    assert (member.topics, member.assignment, member.target) == (("a", "b"), (("a", (0, 1)),), (("a", ()),))
    assert (member.protocol, found.coordinator, found.protocol) == ("classic", 7, "consumer")


@pytest.mark.parametrize(
    ("version", "fields", "protocol"),
    [(0, {}, None), (1, {"MemberType": 1}, "consumer"), (1, {"MemberType": 9}, None)],
)
def test_protocol_of_a_consumer_group_member_is_none_if_its_type_is_unknown(
    version: int, fields: dict[str, Any], protocol: str | None
) -> None:
    row = newer_member(SubscribedTopicRegex="", Assignment=partitions(), TargetAssignment=partitions(), **fields)
    (member,) = decode_row(CONSUMER, newer(Members=[row]), version).members
    assert (member.protocol, member.regex, member.instance_id) == (protocol, None, None)


def test_share_group_members_have_no_target_assignment() -> None:
    found = decode_row(SHARE, newer(Members=[newer_member(Assignment=partitions(0))]))
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


def test_streams_members_have_active_standby_and_warmup_tasks() -> None:
    row = streams_member(
        UserEndpoint={"Host": "h", "Port": 80},
        ClientTags=[{"Key": "zone", "Value": "b"}, {"Key": "a", "Value": ""}],
        TaskOffsets=[{"SubtopologyId": "1", "Partition": 0, "Offset": 5}],
        Assignment=tasks(active=[("1", [1, 0]), ("0", [2])], warmup=[("2", [3])]),
        TargetAssignment=tasks(standby=[("0", [2])]),
    )
    found = decode_row(STREAMS, newer(Topology=None, Members=[row]))
    (member,) = found.members
    assert member.streams.assignment == StreamsAssignment((("0", (2,)), ("1", (0, 1))), (), (("2", (3,)),))
    assert member.streams.target == StreamsAssignment((), (("0", (2,)),), ())
    assert (member.streams.endpoint, member.streams.tags) == ("h:80", (("a", ""), ("zone", "b")))
    assert (member.streams.task_offsets, member.assigned_count, member.protocol) == ((("1", 0, 5),), 4, "streams")
    assert found.topology is None


def test_streams_topologies_with_and_without_subtopologies_are_decoded() -> None:
    sub = {
        "SubtopologyId": "0",
        "SourceTopics": ["in"],
        "RepartitionSinkTopics": [],
        "StateChangelogTopics": [
            {"Name": "log", "Partitions": 2, "ReplicationFactor": -1, "TopicConfigs": [{"Key": "k", "Value": "v"}]}
        ],
        "RepartitionSourceTopics": [],
    }
    found = decode_row(
        STREAMS, newer(Topology={"Epoch": 1, "Subtopologies": [sub]}, Members=[streams_member(IsClassic=True)])
    )
    (part,) = found.topology.subtopologies
    assert (part.source_topics, part.changelog_topics[0].configs) == (("in",), (("k", "v"),))
    assert found.members[0].protocol == "classic"
    assert decode_row(STREAMS, newer(Topology={"Epoch": 1, "Subtopologies": None})).topology.subtopologies is None


def test_missing_authorized_operations_are_decoded_as_none() -> None:
    assert operations(3400) == frozenset({"READ", "DELETE", "DESCRIBE", "DESCRIBE_CONFIGS", "ALTER_CONFIGS"})
    assert operations(0) == frozenset()
    assert operations(-2147483648) is None


@given(names=st.lists(st.tuples(st.text(max_size=2), st.text(max_size=2), st.text(max_size=2)), max_size=6))
def test_members_are_sorted_by_client_id_and_duplicate_members_are_removed(names: list[tuple[str, str, str]]) -> None:
    rows = [
        {"MemberId": member, "ClientId": client, "ClientHost": host, "MemberMetadata": b"", "MemberAssignment": b""}
        for member, client, host in names
    ]
    group = {"GroupId": "g", "GroupState": "Stable", "ProtocolType": "x", "ProtocolData": ""}
    members = decode_row(CLASSIC, group | {"Members": rows}).members
    assert [(m.client_id, m.host, m.member_id) for m in members] == sorted({(c, h, m) for m, c, h in names})
    assert members == decode_row(CLASSIC, group | {"Members": rows[::-1]}).members
