"""Request a token from a token endpoint (OAuth 2.0).

The client proves its identity with one of these:
- client id and client secret (RFC 6749, section 4.4)
- a signed assertion, which is a JSON Web Token, instead of the client secret (RFC 7523, section 2.2)
- a signed assertion with the grant type `jwt-bearer` (RFC 7523, section 2.1)
"""

from __future__ import annotations

import base64
import email.utils
import json
import socket
import ssl
import threading
import time
import urllib.error
import urllib.request
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus, urlencode, urlsplit
from urllib.request import HTTPHandler, HTTPSHandler, Request

from kgtui.client.claims import clock_advice
from kgtui.errors import ConfigError, ConnectError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from email.message import Message
    from http.client import HTTPResponse

    from kgtui.client.oauth import OAuth


class HttpDeadline:
    """Shuts down the connections of an HTTP request that exceeds its time limit, so that a blocked read ends.

    Attributes:
        is_over: whether the time limit was exceeded. If so, later errors and incomplete data result from the shutdown.
    """

    def __init__(self) -> None:
        self.is_over = False
        self._connections: list[HTTPConnection] = []
        self._sockets: list[socket.socket] = []

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """Limit the duration of a `with` block. After this number of seconds, shut down the connections."""
        timer = threading.Timer(seconds, self._cut)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def handlers(self, context: ssl.SSLContext | None) -> tuple[HTTPHandler, HTTPSHandler]:
        """Return handlers for `urllib.request.build_opener` that obey the time limit.

        Args:
            context: TLS settings; None for the system's defaults.
        """
        plain = self._watched(HTTPConnection)
        encrypted = self._watched(HTTPSConnection)

        class Http(HTTPHandler):
            def http_open(self, req: Request) -> HTTPResponse:
                return self.do_open(plain, req)

        class Https(HTTPSHandler):
            def https_open(self, req: Request) -> HTTPResponse:
                return self.do_open(encrypted, req, context=context)

        return Http(), Https()

    def _watched(self, base: type[HTTPConnection]) -> type[HTTPConnection]:
        """Return a subclass of `base` that stores the sockets of its connections, so that `_cut` can shut them down."""
        deadline = self

        class Watched(base):  # type: ignore[valid-type,misc]  # mypy does not accept a variable as a base class
            def connect(self) -> None:
                deadline._connections.append(self)
                super().connect()
                # Store the socket, because `urllib.request` sets `self.sock` to None before the response body is read.
                deadline._sockets.append(self.sock)
                if deadline.is_over:
                    raise TimeoutError

        return Watched

    def _cut(self) -> None:
        self.is_over = True
        for found in [*self._sockets, *(connection.sock for connection in self._connections)]:
            if found is not None:
                with suppress(OSError):
                    # Do not call `SSLSocket.shutdown`, which changes the object `found` while another thread uses it.
                    socket.socket.shutdown(found, socket.SHUT_RDWR)


LIMIT = 1_000_000
"""Maximum size of a response of the token endpoint, in bytes."""

_LONGEST_LIFETIME = 1e10
"""Longest token lifetime that kgtui accepts in a response of the token endpoint, in seconds.

kgtui treats a longer lifetime as unknown. Without this limit, converting a huge integer to a float would fail.
"""

_CLIENT_CREDENTIALS = "client_credentials"
_JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"


