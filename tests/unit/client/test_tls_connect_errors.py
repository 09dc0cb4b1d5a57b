"""Tests of the errors for unusable certificates, and for connections on which only one side uses TLS."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

import pytest

from kgtui.client.address import Address
from kgtui.client.client_settings import ClientSettings
from kgtui.client.link import Link
from kgtui.client.pool import Lane, Pool, PoolOptions
from kgtui.client.tls import Tls
from kgtui.client.transport import Transport
from kgtui.errors import ConnectError
from tests.unit.client.connecting import QUICK, TLS, reason, server_with, write_certificate, write_self_signed
from tests.unit.client.server import cluster

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def tls_server(certificate: Path) -> ssl.SSLContext:
    return server_with(certificate)


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
async def test_error_mentions_an_expired_or_not_yet_valid_broker_certificate(
    tmp_path: Path, days: tuple[int, int], says: str
) -> None:
    file = tmp_path / "server.pem"
    write_self_signed(file, *days)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    settings = ClientSettings("SSL", tls=Tls(trust_file=str(file), verify_hostname=False))
    async with cluster(1, tls=context) as fake:
        assert f"a certificate of {fake[1].address} {says}" in await reason(fake[1].address, settings)


async def test_connection_error_says_that_the_broker_possibly_rejects_the_client_certificate(
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
    """A connection turns the ConfigError for the missing file into a ConnectError.

    A ConnectError affects only calls to one broker. Calls to other brokers continue.
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
