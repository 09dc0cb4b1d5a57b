"""Simulated and real clusters for tests that delete groups. Some groups are Empty, and others have members."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kio.schema.join_group.v9.request import JoinGroupRequest, JoinGroupRequestProtocol
from kio.schema.join_group.v9.response import JoinGroupResponse
from kio.schema.leave_group.v5.request import LeaveGroupRequest, MemberIdentity
from kio.schema.leave_group.v5.response import LeaveGroupResponse
from kio.schema.types import GroupId

from kgtui.admin.kafka import KafkaGroupAdmin
from kgtui.client.pool import Pool
from kgtui.simulator.groups.base import ConsumedTopic
from kgtui.simulator.groups.classic import ClassicGroup
from kgtui.simulator.groups.consumer import ConsumerGroup
from kgtui.simulator.groups.share import ShareGroup
from kgtui.simulator.groups.streams import StreamsGroup, Subtopology
from kgtui.simulator.membership import ConstantMembership
from tests.brokers import kio_client
from tests.brokers.fixtures import checked
from tests.brokers.members import CLASSIC, Members
from tests.contract import simulated_live_groups
from tests.contract.target_cluster import REAL

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from contextlib import AbstractContextManager

    import pytest

    from kgtui.simulator import Simulator
    from tests.brokers.live import Live, LiveGroup

TIMEOUT = 90.0
COMMITTED = 7
"""Committed offset of the groups `deletable-classic`, `-simple` and `-consumer` in each partition of `orders`."""


@dataclass(frozen=True, slots=True)
class DeletionCluster:
    """A cluster with live groups, and with Empty groups that tests are allowed to delete.

    Attributes:
        live: groups with members, which kgtui must refuse to delete.
        deletable: id of each Empty group that tests are allowed to delete → group type.
        make_simple: function that takes a group id, and creates a simple group with one committed offset.
        joined: function that takes a group id, and returns a context manager. During its `with` block, the group has
            one member.
    """

    bootstrap: str
    admin: KafkaGroupAdmin
    live: list[LiveGroup]
    deletable: dict[str, str]
    make_simple: Callable[[str], None]
    joined: Callable[[str], AbstractContextManager[None]]


async def deletion_clusters(
    param: str, request: pytest.FixtureRequest, *, with_deletable: bool
) -> AsyncIterator[DeletionCluster]:
    """Yield the cluster `param`, such as `simulated 4.4` or `real 4.3.1`, with live groups.

    If `with_deletable` is true, the cluster also has an Empty group of every type that it supports.
    """
    if param in REAL:
        live: Live = checked(request, REAL[param])
        deletable = _real_deletable(live) if with_deletable else {}
        async with KafkaGroupAdmin(Pool([live.bootstrap])) as admin:
            groups = [group for group in live.groups.values() if group.members]
            yield DeletionCluster(
                live.bootstrap,
                admin,
                groups,
                deletable,
                lambda group: live.cluster.commit(group, {("orders", 0): COMMITTED}),
                lambda group: _real_member(live, group),
            )
        return
    version = param.removeprefix("simulated ")
    async with simulated_live_groups.simulator(version) as cluster:
        deletable = _simulated_deletable(cluster) if with_deletable else {}
        async with KafkaGroupAdmin(Pool(cluster.bootstrap.split(","))) as admin:
            yield DeletionCluster(
                cluster.bootstrap,
                admin,
                [group for group in simulated_live_groups.groups_of(version).values() if group.members],
                deletable,
                lambda group: simulated_live_groups.add_empty_group(cluster, group),
                lambda group: _simulated_member(cluster, group),
            )


def _simulated_deletable(cluster: Simulator) -> dict[str, str]:
    orders = cluster.state.topics["orders"]
    reads = [ConsumedTopic(orders, simulated_live_groups.ConstantOffsets(dict.fromkeys(range(3), COMMITTED)))]
    no_members = ConstantMembership(0)
    groups_to_add = [
        ClassicGroup("deletable-classic", no_members, reads),
        ClassicGroup("deletable-simple", no_members, reads, protocol=""),
        ClassicGroup("deletable-connect", no_members, protocol="connect"),
        ConsumerGroup("deletable-consumer", no_members, reads),
        ShareGroup("deletable-share", no_members, reads),
        StreamsGroup("deletable-streams", no_members, reads, topology=[Subtopology(("orders",), 3)]),
    ]
    cluster.state.add_groups(groups_to_add)
    return {group.name: group.type for group in groups_to_add if cluster.state.find(group.name) is not None}


@contextmanager
def _simulated_member(cluster: Simulator, group: str) -> Iterator[None]:
    before = cluster.state.groups[group]
    cluster.state.groups[group] = ClassicGroup(
        group,
        ConstantMembership(1),
        [ConsumedTopic(cluster.state.topics["orders"], simulated_live_groups.ConstantOffsets({}))],
    )
    yield
    cluster.state.groups[group] = before


def _real_deletable(live: Live) -> dict[str, str]:
    deletable = {"deletable-classic": "classic", "deletable-consumer": "consumer"}
    groups = ["deletable-classic=classic", "deletable-consumer=consumer"]
    _run(live, "EmptyConsumerGroups.java", "orders", str(COMMITTED), *groups)
    live.cluster.commit("deletable-simple", {("orders", p): COMMITTED for p in range(3)})
    _create_empty_connect_group(live, "deletable-connect")
    deletable |= {"deletable-simple": "classic", "deletable-connect": "classic"}
    if newer := {f"deletable-{group_type}": group_type for group_type in sorted(live.types & {"share", "streams"})}:
        _run(live, "EmptyNewerGroups.java", "orders", *(f"{group}={group_type}" for group, group_type in newer.items()))
        deletable |= newer
    kio_client.wait_for_states(live.bootstrap, dict.fromkeys(deletable, "Empty"), TIMEOUT)
    return deletable


def _run(live: Live, program: str, *arguments: str) -> None:
    java = live.run_java(program, *arguments)
    try:
        java.wait_for("READY", TIMEOUT)
    finally:
        java.stop()


def _create_empty_connect_group(live: Live, group: str) -> None:
    """Create a Connect group without members.

    Act as a Connect worker that joins and leaves the group, because a real worker starts slowly.
    """
    connection = kio_client.Connection(kio_client.find_coordinator(live.bootstrap, group, TIMEOUT))
    member = ""
    # JoinGroup is sent twice, because the first response only assigns the member id that the second request must
    # contain (KIP-394).
    for _ in range(2):
        request = JoinGroupRequest(
            group_id=GroupId(group),
            session_timeout=kio_client.LONG,
            rebalance_timeout=kio_client.LONG,
            member_id=member,
            protocol_type="connect",
            protocols=(JoinGroupRequestProtocol(name="sessioned", metadata=b""),),
        )
        member = connection.call(request, JoinGroupResponse).member_id
    leave = LeaveGroupRequest(
        group_id=GroupId(group), members=(MemberIdentity(member_id=member, group_instance_id=None),)
    )
    answer = connection.call(leave, LeaveGroupResponse)
    connection.close()
    assert int(answer.error_code) == 0


@contextmanager
def _real_member(live: Live, group: str) -> Iterator[None]:
    members = Members(live.cluster, group, "orders", CLASSIC)
    try:
        members.wait_until_assigned()
        yield
    finally:
        members.leave()
