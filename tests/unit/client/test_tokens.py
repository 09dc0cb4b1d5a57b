"""Tests of OAUTHBEARER tokens: where they come from, when they are refreshed, and errors of token requests."""

from __future__ import annotations

import asyncio
import base64
import email.utils
import json
import socket
import socketserver
import ssl
import subprocess
import sys
import threading
import time
import traceback
from math import inf
from types import SimpleNamespace
from typing import TYPE_CHECKING, Literal

import pytest

from kgtui.client import tokens as tokens_module
from kgtui.client.claims import claims_of
from kgtui.client.client_settings import from_properties
from kgtui.client.tokens import Tokens
from kgtui.errors import ConfigError, ConnectError
from tests.brokers.certificates import make_certificates
from tests.event_loop import longer_if_busy
from tests.token_server import SECRET, TokenServer, token_server, unsigned_token

if TYPE_CHECKING:
    from pathlib import Path

JAAS = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"


def source(properties: dict[str, str]) -> Tokens:
    oauth = from_properties(properties).oauth
    assert oauth is not None
    assert SECRET not in repr(oauth)
    return Tokens(oauth)


async def failure(properties: dict[str, str]) -> str:
    """Assert that a token request fails, and that the traceback contains no secret. Return the error message."""
    with pytest.raises(ConnectError) as caught:
        await source(properties).get()
    text = "".join(traceback.format_exception(caught.value))
    assert SECRET not in text
    assert base64.b64encode(f"team:{SECRET}".encode()).decode() not in text
    return str(caught.value)


async def test_client_credentials_and_scope_are_sent_to_the_oauth_token_endpoint(endpoint: TokenServer) -> None:
    token = await source(endpoint.properties(**{"sasl.oauthbearer.scope": "kafka read"})).get()
    assert claims_of(token.text.reveal())["sub"] == "team"
    assert token.expires == pytest.approx(time.time() + 3600, abs=60)
    ((headers, form),) = endpoint.received
    assert headers["Authorization"] == "Basic " + base64.b64encode(f"team:{SECRET}".encode()).decode()
    assert form == {"grant_type": ["client_credentials"], "scope": ["kafka read"]}


async def test_oauth_options_are_read_from_sasl_jaas_config(endpoint: TokenServer) -> None:
    """Kafka's clients before 4.1 read client id, secret and scope only from `sasl.jaas.config` (KIP-768)."""
    properties = endpoint.properties(**{"sasl.oauthbearer.header.urlencode": "true"})
    for name in ("id", "secret"):
        del properties[f"sasl.oauthbearer.client.credentials.client.{name}"]
    properties["sasl.jaas.config"] = f'{JAAS} clientId="old" clientSecret="{SECRET}" scope="s" extension_tenant="t";'
    oauth = from_properties(properties).oauth
    assert oauth is not None
    assert oauth.extensions == (("tenant", "t"),)
    await Tokens(oauth).get()
    ((headers, form),) = endpoint.received
    assert base64.b64decode(headers["Authorization"].removeprefix("Basic ")) == b"old:cl1ent-S3cret%2F%2B"
    assert form["scope"] == ["s"]


async def test_tls_options_of_sasl_jaas_config_are_used_for_the_token_endpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "*")
    certificates = make_certificates(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.server)
    options = f'ssl.truststore.type="PEM" ssl.truststore.location="{certificates.authority}"'
    with token_server(context) as endpoint:
        trusting = endpoint.properties(**{"sasl.jaas.config": f"{JAAS} {options};"})
        assert claims_of((await source(trusting).get()).text.reveal())["sub"] == "team"
        message = await failure(endpoint.properties())
    assert "has a certificate that is not trusted (" in message
    assert "set the options ssl.truststore.location and ssl.truststore.type in sasl.jaas.config" in message
    assert len(endpoint.received) == 1


