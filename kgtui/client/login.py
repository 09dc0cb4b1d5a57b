"""Log in to a broker with SASL, and repeat the login before the broker ends the session (KIP-368)."""

from __future__ import annotations

import asyncio
import json
import random
import time
from contextlib import aclosing
from math import inf
from typing import TYPE_CHECKING, Any

from kgtui.client.exchange import LoginExchange, NotOfferedError
from kgtui.client.kerberos_errors import explain_refusal
from kgtui.client.msk_iam import explain_offer, reason_of
from kgtui.client.scram import scram_steps
from kgtui.errors import ConnectError, DisconnectedError, KgtuiError
from kgtui.protocol.error_codes import lookup
from kgtui.protocol.messages.login import SASL_AUTHENTICATE, SASL_HANDSHAKE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Mapping

    from kgtui.client.address import Address
    from kgtui.client.client_settings import ClientSettings
    from kgtui.client.tickets import Tickets
    from kgtui.client.tokens import Tokens
    from kgtui.protocol.api import Api

RENEW_AFTER = (0.85, 0.95)
"""Lowest and highest fraction of a session after which the login is repeated.

A random fraction in this range is chosen for each session, as in Kafka's clients.
"""

RENEWAL_TIMEOUT = 10.0
"""Time limit for repeating a login on an open connection, in seconds."""

RETRY_PAUSE = 5.0
"""Pause after a failed attempt to refresh the token of an open connection, in seconds."""

_UNSUPPORTED_SASL_MECHANISM = 33
_ILLEGAL_SASL_STATE = 34
_SASL_AUTHENTICATION_FAILED = 58
_ABORT = b"\x01"
"""Message with which the client ends an OAUTHBEARER login after the broker has rejected the token (RFC 7628, 3.2.3)."""


class Login:
    """Logs in to brokers with the mechanism and the credentials in `ClientSettings`."""

    def __init__(self, settings: ClientSettings) -> None:
        self._settings = settings
        self._tokens: Tokens | None = None
        self._tickets: Tickets | None = None
        if settings.oauth is not None:
            from kgtui.client.tokens import Tokens

            self._tokens = Tokens(settings.oauth)
        if settings.kerberos is not None:
            from kgtui.client.tickets import Tickets

            self._tickets = Tickets(settings.kerberos)

    async def prepare(self, address: Address) -> None:
        """Get a valid token, or a Kerberos ticket for this broker, if the mechanism needs one.

        This must be called before a connection is opened or a login is repeated.

        Raises:
            ConnectError: no token or ticket can be obtained.
        """
        if self._tokens is not None:
            await self._tokens.get(address.host)
        if self._tickets is not None:
            await self._tickets.get(address.host)

    def close(self) -> None:
        """Stop renewing Kerberos tickets. The connections are closed by the caller."""
        if self._tickets is not None:
            self._tickets.close()

    async def run(self, raw: Any, address: Address) -> float:
        """Log in on an open connection of aiokafka.

        Returns the length of the session in seconds, after which the broker requires a new login on this connection.
        The length is infinite if the broker sets no limit.

        Raises:
            ConnectError: the broker refused the login. The message says why, and what to do.
            DecodeError: the broker sent a damaged response.
        """
        mechanism = str(self._settings.mechanism)
        try:
            offer = await _ask(raw, SASL_HANDSHAKE, {"Mechanism": mechanism})
        except NotOfferedError:
            offer = {"ErrorCode": _ILLEGAL_SASL_STATE}
        self._check_offer(offer, mechanism, address)
        lifetime = 0
        async with aclosing(self._steps(address)) as steps:
            message = await anext(steps)
            while True:
                reply = await _ask(raw, SASL_AUTHENTICATE, {"AuthBytes": message})
                if reply["ErrorCode"]:
                    refusal = self._explain_refusal(reply, address)
                    if self._tokens is not None:
                        self._tokens.refuse()
                    raise ConnectError(refusal, address=str(address))
                lifetime = reply["SessionLifetimeMs"]
                try:
                    message = await steps.asend(reply["AuthBytes"])
                except StopAsyncIteration:
                    return lifetime / 1000 if lifetime > 0 else inf

    def _steps(self, address: Address) -> AsyncGenerator[bytes, bytes]:
        """Return a generator of the messages of the login. The broker's response to each message is sent to it."""
        if self._tokens is not None:
            return self._token_steps(address)
        if self._tickets is not None:
            return self._tickets.messages(address.host)
        return self._plain_steps() if self._settings.mechanism == "PLAIN" else scram_steps(self._settings, address)

    async def _plain_steps(self) -> AsyncGenerator[bytes, bytes]:
        """Yield the message of PLAIN (RFC 4616)."""
        yield "\0".join(("", self._settings.username, self._settings.password.reveal())).encode()

    async def _token_steps(self, address: Address) -> AsyncGenerator[bytes, bytes]:
        """Yield the messages of OAUTHBEARER."""
        if self._tokens is None or self._settings.oauth is None:
            return
        token = await self._tokens.get(address.host)
        extensions = "".join(f"\x01{name}={value}" for name, value in self._settings.oauth.extensions)
        challenge = yield f"n,,\x01auth=Bearer {token.text.reveal()}{extensions}\x01\x01".encode()
        if challenge:
            # The broker has rejected the token. It first responds with the reason, and reports the error code only
            # after the client has acknowledged the reason with this message.
            yield _ABORT
            raise ConnectError("the broker rejected the token, but did not end the login with an error")

    def _check_offer(self, offer: Mapping[str, Any], mechanism: str, address: Address) -> None:
        code = offer["ErrorCode"]
        if code == _ILLEGAL_SASL_STATE:
            raise ConnectError(
                f"{address} does not use SASL, but a login is configured: use the SASL port, or set security.protocol "
                "to PLAINTEXT or SSL",
                address=str(address),
            )
        if code == _UNSUPPORTED_SASL_MECHANISM or (code == 0 and mechanism not in offer["Mechanisms"]):
            offered = ", ".join(offer["Mechanisms"])
            if self._settings.oauth is not None and self._settings.oauth.msk_iam is not None:
                raise ConnectError(explain_offer(str(address), offered), address=str(address))
            advice = f"set sasl.mechanism to one that it offers: {offered}" if offered else "set another sasl.mechanism"
            raise ConnectError(
                f"{address} does not offer the SASL mechanism {mechanism}: {advice}", address=str(address)
            )
        if code:
            raise ConnectError(
                f"{address} refused the login with the error {lookup(code).name} ({code})", address=str(address)
            )

    def _explain_refusal(self, reply: Mapping[str, Any], address: Address) -> str:
        code = reply["ErrorCode"]
        if code != _SASL_AUTHENTICATION_FAILED:
            return f"{address} refused the login with the error {lookup(code).name} ({code})"
        if self._tickets is not None:
            return explain_refusal(address, self._tickets.principal, self._tickets.server(address.host))
        if self._tokens is None:
            user = self._settings.username
            if self._settings.delegation_token:
                return (
                    f"{address} refused the delegation token {user!r}: check token id and HMAC in sasl.jaas.config, "
                    "and whether the token has expired (kafka-delegation-tokens.sh --describe)"
                )
            return f"{address} refused the login as {user!r}: check user name and password in sasl.jaas.config"
        if self._settings.oauth is not None and self._settings.oauth.msk_iam is not None:
            reason = reason_of(reply["ErrorMessage"] or "")
            return f"{address} refused the AWS credentials{reason}: {self._tokens.advice()}"
        return f"{address} refused the token{_status(reply['ErrorMessage'] or '')}: {self._tokens.advice()}"


