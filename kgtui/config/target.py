"""Decides which cluster kgtui connects to, and checks bootstrap addresses."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from kgtui.config.properties import Properties, filled_in, read_properties
from kgtui.config.settings import ClusterSettings, flag
from kgtui.errors import ConfigError
from kgtui.model.paths import expanded

if TYPE_CHECKING:
    from kgtui.config.settings import Settings


def parse_bootstrap(text: str, where: str) -> tuple[str, ...]:
    """Split and check addresses such as `host:port,[IPv6]:port`.

    Args:
        where: name of the flag, environment variable or key that contains the addresses, for error messages.

    Raises:
        ConfigError: there is no address, or an address is not valid.
    """
    found = tuple(_check_address(part, where) for part in _parts(text))
    if not found:
        raise ConfigError(
            f"{where}: no address is given; expected one or more addresses host:port, separated by commas"
        )
    return found


def _parts(text: str) -> list[str]:
    """Split a text at commas, and return the addresses in it."""
    return [part.strip() for part in text.split(",") if part.strip()]


def _check_address(text: str, where: str) -> str:
    if "@" in text:
        raise ConfigError(
            f"{where}: an address contains @: write only host:port; user name and password belong in sasl.jaas.config "
            "in the command config"
        )
    if "://" in text:
        raise ConfigError(
            f"{where}: {text!r}: write only host:port, and set security.protocol in the command config to use TLS"
        )
    if text.startswith("[") and text.endswith("]"):
        raise ConfigError(f"{where}: {text!r} has no port: write {text}:9092, or the port that your brokers use")
    host, colon, port = text.rpartition(":")
    if ":" in host and not (host.startswith("[") and host.endswith("]")):
        raise ConfigError(f"{where}: {text!r}: write an IPv6 address in brackets, then the port, such as [::1]:9092")
    if not colon:
        raise ConfigError(f"{where}: {text!r} has no port: write {text}:9092, or the port that your brokers use")
    if not host.strip("[]"):
        raise ConfigError(f"{where}: {text!r} has no host: write host:{port or 9092}")
    if not (port.isascii() and port.isdigit() and 0 < int(port[:6]) < 65536):
        raise ConfigError(f"{where}: {port!r} in {text!r} is not a port: expected a number from 1 to 65535")
    return text


ASSUMED = "no cluster is given or configured"
"""Value of `Target.source` if no cluster is given or configured. In this case, kgtui connects to `localhost:9092`."""

_ASSUMED_SEED = "localhost:9092"


@dataclass(frozen=True, slots=True)
class Target:
    """The cluster that kgtui connects to.

    Attributes:
        name: name in `config.toml`, or the first bootstrap address.
        seeds: bootstrap addresses, each `host:port`.
        properties: Java client properties. References such as `${NAME}` are already replaced.
        read_only: whether kgtui must not change the cluster.
        color: background color of the cluster's name in the header; empty for the default.
        environment: label of the cluster, such as `PROD`, or empty.
        source: name of the flag, environment variable or key that selects the cluster; `ASSUMED` if none does.
    """

    name: str
    seeds: tuple[str, ...]
    properties: Properties = field(default_factory=Properties)
    read_only: bool = False
    color: str = ""
    environment: str = ""
    source: str = ASSUMED


def resolve(settings: Settings, flags: object = None) -> Target:
    """Return the cluster that kgtui connects to.

    kgtui searches these sources in order, and uses the first one that names a cluster: the flags, the environment
    variables, `bootstrap.servers` in the properties file that `--command-config` or `KGTUI_COMMAND_CONFIG` names, and
    `default` in `config.toml`. If no source names a cluster, the cluster is `localhost:9092`.

    Args:
        flags: parsed command line; only its attributes `bootstrap_server`, `cluster`, `command_config` and `read_only`
            are used. `flags` can lack any of these attributes.

    Raises:
        ConfigError: an address, a file or a setting is not valid, or `config.toml` has no cluster with the chosen name.
    """
    file = getattr(flags, "command_config", None) or os.environ.get("KGTUI_COMMAND_CONFIG", "")
    given = filled_in(read_properties(file), str(file), Path()) if file else None
    target = _target(settings, flags, given or Properties(), str(file))
    properties = target.properties if given is None else given
    if given is not None:
        _warn_of_other_brokers(given, target.seeds, target.source)
        if target.properties not in ({}, given):
            given.warnings += (
                f"the client properties of the cluster {target.name} are not used, because {file} is given",
            )
    return replace(target, read_only=protected(target.read_only, flags), properties=properties)


def named(settings: Settings, name: str, flags: object = None) -> Target:
    """Return the cluster that the user has chosen in the terminal UI by its name in `config.toml`.

    `--command-config` is ignored, because it belongs to the cluster with which kgtui was started.

    Args:
        flags: parsed command line; only `read_only` is used.

    Raises:
        ConfigError: there is no such cluster, or a setting is not valid.
    """
    target = _configured(settings, name, "clusters")
    return replace(target, read_only=protected(target.read_only, flags))


def protected(read_only: bool, flags: object = None) -> bool:
    """Return whether `config.toml`, `--read-only` or `KGTUI_READ_ONLY` forbids changes to the cluster.

    Args:
        read_only: whether `config.toml` sets `read_only` for the cluster.
        flags: parsed command line; only `read_only` is used.
    """
    return read_only or bool(getattr(flags, "read_only", False)) or flag("KGTUI_READ_ONLY", default=False)


def _target(settings: Settings, flags: object, given: Properties, file: str) -> Target:
    for address, cluster, where in (
        (
            getattr(flags, "bootstrap_server", None),
            getattr(flags, "cluster", None),
            ("--bootstrap-server", "--cluster"),
        ),
        (
            os.environ.get("KGTUI_BOOTSTRAP_SERVER"),
            os.environ.get("KGTUI_CLUSTER"),
            ("KGTUI_BOOTSTRAP_SERVER", "KGTUI_CLUSTER"),
        ),
        (given.get("bootstrap.servers"), None, (f"{file}: bootstrap.servers", "")),
        (None, settings.default, ("", f"{settings.path}: default")),
    ):
        if address and cluster:
            raise ConfigError(f"{where[0]} and {where[1]} cannot be used together: remove one of them")
        if cluster:
            return _configured(settings, cluster, where[1])
        if address:
            return _by_address(settings, parse_bootstrap(address, where[0]), where[0])
    return Target(_ASSUMED_SEED, (_ASSUMED_SEED,))


def _configured(settings: Settings, name: str, where: str) -> Target:
    cluster = settings.clusters.get(name)
    if cluster is None:
        known = ", ".join(sorted(settings.clusters)) or "none"
        raise ConfigError(f"{where}: there is no cluster {name!r}; the clusters in {settings.path} are: {known}")
    key = f"{settings.path}: clusters.{name}"
    folder = settings.path.parent
    properties = Properties()
    if cluster.command_config:
        file = folder / expanded(cluster.command_config, f"{key}.command_config: ")
        properties = filled_in(read_properties(file), str(file), folder)
    properties.override(filled_in(cluster.properties, key, folder), key)
    bootstrap = cluster.bootstrap if isinstance(cluster.bootstrap, str) else ",".join(cluster.bootstrap)
    seeds = parse_bootstrap(bootstrap or properties.get("bootstrap.servers", ""), f"{key}.bootstrap")
    _warn_of_other_brokers(properties, seeds, f"{key}.bootstrap")
    return Target(name, seeds, properties, cluster.read_only, cluster.color, cluster.environment, where)


def _warn_of_other_brokers(properties: Properties, seeds: tuple[str, ...], source: str) -> None:
    """Add a warning to the properties if their `bootstrap.servers` differs from the addresses that kgtui uses.

    Args:
        seeds: the addresses that kgtui uses.
        source: flag, environment variable or key from which the addresses come, for the warning.
    """
    given = properties.get("bootstrap.servers", "")
    if given.strip() and set(_parts(given)) != set(seeds):
        place = properties.places.get("bootstrap.servers", "the client properties")
        properties.warnings += (f"{place}: bootstrap.servers is not used, because {source} names the brokers",)


def _by_address(settings: Settings, seeds: tuple[str, ...], where: str) -> Target:
    """Return the `Target` with the given bootstrap addresses.

    If clusters in `config.toml` have at least one of these addresses, the target gets the color and label of the first
    such cluster. The target is read-only if at least one of these clusters is read-only.

    Args:
        where: flag, environment variable or key that contains the addresses.
    """
    given = {seed.lower() for seed in seeds}
    same = [cluster for cluster in settings.clusters.values() if given & _addresses(settings, cluster)]
    first = same[0] if same else ClusterSettings()
    read_only = any(cluster.read_only for cluster in same)
    return Target(seeds[0], seeds, read_only=read_only, color=first.color, environment=first.environment, source=where)


def _addresses(settings: Settings, cluster: ClusterSettings) -> set[str]:
    """Return the bootstrap addresses of a configured cluster in lower case.

    If the addresses are in the file `command_config`, and this file cannot be read, the set is empty. References such
    as `${NAME}` are replaced only in the addresses, so that a reference in a different property, such as a password,
    cannot cause an error. If a reference in the addresses cannot be replaced, the addresses keep their references.
    """
    addresses, folder = cluster.address, settings.path.parent
    with suppress(ConfigError):
        if not addresses and cluster.command_config:
            addresses = read_properties(folder / expanded(cluster.command_config)).get("bootstrap.servers", "")
        addresses = filled_in({"bootstrap.servers": addresses}, str(settings.path), folder)["bootstrap.servers"]
    return set(_parts(addresses.lower()))