async def test_an_oauth_token_is_read_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "my token"
    file.write_text(unsigned_token(sub="team") + "\n")
    properties = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": f"{JAAS};",
        "sasl.oauthbearer.token.endpoint.url": file.as_uri(),
    }
    assert claims_of((await source(properties).get()).text.reveal())["sub"] == "team"
    file.unlink()
    assert "my%20token: No such file or directory; expected a file with a token" in await failure(properties)


async def test_an_unsigned_token_is_created_if_no_token_endpoint_is_configured() -> None:
    options = 'unsecuredLoginStringClaim_sub="team" unsecuredLoginNumberClaim_n="2" unsecuredLoginLifetimeSeconds="60"'
    properties = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": f"{JAAS} {options};",
    }
    claims = claims_of((await source(properties).get()).text.reveal())
    assert (claims["sub"], claims["n"], claims["exp"] - claims["iat"]) == ("team", 2, 60)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"sasl.oauthbearer.token.endpoint.url": ""}, "sasl.oauthbearer.token.endpoint.url is missing: set it to"),
        ({"sasl.oauthbearer.token.endpoint.url": "idp/token"}, "idp/token is not a URL of a token endpoint"),
        *(
            ({"sasl.oauthbearer.token.endpoint.url": url}, f"url={url} is not a URL of a token endpoint: write")
            for url in ("http://[idp/", "http://a..idp/", "http://idp/é", "file:///a%00b")
        ),
        ({"sasl.oauthbearer.token.endpoint.url": f"u:{SECRET}@idp"}, "url=… is not a URL of a token endpoint"),
        ({"sasl.oauthbearer.token.endpoint.url": f"http://u:{SECRET}@idp/t"}, "url=… is not a URL of a token endpoint"),
        ({"sasl.oauthbearer.token.endpoint.url": "http://u:p@idp/t"}, "url contains a user name or password"),
        ({"sasl.oauthbearer.client.credentials.client.id": ""}, "client.id is missing: set it, or the option clientId"),
        (
            {"sasl.oauthbearer.client.credentials.client.secret": ""},
            "client.secret is missing: set it, or the option clientSecret in sasl.jaas.config",
        ),
        ({"sasl.oauthbearer.jwt.retriever.class": "x.Own"}, "Own is not supported: use one of DefaultJwtRetriever"),
        ({"sasl.jaas.config": f'{JAAS} extension_auth="x";'}, "extension_auth is not a valid extension"),
        ({"sasl.login.read.timeout.ms": "1s"}, "sasl.login.read.timeout.ms=1s is not a number of milliseconds"),
        ({"sasl.login.connect.timeout.ms": "9" * 20}, "sasl.login.connect.timeout.ms=99999999999999999999 is not"),
        (
            {"sasl.login.callback.handler.class": "x.Own"},
            "sasl.login.callback.handler.class is not supported: kgtui cannot run",
        ),
    ],
)
def test_the_token_login_error_mentions_the_invalid_or_missing_property(more: dict[str, str], says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        from_properties(TokenServer("http://localhost:1/token").properties(**more))
    assert says in str(caught.value)
    assert SECRET not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    ("status", "body", "says"),
    [
        (401, '{"error": "invalid_client"}', "refused the client 'team' (HTTP 401, invalid_client): check client id"),
        (400, SECRET, "refused the client 'team' (HTTP 400): check client id, client secret and scope"),
        (404, "", "does not exist (HTTP 404): check sasl.oauthbearer.token.endpoint.url"),
        (302, "", "redirects to another URL (HTTP 302): set sasl.oauthbearer.token.endpoint.url to that URL"),
        (503, "", "failed (HTTP 503): try again later"),
        (200, "<html>hello</html>", "returned application/json with content that is not valid JSON: check sasl"),
        (200, "[" * 100_000, "returned application/json with content that is not valid JSON"),
        (400, "[" * 100_000, "refused the client 'team' (HTTP 400): check client id"),
        (200, '{"token": "x"}', "returned JSON without access_token"),
        (200, "[]", "returned JSON without access_token"),
        (200, '{"access_token": "a b"}', "returned a token with characters that are not allowed in a token"),
        (200, " " * 1_000_001, "returned more than 1,000,000 bytes"),
    ],
)
async def test_the_token_error_says_why_the_response_of_the_endpoint_is_unusable(
    endpoint: TokenServer, status: int, body: str, says: str
) -> None:
    endpoint.status, endpoint.body = status, body
    endpoint.headers["Location"] = endpoint.url
    message = await failure(endpoint.properties())
    assert endpoint.url in message
    assert says in message


