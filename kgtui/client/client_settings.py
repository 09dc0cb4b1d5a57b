"""`ClientSettings`: login, TLS settings, timeouts and limits, read from Java client properties."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from kgtui.client.options import PoolOptions
from kgtui.client.secret import NO_SECRET, Secret
from kgtui.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kgtui.client.kerberos import Kerberos
    from kgtui.client.oauth import OAuth
    from kgtui.client.properties import LoginModule
    from kgtui.client.tls import Tls

__all__ = ["PLAINTEXT", "PROPERTIES", "ClientSettings", "Secret", "from_properties"]

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI", "AWS_MSK_IAM")

MAX_CLIENT_ID_BYTES = 2**15 - 1
"""Maximum length of a client id in bytes. Kafka's protocol stores the length of a string as a signed 16-bit integer."""

MAX_RESPONSE_KEY = "receive.message.max.bytes"
"""librdkafka's property for the maximum size of a response, in bytes. Java clients have no such property."""

_MODULES = ("PlainLoginModule", "ScramLoginModule")


@dataclass(frozen=True, slots=True)
class ClientSettings:
    """Login, TLS settings, timeouts and limits from Java client properties. Its `repr` masks secrets.

    Attributes:
        protocol: `PLAINTEXT`, `SSL`, `SASL_PLAINTEXT` or `SASL_SSL`.
        mechanism: SASL mechanism; None without SASL. For AWS_MSK_IAM, the value is OAUTHBEARER, because kgtui logs in
            to Amazon MSK with a signed token.
        oauth: where tokens come from; None for mechanisms other than OAUTHBEARER and AWS_MSK_IAM.
        kerberos: where Kerberos tickets come from; None for mechanisms other than GSSAPI.
        tls: certificates and TLS versions; None if the connection does not use TLS.
        delegation_token: whether user name and password are the id and the HMAC of a delegation token (KIP-48).
        request_timeout: time limit of a request, in seconds (`request.timeout.ms`); None if not set.
        api_timeout: default of the option `--timeout`, in seconds (`default.api.timeout.ms`); None if not set.
        max_response: maximum size of a response, in bytes (`receive.message.max.bytes`).
        pool: attributes of `PoolOptions` (timeouts and limits of connections) that the properties set, such as
            `{"backoff_max": 1.0}`.
        warnings: the warnings of the properties (see `from_properties`), and one sentence for each unknown property and
            for each unknown option of a Kerberos login module in `sasl.jaas.config`.
    """

    protocol: str = "PLAINTEXT"
    mechanism: str | None = None
    username: str = ""
    password: Secret = NO_SECRET
    tls: Tls | None = None
    oauth: OAuth | None = None
    delegation_token: bool = False
    kerberos: Kerberos | None = None
    client_id: str | None = None
    request_timeout: float | None = None
    api_timeout: float | None = None
    max_response: int = 100_000_000
    pool: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


PLAINTEXT = ClientSettings()
"""The settings that apply if no client property is set: no TLS and no login."""


def _text(_: str, text: str) -> str:
    return text


def _short_text(key: str, text: str) -> str:
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_CLIENT_ID_BYTES:
        raise ConfigError(
            f"the value of {key} has {size:,} bytes, but Kafka allows at most {MAX_CLIENT_ID_BYTES:,}: shorten it"
        )
    return text


def _bytes(key: str, text: str) -> int:
    from kgtui.client.properties import whole_number

    return whole_number(key, text, "bytes", 1, 2**31 - 1)


def _timeout(key: str, text: str) -> float:
    from kgtui.client.properties import LONGEST_TIMEOUT, whole_number

    return whole_number(key, text, "milliseconds", 1, LONGEST_TIMEOUT) / 1000


def _pause(key: str, text: str) -> float:
    from kgtui.client.properties import LONGEST_PAUSE, whole_number

    return whole_number(key, text, "milliseconds", 0, LONGEST_PAUSE) / 1000


PROPERTIES: dict[str, tuple[str, Callable[[str, str], str | float]]] = {
    "client.id": ("client_id", _short_text),
    "default.api.timeout.ms": ("api_timeout", _timeout),
    MAX_RESPONSE_KEY: ("max_response", _bytes),
    "reconnect.backoff.max.ms": ("backoff_max", _pause),
    "reconnect.backoff.ms": ("backoff", _pause),
    "request.timeout.ms": ("request_timeout", _timeout),
}
"""Property → `(attribute of ClientSettings or PoolOptions that stores it, function that parses its value)`.

Properties for login and TLS are not listed here, because they depend on each other, and are parsed together.
"""


