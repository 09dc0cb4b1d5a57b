"""Helpers for tests of logins to Amazon MSK with IAM.

They isolate tests from this machine's AWS settings, and create client properties and tokens.
"""

from __future__ import annotations

import base64
import time
import traceback
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, parse_qsl, urlsplit

import pytest

from kgtui.client.client_settings import from_properties
from kgtui.client.msk_iam import HANDLER
from kgtui.client.tokens import Tokens
from kgtui.errors import ConnectError
from tests.token_server import QuietServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROLE_SECRET = "r0le-S3cret"
"""Secret access key in the credentials that the fake AWS STS (`sts_server`) returns for the role `ROLE`."""

KEY_ID, SECRET, SESSION = "AKIDEXAMPLE", "wJalr/S3cret+EXAMPLEKEY", "s3ss10n/t0ken=="
BROKER = "b-1.demo.abc123.c2.kafka.eu-central-1.amazonaws.com"
ROLE = "arn:aws:iam::123456789012:role/msk"
MODULE = "software.amazon.msk.auth.iam.IAMLoginModule required"
BEARER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"


def isolate_aws(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Make botocore (AWS's client library) read settings only from the files `config` and `credentials` in `folder`.

    Requests to AWS STS go to a local port without a server, so that they fail.
    """
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN"):
        monkeypatch.delenv(name, raising=False)
    for name in ("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(folder / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(folder / "credentials"))
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "*")


@contextmanager
def sts_server() -> Iterator[tuple[str, list[tuple[str, dict[str, list[str]]]]]]:
    """Run a local server that responds like AWS STS. Yield the server's URL, and the list of requests received so far.

    Each request in the list is a pair `(Authorization header, form fields)`.
    """
    received: list[tuple[str, dict[str, list[str]]]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            received.append((self.headers["Authorization"], form))
            status, body = _answer(form)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = QuietServer(("127.0.0.1", 0), Handler)
    with server.running():
        yield f"http://127.0.0.1:{server.server_port}", received


def _answer(form: dict[str, list[str]]) -> tuple[int, str]:
    """Return the HTTP status and the body of the response to an STS request with the form fields `form`."""
    if form["Action"] == ["GetCallerIdentity"]:
        return 200, f"<R><GetCallerIdentityResult><Arn>{ROLE}/me</Arn></GetCallerIdentityResult></R>"
    if form["RoleArn"] != [ROLE]:
        return 403, f"<R><Error><Code>AccessDenied</Code><Message>no {SECRET}</Message></Error></R>"
    given = {"AccessKeyId": "ASIAROLE", "SecretAccessKey": ROLE_SECRET, "SessionToken": SESSION}
    inner = "".join(f"<{name}>{value}</{name}>" for name, value in given.items())
    return 200, f"<R><AssumeRoleResult><Credentials>{inner}</Credentials></AssumeRoleResult></R>"


def properties_of(options: str = "", mechanism: str = "AWS_MSK_IAM") -> dict[str, str]:
    """Return the client properties that Amazon documents for the SASL mechanism `mechanism`.

    `options` are the options of the login module in `sasl.jaas.config`.
    """
    handler = (
        "sasl.login.callback.handler.class" if mechanism == "OAUTHBEARER" else "sasl.client.callback.handler.class"
    )
    value = HANDLER if mechanism == "OAUTHBEARER" else "software.amazon.msk.auth.iam.IAMClientCallbackHandler"
    return {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f"{BEARER if mechanism == 'OAUTHBEARER' else MODULE} {options};",
        handler: value,
    }


def tokens_of(properties: dict[str, str]) -> Tokens:
    settings = from_properties(properties)
    assert settings.mechanism == "OAUTHBEARER"
    assert settings.warnings == ()
    assert settings.oauth is not None
    assert SECRET not in repr(settings)
    return Tokens(settings.oauth)


async def signed_url(properties: dict[str, str], host: str = BROKER) -> str:
    """Request a token for the broker `host`; return the signed URL that the token contains in Base64."""
    token = await tokens_of(properties).get(host)
    assert token.expires == pytest.approx(time.time() + 900, abs=30)
    text = str.__str__(token.text.reveal())
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()


async def failure(properties: dict[str, str], host: str = BROKER) -> str:
    """Request a token for the broker `host`; return the message of the `ConnectError` that the request must raise.

    Assert that the traceback does not contain `SECRET`.
    """
    with pytest.raises(ConnectError) as caught:
        await tokens_of(properties).get(host)
    assert SECRET not in "".join(traceback.format_exception(caught.value))
    return str(caught.value)


def fields_of(url: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(url).query))
