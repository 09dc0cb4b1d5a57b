"""Explain why a connection to a broker failed: what was seen, and what to do next.

Where the error alone is ambiguous, `explain_with_probe` connects once more and finds out what listens on the port. The
probe sends nothing secret: one ApiVersions request in plain text, then a TLS client hello.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from contextlib import suppress
from enum import Enum
from typing import TYPE_CHECKING

from kgtui.errors import ConnectError
from kgtui.protocol.header import encode_request_header
from kgtui.protocol.messages.cluster import API_VERSIONS

if TYPE_CHECKING:
    from kgtui.client.address import Address
    from kgtui.client.security import Security


_EXPIRED = frozenset({9, 10})
"""OpenSSL's verify codes for a certificate outside its period of validity."""

_WRONG_NAME = frozenset({62, 63, 64})
"""OpenSSL's verify codes for a certificate of another host name, e-mail or IP address."""

_CLIENT_CERTIFICATE_ALERTS = (
    "CERTIFICATE_REQUIRED",
    "BAD_CERTIFICATE",
    "CERTIFICATE_UNKNOWN",
    "UNKNOWN_CA",
    "HANDSHAKE_FAILURE",
)
_NOT_TLS = (
    "WRONG_VERSION_NUMBER",
    "RECORD_LAYER_FAILURE",
    "HTTP_REQUEST",
    "UNKNOWN_PROTOCOL",
    "PACKET_LENGTH_TOO_LONG",
)

ADVICE_USE_TLS = "set security.protocol=SSL (or SASL_SSL) in the command config, or use the plaintext port"
ADVICE_USE_PLAINTEXT = "set security.protocol=PLAINTEXT (or SASL_PLAINTEXT) in the command config, or use the TLS port"


def explain_dial_error(address: Address, error: BaseException, security: Security) -> str:
    """Explain an error while connecting, during the TLS handshake or during the login."""
    match error:
        case socket.gaierror():
            return (
                f"{address.host} does not resolve ({error.strerror}): check the name, and the DNS or /etc/hosts of "
                "this machine; a broker's own name comes from its advertised.listeners"
            )
        case ssl.SSLCertVerificationError():
            return explain_certificate(address, error)
        case ssl.SSLError():
            return explain_tls_error(address, error)
        case ConnectionRefusedError():
            return f"{address} refused the connection: nothing listens there; check the port and that the broker runs"
        case asyncio.IncompleteReadError() if protocol := name_foreign_protocol(answer_start(error)):
            return explain_not_kafka(address, protocol)
        case OSError() if error.errno == errno.ENETUNREACH or error.errno == errno.EHOSTUNREACH:
            return f"{address} cannot be reached from here ({error.strerror}): check route, VPN and firewall"
        case EOFError() | ConnectionError():
            return explain_hang_up(address, security)
        case OSError():
            # For a name with several addresses, asyncio joins the errors into one message.
            return f"{address} cannot be connected to: {error.strerror or error}"
    return f"{address} answers, but not as a Kafka broker does ({type(error).__name__}): check host and port"


def explain_timeout(address: Address, seconds: float) -> str:
    """Explain a connection that was not ready within `seconds`."""
    return (
        f"{address} did not answer within {seconds:g} s: check host, port and firewall, and that the broker is healthy"
    )


def describe_break(error: BaseException) -> str:
    """Return a reason in parentheses for a connection that broke, or `""` when the error says nothing more."""
    if isinstance(error, ssl.SSLError) and (alert := _alert(error)):
        return f" (TLS: {alert})"
    return f" ({error.strerror})" if isinstance(error, OSError) and error.strerror else ""


def explain_hang_up(address: Address, security: Security) -> str:
    """Explain a peer that closed the connection without an answer."""
    if security.tls is not None:
        return f"{address} closed the connection during the TLS handshake; {ADVICE_USE_PLAINTEXT}"
    return f"{address} closed the connection without an answer: is that port Kafka's, and without TLS? {ADVICE_USE_TLS}"


