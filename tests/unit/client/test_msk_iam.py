"""Tests of logins to Amazon MSK with IAM. A server on loopback replaces AWS STS, so that no test connects to AWS."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import threading
import traceback
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, quote, urlsplit

import pytest

from kgtui.client import msk_iam
from kgtui.client.address import Address
from kgtui.client.client_settings import from_properties
from kgtui.client.login import Login
from kgtui.client.msk_iam import MskIam, region_of
from kgtui.errors import ConfigError, ConnectError
from tests.aws import (
    BEARER,
    BROKER,
    KEY_ID,
    MODULE,
    ROLE,
    ROLE_SECRET,
    SECRET,
    SESSION,
    failure,
    fields_of,
    isolate_aws,
    properties_of,
    signed_url,
    sts_server,
    tokens_of,
)
from tests.unit.client import test_login
from tests.unit.client.test_login import FakeConnection

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    isolate_aws(monkeypatch, tmp_path)


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY_ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)


@pytest.fixture
def sts(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, dict[str, list[str]]]]]:
    """Run a server that imitates AWS STS (the service for temporary credentials).

    Yield a list with `(Authorization header, form fields)` of each request that the server has received.
    """
    with sts_server() as (url, received):
        monkeypatch.setenv("AWS_ENDPOINT_URL_STS", url)
        yield received


def signature_of(url: str, secret: str) -> str:
    """Compute the signature of a URL as Amazon documents it (Signature Version 4, with query parameters).

    The signature does not cover the parameter User-Agent, because Amazon's signers add this parameter after signing.
    """
    parts = urlsplit(url)
    unsigned = {"X-Amz-Signature", "User-Agent"}
    parameters = {name: value for name, value in parse_qsl(parts.query) if name not in unsigned}
    query = "&".join(
        f"{name}={value}"
        for name, value in sorted((quote(n, safe="-_.~"), quote(v, safe="-_.~")) for n, v in parameters.items())
    )
    empty = hashlib.sha256(b"").hexdigest()
    request = f"GET\n{parts.path}\n{query}\nhost:{parts.netloc}\n\nhost\n{empty}"
    _, date, region, service, end = parameters["X-Amz-Credential"].split("/")
    digest = hashlib.sha256(request.encode()).hexdigest()
    to_sign = f"AWS4-HMAC-SHA256\n{parameters['X-Amz-Date']}\n{date}/{region}/{service}/{end}\n{digest}"
    key = f"AWS4{secret}".encode()
    for part in (date, region, service, end, to_sign):
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return key.hex()


def test_the_aws_region_is_read_from_the_host_name_of_a_broker() -> None:
    for host, region in (
        (BROKER, "eu-central-1"),
        ("boot-abc.c3.kafka-serverless.us-east-1.amazonaws.com", "us-east-1"),
        ("B-2-public.x.y.c1.KAFKA.US-GOV-WEST-1.amazonaws.com", "us-gov-west-1"),
        ("b-1.x.y.c2.kafka.cn-north-1.amazonaws.com.cn", "cn-north-1"),
        ("kafka.us-east-1.example.com", ""),
        ("broker", ""),
    ):
        assert region_of(host) == region


@pytest.mark.usefixtures("credentials")
@pytest.mark.parametrize("mechanism", ["AWS_MSK_IAM", "OAUTHBEARER"])
async def test_msk_token_is_a_url_signed_with_the_aws_credentials(
    mechanism: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", SESSION)
    url = await signed_url(properties_of(mechanism=mechanism))
    fields = fields_of(url)
    assert url.startswith("https://kafka.eu-central-1.amazonaws.com/?")
    assert (fields["Action"], fields["X-Amz-Expires"]) == ("kafka-cluster:Connect", "900")
    assert (fields["X-Amz-Algorithm"], fields["X-Amz-SignedHeaders"]) == ("AWS4-HMAC-SHA256", "host")
    assert fields["X-Amz-Security-Token"] == SESSION
    key_id, _, *scope = fields["X-Amz-Credential"].split("/")
    assert (key_id, scope) == (KEY_ID, ["eu-central-1", "kafka-cluster", "aws4_request"])
    assert fields["X-Amz-Signature"] == signature_of(url, SECRET)
    assert fields["X-Amz-Signature"] != signature_of(url, f"{SECRET}x")
    assert fields["X-Amz-Signature"] != signature_of(url.replace("eu-central-1", "eu-central-2"), SECRET)


async def test_msk_token_uses_credentials_and_region_of_an_aws_profile(tmp_path: Path) -> None:
    """The host name of the broker contains no region, so the region is read from the profile."""
    (tmp_path / "credentials").write_text(f"[admin]\naws_access_key_id = AKIDADMIN\naws_secret_access_key = {SECRET}\n")
    (tmp_path / "config").write_text("[profile admin]\nregion = eu-north-1\n")
    url = await signed_url(properties_of('awsProfileName="admin" awsMaxRetries="3"'), "kafka.example")
    assert fields_of(url)["X-Amz-Credential"].startswith("AKIDADMIN/")
    assert url.startswith("https://kafka.eu-north-1.")
    assert fields_of(url)["X-Amz-Signature"] == signature_of(url, SECRET)


@pytest.mark.usefixtures("credentials")
async def test_msk_login_assumes_the_configured_role_with_the_configured_session_name(
    sts: list[tuple[str, dict[str, list[str]]]],
) -> None:
    options = f'awsRoleArn="{ROLE}" awsRoleSessionName="kgtui" awsRoleExternalId="x1" awsStsRegion="eu-west-2"'
    url = await signed_url(properties_of(options))
    assert fields_of(url)["X-Amz-Credential"].startswith("ASIAROLE/")
    assert fields_of(url)["X-Amz-Security-Token"] == SESSION
    assert fields_of(url)["X-Amz-Signature"] == signature_of(url, ROLE_SECRET)
    await signed_url(properties_of(f'awsRoleArn="{ROLE}" awsRoleAccessKeyId="AKIDROLE" awsRoleSecretAccessKey="k"'))
    (authorization, form), (other, plain) = sts
    assert f"Credential={KEY_ID}/" in authorization
    assert "/eu-west-2/sts/" in authorization
    assert (form["RoleArn"], form["RoleSessionName"], form["ExternalId"]) == ([ROLE], ["kgtui"], ["x1"])
    assert "Credential=AKIDROLE/" in other
    assert "/eu-central-1/sts/" in other
    assert plain["RoleSessionName"] == ["aws-msk-iam-auth"]


@pytest.mark.usefixtures("credentials", "sts")
async def test_error_for_a_refused_aws_role_gives_the_aws_error_code() -> None:
    message = await failure(properties_of('awsRoleArn="arn:aws:iam::1:role/other"'))
    assert message.startswith("AWS refused AssumeRole (AccessDenied): check awsRoleArn in sasl.jaas.config")


async def test_msk_login_error_says_whether_aws_credentials_or_the_region_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    advice = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, run `aws configure` or `aws sso login`, or set awsP"
    assert f"AWS credentials are missing (none were found): {advice}" in await failure(properties_of())
    message = await failure(properties_of('awsProfileName="no"'))
    assert message.startswith(
        "the AWS profile 'no' does not exist: correct awsProfileName in sasl.jaas.config (`aws co"
    )
    assert message.endswith("create the profile with `aws configure sso --profile no` or `aws configure --profile no`")
    with monkeypatch.context() as patch:
        patch.setenv("AWS_PROFILE", "my team")
        message = await failure(properties_of())
    assert message.startswith("the AWS profile 'my team' does not exist: correct AWS_PROFILE (`aws configure list-")
    assert message.endswith("`aws configure --profile 'my team'`")
    (tmp_path / "config").write_text("[profile empty]\nregion = eu-north-1\n")
    message = await failure(properties_of('awsProfileName="empty"'))
    assert "AWS credentials are missing (the AWS profile 'empty' has no credentials): set" in message
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY_ID)
    message = await failure(properties_of())
    assert "(Partial credentials found in env, missing: AWS_SECRET_ACCESS_KEY): set" in message
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    message = await failure(properties_of(), "kafka.example")
    assert "the AWS region of the brokers is not known: set the environment variable AWS_REGION, or use " in message
    monkeypatch.setenv("AWS_REGION", "eu-south-1")
    assert (await signed_url(properties_of(), "kafka.example")).startswith("https://kafka.eu-south-1.")


@pytest.mark.parametrize(
    ("properties", "says"),
    [
        (
            {"sasl.jaas.config": f"{BEARER};"},
            "AWS_MSK_IAM needs the login module IAMLoginModule, not OAuth",
        ),
        (
            {"sasl.jaas.config": f'{MODULE} awsMskRegionProvider="x.Y";'},
            "awsMskRegionProvider is not supported",
        ),
        (
            {"sasl.jaas.config": f'{MODULE} awsRoleAccessKeyId="{SECRET}";'},
            "set both awsRoleAccessKeyId and",
        ),
        ({"sasl.jaas.config": ""}, "sasl.jaas.config is missing"),
        ({"sasl.client.callback.handler.class": "x.Y"}, "sasl.client.callback.handler.class is not supported"),
    ],
)
def test_msk_login_error_mentions_the_invalid_property_or_option(properties: dict[str, str], says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        from_properties({**properties_of(), **properties})
    assert says in str(caught.value)
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_missing_msk_signer_package_is_reported_with_the_install_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(msk_iam, "find_spec", lambda _: None)
    with pytest.raises(ConfigError, match=r"is not installed\. Run: pip install 'kgtui\[security\]'"):
        from_properties(properties_of())


@pytest.mark.usefixtures("credentials")
async def test_signing_an_msk_token_does_not_block_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading AWS credentials can take seconds, for example if a role must be assumed."""
    done, read = threading.Event(), msk_iam._credentials

    def read_slowly(*arguments: Any) -> Any:
        done.wait(10)
        return read(*arguments)

    monkeypatch.setattr(msk_iam, "_credentials", read_slowly)
    fetching = asyncio.create_task(signed_url(properties_of()))
    await asyncio.sleep(0.05)
    assert not fetching.done()
    done.set()
    assert (await fetching).startswith("https://")


