"""Tests of the error messages for connections that fail."""

from __future__ import annotations

import asyncio
import socket
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from kgtui.client.address import split_address
from kgtui.client.client_settings import PLAINTEXT, ClientSettings, Secret
from kgtui.client.connect_errors import Peer, probe
from kgtui.client.pool import Pool, PoolOptions
from kgtui.client.tls import Tls
from kgtui.protocol.header import decode_request_header
from tests.event_loop import counting_waits
from tests.unit.client.connecting import PATIENT, QUICK, TLS, reason, server_with, write_certificate
from tests.unit.client.server import cluster

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


LOGIN = ClientSettings("SASL_PLAINTEXT", "PLAIN", "alice", Secret("hunter2"))


@asynccontextmanager
async def server(talk: Talk, host: str = "127.0.0.1", port: int = 0) -> AsyncIterator[str]:
    """Run a TCP server that handles each connection with `talk`. Yield the server's address as HOST:PORT."""
    writers: set[asyncio.StreamWriter] = set()
    tasks: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.add(writer)
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            await talk(reader, writer)
        except (OSError, EOFError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()

    listening = await asyncio.start_server(accept, host, port)
    try:
        yield f"{host}:{listening.sockets[0].getsockname()[1]}"
    finally:
        listening.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read(100)
    writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    await writer.drain()


async def open_http(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Respond to the first bytes like an HTTP server, and keep the connection open."""
    await reader.read(100)
    writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    await reader.read()


async def ssh(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"SSH-2.0-OpenSSH_9.6\r\n")
    await reader.read()


async def smtp(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"220 mail.example ESMTP\r\n")
    await reader.read()


async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while await reader.read(1000):
        pass


async def hangs_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Close the connection as soon as the first bytes arrive."""
    await reader.read(1)


@pytest.mark.parametrize(
    ("talk", "says"),
    [
        (http, "is not a Kafka port: an HTTP server answers there; check host and port"),
        (open_http, "is not a Kafka port: an HTTP server answers there; check host and port"),
        (ssh, "is not a Kafka port: an SSH server answers there; check host and port"),
        (
            smtp,
            "is not a Kafka port: a server that sends '220 mail.exa' answers there; check host and port",
        ),
        (
            silent,
            "accepts connections but sends nothing: it may be overloaded or stopped, or the port may not be Kafka's",
        ),
        (
            hangs_up,
            (
                "closes the connection without a response: the port may not be Kafka's, or it may belong to a proxy "
                "that does not reach a broker"
            ),
        ),
    ],
)
@pytest.mark.parametrize("settings", [PLAINTEXT, TLS], ids=["plain", "tls"])
async def test_error_says_what_kind_of_server_listens_instead_of_kafka(
    talk: Talk, says: str, settings: ClientSettings
) -> None:
    async with server(talk) as address:
        options, timeout = (QUICK, 0.5) if talk is silent else (PATIENT, 60)
        assert await reason(address, settings, options, probe_timeout=timeout) == f"{address} {says}"


async def test_the_connection_error_says_that_the_port_possibly_requires_tls() -> None:
    """kgtui cannot find out whether the port requires TLS.

    The server closes plain-text connections, as a TLS server does, but never answers a TLS client hello.
    """

    async def slow_tls(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Close a connection if the client sends plain text. Never answer a TLS client hello."""
        if (await reader.read(1)) == b"\x16":
            await silent(reader, writer)

    async with server(slow_tls) as address:
        message = await reason(address, probe_timeout=0.5)
    assert message.startswith(
        f"{address} closed the connection without a response: the port may not be Kafka's, or it may require TLS; set "
    )


async def test_probe_of_silent_port_does_not_exceed_its_time_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """`probe` finds out what listens on a port: it sends plain text, and then tries TLS. Here, the server is silent."""
    timeout, connect = 1.5, asyncio.open_connection

    async def slow_connect(*arguments: Any, **options: Any) -> Any:
        await asyncio.sleep(0.3 * timeout)
        return await connect(*arguments, **options)

    monkeypatch.setattr(asyncio, "open_connection", slow_connect)
    async with server(silent) as address, counting_waits() as elapsed:
        assert await probe(split_address(address), timeout=timeout) == (Peer.SILENT, "")
        assert elapsed() <= 1.1 * timeout


async def test_a_response_with_a_null_array_is_reported_as_invalid() -> None:
    """The response to ApiVersions has null in place of the array of APIs."""

    async def null_array(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
        writer.write((10).to_bytes(4, "big") + request[4:8] + bytes(2) + b"\xff" * 4)
        await writer.drain()

    async with server(null_array) as address:
        assert "not with a valid Kafka response" in await reason(address)


async def test_the_connection_error_says_that_nothing_listens_on_the_port() -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port = sock.getsockname()[1]
    address = f"127.0.0.1:{port}"
    expected = (
        f"{address} refused the connection: nothing listens there; check the port, and check that the broker is running"
    )
    assert await reason(address) == expected


async def test_the_connection_error_says_that_the_host_name_does_not_resolve() -> None:
    message = await reason("no-such-host.invalid:9092", options=PoolOptions(connect_timeout=10))
    assert message.startswith("no-such-host.invalid does not resolve (")
    assert "check the name, and the DNS or /etc/hosts of this machine" in message


async def test_dropped_packets_are_reported_as_a_connection_timeout() -> None:
    """The listen backlog of the server is full, so the kernel drops SYN packets, as a firewall might do."""
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port = full.getsockname()[1]
        fillers = []
        for _ in range(4):
            filler = socket.socket()
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
            fillers.append(filler)
        message = await reason(f"127.0.0.1:{port}", options=PoolOptions(connect_timeout=0.2))
        for filler in fillers:
            filler.close()
    assert message == (
        f"127.0.0.1:{port} did not answer within 0.2 s: check host, port and firewall, and check that the broker is "
        "healthy"
    )


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def tls_server(certificate: Path) -> ssl.SSLContext:
    return server_with(certificate)


@pytest.fixture
def many_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make `other.example` resolve to two addresses: 127.0.0.2, then 127.0.0.1."""
    real = socket.getaddrinfo

    def resolve(host: str | bytes | None, port: int, *args: int, **more: int) -> list[object]:
        names = ["127.0.0.2", "127.0.0.1"] if host == "other.example" else [host]
        return [row for name in names for row in real(name, port, *args, **more)]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)


@pytest.mark.usefixtures("many_addresses")
async def test_the_second_ip_address_of_a_host_is_tried_after_the_first(
    certificate: Path, tls_server: ssl.SSLContext
) -> None:
    """The first address does not respond. The certificate is for the host name, so it is valid for both addresses."""
    settings = ClientSettings("SSL", tls=Tls(trust_file=str(certificate)))
    async with (
        cluster(1, tls=tls_server) as fake,
        server(silent, "127.0.0.2", fake[1].port),
        Pool([f"other.example:{fake[1].port}"], settings, options=PoolOptions(connect_timeout=60)) as pool,
    ):
        assert (await pool.metadata(timeout=60)).cluster_id == "fake"


@pytest.mark.usefixtures("many_addresses")
async def test_second_ip_address_of_a_host_is_not_tried_after_a_refused_login() -> None:
    tries: list[int] = []

    async def counted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tries.append(1)
        await sasl(login_code=58)(reader, writer)

    async with server(counted) as address:
        port = int(address.rpartition(":")[2])

        async with server(counted, "127.0.0.2", port):
            message = await reason(f"other.example:{port}", LOGIN)
    assert message.startswith(f"other.example:{port} refused the login as 'alice'")
    assert len(tries) == 1


async def test_closing_the_pool_does_not_wait_for_a_silent_tls_broker(
    certificate: Path, tls_server: ssl.SSLContext
) -> None:
    """`Transport.close` aborts the connection. A normal close of TLS would wait 30 s for the silent broker."""
    settings = ClientSettings("SSL", tls=Tls(trust_file=str(certificate), verify_hostname=False))
    async with cluster(1, tls=tls_server) as fake:
        pool = Pool(fake.seeds, settings)
        await pool.metadata(timeout=60)
        for writer in fake[1]._open.values():
            writer.transport.pause_reading()  # type: ignore[attr-defined]
        async with asyncio.timeout(60):
            await pool.close()


def sasl(
    *, offered: tuple[str, ...] = ("PLAIN",), code: int = 0, login_code: int = 0, keys: tuple[int, ...] = (17, 36)
) -> Talk:
    """Return a connection handler that imitates the responses of a broker to a SASL login.

    Args:
        offered: SASL mechanisms in the response to SaslHandshake.
        code: error code in the response to SaslHandshake. 0 means success.
        login_code: error code in the response to SaslAuthenticate. 0 means success.
        keys: numbers of the APIs in the response to ApiVersions, in addition to ApiVersions. The default is
            SaslHandshake (17) and SaslAuthenticate (36).
    """

    def text(word: str) -> bytes:
        return len(word).to_bytes(2, "big") + word.encode()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            size = int.from_bytes(await reader.readexactly(4), "big")
            header = decode_request_header(await reader.readexactly(size))
            if header.api_key == 18:
                ranges = [key.to_bytes(2, "big") + b"\0\0" + int(key == 17).to_bytes(2, "big") for key in (18, *keys)]
                body = b"\0\0" + len(ranges).to_bytes(4, "big") + b"".join(ranges)
            elif header.api_key == 17:
                body = code.to_bytes(2, "big") + len(offered).to_bytes(4, "big") + b"".join(map(text, offered))
            else:
                body = login_code.to_bytes(2, "big") + text("not you") + (0).to_bytes(4, "big")
            frame = header.correlation_id.to_bytes(4, "big") + body
            writer.write(len(frame).to_bytes(4, "big") + frame)

    return talk


async def test_the_login_error_lists_the_sasl_mechanisms_that_the_broker_offers() -> None:
    for code in (0, 33):
        async with server(sasl(offered=("SCRAM-SHA-512", "OAUTHBEARER"), code=code)) as address:
            message = await reason(address, LOGIN)
            assert message.startswith(f"{address} does not offer the SASL mechanism PLAIN")
            assert "set sasl.mechanism to a mechanism that the broker offers: SCRAM-SHA-512, OAUTHBEARER" in message


async def test_the_login_error_mentions_the_refused_user() -> None:
    async with server(sasl(login_code=58)) as address:
        assert await reason(address, LOGIN) == (
            f"{address} refused the login as 'alice': check user name and password in sasl.jaas.config"
        )


async def test_the_login_error_says_that_the_listener_does_not_use_sasl() -> None:
    for broker in (sasl(code=34), sasl(keys=(3,))):
        async with server(broker) as address:
            message = await reason(address, LOGIN)
            assert message.startswith(f"{address} does not use SASL, but a login is configured: use the SASL port")


async def test_an_unexpected_login_error_code_is_reported_by_name() -> None:
    async with server(sasl(login_code=44)) as address:
        assert await reason(address, LOGIN) == f"{address} refused the login with the error POLICY_VIOLATION (44)"
