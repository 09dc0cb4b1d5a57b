"""Read the settings of OAUTHBEARER from Java client properties (KIP-255, KIP-768, KIP-1139, KIP-1258).

As in Kafka, a token comes from one of these sources:
- a token endpoint (`sasl.oauthbearer.token.endpoint.url=https://…`)
- a file (`sasl.oauthbearer.token.endpoint.url=file:///…`)
- kgtui itself, which creates unsigned tokens; for tests only

For Amazon MSK, kgtui signs tokens with AWS credentials (see `kgtui.client.msk_iam`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, unquote, urlsplit

from kgtui.client.assertion import FILE_KEY, ISSUER_KEY, Assertion, assertion_from_properties
from kgtui.client.msk_iam import HANDLER, MECHANISM, MskIam, msk_iam_from_options
from kgtui.client.properties import LONGEST_TIMEOUT, whole_number
from kgtui.client.secret import NO_SECRET, Secret
from kgtui.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kgtui.client.properties import LoginModule
    from kgtui.client.tls import Tls

URL_KEY = "sasl.oauthbearer.token.endpoint.url"
_ID_KEY = "sasl.oauthbearer.client.credentials.client.id"
_SECRET_KEY = "sasl.oauthbearer.client.credentials.client.secret"  # noqa: S105 - the name of a property
_SCOPE_KEY = "sasl.oauthbearer.scope"
_RETRIEVER_KEY = "sasl.oauthbearer.jwt.retriever.class"
_JWT_BEARER = "JwtBearerJwtRetriever"
_RETRIEVERS = ("DefaultJwtRetriever", "ClientCredentialsJwtRetriever", "FileJwtRetriever", _JWT_BEARER)
_MODULE = "OAuthBearerLoginModule"
_SCHEMES = ("https", "http", "file")
_UNSECURED = "unsecuredLogin"

TIMEOUT = 10.0
"""Default of `OAuth.timeout`, in seconds. Kafka's clients have no time limit for the token endpoint by default."""


@dataclass(frozen=True, slots=True)
class OAuth:
    """The source of the tokens for OAUTHBEARER, and its settings.

    Attributes:
        url: URL of the token endpoint or of a token file; empty if kgtui creates the tokens.
        client_id, client_secret: credentials for the token endpoint, or empty.
        assertion: settings of the signed JWT that kgtui sends to the token endpoint; None if it sends no such JWT.
        jwt_bearer: whether the assertion is the grant (KIP-1139). If False, the assertion replaces the client secret
            (KIP-1258).
        scope: requested scope, or empty.
        urlencode: whether to URL-encode client id and secret in the request.
        timeout: time limit for connecting, and for each read from the socket, in seconds. The whole request can take
            up to twice as long.
        tls: TLS settings for the token endpoint; None for the system's defaults.
        extensions: `(name, value)` of each SASL extension that is sent to the broker.
        claims: claims of the unsigned tokens that kgtui creates; empty if it creates none.
        lifetime: lifetime of the unsigned tokens, in seconds.
        msk_iam: settings of the AWS credentials for Amazon MSK; None for other brokers.
    """

    url: str = ""
    client_id: str = ""
    client_secret: Secret = NO_SECRET
    assertion: Assertion | None = None
    jwt_bearer: bool = False
    scope: str = ""
    urlencode: bool = False
    timeout: float = TIMEOUT
    tls: Tls | None = None
    extensions: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    claims: Mapping[str, str | float] = field(default_factory=dict, repr=False)
    lifetime: float = 3600.0
    msk_iam: MskIam | None = None


def oauth_from_properties(properties: Mapping[str, str], module: LoginModule) -> OAuth:
    """Read the settings of OAUTHBEARER or AWS_MSK_IAM.

    Args:
        module: the parsed value of `sasl.jaas.config`.

    Raises:
        ConfigError: a value is missing or invalid. The message names the property.
    """
    mechanism = properties.get("sasl.mechanism", "").strip()
    if mechanism == MECHANISM or properties.get("sasl.login.callback.handler.class", "").strip() == HANDLER:
        return OAuth(msk_iam=msk_iam_from_options(mechanism, module))
    if module.short_name != _MODULE:
        raise ConfigError(f"sasl.jaas.config: OAUTHBEARER needs the login module {_MODULE}, not {module.short_name}")
    options = module.plain_options()
    retriever = properties.get(_RETRIEVER_KEY, "").strip().rpartition(".")[2]
    if retriever and retriever not in _RETRIEVERS:
        raise ConfigError(f"{_RETRIEVER_KEY}: {retriever} is not supported: use one of {', '.join(_RETRIEVERS)}")
    url = properties.get(URL_KEY, "").strip()
    if not url and retriever != _JWT_BEARER:
        return _unsecured(options)
    parts = _split(url)
    if parts is None:
        shown_url = "…" if "@" in url else url
        raise ConfigError(
            f"{URL_KEY}={shown_url} is not a URL of a token endpoint: write https://HOST/PATH or file:///PATH"
        )
    if "@" in parts.netloc:
        raise ConfigError(
            f"{URL_KEY} contains a user name or password, which kgtui does not send: remove it, and set "
            f"{_ID_KEY} and {_SECRET_KEY}"
        )
    if parts.scheme == "file":
        if retriever == _JWT_BEARER:
            raise ConfigError(f"{URL_KEY}={url} is a file: {_JWT_BEARER} needs the URL of a token endpoint")
        return OAuth(url=url, extensions=_extensions(options, "extension_"))
    return OAuth(
        url=url,
        **(_jwt_bearer(properties) if retriever == _JWT_BEARER else _client_credentials(properties, options)),
        timeout=_timeout(properties),
        tls=_tls(options) if parts.scheme == "https" else None,
        extensions=_extensions(options, "extension_"),
    )


