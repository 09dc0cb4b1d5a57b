"""Reads `config.toml`, and rejects unknown keys and invalid values.

An error message names the file, the key and what was expected.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from kgtui.config.properties import Properties, filled_in
from kgtui.errors import PARSE_ERRORS, ConfigError, parse_reason
from kgtui.model.defaults import POLL_INTERVAL, TREE_COLUMNS
from kgtui.model.paths import expanded
from kgtui.private_files import read_input

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

T = TypeVar("T")

VERSION = 2
"""Newest format version of `config.toml`. In version 1, the key `color` of a cluster was named `colour`."""

_OLD_CLUSTER_KEYS = {"colour": "color"}
"""Old name → new name, for each renamed key in the tables `[clusters.NAME]`.

The old names are accepted in files whose key `version` is 1 or missing.
"""


@dataclass(frozen=True, slots=True)
class UiSettings:
    """Settings of the terminal UI, from the table `[ui]` and environment variables.

    Attributes:
        theme: name of the theme; empty for the default.
        interval: time between two polls of the cluster, in seconds.
        ascii: whether to draw with ASCII characters only.
        utc: whether to show times in UTC.
        columns: columns in the tree of groups, the most important first. In a narrow tree, a column is left out if it
            does not fit beside the more important columns.
    """

    theme: str = ""
    interval: float = POLL_INTERVAL
    ascii: bool = False
    utc: bool = False
    columns: tuple[str, ...] = TREE_COLUMNS


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """Settings of one cluster, from its table `[clusters.NAME]`.

    Attributes:
        bootstrap: bootstrap addresses, as a list or as a text with commas; empty if the key is not set.
        command_config: path of a file with Java client properties; empty if there is none.
        color: background color of the cluster's name in the header; empty for the default.
        environment: label of the cluster in the header, such as `PROD`; empty for no label.
        properties: Java client properties in this table.
    """

    bootstrap: str | list[str] = ""
    command_config: str = ""
    read_only: bool = False
    color: str = ""
    environment: str = ""
    properties: Properties = field(default_factory=Properties)

    @property
    def address(self) -> str:
        """Bootstrap addresses, separated by commas; empty if neither `bootstrap` nor `bootstrap.servers` is set."""
        given = self.bootstrap if isinstance(self.bootstrap, str) else ",".join(self.bootstrap)
        return given or self.properties.get("bootstrap.servers", "")


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of `config.toml` and the environment.

    Attributes:
        path: path of `config.toml`, even if it does not exist.
        default: name of the cluster to use if the user names none; empty if the key `default` is not set.
        keys: action in the terminal UI → key on the keyboard.
        presets: name of a saved filter → filter expression.
        storage: URI prefix of lakes, such as `s3a://bucket` → storage options for these lakes, such as credentials. A
            lake is a folder with recordings. References such as `${NAME}` in the options are not replaced yet.
    """

    path: Path
    default: str = ""
    clusters: Mapping[str, ClusterSettings] = field(default_factory=dict)
    ui: UiSettings = field(default_factory=UiSettings)
    keys: Mapping[str, str] = field(default_factory=dict)
    presets: Mapping[str, str] = field(default_factory=dict)
    storage: Mapping[str, Mapping[str, str]] = field(default_factory=dict)


def config_dir() -> Path:
    """Return the folder that contains `config.toml` and the user's themes."""
    if given := os.environ.get("KGTUI_CONFIG_DIR"):
        return expanded(given, "KGTUI_CONFIG_DIR: ")
    from platformdirs import user_config_path

    return user_config_path("kgtui", appauthor=False)


def load() -> Settings:
    """Read `config.toml` and the environment variables. A missing file means default settings.

    Raises:
        ConfigError: the file or a variable is not valid.
    """
    path = config_dir() / "config.toml"
    return _with_environment(_read_settings(path))


