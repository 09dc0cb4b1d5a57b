"""The SASL mechanisms. Each class gets credentials, creates the messages of a login, and explains a refused login.

SCRAM follows RFC 5802, with the extension for delegation tokens (KIP-48).
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import secrets
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from kgtui.client.kerberos_errors import explain_refusal
from kgtui.client.msk_iam import explain_offer, refusal_reason
from kgtui.errors import ConnectError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from kgtui.client.address import Address
    from kgtui.client.client_settings import ClientSettings
    from kgtui.client.kerberos import Kerberos
    from kgtui.client.oauth import OAuth
    from kgtui.client.secret import Secret

_HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}

ITERATIONS = (4_096, 10_000_000)
"""Lowest and highest number of hash iterations that kgtui accepts in a SCRAM login.

With fewer iterations than Kafka's minimum of 4,096, an attacker who reads the messages could guess the password too
easily. More than 10 million iterations would take too long.
"""


async def scram_steps(settings: ClientSettings, address: Address) -> AsyncGenerator[bytes, bytes]:
    """Generate the client's messages in a SCRAM login. Pass each response of the server to `asend`.

    No message contains the password. The server must prove that it knows the password too.

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
    """Return nonce, salt and number of iterations in the server's first message of a SCRAM login.

    Args:
        nonce: the client's nonce. The nonce in the server's message must begin with it, and be longer.
    """
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
    """Return the fields of a SCRAM message such as `r=nonce,s=salt,i=4096`. Raises ValueError for other formats."""
    pairs = (field.split("=", 1) for field in message.decode().split(","))
    return {name: value for name, value in pairs}  # noqa: C416 - `dict` would accept a field without `=`


def _damaged(problem: str, address: Address) -> ConnectError:
    return ConnectError(
        f"{address} sent a damaged response in the SCRAM login ({problem}): check host and port",
        address=str(address),
    )


_ABORT = b"\x01"
"""Message with which the client ends an OAUTHBEARER login if the broker rejects the token (RFC 7628, section 3.2.3)."""


class Mechanism(ABC):
    """One SASL mechanism with the credentials in `ClientSettings`."""

    def __init__(self, settings: ClientSettings) -> None:
        self.name = str(settings.mechanism)
        self._settings = settings

    async def prepare(self, address: Address) -> None:  # noqa: B027 - not every mechanism needs this
        """Get the token or ticket for a login to this broker. For mechanisms with a password, do nothing.

        Raises:
            ConnectError: no token or ticket can be obtained.
        """

    def close(self) -> None:  # noqa: B027 - not every mechanism needs this
        """Stop the background work of this mechanism, such as the renewal of tickets."""

    @abstractmethod
    def messages(self, address: Address) -> AsyncGenerator[bytes, bytes]:
        """Return a generator of the client's messages in a login.

        After each message, the caller must pass the broker's response to the generator (`asend`).
        """

    @abstractmethod
    def refused(self, message: str, address: Address) -> str:
        """Return an error message, with advice for the user, about a login that the broker refused.

        If the login used a token, this method also marks the token as refused, so that a later login gets a new one.

        Args:
            message: the broker's error message, or empty.
        """

    def not_offered(self, offered: str, address: Address) -> str:
        """Return the error message for a broker that does not offer this SASL mechanism.

        Args:
            offered: the mechanisms that the broker offers, separated by commas; empty if it offers none.
        """
        advice = (
            f"set sasl.mechanism to a mechanism that the broker offers: {offered}"
            if offered
            else "set another sasl.mechanism"
        )
        return f"{address} does not offer the SASL mechanism {self.name}: {advice}"


class Plain(Mechanism):
    """The mechanism PLAIN (RFC 4616), which sends user name and password to the broker."""

    async def messages(self, address: Address) -> AsyncGenerator[bytes, bytes]:
        yield "\0".join(("", self._settings.username, self._settings.password.reveal())).encode()

    def refused(self, message: str, address: Address) -> str:
        user = self._settings.username
        return f"{address} refused the login as {user!r}: check user name and password in sasl.jaas.config"