def explain_certificate(address: Address, error: ssl.SSLCertVerificationError) -> str:
    """Explain why the certificate of a broker was not accepted."""
    reason = error.verify_message.rstrip(".")
    if error.verify_code in _WRONG_NAME:
        return (
            f"the certificate of {address} is for another name ({reason}): connect by a name in the certificate; "
            "ssl.endpoint.identification.algorithm= (empty) switches this check off"
        )
    if error.verify_code in _EXPIRED:
        return f"the certificate of {address} is not valid today ({reason}): renew it, or check this machine's clock"
    return (
        f"the certificate of {address} is not trusted ({reason}): name its CA with ssl.truststore.type=PEM and "
        "ssl.truststore.location=FILE"
    )


def explain_tls_error(address: Address, error: ssl.SSLError) -> str:
    """Explain a failed TLS handshake."""
    reason = _alert(error)
    if any(mark in reason for mark in _NOT_TLS):
        return f"{address} does not speak TLS; {ADVICE_USE_PLAINTEXT}"
    if "ALERT" in reason and any(mark in reason for mark in _CLIENT_CERTIFICATE_ALERTS):
        return (
            f"{address} did not accept us in the TLS handshake ({reason}): it may want a client certificate; set "
            "ssl.keystore.type=PEM and ssl.keystore.location=FILE"
        )
    return f"the TLS handshake with {address} failed ({reason or error}): check TLS versions and ciphers on both sides"


def explain_mechanism(address: Address, mechanism: str, offered: str) -> str:
    """Explain that the broker does not offer the configured SASL mechanism."""
    has = f"it offers {offered}" if offered else "it does not say which ones it offers"
    return f"{address} does not offer the SASL mechanism {mechanism}, {has}: set sasl.mechanism to one of those"


def explain_refused_login(address: Address, username: str) -> str:
    """Explain a login that the broker refused because of the user name or password."""
    return f"{address} refused the login as {username!r}: check user name and password in sasl.jaas.config"


def explain_missing_sasl(address: Address) -> str:
    """Explain that the listener does not use SASL although a login is configured."""
    return (
        f"{address} does not ask for a login there: use the SASL port, or set security.protocol to PLAINTEXT or SSL "
        "without SASL"
    )


def explain_login_required(address: Address, security: Security) -> str:
    """Explain a listener that answers ApiVersions and then closes the connection, as listeners with SASL do."""
    protocol = "SASL_SSL" if security.tls is not None else "SASL_PLAINTEXT"
    return (
        f"{address} is Kafka, but closed the connection after the first answer: it probably wants a login; give "
        f"--command-config with security.protocol={protocol}, sasl.mechanism and sasl.jaas.config"
    )


def explain_not_kafka(address: Address, protocol: str) -> str:
    """Explain that another protocol than Kafka's answers on the port."""
    if protocol == "TLS":
        return f"{address} uses TLS, but kgtui is set to plain text; {ADVICE_USE_TLS}"
    return f"{address} is not a Kafka port: {protocol} answers there; check host and port"


def answer_start(error: asyncio.IncompleteReadError) -> bytes:
    """Return the first bytes of an answer that ended too early.

    The first four bytes were read as the length of the answer.
    """
    if error.expected is None or error.expected == len(b"size"):
        return error.partial
    return error.expected.to_bytes(4, "big", signed=error.expected < 0) + error.partial


def name_foreign_protocol(start: bytes) -> str:
    """Name the protocol of an answer that is not Kafka's: `TLS`, or a phrase such as "an HTTP server".

    Returns `""` when the bytes are those of no known protocol.
    """
    if start[:2] in (b"\x15\x03", b"\x16\x03"):
        return "TLS"
    if start.startswith(b"HTTP"):
        return "an HTTP server"
    if start.startswith(b"SSH-"):
        return "an SSH server"
    if len(start) >= len(b"220 ") and start[:4].decode("ascii", "replace").isprintable():
        return "a server that sends " + repr(start[:12].decode("ascii", "replace"))
    return ""


def _alert(error: ssl.SSLError) -> str:
    return error.reason or ""


