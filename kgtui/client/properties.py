"""Which Java client properties matter here, which do not, and which would and are not supported yet."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from kgtui.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

_HONOURED = frozenset(
    {
        "bootstrap.servers",
        "client.id",
        "default.api.timeout.ms",
        "request.timeout.ms",
        "sasl.jaas.config",
        "sasl.mechanism",
        "security.protocol",
        "ssl.enabled.protocols",
        "ssl.endpoint.identification.algorithm",
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
    }
)

_DEFAULTS = {
    "ssl.keymanager.algorithm": ("SUNX509", "PKIX"),
    "ssl.trustmanager.algorithm": ("PKIX",),
    "ssl.protocol": ("TLS", "TLSV1.3"),
}
"""Properties whose usual values change nothing here."""

_REFUSED = {
    "bootstrap.controllers": "kgtui talks to brokers: name them with --bootstrap-server",
    "config.providers": "write ${VAR} for an environment variable, or file:PATH for a file's content, as the value",
    "sasl.client.callback.handler.class": "Java classes cannot be run here: put user name and password into "
    "sasl.jaas.config",
    "sasl.login.callback.handler.class": "Java classes cannot be run here: put user name and password into "
    "sasl.jaas.config",
    "sasl.login.class": "Java classes cannot be run here: remove it",
    "security.providers": "Java classes cannot be run here: remove it",
    "ssl.cipher.suites": "remove it; OpenSSL's own configuration of this machine decides",
    "ssl.engine.factory.class": "Java classes cannot be run here: use ssl.truststore.* and ssl.keystore.* with PEM",
    "ssl.keymanager.algorithm": "remove it",
    "ssl.protocol": "set ssl.enabled.protocols instead",
    "ssl.provider": "Java providers cannot be used here: remove it",
    "ssl.trustmanager.algorithm": "remove it",
}
"""Properties that would change how we log in: what to do instead."""

_WITHOUT_EFFECT = re.compile(
    r"""
      (key|value)\.(de)?serializer | default\.(key|value)\.serde
    | group\.(id|instance\.id|protocol|remote\.assignor) | client\.(rack|dns\.lookup)
    | (fetch|heartbeat|max\.poll|session|isolation|exclude\.internal|allow\.auto|share)\..* | check\.crcs
    | (auto\.(commit|offset|include)|enable\.(auto|idempotence|metrics))\..* | enable\.(auto\.commit|idempotence)
    | max\.(partition\.fetch|block|request|in\.flight)\..* | partition(er)?\..* | interceptor\.classes
    | acks | batch\.size | buffer\.memory | linger\.ms | delivery\.timeout\.ms | transaction(al)?\..*
    | compression\.(type|.*\.level) | internal\..*
    | retries | retry\.backoff\..* | reconnect\.backoff\..* | connections\.max\.idle\.ms
    | socket\.connection\.setup\..* | (send|receive)\.buffer\.bytes
    | metadata\..* | metric(s|\.reporters|\.).* | telemetry\..*
    | sasl\.(kerberos|oauthbearer|login)\..* | ssl\.secure\.random\.implementation
    | (producer|consumer|admin|main\.consumer|restore\.consumer|global\.consumer|topic)\..*
    | application\.(id|server) | state\.dir | num\.(stream\.threads|standby\.replicas) | processing\.guarantee
    | schema\.registry\..* | basic\.auth\..* | commit\.interval\.ms
    """,
    re.VERBOSE,
)
"""Properties of Kafka's clients that an admin client, or this one, does not need."""


def check_supported(properties: Mapping[str, str]) -> None:
    """Raise ConfigError for a property that matters and is not supported, and say what to do instead."""
    for key in sorted(properties):
        value = properties[key].strip()
        name = "config.providers" if key.startswith("config.providers.") else key
        if value and name in _REFUSED and value.upper() not in _DEFAULTS.get(name, ()):
            raise ConfigError(f"{key} is not supported yet: {_REFUSED[name]}")


def unknown_keys(properties: Mapping[str, str]) -> tuple[str, ...]:
    """Return a sentence for each property that is not one of Kafka's clients', as a typing mistake would be."""
    return tuple(
        f"{key} is not a property of Kafka's clients: it has no effect"
        for key in sorted(properties)
        if key not in _HONOURED and key not in _REFUSED and not _WITHOUT_EFFECT.fullmatch(key)
    )
