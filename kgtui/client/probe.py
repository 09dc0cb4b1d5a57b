"""A look at the other side of a port that does not talk to us, to say what it is.

Sends nothing secret: one ApiVersions request in plain text, then a TLS hello whose answer is trusted in nothing.
"""

from __future__ import annotations

import asyncio
import ssl
from contextlib import suppress
from enum import Enum
from typing import TYPE_CHECKING

from kgtui.client import reasons
from kgtui.errors import ConnectError
from kgtui.protocol.header import encode_request_header
from kgtui.protocol.messages.cluster import API_VERSIONS

if TYPE_CHECKING:
    from kgtui.client.address import Address
    from kgtui.client.security import Security

TIMEOUT = 2.0
"""Seconds for the whole look."""

_CORRELATION = 0x6B677475
_FIRST_WORDS = 32
_ENOUGH = 8
"""Bytes that tell what is there: the length of an answer and the number that we sent."""


class Side(Enum):
    """What listens on a port."""

    KAFKA = "Kafka in plain text"
    TLS = "TLS"
    FOREIGN = "something else"
    QUIET = "takes connections, says nothing"
    CURT = "takes connections, closes them without a word that we know"
    NOBODY = "no connection at all"


async def better(error: ConnectError, address: Address, security: Security) -> ConnectError:
    """Return `error`, or one that says more about what is on the other side."""
    if not _ambiguous(error.__cause__):
        return error
    side, seen = await look(address, timeout=TIMEOUT)
    message = _message(side, seen, address, security)
    return ConnectError(message, address=str(address)) if message else error


async def look(address: Address, *, timeout: float) -> tuple[Side, str]:
    """Find out what listens at an address; with FOREIGN comes its name."""
    try:
        async with asyncio.timeout(timeout / 2):
            reader, writer = await asyncio.open_connection(address.host, address.port)
    except (TimeoutError, OSError):
        return Side.NOBODY, ""
    try:
        async with asyncio.timeout(timeout / 2):
            side, seen = _judge(await _first_words(reader, writer))
    except TimeoutError:
        side, seen = Side.QUIET, ""
    finally:
        writer.transport.abort()
    if side in {Side.QUIET, Side.CURT} and await _greets_in_tls(address, timeout / 2):
        side = Side.TLS
    return side, seen


async def _first_words(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    """What the other side says to an ApiVersions request in plain text; nothing if it hangs up."""
    message = encode_request_header(API_VERSIONS, 0, _CORRELATION, "kgtui")
    words = b""
    with suppress(ConnectionError):
        writer.write(len(message).to_bytes(4, "big") + message)
        while len(words) < _ENOUGH and (more := await reader.read(_FIRST_WORDS)):
            words += more
    return words


def _judge(start: bytes) -> tuple[Side, str]:
    if start[4:8] == _CORRELATION.to_bytes(4, "big"):
        return Side.KAFKA, ""
    seen = reasons.foreign(start)
    if seen == "TLS":
        return Side.TLS, ""
    return (Side.FOREIGN, seen) if seen else (Side.CURT, "")


async def _greets_in_tls(address: Address, timeout: float) -> bool:
    """Whether the other side answers a TLS hello as TLS does, be it with a refusal."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        async with asyncio.timeout(timeout):
            _, writer = await asyncio.open_connection(address.host, address.port, ssl=context)
    except ssl.SSLError as error:
        return "ALERT" in (error.reason or "")
    except (OSError, TimeoutError):
        return False
    writer.transport.abort()
    return True


def _ambiguous(cause: BaseException | None) -> bool:
    """Whether a failure can have come from a peer of another kind."""
    match cause:
        case ssl.SSLCertVerificationError():
            return False
        case TimeoutError() | EOFError() | ConnectionResetError() | ConnectionAbortedError() | BrokenPipeError():
            return True
        case ssl.SSLError():
            return "ALERT" not in (cause.reason or "")
    return False


def _message(side: Side, seen: str, address: Address, security: Security) -> str:
    match side:
        case Side.FOREIGN:
            return reasons.not_kafka(address, seen)
        case Side.TLS if security.tls is None:
            return reasons.not_kafka(address, "TLS")
        case Side.KAFKA if security.tls is not None:
            return f"{address} speaks plain text, not TLS; {reasons.SPEAKS_PLAINTEXT}"
        case Side.QUIET:
            return (
                f"{address} takes connections but says nothing: it may be overloaded or stopped, or the port may not "
                "be Kafka's"
            )
        case Side.CURT:
            return (
                f"{address} closes the connection without an answer: the port may not be Kafka's, or a proxy there has "
                "no broker behind it"
            )
    return ""
