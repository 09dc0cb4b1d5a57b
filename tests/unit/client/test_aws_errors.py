"""Tests of the errors for unusable AWS credentials, and of signing tokens with changed AWS credentials."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from types import SimpleNamespace
from typing import TYPE_CHECKING

import botocore.credentials
import botocore.tokens
import pytest
from botocore.session import Session

from kgtui.client import tokens as tokens_module
from kgtui.client.address import Address
from kgtui.client.client_settings import from_properties
from kgtui.client.login import Login
from kgtui.client.msk_iam import explain_refused_request
from kgtui.errors import ConnectError
from tests.aws import BROKER, KEY_ID, SECRET, failure, fields_of, isolate_aws, properties_of, tokens_of
from tests.unit.client.test_login import FakeConnection

if TYPE_CHECKING:
    from pathlib import Path

SSO = """
[sso-session corp]
sso_start_url = https://corp.awsapps.com/start
sso_region = eu-central-1
sso_registration_scopes = sso:account:access
[profile admin]
sso_session = corp
sso_account_id = 1
sso_role_name = admin
[profile old]
sso_start_url = https://corp.awsapps.com/start
sso_region = eu-central-1
sso_account_id = 1
sso_role_name = admin
[profile role]
role_arn = arn:aws:iam::1:role/r
source_profile = admin
"""
"""AWS configuration file with three profiles: `admin` and `old` log in with SSO, and `role` assumes a role as `admin`.

`old` is in the old format, in which a profile has its own SSO settings instead of the name of an SSO session.
"""


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate_aws(monkeypatch, tmp_path)


@pytest.fixture
def sso_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Make AWS SSO unreachable, and return the folder from which botocore reads SSO tokens."""
    (tmp_path / "config").write_text(SSO)
    for provider in (botocore.credentials.SSOProvider, botocore.tokens.SSOTokenProvider):
        monkeypatch.setattr(provider, "_SSO_TOKEN_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("AWS_ENDPOINT_URL_SSO", "http://127.0.0.1:9")
    return tmp_path


def write_sso_token(folder: Path, session: str, expires: str) -> None:
    """Write a token file as `aws sso login` does.

    `session` is the name of the SSO session, or the start URL for a profile in the old format, which has no session.
    """
    token = {"startUrl": "https://corp.awsapps.com/start", "accessToken": SECRET, "expiresAt": expires}
    name = hashlib.sha1(session.encode(), usedforsecurity=False).hexdigest()
    (folder / f"{name}.json").write_text(json.dumps(token))


@pytest.mark.parametrize(("profile", "logged_in"), [("admin", "admin"), ("old", "old"), ("role", "admin")])
async def test_error_for_an_expired_sso_session_gives_the_login_command(
    sso_cache: Path, profile: str, logged_in: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """The profile `role` has no SSO settings, so the user must log in to its source profile `admin`."""
    expected = f"the SSO session of the AWS profile '{logged_in}' has ended: run `aws sso login --profile {logged_in}`"
    properties = properties_of(f'awsProfileName="{profile}"')
    assert await failure(properties) == expected
    for session in ("corp", "https://corp.awsapps.com/start"):
        write_sso_token(sso_cache, session, "2020-01-01T00:00:00Z")
    assert await failure(properties) == expected
    for session in ("corp", "https://corp.awsapps.com/start"):
        write_sso_token(sso_cache, session, "2099-01-01T00:00:00Z")
    assert "Could not connect to the endpoint URL" in (message := await failure(properties))
    assert message.endswith("): check network, proxy and firewall")
    assert capfd.readouterr() == ("", ""), "botocore must not print to the terminal"


@pytest.mark.usefixtures("sso_cache")
@pytest.mark.parametrize(
    ("operation", "profile", "advice"),
    [
        (
            "CreateToken",
            "role",
            "the SSO session of the AWS profile 'admin' has ended: run `aws sso login --profile admin`",
        ),
        (
            "GetRoleCredentials",
            "admin",
            "check that your SSO user has access to the account sso_account_id with the role",
        ),
        ("AssumeRole", "role", "AWS refused AssumeRole (Denied): check role_arn of the AWS profile 'role', the trust"),
        (
            "AssumeRole",
            "",
            "AWS refused AssumeRole (Denied): check awsRoleArn in sasl.jaas.config, the trust policy of",
        ),
    ],
)
def test_error_for_a_refused_aws_request_says_what_to_do(operation: str, profile: str, advice: str) -> None:
    assert advice in explain_refused_request(operation, "Denied", Session(profile=profile or None), profile)


async def test_changed_aws_credentials_are_used_to_sign_the_next_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """kgtui signs a new token near the end of the current token's lifetime.

    If a broker refuses the token, kgtui signs a new token as soon as the refused token is ten seconds old.
    """
    now = time.time()
    clock = [now]
    monkeypatch.setattr(tokens_module, "time", SimpleNamespace(time=lambda: clock[0]))
    tokens = tokens_of(properties_of())

    async def key_id_of(rotated: str, later: float) -> str:
        (tmp_path / "credentials").write_text(f"[default]\naws_access_key_id = {rotated}\naws_secret_access_key = x\n")
        clock[0] = now + later
        text = str.__str__((await tokens.get(BROKER)).text.reveal())
        url = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
        return fields_of(url)["X-Amz-Credential"].partition("/")[0]

    assert await key_id_of("FIRST", 0) == "FIRST"
    assert await key_id_of("SECOND", 9) == "FIRST"
    tokens.refuse()
    assert await key_id_of("SECOND", 9.9) == "FIRST"
    assert await key_id_of("SECOND", 10) == "SECOND"
    assert await key_id_of("THIRD", 600) == "SECOND"
    assert await key_id_of("THIRD", 800) == "THIRD"


async def test_refused_token_is_replaced_only_after_a_pause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The test deletes the AWS credentials after a broker refused the token.

    During the pause of 10 s, `Login.prepare` still succeeds, because it keeps the refused token. After the pause,
    `Login.prepare` fails, because it needs the credentials to sign a new token.
    """
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY_ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    login, address = Login(from_properties(properties_of())), Address(BROKER, 9098)
    await login.prepare(address)
    with pytest.raises(ConnectError, match="refused the AWS credentials"):
        await login.run(FakeConnection({"ErrorCode": 58, "ErrorMessage": None}), address)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    await login.prepare(address)
    monkeypatch.setattr(tokens_module, "RETRY_PAUSE", 0.0)
    with pytest.raises(ConnectError, match="none were found"):
        await login.prepare(address)
