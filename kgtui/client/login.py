"""Log in to a broker with SASL, and repeat the login before the SASL session expires (KIP-368)."""

from __future__ import annotations

import asyncio
import random
import time
from contextlib import aclosing
from math import inf
from typing import TYPE_CHECKING, Any

from kgtui.client.exchange import LoginExchange, NotOfferedError
from kgtui.client.mechanisms import mechanism_of
from kgtui.errors import ConnectError, DisconnectedError, KgtuiError
from kgtui.protocol.error_codes import lookup
from kgtui.protocol.messages.security import SASL_AUTHENTICATE, SASL_HANDSHAKE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kgtui.client.address import Address
    from kgtui.client.client_settings import ClientSettings
    from kgtui.protocol.api import Api

RENEW_AFTER = (0.85, 0.95)
"""Lowest and highest fraction of a SASL session's duration after which the login is repeated, as in Kafka's clients.

Each login chooses a random fraction in this range, so that connections do not repeat the login at the same time.
"""

RENEWAL_TIMEOUT = 10.0
"""Time limit for repeating a login on an open connection, in seconds."""

RETRY_PAUSE = 5.0
"""Pause after a failed attempt to get a new token or Kerberos ticket for repeating a login, in seconds."""

_UNSUPPORTED_SASL_MECHANISM = 33
_ILLEGAL_SASL_STATE = 34
_SASL_AUTHENTICATION_FAILED = 58


class Login:
    """Logs in to brokers with the mechanism and the credentials in `ClientSettings`."""

    def __init__(self, settings: ClientSettings) -> None:
        self._mechanism = mechanism_of(settings)

    async def prepare(self, address: Address) -> None:
        """Get a token or Kerberos ticket for this broker, if the mechanism needs one. Call this before each login.

        Raises:
            ConnectError: no token or ticket can be obtained.
        """
        await self._mechanism.prepare(address)

    def close(self) -> None:
        """Stop renewing Kerberos tickets. Connections stay open; the caller must close them."""
        self._mechanism.close()

    async def run(self, raw: Any, address: Address) -> float:
        """Log in on an open connection of aiokafka.

        Returns:
            Seconds until the broker requires a new login; infinite if it never does.

        Raises:
            ConnectError: the broker refused the login.
            DecodeError: the broker sent a damaged response.
        """
        try:
            offer = await _ask(raw, SASL_HANDSHAKE, {"Mechanism": self._mechanism.name})
        except NotOfferedError:
            offer = {"ErrorCode": _ILLEGAL_SASL_STATE}
        self._check_offer(offer, address)
        lifetime = 0
        async with aclosing(self._mechanism.messages(address)) as messages:
            message = await anext(messages)
            while True:
                reply = await _ask(raw, SASL_AUTHENTICATE, {"AuthBytes": message})
                self._check_reply(reply, address)
                lifetime = reply["SessionLifetimeMs"]
                try:
                    message = await messages.asend(reply["AuthBytes"])
                except StopAsyncIteration:
                    return lifetime / 1000 if lifetime > 0 else inf

    def _check_offer(self, offer: Mapping[str, Any], address: Address) -> None:
        code = offer["ErrorCode"]
        if code == _ILLEGAL_SASL_STATE:
            raise ConnectError(
                f"{address} does not use SASL, but a login is configured: use the SASL port, or set security.protocol "
                "to PLAINTEXT or SSL",
                address=str(address),
            )
        if code == _UNSUPPORTED_SASL_MECHANISM or (code == 0 and self._mechanism.name not in offer["Mechanisms"]):
            why = self._mechanism.not_offered(", ".join(offer["Mechanisms"]), address)
            raise ConnectError(why, address=str(address))
        if code:
            raise ConnectError(_other_error(code, address), address=str(address))

    def _check_reply(self, reply: Mapping[str, Any], address: Address) -> None:
        code = reply["ErrorCode"]
        if code == _SASL_AUTHENTICATION_FAILED:
            raise ConnectError(self._mechanism.refused(reply["ErrorMessage"] or "", address), address=str(address))
        if code:
            raise ConnectError(_other_error(code, address), address=str(address))


class LoginSession:
    """The SASL login on one connection.

    When most of the SASL session's duration has passed (see `RENEW_AFTER`), the next request on the connection makes
    kgtui repeat the login (see `ready`).

    Attributes:
        failure: why repeating the login failed; empty if it has not failed. A failure closes the connection.
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
        """Log in on an open connection.

        Raises:
            ConnectError: the broker refused the login.
            DecodeError: the broker sent a damaged response.
        """
        session = cls(login, raw, address)
        await session._log_in()
        return session

    async def ready(self) -> None:
        """Wait until the connection can be used for the next request. Repeat the login if necessary.

        Raises:
            DisconnectedError: repeating the login has failed, and kgtui has closed the connection.
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
        """Cancel a login that is being repeated. The caller must close the connection."""
        if self._task is not None:
            self._task.cancel()

    async def _log_in(self) -> None:
        started = time.monotonic()
        lifetime = await self._login.run(self._raw, self._address)
        # The broker counts the lifetime of the session from the end of the login. kgtui counts it from the start of the
        # login, so that the broker never ends the session before `_ends_at`.
        self._ends_at = started + lifetime
        self._renew_at = started + lifetime * random.uniform(*RENEW_AFTER)  # noqa: S311 - spreads the load

    async def _renew(self) -> None:
        """Get a new token or ticket if the login needs one, and then log in again.

        Requests wait while the login runs, but not while kgtui gets the token or ticket.
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


def _other_error(code: int, address: Address) -> str:
    return f"{address} refused the login with the error {lookup(code).name} ({code})"
