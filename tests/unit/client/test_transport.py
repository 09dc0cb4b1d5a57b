"""Tests of `Transport`, which uses aiokafka to connect to brokers: connections, size limits, no secrets in logs."""

from __future__ import annotations

import asyncio
import inspect
import logging
import subprocess
import sys
from contextlib import nullcontext, suppress
from io import BytesIO
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka import conn

from kgtui.client.address import split_address
from kgtui.client.client_settings import PLAINTEXT, from_properties
from kgtui.client.exchange import Exchange
from kgtui.client.pool import Pool
from kgtui.client.session import open_session
from kgtui.client.transport import Transport
from kgtui.commands.time_options import parse_duration
from kgtui.errors import ConfigError, ConnectError, DisconnectedError
from kgtui.model.query.ranges import LARGEST
from kgtui.protocol.header import decode_request_header, encode_response_header
from kgtui.protocol.messages.cluster import API_VERSIONS
from kgtui.protocol.messages.groups import LIST_GROUPS
from tests.unit.client.server import always, cluster, groups

if TYPE_CHECKING:
    from tests.unit.client.server import Request


def test_create_conn_of_aiokafka_accepts_the_arguments_that_kgtui_passes() -> None:
    arguments = {
        "client_id",
        "request_timeout_ms",
        "security_protocol",
        "ssl_context",
        "on_close",
    }
    assert arguments <= set(inspect.signature(conn.create_conn).parameters)
    assert "create_conn" in conn.__all__


async def test_aiokafka_reads_only_six_known_attributes_of_the_request_objects_of_kgtui() -> None:
    """kgtui passes its own request objects to aiokafka. A newer aiokafka might need more attributes."""
    used: list[str] = []

    class Bare:
        def __getattribute__(self, name: str) -> Any:
            used.append(name)
            return object.__getattribute__(self, name)

        def prepare(self, versions: dict[int, tuple[int, int]]) -> Bare:
            assert versions[LIST_GROUPS.key] == (LIST_GROUPS.low, LIST_GROUPS.high)
            return self

        def build_request_header(self, correlation_id: int, client_id: str) -> Any:
            return Exchange(LIST_GROUPS, 5, b"").build_request_header(correlation_id, client_id)

        def encode(self) -> bytes:
            return LIST_GROUPS.request.encode(5, {})

        def parse_response_header(self, frame: BytesIO) -> Any:
            return Exchange(LIST_GROUPS, 5, b"").parse_response_header(frame)

        @property
        def RESPONSE_TYPE(self) -> Bare:
            return self

        def decode(self, frame: BytesIO) -> bytes:
            return frame.read()

    async with cluster(1) as fake:
        raw = await conn.create_conn("127.0.0.1", fake[1].port)
        try:
            body = await raw.send(Bare())
        finally:
            raw.close()
            await raw.close()
    assert LIST_GROUPS.response.decode(5, body)["Groups"][0]["GroupId"] == "group-of-1"
    contract = {"prepare", "build_request_header", "encode", "parse_response_header", "RESPONSE_TYPE", "decode"}
    assert contract <= set(used)
    assert {name for name in used if not name.startswith("__")} == contract


def test_transport_encodes_a_request_for_aiokafka_and_returns_the_response() -> None:
    exchange = Exchange(LIST_GROUPS, 5, b"body")
    assert exchange.prepare({}) is exchange
    header = exchange.build_request_header(7, "me").encode()
    assert decode_request_header(header + b"body") == (LIST_GROUPS.key, 5, 7, "me", len(header))
    frame = BytesIO(encode_response_header(LIST_GROUPS, 5, 7) + b"answer")
    assert exchange.parse_response_header(frame).correlation_id == 7
    assert exchange.RESPONSE_TYPE.decode(frame) == b"answer"
    assert repr(exchange) == "ListGroups v5"


def test_apiversions_response_header_is_decoded_without_tagged_fields() -> None:
    """The header of an ApiVersions response never has tagged fields, even in flexible versions of this API."""
    frame = BytesIO(b"\0\0\0\x07answer")
    exchange = Exchange(API_VERSIONS, 4, b"")
    exchange.parse_response_header(frame)
    assert exchange.decode(frame) == b"answer"


