"""A broker that takes connections and never answers holds up nobody but itself."""

from __future__ import annotations

import asyncio

import pytest

from kgtui.client.pool import Lane, Pool, PoolOptions
from kgtui.errors import ClientError
from kgtui.protocol.messages import LIST_GROUPS
from tests.faults import FaultyLink
from tests.unit.client.server import cluster

FOREVER = PoolOptions(connect_timeout=600, head_start=0.01)
"""Waiting for the dead broker would last longer than any test."""


@pytest.mark.parametrize("met_before", [True, False])
async def test_calls_to_healthy_brokers_never_wait_for_the_dead_one(met_before: bool) -> None:
    """Whether its connection dies or is never made: everything else is done before the call to it is."""
    async with cluster(3) as fake, FaultyLink("127.0.0.1", fake[1].port) as hole:
        fake.hosts[1] = ("127.0.0.1", hole.port)
        fake.topics = {"t": {0: 2, 1: 3}}
        async with Pool([hole.address, *fake.seeds[1:]], options=FOREVER) as pool:
            await pool.metadata(timeout=5)
            if met_before:
                for lane in Lane:
                    await pool.call(1, LIST_GROUPS, {}, timeout=5, lane=lane)
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
                assert (await pool.find_leaders(["t"], timeout=60, refresh=True)).nodes == {("t", 0): 2, ("t", 1): 3}
            pool.rebootstrap()
            assert (await pool.metadata(timeout=60)).cluster_id == "fake"
            assert not any(task.done() for task in dead)
        ended = await asyncio.gather(*dead, return_exceptions=True)
        assert all(isinstance(error, ClientError) for error in ended), "closing the pool ends them"
