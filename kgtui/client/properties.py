r"""Check which Java client properties are supported, and parse `sasl.jaas.config`.

As in Kafka's JaasConfig, the value of `sasl.jaas.config` consists of words and quoted strings. Strings can contain
backslash escapes. Comments start with `//`, or are between `/*` and `*/`. An example of a value::

    org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="a \"quoted\" word";
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING

from kgtui.client.secret import Secret
from kgtui.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping


_LOGIN_AND_TLS = frozenset(
    {
        "bootstrap.servers",
        "sasl.jaas.config",
        "sasl.kerberos.service.name",
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
"""Properties for login and TLS that kgtui supports, and `bootstrap.servers`.

`_LOGIN_NAMES` contains further login and TLS properties.
"""

_DEFAULTS = {
    "ssl.keymanager.algorithm": ("SUNX509", "PKIX"),
    "ssl.trustmanager.algorithm": ("PKIX",),
    "ssl.protocol": ("TLS", "TLSV1.3"),
    "sasl.login.callback.handler.class": (
        "ORG.APACHE.KAFKA.COMMON.SECURITY.OAUTHBEARER.OAUTHBEARERLOGINCALLBACKHANDLER",
        "ORG.APACHE.KAFKA.COMMON.SECURITY.OAUTHBEARER.SECURED.OAUTHBEARERLOGINCALLBACKHANDLER",
        "ORG.APACHE.KAFKA.COMMON.SECURITY.OAUTHBEARER.INTERNALS.UNSECURED.OAUTHBEARERUNSECUREDLOGINCALLBACKHANDLER",
        "SOFTWARE.AMAZON.MSK.AUTH.IAM.IAMOAUTHBEARERLOGINCALLBACKHANDLER",
    ),
    "sasl.client.callback.handler.class": (
        "SOFTWARE.AMAZON.MSK.AUTH.IAM.IAMCLIENTCALLBACKHANDLER",
        "SOFTWARE.AMAZON.MSK.AUTH.IAM.IAMOAUTHBEARERLOGINCALLBACKHANDLER",
    ),
}
"""Property that kgtui refuses in general (see `_REFUSED`) → the few values, in upper case, that kgtui accepts.

