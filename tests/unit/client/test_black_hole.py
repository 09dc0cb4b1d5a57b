"""Tests of brokers that stop responding: calls to healthy brokers are not delayed, and later calls succeed again."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress

import pytest

from kgtui.client.pool import Lane, Pool, PoolOptions
from kgtui.errors import ClientError, UnreachableError
from kgtui.protocol.messages.groups import LIST_GROUPS
from tests.faults import FaultyLink
from tests.unit.client.server import cluster

FOREVER = PoolOptions(connect_timeout=600, head_start=0.01)
"""Options with which connecting to a silent broker times out only after 600 s.

The tests call the other brokers with a timeout of 60 s, so they fail if these calls wait for the silent broker.
"""


@pytest.mark.parametrize("met_before", [True, False])
async def test_a_silent_broker_does_not_delay_calls_to_other_brokers(met_before: bool) -> None:
    """kgtui can have two connections to each broker. Broker 1 stops responding.

    If `met_before` is true, kgtui has already opened both connections to broker 1 at that time.
    """
    async with cluster(3) as fake, FaultyLink("127.0.0.1", fake[1].port) as hole:
        fake.hosts[1] = ("127.0.0.1", hole.port)
        fake.topics = {"topic": {0: 2, 1: 3}}
        async with Pool([hole.address, *fake.seeds[1:]], options=FOREVER) as pool:
            await pool.metadata(timeout=60)
            if met_before:
                for lane in Lane:
                    await pool.call(1, LIST_GROUPS, {}, timeout=60, lane=lane)
            hole.black_hole()
            dead = [
                asyncio.create_task(pool.call(1, LIST_GROUPS, {}, timeout=600, lane=lane))
                for lane in Lane
                for _ in range(8)
            ]
            healthy = [
                pool.call(node, LIST_GROUPS, {}, timeout=60, lane=lane)
                for _ in range(50)
                for node in (2, 3)
                for lane in Lane
            ]
            replies = await asyncio.gather(*healthy)
            assert {reply.node for reply in replies} == {2, 3}
            for number in range(5):
                assert (await pool.metadata(timeout=60, refresh=True)).cluster_id == "fake"
                assert (await pool.find_coordinators([f"g{number}"], timeout=60)).nodes == {f"g{number}": 1}
                assert (await pool.find_leaders(["topic"], timeout=60, refresh=True)).nodes == {
                    ("topic", 0): 2,
                    ("topic", 1): 3,
                }
            pool.rebootstrap()
            assert (await pool.metadata(timeout=60)).cluster_id == "fake"
            assert not any(task.done() for task in dead)
        ended = await asyncio.gather(*dead, return_exceptions=True)
        assert all(isinstance(error, ClientError) for error in ended), "closing the pool must end all waiting calls"


async def inject_faults(links: tuple[FaultyLink, ...], chance: random.Random) -> None:
    """Twelve times, choose a random TCP proxy from `links`, and disturb it for at most 20 ms.

    A disturbed proxy stalls, closes, refuses or slows down the connections to its broker.
    """
    for _ in range(12):
        link = chance.choice(links)
        match chance.randrange(5):
            case 0:
                link.stall()
            case 1:
                link.cut()
            case 2:
                await link.refuse()
            case 3:
                link.cut_after(chance.randrange(200))
            case 4:
                link.slow(0.01)
        await asyncio.sleep(chance.random() * 0.02)
        await link.resume()


async def call_at_random(pool: Pool, chance: random.Random) -> None:
    """Make 25 calls to random brokers. Assert that each call returns the correct response or raises a client error."""
    for _ in range(25):
        node, lane = chance.choice((1, 2)), chance.choice(list(Lane))
        with suppress(ClientError, UnreachableError):
            reply = await pool.call(node, LIST_GROUPS, {}, timeout=0.05, lane=lane)
            assert [row["GroupId"] for row in reply.value["Groups"]] == [f"group-of-{node}"]


async def call_until_answered(pool: Pool, node: int, lane: Lane) -> None:
    """Send ListGroups to broker `node` until a request succeeds, for at most 60 s.

    `lane` selects one of kgtui's two connections to the broker.
    """
    async with asyncio.timeout(60):
        while True:
            with suppress(ClientError):
                await pool.call(node, LIST_GROUPS, {}, timeout=60, lane=lane)
                return
            await asyncio.sleep(0.002)


@pytest.mark.parametrize("seed", range(5))
async def test_the_pool_recovers_from_random_connection_failures(seed: int) -> None:
    """After the failures, calls to every broker succeed. After the pool is closed, no asyncio task still runs."""
    chance = random.Random(seed)
    options = PoolOptions(connect_timeout=60, backoff=0.001, backoff_max=0.01, head_start=0.01, stall=0.02)
    async with (
        cluster(2) as fake,
        FaultyLink("127.0.0.1", fake[1].port) as first,
        FaultyLink("127.0.0.1", fake[2].port) as second,
    ):
        fake.hosts = {1: ("127.0.0.1", first.port), 2: ("127.0.0.1", second.port)}
        async with Pool([first.address, second.address], options=options) as pool:
            await pool.metadata(timeout=60)
            await asyncio.gather(
                *(call_at_random(pool, chance) for _ in range(8)), inject_faults((first, second), chance)
            )
            for node in (1, 2):
                for lane in Lane:
                    await call_until_answered(pool, node, lane)
    assert asyncio.all_tasks() == {asyncio.current_task()}
