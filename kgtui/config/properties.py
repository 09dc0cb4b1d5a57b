"""Reads files of Java client properties, and resolves their references to environment variables and files."""

from __future__ import annotations

import os
import re
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING

from kgtui.config.providers import PROVIDERS, declares_providers, read_value, resolved
from kgtui.errors import ConfigError
from kgtui.model.paths import expanded
from kgtui.private_files import read_input

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping
    from pathlib import Path

_JAAS = "sasl.jaas.config"
_NAME = r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}"
_REFERENCE = re.compile(_NAME)
"""Matches a reference to an environment variable, `${NAME}`."""

_FILE_URLS = frozenset({"useKeytab", "useCcache"})
"""Options of IBM's Kerberos login module whose values are URLs, such as `file:/etc/keytab`.

kgtui does not replace these URLs with the content of the files, because these options need the path of a file.
"""

_IN_JAAS = re.compile(
    rf"""(?P<option>\w*)\s*=\s*(["'])file:(?P<file>.*?)\2 | =\s*(?P<bare>{_NAME}) | (?P<inside>{_NAME})""",
    re.VERBOSE,
)
"""Matches one reference in `sasl.jaas.config`, such as `password="file:secret.txt"`.

In each match, one of these named groups of the regular expression is not None:
- `file`: PATH in `="file:PATH"`; `option` is the word before `=`
- `bare`: `${NAME}` without quotes after `=`
- `inside`: any other `${NAME}`, usually between quotes
"""


class Properties(dict[str, str]):
    """A dict of Java client properties. Its `repr` shows only the names, because values can be passwords.

    Attributes:
        places: name → where the property is set, such as `line 3 of FILE`.
        warnings: sentences about mistakes that do not prevent the use of the properties.
    """

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        """Copy the values. If `values` is of the type `Properties`, also copy its `places` and `warnings`."""
        super().__init__(values or {})
        self.places: dict[str, str] = dict(getattr(values, "places", {}))
        self.warnings: tuple[str, ...] = getattr(values, "warnings", ())

    def __repr__(self) -> str:
        return f"Properties({', '.join(sorted(self))})"

    def override(self, stronger: Properties, where: str) -> None:
        """Add the properties and warnings in `stronger`. If a property is already set, its value is replaced.

        If the new value differs from the old one, a warning is added to `warnings`.

        Args:
            stronger: the properties to add.
            where: file or table that contains the properties in `stronger`, for the warnings.
        """
        replaced = [key for key in stronger if self.get(key, stronger[key]) != stronger[key]]
        self.warnings += stronger.warnings
        for key in replaced:
            self.warnings += (f"{self.places.get(key, key)}: {key} is not used, because {where} sets it, too",)
        for key, value in stronger.items():
            self[key] = value
            self.places.pop(key, None)
        self.places |= stronger.places


_PEM_ADVICE = (
    "this looks like a PEM file. Give a file of Java client properties, and name the PEM file in it with "
    "ssl.keystore.location or ssl.truststore.location. A key or certificate in a property must be on one line"
)

_PROPERTY_NAME = re.compile(
    r"""
      # Words with dots between them, such as `sasl.jaas.config`. `first` is the word before the first dot.
      (?P<first>[A-Za-z][A-Za-z0-9_-]{0,31})(\.[A-Za-z0-9_-]{1,40}){1,9}
      # Names of Kafka's client properties without a dot.
    | acks | retries
      # Words at the beginning of the second or a later line of `sasl.jaas.config`. They are read as names of properties
      # if the user has forgotten the backslash at the end of the line before.
    | username | password | required
    """,
    re.VERBOSE,
)
"""Matches a key that can be the name of a Java property. This pattern does not match a line of base64.

A matching key can still be a secret that contains a dot. Therefore, `_looks_like_name` also checks the word before the
first dot.
"""

