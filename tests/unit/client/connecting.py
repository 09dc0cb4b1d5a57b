"""Helpers for tests of connection errors. They return the reason why kgtui cannot connect, and create certificates."""

from __future__ import annotations

import ssl
import subprocess
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from kgtui.client import connect_errors
from kgtui.client.client_settings import PLAINTEXT, ClientSettings
from kgtui.client.pool import Pool, PoolOptions
from kgtui.client.tls import Tls
from kgtui.errors import UnreachableError

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Awaitable, Callable
    from pathlib import Path

    Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


PATIENT = PoolOptions(connect_timeout=30)


QUICK = PoolOptions(connect_timeout=1)
"""`Pool` options for tests with a server that never responds. Connecting times out after one second."""


TLS = ClientSettings("SSL", tls=Tls())


async def reason(
    address: str,
    settings: ClientSettings = PLAINTEXT,
    options: PoolOptions = PATIENT,
    *,
    probe_timeout: float = 60,
) -> str:
    """Assert that a `Pool` cannot connect to `address`, and return the reason.

    After the failure, kgtui connects again to find out what listens on the port. This second attempt takes at most
    `probe_timeout` seconds.
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


def write_certificate(folder: Path) -> Path:
    """Create a PEM file with a private key and a self-signed certificate for `other.example`. Return its path."""
    file, key = folder / "other.pem", folder / "other.key"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=other.example"]
    extra = ["-addext", "subjectAltName=DNS:other.example", "-keyout", str(key), "-out", str(file)]
    subprocess.run([*command, *extra], check=True, capture_output=True)
    file.write_text(key.read_text() + file.read_text())
    return file


def server_with(certificate: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context


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
