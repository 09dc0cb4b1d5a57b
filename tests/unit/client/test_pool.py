"""The pool over brokers of a few lines."""

from __future__ import annotations

from kgtui.client.pool import Lane, Pool, PoolOptions
from kgtui.protocol.messages import LIST_GROUPS, METADATA
from tests.unit.client.server import cluster

QUICK = PoolOptions(connect_timeout=2.0, backoff=0.01, head_start=0.05, retry_pause=0.01)


async def test_one_call() -> None:
    async with cluster(2) as fake, Pool([fake[1].address], options=QUICK) as pool:
        view = await pool.metadata(timeout=5)
        assert {node: broker.port for node, broker in view.brokers.items()} == {1: fake[1].port, 2: fake[2].port}
        assert (view.cluster_id, view.controller, view.features) == ("fake", 1, {"group.version": 1})
        reply = await pool.call(2, LIST_GROUPS, {}, timeout=5)
        assert (reply.node, reply.version) == (2, LIST_GROUPS.high)
        assert [row["GroupId"] for row in reply.value["Groups"]] == ["group-of-2"]
        assert reply.took_ms > 0


async def test_the_connection_to_the_seed_becomes_the_bulk_lane() -> None:
    async with cluster(1) as fake, Pool(fake.seeds, options=QUICK) as pool:
        await pool.metadata(timeout=5)
        await pool.call(1, LIST_GROUPS, {}, timeout=5)
        assert fake[1].connections == 1
        await pool.call(1, LIST_GROUPS, {}, timeout=5, lane=Lane.UI)
        assert fake[1].connections == 2
        assert len(fake[1].requests(METADATA.key)) == 1