def from_properties(properties: Mapping[str, str]) -> ClientSettings:
    """Read Java client properties, as in the `--command-config` file of Kafka's tools.

    Properties that have no effect on an admin client are ignored.

    Args:
        properties: property → value. If the mapping has an attribute `warnings` (as `kgtui.config.Properties` does),
            these warnings are added to the `warnings` of the result.

    Raises:
        ConfigError: a value is invalid or not supported. The message names the property and contains no secret.
    """
    warnings: tuple[str, ...] = getattr(properties, "warnings", ())
    if not properties and not warnings:
        return PLAINTEXT
    from kgtui.client.properties import check_supported, check_text, unknown_keys

    protocol = (properties.get("security.protocol", "").strip() or "PLAINTEXT").upper()
    if protocol not in PROTOCOLS:
        known = ", ".join(PROTOCOLS) + (", without quotes" if '"' in protocol or "'" in protocol else "")
        raise ConfigError(f"security.protocol={protocol} is not one of {known}")
    check_supported(properties)
    check_text(properties)
    login = _login(properties) if protocol.startswith("SASL_") else {}
    return ClientSettings(
        protocol=protocol,
        tls=_tls(properties) if protocol.endswith("SSL") else None,
        warnings=(*warnings, *login.pop("warnings", ()), *unknown_keys(properties, PROPERTIES)),
        **login,
        **_parsed(properties),
    )


def _login(properties: Mapping[str, str]) -> dict[str, Any]:
    mechanism = _mechanism(properties)
    module = _login_module(properties)
    if mechanism in {"OAUTHBEARER", "AWS_MSK_IAM"}:
        from kgtui.client.oauth import oauth_from_properties

        return {"mechanism": "OAUTHBEARER", "oauth": oauth_from_properties(properties, module)}
    if mechanism == "GSSAPI":
        from kgtui.client.kerberos import kerberos_from_properties, unknown_options

        kerberos = kerberos_from_properties(properties, module)
        return {"mechanism": mechanism, "kerberos": kerberos, "warnings": unknown_options(module)}
    username, password = _user_and_password(mechanism, module)
    delegation_token = mechanism != "PLAIN" and _is_true(module.options.get("tokenauth", NO_SECRET))
    return {
        "mechanism": mechanism,
        "username": username,
        "password": password,
        "delegation_token": delegation_token,
    }


def _parsed(properties: Mapping[str, str]) -> dict[str, Any]:
    given = {
        attribute: parse(key, properties[key])
        for key, (attribute, parse) in PROPERTIES.items()
        if properties.get(key, "").strip()
    }
    if "backoff" in given:
        # If only `reconnect.backoff.ms` is set, use its value as the longest pause too, as Kafka's clients do. Then the
        # pauses between attempts to connect do not become longer.
        given.setdefault("backoff_max", given["backoff"])
    pool = {one.name: given.pop(one.name) for one in fields(PoolOptions) if one.name in given}
    return {**given, "pool": pool}


def _tls(properties: Mapping[str, str]) -> Tls:
    from kgtui.client.tls import tls_from_properties

    return tls_from_properties(properties)


def _mechanism(properties: Mapping[str, str]) -> str:
    # As in Kafka's clients, the default of `sasl.mechanism` is GSSAPI.
    mechanism = properties.get("sasl.mechanism", "").strip() or "GSSAPI"
    if mechanism not in MECHANISMS:
        raise ConfigError(
            f"sasl.mechanism={mechanism} is not a mechanism of Kafka: set it to one of {', '.join(MECHANISMS)}"
        )
    return mechanism


def _login_module(properties: Mapping[str, str]) -> LoginModule:
    from kgtui.client.properties import JAAS_KEY, parse_jaas

    text = properties.get(JAAS_KEY, "")
    if not text.strip():
        raise ConfigError(f"{JAAS_KEY} is missing: set it to the login module of the mechanism, with its options")
    return parse_jaas(text)


def _user_and_password(mechanism: str, module: LoginModule) -> tuple[str, Secret]:
    from kgtui.client.properties import JAAS_KEY

    if module.short_name not in _MODULES:
        raise ConfigError(
            f"{JAAS_KEY}: {mechanism} needs the login module {' or '.join(_MODULES)} with user name and password, not "
            f"{module.name}: use one of these modules, or set sasl.mechanism to the mechanism of {module.short_name}"
        )
    for option in ("username", "password"):
        if option not in module.options:
            raise ConfigError(f'{JAAS_KEY}: {option} is missing: write {option}="…"')
    return str.__str__(module.options["username"].reveal()), module.options["password"]


def _is_true(value: Secret) -> bool:
    return value.reveal().lower() == "true"