@pytest.mark.parametrize("date", ["Mon, 01 Jan 2024 00:00:00 +99999999999999", "Mon, 01 Jan 99999999999 00:00:00 GMT"])
async def test_invalid_date_header_and_expires_in_field_of_a_token_response_are_ignored(
    endpoint: TokenServer, date: str
) -> None:
    nested = base64.urlsafe_b64encode(b"[" * 100_000).decode().rstrip("=")
    endpoint.headers["Date"] = date
    endpoint.body = f'{{"access_token": "a.{nested}.c", "expires_in": 1{"0" * 400}}}'
    token = await source(endpoint.properties()).get()
    assert (token.expires, token.ahead) == (inf, 0.0)


async def test_the_token_error_says_that_the_endpoint_is_down_or_silent(endpoint: TokenServer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    down = endpoint.properties(**{"sasl.oauthbearer.token.endpoint.url": f"http://127.0.0.1:{port}/"})
    advice = "check the URL, and check that the identity provider is running"
    assert f"refused the connection: {advice}" in await failure(down)
    with socketserver.TCPServer(("127.0.0.1", 0), socketserver.BaseRequestHandler) as closing:
        threading.Thread(target=closing.handle_request).start()
        url = f"http://127.0.0.1:{closing.server_address[1]}/"
        message = await failure(endpoint.properties(**{"sasl.oauthbearer.token.endpoint.url": url}))
        assert "closed the connection without a response: check host, port and scheme" in message
    tls = endpoint.properties(**{"sasl.oauthbearer.token.endpoint.url": endpoint.url.replace("http:", "https:")})
    assert "cannot be reached with TLS" in await failure(tls)
    endpoint.pause = 1.0
    silent = endpoint.properties(**{"sasl.login.read.timeout.ms": "100"})
    assert "did not answer within 0.1 s: check the URL, network and firewall" in await failure(silent)


@pytest.mark.parametrize("tls", [False, True], ids=["http", "https"])
@pytest.mark.parametrize("part", ["status", "body"])
@longer_if_busy(0.2)
async def test_token_request_times_out_if_the_response_arrives_byte_by_byte(
    part: Literal["status", "body"], tls: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, timeout: float
) -> None:
    """From `part` on, the response arrives slowly, but each byte arrives within `sasl.login.read.timeout.ms`.

    The time limit for the whole response is twice `sasl.login.read.timeout.ms`.
    """
    monkeypatch.setenv("no_proxy", "*")
    context, options = None, ""
    if tls:
        certificates = make_certificates(tmp_path)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificates.server)
        options = f'ssl.truststore.type="PEM" ssl.truststore.location="{certificates.authority}"'
    with token_server(context) as endpoint:
        endpoint.drip = part
        # The server sends one byte per 20 ms, so the complete response would take at least 100 s.
        endpoint.headers["Padding"], endpoint.claims["padding"] = "-" * 5_000, "-" * 5_000
        started = time.monotonic()
        more = {"sasl.login.read.timeout.ms": f"{1000 * timeout:.0f}", "sasl.jaas.config": f"{JAAS} {options};"}
        message = await failure(endpoint.properties(**more))
        assert (
            f"did not complete its response within {2 * timeout:g} s: check the URL, and the log of the identity"
            in message
        )
        assert time.monotonic() - started < 60


@longer_if_busy(0.2)
async def test_http_error_of_a_token_endpoint_with_a_slow_body_is_reported(
    endpoint: TokenServer, timeout: float
) -> None:
    endpoint.status, endpoint.body, endpoint.drip = 401, '{"error": "invalid_client"}' + " " * 100, "body"
    message = await failure(endpoint.properties(**{"sasl.login.read.timeout.ms": f"{1000 * timeout:.0f}"}))
    assert "refused the client 'team' (HTTP 401): check client id, client secret and scope" in message


