"""Explain why a connection to a broker failed, and what the user can do about it.

If the cause is unclear, `explain_with_probe` finds out what kind of server listens on the port. For this, it sends an
ApiVersions request and a TLS client hello. Neither of them contains a secret.
"""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from contextlib import suppress
from enum import Enum
from typing import TYPE_CHECKING

from kgtui.client.client_settings import MAX_RESPONSE_KEY
from kgtui.errors import ConnectError
from kgtui.protocol.header import encode_request_header
from kgtui.protocol.messages.cluster import API_VERSIONS

if TYPE_CHECKING:
    from kgtui.client.address import Address
    from kgtui.client.client_settings import ClientSettings


_NOT_YET_VALID = 9
_EXPIRED = 10

_WRONG_NAME = frozenset({62, 63, 64})
"""OpenSSL's error codes for a certificate that belongs to a different host name, e-mail address or IP address."""

_CLIENT_CERTIFICATE_ALERTS = (
    "CERTIFICATE_REQUIRED",
    "BAD_CERTIFICATE",
    "CERTIFICATE_UNKNOWN",
    "CERTIFICATE_EXPIRED",
    "CERTIFICATE_REVOKED",
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


class ResponseTooLargeError(ConnectionError):
    """Raised if the length field at the start of a response is above the limit. The response is not read.

    Attributes:
        size, limit: size of the response according to its length field, and maximum size, in bytes.
    """

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(size, limit)
        self.size = size
        self.limit = limit


def explain_dial_error(address: Address, error: BaseException, settings: ClientSettings) -> str:
    """Return the error message for an attempt to connect that failed.

    The attempt includes name resolution, TCP, the TLS handshake and the login.
    """
    match error:
        case socket.gaierror():
            return (
                f"{address.host} does not resolve ({error.strerror}): check the name, and the DNS or /etc/hosts of "
                "this machine; a name that is not in bootstrap.servers comes from the advertised.listeners of a broker"
            )
        case ssl.SSLError():
            return explain_tls_error(address, error, settings)
        case ConnectionRefusedError():
            return (
                f"{address} refused the connection: nothing listens there; check the port, and check that the broker "
                "is running"
            )
        case asyncio.IncompleteReadError() | ResponseTooLargeError() if protocol := name_foreign_protocol(
            response_start(error)
        ):
            return explain_not_kafka(address, protocol)
        case ResponseTooLargeError():
            return explain_too_large(address, error)
        case OSError() if error.errno == errno.ENETUNREACH or error.errno == errno.EHOSTUNREACH:
            return f"{address} cannot be reached from here ({error.strerror}): check route, VPN and firewall"
        case EOFError() | ConnectionError():
            return explain_hang_up(address, settings)
        case OSError():
            # If connections to several IP addresses fail, asyncio raises one OSError without `strerror`. The message of
            # this OSError contains the error of each address.
            return f"kgtui cannot connect to {address}: {error.strerror or error}"
    return f"{address} responds, but not with a valid Kafka response ({type(error).__name__}): check host and port"


def explain_too_large(address: Address, error: ResponseTooLargeError) -> str:
    """Return the error message for a response that is too large according to its length field."""
    return (
        f"{address} announced a response of {error.size:,} bytes, above the limit of {error.limit:,}: check that it is "
        f"a broker, or set {MAX_RESPONSE_KEY} to a higher limit in the command config"
    )


def explain_timeout(address: Address, seconds: float) -> str:
    """Return a message for a connection attempt that exceeded the time limit."""
    return (
        f"{address} did not answer within {seconds:g} s: check host, port and firewall, and check that the broker is "
        "healthy"
    )


def explain_invalid_address(address: Address, error: ValueError) -> str:
    """Return a message for an address with an invalid host or port."""
    reason = "the host is not a valid name" if isinstance(error, UnicodeError) else str(error)
    shown = f"{address.host!r}:{address.port}"
    return f"{shown} is not an address ({reason}): correct the address, or the advertised.listeners of the broker"


def describe_break(error: BaseException) -> str:
    """Return why a connection broke, such as ` (Connection reset by peer)`; empty if the error contains no reason."""
    if isinstance(error, ssl.SSLError) and (alert := _alert(error)):
        return f" (TLS: {alert})"
    return f" ({error.strerror})" if isinstance(error, OSError) and error.strerror else ""


def explain_hang_up(address: Address, settings: ClientSettings) -> str:
    """Return a message for a connection that the server closed without a response."""
    if settings.tls is not None:
        return (
            f"{address} closed the connection during the TLS handshake: the port may use plain text; "
            f"{ADVICE_USE_PLAINTEXT}"
        )
    return (
        f"{address} closed the connection without a response: the port may not be Kafka's, or it may require TLS; "
        f"{ADVICE_USE_TLS}"
    )


def explain_certificate(address: Address, error: ssl.SSLCertVerificationError) -> str:
    """Return a message for a broker's certificate that failed the verification."""
    reason = error.verify_message.rstrip(".")
    if error.verify_code in _WRONG_NAME:
        return (
            f"the certificate of {address} is for another host name ({reason}): use a name that is in the certificate; "
            f"to see its names, run openssl s_client -connect {address} </dev/null | openssl x509 -noout -text; "
            "ssl.endpoint.identification.algorithm= (empty) switches this check off"
        )
    if error.verify_code == _EXPIRED:
        return (
            f"a certificate of {address} has expired: renew the certificate of the broker or of its CA, or check this "
            "machine's clock"
        )
    if error.verify_code == _NOT_YET_VALID:
        return f"a certificate of {address} is not valid yet: check the clocks of this machine and of the CA"
    return (
        f"the certificate of {address} is not trusted ({reason}): set ssl.truststore.type=PEM and "
        "ssl.truststore.location to a file with the certificate of its CA"
    )


def explain_tls_error(address: Address, error: ssl.SSLError, settings: ClientSettings) -> str:
    """Return a message for a failed TLS handshake."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return explain_certificate(address, error)
    reason = _alert(error)
    if any(mark in reason for mark in _NOT_TLS):
        return f"{address} does not speak TLS; {ADVICE_USE_PLAINTEXT}"
    if "ALERT" in reason and any(mark in reason for mark in _CLIENT_CERTIFICATE_ALERTS):
        return explain_rejection(address, f" ({reason})", settings)
    return f"the TLS handshake with {address} failed ({reason or error}): check TLS versions and ciphers on both sides"


def explain_rejection(address: Address, reason: str, settings: ClientSettings) -> str:
    """Return a message for a TLS handshake that the server aborted.

    The cause is probably that the client's certificate is missing, or that the server does not accept it.

    Args:
        reason: the server's reason, such as ` (UNKNOWN_CA)`, or empty.
    """
    rejected = f"{address} rejected kgtui in the TLS handshake{reason}"
    if settings.tls is not None and (settings.tls.key_file or settings.tls.key_pem):
        return (
            f"{rejected}: it might not accept the certificate in ssl.keystore.*; check that this certificate has not "
            "expired, and that the broker trusts its CA"
        )
    return f"{rejected}: it may require a client certificate; set ssl.keystore.type=PEM and ssl.keystore.location=FILE"


def explain_login_required(address: Address, settings: ClientSettings) -> str:
    """Return a message for a broker that answers an ApiVersions request, but closes the connection at the next request.

    The cause is probably that the port requires a login (SASL).
    """
    protocol = "SASL_SSL" if settings.tls is not None else "SASL_PLAINTEXT"
    return (
        f"{address} is a Kafka broker that closed the connection after its first response: it probably requires a "
        f"login; use --command-config with security.protocol={protocol}, sasl.mechanism and sasl.jaas.config"
    )


def explain_not_kafka(address: Address, protocol: str) -> str:
    """Return a message for a port that does not use Kafka's protocol in plain text.

    Either the port uses TLS although kgtui is configured for plain text, or it is not a Kafka port.

    Args:
        protocol: `TLS`, or a phrase for the server on the port, such as "an HTTP server".
    """
    if protocol == "TLS":
        return f"{address} uses TLS, but kgtui is configured for plain text; {ADVICE_USE_TLS}"
    return f"{address} is not a Kafka port: {protocol} answers there; check host and port"


def response_start(error: asyncio.IncompleteReadError | ResponseTooLargeError) -> bytes:
    """Return the first bytes of a truncated or too large response. The first four bytes are its length field."""
    if isinstance(error, ResponseTooLargeError):
        return error.size.to_bytes(4, "big", signed=True)
    if error.expected is None or error.expected == len(b"size"):
        return error.partial
    return error.expected.to_bytes(4, "big", signed=error.expected < 0) + error.partial


def name_foreign_protocol(start: bytes) -> str:
    """Recognize TLS, or a protocol other than Kafka's, from the first bytes that a server sends.

    Returns:
        `TLS`, or a phrase such as "an HTTP server"; empty if kgtui does not recognize the bytes.
    """
    if start[:2] in (b"\x15\x03", b"\x16\x03"):
        return "TLS"
    if start.startswith(b"HTTP"):
        return "an HTTP server"
    if start.startswith(b"SSH-"):
        return "an SSH server"
    if len(start) >= len(b"220 ") and start[:4].decode("ascii", "replace").isprintable():
        return f"a server that sends {start[:12].decode('ascii', 'replace')!r}"
    return ""


def _alert(error: ssl.SSLError) -> str:
    return error.reason or ""


PROBE_TIMEOUT = 3.0
"""Time limit of `probe` for all three steps (connect, response, TLS handshake), in seconds."""

_CORRELATION_ID = 0x6B677475
_READ_SIZE = 32
_ENOUGH_BYTES = 8
"""Number of bytes that kgtui needs to recognize a Kafka response: length field and correlation id, 4 bytes each."""


class Peer(Enum):
    """The kind of server that listens on a port."""

    KAFKA = "a Kafka node that does not use TLS"
    TLS = "a server that uses TLS"
    FOREIGN = "a server that uses a known protocol other than Kafka's, without TLS"
    SILENT = "a server that accepts connections and sends nothing"
    HANGS_UP = "a server that accepts connections and closes them without a response that kgtui recognizes"
    UNKNOWN = "a server that closes plain connections without a response, and has not completed a TLS handshake in time"
    UNREACHABLE = "a server to which kgtui cannot connect"


async def explain_with_probe(error: ConnectError, address: Address, settings: ClientSettings) -> ConnectError:
    """Connect again to find out what kind of server listens at an address. Return an error with a clearer message.

    Args:
        error: error of the first attempt to connect. It is returned unchanged if its cause is already clear (then kgtui
            does not connect again), or if the second attempt does not show the cause.
    """
    if not _ambiguous(error.__cause__):
        return error
    peer, protocol = await probe(address, timeout=PROBE_TIMEOUT)
    if isinstance(error.__cause__, ResponseTooLargeError) and peer not in {Peer.FOREIGN, Peer.TLS}:
        # `error` says that a response is too large: kgtui has read its first four bytes as a size. With TLS or another
        # foreign protocol, these bytes would not be a size. The probe has found neither, so `error` is right.
        return error
    message = _explain_peer(peer, protocol, address, settings)
    if peer is Peer.TLS and not message and isinstance(error.__cause__, (EOFError, ConnectionError)):
        message = explain_rejection(address, "", settings)
    return ConnectError(message, address=str(address)) if message else error


async def probe(address: Address, *, timeout: float) -> tuple[Peer, str]:
    """Connect to an address, and find out what kind of server listens there.

    Args:
        timeout: time limit, in seconds. Each of the three steps (connect, response, TLS handshake) gets a third of
            this time, plus the time that earlier steps have not used.

    Returns:
        `(kind, phrase)`. For `Peer.FOREIGN`, the phrase is a description such as "an HTTP server". Otherwise, it is
        empty.
    """
    start = asyncio.get_running_loop().time()
    try:
        async with asyncio.timeout_at(start + timeout / 3):
            reader, writer = await asyncio.open_connection(address.host, address.port)
    except (TimeoutError, OSError):
        return Peer.UNREACHABLE, ""
    try:
        async with asyncio.timeout_at(start + timeout * 2 / 3):
            peer, protocol = _recognize(await _answer_to_api_versions(reader, writer))
    except TimeoutError:
        peer, protocol = Peer.SILENT, ""
    finally:
        writer.transport.abort()
    if peer in {Peer.SILENT, Peer.HANGS_UP}:
        try:
            async with asyncio.timeout_at(start + timeout):
                if await _answers_in_tls(address):
                    peer = Peer.TLS
        except TimeoutError:
            # A server that closes plaintext connections (`HANGS_UP`) might use TLS. Perhaps it was
            # only too busy to answer the TLS client hello in time. Therefore, report the kind of
            # server as unknown.
            if peer is Peer.HANGS_UP:
                peer = Peer.UNKNOWN
    return peer, protocol


async def _answer_to_api_versions(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
    """Send ApiVersions in plain text, and return the first bytes of the response; empty if there is no response."""
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


async def _answers_in_tls(address: Address) -> bool:
    """Return whether the server answers a TLS client hello with TLS. A TLS alert counts as an answer."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        _, writer = await asyncio.open_connection(address.host, address.port, ssl=context)
    except ssl.SSLError as error:
        return "ALERT" in (error.reason or "")
    except TimeoutError:
        raise
    except OSError:
        return False
    writer.transport.abort()
    return True


def _ambiguous(cause: BaseException | None) -> bool:
    match cause:
        case ssl.SSLCertVerificationError():
            return False
        case TimeoutError() | EOFError() | ConnectionResetError() | ConnectionAbortedError() | BrokenPipeError():
            return True
        case ResponseTooLargeError():
            return True
        case ssl.SSLError():
            return "ALERT" not in (cause.reason or "")
    return False


def _explain_peer(peer: Peer, protocol: str, address: Address, settings: ClientSettings) -> str:
    match peer:
        case Peer.FOREIGN:
            return explain_not_kafka(address, protocol)
        case Peer.TLS if settings.tls is None:
            return explain_not_kafka(address, "TLS")
        case Peer.KAFKA if settings.tls is not None:
            return f"{address} uses plain text, not TLS; {ADVICE_USE_PLAINTEXT}"
        case Peer.SILENT:
            return (
                f"{address} accepts connections but sends nothing: it may be overloaded or stopped, or the port may "
                "not be Kafka's"
            )
        case Peer.HANGS_UP:
            return (
                f"{address} closes the connection without a response: the port may not be Kafka's, or it may belong to "
                "a proxy that does not reach a broker"
            )
    return ""