def _read_settings(path: Path) -> Settings:
    try:
        content = read_input(path)
    except FileNotFoundError:
        return Settings(path)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from None
    import tomllib

    try:
        table = tomllib.loads(content.decode("utf-8"))
    except PARSE_ERRORS as error:
        raise ConfigError(f"{path}: the file is not valid TOML: {parse_reason(error)}") from None
    version = table.pop("version", None)
    if version is None:
        version = 1
    elif type(version) is not int or version < 1:  # `True` is an `int`, too.
        raise ConfigError(f"{path}: version (the version of the file's format) must be a number from 1 to {VERSION}")
    if version > VERSION:
        raise ConfigError(
            f"{path}: version {version} of the format is newer than version {VERSION}, the newest that this kgtui can "
            "read: upgrade kgtui, or use another folder with KGTUI_CONFIG_DIR"
        )
    clusters = _table(table.pop("clusters", {}), path, "clusters")
    if "default" in table and table["default"] == "":
        raise ConfigError(f"{path}: default is empty: write the name of a cluster, or remove the key")
    settings = _typed(table, _File, path, "")
    _check_interval(settings.ui.interval, f"{path}: ui.interval")
    _check_columns(settings.ui.columns, f"{path}: ui.columns")
    return Settings(
        path=path,
        clusters={
            name: _cluster(_current(_table(found, path, f"clusters.{name}"), version, path, name), path, name)
            for name, found in clusters.items()
        },
        **{item.name: getattr(settings, item.name) for item in fields(_File)},
    )


@dataclass(frozen=True, slots=True)
class _File:
    """The content of `config.toml`, except `version` and the tables `[clusters.NAME]`, which are checked separately."""

    default: str = ""
    ui: UiSettings = field(default_factory=UiSettings)
    keys: dict[str, str] = field(default_factory=dict)
    presets: dict[str, str] = field(default_factory=dict)
    storage: dict[str, dict[str, str]] = field(default_factory=dict)


def _current(table: dict[str, Any], version: int, path: Path, name: str) -> dict[str, Any]:
    """Return a cluster's table in which old names of keys are replaced by the new names (see `_OLD_CLUSTER_KEYS`).

    Args:
        version: format version of the file. Old names are replaced only if it is lower than `VERSION`.
        path: path of the file, for the error message.
        name: name of the cluster, for the error message.

    Raises:
        ConfigError: the table contains both the old and the new name of a key.
    """
    if version >= VERSION:
        return table
    for old, new in _OLD_CLUSTER_KEYS.items():
        if old in table and new in table:
            raise ConfigError(f"{path}: clusters.{name}: {old} is the old name of {new}; keep only {new}")
    return {_OLD_CLUSTER_KEYS.get(key, key): value for key, value in table.items()}


def _cluster(table: Mapping[str, Any], path: Path, name: str) -> ClusterSettings:
    """Return the settings of a cluster from its table, which can contain both kgtui's own keys and Java properties."""
    known = {item.name for item in fields(ClusterSettings)} - {"properties"}
    ours = {key: value for key, value in table.items() if key in known}
    java = _flat({key: value for key, value in table.items() if key not in known})
    for key, value in java.items():
        if "." not in key:
            keys = ", ".join(sorted(known))
            raise ConfigError(
                f"{path}: clusters.{name}.{key} is not known; expected one of {keys}, or a Kafka property such as "
                "security.protocol"
            )
        if isinstance(value, (list, dict)):
            raise ConfigError(f"{path}: clusters.{name}.{key}: expected a string, a number, true or false")
    texts = Properties(
        {key: str(value).lower() if isinstance(value, bool) else str(value) for key, value in java.items()}
    )
    for key in ("bootstrap", "command_config"):
        if key in ours and ours[key] in ("", []):
            raise ConfigError(f"{path}: clusters.{name}.{key} is empty: write a value, or remove the key")
    return replace(_typed(ours, ClusterSettings, path, f"clusters.{name}"), properties=texts)


