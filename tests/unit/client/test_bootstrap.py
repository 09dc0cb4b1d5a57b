"""Tests of finding brokers through the bootstrap servers: at the first call, and after broker addresses changed."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING

import pytest

from kgtui.client.pool import Pool, PoolOptions
from kgtui.errors import UnreachableError
from kgtui.protocol.messages.cluster import API_VERSIONS, METADATA
from kgtui.protocol.messages.groups import LIST_GROUPS
from tests.event_loop import longer_if_busy
from tests.faults import FaultyLink
from tests.unit.client.server import always, cluster

if TYPE_CHECKING:
    from tests.unit.client.server import Request, Response

QUICK = PoolOptions(connect_timeout=30.0, backoff=0.01, backoff_max=0.02, head_start=0.02, retry_pause=0.01)


def closed_port() -> int:
    """Return a port on which nothing listens."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


async def test_the_first_bootstrap_server_that_responds_is_used() -> None:
    """The bootstrap servers include a silent server, a closed port, and an unknown host name."""
    async with cluster(1) as fake, FaultyLink("127.0.0.1", fake[1].port) as hole:
        hole.black_hole()
        seeds = [hole.address, f"127.0.0.1:{closed_port()}", "no-such-host.invalid:9092", fake[1].address]
        options = PoolOptions(connect_timeout=60)
        async with Pool(seeds, options=options) as pool:
            view = await pool.metadata(timeout=60)
            assert view.cluster_id == "fake"


async def test_all_bootstrap_servers_are_contacted_at_the_same_time() -> None:
    """kgtui connects to all servers at once. It does not first wait until a silent server times out."""
    async with cluster(1) as fake:
        holes = [FaultyLink("127.0.0.1", fake[1].port) for _ in range(3)]
        for hole in holes:
            await hole.__aenter__()
            hole.black_hole()
        async with Pool([hole.address for hole in holes], options=PoolOptions(connect_timeout=60)) as pool:
            looking = asyncio.create_task(pool.metadata(timeout=60))
            for hole in holes:
                await hole.connected()
            assert not looking.done()
            await holes[1].resume()
            assert (await looking).cluster_id == "fake"
        for hole in holes:
            await hole.__aexit__(None, None, None)


async def test_unreachable_error_lists_each_bootstrap_server_with_a_reason() -> None:
    refused = f"127.0.0.1:{closed_port()}"
    async with Pool([refused, "no-such-host.invalid:9092"], options=QUICK) as pool:
        with pytest.raises(UnreachableError) as caught:
            await pool.metadata(timeout=60)
    attempts = dict(caught.value.attempts)
    assert list(attempts) == [refused, "no-such-host.invalid:9092"]
    assert "refused the connection: nothing listens there" in attempts[refused]
    assert "no-such-host.invalid does not resolve" in attempts["no-such-host.invalid:9092"]
    assert attempts[refused] in str(caught.value)
    assert caught.value.exit_code == 3


@longer_if_busy(0.5)
async def test_unreachable_error_lists_servers_that_did_not_answer_before_the_deadline(timeout: float) -> None:
    """The first server refuses the connection. The second server does not answer before the deadline.

    The attempt to connect to the second server continues in the background, so a later call succeeds.
    """
    async with cluster(1) as fake, FaultyLink("127.0.0.1", fake[1].port) as hole:
        hole.black_hole()
        refused = f"127.0.0.1:{closed_port()}"
        async with Pool([refused, hole.address], options=PoolOptions(connect_timeout=60)) as pool:
            with pytest.raises(UnreachableError) as caught:
                await pool.metadata(timeout=timeout)
            attempts = dict(caught.value.attempts)
            assert "refused the connection" in attempts[refused]
            assert attempts[hole.address] == f"{hole.address} has not answered within {timeout:g} s"
            await hole.resume()
            assert (await pool.metadata(timeout=60)).cluster_id == "fake", (
                "the lookup must continue after the deadline of one caller"
            )
            assert hole.connections == 1


async def test_concurrent_metadata_calls_share_one_connection_and_one_request() -> None:
    async with cluster(1) as fake, Pool(fake.seeds, options=QUICK) as pool:
        views = await asyncio.gather(*(pool.metadata(timeout=60) for _ in range(20)))
        assert len({id(view) for view in views}) == 1
        assert (fake[1].connections, len(fake[1].requests(METADATA.key))) == (1, 1)


async def test_metadata_refresh_asks_a_third_broker_if_two_do_not_respond() -> None:
    async with cluster(3) as fake, Pool(fake.seeds, options=QUICK) as pool:
        await pool.metadata(timeout=60)
        for node in (1, 2, 3):
            await pool.call(node, LIST_GROUPS, {}, timeout=60)
        fake[1].on[METADATA.key] = fake[2].on[METADATA.key] = always(None)
        fake.hosts[3] = ("elsewhere", 9092)
        view = await pool.metadata(timeout=60, refresh=True)
        assert view.brokers[3].host == "elsewhere"