The accepted values are Kafka's defaults, and names of Java classes whose task kgtui does itself.
"""

_REFUSED = {
    "bootstrap.controllers": "kgtui does not connect to controllers: set --bootstrap-server to a broker",
    "config.providers": "config providers work only if config.providers contains their names, and if the properties "
    "are in a file for --command-config or in a table of config.toml",
    "sasl.client.callback.handler.class": "kgtui cannot run this Java class; remove the property, and put user name "
    "and password into sasl.jaas.config",
    "sasl.login.callback.handler.class": "kgtui cannot run this Java class; for OAUTHBEARER, use Kafka's "
    "OAuthBearerLoginCallbackHandler; otherwise, remove the property, and put user name and password into "
    "sasl.jaas.config",
    "sasl.login.class": "remove the property, because kgtui cannot run this Java class",
    "security.providers": "remove the property, because kgtui cannot run these Java classes",
    "ssl.cipher.suites": "remove the property and set the ciphers in the OpenSSL configuration of this machine",
    "ssl.engine.factory.class": "use ssl.truststore.* and ssl.keystore.*, because kgtui cannot run this Java class",
    "ssl.keymanager.algorithm": "remove the property",
    "ssl.protocol": "set ssl.enabled.protocols instead",
    "ssl.provider": "remove the property, because kgtui does not use Java's security providers",
    "ssl.trustmanager.algorithm": "remove the property",
}
"""Property that kgtui refuses, unless it is empty or its value is in `_DEFAULTS` → what the user should do instead."""

_WITHOUT_EFFECT = re.compile(
    r"""
      (key|value)\.(de)?serializer | default\.(key|value)\.serde
    | group\.(id|instance\.id|protocol|remote\.assignor) | client\.(rack|dns\.lookup)
    | (fetch|heartbeat|max\.poll|session|isolation|exclude\.internal|allow\.auto|share)\..* | check\.crcs
    | (auto\.(commit|offset|include)|enable\.(auto|idempotence|metrics))\..* | enable\.(auto\.commit|idempotence)
    | max\.(partition\.fetch|block|request|in\.flight)\..* | partition(er)?\..* | interceptor\.classes
    | acks | batch\.size | buffer\.memory(\.allocation\.strategy)? | linger\.ms | delivery\.timeout\.ms
    | compression\.(type|.*\.level) | internal\..* | transaction(al)?\..*
    | retries | retry\.backoff\..* | bootstrap\.resolve\.timeout\.ms | connections\.max\.idle\.ms
    | socket\.connection\.setup\..* | (send|receive)\.buffer\.bytes
    | metadata\..* | metric(s|\.reporters|\.).* | telemetry\..*
    | (producer|consumer|admin|main\.consumer|restore\.consumer|global\.consumer|topic)\..*
    | application\.(id|server) | state\.dir | num\.(stream\.threads|standby\.replicas) | processing\.guarantee
    | schema\.registry\..* | basic\.auth\..* | commit\.interval\.ms
    """,
    re.VERBOSE,
)
"""Matches properties that kgtui ignores, such as those of consumers, producers and Kafka Streams."""

LONGEST_TIMEOUT = 2**31 - 1
"""Highest value of a time that has the type int in Kafka, such as `request.timeout.ms`, in milliseconds."""

LONGEST_PAUSE = 2**63 - 1
"""Highest value of a time that has the type long in Kafka, such as `reconnect.backoff.ms`, in milliseconds."""

_NOT_TEXT = (
    "the value contains a NUL character, or bytes that are not UTF-8: check escapes such as \\u0000, and the file or "
    "the environment variable from which the value comes"
)

_LOGIN_NAMES = frozenset(
    {
        "sasl.kerberos.kinit.cmd",
        "sasl.kerberos.min.time.before.relogin",
        "sasl.kerberos.ticket.renew.jitter",
        "sasl.kerberos.ticket.renew.window.factor",
        "sasl.login.connect.timeout.ms",
        "sasl.login.read.timeout.ms",
        "sasl.login.refresh.buffer.seconds",
        "sasl.login.refresh.min.period.seconds",
        "sasl.login.refresh.window.factor",
        "sasl.login.refresh.window.jitter",
        "sasl.login.retry.backoff.max.ms",
        "sasl.login.retry.backoff.ms",
        "sasl.oauthbearer.allow.unverified.audience",
        "sasl.oauthbearer.allow.unverified.issuer",
        "sasl.oauthbearer.assertion.algorithm",
        "sasl.oauthbearer.assertion.claim.aud",
        "sasl.oauthbearer.assertion.claim.exp.seconds",
        "sasl.oauthbearer.assertion.claim.iss",
        "sasl.oauthbearer.assertion.claim.jti.include",
        "sasl.oauthbearer.assertion.claim.nbf.seconds",
        "sasl.oauthbearer.assertion.claim.sub",
        "sasl.oauthbearer.assertion.file",
        "sasl.oauthbearer.assertion.private.key.file",
        "sasl.oauthbearer.assertion.private.key.passphrase",
        "sasl.oauthbearer.assertion.template.file",
        "sasl.oauthbearer.client.credentials.client.id",
        "sasl.oauthbearer.client.credentials.client.secret",
        "sasl.oauthbearer.clock.skew.seconds",
        "sasl.oauthbearer.expected.audience",
        "sasl.oauthbearer.expected.issuer",
        "sasl.oauthbearer.header.urlencode",
        "sasl.oauthbearer.jwks.endpoint.refresh.ms",
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
        "sasl.oauthbearer.jwks.endpoint.url",
        "sasl.oauthbearer.jwt.retriever.class",
        "sasl.oauthbearer.jwt.validator.class",
        "sasl.oauthbearer.scope",
        "sasl.oauthbearer.scope.claim.name",
        "sasl.oauthbearer.sub.claim.name",
        "sasl.oauthbearer.token.endpoint.url",
        "ssl.secure.random.implementation",
    }
)
"""Login and TLS properties of Kafka's clients up to 4.4 that are not in `_LOGIN_AND_TLS`.