def _flat(table: Mapping[str, Any]) -> dict[str, Any]:
    """Convert nested tables into one table with keys such as `a.b`, because TOML parses `a.b = 1` as nested tables."""
    flat: dict[str, Any] = {}
    for key, value in table.items():
        if isinstance(value, dict) and value:
            flat.update({f"{key}.{below}": found for below, found in _flat(value).items()})
        else:
            flat[key] = value
    return flat


def _table(value: Any, path: Path, key: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError(f"{path}: {key}: expected a table that begins with [{key}]")
    return value


def _typed(table: Mapping[str, Any], kind: type[T], path: Path, key: str) -> T:
    """Convert a TOML table to the dataclass `kind`.

    Raises:
        ConfigError: a key or value is wrong. The message names the file, the key and what was expected.
    """
    import msgspec

    _check_names(table, kind, path, key)
    try:
        return msgspec.convert(table, type=kind, strict=True)
    except msgspec.ValidationError as error:
        what, _, where = str(error).partition(" - at `")
        inside = where.rstrip("`").removeprefix("$").replace("[...]", ".…").strip(".")
        raise ConfigError(f"{path}: {'.'.join(filter(None, (key, inside)))}: {what.replace('`', '')}") from None


def _check_names(table: Mapping[str, Any], kind: type[Any], path: Path, key: str) -> None:
    known = {item.name: item for item in fields(kind)}
    for name, value in table.items():
        full = f"{key}.{name}" if key else name
        if name not in known:
            expected = sorted(known if key else {*known, "clusters", "version"})
            raise ConfigError(f"{path}: {full} is not known; expected one of {', '.join(expected)}")
        if name == "ui" and isinstance(value, dict):
            _check_names(value, UiSettings, path, full)


def _with_environment(settings: Settings) -> Settings:
    """Return the settings, in which environment variables such as `KGTUI_THEME` override values of the table `[ui]`."""
    ui = settings.ui
    interval = ui.interval
    if text := os.environ.get("KGTUI_INTERVAL"):
        try:
            interval = float(text)
        except ValueError:
            raise ConfigError(f"KGTUI_INTERVAL={text}: expected a number of seconds, such as 2") from None
        _check_interval(interval, "KGTUI_INTERVAL")
    return replace(
        settings,
        ui=replace(
            ui,
            theme=os.environ.get("KGTUI_THEME") or ui.theme,
            interval=interval,
            ascii=flag("KGTUI_ASCII", default=ui.ascii),
            utc=flag("KGTUI_UTC", default=ui.utc),
        ),
    )


def _check_interval(seconds: float, where: str) -> None:
    if not 0.1 <= seconds <= 3600:
        raise ConfigError(f"{where}: {seconds:g} is out of range: expected 0.1 to 3600 seconds")


def _check_columns(columns: tuple[str, ...], where: str) -> None:
    unknown = [column for column in columns if column not in TREE_COLUMNS]
    if unknown:
        raise ConfigError(f"{where}: {unknown[0]} is not known; expected one of {', '.join(TREE_COLUMNS)}")


def storage_options() -> dict[str, dict[str, str]]:
    """Return the table `[storage]` of `config.toml` as a dict: URI prefix of lakes → storage options for these lakes.

    A lake is a folder with recordings. References such as `${NAME}` in the storage options are replaced.

    Raises:
        ConfigError: a reference cannot be replaced, or `config.toml` is not valid.
    """
    settings = load()
    return {
        prefix: dict(filled_in(options, f"{settings.path}: storage.{prefix}", settings.path.parent))
        for prefix, options in settings.storage.items()
    }


def flag(name: str, *, default: bool) -> bool:
    """Return the boolean value of an environment variable, or `default` if the variable is empty or not set.

    Raises:
        ConfigError: the value is not a boolean.
    """
    text = os.environ.get(name, "").strip().lower()
    if text in {"1", "true", "yes", "on"}:
        return True
    if text in {"0", "false", "no", "off"}:
        return False
    if text:
        raise ConfigError(f"{name}={text}: expected true or false")
    return default