PROBE_TIMEOUT = 2.0
"""Longest time for a whole probe, in seconds."""

_CORRELATION_ID = 0x6B677475
_READ_SIZE = 32
_ENOUGH_BYTES = 8
"""Length of the answer and correlation id: enough to recognize a Kafka broker."""


class Peer(Enum):
    """What listens on a port."""

    KAFKA = "Kafka in plain text"
    TLS = "TLS"
    FOREIGN = "another protocol"
    SILENT = "accepts connections and sends nothing"
    HANGS_UP = "accepts connections and closes them without a known answer"
    UNREACHABLE = "no connection possible"


async def explain_with_probe(error: ConnectError, address: Address, security: Security) -> ConnectError:
    """Return a ConnectError that says what listens at the address, or `error` itself when a probe adds nothing."""
    if not _ambiguous(error.__cause__):
        return error
    peer, protocol = await probe(address, timeout=PROBE_TIMEOUT)
    message = _explain_peer(peer, protocol, address, security)
    return ConnectError(message, address=str(address)) if message else error


async def probe(address: Address, *, timeout: float) -> tuple[Peer, str]:
    """Find out what listens at an address. The text names the protocol of a FOREIGN peer, and is else empty."""
    try:
        async with asyncio.timeout(timeout / 2):
            reader, writer = await asyncio.open_connection(address.host, address.port)
    except (TimeoutError, OSError):
        return Peer.UNREACHABLE, ""
    try:
        async with asyncio.timeout(timeout / 2):
            peer, protocol = _recognize(await _answer_to_api_versions(reader, writer))
    except TimeoutError:
        peer, protocol = Peer.SILENT, ""
    finally:
        writer.transport.abort()
    if peer in {Peer.SILENT, Peer.HANGS_UP} and await _answers_in_tls(address, timeout / 2):
        peer = Peer.TLS
    return peer, protocol


async def _answer_to_api_versions(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    """Send an ApiVersions request in plain text and return the first bytes of the answer; none if the peer hangs up."""
    message = encode_request_header(API_VERSIONS, 0, _CORRELATION_ID, "kgtui")
    answer = b""
    with suppress(ConnectionError):
        writer.write(len(message).to_bytes(4, "big") + message)
        while len(answer) < _ENOUGH_BYTES and (more := await reader.read(_READ_SIZE)):
            answer += more
    return answer


def _recognize(start: bytes) -> tuple[Peer, str]:
    if start[4:8] == _CORRELATION_ID.to_bytes(4, "big"):
        return Peer.KAFKA, ""
    protocol = name_foreign_protocol(start)
    if protocol == "TLS":
        return Peer.TLS, ""
    return (Peer.FOREIGN, protocol) if protocol else (Peer.HANGS_UP, "")


async def _answers_in_tls(address: Address, timeout: float) -> bool:
    """Whether the peer answers a TLS client hello as a TLS server does, be it with an alert."""
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
    """Whether the port may not be Kafka's, or may use other security settings, after a connection error."""
    match cause:
        case ssl.SSLCertVerificationError():
            return False
        case TimeoutError() | EOFError() | ConnectionResetError() | ConnectionAbortedError() | BrokenPipeError():
            return True
        case ssl.SSLError():
            return "ALERT" not in (cause.reason or "")
    return False


def _explain_peer(peer: Peer, protocol: str, address: Address, security: Security) -> str:
    match peer:
        case Peer.FOREIGN:
            return explain_not_kafka(address, protocol)
        case Peer.TLS if security.tls is None:
            return explain_not_kafka(address, "TLS")
        case Peer.KAFKA if security.tls is not None:
            return f"{address} uses plain text, not TLS; {ADVICE_USE_PLAINTEXT}"
        case Peer.SILENT:
            return (
                f"{address} accepts connections but sends nothing: it may be overloaded or stopped, or the port may "
                "not be Kafka's"
            )
        case Peer.HANGS_UP:
            return (
                f"{address} closes the connection without an answer: the port may not be Kafka's, or a proxy there has "
                "no broker behind it"
            )
    return ""
