"""Log in to Amazon MSK with IAM: sign a token with AWS credentials.

kgtui always uses OAUTHBEARER, because only Java clients implement AWS_MSK_IAM. The token is a signed URL (SigV4). The
brokers must run Kafka 2.7.1 or newer.

The options in `sasl.jaas.config` work as in Amazon's login module for Java, with two differences:
- If the profile or role in the options cannot be used, kgtui does not try the default credentials.
- If awsStsRegion is not set, kgtui uses the AWS STS endpoint in the region of the brokers to assume the role.
"""

from __future__ import annotations

import logging
import os
import re
import time
from dataclasses import dataclass
from importlib.util import find_spec
from shlex import quote
from typing import TYPE_CHECKING, Any

from kgtui.client.secret import NO_SECRET, Secret
from kgtui.errors import ConfigError, ConnectError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kgtui.client.properties import LoginModule

ADVICE = (
    "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, run `aws configure` or `aws sso login`, or set awsProfileName in "
    "sasl.jaas.config to a profile"
)

_NETWORK_ERRORS = frozenset({"ConnectTimeoutError", "EndpointConnectionError", "ReadTimeoutError"})
"""Names of the errors that botocore raises if it cannot reach a server of AWS."""

_SHOWN_ERRORS = _NETWORK_ERRORS | frozenset(
    {
        "ConfigParseError",
        "InvalidConfigError",
        "InvalidRegionError",
        "MissingDependencyException",
        "NoCredentialsError",
        "PartialCredentialsError",
    }
)
"""Names of botocore's errors whose text kgtui shows, because the texts of these errors never contain a secret."""

_SSO_ERRORS = frozenset({"SSOError", "SSOTokenLoadError", "TokenRetrievalError", "UnauthorizedSSOTokenError"})
"""Names of botocore's errors after which the user must run `aws sso login`."""

_LOGIN_ERRORS = frozenset({"LoginError", "LoginRefreshRequired", "LoginTokenLoadError", "LoginAuthorizationCodeError"})
"""Names of botocore's errors after which the user must run `aws login`."""

_SSO_OPERATION = "CreateToken"
"""The AWS operation with which botocore renews an SSO session."""

_SSO_KEYS = frozenset({"sso_session", "sso_start_url"})
_MAX_PROFILES = 10
"""Maximum number of AWS profiles that kgtui visits when profiles refer to other profiles (key `source_profile`).

Without this limit, kgtui could run forever, because these references can form a cycle.
"""


def explain_error(error: Exception, session: Any, profile: str) -> str:
    """Return a message that says why botocore found no credentials, and what to do.

    Args:
        error: error of botocore, or of a source from which botocore gets credentials.
        session: botocore's session.
        profile: the option `awsProfileName`, or empty.
    """
    name = type(error).__name__
    source = "awsProfileName in sasl.jaas.config" if profile else "AWS_PROFILE"
    profile = profile or session.get_config_variable("profile") or "default"
    if name == "ProfileNotFound":
        return (
            f"the AWS profile {profile!r} does not exist: correct {source} (`aws configure list-profiles` shows all "
            f"profiles), or create the profile with `aws configure sso --profile {quote(profile)}` or `aws configure "
            f"--profile {quote(profile)}`"
        )
    if name in _SSO_ERRORS:
        return _sso_ended(session, profile)
    if name in _LOGIN_ERRORS:
        return f"the AWS login of the profile {profile!r} has ended: run `aws login --profile {quote(profile)}`"
    advice = "check network, proxy and firewall" if name in _NETWORK_ERRORS else ADVICE
    return f"the AWS credentials cannot be used ({_reason(error)}): {advice}"


def explain_refused_request(operation: str, code: str, session: Any, profile: str) -> str:
    """Return a message that says which request for credentials AWS refused, and what to do.

    Args:
        operation: the operation of AWS, such as `AssumeRole`.
        code: AWS's error code, such as `AccessDenied`.
        session: botocore's session.
        profile: the option `awsProfileName`, or empty.
    """
    profile_name = profile or session.get_config_variable("profile") or "default"
    if operation == _SSO_OPERATION:
        return _sso_ended(session, profile_name)
    if operation == "GetRoleCredentials":
        advice = (
            "check that your SSO user has access to the account sso_account_id with the role sso_role_name, which are "
            f"set in the AWS profile {profile_name!r}"
        )
    elif profile:
        advice = (
            f"check role_arn of the AWS profile {profile_name!r}, the trust policy of the role, and that the "
            "credentials of its source_profile are valid"
        )
    else:
        advice = (
            "check awsRoleArn in sasl.jaas.config, the trust policy of the role, and that the credentials are valid"
        )
    return f"AWS refused {operation} ({code}): {advice}"


def _sso_ended(session: Any, profile: str) -> str:
    profile = _sso_profile(session.full_config.get("profiles", {}), profile)
    return f"the SSO session of the AWS profile {profile!r} has ended: run `aws sso login --profile {quote(profile)}`"


