"""Read the settings of OAUTHBEARER from Java client properties (KIP-255, KIP-768, KIP-1139).

Tokens come from one of three sources, as in Kafka: a token endpoint with the credentials of a client
(`sasl.oauthbearer.token.endpoint.url=https://…`), a file (`file:///…`), or, for tests only, tokens without a signature,
which the client creates from the options of `sasl.jaas.config`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kgtui.client.secret import NO_SECRET, Secret
from kgtui.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kgtui.client.properties import LoginModule
    from kgtui.client.tls import Tls

URL_KEY = "sasl.oauthbearer.token.endpoint.url"
_ID_KEY = "sasl.oauthbearer.client.credentials.client.id"
_SECRET_KEY = "sasl.oauthbearer.client.credentials.client.secret"  # noqa: S105 - the name of a property
_RETRIEVER_KEY = "sasl.oauthbearer.jwt.retriever.class"
_RETRIEVERS = ("DefaultJwtRetriever", "ClientCredentialsJwtRetriever", "FileJwtRetriever")
_MODULE = "OAuthBearerLoginModule"
_SCHEMES = ("https", "http", "file")
_UNSECURED = "unsecuredLogin"

TIMEOUT = 10.0
"""Default time limit for the token endpoint, in seconds. Kafka has none."""


@dataclass(frozen=True, slots=True)
class OAuth:
    """Where the tokens of OAUTHBEARER come from.

    Attributes:
        url: the token endpoint, or the file with the token as a `file:` URL; empty for tokens without a signature.
        client_id, client_secret: credentials for the token endpoint.
        scope: requested scope; empty if none is requested.
        urlencode: whether id and secret are URL-encoded before they are put into the request header.
        timeout: time limit for connecting to the token endpoint and for each read, in seconds.
        tls: TLS settings for the token endpoint; None for the defaults of the system.
        extensions: names and values that are sent to the broker together with the token.
        claims: claims of tokens without a signature.
        lifetime: lifetime of tokens without a signature, in seconds.
    """

    url: str = ""
    client_id: str = ""
    client_secret: Secret = NO_SECRET
    scope: str = ""
    urlencode: bool = False
    timeout: float = TIMEOUT
    tls: Tls | None = None
    extensions: tuple[tuple[str, str], ...] = ()
    claims: Mapping[str, str | float] = field(default_factory=dict)
    lifetime: float = 3600.0


def oauth_from_properties(properties: Mapping[str, str], module: LoginModule) -> OAuth:
    """Read the settings of OAUTHBEARER.

    Args:
        properties: the client properties.
        module: the parsed value of `sasl.jaas.config`.

    Raises:
        ConfigError: a value is missing or invalid. The message names the property.
    """
    if module.short_name != _MODULE:
        raise ConfigError(f"sasl.jaas.config: OAUTHBEARER needs the login module {_MODULE}, not {module.short_name}")
    options = {name: str.__str__(value.reveal()) for name, value in module.options.items()}
    retriever = properties.get(_RETRIEVER_KEY, "").strip().rpartition(".")[2]
    if retriever and retriever not in _RETRIEVERS:
        raise ConfigError(f"{_RETRIEVER_KEY}: {retriever} is not supported yet: use one of {', '.join(_RETRIEVERS)}")
    url = properties.get(URL_KEY, "").strip()
    if not url:
        return _unsecured(options)
    parts = urlsplit(url)
    if parts.scheme not in _SCHEMES or not (parts.netloc or parts.scheme == "file"):
        raise ConfigError(f"{URL_KEY}={url} is not a URL of a token endpoint: write https://HOST/PATH or file:///PATH")
    if parts.scheme == "file":
        return OAuth(url=url, extensions=_extensions(options, "extension_"))
    client_id = properties.get(_ID_KEY, "") or options.get("clientId", "")
    secret = properties.get(_SECRET_KEY, "") or options.get("clientSecret", "")
    for key, option, value in ((_ID_KEY, "clientId", client_id), (_SECRET_KEY, "clientSecret", secret)):
        if not value:
            raise ConfigError(f"{key} is missing: set it, or the option {option} in sasl.jaas.config")
    return OAuth(
        url=url,
        client_id=client_id,
        client_secret=Secret(secret),
        scope=properties.get("sasl.oauthbearer.scope", "") or options.get("scope", ""),
        urlencode=properties.get("sasl.oauthbearer.header.urlencode", "").strip().lower() == "true",
        timeout=_timeout(properties),
        tls=_tls(options) if parts.scheme == "https" else None,
        extensions=_extensions(options, "extension_"),
    )


def _unsecured(options: Mapping[str, str]) -> OAuth:
    """Return the settings for tokens without a signature, which Kafka's default login handler creates."""
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
    """Return the time limit for the token endpoint in seconds.

    It is the longer of the time limits for connecting and for reading, or `TIMEOUT` if neither is set.
    """
    given = [properties.get(f"sasl.login.{step}.timeout.ms", "").strip() for step in ("connect", "read")]
    for text in given:
        if text and not (text.isascii() and text.isdigit()):
            raise ConfigError(f"sasl.login.connect.timeout.ms or sasl.login.read.timeout.ms is not a number: {text}")
    return max((int(text) / 1000 for text in given if text), default=0) or TIMEOUT


def _tls(options: Mapping[str, str]) -> Tls | None:
    """Return the TLS settings for the token endpoint. They are options of `sasl.jaas.config`, as in Kafka."""
    from kgtui.client.tls import tls_from_properties

    given = {name: value for name, value in options.items() if name.startswith("ssl.")}
    return tls_from_properties(given) if given else None
