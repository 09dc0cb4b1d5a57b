"""An OAuth token endpoint on this machine, for tests of logins with OAUTHBEARER."""

from __future__ import annotations

import base64
import json
import sys
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import parse_qs

from tests.signed_tokens import sign

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Iterator

    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

SECRET = "cl1ent-S3cret/+"
"""Client secret in the client properties that `TokenServer.properties` returns."""


def unsigned_token(**claims: Any) -> str:
    """Return a JSON Web Token without a signature. By default, the token is issued now and expires in one hour.

    `claims` replace or extend the default claims.
    """
    now = int(time.time())
    parts = ({"alg": "none"}, {"iat": now, "exp": now + 3600, **claims})
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts) + "."


@dataclass
class TokenServer:
    """A token endpoint. Tests set the attributes to choose its next responses, and read `received`.

    Attributes:
        status: HTTP status of the response.
        body: body of the response; None to send a token with `claims`.
        claims: claims in the tokens.
        lifetime: lifetime of the tokens in seconds. An `exp` in `claims` overrides the expiry time in the tokens.
        accepts: function that takes the form fields, and returns whether the client is authenticated. If not, the
            response is the error `invalid_grant`.
        signed_with: `(private key, key id)` with which the tokens are signed; None for tokens without a signature.
        pause: delay before the response is sent, in seconds.
        drip: first part of the response that is sent slowly, one byte per 20 ms: `status` (then all is slow), `body`
            (then only the body is slow), or None to send the whole response at once.
        received: header fields and form fields of each request.
    """

    url: str
    status: int = 200
    body: str | None = None
    headers: dict[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})
    claims: dict[str, Any] = field(default_factory=dict)
    lifetime: int = 3600
    accepts: Callable[[dict[str, list[str]]], bool] = lambda _: True
    signed_with: tuple[RSAPrivateKey, str] | None = None
    pause: float = 0.0
    drip: Literal["status", "body"] | None = None
    received: list[tuple[dict[str, str], dict[str, list[str]]]] = field(default_factory=list)

    def token(self) -> str:
        now = int(time.time())
        claims = {"iat": now, "exp": now + self.lifetime, **self.claims}
        return unsigned_token(**claims) if self.signed_with is None else sign(claims, *self.signed_with)

    def properties(self, client_id: str = "team", **more: str) -> dict[str, str]:
        """Return client properties that log in with a token from this endpoint. `more` are additional properties."""
        return {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.login.callback.handler.class": "org.apache.kafka.common.security.oauthbearer"
            ".OAuthBearerLoginCallbackHandler",
            "sasl.jaas.config": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;",
            "sasl.oauthbearer.token.endpoint.url": self.url,
            "sasl.oauthbearer.client.credentials.client.id": client_id,
            "sasl.oauthbearer.client.credentials.client.secret": SECRET,
            **more,
        }


class QuietServer(ThreadingHTTPServer):
    """An HTTP server that prints no error if a client closes its connection before the response is written."""

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Respond to requests in a separate thread while the `with` block runs."""
        thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield
        finally:
            self.shutdown()
            self.server_close()
            thread.join()


@contextmanager
def token_server(tls: ssl.SSLContext | None = None) -> Iterator[TokenServer]:
    """Run a token endpoint on a free port of 127.0.0.1, with HTTPS if `tls` is not None."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            size = int(self.headers["Content-Length"])
            form = parse_qs(self.rfile.read(size).decode())
            endpoint.received.append((dict(self.headers), form))
            time.sleep(endpoint.pause)
            status, body = endpoint.status, endpoint.body
            if not endpoint.accepts(form):
                status, body = 400, '{"error": "invalid_grant"}'
            elif body is None:
                body = json.dumps({"access_token": endpoint.token(), "expires_in": endpoint.lifetime})
            lines = [
                f"HTTP/1.0 {status} Test",
                *(f"{name}: {value}" for name, value in endpoint.headers.items()),
                "",
                "",
            ]
            self._send("\r\n".join(lines).encode(), endpoint.drip == "status")
            self._send(body.encode(), endpoint.drip is not None)

        def _send(self, data: bytes, one_by_one: bool) -> None:
            for part in (data[i : i + 1] for i in range(len(data))) if one_by_one else [data]:
                self.wfile.write(part)
                time.sleep(0.02 if one_by_one else 0)

        def log_message(self, *_: object) -> None:
            pass

    server = QuietServer(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    scheme = "http" if tls is None else "https"
    endpoint = TokenServer(f"{scheme}://127.0.0.1:{server.server_port}/token", claims={"sub": "team"})
    with server.running():
        yield endpoint
