"""Connect to brokers through aiokafka: TCP, TLS, SASL and framing. No other module imports aiokafka.

kgtui calls only `aiokafka.conn.create_conn`, and the methods `send`, `connected` and `close` of the connection that it
returns. kgtui decodes the responses itself, so that a damaged response cannot break aiokafka's connection.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
import sys
import time
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any

import aiokafka.conn
import aiokafka.errors
from aiokafka.conn import AIOKafkaProtocol, create_conn

from kgtui.client import connect_errors
from kgtui.client.address import ip_addresses
from kgtui.client.concurrency import AllFailedError, first_success
from kgtui.client.connect_errors import ResponseTooLargeError
from kgtui.client.exchange import Exchange
from kgtui.client.login import Login, LoginSession
from kgtui.errors import ConnectError, DecodeError, DisconnectedError

if TYPE_CHECKING:
    import ssl

    from kgtui.client.address import Address
    from kgtui.client.client_settings import ClientSettings
    from kgtui.protocol.api import Api

AIOKAFKA_TIMEOUT_MS = 10**18
"""Time limit of aiokafka for a response, in milliseconds.

Callers set their own time limits. Therefore, this limit is so long that it is never reached.
"""

HEAD_START = 0.25
"""Time to wait for a connection to one IP address of a host before kgtui also tries the next address, in seconds."""

CLOSING_TIMEOUT = 1.0
"""Seconds that kgtui waits for a broker to close its end of a TLS connection, before kgtui aborts the connection."""


class _NeverBelowInfo(logging.Filter):
    """Drops the DEBUG messages of `aiokafka.conn`, because they contain whole requests, including passwords."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno >= logging.INFO


def _quiet_loggers() -> None:
    """Keep aiokafka's log off the terminal, and drop the DEBUG messages of `aiokafka.conn`, which contain passwords."""
    logging.getLogger("aiokafka").addHandler(logging.NullHandler())
    connection_logger = logging.getLogger("aiokafka.conn")
    connection_logger.setLevel(logging.INFO)
    connection_logger.addFilter(_NeverBelowInfo())


_quiet_loggers()


_max_response = ContextVar("_max_response", default=sys.maxsize)
"""Maximum size of a response, in bytes, on the connection that the current task is opening."""


class LimitedProtocol(AIOKafkaProtocol):  # type: ignore[misc]  # aiokafka has no types
    """The stream protocol of aiokafka with a maximum response size.

    Without this limit, a malicious server, or a server that is not a Kafka broker, could exhaust kgtui's memory.
    """

    def __init__(self, closed: asyncio.Future[None], reader: asyncio.StreamReader, **options: Any) -> None:
        super().__init__(closed, reader, **options)
        limit, read = _max_response.get(), reader.readexactly

        async def read_limited(size: int) -> bytes:
            if not 0 <= size <= limit:
                raise ResponseTooLargeError(size, limit)
            return await read(size)

        setattr(reader, "readexactly", read_limited)  # noqa: B010 - mypy forbids a plain assignment to a method


# Replace the class `AIOKafkaProtocol` in aiokafka, so that `create_conn` uses `LimitedProtocol`.
aiokafka.conn.AIOKafkaProtocol = LimitedProtocol


class Connection:
    """An open connection to one broker, after the TLS handshake and the login.

    Attributes:
        last_answer: time of the last response, on the clock `time.monotonic`. Before the first response, the time at
            which the connection was opened.
        used: whether a response has arrived after the negotiation of API versions. If the connection breaks earlier,
            kgtui does not send the request again, because a connection that is so new was not closed for being idle.
    """

    def __init__(self, raw: Any, address: Address, login: LoginSession | None = None) -> None:
        self._raw = raw
        self._login = login
        self.address = address
        self.last_answer = time.monotonic()
        self.used = False

    async def send(self, api: Api, version: int, body: bytes) -> bytes:
        """Send one request, and return the body of the response. The connection stays open if this call is canceled.

        Raises:
            DisconnectedError: the connection is already closed, or is closed before the response arrives.
        """
        if self._login is not None:
            await self._login.ready()
        try:
            answer = await self._raw.send(Exchange(api, version, body))
        except (aiokafka.errors.KafkaError, OSError, EOFError) as error:
            if isinstance(error, TimeoutError):
                raise
            if isinstance(cause := _cause(error), ResponseTooLargeError):
                reason = connect_errors.explain_too_large(self.address, cause)
                raise DisconnectedError(reason, address=str(self.address)) from cause
            reason = connect_errors.describe_break(cause)
            raise DisconnectedError(
                f"{self.address} closed the connection before it answered {api.name}{reason}", address=str(self.address)
            ) from error
        self.last_answer = time.monotonic()
        return bytes(answer)

    @property
    def connected(self) -> bool:
        """Whether the connection is open, as far as kgtui knows. The broker may have closed it a moment ago."""
        return bool(self._raw.connected())

    def close(self) -> None:
        """Close the socket. Requests that wait for a response raise DisconnectedError."""
        if self._login is not None:
            self._login.close()
        self._raw.close()