kgtui supports some of these properties and ignores the others. It warns about none of them, because all of them are
valid in Kafka's clients.
"""

_OTHER_NAMES = frozenset(
    {
        "acks",
        "auto.offset.reset",
        "client.dns.lookup",
        "client.rack",
        "connections.max.idle.ms",
        "enable.auto.commit",
        "group.id",
        "key.deserializer",
        "key.serializer",
        "metadata.max.age.ms",
        "retries",
        "retry.backoff.ms",
        "value.deserializer",
        "value.serializer",
    }
)
"""Common properties that kgtui ignores. They are listed so that the warning about a typo can suggest the right name."""


def check_supported(properties: Mapping[str, str]) -> None:
    """Raise ConfigError if kgtui refuses the value of a property (see `_REFUSED`).

    The error message says what the user should do instead.
    """
    for key in sorted(properties):
        value = properties[key].strip()
        name = "config.providers" if key.startswith("config.providers.") else key
        if value and name in _REFUSED and value.upper() not in _DEFAULTS.get(name, ()):
            raise ConfigError(f"{key} is not supported: {_REFUSED[name]}")


def check_text(properties: Mapping[str, str]) -> None:
    """Raise ConfigError if a value contains a NUL character or is not UTF-8. The message does not contain the value."""
    for key, value in properties.items():
        if not _is_text(value):
            raise ConfigError(f"{key}: {_NOT_TEXT}")


def _is_text(value: str) -> bool:
    try:
        return b"\0" not in value.encode()
    except UnicodeEncodeError:
        return False


def whole_number(key: str, text: str, unit: str, lowest: int, highest: int) -> int:
    """Convert the value of a property (`text`) to an integer.

    Args:
        key, unit: name of the property, and unit of its value, for the error message.

    Raises:
        ConfigError: the value is not a whole number from `lowest` to `highest`.
    """
    text = text.strip()
    if not (text.isascii() and text.isdigit() and len(text) < 20 and lowest <= int(text) <= highest):
        raise ConfigError(f"{key}={text} is not a number of {unit} from {lowest} to {highest}")
    return int(text)


def unknown_keys(properties: Mapping[str, str], supported: Collection[str]) -> tuple[str, ...]:
    """Return one warning for each property that Kafka's clients do not have, for example because of a typo.

    Args:
        properties: name → value. If the mapping has an attribute `places` (name → text such as `line 3 of FILE`),
            the warning about a property begins with this text.
        supported: further properties that kgtui supports, in addition to those for login and TLS.
    """
    places: Mapping[str, str] = getattr(properties, "places", {})
    known = _LOGIN_AND_TLS | _LOGIN_NAMES | _REFUSED.keys() | frozenset(supported)
    warnings = []
    for key in properties:
        if not (key in known or _WITHOUT_EFFECT.fullmatch(key)):
            place = f"{places[key]}: " if key in places else ""
            warning = f"{place}{key} is not a property of Kafka's clients: it has no effect"
            advice = _advice(key, known | _OTHER_NAMES)
            warnings.append(f"{warning}; {advice}" if advice else warning)
    return tuple(warnings)


def _advice(key: str, known: Collection[str]) -> str:
    """Return advice about an unknown property, such as a similar name in `known`; empty if there is no advice."""
    similar = get_close_matches(key, known, n=1, cutoff=0.85)
    if similar:
        return f"did you mean {similar[0]}?"
    if "." not in key or " " in key:
        return "if this line continues the previous line, end the previous line with a backslash"
    return ""


JAAS_KEY = "sasl.jaas.config"

_TOKEN = re.compile(
    r"""
    (?P<skip>   \s+ | //[^\r\n]* | /\*.*?\*/ )
  | (?P<double> "(?:[^"\\\r\n] | \\.)*" )
  | (?P<single> '(?:[^'\\\r\n] | \\.)*' )
  | (?P<word>   [\w.$\-]+ )
  | (?P<mark>   [=;] )
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\([0-3][0-7]{0,2}|[4-7][0-7]?|.)", re.DOTALL)
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_FLAGS = frozenset({"required", "requisite", "sufficient", "optional"})


@dataclass(frozen=True, slots=True)
class LoginModule:
    """The login module in the value of `sasl.jaas.config`.

    Attributes:
        name: Java class, with its package.
        options: name → value. All values are masked, because they can be passwords.
    """

    name: str
    options: dict[str, Secret]

    @property
    def short_name(self) -> str:
        """The name of the Java class without its package."""
        return self.name.rpartition(".")[2]

    def plain_options(self) -> dict[str, str]:
        """Return the options with unmasked values. Callers must not show the values, because they can be passwords."""
        return {name: str.__str__(value.reveal()) for name, value in self.options.items()}


def parse_jaas(text: str) -> LoginModule:
    """Parse the value of `sasl.jaas.config`.

    Raises:
        ConfigError: the value is not valid. The message never contains the value of an option.
    """
    tokens = _tokens(text)
    kind, name = next(tokens)
    if kind != "word":
        raise _mistake("the value should begin with the class of a login module")
    kind, flag = next(tokens)
    if kind != "word" or flag.lower() not in _FLAGS:
        raise _mistake("the class of the login module should be followed by `required`")
    options: dict[str, Secret] = {}
    while True:
        kind, key = next(tokens)
        if (kind, key) == ("mark", ";"):
            break
        if kind == "end":
            raise _mistake(
                "the value has no semicolon at the end; if it has several lines, each line except the last must end "
                "with a backslash"
            )
        if kind != "word" or next(tokens) != ("mark", "="):
            raise _mistake('options should be written name="value"')
        kind, value = next(tokens)
        if kind not in {"word", "string"} or (kind == "word" and value[0].isdigit()):
            raise _mistake(f"the value of {_known(key)} should be in double quotes")
        if "\0" in value:
            raise _mistake(f"the value of {_known(key)} should not contain a NUL character")
        options[key] = Secret(value)
    if next(tokens)[0] != "end":
        raise _mistake("there should be one login module and nothing after its semicolon")
    return LoginModule(name, options)


def _known(option: str) -> str:
    """Return the name of an option of PLAIN or SCRAM, for an error message; otherwise "an option".

    Error messages do not show other names, because such a name could be part of a password that is
    not quoted correctly.
    """
    return option if option in {"username", "password", "tokenauth"} else "an option"


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    position = 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise _mistake(f"character {position + 1} is not allowed here, or a quote is not closed")
        position = found.end()
        kind, word = found.lastgroup, found.group()
        if kind in {"double", "single"}:
            yield "string", _ESCAPE.sub(_unescape, word[1:-1])
        elif kind != "skip":
            yield str(kind), word
    while True:
        yield "end", ""


def _unescape(found: re.Match[str]) -> str:
    code = found.group(1)
    return chr(int(code, 8)) if code[0] in "01234567" else _ESCAPES.get(code, code)


def _mistake(problem: str) -> ConfigError:
    example = 'org.apache.kafka...PlainLoginModule required username="u" password="p";'
    return ConfigError(f"{JAAS_KEY}: {problem}; example: {example}")
