"""Tests of `Pool` with fake brokers: API versions, connections, request limits, deadlines and throttling."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from kgtui.client.client_settings import ClientSettings
from kgtui.client.pool import Lane, Pool
from kgtui.errors import (
    ConfigError,
    DeadlineError,
    UnreachableError,
    UnsupportedError,
)
from kgtui.protocol import decoder_codegen
from kgtui.protocol.messages.cluster import API_VERSIONS, METADATA
from kgtui.protocol.messages.groups import DESCRIBE_GROUPS, LIST_GROUPS
from kgtui.protocol.messages.offsets import OFFSET_FETCH
from tests.event_loop import longer_if_busy
from tests.unit.client.pool_options import QUICK
from tests.unit.client.server import always, cluster, groups

if TYPE_CHECKING:
    from tests.unit.client.server import Request, Response


async def test_a_call_returns_response_broker_api_version_and_duration() -> None:
    async with cluster(2) as fake, Pool([fake[1].address], options=QUICK) as pool:
        view = await pool.metadata(timeout=60)
        assert {node: broker.port for node, broker in view.brokers.items()} == {1: fake[1].port, 2: fake[2].port}
        assert (view.cluster_id, view.controller, view.features) == ("fake", 1, {"group.version": 1})
        reply = await pool.call(2, LIST_GROUPS, {}, timeout=60)
        assert (reply.node, reply.version) == (2, LIST_GROUPS.high)
        assert [row["GroupId"] for row in reply.value["Groups"]] == ["group-of-2"]
        assert reply.took_ms > 0
        assert fake[2].requests(API_VERSIONS.key)[-1].fields["ClientSoftwareName"] == "kgtui"
        assert {request.client_id for request in fake[2].received} == {"kgtui"}


async def test_bulk_calls_reuse_the_connection_to_the_bootstrap_server() -> None:
    """kgtui has two connections to each broker: the BULK lane for bulk calls, and the UI lane for calls from the UI.

    The connection to the bootstrap server becomes the BULK lane of this broker. Only the UI lane needs a new one.
    """
    async with cluster(1) as fake, Pool(fake.seeds, options=QUICK) as pool:
        await pool.metadata(timeout=60)
        await pool.call(1, LIST_GROUPS, {}, timeout=60)
        assert fake[1].connections == 1
        await pool.call(1, LIST_GROUPS, {}, timeout=60, lane=Lane.UI)
        assert fake[1].connections == 2
        assert len(fake[1].requests(METADATA.key)) == 1


async def test_api_versions_are_negotiated_per_broker() -> None:
    """During an upgrade, the brokers of a cluster can have different Kafka releases."""
    async with cluster(2) as fake, Pool(fake.seeds[1:], options=QUICK) as pool:
        fake[1].ranges |= {LIST_GROUPS.key: (0, 3), API_VERSIONS.key: (0, 3)}
        fake[2].ranges |= {LIST_GROUPS.key: (1, 99)}
        versions = [await pool.version(node, LIST_GROUPS, timeout=60) for node in (1, 2)]
        assert versions == [3, LIST_GROUPS.high]
        assert [(await pool.call(node, LIST_GROUPS, {}, timeout=60)).version for node in (1, 2)] == versions
        assert (await pool.call(2, LIST_GROUPS, {}, timeout=60, version=2)).version == 2


async def test_calling_an_unsupported_api_raises_unsupported_error() -> None:
    async with cluster(1) as fake, Pool(fake.seeds, options=QUICK) as pool:
        fake[1].ranges |= {OFFSET_FETCH.key: (10, 12), LIST_GROUPS.key: (0, 2)}
        del fake[1].ranges[DESCRIBE_GROUPS.key]
        for api in (DESCRIBE_GROUPS, OFFSET_FETCH):
            with pytest.raises(UnsupportedError, match=f"does not support {api.name}$"):
                await pool.call(1, api, {}, timeout=60)
            with pytest.raises(UnsupportedError):
                await pool.version(1, api, timeout=60)
        with pytest.raises(UnsupportedError, match="does not support ListGroups v3") as caught:
            await pool.call(1, LIST_GROUPS, {}, timeout=60, version=3)
        assert (caught.value.broker, caught.value.address) == (1, fake[1].address)


async def test_apiversions_is_sent_again_in_an_older_version_if_unsupported() -> None:
    async with cluster(1) as fake, Pool(fake.seeds, options=QUICK) as pool:
        fake[1].ranges |= {API_VERSIONS.key: (0, 2)}
        view = await pool.metadata(timeout=60)
        assert view.features is None
        assert [request.version for request in fake[1].requests(API_VERSIONS.key)] == [0, 2]


async def test_cluster_features_are_none_if_no_broker_reports_features() -> None:
    async with cluster(1) as fake, Pool(fake.seeds, options=QUICK) as pool:
        fake[1].on[API_VERSIONS.key] = lambda request: {
            **_answer(fake[1].api_versions(request)),
            "FinalizedFeaturesEpoch": -1,
        }
        assert (await pool.metadata(timeout=60)).features is None


def _answer(answer: Response) -> dict[str, Any]:
    assert isinstance(answer, dict)
    return answer


async def test_invalid_or_missing_bootstrap_servers_raise_config_error() -> None:
    for seeds in (["kafka"], ["::1:9092"], ["a:b"], []):
        with pytest.raises(ConfigError):
            Pool(seeds)


async def test_slow_bulk_calls_do_not_delay_calls_from_the_ui() -> None:
    """kgtui has separate connections to a broker for bulk calls, such as polls of all groups, and for UI calls."""
    gate = asyncio.Event()

    async def held(request: Request) -> Response:
        await gate.wait()
        return groups("late-group")

    async with cluster(1) as fake, Pool(fake.seeds, options=QUICK) as pool:
        fake[1].on[LIST_GROUPS.key] = held
        bulk = [asyncio.create_task(pool.call(1, LIST_GROUPS, {}, timeout=60)) for _ in range(5)]
        await fake.until(lambda: fake[1].requests(LIST_GROUPS.key))
        reply = await pool.call(1, DESCRIBE_GROUPS, {"Groups": ["g"]}, timeout=60, lane=Lane.UI)
        assert reply.version == DESCRIBE_GROUPS.high
        assert not any(task.done() for task in bulk)
        gate.set()
        assert len(await asyncio.gather(*bulk)) == 5


@pytest.mark.parametrize(("lane", "limit"), [(Lane.BULK, 2), (Lane.UI, 4)])
async def test_each_connection_has_a_limited_number_of_requests_in_flight(lane: Lane, limit: int) -> None:
    gate = asyncio.Event()

    async def held(request: Request) -> Response:
        await gate.wait()
        return groups("late-group")

    async with cluster(1) as fake, Pool(fake.seeds, options=QUICK) as pool:
        for either in Lane:
            await pool.version(1, LIST_GROUPS, timeout=60, lane=either)
        fake[1].on[LIST_GROUPS.key] = held
        before = fake[1].arrived
        calls = [asyncio.create_task(pool.call(1, LIST_GROUPS, {}, timeout=60, lane=lane)) for _ in range(9)]
        await fake.until(lambda: fake[1].arrived == before + limit)
        other = Lane.UI if lane is Lane.BULK else Lane.BULK
        for _ in range(3):
            await pool.call(1, DESCRIBE_GROUPS, {}, timeout=60, lane=other)
        assert fake[1].arrived == before + limit + 3
        gate.set()
        await asyncio.gather(*calls)
        assert len(fake[1].requests(LIST_GROUPS.key)) == 9


@longer_if_busy(0.5)
async def test_deadline_error_says_whether_the_request_was_sent(timeout: float) -> None:
    async with cluster(1) as fake, Pool(fake.seeds, options=replace(QUICK, stall=60)) as pool:
        await pool.version(1, LIST_GROUPS, timeout=60)
        fake[1].on[LIST_GROUPS.key] = always(None)
        with pytest.raises(
            DeadlineError, match=r"broker 1 \(127.0.0.1:\d+\) has not answered ListGroups within"
        ) as caught:
            await pool.call(1, LIST_GROUPS, {}, timeout=timeout)
        assert (caught.value.broker, caught.value.address) == (1, fake[1].address)
        held = [asyncio.create_task(pool.call(1, LIST_GROUPS, {}, timeout=60)) for _ in range(2)]
        await fake.until(lambda: len(fake[1].requests(LIST_GROUPS.key)) >= 3)
        with pytest.raises(DeadlineError, match="is busy with earlier requests; DescribeGroups was not sent within"):
            await pool.call(1, DESCRIBE_GROUPS, {}, timeout=0.01)
        for task in held:
            task.cancel()
        await asyncio.gather(*held, return_exceptions=True)


@longer_if_busy(0.8)
async def test_the_next_request_is_sent_only_after_the_throttle_time_has_passed(timeout: float) -> None:
    """The first response tells kgtui to send no further request for `timeout` seconds (the throttle time)."""
    async with cluster(1) as fake, Pool(fake.seeds, options=QUICK) as pool:
        loop = asyncio.get_running_loop()
        fake[1].on[LIST_GROUPS.key] = always({"ThrottleTimeMs": round(timeout * 1000)})
        await pool.call(1, LIST_GROUPS, {}, timeout=60)
        answered = loop.time()
        fake[1].on[LIST_GROUPS.key] = always(groups("g"))
        with pytest.raises(DeadlineError, match="throttles kgtui; ListGroups was not sent within"):
            await pool.call(1, LIST_GROUPS, {}, timeout=0.01)
        assert len(fake[1].requests(LIST_GROUPS.key)) == 1
        await pool.call(1, LIST_GROUPS, {}, timeout=60)
        assert loop.time() - answered >= timeout - 0.01
        await pool.call(1, LIST_GROUPS, {}, timeout=60)


async def test_error_says_that_a_quota_is_exceeded_if_all_brokers_throttle_kgtui() -> None:
    """All brokers are reachable, so the error advises raising the timeout or the quota, not checking the network."""
    async with cluster(2) as fake, Pool(fake.seeds, options=QUICK) as pool:
        await pool.metadata(timeout=60)
        for node in (1, 2):
            fake[node].on[LIST_GROUPS.key] = always({"ThrottleTimeMs": 60_000})
            await pool.call(node, LIST_GROUPS, {}, timeout=60)

        async def ask(node: int) -> object:
            return await pool.call(node, LIST_GROUPS, {}, timeout=60)

        with pytest.raises(UnreachableError, match="a quota is exceeded: ") as caught:
            await pool.ask_any(ask, timeout=0.05)
        assert str(caught.value).count("throttles kgtui for 60 s") == 2
        assert "quota" in caught.value.advice


async def test_only_long_responses_are_decoded_outside_the_event_loop_thread() -> None:
    async with cluster(1) as fake, Pool(fake.seeds, options=QUICK) as pool:

        def where(version: int, body: bytes) -> tuple[bool, int]:
            return threading.current_thread() is threading.main_thread(), len(body)

        here, size = (await pool.call(1, LIST_GROUPS, {}, timeout=60, decode=where)).value
        assert here
        assert size < 100
        fake[1].on[LIST_GROUPS.key] = always(groups(*(f"group-{number:08}" for number in range(20_000))))
        here, size = (await pool.call(1, LIST_GROUPS, {}, timeout=60, decode=where)).value
        assert not here
        assert size > QUICK.thread_bytes


async def test_first_response_of_an_api_is_decoded_outside_the_event_loop_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Decoding the first response of an API includes compiling a decoder, which would block the event loop."""
    threads: list[threading.Thread] = []
    compile_struct = decoder_codegen.compile_struct

    def compiling(*args: Any, **named: Any) -> Any:
        threads.append(threading.current_thread())
        return compile_struct(*args, **named)

    monkeypatch.setattr(decoder_codegen, "compile_struct", compiling)
    monkeypatch.setattr(LIST_GROUPS.response, "_decoders", {})
    async with cluster(1) as fake, Pool(fake.seeds, options=QUICK) as pool:
        await pool.call(1, LIST_GROUPS, {}, timeout=60)
        await pool.call(1, LIST_GROUPS, {}, timeout=60)
    assert len(threads) == 1
    assert threads[0] is not threading.main_thread()


async def test_client_id_and_request_timeout_are_taken_from_client_settings() -> None:
    settings = ClientSettings(client_id="ops", request_timeout=0.5)
    async with cluster(1) as fake, Pool(fake.seeds, settings, options=QUICK) as pool:
        await pool.metadata(timeout=60)
        await pool.version(1, LIST_GROUPS, timeout=60)
        fake[1].on[LIST_GROUPS.key] = always(None)
        with pytest.raises(DeadlineError, match=r"within 0\.5 s"):
            await pool.call(1, LIST_GROUPS, {}, timeout=600)
        assert {request.client_id for request in fake[1].received} == {"ops"}


async def test_two_brokers_with_the_same_address_are_both_in_the_metadata() -> None:
    """Two brokers can advertise the same address if `advertised.listeners` is wrong, or if a port is forwarded."""
    async with cluster(2) as fake, Pool(fake.seeds[:1], options=QUICK) as pool:
        fake.hosts[2] = ("127.0.0.1", fake[1].port)
        assert len((await pool.metadata(timeout=60)).brokers) == 2
        fake[1].on[METADATA.key] = always({"Brokers": []})
        with pytest.raises(UnreachableError, match="reports no brokers"):
            await pool.metadata(timeout=60, refresh=True)