class Transport:
    """Opens connections to brokers, with the TLS settings and the login in `ClientSettings`."""

    def __init__(self, settings: ClientSettings, client_id: str) -> None:
        self.settings = settings
        self._client_id = client_id
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._login = Login(settings) if settings.mechanism is not None else None
        self._open: set[Any] = set()
        self._closing: dict[asyncio.Future[None], Any] = {}

    async def dial(self, address: Address, *, timeout: float) -> Connection:
        """Connect, perform the TLS handshake, and log in.

        Tries all IP addresses of the host, as Kafka's clients do with `client.dns.lookup=use_all_dns_ips`.

        Raises:
            ConnectError: a step failed. The message says why, and `__cause__` is the original error.
        """
        try:
            options = await self._login_options(address)
            async with asyncio.timeout(timeout):
                raw, session = await first_success(
                    [partial(self._connect, host, address, options) for host in await ip_addresses(address)],
                    head_start=HEAD_START,
                    expected=(_AddressFailedError,),
                    discard=lambda late: late[0].close(),
                )
        except TimeoutError as error:
            raise ConnectError(connect_errors.explain_timeout(address, timeout), address=str(address)) from error
        except socket.gaierror as error:
            raise ConnectError(self._explain(error, address), address=str(address)) from error
        except ValueError as error:  # the host name or the port is invalid
            raise ConnectError(connect_errors.explain_invalid_address(address, error), address=str(address)) from error
        except AllFailedError as failed:
            first = failed.errors[0]
            raise ConnectError(str(first), address=str(address)) from first.__cause__
        self._open.add(raw)
        return Connection(raw, address, session)

    async def _connect(self, host: str, address: Address, options: dict[str, Any]) -> tuple[Any, LoginSession | None]:
        """Connect to the IP address `host`, and log in. Return aiokafka's connection, and the SASL session or None."""
        _max_response.set(self.settings.max_response)
        try:
            raw = await create_conn(
                host,
                address.port,
                client_id=self._client_id,
                request_timeout_ms=AIOKAFKA_TIMEOUT_MS,
                security_protocol="SSL" if self.settings.tls is not None else "PLAINTEXT",
                on_close=self._on_close,
                **options,
            )
            if self._login is None:
                return raw, None
            try:
                return raw, await LoginSession.start(self._login, raw, address)
            except BaseException:
                raw.close()
                raise
        except DecodeError as error:
            raise ConnectError(f"{address} responds, but not with a valid Kafka response: {error}") from error
        except _REFUSALS as error:
            raise _AddressFailedError(self._explain(error, address), address=str(address)) from _cause(error)

    async def close(self) -> None:
        """Close all connections, and wait until they are closed. Connections that do not close in time are aborted."""
        if self._login is not None:
            self._login.close()
        for raw in list(self._open):
            raw.close()
        if self._closing:
            await asyncio.wait(list(self._closing), timeout=CLOSING_TIMEOUT)
        for raw in list(self._closing.values()):
            _cut(raw)
        if self._closing:
            await asyncio.wait(list(self._closing), timeout=CLOSING_TIMEOUT)

    async def _login_options(self, address: Address) -> dict[str, Any]:
        """Get the token or Kerberos ticket, if the login needs one. Return the TLS arguments for `create_conn`."""
        name = address.host
        options: dict[str, Any] = {}
        if self.settings.tls is not None:
            if name not in self._contexts:
                self._contexts[name] = await asyncio.to_thread(self.settings.tls.context, name)
            options["ssl_context"] = self._contexts[name]
        if self._login is not None:
            await self._login.prepare(address)
        return options

    def _on_close(self, raw: Any, reason: object) -> None:
        self._open.discard(raw)
        closed: asyncio.Future[None] = raw.close()
        if not closed.done():
            self._closing[closed] = raw
            closed.add_done_callback(lambda done: self._closing.pop(done, None))

    def _explain(self, error: Exception, address: Address) -> str:
        return connect_errors.explain_dial_error(address, _cause(error), self.settings)


class _AddressFailedError(ConnectError):
    """Raised if the connection to one IP address of a host fails, so that kgtui tries the other addresses too."""


_REFUSALS = (
    aiokafka.errors.KafkaError,
    OSError,
    EOFError,
    # aiokafka raises one of the errors below if it cannot decode a response, or if a value has the wrong type.
    ValueError,
    TypeError,
    AttributeError,
    LookupError,
    AssertionError,
    struct.error,
)


def _cause(error: BaseException) -> BaseException:
    """If aiokafka has wrapped an error in exceptions of its own, return the original error; otherwise `error`."""
    while isinstance(error, aiokafka.errors.KafkaError) and error.__cause__ is not None:
        error = error.__cause__
    return error


def _cut(raw: Any) -> None:
    """Abort a TLS connection that the broker does not close. Otherwise, asyncio would wait 30 s for the broker."""
    # Only private attributes of aiokafka contain the asyncio transport. Do nothing if they are missing.
    transport = getattr(getattr(raw, "_protocol", None), "_transport", None)
    if transport is not None:
        transport.abort()
