"""Explain why AWS credentials cannot be used for a login to Amazon MSK, and what the user can do about it."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

ADVICE = (
    "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, run `aws configure` or `aws sso login`, or set awsProfileName in "
    "sasl.jaas.config to a profile"
)

_NETWORK_ERRORS = frozenset({"ConnectTimeoutError", "EndpointConnectionError", "ReadTimeoutError"})
"""Names of botocore's errors that mean that a server of AWS cannot be reached."""

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
"""Names of botocore's errors whose text contains no secret. kgtui shows only the names of all other errors."""

_SSO_ERRORS = frozenset({"SSOError", "SSOTokenLoadError", "TokenRetrievalError", "UnauthorizedSSOTokenError"})
"""Names of botocore's errors that mean that the user must run `aws sso login`."""

_LOGIN_ERRORS = frozenset({"LoginError", "LoginRefreshRequired", "LoginTokenLoadError", "LoginAuthorizationCodeError"})
"""Names of botocore's errors that mean that the user must run `aws login`."""

_SSO_OPERATION = "CreateToken"
"""Name of the AWS operation that botocore uses to renew an SSO session."""

_SSO_KEYS = frozenset({"sso_session", "sso_start_url"})
_MOST_PROFILES = 10
"""Maximum length of a chain of profiles that refer to each other with `source_profile`.

The limit ends the search for SSO settings even if a profile refers to itself.
"""


def explain_error(error: Exception, session: Any, profile: str) -> str:
    """Return a message saying why botocore found no credentials.

    Args:
        error: an error of botocore, or of a program or file from which botocore reads credentials.
        session: the session of botocore.
        profile: the profile in `awsProfileName`; empty if it is not set.
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
    """Return a message saying that AWS refused a request for credentials.

    Args:
        operation: the operation of AWS, such as `AssumeRole`.
        code: the error code of AWS.
        session: the session of botocore.
        profile: the profile in `awsProfileName`; empty if it is not set.
    """
    shown = profile or session.get_config_variable("profile") or "default"
    if operation == _SSO_OPERATION:
        return _sso_ended(session, shown)
    if operation == "GetRoleCredentials":
        advice = (
            "check that your SSO user has access to the account sso_account_id with the role sso_role_name, which are "
            f"set in the AWS profile {shown!r}"
        )
    elif profile:
        advice = (
            f"check role_arn of the AWS profile {shown!r}, the trust policy of the role, and that the credentials of "
            "its source_profile are valid"
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
    """Return the profile with the SSO settings: `profile` itself, or a profile that its `source_profile` refers to.

    Return `profile` if neither it nor any profile in the chain of `source_profile` has SSO settings.
    """
    found = profile
    for _ in range(_MOST_PROFILES):
        settings = profiles.get(found, {})
        if settings.keys() & _SSO_KEYS:
            return found
        found = str(settings.get("source_profile", ""))
    return profile


def _reason(error: Exception) -> str:
    """Return the text of an error, or only its name if the text may contain a secret."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    name = type(error).__name__
    return str(error).rstrip(".") if name in _SHOWN_ERRORS else name
