"""Test the admin API with stopped or silent brokers, moved coordinators, missing ACLs and damaged responses."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from kgtui.admin.kafka import KafkaGroupAdmin
from kgtui.client.pool import Pool
from kgtui.errors import BrokerError, ClientError, ProtocolError, UnreachableError
from kgtui.protocol.messages.groups import DELETE_GROUPS, LIST_GROUPS
from kgtui.simulator import ManualClock, Simulator
from kgtui.simulator.faults import DAMAGES
from tests.event_loop import longer_if_busy

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@asynccontextmanager
async def cluster(**options: Any) -> AsyncIterator[tuple[Simulator, KafkaGroupAdmin]]:
    """Run a simulated cluster whose clock does not advance; yield the cluster and an admin client.

    `options` are passed to `Simulator`.
    """
    async with (
        Simulator(clock=ManualClock(), **options) as simulator,
        KafkaGroupAdmin(Pool(simulator.bootstrap.split(","))) as admin,
    ):
        yield simulator, admin


def coordinated_by(simulator: Simulator, node: int, state: str = "Stable") -> list[str]:
    """Return the ids of the groups in state `state` whose coordinator is broker `node`."""
    cluster_state = simulator.state
    return sorted(
        name
        for name, group in cluster_state.groups.items()
        if cluster_state.coordinator(name) == node and group.state(0.0) == state
    )


async def test_groups_of_a_stopped_broker_are_read_from_their_new_coordinators() -> None:
    async with cluster(brokers=5) as (simulator, admin):
        before = await admin.list_groups()
        await simulator.faults.kill(3)
        await admin.cluster()
        after = await admin.list_groups()
        assert after.rows.keys() == before.rows.keys()
        described = await admin.describe_groups(after.rows)
        assert described.faults == ()


@longer_if_busy(1.0)
async def test_a_silent_broker_affects_only_the_groups_that_it_coordinates(timeout: float) -> None:
    async with cluster() as (simulator, admin):
        everything = {group: row.coordinator for group, row in (await admin.list_groups()).rows.items()}
        simulator.faults.black_hole(2)
        answer = await admin.list_groups(timeout=timeout)
        assert set(answer.rows) == {group for group, node in everything.items() if node != 2}
        assert answer.coverage.brokers == (2, 3)
        (fault,) = answer.faults
        assert (fault.name, fault.broker) == ("NO_ANSWER", 2)
        described = await admin.describe_groups(everything, timeout=timeout)
        assert {fault.group for fault in described.faults} == {g for g, node in everything.items() if node == 2}
        assert {fault.name for fault in described.faults} == {"NO_ANSWER"}


@longer_if_busy(0.5)
async def test_the_error_for_an_unreachable_cluster_names_every_tried_broker(timeout: float) -> None:
    async with cluster(brokers=2) as (simulator, admin):
        await admin.cluster()
        simulator.faults.black_hole(1)
        simulator.faults.black_hole(2)
        with pytest.raises(UnreachableError) as caught:
            await admin.list_groups(timeout=timeout)
        assert len(caught.value.attempts) == 2


async def test_a_group_whose_coordinator_changed_is_read_from_the_new_coordinator() -> None:
    async with cluster() as (simulator, admin):
        await admin.list_groups()
        group = coordinated_by(simulator, 1)[0]
        simulator.faults.move_coordinator(group, 2)
        answer = await admin.describe_groups([group])
        assert answer.faults == ()
        assert answer.rows[group].coordinator == 2
        assert (await admin.committed_offsets([group])).faults == ()


async def test_a_request_is_repeated_while_the_coordinator_is_loading() -> None:
    async with cluster() as (simulator, admin):
        await admin.list_groups()
        group = coordinated_by(simulator, 1)[0]
        simulator.faults.load(1, 60.0)
        describing = asyncio.create_task(admin.describe_groups([group]))
        listing = asyncio.create_task(admin.list_groups())
        await asyncio.wait({describing}, timeout=0.3)
        assert not describing.done()
        simulator.faults.load(1, None)
        assert (await describing).faults == ()
        assert (await listing).faults == ()


@longer_if_busy(0.5)
async def test_a_coordinator_that_never_finishes_loading_is_reported_as_an_error(timeout: float) -> None:
    async with cluster() as (simulator, admin):
        await admin.list_groups()
        group = coordinated_by(simulator, 1)[0]
        simulator.faults.load(1, 600.0)
        answer = await admin.describe_groups([group], timeout=timeout)
        assert [fault.code for fault in answer.faults] == [14]
        listed = await admin.list_groups(timeout=timeout)
        assert [(fault.code, fault.broker) for fault in listed.faults] == [(14, 1)]
        assert listed.coverage.brokers == (2, 3)


async def test_a_connection_closed_by_the_broker_is_opened_again() -> None:
    async with cluster() as (simulator, admin):
        ids = list((await admin.list_groups()).rows)
        for node in (1, 2, 3):
            simulator.faults.cut(node)
        assert (await admin.describe_groups(ids)).faults == ()


async def test_requests_about_forbidden_groups_return_an_authorization_error() -> None:
    async with cluster() as (simulator, admin):
        simulator.faults.forbid_groups(["payments.*"])
        ids = ["orders.invoice", "payments.ledger"]
        described = await admin.describe_groups(ids)
        assert list(described.rows) == ["orders.invoice"]
        (fault,) = described.faults
        assert (fault.name, fault.group) == ("GROUP_AUTHORIZATION_FAILED", "payments.ledger")
        assert "DESCRIBE" in fault.advice
        offsets = await admin.committed_offsets(ids)
        assert [fault.code for fault in offsets.faults] == [30]
        (outcome,) = await admin.delete_groups(["payments.ledger"])
        assert outcome.fault is not None
        assert outcome.fault.code == 30


async def test_a_group_that_subscribes_to_a_forbidden_topic_cannot_be_described() -> None:
    async with cluster() as (simulator, admin):
        simulator.faults.forbid_topics(["payments.settled"])
        answer = await admin.describe_groups(["payments.ledger"])
        assert answer.rows == {}
        assert [fault.code for fault in answer.faults] == [29]


async def test_a_disabled_group_type_is_reported_as_not_supported() -> None:
    """Share groups are disabled (`share.version` is 0), so Kafka 4.1 returns UNSUPPORTED_VERSION for each of them."""
    async with cluster(kafka_version="4.1") as (_, admin):
        shared = list((await admin.list_groups(types=["share"])).rows)
        assert shared
        described = await admin.describe_groups(shared)
        offsets = await admin.share_offsets(shared)
        assert {fault.name for fault in (*described.faults, *offsets.faults)} == {"NOT_SUPPORTED"}
        assert {fault.group for fault in described.faults} == set(shared)


@pytest.mark.parametrize("kind", DAMAGES)
@longer_if_busy(0.5)
async def test_a_poll_with_a_damaged_response_fails_and_the_next_poll_succeeds(kind: str, timeout: float) -> None:
    async with cluster(brokers=1) as (simulator, admin):
        groups = (await admin.list_groups()).rows
        feed = admin.listing_feed(1)
        await feed.poll()
        # The client repeats a request once if the connection closes during the response (`cut`) or if the correlation
        # id is wrong (`correlation`). So two responses must be damaged to make the poll fail.
        simulator.faults.damage(1, kind, times=2 if kind in {"cut", "correlation"} else 1)
        with pytest.raises((ClientError, ProtocolError)) as caught:
            await feed.poll(timeout=timeout)
        assert str(caught.value)
        delta = await feed.poll()
        assert (delta.total, dict(delta.updated), list(delta.removed)) == (len(groups), {}, [])


async def test_a_poll_after_a_failed_poll_returns_only_changed_groups() -> None:
    """No group has changed since the first poll, so the poll after the failed one returns no group."""
    async with cluster(brokers=1) as (simulator, admin):
        feed = admin.listing_feed(1)
        await feed.poll()  # The first poll returns all groups. Later polls return only changes.
        simulator.faults.fail(LIST_GROUPS.key, 15)
        with pytest.raises(BrokerError):
            await feed.poll()
        assert not (await feed.poll()).updated


@longer_if_busy(0.5)
async def test_a_delete_request_without_a_response_has_an_uncertain_outcome(timeout: float) -> None:
    """The coordinator may have deleted the groups, so kgtui reports the outcome for each group as uncertain."""
    async with cluster() as (simulator, admin):
        await admin.list_groups()
        empty = coordinated_by(simulator, 2, "Empty")[:2]
        await admin.describe_groups(empty)
        simulator.faults.black_hole(2)
        outcomes = await admin.delete_groups(empty, timeout=timeout)
        assert [outcome.uncertain for outcome in outcomes] == [True, True]
        assert {outcome.fault.name for outcome in outcomes if outcome.fault} == {"NO_ANSWER"}


async def test_a_group_can_be_deleted_after_its_coordinator_has_moved() -> None:
    async with cluster() as (simulator, admin):
        await admin.list_groups()
        group = coordinated_by(simulator, 1, "Empty")[0]
        simulator.faults.move_coordinator(group, 3)
        (outcome,) = await admin.delete_groups([group])
        assert outcome.ok
        assert simulator.state.find(group) is None


async def test_a_deletion_that_the_broker_rejects_is_reported_as_failed() -> None:
    async with cluster(brokers=1) as (simulator, admin):
        group = coordinated_by(simulator, 1, "Empty")[0]
        simulator.faults.fail(DELETE_GROUPS.key, 87)
        (outcome,) = await admin.delete_groups([group])
        assert outcome.fault is not None
        assert (outcome.fault.code, outcome.uncertain) == (87, False)
        assert simulator.state.find(group) is not None


async def test_a_throttled_client_receives_every_response() -> None:
    async with cluster(brokers=1) as (simulator, admin):
        await admin.list_groups()
        simulator.faults.throttle(1, 50)
        assert (await admin.list_groups()).rows
        assert (await admin.list_groups()).rows
