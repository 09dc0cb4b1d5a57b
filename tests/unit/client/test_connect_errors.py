"""Tests of the error messages for connections that fail. Most tests cover one cause."""

from __future__ import annotations

import asyncio
import socket
import ssl
import subprocess
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from kgtui.client import connect_errors
from kgtui.client.address import Address, split_address
from kgtui.client.client_settings import PLAINTEXT, ClientSettings, Secret
from kgtui.client.connect_errors import Peer, probe
from kgtui.client.link import Link
from kgtui.client.pool import Lane, Pool, PoolOptions
from kgtui.client.tls import Tls
from kgtui.client.transport import Transport
from kgtui.errors import ConnectError, UnreachableError
from kgtui.protocol.header import decode_request_header
from tests.event_loop import counting_waits
from tests.unit.client.server import cluster

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable
    from pathlib import Path

    Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

PATIENT = PoolOptions(connect_timeout=30)
QUICK = PoolOptions(connect_timeout=1)
"""Options for tests with a silent server. Connecting fails after one second."""
TLS = ClientSettings("SSL", tls=Tls())
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


async def reason(
    address: str,
    settings: ClientSettings = PLAINTEXT,
    options: PoolOptions = PATIENT,
    *,
    probe_timeout: float = 60,
) -> str:
    """Assert that a `Pool` cannot connect to `address`, and return the reason.

    kgtui connects once more to find out what listens there. `probe_timeout` limits this attempt, in seconds.
    """
    with patch.object(connect_errors, "PROBE_TIMEOUT", probe_timeout):
        return await _reason(address, settings, options)


async def _reason(address: str, settings: ClientSettings, options: PoolOptions) -> str:
    async with Pool([address], settings, options=options) as pool:
        with pytest.raises(UnreachableError) as caught:
            await pool.metadata(timeout=60)
    ((tried, why),) = caught.value.attempts
    assert tried == address
    assert address in why or address.rpartition(":")[0] in why
    return why


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
async def test_the_connection_error_says_what_listens_on_the_port_instead_of_kafka(
    talk: Talk, says: str, settings: ClientSettings
) -> None:
    async with server(talk) as address:
        options, timeout = (QUICK, 0.5) if talk is silent else (PATIENT, 60)
        assert await reason(address, settings, options, probe_timeout=timeout) == f"{address} {says}"


async def test_the_connection_error_says_that_the_port_possibly_requires_tls() -> None:
    """The server closes plain-text connections, and does not answer TLS. It could require TLS or not."""

    async def slow_tls(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Close a connection if the client sends plain text. Never answer a TLS client hello."""
        if (await reader.read(1)) == b"\x16":
            await silent(reader, writer)

    async with server(slow_tls) as address:
        message = await reason(address, probe_timeout=0.5)
    assert message.startswith(
        f"{address} closed the connection without a response: the port may not be Kafka's, or it may require TLS; set "
    )


async def test_finding_out_what_listens_on_a_port_does_not_exceed_its_time_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The connection takes most of its part of the time, and the server answers neither plain text nor TLS."""
    timeout, connect = 1.5, asyncio.open_connection

    async def slow_connect(*arguments: Any, **options: Any) -> Any:
        await asyncio.sleep(0.3 * timeout)
        return await connect(*arguments, **options)

    monkeypatch.setattr(asyncio, "open_connection", slow_connect)
    async with server(silent) as address, counting_waits() as elapsed:
        assert await probe(split_address(address), timeout=timeout) == (Peer.SILENT, "")
        assert elapsed() <= 1.1 * timeout


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
    """The test fills the listen backlog of a server, so that the kernel drops SYN packets as a firewall does."""
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
    """Create a file with a self-signed certificate for `other.example` and its private key."""
    folder = tmp_path_factory.mktemp("tls")
    file, key = folder / "other.pem", folder / "other.key"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=other.example"]
    extra = ["-addext", "subjectAltName=DNS:other.example", "-keyout", str(key), "-out", str(file)]
    subprocess.run([*command, *extra], check=True, capture_output=True)
    file.write_text(key.read_text() + file.read_text())
    return file


@pytest.fixture
def tls_server(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


async def test_the_connection_error_says_that_the_certificate_is_for_a_different_host(
    certificate: Path, tls_server: ssl.SSLContext
) -> None:
    settings = ClientSettings("SSL", tls=Tls(trust_file=str(certificate)))
    async with cluster(1, tls=tls_server) as fake:
        message = await reason(fake[1].address, settings)
        assert message.startswith(f"the certificate of {fake[1].address} is for another host name (")
        assert "ssl.endpoint.identification.algorithm= (empty) switches this check off" in message
        unchecked = ClientSettings("SSL", tls=Tls(trust_file=str(certificate), verify_hostname=False))
        async with Pool(fake.seeds, unchecked, options=PoolOptions()) as pool:
            assert (await pool.metadata(timeout=60)).cluster_id == "fake"


async def test_the_connection_error_says_that_the_broker_certificate_is_not_trusted(tls_server: ssl.SSLContext) -> None:
    async with cluster(1, tls=tls_server) as fake:
        message = await reason(fake[1].address, ClientSettings("SSL", tls=Tls(verify_hostname=False)))
        assert message.startswith(f"the certificate of {fake[1].address} is not trusted (")
        assert (
            "set ssl.truststore.type=PEM and ssl.truststore.location to a file with the certificate of its CA"
            in message
        )


@pytest.mark.parametrize(("days", "says"), [((-9, -2), "has expired: renew the"), ((2, 9), "is not valid yet: check")])
async def test_the_connection_error_says_that_the_broker_certificate_is_not_valid_now(
    tmp_path: Path, days: tuple[int, int], says: str
) -> None:
    file = tmp_path / "server.pem"
    write_self_signed(file, *days)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    settings = ClientSettings("SSL", tls=Tls(trust_file=str(file), verify_hostname=False))
    async with cluster(1, tls=context) as fake:
        assert f"a certificate of {fake[1].address} {says}" in await reason(fake[1].address, settings)


def write_self_signed(file: Path, first: int, last: int) -> None:
    """Write a private key and a self-signed certificate to `file`.

    The certificate is valid from day `first` to day `last`, relative to today: -1 is yesterday.
    """
    now = datetime.now(UTC)
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    valid = builder.not_valid_before(now + timedelta(days=first)).not_valid_after(now + timedelta(days=last))
    text = valid.sign(key, SHA256()).public_bytes(Encoding.PEM)
    file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()) + text)