@pytest.mark.usefixtures("credentials")
async def test_msk_token_is_replaced_if_a_host_name_contains_a_different_region(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first host name contains no region, so the first token is for AWS_REGION.

    The second host name contains a different region. kgtui then uses the token for that region with both hosts.
    """
    monkeypatch.setenv("AWS_REGION", "us-west-1")
    tokens = tokens_of(properties_of())
    first = await tokens.get("kafka.example")
    second = await tokens.get(BROKER)
    assert first.text != second.text
    assert await tokens.get("kafka.example") is second
    assert await tokens.get(BROKER) is second


@pytest.mark.usefixtures("credentials")
async def test_late_msk_token_for_the_wrong_region_does_not_replace_the_right_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """kgtui starts to sign a token for AWS_REGION, which is not the region of the brokers.

    Before this token is finished, kgtui signs a token for the region in a broker's host name.
    """
    monkeypatch.setenv("AWS_REGION", "us-west-1")
    done, read = threading.Event(), msk_iam._credentials

    def read_slowly(session: Any, settings: MskIam, region: str) -> Any:
        if region == "us-west-1":
            done.wait(10)
        return read(session, settings, region)

    monkeypatch.setattr(msk_iam, "_credentials", read_slowly)
    tokens = tokens_of(properties_of())
    late = asyncio.create_task(tokens.get("kafka.example"))
    await asyncio.sleep(0.05)
    good = await tokens.get(BROKER)
    done.set()
    assert (await late).text != good.text
    assert await tokens.get(BROKER) is good


async def test_error_for_a_broker_without_oauthbearer_mentions_the_iam_port(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test_login, "OFFER", {"ErrorCode": 0, "Mechanisms": ["AWS_MSK_IAM"]})
    with pytest.raises(ConnectError, match=r"\(it offers AWS_MSK_IAM\): use the port for IAM \(9098\), and"):
        await Login(from_properties(properties_of())).run(FakeConnection(), Address(BROKER, 9098))


@pytest.mark.usefixtures("credentials", "sts")
async def test_error_for_a_refused_msk_login_mentions_identity_and_reason() -> None:
    settings = from_properties(properties_of('awsDebugCreds="true"'))
    login, address = Login(settings), Address(BROKER, 9098)
    await login.prepare(address)
    refused = {"ErrorCode": 58, "ErrorMessage": "[446c81dc-9ab3-4d4b-b174-4ecd9baa406c]: Access denied"}
    with pytest.raises(ConnectError) as caught:
        await login.run(FakeConnection(refused), address)
    advice = f"check that an IAM policy allows kafka-cluster:Connect for {ROLE}/me, that the credentials are valid in"
    assert str(caught.value).startswith(f"{address} refused the AWS credentials (Access denied): {advice}")


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ("credential_process = /no/such/program", "(/no/such/program: No such file or directory)"),
        (f"credential_process = echo {SECRET}", "(JSONDecodeError)"),
        (
            "role_arn = arn:aws:iam::1:role/r\nweb_identity_token_file = /no/such",
            "(/no/such: No such file or directory)",
        ),
    ],
)
async def test_msk_login_error_says_why_a_source_of_aws_credentials_fails(
    tmp_path: Path, setting: str, reason: str
) -> None:
    (tmp_path / "config").write_text(f"[default]\n{setting}\n")
    assert f"the AWS credentials cannot be used {reason}: set AWS_ACCESS_KEY_ID" in await failure(properties_of())