_FIRST_WORDS = frozenset({
    "acceptable", "admin", "allow", "api", "application", "auto", "basic", "batch", "bearer", "bootstrap",
    "broker", "buffer", "built", "cache", "check", "client", "com", "commit", "compression", "config",
    "confluent", "connections", "consumer", "custom", "default", "delivery", "deserialization", "dsl", "enable",
    "ensure", "errors", "exclude", "fetch", "global", "group", "header", "heartbeat", "input", "interceptor",
    "internal", "io", "isolation", "java", "key", "linger", "listener", "listeners", "log", "main", "max",
    "message", "metadata", "metric", "metrics", "min", "msk", "num", "offset", "offsets", "org", "partition",
    "partitioner", "plugin", "poll", "probing", "processing", "producer", "proxy", "rack", "receive",
    "reconnect", "repartition", "replication", "request", "rest", "restore", "retry", "sasl", "schema",
    "security", "send", "session", "share", "socket", "software", "ssl", "state", "statestore", "streams",
    "task", "telemetry", "topic", "topology", "transaction", "transactional", "upgrade", "value", "warmup",
    "windowed", "windowstore", "zookeeper",
})  # fmt: skip
"""First words of property names of Kafka, its plugins and other tools, such as `ssl` in `ssl.key.password`.

A key with a different first word could be a secret that contains a dot. Messages show such a key only if the first word
is similar to one of these words, and is thus probably a typo.
"""

_PEM_BODY = re.compile(r"[A-Za-z0-9+/]{40,}={0,2}")
"""Matches a line of base64. It detects a PEM file even if the line `-----BEGIN …` of the file is missing."""


def _looks_like_name(key: str) -> bool:
    """Return whether a key is probably the name of a property, and not a part of a secret."""
    found = _PROPERTY_NAME.fullmatch(key)
    first = found["first"] if found else None
    if found is None or first is None or first.lower() in _FIRST_WORDS:
        return found is not None
    from difflib import get_close_matches

    return bool(get_close_matches(first.lower(), _FIRST_WORDS, n=1, cutoff=0.75))


_ANY_PROVIDER_REFERENCE = re.compile(r"\$\{(?P<provider>[^${}:]*):[^{}]*\}")
"""Matches a reference to a config provider, such as `${vault:secret/kafka:password}`."""

_PROVIDER_NAMES = ("env", "file", "directory")
"""Provider names that warnings may contain. Other names are masked, because they can be part of a password."""


def read_properties(path: str | Path) -> Properties:
    r"""Read a file of Java properties as Kafka's tools do: as Latin-1. If a key occurs twice, its last value is used.

    A key that does not look like the name of a property could be part of a secret. In the result, this key is replaced
    with `line N of FILE`.

    Raises:
        ConfigError: the file cannot be read, has an invalid `\u` escape, or contains PEM. The message contains no
            secret.
    """
    from javaproperties import InvalidUEscapeError, KeyValue, parse

    found = Properties()
    line, in_pem = 1, False
    try:
        with BytesIO(read_input(expanded(path))) as file:
            for element in parse(file):
                if isinstance(element, KeyValue):
                    if "-----BEGIN" in element.source:
                        in_pem = "-----END" not in element.source
                    looks_like_name = _looks_like_name(element.key)
                    if (in_pem or _PEM_BODY.fullmatch(element.source.strip())) and not looks_like_name:
                        raise ConfigError(f"{path}: line {line} is not a property: {_PEM_ADVICE}")
                    place = f"line {line} of {path}"
                    if looks_like_name and element.key in found:
                        older = found.places[element.key]
                        found.warnings += (f"{older}: {element.key} is not used, because line {line} sets it, too",)
                    found[element.key if looks_like_name else place] = element.value
                    if looks_like_name:
                        found.places[element.key] = place
                line += len(element.source.splitlines())
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}; expected a file of Java client properties") from None
    except InvalidUEscapeError as error:
        raise ConfigError(
            f"line {line} of {path}: {error.escape} is not a valid escape: write \\u and four hexadecimal digits"
        ) from None
    return found


