"""Tests of `Pool` with fake brokers that fail: lost connections, backoff, damaged responses, and closing the pool."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from kgtui.client.pool import Lane, Pool, PoolOptions
from kgtui.errors import (
    ClientError,
    ConnectError,
    DeadlineError,
    DecodeError,
    DisconnectedError,
    UnreachableError,
)
from kgtui.protocol.messages.groups import DELETE_GROUPS, DESCRIBE_GROUPS, LIST_GROUPS
from tests.faults import FaultyLink
from tests.unit.client.pool_options import QUICK
from tests.unit.client.server import always, cluster, groups

if TYPE_CHECKING:
    from tests.unit.client.server import Request, Response


async def test_a_call_that_misses_its_short_deadline_does_not_close_the_connection() -> None:
    """After a missed deadline, kgtui closes the connection only if the broker has sent nothing for a certain time.

    This time is `PoolOptions.stall`, in this test 60 s.
    """
    async with cluster(1) as fake, Pool(fake.seeds, options=PoolOptions(stall=60)) as pool:
        await pool.call(1, LIST_GROUPS, {}, timeout=60)
        gate = asyncio.Event()

        async def late(request: Request) -> Response:
            await gate.wait()
            return groups("late-group")

        fake[1].on[LIST_GROUPS.key] = late
        with pytest.raises(DeadlineError):
            await pool.call(1, LIST_GROUPS, {}, timeout=0.01)
        gate.set()
        fake[1].on[LIST_GROUPS.key] = always(groups("next-group"))
        reply = await pool.call(1, LIST_GROUPS, {}, timeout=60)
        assert [row["GroupId"] for row in reply.value["Groups"]] == ["next-group"], (
            "the late answer must not be used for this request"
        )
        assert fake[1].connections == 1


async def test_a_stalled_connection_is_replaced_after_a_missed_deadline() -> None:
    async with cluster(1) as fake, FaultyLink("127.0.0.1", fake[1].port) as link:
        fake.hosts[1] = ("127.0.0.1", link.port)
        async with Pool([link.address], options=QUICK) as pool:
            await pool.call(1, LIST_GROUPS, {}, timeout=60)
            link.stall()
            with pytest.raises(DeadlineError):
                await pool.call(1, LIST_GROUPS, {}, timeout=0.1)
            await link.resume()
            reply = await call_until_answered(pool)
            assert [row["GroupId"] for row in reply["Groups"]] == ["group-of-1"]
            assert link.connections == 2


async def call_until_answered(pool: Pool, node: int = 1) -> dict[str, Any]:
    """Send ListGroups to broker `node` until the broker responds, for at most 60 s. Return the response."""
    async with asyncio.timeout(60):
        while True:
            try:
                return (await pool.call(node, LIST_GROUPS, {}, timeout=60)).value
            except ConnectError:
                await asyncio.sleep(0.005)


async def test_a_canceled_call_does_not_close_the_connection() -> None:
    async with cluster(1) as fake, Pool(fake.seeds, options=QUICK) as pool:
        gate = asyncio.Event()

        async def held(request: Request) -> Response:
            await gate.wait()
            return groups("late-group")

        await pool.metadata(timeout=60)
        fake[1].on[LIST_GROUPS.key] = held
        task = asyncio.create_task(pool.call(1, LIST_GROUPS, {}, timeout=60))
        await fake.until(lambda: fake[1].requests(LIST_GROUPS.key))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        gate.set()
        await pool.call(1, DESCRIBE_GROUPS, {}, timeout=60)
        assert fake[1].connections == 1


async def test_a_list_request_is_repeated_if_an_idle_connection_closes() -> None:
    """A broker can close an idle connection at the moment when kgtui sends the next request."""
    async with cluster(1) as fake, Pool(fake.seeds, options=QUICK) as pool:
        await pool.call(1, LIST_GROUPS, {}, timeout=60)

        def hang_up(request: Request) -> Response:
            fake[1].hang_up()
            fake[1].on[LIST_GROUPS.key] = always(groups("again"))
            return None

        fake[1].on[LIST_GROUPS.key] = hang_up
        reply = await pool.call(1, LIST_GROUPS, {}, timeout=60)
        assert [row["GroupId"] for row in reply.value["Groups"]] == ["again"]
        assert fake[1].connections == 2


async def test_a_delete_request_is_not_repeated_after_a_lost_connection() -> None:
    async with cluster(1) as fake, Pool(fake.seeds, options=QUICK) as pool:
        await pool.call(1, LIST_GROUPS, {}, timeout=60)

        def hang_up(request: Request) -> Response:
            fake[1].hang_up()
            return None

        fake[1].on[DELETE_GROUPS.key] = hang_up
        with pytest.raises(DisconnectedError) as caught:
            await pool.call(1, DELETE_GROUPS, {"GroupsNames": ["g"]}, timeout=60)
        assert caught.value.broker == 1
        assert len(fake[1].requests(DELETE_GROUPS.key)) == 1


async def test_calls_to_a_broker_fail_immediately_during_the_reconnect_backoff() -> None:
    options = PoolOptions(backoff=60, backoff_max=60)
    async with cluster(2) as fake, Pool(fake.seeds[:1], options=options) as pool:
        await pool.metadata(timeout=60)
        await fake[2].stop()
        async with FaultyLink("127.0.0.1", fake[1].port) as link:
            fake.hosts[2] = ("127.0.0.1", link.port)
            await pool.metadata(timeout=60, refresh=True)
            await link.refuse()
            for _ in range(3):
                with pytest.raises(ConnectError, match="refused the connection") as caught:
                    await pool.call(2, LIST_GROUPS, {}, timeout=60)
                assert caught.value.broker == 2
            await link.resume()
            with pytest.raises(ConnectError, match="refused the connection"):
                await pool.call(2, LIST_GROUPS, {}, timeout=60)
            assert link.connections == 0, "no connection attempt is allowed during the backoff"


async def test_calls_wait_only_briefly_for_a_second_connection_attempt_that_hangs() -> None:
    """The first attempt to connect fails, and the second attempt hangs.

    A call waits `second_wait` seconds for the second attempt, and then raises the error of the first attempt.
    The second attempt continues in the background.
    """
    options = PoolOptions(connect_timeout=600, second_wait=0.02, backoff=0.001, backoff_max=0.001)
    async with (
        cluster(2) as fake,
        FaultyLink("127.0.0.1", fake[2].port) as link,
        Pool(fake.seeds[:1], options=options) as pool,
    ):
        fake.hosts[2] = ("127.0.0.1", link.port)
        await pool.metadata(timeout=60)
        await link.refuse()
        with pytest.raises(ConnectError, match="refused the connection"):
            await pool.call(2, LIST_GROUPS, {}, timeout=600)
        await link.resume()
        link.black_hole()
        async with asyncio.timeout(60):
            while not link.connections:
                with pytest.raises(ConnectError, match="refused the connection"):
                    await pool.call(2, LIST_GROUPS, {}, timeout=600)
            with pytest.raises(ConnectError, match="refused the connection"):
                await pool.call(2, LIST_GROUPS, {}, timeout=600)
        assert link.connections == 1, "the hanging connection attempt must continue"
        link.cut()
        await link.resume()
        assert await call_until_answered(pool, node=2)


async def test_calls_to_a_restarted_broker_succeed_again() -> None:
    async with cluster(1) as fake, Pool(fake.seeds, options=QUICK) as pool:
        await pool.call(1, LIST_GROUPS, {}, timeout=60)
        await fake[1].stop()
        with pytest.raises(ClientError):
            await pool.call(1, LIST_GROUPS, {}, timeout=60)
        await fake[1].start()
        assert await call_until_answered(pool)


async def test_a_damaged_response_does_not_close_the_connection() -> None:
    async with cluster(1) as fake, Pool(fake.seeds, options=QUICK) as pool:
        fake[1].on[LIST_GROUPS.key] = always(b"\0\0\0\0\0\0\x7fshort")
        with pytest.raises(DecodeError):
            await pool.call(1, LIST_GROUPS, {}, timeout=60)
        fake[1].on[LIST_GROUPS.key] = always(groups("g"))
        await pool.call(1, LIST_GROUPS, {}, timeout=60)
        assert fake[1].connections == 1


async def test_a_connection_loss_during_a_response_raises_disconnected_error() -> None:
    async with cluster(1) as fake, FaultyLink("127.0.0.1", fake[1].port) as link:
        fake.hosts[1] = ("127.0.0.1", link.port)
        async with Pool([link.address], options=QUICK) as pool:
            await pool.version(1, LIST_GROUPS, timeout=60, lane=Lane.UI)
            link.cut_after(10)
            with pytest.raises(DisconnectedError, match="closed the connection before it answered ListGroups"):
                await pool.call(1, LIST_GROUPS, {}, timeout=60, lane=Lane.UI)
            assert await call_until_answered(pool)


async def test_the_error_for_an_unknown_broker_mentions_the_broker() -> None:
    async with cluster(1) as fake, Pool(fake.seeds, options=QUICK) as pool:
        with pytest.raises(ConnectError, match="broker 9 is not in the cluster"):
            await pool.call(9, LIST_GROUPS, {}, timeout=60)


async def test_closing_the_pool_while_it_connects_makes_the_waiting_call_fail() -> None:
    async with cluster(1) as fake, FaultyLink("127.0.0.1", fake[1].port) as link:
        link.black_hole()
        pool = Pool([link.address], options=PoolOptions(connect_timeout=60))
        looking = asyncio.create_task(pool.metadata(timeout=60))
        await link.connected()
        await pool.close()
        with pytest.raises(UnreachableError, match="were closed"):
            await looking


async def test_closing_the_pool_closes_connections_and_makes_pending_calls_fail() -> None:
    async with cluster(3) as fake:
        pool = Pool(fake.seeds, options=QUICK)
        fake[3].on[LIST_GROUPS.key] = always(None)
        for node in (1, 2):
            for lane in Lane:
                await pool.call(node, LIST_GROUPS, {}, timeout=60, lane=lane)
        under_way = asyncio.create_task(pool.call(3, LIST_GROUPS, {}, timeout=60))
        await fake.until(lambda: fake[3].requests(LIST_GROUPS.key))
        await pool.close()
        with pytest.raises(ClientError):
            await under_way
        with pytest.raises(ClientError, match=r"was closed|were closed"):
            await pool.call(1, LIST_GROUPS, {}, timeout=60)
        with pytest.raises(UnreachableError, match="were closed"):
            await pool.metadata(timeout=60, refresh=True)
        await pool.close()
        await fake.until(lambda: not any(broker.open_connections for broker in fake.brokers.values()))
    others = asyncio.all_tasks() - {asyncio.current_task()}
    assert not others


async def test_closing_the_pool_cancels_a_running_connection_attempt() -> None:
    async with cluster(1) as fake, FaultyLink("127.0.0.1", fake[1].port) as link:
        fake.hosts[2] = ("127.0.0.1", link.port)
        link.black_hole()
        pool = Pool(fake.seeds, options=QUICK)
        await pool.metadata(timeout=60)
        waiting = asyncio.create_task(pool.call(2, LIST_GROUPS, {}, timeout=60))
        await link.connected()
        await pool.close()
        with pytest.raises(ConnectError, match="was closed"):
            await waiting


async def test_an_unused_pool_can_be_closed() -> None:
    await Pool(["localhost:1"]).close()