@dataclass(frozen=True, slots=True)
class Response:
    """The token and the times in a successful response of a token endpoint.

    Attributes:
        lifetime: lifetime of the token, in seconds; None if unknown.
        clock: current time on the endpoint's clock, in seconds since the epoch; None if unknown.
    """

    token: str
    lifetime: float | None
    clock: float | None

    def __repr__(self) -> str:
        return f"Response(lifetime={self.lifetime}, clock={self.clock})"


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Turns a redirect into an error, because kgtui must not send its credentials to a different server."""

    def redirect_request(self, *_: Any) -> None:
        return None


def request_token(oauth: OAuth) -> Response:
    """Request a token. Blocks for at most `2 * oauth.timeout` seconds.

    Raises:
        ConnectError: the endpoint cannot be reached, refuses the client, or returns no token. The message contains no
            secret.
    """
    endpoint = f"the token endpoint {oauth.url}"
    context = None if oauth.tls is None else oauth.tls.context(urlsplit(oauth.url).hostname or "")
    deadline, limit = HttpDeadline(), 2 * oauth.timeout
    opener = urllib.request.build_opener(_NoRedirect(), *deadline.handlers(context))
    too_slow = (
        f"{endpoint} did not complete its response within {limit:g} s: check the URL, and the log of the identity "
        "provider"
    )
    with deadline.within(limit):
        try:
            with opener.open(_request(oauth), timeout=oauth.timeout) as response:
                content, headers = response.read(LIMIT + 1), response.headers
        except urllib.error.HTTPError as error:
            with error:
                problem = _explain_status(error, oauth, endpoint)
        except (OSError, HTTPException) as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            problem = too_slow if deadline.is_over else _explain(reason, oauth, endpoint)
        else:
            problem = too_slow if deadline.is_over else ""
    if problem:
        raise ConnectError(problem)
    return _parse(content, headers, endpoint)


def _request(oauth: OAuth) -> urllib.request.Request:
    headers = {
        "Accept": "application/json",
        "Content-Type": "application/x-www-form-urlencoded",
        "Cache-Control": "no-cache",
    }
    if oauth.assertion is None:
        credentials = [oauth.client_id, str.__str__(oauth.client_secret.reveal())]
        if oauth.urlencode:
            credentials = [quote_plus(text) for text in credentials]
        headers["Authorization"] = "Basic " + base64.b64encode(":".join(credentials).encode()).decode()
    return urllib.request.Request(  # noqa: S310 - `oauth_from_properties` has checked the scheme
        oauth.url, data=urlencode(_form(oauth)).encode(), headers=headers
    )


def _form(oauth: OAuth) -> dict[str, str]:
    scope = {"scope": oauth.scope} if oauth.scope else {}
    if oauth.assertion is None:
        return {"grant_type": _CLIENT_CREDENTIALS, **scope}
    from kgtui.client.assertion import create

    try:
        text = create(oauth.assertion)
    except ConfigError as error:
        raise ConnectError(str(error)) from None
    if oauth.jwt_bearer:
        return {"grant_type": _JWT_BEARER, "assertion": text, **scope}
    fields = {"client_assertion_type": _ASSERTION_TYPE, "client_assertion": text, "grant_type": _CLIENT_CREDENTIALS}
    return fields | ({"client_id": oauth.client_id} if oauth.client_id else {}) | scope


def _parse(content: bytes, headers: Message, endpoint: str) -> Response:
    advice = "check sasl.oauthbearer.token.endpoint.url"
    if len(content) > LIMIT:
        raise ConnectError(f"{endpoint} returned more than {LIMIT:,} bytes: {advice}")
    try:
        fields = json.loads(content)
    except (ValueError, RecursionError):
        raise ConnectError(
            f"{endpoint} returned {headers.get_content_type()} with content that is not valid JSON: {advice}"
        ) from None
    token = fields.get("access_token") or fields.get("id_token") if isinstance(fields, dict) else None
    if not isinstance(token, str):
        raise ConnectError(f"{endpoint} returned JSON without access_token: {advice}")
    lifetime = fields.get("expires_in")
    valid = isinstance(lifetime, (int, float)) and 0 < lifetime <= _LONGEST_LIFETIME
    return Response(token.strip(), float(lifetime) if valid else None, _clock(headers))


def _clock(headers: Message) -> float | None:
    """Return the time in the HTTP header `Date`, in seconds since the epoch; None if there is no valid `Date`."""
    try:
        return email.utils.parsedate_to_datetime(str(headers["Date"])).timestamp()
    except (TypeError, ValueError, OverflowError):
        return None


def _explain_status(error: urllib.error.HTTPError, oauth: OAuth, endpoint: str) -> str:
    if 300 <= error.code < 400:
        return (
            f"{endpoint} redirects to another URL (HTTP {error.code}): set sasl.oauthbearer.token.endpoint.url to that "
            "URL"
        )
    reason = _reason(error, oauth)
    if error.code in {400, 401, 403}:
        if oauth.assertion is not None:
            clock = _clock(error.headers)
            ahead = 0.0 if clock is None else clock - time.time()
            return (
                f"{endpoint} refused the assertion (HTTP {error.code}{reason}): check that the endpoint knows the "
                f"public key, and check the scope and the claims iss, sub and aud; {clock_advice(ahead)}"
            )
        return (
            f"{endpoint} refused the client {oauth.client_id!r} (HTTP {error.code}{reason}): check client id, client "
            "secret and scope"
        )
    if error.code in {404, 405}:
        return f"{endpoint} does not exist (HTTP {error.code}{reason}): check sasl.oauthbearer.token.endpoint.url"
    return f"{endpoint} failed (HTTP {error.code}{reason}): try again later, or see the log of the identity provider"


def _reason(error: urllib.error.HTTPError, oauth: OAuth) -> str:
    """Return a comma and the OAuth error code in a response, such as `, invalid_client`.

    The result is empty if there is no code, or if the code contains the client secret or unexpected characters.
    """
    try:
        code = json.loads(error.read(LIMIT))["error"]
    except (ValueError, KeyError, TypeError, RecursionError, OSError, HTTPException):
        return ""
    secret = str.__str__(oauth.client_secret.reveal())
    safe = isinstance(code, str) and code.replace("_", "").isalnum() and not (secret and secret in code)
    return f", {code}" if safe else ""


def _explain(reason: object, oauth: OAuth, endpoint: str) -> str:
    match reason:
        case ssl.SSLCertVerificationError():
            return (
                f"{endpoint} has a certificate that is not trusted ({reason.verify_message.rstrip('.')}): set the "
                "options ssl.truststore.location and ssl.truststore.type in sasl.jaas.config"
            )
        case ssl.SSLError():
            return (
                f"{endpoint} cannot be reached with TLS ({reason.reason}): check the scheme (http or https) of the URL"
            )
        case TimeoutError():
            return f"{endpoint} did not answer within {oauth.timeout:g} s: check the URL, network and firewall"
        case ConnectionRefusedError():
            return f"{endpoint} refused the connection: check the URL, and check that the identity provider is running"
        case ConnectionError():
            return (
                f"{endpoint} closed the connection without a response: check host, port and scheme (http or https) of "
                "the URL"
            )
        case OSError():
            problem = reason.strerror or "no reason given"
            return f"{endpoint} cannot be reached ({problem}): check the URL, network and proxy"
    return f"{endpoint} does not answer as an HTTP server does: check host, port and scheme of the URL"