async def test_sending_on_a_closed_connection_raises_disconnected_error() -> None:
    async with cluster(1) as fake:
        dialler = Transport(PLAINTEXT, "me")
        connection = await dialler.dial(split_address(fake[1].address), timeout=60)

        def hang_up(request: Request) -> None:
            fake[1].hang_up()

        fake[1].on[LIST_GROUPS.key] = hang_up
        body = LIST_GROUPS.request.encode(5, {})
        for _ in range(2):
            with pytest.raises(
                DisconnectedError, match=f"{fake[1].address} closed the connection before it answered List"
            ):
                await connection.send(LIST_GROUPS, 5, body)
            assert not connection.connected
        await dialler.close()


async def test_the_response_to_a_canceled_request_is_ignored() -> None:
    gate = asyncio.Event()

    async def late(request: Request) -> dict[str, Any]:
        await gate.wait()
        return groups("late-group")

    async with cluster(1) as fake:
        dialler = Transport(PLAINTEXT, "me")
        connection = await dialler.dial(split_address(fake[1].address), timeout=60)
        fake[1].on[LIST_GROUPS.key] = late
        body = LIST_GROUPS.request.encode(5, {})
        task = asyncio.create_task(connection.send(LIST_GROUPS, 5, body))
        await fake.until(lambda: fake[1].requests(LIST_GROUPS.key))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        gate.set()
        fake[1].on[LIST_GROUPS.key] = always(groups("next-group"))
        answer = LIST_GROUPS.response.decode(5, await connection.send(LIST_GROUPS, 5, body))
        assert [row["GroupId"] for row in answer["Groups"]] == ["next-group"]
        await dialler.close()


async def test_aiokafka_waits_at_least_as_long_for_a_response_as_the_caller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limits: list[float] = []

    async def wait_for(response: asyncio.Future[Any], timeout: float) -> Any:
        limits.append(timeout)
        return await response

    monkeypatch.setattr(conn, "wait_for", wait_for)
    longest = parse_duration("--timeout", str(LARGEST))
    async with cluster(1) as fake, Pool([fake[1].address], PLAINTEXT) as pool:
        fake[1].on[LIST_GROUPS.key] = always(groups("one"))
        reply = await pool.call(1, LIST_GROUPS, {}, timeout=longest)
    assert [row["GroupId"] for row in reply.value["Groups"]] == ["one"]
    assert len(limits) >= 3
    assert min(limits) >= longest


async def test_closing_the_transport_waits_until_all_sockets_are_closed() -> None:
    async with cluster(1) as fake:
        dialler = Transport(PLAINTEXT, "me")
        connections = [await dialler.dial(split_address(fake[1].address), timeout=60) for _ in range(3)]
        connections[0].close()
        await dialler.close()
        assert not any(connection.connected for connection in connections)
        await fake.until(lambda: fake[1].open_connections == 0)


@pytest.fixture
def everything_logged() -> Any:
    """Set the root logger and the loggers of aiokafka and asyncio to DEBUG, as a program that uses kgtui might do."""
    names = ("", "aiokafka", "aiokafka.conn", "asyncio")
    before = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.DEBUG)
    yield
    for name, level in before.items():
        logging.getLogger(name).setLevel(level)


@pytest.mark.usefixtures("everything_logged")
async def test_debug_messages_of_aiokafka_are_never_logged(caplog: pytest.LogCaptureFixture) -> None:
    """Debug messages of aiokafka contain whole requests, including logins. Messages from INFO up are still logged."""
    async with cluster(1) as fake:
        dialler = Transport(PLAINTEXT, "me")
        await dialler.dial(split_address(fake[1].address), timeout=60)
        await dialler.close()
    logging.getLogger("aiokafka.conn").debug("password")
    assert not [record for record in caplog.records if record.name == "aiokafka.conn"]
    logging.getLogger("aiokafka.conn").info("Authenticated as alice")
    assert [record.name for record in caplog.records if record.name == "aiokafka.conn"] == ["aiokafka.conn"]


