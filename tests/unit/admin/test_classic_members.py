"""Tests of decoding the members of classic groups: consumers, Connect workers and schema registry nodes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtui.admin.decoding import classic_group
from kgtui.model.members import ConnectWorker, Member, RegistryNode
from kgtui.protocol.member_data import connect, consumer, schema_registry
from kgtui.protocol.messages.groups import DESCRIBE_GROUPS


def _described(row: dict[str, Any]) -> tuple[Member, ...]:
    """Encode a DescribeGroups response with one group, decode it, and return the members of the group."""
    body = DESCRIBE_GROUPS.response.encode(6, {"Groups": [row]})
    (read,) = DESCRIBE_GROUPS.response.decode(6, body)["Groups"]
    return classic_group(read, 7, "test").members or ()


def classic(protocol: str, *members: tuple[bytes, bytes], state: str = "Stable") -> tuple[Member, ...]:
    """Return the decoded members of a classic group.

    Args:
        protocol: protocol type of the group.
        members: encoded metadata and encoded assignment of each member.
    """
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
    return _described(row)


def worker(url: str, allocation: connect.Assignment | None, assigned: connect.Assignment | None) -> tuple[bytes, bytes]:
    """Return the encoded metadata and assignment of a Connect worker.

    Args:
        url: REST address of the worker.
        allocation: the previous assignment, which the worker sends in its metadata; None if the worker had none.
        assigned: the new assignment; None if the worker has none yet.
    """
    metadata = connect.encode_subscription(connect.Subscription(2, url, 5, allocation))
    return metadata, b"" if assigned is None else connect.encode_assignment(assigned)


def assignment_to(assigned: connect.Tasks = (), revoked: connect.Tasks = (), *, version: int = 2) -> connect.Assignment:
    """Return an assignment for a Connect worker. The leader of the Connect cluster has the REST address http://a/."""
    return connect.Assignment(version, 0, "m-0", "http://a/", 9, assigned, revoked, 300_000 if revoked else 0)


def test_topics_rack_and_partitions_of_classic_consumers_are_decoded() -> None:
    metadata = consumer.encode_subscription(consumer.Subscription(3, ("b", "a"), rack="r1"))
    assigned = consumer.encode_assignment([("b", (2, 0)), ("a", (1,)), ("b", (1,))])
    (member,) = classic("consumer", (metadata, assigned))
    assert (member.topics, member.rack) == (("a", "b"), "r1")
    assert member.assignment == (("a", (1,)), ("b", (0, 1, 2)))
    assert (member.protocol, member.epoch, member.target, member.undecoded) == ("classic", None, None, b"")


def test_members_have_no_assignment_while_a_classic_group_rebalances() -> None:
    metadata = consumer.encode_subscription(consumer.Subscription(1, ("a",)))
    (member,) = classic("consumer", (metadata, b""), state="PreparingRebalance")
    assert (member.topics, member.assignment, member.assigned_count) == (("a",), None, None)
    (member,) = classic("consumer", (metadata, consumer.encode_assignment([])))
    assert (member.assignment, member.assigned_count) == ((), 0)


def test_a_cooperative_connect_assignment_updates_the_previous_tasks() -> None:
    """The worker keeps its previous tasks, except revoked ones, and adds the newly assigned tasks (KIP-415)."""
    had = assignment_to((("files", (-1, 0, 1)), ("db", (0,)), ("old", (-1, 3))))
    now = assignment_to((("db", (-1, 1)), ("files", (0,))), (("files", (1,)), ("old", (-1, 3))))
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


def test_an_eager_connect_assignment_replaces_all_previous_tasks() -> None:
    metadata = connect.encode_subscription(connect.Subscription(0, "http://b/", 5))
    assigned = connect.encode_assignment(assignment_to((("db", (-1, 0)),), version=0))
    (member,) = classic("connect", (metadata, assigned))
    assert member.connect is not None
    assert (member.connect.connectors, member.connect.tasks) == (("db",), (("db", (0,)),))
    assert member.connect.leader is False


