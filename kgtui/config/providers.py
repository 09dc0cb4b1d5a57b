"""Resolve references to Kafka's config providers, such as `${file:/run/secrets/kafka.properties:password}`.

The three supported providers (file, directory, environment variable) work as in Kafka: values are inserted without
escaping. Then whitespace at both ends of the property's value is removed. A reference to a provider that the property
`config.providers` does not declare is not replaced.
"""

from __future__ import annotations

import os
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kgtui.errors import ConfigError
from kgtui.private_files import read_input

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Provider = Callable[[str, str, str], str]
    """Function that takes `(place, path, key)` and returns the value of the reference `${PROVIDER:PATH:KEY}`.

    `place` names the file and the property with the reference, for error messages.
    """

PROVIDERS = "config.providers"

_PROVIDER_REFERENCE = re.compile(r"\$\{(?P<provider>[^}]*?):((?P<path>[^}]*?):)?(?P<key>[^}]*?)\}")
_CLASSES = ("FileConfigProvider", "EnvVarConfigProvider", "DirectoryConfigProvider")
_PACKAGE = "org.apache.kafka.common.config.provider"


def declares_providers(properties: Mapping[str, str]) -> bool:
    """Return whether the properties declare config providers.

    If they do, kgtui replaces only references to these providers. It does not replace `${NAME}` and `file:PATH`.
    """
    return bool(properties.get(PROVIDERS, "").strip())


def resolved(properties: Mapping[str, str], where: str, folder: Path) -> dict[str, str]:
    """Return a copy of the properties in which references to config providers are replaced.

    The copy does not contain the properties that declare the providers: `config.providers` and `config.providers.*`.

    Args:
        where: file or table that contains the properties, for error messages.
        folder: folder to which relative paths refer.

    Raises:
        ConfigError: a provider is not supported, or cannot provide a value. The message contains no secrets.
    """
    names = [name.strip() for name in properties[PROVIDERS].split(",") if name.strip()]
    providers = {name: _provider(name, properties, where, folder) for name in names}

    def value(key: str, found: re.Match[str]) -> str:
        provider = providers.get(found["provider"])
        if provider is None:
            return found[0]
        return provider(f"{where}: {key}", found["path"] or "", found["key"])

    return {
        key: _PROVIDER_REFERENCE.sub(partial(value, key), text).strip()
        for key, text in properties.items()
        if key != PROVIDERS and not key.startswith(f"{PROVIDERS}.")
    }


def _provider(name: str, properties: Mapping[str, str], where: str, folder: Path) -> Provider:
    key = f"{PROVIDERS}.{name}.class"
    java = properties.get(key, "").strip()
    if not java:
        raise ConfigError(f"{where}: {key} is missing: set it to {_PACKAGE}.{_CLASSES[0]}, or to another provider")
    package, _, short = java.rpartition(".")
    if package != _PACKAGE or short not in _CLASSES:
        raise ConfigError(
            f"{where}: {key}={java} is not supported, because kgtui cannot run Java classes: use one of "
            f"{', '.join(_CLASSES)} in {_PACKAGE}"
        )
    parameters = {
        one.rpartition("param.")[2]: text.strip()
        for one, text in properties.items()
        if one.startswith(f"{PROVIDERS}.{name}.param.")
    }
    if short == "EnvVarConfigProvider":
        return partial(_from_environment, _allowlist(parameters.get("allowlist.pattern", ""), where, name))
    allowed = [folder / path.strip() for path in parameters.get("allowed.paths", "").split(",") if path.strip()]
    read = _from_file if short == "FileConfigProvider" else _from_directory
    return partial(read, allowed, folder)


def _allowlist(pattern: str, where: str, name: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern or ".*")
    except re.error as error:
        key = f"{PROVIDERS}.{name}.param.allowlist.pattern"
        raise ConfigError(f"{where}: {key} is not a regular expression: {error}") from None


def _from_environment(allowlist: re.Pattern[str], place: str, path: str, name: str) -> str:
    if path:
        raise ConfigError(
            f"{place}: a reference to an environment variable must not have a path: write ${{PROVIDER:{name}}}"
        )
    if not allowlist.fullmatch(name):
        raise ConfigError(f"{place}: allowlist.pattern does not allow the environment variable {name}")
    value = os.environ.get(name)
    if value is None:
        raise ConfigError(f"{place}: the environment variable {name} is not set")
    return value


def _from_file(allowed: list[Path], folder: Path, place: str, path: str, key: str) -> str:
    import javaproperties

    file = _permitted(allowed, folder, place, path)
    try:
        values = javaproperties.loads(read_input(file).decode("utf-8"))
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "the file is not a properties file in UTF-8"
        raise ConfigError(f"{place}: {file}: {why}; expected a properties file with the key {key}") from None
    if key not in values:
        raise ConfigError(f"{place}: {file} has no key {key}")
    return values[key]


def _from_directory(allowed: list[Path], folder: Path, place: str, path: str, key: str) -> str:
    file = _permitted(allowed, folder, place, path) / key
    if "/" in key or key in {"", ".."}:
        raise ConfigError(f"{place}: {key!r} is not the name of a file in {path}")
    return read_value(file, place)


def read_value(file: Path, place: str) -> str:
    """Return the content of a file that contains the value of a property.

    Raises `ConfigError` if the file cannot be read or is not UTF-8. The message begins with `place`, which names the
    file and the property with the reference.
    """
    try:
        return read_input(file).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "the file does not contain UTF-8 text"
        raise ConfigError(f"{place}: {file}: {why}; expected a file that contains the value") from None


def _permitted(allowed: list[Path], folder: Path, place: str, path: str) -> Path:
    """Return `folder / path`, after a check that the config provider may read this path.

    Args:
        allowed: paths in the provider's parameter `allowed.paths`. The result must be one of these paths, or inside one
            of them. If the list is empty, all paths are allowed.
        place: file and property with the reference, for error messages.
        path: path in the reference.

    Raises:
        ConfigError: `path` is empty or not allowed.
    """
    if not path:
        raise ConfigError(f"{place}: the reference has no path: write ${{PROVIDER:PATH:KEY}}")
    file = folder / path
    normal = Path(os.path.normpath(file.absolute()))
    if allowed and not any(normal.is_relative_to(os.path.normpath(one.absolute())) for one in allowed):
        raise ConfigError(f"{place}: allowed.paths does not allow {path}")
    return file