def _sso_profile(profiles: Mapping[str, Mapping[str, Any]], profile: str) -> str:
    """Return the name of the first profile with SSO settings: `profile`, its `source_profile`, and so on.

    If none of these profiles has SSO settings, return `profile`.
    """
    found = profile
    for _ in range(_MAX_PROFILES):
        settings = profiles.get(found, {})
        if settings.keys() & _SSO_KEYS:
            return found
        found = str(settings.get("source_profile", ""))
    return profile


def _reason(error: Exception) -> str:
    """Return the text of an error, or only the name of its class if the text could contain a secret."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    name = type(error).__name__
    return str(error).rstrip(".") if name in _SHOWN_ERRORS else name


MECHANISM = "AWS_MSK_IAM"
HANDLER = "software.amazon.msk.auth.iam.IAMOAuthBearerLoginCallbackHandler"
"""Value of `sasl.login.callback.handler.class` with which Java clients log in to Amazon MSK through OAUTHBEARER."""

_MODULES = {MECHANISM: "IAMLoginModule", "OAUTHBEARER": "OAuthBearerLoginModule"}
"""SASL mechanism → class name of the login module that Java clients need for it."""

_HOST = re.compile(r".*\.kafka(?:-serverless)?\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?\.?", re.IGNORECASE)
_TIMEOUT = 10.0
"""Time limit for connecting to AWS STS, and for each read from this connection, in seconds."""


@dataclass(frozen=True, slots=True)
class MskIam:
    """Settings that select the AWS credentials for signing tokens.

    Attributes:
        profile: profile in the AWS configuration; empty for the default credentials.
        role: ARN of the role to assume, or empty. If `profile` is set, the role is not used.
        sts_region: region of the STS endpoint; empty for the region of the brokers.
        fips: whether to use STS endpoints with FIPS 140 cryptography.
        key: access key id, secret and session token for assuming the role; empty for the default credentials.
        show_identity: whether messages about refused tokens name the ARN of the AWS user or role (`awsDebugCreds`).
    """

    profile: str = ""
    role: str = ""
    session_name: str = "aws-msk-iam-auth"
    external_id: str = ""
    sts_region: str = ""
    fips: bool = False
    key: tuple[Secret, Secret, Secret] = (NO_SECRET, NO_SECRET, NO_SECRET)
    show_identity: bool = False


@dataclass(frozen=True, slots=True)
class SignedToken:
    """A signed token for Amazon MSK.

    Attributes:
        lifetime: remaining lifetime, in seconds.
        identity: ARN of the AWS user or role that signed the token; empty if unknown, or if `MskIam.show_identity` is
            False.
    """

    text: Secret
    lifetime: float
    identity: str


def msk_iam_from_options(mechanism: str, module: LoginModule) -> MskIam:
    """Read the options of the login module in `sasl.jaas.config`.

    Raises:
        ConfigError: the login module is wrong for `mechanism`, an option is not supported, or Amazon's package that
            signs tokens is not installed.
    """
    needed = _MODULES[mechanism]
    if module.short_name != needed:
        raise ConfigError(f"sasl.jaas.config: {mechanism} needs the login module {needed}, not {module.short_name}")
    options = module.plain_options()
    if "awsMskRegionProvider" in options:
        raise ConfigError(
            "sasl.jaas.config: awsMskRegionProvider is not supported, because kgtui cannot run Java classes: remove "
            "it, and set the environment variable AWS_REGION"
        )
    if find_spec("aws_msk_iam_sasl_signer") is None:
        raise ConfigError(
            "AWS MSK IAM needs the package aws-msk-iam-sasl-signer-python, which is not installed. Run: pip install "
            "'kgtui[security]'"
        )
    names = ("awsRoleAccessKeyId", "awsRoleSecretAccessKey", "awsRoleSessionToken")
    key_id, key, token = (Secret(options.get(name, "")) for name in names)
    if bool(key_id) != bool(key):
        raise ConfigError("sasl.jaas.config: set both awsRoleAccessKeyId and awsRoleSecretAccessKey, or neither")
    return MskIam(
        profile=options.get("awsProfileName", ""),
        role=options.get("awsRoleArn", ""),
        session_name=options.get("awsRoleSessionName", "") or MskIam().session_name,
        external_id=options.get("awsRoleExternalId", ""),
        sts_region=options.get("awsStsRegion", ""),
        fips=options.get("awsShouldUseFips", "").lower() == "true",
        key=(key_id, key, token),
        show_identity=options.get("awsDebugCreds", "").lower() == "true",
    )


def region_of(host: str) -> str:
    """Return the AWS region in the host name of an MSK broker; empty if the host name contains no region."""
    found = _HOST.fullmatch(host)
    return found[1].lower() if found else ""


def explain_offer(address: str, offered: str) -> str:
    """Return the error message for an MSK broker that does not offer the SASL mechanism OAUTHBEARER."""
    return (
        f"{address} does not offer the SASL mechanism OAUTHBEARER, with which kgtui logs in to Amazon MSK (it offers "
        f"{offered or 'none'}): use the port for IAM (9098), and a cluster with Kafka 2.7.1 or newer"
    )


def refusal_reason(message: str) -> str:
    """Return the reason in MSK's message about a refused login, such as ` (Access denied)`; empty if there is none."""
    found = re.fullmatch(r"(?:\[[0-9a-f-]+\]: )?([A-Za-z][A-Za-z ,']{0,99})\.?", message)
    return f" ({found[1]})" if found else ""