class Scram(Plain):
    """The mechanism SCRAM with SHA-256 or SHA-512, for a password or a delegation token."""

    def messages(self, address: Address) -> AsyncGenerator[bytes, bytes]:
        return scram_steps(self._settings, address)

    def refused(self, message: str, address: Address) -> str:
        if not self._settings.delegation_token:
            return super().refused(message, address)
        return (
            f"{address} refused the delegation token {self._settings.username!r}: check token id and HMAC in "
            "sasl.jaas.config, and whether the token has expired (kafka-delegation-tokens.sh --describe)"
        )


class OAuthBearer(Mechanism):
    """The mechanism OAUTHBEARER (RFC 7628), which sends a token to the broker."""

    def __init__(self, settings: ClientSettings, oauth: OAuth) -> None:
        from kgtui.client.tokens import Tokens

        super().__init__(settings)
        self._oauth = oauth
        self._tokens = Tokens(oauth)

    async def prepare(self, address: Address) -> None:
        await self._tokens.get(address.host)

    async def messages(self, address: Address) -> AsyncGenerator[bytes, bytes]:
        token = await self._tokens.get(address.host)
        extensions = "".join(f"\x01{name}={value}" for name, value in self._oauth.extensions)
        challenge = yield f"n,,\x01auth=Bearer {token.text.reveal()}{extensions}\x01\x01".encode()
        if challenge:
            # The broker has rejected the token, and `challenge` contains the reason. The broker ends the login with an
            # error code only after it has received `_ABORT`.
            yield _ABORT
            raise ConnectError("the broker rejected the token, but did not end the login with an error")

    def refused(self, message: str, address: Address) -> str:
        advice = self._tokens.advice()
        self._tokens.refuse()
        return f"{address} refused {self._credentials(message)}: {advice}"

    def _credentials(self, message: str) -> str:
        return f"the token{_status(message)}"


class MskIam(OAuthBearer):
    """OAUTHBEARER for Amazon MSK, with a token that is signed with AWS credentials."""

    def not_offered(self, offered: str, address: Address) -> str:
        return explain_offer(str(address), offered)

    def _credentials(self, message: str) -> str:
        return f"the AWS credentials{refusal_reason(message)}"


class Gssapi(Mechanism):
    """The mechanism GSSAPI (RFC 4752), which logs in with a Kerberos ticket."""

    def __init__(self, settings: ClientSettings, kerberos: Kerberos) -> None:
        from kgtui.client.tickets import Tickets

        super().__init__(settings)
        self._tickets = Tickets(kerberos)

    async def prepare(self, address: Address) -> None:
        await self._tickets.get(address.host)

    def close(self) -> None:
        self._tickets.close()

    def messages(self, address: Address) -> AsyncGenerator[bytes, bytes]:
        return self._tickets.messages(address.host)

    def refused(self, message: str, address: Address) -> str:
        return explain_refusal(address, self._tickets.principal, self._tickets.server(address.host))


def mechanism_of(settings: ClientSettings) -> Mechanism:
    """Create the SASL mechanism that the settings select. `settings.mechanism` must not be None."""
    if settings.oauth is not None:
        return (OAuthBearer if settings.oauth.msk_iam is None else MskIam)(settings, settings.oauth)
    if settings.kerberos is not None:
        return Gssapi(settings, settings.kerberos)
    return Plain(settings) if settings.mechanism == "PLAIN" else Scram(settings)


def _status(message: str) -> str:
    """Return the status in the message about a refused token, such as ` (invalid_token)`; empty if there is none."""
    try:
        status = json.loads(message).get("status", "")
    except (ValueError, AttributeError, RecursionError):
        return ""
    return f" ({status})" if isinstance(status, str) and status.isidentifier() else ""
