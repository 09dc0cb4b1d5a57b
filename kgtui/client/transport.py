"""The seam to aiokafka: the only module that imports it.

Of aiokafka we use `conn.create_conn` and, of what it returns, `send`, `connected` and `close`. A request of ours is any
object with `prepare`, `build_request_header`, `encode`, `parse_response_header` and `RESPONSE_TYPE.decode`: that holds
for aiokafka 0.14 and for the rewritten requests of 0.15 alike. Answers come back as raw bytes, so that damaged ones
cannot break the connection and decoding can be scheduled elsewhere.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
import time
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import aiokafka.errors
from aiokafka.conn import create_conn

from kgtui.client import connect_errors
from kgtui.client.address import ip_addresses
from kgtui.client.first_success import AllFailedError, first_success
from kgtui.errors import ConnectError, DisconnectedError
from kgtui.protocol.header import decode_response_header, encode_request_header

if TYPE_CHECKING:
    import ssl
    from io import BytesIO

    from kgtui.client.address import Address
    from kgtui.client.security import Security
    from kgtui.protocol.api import Api

HARD_CAP_MS = 120_000
"""aiokafka's own limit for an answer. Ours is always shorter: theirs only frees what was forgotten."""

HEAD_START = 0.25
"""Seconds that one address of a name has before the next is tried beside it."""

CLOSING_TIMEOUT = 1.0
"""Seconds that a TLS peer has to say goodbye before its socket is cut."""


class _NeverBelowInfo(logging.Filter):
    """Drops what `aiokafka.conn` logs at DEBUG: whole requests, the bytes of a login among them."""

    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno >= logging.INFO


def _tame_loggers() -> None:
    """Keep aiokafka's loggers off the terminal and the password out of them, whatever the program configures."""
    logging.getLogger("aiokafka").addHandler(logging.NullHandler())
    talkative = logging.getLogger("aiokafka.conn")
    talkative.setLevel(logging.INFO)
    talkative.addFilter(_NeverBelowInfo())


_tame_loggers()


class _Encoded:
    """Bytes with the method that aiokafka asks for."""

    __slots__ = ("_data",)

    def __init__(self, data: bytes) -> None:
        self._data = data

    def encode(self) -> bytes:
        return self._data


class _ResponseHeader(NamedTuple):
    correlation_id: int


class Exchange:
    """One request as aiokafka's connection wants it, already encoded; also its own response type."""

    __slots__ = ("_api", "_body", "_version")

    def __init__(self, api: Api, version: int, body: bytes) -> None:
        self._api = api
        self._version = version
        self._body = body

    def __repr__(self) -> str:
        return f"{self._api.name} v{self._version}"

    def prepare(self, versions: object) -> Exchange:
        """Return what is sent; the version was negotiated before."""
        return self

    def build_request_header(self, correlation_id: int, client_id: str) -> _Encoded:
        """Return the header of the request."""
        return _Encoded(encode_request_header(self._api, self._version, correlation_id, client_id))

    def encode(self) -> bytes:
        """Return the body of the request."""
        return self._body

    def parse_response_header(self, frame: BytesIO) -> _ResponseHeader:
        """Read the header, leave the frame where the body starts."""
        correlation_id, size = decode_response_header(self._api.response_header(self._version), frame.getvalue())
        frame.seek(size)
        return _ResponseHeader(correlation_id)

    @property
    def RESPONSE_TYPE(self) -> Exchange:
        """What decodes the body."""
        return self

    def decode(self, frame: BytesIO) -> bytes:
        """Return the body, undecoded."""
        return frame.read()


class Connection:
    """One socket to one broker, past TLS and login."""

    def __init__(self, raw: Any, address: Address) -> None:
        self._raw = raw
        self.address = address
        self.last_answer = time.monotonic()
        """When bytes last arrived, on the monotonic clock."""
        self.used = False
        """Whether a request was answered since the connection was made ready."""

    async def send(self, api: Api, version: int, body: bytes) -> bytes:
        """Send one request and return the body of its answer. Cancelling leaves the connection usable.

        Raises DisconnectedError when the connection is or gets closed, TimeoutError after `HARD_CAP_MS`.
        """
        try:
            answer = await self._raw.send(Exchange(api, version, body))
        except (aiokafka.errors.KafkaError, OSError, EOFError) as error:
            if isinstance(error, TimeoutError):
                raise
            why = connect_errors.describe_break(_cause(error))
            raise DisconnectedError(
                f"{self.address} closed the connection before it answered {api.name}{why}", address=str(self.address)
            ) from error
        self.last_answer = time.monotonic()
        return bytes(answer)

    @property
    def connected(self) -> bool:
        """Whether a request can be sent: the socket is open as far as is known."""
        return bool(self._raw.connected())

    def close(self) -> None:
        """Close the socket; whoever waits for an answer gets DisconnectedError."""
        self._raw.close()


