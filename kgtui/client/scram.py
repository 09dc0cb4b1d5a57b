"""The messages of SCRAM logins (RFC 5802), with the extension for delegation tokens (KIP-48)."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import secrets
from typing import TYPE_CHECKING

from kgtui.errors import ConnectError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from kgtui.client.address import Address
    from kgtui.client.client_settings import ClientSettings
    from kgtui.client.secret import Secret

_HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}

ITERATIONS = (4_096, 10_000_000)
"""Lowest and highest number of hash iterations that kgtui accepts from a server. Kafka's minimum is 4096, too.

With few iterations, the password could easily be guessed from the messages. With too many iterations, the login would
take too long.
"""


async def scram_steps(settings: ClientSettings, address: Address) -> AsyncGenerator[bytes, bytes]:
    """Yield the messages of a SCRAM login. The server's response to each message is sent to the generator.

    The password itself is never sent, and the server must prove that it knows the password, too.

    Raises:
        ConnectError: the server sent a damaged message, or did not prove that it knows the password.
    """
    name = _HASHES[str(settings.mechanism)]
    nonce = secrets.token_urlsafe(24)
    user = settings.username.replace("=", "=3D").replace(",", "=2C")
    first = f"n={user},r={nonce}" + (",tokenauth=true" if settings.delegation_token else "")
    challenge = yield f"n,,{first}".encode()
    server_nonce, salt, iterations = _read_challenge(challenge, nonce, address)
    final = f"c=biws,r={server_nonce}"
    signed = b",".join((first.encode(), challenge, final.encode()))
    salted = await asyncio.to_thread(_salted, name, settings.password, salt, iterations)
    client_key = hmac.digest(salted, b"Client Key", name)
    signature = hmac.digest(hashlib.new(name, client_key).digest(), signed, name)
    proof = base64.b64encode(bytes(a ^ b for a, b in zip(client_key, signature, strict=True)))
    answer = yield f"{final},p={proof.decode()}".encode()
    expected = hmac.digest(hmac.digest(salted, b"Server Key", name), signed, name)
    _check_signature(answer, expected, settings, address)


def _salted(name: str, password: Secret, salt: bytes, iterations: int) -> bytes:
    return hashlib.pbkdf2_hmac(name, password.reveal().encode(), salt, iterations)


def _read_challenge(challenge: bytes, nonce: str, address: Address) -> tuple[str, bytes, int]:
    """Return the nonce, the salt and the number of iterations in the first message of the server."""
    try:
        fields = _fields(challenge)
        found = fields["r"], base64.b64decode(fields["s"], validate=True), int(fields["i"])
    except (ValueError, KeyError):
        raise _damaged("the first message of the server is not valid", address) from None
    if not found[0].startswith(nonce) or found[0] == nonce:
        raise _damaged("the nonce of the server does not belong to this login", address)
    low, high = ITERATIONS
    if not low <= found[2] <= high:
        raise _damaged(f"the server asks for {found[2]:,} iterations; kgtui accepts {low:,} to {high:,}", address)
    return found


def _check_signature(answer: bytes, expected: bytes, settings: ClientSettings, address: Address) -> None:
    """Raise ConnectError if the last message of the server does not contain the expected signature."""
    try:
        signature = base64.b64decode(_fields(answer)["v"], validate=True)
    except (ValueError, KeyError):
        signature = b""
    if not hmac.compare_digest(signature, expected):
        secret = "delegation token" if settings.delegation_token else "password"
        raise ConnectError(
            f"{address} accepted the login as {settings.username!r}, but did not prove that it knows the {secret}: it "
            "may be another server in place of the broker; check host and port, and use SASL_SSL, which checks the "
            "broker's certificate",
            address=str(address),
        )


def _fields(message: bytes) -> dict[str, str]:
    """Return the fields of a message such as `r=nonce,s=salt,i=4096`. Raises ValueError if it has another form."""
    pairs = (field.split("=", 1) for field in message.decode().split(","))
    return {name: value for name, value in pairs}  # noqa: C416 - `dict` would accept a field without `=`


def _damaged(problem: str, address: Address) -> ConnectError:
    return ConnectError(
        f"{address} sent a damaged response in the SCRAM login ({problem}): check host and port",
        address=str(address),
    )