def _split(url: str) -> SplitResult | None:
    """Return the parts of a URL, or None if it is not valid.

    For example, `https://user:pass/word@host` is not valid, because its host would be `user`, and its port `pass`.
    """
    try:
        parts = urlsplit(url)
        port_is_valid = parts.port is None or parts.port > 0
        (parts.hostname or "").encode("idna")
    except ValueError:
        return None
    if parts.scheme == "file":
        return None if "\0" in unquote(parts.path) else parts
    valid = parts.scheme in _SCHEMES and parts.netloc and port_is_valid and f"{parts.path}{parts.query}".isascii()
    return parts if valid else None


def _jwt_bearer(properties: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments of `OAuth` for the grant type `jwt-bearer`, whose grant is a signed assertion (KIP-1139)."""
    scope = properties.get(_SCOPE_KEY, "").strip()
    return {"assertion": assertion_from_properties(properties), "jwt_bearer": True, "scope": scope}


def _client_credentials(properties: Mapping[str, str], options: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments of `OAuth` for a client secret, or for an assertion that replaces the secret.

    As in Kafka 4.3, kgtui uses an assertion if `sasl.oauthbearer.assertion.file` or
    `sasl.oauthbearer.assertion.claim.iss` is set.
    """
    client_id = properties.get(_ID_KEY, "") or options.get("clientId", "")
    scope = properties.get(_SCOPE_KEY, "") or options.get("scope", "")
    if properties.get(FILE_KEY, "").strip() or properties.get(ISSUER_KEY, "").strip():
        return {"client_id": client_id, "assertion": assertion_from_properties(properties), "scope": scope.strip()}
    secret = properties.get(_SECRET_KEY, "") or options.get("clientSecret", "")
    for key, option, value in ((_ID_KEY, "clientId", client_id), (_SECRET_KEY, "clientSecret", secret)):
        if not value:
            raise ConfigError(f"{key} is missing: set it, or the option {option} in sasl.jaas.config")
    return {
        "client_id": client_id,
        "client_secret": Secret(secret),
        "scope": scope,
        "urlencode": properties.get("sasl.oauthbearer.header.urlencode", "").strip().lower() == "true",
    }


def _unsecured(options: Mapping[str, str]) -> OAuth:
    """Return the settings for unsigned JWTs, which kgtui creates itself.

    The options that begin with `unsecuredLogin` contain the claims, the lifetime and the SASL extensions, as with
    Kafka's `OAuthBearerUnsecuredLoginCallbackHandler`.

    Args:
        options: all options in `sasl.jaas.config`.

    Raises:
        ConfigError: an option is invalid, or no option contains the claim that names the principal (`sub` by default).
            In the second case, the user probably forgot the URL of a token endpoint, so the message asks for this URL.
    """
    claims: dict[str, str | float] = {}
    for name, value in options.items():
        if name.startswith(f"{_UNSECURED}StringClaim_"):
            claims[name.partition("_")[2]] = value
        elif name.startswith(f"{_UNSECURED}NumberClaim_"):
            claims[name.partition("_")[2]] = _number(name, value)
    if not claims.get(options.get(f"{_UNSECURED}PrincipalClaimName", "sub")):
        raise ConfigError(f"{URL_KEY} is missing: set it to the token endpoint of your identity provider")
    lifetime = _number("lifetime", options.get(f"{_UNSECURED}LifetimeSeconds", "3600"))
    return OAuth(claims=claims, lifetime=lifetime, extensions=_extensions(options, f"{_UNSECURED}Extension_"))


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigError(f"sasl.jaas.config: the value of {name} is not a number") from None


def _extensions(options: Mapping[str, str], prefix: str) -> tuple[tuple[str, str], ...]:
    found = tuple((name.removeprefix(prefix), value) for name, value in options.items() if name.startswith(prefix))
    for name, value in found:
        if not (name.isascii() and name.isalpha()) or name == "auth" or not value.isprintable():
            raise ConfigError(
                f"sasl.jaas.config: {prefix}{name} is not a valid extension: its name must consist of letters and must "
                "not be auth, and its value must be printable"
            )
    return found


def _timeout(properties: Mapping[str, str]) -> float:
    """Return the time limit for the token endpoint, in seconds.

    It is the larger of `sasl.login.connect.timeout.ms` and `sasl.login.read.timeout.ms`. If neither of them is set to
    more than 0, it is `TIMEOUT`.
    """
    keys = ("sasl.login.connect.timeout.ms", "sasl.login.read.timeout.ms")
    given = ((key, properties.get(key, "")) for key in keys)
    limits = (whole_number(key, text, "milliseconds", 0, LONGEST_TIMEOUT) for key, text in given if text.strip())
    return max(limits, default=0) / 1000 or TIMEOUT


def _tls(options: Mapping[str, str]) -> Tls | None:
    """Return the TLS settings for the token endpoint; None if the user has set none.

    As in Kafka, these settings are the options in `sasl.jaas.config` whose names begin with `ssl.`.
    """
    from kgtui.client.tls import tls_from_properties

    given = {name: value for name, value in options.items() if name.startswith("ssl.")}
    return tls_from_properties(given) if given else None