class Transport:
    """Dials brokers with one way of logging in, and sees to it that every socket is closed at the end."""

    def __init__(self, security: Security, client_id: str) -> None:
        self.security = security
        self._client_id = client_id
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._open: set[Any] = set()
        self._closing: dict[asyncio.Future[None], Any] = {}

    async def dial(self, address: Address, *, timeout: float) -> Connection:
        """Connect, shake hands, log in. Raises ConnectError, which says at which step it failed.

        All addresses of a name are tried, each a moment after the one before it (as Java's `use_all_dns_ips`, but
        without waiting for a silent one). `ConnectError.__cause__` is what `connect_errors.better` looks at.
        """
        options = await self._login_options(address.host)
        try:
            async with asyncio.timeout(timeout):
                raw = await first_success(
                    [partial(self._connect, host, address, options) for host in await ip_addresses(address)],
                    head_start=HEAD_START,
                    losing=(_NotThereError,),
                    discard=lambda late: late.close(),
                )
        except TimeoutError as error:
            raise ConnectError(connect_errors.explain_timeout(address, timeout), address=str(address)) from error
        except socket.gaierror as error:
            raise ConnectError(self._explain(error, address), address=str(address)) from error
        except AllFailedError as failed:
            first = failed.errors[0]
            raise ConnectError(str(first), address=str(address)) from first.__cause__
        self._open.add(raw)
        return Connection(raw, address)

    async def _connect(self, host: str, address: Address, options: dict[str, Any]) -> Any:
        """Connect to one of the addresses of a name."""
        try:
            return await create_conn(
                host,
                address.port,
                client_id=self._client_id,
                request_timeout_ms=HARD_CAP_MS,
                security_protocol=self.security.protocol,
                on_close=self._on_close,
                **options,
            )
        except aiokafka.errors.BrokerResponseError as error:
            # The broker has answered: a wrong password is not tried at the next address too.
            raise ConnectError(self._explain(error, address), address=str(address)) from error
        except _REFUSALS as error:
            raise _NotThereError(self._explain(error, address), address=str(address)) from _cause(error)

    async def close(self) -> None:
        """Close every socket and wait until they are gone."""
        for raw in list(self._open):
            raw.close()
        if self._closing:
            await asyncio.wait(list(self._closing), timeout=CLOSING_TIMEOUT)
        for raw in list(self._closing.values()):
            _cut(raw)
        if self._closing:
            await asyncio.wait(list(self._closing), timeout=CLOSING_TIMEOUT)

    async def _login_options(self, name: str) -> dict[str, Any]:
        options: dict[str, Any] = {}
        if self.security.tls is not None:
            if name not in self._contexts:
                self._contexts[name] = await asyncio.to_thread(self.security.tls.context, name)
            options["ssl_context"] = self._contexts[name]
        if self.security.mechanism is not None:
            options["sasl_mechanism"] = self.security.mechanism
            options["sasl_plain_username"] = self.security.username
            options["sasl_plain_password"] = self.security.password.reveal()
        return options

    def _on_close(self, raw: Any, reason: object) -> None:
        self._open.discard(raw)
        closed: asyncio.Future[None] = raw.close()
        if not closed.done():
            self._closing[closed] = raw
            closed.add_done_callback(lambda done: self._closing.pop(done, None))

    def _explain(self, error: Exception, address: Address) -> str:
        """Say at which step a connection failed, and what to do next."""
        match error:
            case aiokafka.errors.UnsupportedSaslMechanismError():
                return connect_errors.explain_mechanism(address, str(self.security.mechanism), _offered(error))
            case aiokafka.errors.SaslAuthenticationFailed():
                return connect_errors.explain_refused_login(address, self.security.username)
            case aiokafka.errors.IllegalSaslStateError():
                return connect_errors.explain_missing_sasl(address)
            case aiokafka.errors.BrokerResponseError():
                return f"{address} refused the login with {type(error).__name__} ({error.errno})"
        return connect_errors.explain_dial_error(address, _cause(error), self.security)


class _NotThereError(ConnectError):
    """One address of a name is no way in; another may be."""


_REFUSALS = (
    aiokafka.errors.KafkaError,
    OSError,
    EOFError,
    # What aiokafka lets through when an answer to the handshake is not what it expects.
    ValueError,
    LookupError,
    AssertionError,
    struct.error,
)


def _cause(error: BaseException) -> BaseException:
    """What broke the connection, beneath aiokafka's own exception."""
    while isinstance(error, aiokafka.errors.KafkaError) and error.__cause__ is not None:
        error = error.__cause__
    return error


def _offered(error: BaseException) -> str:
    """The mechanisms that the broker offers, from aiokafka's message; empty when it does not name them."""
    _, found, names = str(error).partition("Enabled mechanisms are: ")
    return ", ".join(name.strip("' ") for name in names.strip("[]").split(",")) if found else ""


def _cut(raw: Any) -> None:
    """Cut a socket whose peer does not say goodbye; TLS would wait half a minute for it.

    There is no public way to the transport once a connection is closing; without it the socket is left to time out.
    """
    transport = getattr(getattr(raw, "_protocol", None), "_transport", None)
    if transport is not None:
        transport.abort()
