"""Why there is no connection, in words for a person: what was seen, and what to do next."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kgtui.client.address import Address
    from kgtui.client.security import Security

_ISSUER_UNKNOWN = frozenset({18, 19, 20, 21})
"""OpenSSL's codes for a chain that ends at nobody we trust."""
_EXPIRED = frozenset({9, 10})
_WRONG_NAME = frozenset({62, 63, 64})

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

SPEAKS_TLS = "set security.protocol=SSL (or SASL_SSL) in the command config, or use the plaintext port"
SPEAKS_PLAINTEXT = "set security.protocol=PLAINTEXT (or SASL_PLAINTEXT) in the command config, or use the TLS port"


def of_dial(address: Address, error: BaseException, security: Security) -> str:
    """Explain why no connection came about."""
    match error:
        case socket.gaierror():
            return (
                f"{address.host} does not resolve ({error.strerror}): check the name, and the DNS or /etc/hosts of "
                "this machine; a broker's own name comes from its advertised.listeners"
            )
        case ssl.SSLCertVerificationError():
            return of_certificate(address, error)
        case ssl.SSLError():
            return of_tls(address, error)
        case ConnectionRefusedError():
            return f"{address} refused the connection: nothing listens there; check the port and that the broker runs"
        case asyncio.IncompleteReadError() if seen := foreign(answer_start(error)):
            return not_kafka(address, seen)
        case OSError() if error.errno == errno.ENETUNREACH or error.errno == errno.EHOSTUNREACH:
            return f"{address} cannot be reached from here ({error.strerror}): check route, VPN and firewall"
        case EOFError() | ConnectionError():
            return of_hang_up(address, security)
        case OSError():
            # asyncio joins the failures of a name's several addresses into one message.
            return f"{address} cannot be connected to: {error.strerror or error}"
    return f"{address} answers, but not as a Kafka broker does ({type(error).__name__}): check host and port"


def of_silence(address: Address, seconds: float) -> str:
    """Explain a connection that was not finished in time."""
    return (
        f"{address} did not answer within {seconds:g} s: check host, port and firewall, and that the broker is healthy"
    )


def of_break(error: BaseException) -> str:
    """A bracketed reason for a connection that broke, empty if there is none worth telling."""
    if isinstance(error, ssl.SSLError) and (alert := _alert(error)):
        return f" (TLS: {alert})"
    return f" ({error.strerror})" if isinstance(error, OSError) and error.strerror else ""


def of_hang_up(address: Address, security: Security) -> str:
    """Explain a peer that closed the connection without a word."""
    if security.tls is not None:
        return f"{address} closed the connection during the TLS handshake; {SPEAKS_PLAINTEXT}"
    return f"{address} closed the connection without an answer: is that port Kafka's, and without TLS? {SPEAKS_TLS}"


def of_certificate(address: Address, error: ssl.SSLCertVerificationError) -> str:
    """Explain a certificate that was not accepted."""
    why = error.verify_message.rstrip(".")
    if error.verify_code in _WRONG_NAME:
        return (
            f"the certificate of {address} is for another name ({why}): connect by a name that it carries; "
            "ssl.endpoint.identification.algorithm= (empty) switches this check off"
        )
    if error.verify_code in _EXPIRED:
        return f"the certificate of {address} is not valid today ({why}): renew it, or check this machine's clock"
    return (
        f"the certificate of {address} is not trusted ({why}): name its CA with ssl.truststore.type=PEM and "
        "ssl.truststore.location=FILE"
    )


def of_tls(address: Address, error: ssl.SSLError) -> str:
    """Explain a failed TLS handshake."""
    reason = _alert(error)
    if any(mark in reason for mark in _NOT_TLS):
        return f"{address} does not speak TLS; {SPEAKS_PLAINTEXT}"
    if "ALERT" in reason and any(mark in reason for mark in _CLIENT_CERTIFICATE_ALERTS):
        return (
            f"{address} did not accept us in the TLS handshake ({reason}): it may want a client certificate; set "
            "ssl.keystore.type=PEM and ssl.keystore.location=FILE"
        )
    return f"the TLS handshake with {address} failed ({reason or error}): check TLS versions and ciphers on both sides"


def of_mechanism(address: Address, wanted: str, offered: str) -> str:
    """Explain a SASL mechanism that the broker does not have."""
    has = f"it offers {offered}" if offered else "it does not say which it has"
    return f"{address} does not offer the SASL mechanism {wanted}, {has}: set sasl.mechanism to one of those"


def of_login(address: Address, username: str) -> str:
    """Explain a refused name or password."""
    return f"{address} refused the login as {username!r}: check user name and password in sasl.jaas.config"


def of_no_login(address: Address) -> str:
    """Explain a listener without SASL."""
    return (
        f"{address} does not ask for a login there: use the SASL port, or set security.protocol to PLAINTEXT or SSL "
        "without SASL"
    )


def of_login_wanted(address: Address, security: Security) -> str:
    """Explain a listener that greets us and then hangs up, as one with SASL does."""
    wanted = "SASL_SSL" if security.tls is not None else "SASL_PLAINTEXT"
    return (
        f"{address} is Kafka, but closed the connection after the first answer: it probably wants a login; give "
        f"--command-config with security.protocol={wanted}, sasl.mechanism and sasl.jaas.config"
    )


def not_kafka(address: Address, seen: str) -> str:
    """Explain a port where something else answers."""
    if seen == "TLS":
        return f"{address} speaks TLS, and we do not; {SPEAKS_TLS}"
    return f"{address} is not a Kafka port: {seen} answers there; check host and port"


def answer_start(error: asyncio.IncompleteReadError) -> bytes:
    """The first bytes of an answer that was cut short: what should have been its length, and what came after."""
    if error.expected is None or error.expected == len(b"size"):
        return error.partial
    return error.expected.to_bytes(4, "big", signed=error.expected < 0) + error.partial


def foreign(start: bytes) -> str:
    """What answers so, if it is not Kafka: `TLS`, or a name; empty when it cannot be told."""
    if start[:2] in (b"\x15\x03", b"\x16\x03"):
        return "TLS"
    if start.startswith(b"HTTP"):
        return "an HTTP server"
    if start.startswith(b"SSH-"):
        return "an SSH server"
    if len(start) >= len(b"220 ") and start[:4].decode("ascii", "replace").isprintable():
        return "something that begins with " + repr(start[:12].decode("ascii", "replace"))
    return ""


def _alert(error: ssl.SSLError) -> str:
    return error.reason or ""