def test_the_program_exits_without_waiting_for_a_silent_token_endpoint(endpoint: TokenServer) -> None:
    program = """
import asyncio, sys
from kgtui.client.oauth import OAuth
from kgtui.client.tokens import Tokens

async def main():
    async with asyncio.timeout(0.3):
        await Tokens(OAuth(sys.argv[1])).get()

asyncio.run(main())
"""
    endpoint.pause = 60.0
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", program, endpoint.url], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr.rstrip().endswith("TimeoutError")
    assert time.monotonic() - started < 50


async def test_error_for_an_expired_or_not_yet_valid_token_mentions_the_client_clock(endpoint: TokenServer) -> None:
    now = int(time.time())
    endpoint.claims["exp"] = now - 60
    assert "expired at 20" in (message := await failure(endpoint.properties()))
    assert "check for how long the tokens are valid, and check the clock of this machine" in message
    endpoint.claims["exp"], endpoint.claims["nbf"] = now + 9000, now + 600
    endpoint.headers["Date"] = email.utils.formatdate(now + 610, usegmt=True)
    message = await failure(endpoint.properties())
    assert "is not valid before 20" in message
    assert "the clock of this machine differs from that of the token endpoint by 6" in message


async def test_an_oauth_token_is_refreshed_before_it_expires(
    endpoint: TokenServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    clock = [now]
    monkeypatch.setattr(time, "time", lambda: clock[0])
    endpoint.body = json.dumps({"access_token": "first", "expires_in": 1000})
    cache = source(endpoint.properties())
    assert (await cache.get()).text.reveal() == "first"
    endpoint.body = json.dumps({"access_token": "second", "expires_in": 1000})
    clock[0] = now + 790
    assert (await cache.get()).text.reveal() == "first"
    clock[0] = now + 860
    assert (await cache.get()).text.reveal() == "second"
    assert len(endpoint.received) == 2


async def test_an_oauth_token_is_used_until_it_expires_if_refreshing_it_fails(
    endpoint: TokenServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    clock = [now]
    monkeypatch.setattr(time, "time", lambda: clock[0])
    endpoint.body = json.dumps({"access_token": "first", "expires_in": 1000})
    cache = source(endpoint.properties())
    await cache.get()
    endpoint.status = 503
    clock[0] = now + 900
    assert (await cache.get()).text.reveal() == "first"
    assert (await cache.get()).text.reveal() == "first"
    assert len(endpoint.received) == 2, "the endpoint was asked again without a pause"
    clock[0] = now + 1001
    with pytest.raises(ConnectError, match="HTTP 503"):
        await cache.get()


async def test_the_expiry_time_of_a_token_is_corrected_for_a_wrong_client_clock(
    endpoint: TokenServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The token is valid for 1,000 s. The client's clock is 1,000 s behind, so the token seems valid for 2,000 s.

    kgtui computes the clock difference from the header `Date` of the token response.
    """
    now = time.time()
    clock = [now]
    monkeypatch.setattr(tokens_module, "time", SimpleNamespace(time=lambda: clock[0]))
    endpoint.claims["exp"] = now + 2000
    endpoint.headers["Date"] = email.utils.formatdate(now + 1000, usegmt=True)
    tokens = source(endpoint.properties())
    assert (await tokens.get()).expires == pytest.approx(now + 1000, abs=2)
    assert "the clock of this machine differs from that of the token endpoint by " in tokens.advice()
    clock[0] = now + 860
    await tokens.get()
    assert len(endpoint.received) == 2


async def test_concurrent_logins_send_only_one_token_request(endpoint: TokenServer) -> None:
    cache = source(endpoint.properties())
    endpoint.pause = 0.1
    found = await asyncio.gather(*(cache.get() for _ in range(10)))
    assert len(set(map(id, found))) == len(endpoint.received) == 1