def test_aiokafka_prints_nothing_if_the_program_configures_no_logging() -> None:
    code = (
        "import logging, kgtui.client.transport\n"
        "logging.getLogger('aiokafka.conn').error('noise')\n"
        "logging.getLogger('aiokafka.consumer').warning('noise')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_importing_the_pool_does_not_load_aiokafka() -> None:
    code = "import sys, kgtui.client.pool, kgtui.client.client_settings; print('aiokafka' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


async def test_connecting_to_a_broker_that_never_responds_times_out() -> None:
    async with cluster(1) as fake:
        fake[1].on[API_VERSIONS.key] = always(None)
        dialler = Transport(PLAINTEXT, "me")
        with pytest.raises(ConnectError, match=r"did not answer within 0.5 s") as caught:
            await dialler.dial(split_address(fake[1].address), timeout=0.5)
        assert isinstance(caught.value.__cause__, TimeoutError)
        await dialler.close()


def test_aiokafka_still_uses_the_names_that_kgtui_patches() -> None:
    """kgtui limits the size of responses by patching `AIOKafkaProtocol` and `readexactly` in aiokafka.

    The limit has no effect if a newer aiokafka no longer uses these two names.
    """
    assert "AIOKafkaProtocol" in conn.AIOKafkaConnection.connect.__code__.co_names
    assert "readexactly" in conn.AIOKafkaConnection._read.__code__.co_names


@pytest.mark.parametrize("announced", [2**31 - 1, 100_000_001, -(2**31)])
async def test_a_response_that_is_larger_than_the_size_limit_is_not_read(announced: int) -> None:
    received = 0

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal received
        await reader.read(1)
        writer.write(announced.to_bytes(4, "big", signed=True))
        with suppress(ConnectionError):
            while True:
                writer.write(bytes(1 << 16))
                received += 1 << 16
                await writer.drain()

    server = await asyncio.start_server(flood, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    transport = Transport(PLAINTEXT, "test")
    try:
        with pytest.raises(ConnectError, match="bytes, above the limit of 100,000,000: check that it is a broker"):
            await transport.dial(split_address(f"127.0.0.1:{port}"), timeout=60)
    finally:
        await transport.close()
        server.close()
    assert received < 10_000_000


async def test_an_oversized_first_response_is_reported_with_the_size_limit() -> None:
    """The test connects twice with the same `Transport`. Both attempts must raise the same error."""
    settings = from_properties({"receive.message.max.bytes": "50"})
    async with cluster(1) as fake:
        transport = Transport(settings, "test")
        try:
            for _ in range(2):
                with pytest.raises(ConnectError, match=r"above the limit of 50: .* set receive.message.max.bytes"):
                    await open_session(transport, split_address(fake.seeds[0]), timeout=60)
        finally:
            await transport.close()


async def test_error_for_an_oversized_response_gives_the_size_that_the_server_announced() -> None:
    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write((200_000_000).to_bytes(4, "big") + bytes(1000))
        writer.close()

    server = await asyncio.start_server(flood, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    transport = Transport(PLAINTEXT, "test")
    try:
        with pytest.raises(ConnectError, match="announced a response of 200,000,000 bytes"):
            await open_session(transport, split_address(f"127.0.0.1:{port}"), timeout=60)
    finally:
        await transport.close()
        server.close()


@pytest.mark.parametrize(("size", "accepted"), [(32_767, True), (32_768, False)])
def test_a_client_id_of_more_than_32_767_bytes_is_rejected(size: int, accepted: bool) -> None:
    with nullcontext() if accepted else pytest.raises(ConfigError, match=r"client\.id has 32,768 bytes"):
        from_properties({"client.id": "x" * size})


async def test_the_property_receive_message_max_bytes_limits_the_response_size() -> None:
    settings = from_properties({"receive.message.max.bytes": "1000"})
    assert settings.warnings == ()
    async with cluster(1) as fake, Pool(fake.seeds, settings) as pool:
        fake[1].on[LIST_GROUPS.key] = always(groups("g" * 900))
        await pool.call(1, LIST_GROUPS, {}, timeout=60)
        fake[1].on[LIST_GROUPS.key] = always(groups("g" * 1000))
        with pytest.raises(DisconnectedError, match="above the limit of 1,000"):
            await pool.call(1, LIST_GROUPS, {}, timeout=60)