async def test_bootstrap_servers_are_contacted_again_if_no_broker_responds() -> None:
    """The only broker has moved to a new address, which the bootstrap server reports."""
    async with (
        cluster(1) as old,
        cluster(1) as new,
        FaultyLink("127.0.0.1", old[1].port) as seed,
        Pool([seed.address], options=QUICK) as pool,
    ):
        assert (await pool.metadata(timeout=60)).brokers[1].port == old[1].port
        await old[1].stop()
        seed._target = ("127.0.0.1", new[1].port)
        seed.cut()
        assert (await pool.metadata(timeout=60, refresh=True)).brokers[1].port == new[1].port
        assert (await pool.call(1, LIST_GROUPS, {}, timeout=60)).value["Groups"]


async def test_rebootstrap_contacts_bootstrap_servers_even_if_brokers_respond() -> None:
    async with (
        cluster(1) as fake,
        FaultyLink("127.0.0.1", fake[1].port) as seed,
        Pool([seed.address], options=QUICK) as pool,
    ):
        await pool.call(1, LIST_GROUPS, {}, timeout=60)
        assert seed.connections == 1
        pool.rebootstrap()
        await pool.metadata(timeout=60)
        assert seed.connections == 2


async def test_requests_go_to_the_new_address_of_a_broker_that_has_moved() -> None:
    async with (
        cluster(1) as fake,
        FaultyLink("127.0.0.1", fake[1].port) as link,
        Pool(fake.seeds, options=QUICK) as pool,
    ):
        await pool.call(1, LIST_GROUPS, {}, timeout=60)
        fake.hosts[1] = ("127.0.0.1", link.port)
        assert (await pool.metadata(timeout=60, refresh=True)).brokers[1].port == link.port
        await pool.call(1, LIST_GROUPS, {}, timeout=60)
        assert link.connections == 1
        await fake.until(lambda: fake[1].open_connections == 1)


async def test_calling_a_broker_missing_in_the_metadata_refreshes_the_metadata() -> None:
    async with cluster(2) as fake, Pool(fake.seeds[:1], options=QUICK) as pool:
        second = fake.brokers.pop(2)
        await pool.metadata(timeout=60)
        fake.brokers[2] = second
        pool._viewed_at -= 60
        assert (await pool.call(2, LIST_GROUPS, {}, timeout=60)).node == 2


async def test_cluster_features_with_a_higher_epoch_replace_known_features() -> None:
    """kgtui first connects to broker 1, which reports `share.version` 0.

    Broker 2 then reports `share.version` 1 and a higher FinalizedFeaturesEpoch.
    """

    def api_versions_answer(epoch: int, level: int) -> Response:
        row = {"Name": "share.version", "MaxVersionLevel": level, "MinVersionLevel": 0}
        keys = [
            {"ApiKey": api.key, "MinVersion": api.low, "MaxVersion": api.high}
            for api in (METADATA, LIST_GROUPS, API_VERSIONS)
        ]
        return {"ApiKeys": keys, "FinalizedFeaturesEpoch": epoch, "FinalizedFeatures": [row]}

    async with cluster(2) as fake, Pool(fake.seeds[:1], options=QUICK) as pool:
        fake[1].on[API_VERSIONS.key] = always(api_versions_answer(5, 0))
        fake[2].on[API_VERSIONS.key] = always(api_versions_answer(6, 1))
        assert (await pool.metadata(timeout=60)).features == {"share.version": 0}
        await pool.call(2, LIST_GROUPS, {}, timeout=60)
        assert (await pool.metadata(timeout=60, refresh=True)).features == {"share.version": 1}


async def test_server_without_metadata_api_is_reported_as_a_possible_controller() -> None:
    async with cluster(1) as fake, Pool(fake.seeds, options=QUICK) as pool:
        del fake[1].ranges[METADATA.key]
        with pytest.raises(UnreachableError, match=r"is a Kafka node but not a broker; it may be a controller"):
            await pool.metadata(timeout=60)


async def test_error_for_metadata_without_brokers_says_that_the_cluster_is_starting() -> None:
    async with cluster(1) as fake, Pool(fake.seeds, options=QUICK) as pool:
        fake[1].on[METADATA.key] = always({"Brokers": []})
        with pytest.raises(UnreachableError, match="reports no brokers; the cluster is probably still starting"):
            await pool.metadata(timeout=60)


async def test_invalid_apiversions_response_is_reported_as_not_from_kafka() -> None:
    async with cluster(1) as fake, Pool(fake.seeds, options=QUICK) as pool:

        def damaged(request: Request) -> Response:
            return b"\0\0\x7f" if request.version > 0 else fake[1].api_versions(request)

        fake[1].on[API_VERSIONS.key] = damaged
        with pytest.raises(UnreachableError, match="responds, but not with a valid Kafka response"):
            await pool.metadata(timeout=60)
