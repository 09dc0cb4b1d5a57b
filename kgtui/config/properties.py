"""Reads files of Java client properties, and resolves references to environment variables and files."""

from __future__ import annotations

import os
import re
from functools import partial
from typing import TYPE_CHECKING

from kgtui.config.config_providers import PROVIDERS, declares_providers, read_value, resolved
from kgtui.errors import ConfigError
from kgtui.model.paths import expanded

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Mapping
    from pathlib import Path

_JAAS = "sasl.jaas.config"
_NAME = r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}"
_REFERENCE = re.compile(_NAME)
_IN_JAAS = re.compile(rf"""=\s*(["'])file:(?P<file>.*?)\1 | =\s*(?P<bare>{_NAME}) | (?P<inside>{_NAME})""", re.VERBOSE)


class Properties(dict[str, str]):
    """Java client properties: name → value. `repr` shows only the names, because the values may contain passwords.

    Attributes:
        places: name of a property → where the property is set, such as `line 3 of FILE`.
        warnings: sentences about mistakes that do not prevent the use of the properties.
    """

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        """Copy the values, and also `places` and `warnings` if the values are `Properties`."""
        super().__init__(values or {})
        self.places: dict[str, str] = dict(getattr(values, "places", {}))
        self.warnings: tuple[str, ...] = getattr(values, "warnings", ())

    def __repr__(self) -> str:
        return f"Properties({', '.join(sorted(self))})"

    def override(self, stronger: Properties, where: str) -> None:
        """Add properties, which replace properties with the same name. Each replaced value causes a warning.

        Args:
            stronger: the properties to add.
            where: file or table that contains the added properties, for the warnings.
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
    r"[A-Za-z][A-Za-z0-9_-]*(\.[A-Za-z0-9_-]+)+ | acks | retries | username | password | required", re.VERBOSE
)
"""Matches the names of Kafka client properties, but not lines of base64, which may be a part of a private key.

`username`, `password` and `required` are included, because they look like property names if lines of the value of
`sasl.jaas.config` lack the backslash at their end.
"""

_ELSEWHERE = re.compile(r"\$\{(?P<provider>[^${}:]*):[^{}]*\}")
"""Matches a reference to a config provider."""

_PROVIDER_NAMES = ("env", "file", "directory")
"""Usual names of config providers. Warnings show only these names: `${X:Y}` may also be a part of a password."""


def read_properties(path: str | Path) -> Properties:
    """Read a file of Java properties as Kafka's tools do.

    The encoding is Latin-1, backslash escapes are resolved, and if a key occurs several times, its last value counts.
    kgtui shows keys to the user. A key that does not look like the name of a property may be a part of a secret, so it
    is replaced by `line N of FILE`.

    Raises:
        ConfigError: the file cannot be read, has a `\\u` without four hexadecimal digits, or contains lines of a key or
            certificate in PEM. The message about a PEM line contains its number, not its text.
    """
    from javaproperties import InvalidUEscapeError, KeyValue, parse

    found = Properties()
    line, in_pem = 1, False
    try:
        with expanded(path).open("rb") as file:
            for element in parse(file):
                if isinstance(element, KeyValue):
                    if "-----BEGIN" in element.source:
                        in_pem = "-----END" not in element.source
                    looks_like_name = _PROPERTY_NAME.fullmatch(element.key)
                    if in_pem and not looks_like_name:
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
    """Return the properties. References in their values are replaced with the texts to which they refer.

    `${NAME}` refers to an environment variable, and `file:PATH` to the content of a file. In a property whose name ends
    with `.url`, such as `sasl.oauthbearer.token.endpoint.url`, `file:` begins a URL and is not replaced. If the
    properties declare `config.providers`, only references to these providers are replaced, as in Kafka.

    Args:
        properties: the properties with references.
        where: file or table that contains the properties, for error messages.
        folder: folder for relative paths.

    Raises:
        ConfigError: a variable or a file does not exist, or kgtui does not have a provider.
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
    filled.warnings += tuple(_literal(properties, {name.strip() for name in declared}, where))
    return filled


def _literal(properties: Mapping[str, str], declared: Container[str], where: str) -> Iterator[str]:
    """Yield a warning for each property with a reference to a config provider that `declared` does not contain."""
    for key, value in properties.items():
        for found in _ELSEWHERE.finditer(value):
            name = found["provider"]
            if name not in declared:
                shown = f"${{{name}:…}}" if name in _PROVIDER_NAMES else "a reference ${…:…}"
                yield (
                    f"{where}: {key}: {shown} is used as it is written, as in Kafka, because {PROVIDERS} does not "
                    "declare this provider"
                )
                break


def _fill_in(filled: Properties, where: str, folder: Path) -> None:
    """Replace the references in the values of `filled`; the docstring of `filled_in` describes the references."""
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
    """Return the text that replaces one reference in `sasl.jaas.config`, with quotes and backslashes escaped.

    Args:
        place: file and property with the reference, for error messages.
        folder: folder for relative paths.
        found: match of the reference.
    """
    if (file := found["file"]) is not None:
        return f'="{_escaped(_content(file, place, folder))}"'
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
    """Escape a text for use between the quotes of an option in `sasl.jaas.config`."""
    text = re.sub(r"""(["'\\])""", r"\\\1", text)
    return text.replace("\n", "\\n").replace("\r", "\\r")