def test_leader_of_connect_workers_is_read_from_their_assignments() -> None:
    waiting, leads = classic(
        "connect", worker("http://b/", None, None), worker("http://a/", None, assignment_to((("db", (0,)),)))
    )
    assert waiting.connect == ConnectWorker(url="http://b/", config_offset=5)
    assert leads.connect is not None
    assert leads.connect.leader is True
    (alone,) = classic("connect", worker("http://a/", None, None))
    assert alone.connect is not None
    assert alone.connect.leader is None, "no assignment names the leader yet"


units = st.sets(st.tuples(st.sampled_from(["a", "b-1", "c"]), st.integers(-1, 3)))


def rows_of(found: set[tuple[str, int]]) -> connect.Tasks:
    return tuple(
        (name, tuple(sorted(task for other, task in found if other == name))) for name in {n for n, _ in found}
    )


@given(had=units, revoked=units, new=units)
def test_a_connect_worker_keeps_tasks_that_are_not_revoked(
    had: set[tuple[str, int]], revoked: set[tuple[str, int]], new: set[tuple[str, int]]
) -> None:
    allocation, increment = assignment_to(rows_of(had)), assignment_to(rows_of(new), rows_of(revoked))
    (member,) = classic("connect", worker("http://a/", allocation, increment))
    assert member.connect is not None
    running = {(name, -1) for name in member.connect.connectors}
    running |= {(name, task) for name, tasks in member.connect.tasks for task in tasks}
    assert running == (had - revoked) | new
    assert member.assigned_count == len(running)


def node(host: str, *, eligible: bool = True) -> schema_registry.Identity:
    return schema_registry.Identity(1, host, 8081, eligible)


def test_leader_of_schema_registries_is_read_from_their_assignments() -> None:
    assigned = schema_registry.encode_assignment(schema_registry.Assignment(1, 0, "m-0", node("a")))
    nodes = classic(
        "sr",
        (schema_registry.encode_identity(node("a")), assigned),
        (schema_registry.encode_identity(node("b", eligible=False)), assigned),
    )
    assert [member.registry for member in nodes] == [
        RegistryNode("http://a:8081", True, True, "http://a:8081"),
        RegistryNode("http://b:8081", False, False, "http://a:8081"),
    ]


def test_schema_registry_members_without_leader_or_assignment_are_decoded() -> None:
    no_leader = schema_registry.encode_assignment(
        schema_registry.Assignment(1, schema_registry.DUPLICATE_URLS, None, None)
    )
    refused, waiting = classic(
        "sr", (schema_registry.encode_identity(node("a")), no_leader), (schema_registry.encode_identity(node("b")), b"")
    )
    assert refused.registry == RegistryNode("http://a:8081", True, None, None, error=1)
    assert waiting.registry == RegistryNode("http://b:8081", True)


@pytest.mark.parametrize("protocol", ["consumer", "connect", "sr", "weblogic", ""])
@pytest.mark.parametrize("garbage", [b"\xff\xfe\xfd", b"\x00", b"\x00\x01\x7f\xff\xff\xff", b"not json {", b"[1, 2]"])
def test_member_metadata_that_cannot_be_decoded_is_kept_as_bytes(protocol: str, garbage: bytes) -> None:
    (member,) = classic(protocol, (garbage, garbage))
    assert member.undecoded == garbage
    assert (member.member_id, member.client_id, member.host) == ("m-0", "client", "/10.0.0.1")
    assert (member.topics, member.assignment, member.connect, member.registry) == (None, None, None, None)


@given(protocol=st.sampled_from(["consumer", "connect", "sr", "x"]), metadata=st.binary(), assigned=st.binary())
def test_a_classic_group_is_described_even_if_its_members_sent_random_bytes(
    protocol: str, metadata: bytes, assigned: bytes
) -> None:
    damaged, _ = classic(protocol, (metadata, assigned), (b"", b""))
    decoded_parts = (damaged.topics, damaged.connect, damaged.registry)
    assert damaged.undecoded == (b"" if any(part is not None for part in decoded_parts) else metadata)