async def test_connection_error_mentions_the_client_certificate_as_a_possible_cause(
    tmp_path: Path, certificate: Path
) -> None:
    write_self_signed(own := tmp_path / "client.pem", -9, -2)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    context.load_verify_locations(own)
    context.verify_mode = ssl.CERT_REQUIRED
    settings = ClientSettings("SSL", tls=Tls(trust_file=str(certificate), verify_hostname=False, key_file=str(own)))
    async with cluster(1, tls=context) as fake:
        message = await reason(fake[1].address, settings)
    assert "it might not accept the certificate in ssl.keystore.*; check that this certificate has not" in message


async def test_connecting_raises_connect_error_if_the_key_store_file_is_missing(
    tmp_path: Path, certificate: Path
) -> None:
    """The error is a ConnectError, which affects only the connection to one broker.

    Therefore, calls to other brokers continue.
    """
    missing = ClientSettings("SSL", tls=Tls(key_file=str(tmp_path / "gone.pem")))
    link = Link(1, Address("127.0.0.1", 1), Lane.BULK, Transport(missing, "me"), PoolOptions())
    with pytest.raises(ConnectError, match=r"ssl\.keystore\.location=.*gone\.pem: No such file"):
        await link.session()


async def test_the_connection_error_says_that_the_port_requires_tls(tls_server: ssl.SSLContext) -> None:
    async with cluster(1, tls=tls_server) as fake:
        address = fake[1].address
        message = await reason(address)
        assert message.startswith(
            f"{address} uses TLS, but kgtui is configured for plain text; set security.protocol=SSL (or SASL_SSL)"
        )


async def test_the_connection_error_says_that_the_port_uses_no_tls() -> None:
    async with cluster(1) as fake:
        address = fake[1].address
        message = await reason(address, TLS, QUICK)
        assert message.startswith(f"{address} uses plain text, not TLS; set security.protocol=PLAINTEXT")


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
    """The certificate is checked for the host name, not for the IP address."""
    settings = ClientSettings("SSL", tls=Tls(trust_file=str(certificate)))
    async with (
        cluster(1, tls=tls_server) as fake,
        server(silent, "127.0.0.2", fake[1].port),
        Pool([f"other.example:{fake[1].port}"], settings, options=PoolOptions(connect_timeout=60)) as pool,
    ):
        assert (await pool.metadata(timeout=60)).cluster_id == "fake"


@pytest.mark.usefixtures("many_addresses")
async def test_a_refused_login_is_not_repeated_at_the_second_ip_address() -> None:
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
    """`Transport.close` aborts the connection. Without this, asyncio would wait 30 s until the broker closes it."""
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
    """Return a connection handler that plays the broker in a SASL login.

    Args:
        offered: mechanisms in the response to SaslHandshake.
        code: error code in the response to SaslHandshake.
        login_code: error code in the response to SaslAuthenticate.
        keys: supported API keys, in addition to ApiVersions.
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
