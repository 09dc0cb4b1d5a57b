"""Empty groups of every kind, made to be deleted, on a simulated or a real cluster beside the live ones."""

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
from tests.brokers import wire
from tests.brokers.fixtures import checked
from tests.brokers.members import CLASSIC, Members
from tests.brokers.process import Java
from tests.contract import mirror
from tests.contract.subject import REAL

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator
    from contextlib import AbstractContextManager

    import pytest

    from kgtui.simulator import Simulator
    from tests.brokers.live import Live, LiveGroup

TIMEOUT = 90.0
COMMITTED = 7
"""What each victim that commits has committed, in every partition of its topic."""


@dataclass(frozen=True, slots=True)
class Ground:
    """A cluster with groups to delete and groups to leave alone.

    Attributes:
        live: groups with members.
        victims: id → type of Empty groups that belong to this test.
        make_simple: makes a simple group of that name with a commit.
        joined: while it is entered, an application is in the group of that name.
    """

    bootstrap: str
    admin: KafkaGroupAdmin
    live: list[LiveGroup]
    victims: dict[str, str]
    make_simple: Callable[[str], None]
    joined: Callable[[str], AbstractContextManager[None]]


async def grounds(param: str, request: pytest.FixtureRequest, *, every_record_type: bool) -> AsyncIterator[Ground]:
    """The ground of a fixture's parameter; `every_record_type` makes victims of every kind that the version has."""
    if param in REAL:
        live: Live = checked(request, REAL[param])
        victims = _real_victims(live) if every_record_type else {}
        async with KafkaGroupAdmin(Pool([live.bootstrap])) as admin:
            groups = [group for group in live.groups.values() if group.members]
            yield Ground(
                live.bootstrap,
                admin,
                groups,
                victims,
                lambda group: live.cluster.commit(group, {("orders", 0): COMMITTED}),
                lambda group: _really_joined(live, group),
            )
        return
    version = param.removeprefix("simulated ")
    async with mirror.simulator(version) as cluster:
        victims = _simulated_victims(cluster) if every_record_type else {}
        async with KafkaGroupAdmin(Pool(cluster.bootstrap.split(","))) as admin:
            yield Ground(
                cluster.bootstrap,
                admin,
                [group for group in mirror.groups_of(version).values() if group.members],
                victims,
                lambda group: mirror.empty_group(cluster, group),
                lambda group: _seemingly_joined(cluster, group),
            )


def _simulated_victims(cluster: Simulator) -> dict[str, str]:
    orders = cluster.state.topics["orders"]
    reads = [ConsumedTopic(orders, mirror.Still(dict.fromkeys(range(3), COMMITTED)))]
    nobody = ConstantMembership(0)
    made = [
        ClassicGroup("victim-classic", nobody, reads),
        ClassicGroup("victim-simple", nobody, reads, protocol=""),
        ClassicGroup("victim-connect", nobody, protocol="connect"),
        ConsumerGroup("victim-consumer", nobody, reads),
        ShareGroup("victim-share", nobody, reads),
        StreamsGroup("victim-streams", nobody, reads, topology=[Subtopology(("orders",), 3)]),
    ]
    cluster.state.add_groups(made)
    return {group.name: group.type for group in made if cluster.state.find(group.name) is not None}


@contextmanager
def _seemingly_joined(cluster: Simulator, group: str) -> Iterator[None]:
    before = cluster.state.groups[group]
    cluster.state.groups[group] = ClassicGroup(
        group, ConstantMembership(1), [ConsumedTopic(cluster.state.topics["orders"], mirror.Still({}))]
    )
    yield
    cluster.state.groups[group] = before


def _real_victims(live: Live) -> dict[str, str]:
    victims = {"victim-classic": "classic", "victim-consumer": "consumer"}
    groups = ["victim-classic=classic", "victim-consumer=consumer"]
    _run(live, "EmptyConsumerGroups.java", "orders", str(COMMITTED), *groups)
    live.cluster.commit("victim-simple", {("orders", p): COMMITTED for p in range(3)})
    _leave_connect(live, "victim-connect")
    victims |= {"victim-simple": "classic", "victim-connect": "classic"}
    if live.newest:
        _run(live, "EmptyNewerGroups.java", "victim-share", "victim-streams", "orders")
        victims |= {"victim-share": "share", "victim-streams": "streams"}
    wire.wait_for_states(live.bootstrap, dict.fromkeys(victims, "Empty"), TIMEOUT)
    return victims


def _run(live: Live, program: str, *arguments: str) -> None:
    log = live.cluster.folder / f"{program}.log"
    java = Java(live.version, program, [live.bootstrap, *arguments], log)
    try:
        java.wait_for("READY", TIMEOUT)
    finally:
        java.stop()


def _leave_connect(live: Live, group: str) -> None:
    """A Connect group that its only worker has left: by bare requests, for a worker takes long to start and stop."""
    connection = wire.Connection(wire.find_coordinator(live.bootstrap, group, TIMEOUT))
    member = ""
    for _ in range(2):  # the first answer only gives the id (KIP-394)
        request = JoinGroupRequest(
            group_id=GroupId(group),
            session_timeout=wire.LONG,
            rebalance_timeout=wire.LONG,
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
def _really_joined(live: Live, group: str) -> Iterator[None]:
    members = Members(live.cluster, group, "orders", CLASSIC)
    try:
        members.wait_until_assigned()
        yield
    finally:
        members.leave()