def filled_in(properties: Mapping[str, str], where: str, folder: Path) -> Properties:
    """Return a copy of the properties in which references such as `${NAME}` and `file:PATH` are replaced.

    If the name of a property ends with `.url`, `file:PATH` is a URL and is not replaced. If the property
    `config.providers` is set, only references to the config providers that it names are replaced, as in Kafka.

    Args:
        where: file or table that contains the properties, for error messages.
        folder: folder to which relative paths refer.

    Raises:
        ConfigError: a variable or a file does not exist, or a config provider is not supported.
    """
    filled = Properties(properties)
    if declares_providers(properties):
        for key in properties.keys() - (found := resolved(properties, where, folder)).keys():
            del filled[key]
        filled.update(found)
        declared = properties[PROVIDERS].split(",")
    else:
        _fill_in(filled, where, folder)
        declared = []
    filled.warnings += tuple(_undeclared_references(properties, {name.strip() for name in declared}, where))
    return filled


def _undeclared_references(properties: Mapping[str, str], declared: Container[str], where: str) -> Iterator[str]:
    """Yield a warning for each property with a reference to a config provider that is not in `declared`.

    Args:
        declared: names of the providers in the property `config.providers`; empty if it is not set.
        where: file or table that contains the properties, for the warnings.
    """
    for key, value in properties.items():
        for found in _ANY_PROVIDER_REFERENCE.finditer(value):
            name = found["provider"]
            if name not in declared:
                shown = f"${{{name}:…}}" if name in _PROVIDER_NAMES else "a reference ${…:…}"
                yield (
                    f"{where}: {key}: {shown} is used as it is written, as in Kafka, because {PROVIDERS} does not "
                    "declare this provider"
                )
                break


def _fill_in(filled: Properties, where: str, folder: Path) -> None:
    """Replace the references `${NAME}` and `file:PATH` in the values of `filled`, which is changed in place."""
    for key, value in filled.items():
        place = f"{where}: {key}"
        if value.startswith("file:") and not key.endswith(".url"):
            filled[key] = _content(value.removeprefix("file:"), place, folder)
        elif key == _JAAS:
            filled[key] = _IN_JAAS.sub(partial(_option, place, folder), value)
        else:
            filled[key] = _REFERENCE.sub(partial(_plain, place), value)


def _plain(place: str, found: re.Match[str]) -> str:
    return _variable(found[0], place)


def _option(place: str, folder: Path, found: re.Match[str]) -> str:
    """Return the text that replaces a reference in `sasl.jaas.config`.

    `="file:PATH"` → `="CONTENT"`; `=${NAME}` → `="VALUE"`; `${NAME}` → `VALUE`. In the inserted text, quotes,
    backslashes and line breaks are escaped. If the option is in `_FILE_URLS`, `="file:PATH"` is returned unchanged.

    Args:
        place: file and property with the reference, for error messages.
        folder: folder to which relative paths refer.
        found: match of `_IN_JAAS`.

    Raises:
        ConfigError: the variable is not set, or the file cannot be read.
    """
    if (file := found["file"]) is not None:
        if found["option"] in _FILE_URLS:
            return found[0]
        return f'{found["option"]}="{_escaped(_content(file, place, folder))}"'
    if found["bare"]:
        return f'="{_escaped(_variable(found["bare"], place))}"'
    return _escaped(_variable(found["inside"], place))


def _variable(reference: str, place: str) -> str:
    name = reference[2:-1]
    value = os.environ.get(name)
    if value is None:
        raise ConfigError(f"{place}: the environment variable {name} is not set")
    return value


def _content(name: str, place: str, folder: Path) -> str:
    return read_value(folder / expanded(name, f"{place}: "), place).rstrip("\r\n")


def _escaped(text: str) -> str:
    """Escape quotes, backslashes and line breaks, so that the text can be put between quotes in `sasl.jaas.config`."""
    text = re.sub(r"""(["'\\])""", r"\\\1", text)
    return text.replace("\n", "\\n").replace("\r", "\\r")