class LoginSession:
    """The login of one connection, which is repeated before a request if the session has ended or is about to end.

    Attributes:
        failure: why the login could not be repeated, so that the connection was closed; empty if there was no failure.
    """

    def __init__(self, login: Login, raw: Any, address: Address) -> None:
        self._login = login
        self._raw = raw
        self._address = address
        self._renew_at = self._ends_at = inf
        self._task: asyncio.Task[None] | None = None
        self._free = asyncio.Event()
        self._free.set()
        self.failure = ""

    @classmethod
    async def start(cls, login: Login, raw: Any, address: Address) -> LoginSession:
        """Log in on an open connection. `Login.run` documents the errors."""
        session = cls(login, raw, address)
        await session._log_in()
        return session

    async def ready(self) -> None:
        """Repeat the login if necessary, and return when a request may be sent.

        Raises:
            DisconnectedError: the login could not be repeated, and the connection is closed.
        """
        now = time.monotonic()
        if now >= self._renew_at and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._renew())
        if now >= self._ends_at and self._task is not None:
            await asyncio.wait([self._task])
        while not self._free.is_set():
            await self._free.wait()
        if self.failure:
            raise DisconnectedError(self.failure, address=str(self._address))

    def close(self) -> None:
        """Cancel a repetition of the login that is running. The caller closes the connection."""
        if self._task is not None:
            self._task.cancel()

    async def _log_in(self) -> None:
        started = time.monotonic()
        lifetime = await self._login.run(self._raw, self._address)
        # For the broker, the session begins when the login is complete, which is after `started`. The session therefore
        # never ends before `_ends_at`.
        self._ends_at = started + lifetime
        self._renew_at = started + lifetime * random.uniform(*RENEW_AFTER)  # noqa: S311 - spreads the load

    async def _renew(self) -> None:
        """Repeat the login.

        While a new token or ticket is requested, the connection can still send requests. During the login itself,
        requests wait.
        """
        try:
            await self._login.prepare(self._address)
        except KgtuiError as error:
            now = time.monotonic()
            if now >= self._ends_at:
                self._fail(error)
            else:
                self._renew_at = min(now + RETRY_PAUSE, self._ends_at)
            return
        self._free.clear()
        try:
            async with asyncio.timeout(RENEWAL_TIMEOUT):
                await self._log_in()
        except asyncio.CancelledError:
            self._fail(DisconnectedError(f"the connection to {self._address} was closed"))
            raise
        except Exception as error:  # noqa: BLE001 - nobody awaits this task, and aiokafka may raise any exception
            self._fail(error)
        finally:
            self._free.set()

    def _fail(self, error: Exception) -> None:
        reason = str(error) if isinstance(error, KgtuiError) else f"{self._address} closed the connection"
        self.failure = f"re-authentication failed: {reason}"
        self._raw.close()


async def _ask(raw: Any, api: Api, fields: Mapping[str, Any]) -> dict[str, Any]:
    exchange = LoginExchange(api, fields)
    body = await raw.send(exchange)
    return api.response.decode(exchange.version, body)


def _status(message: str) -> str:
    """Return the status in a refusal of a token, as in ` (invalid_token)`; `""` if the broker sent none."""
    try:
        status = json.loads(message).get("status", "")
    except (ValueError, AttributeError, RecursionError):
        return ""
    return f" ({status})" if isinstance(status, str) and status.isidentifier() else ""