def sign(settings: MskIam, region: str) -> SignedToken:
    """Create a signed token for Amazon MSK. Blocks while botocore requests credentials from AWS.

    Args:
        region: AWS region of the brokers; empty for the region in `AWS_REGION` or in the AWS configuration.

    Raises:
        ConnectError: the region is not known, or there are no usable credentials. The message contains no secret.
    """
    from aws_msk_iam_sasl_signer import MSKAuthTokenProvider
    from botocore.credentials import CredentialProvider
    from botocore.exceptions import ClientError
    from botocore.session import Session

    # Switch off botocore's DEBUG messages, because they contain requests and responses with credentials.
    if (logger := logging.getLogger("botocore")).getEffectiveLevel() < logging.INFO:
        logger.setLevel(logging.INFO)
    session = Session(profile=settings.profile or None)
    try:
        region = region or _configured_region(session)
        credentials = _credentials(session, settings, region)

        class Given(CredentialProvider):  # type: ignore[misc]  # botocore has no types
            def load(self) -> Any:
                return credentials

        text, expires_ms = MSKAuthTokenProvider.generate_auth_token_from_credentials_provider(region, Given())
        identity = _identity(session, credentials, settings, region) if settings.show_identity else ""
    except ClientError as error:
        code = error.response.get("Error", {}).get("Code", "no reason given")
        message = explain_refused_request(str(error.operation_name), str(code), session, settings.profile)
        raise ConnectError(message) from None
    except ConnectError:
        raise
    except Exception as error:  # noqa: BLE001 - botocore's sources of credentials raise any exception
        raise ConnectError(explain_error(error, session, settings.profile)) from None
    return SignedToken(Secret(text), expires_ms / 1000 - time.time(), identity)


def _configured_region(session: Any) -> str:
    region = os.environ.get("AWS_REGION", "") or session.get_config_variable("region")
    if not region:
        raise ConnectError(
            "the AWS region of the brokers is not known: set the environment variable AWS_REGION, or use "
            "broker host names that end with .kafka.REGION.amazonaws.com"
        )
    return str(region)


def _credentials(session: Any, settings: MskIam, region: str) -> Any:
    """Return the current AWS credentials, with which the token is signed. botocore does not refresh the result."""
    from botocore.credentials import Credentials

    # As in Amazon's login module for Java, if the options contain both a profile and a role, only the profile is used.
    if settings.role and not settings.profile:
        client = _sts(session, settings, region, settings.key)
        more = {"ExternalId": settings.external_id} if settings.external_id else {}
        found = client.assume_role(RoleArn=settings.role, RoleSessionName=settings.session_name, **more)["Credentials"]
        return Credentials(found["AccessKeyId"], found["SecretAccessKey"], found["SessionToken"])
    loaded = session.get_credentials()
    frozen = loaded.get_frozen_credentials() if loaded is not None else None
    if frozen is None or not (frozen.access_key and frozen.secret_key):
        problem = f"the AWS profile {settings.profile!r} has no credentials" if settings.profile else "none were found"
        raise ConnectError(f"AWS credentials are missing ({problem}): {ADVICE}")
    return frozen


def _sts(session: Any, settings: MskIam, region: str, key: tuple[Secret, Secret, Secret]) -> Any:
    """Create a client of AWS STS. `key` contains the access key id, the secret access key and the session token."""
    from botocore.config import Config

    key_id, secret, token = (part.reveal() or None for part in key)
    return session.create_client(
        "sts",
        region_name=settings.sts_region or region,
        aws_access_key_id=key_id,
        aws_secret_access_key=secret,
        aws_session_token=token,
        config=Config(
            connect_timeout=_TIMEOUT,
            read_timeout=_TIMEOUT,
            retries={"total_max_attempts": 2},
            use_fips_endpoint=settings.fips or None,
        ),
    )


def _identity(session: Any, credentials: Any, settings: MskIam, region: str) -> str:
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        key = (Secret(credentials.access_key), Secret(credentials.secret_key), Secret(credentials.token or ""))
        return str(_sts(session, settings, region, key).get_caller_identity()["Arn"])
    except (BotoCoreError, ClientError):
        return ""
