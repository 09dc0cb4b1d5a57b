"""From options and configuration to a cluster: which one, how to log in, how long to wait."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from kgtui.errors import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Coroutine, Mapping

    from kgtui.admin.kafka import KafkaGroupAdmin

T = TypeVar("T")

DEFAULT_TIMEOUT = 30.0


def timeout_of(args: argparse.Namespace) -> float:
    """Seconds for the whole command. Raises `UsageError`."""
    timeout = DEFAULT_TIMEOUT if args.timeout is None else float(args.timeout)
    if not timeout > 0:
        raise UsageError("--timeout takes a number of seconds above 0")
    return timeout


@dataclass(frozen=True, slots=True)
class Where:
    """A cluster to connect to.

    Attributes:
        name: as configured, or the addresses.
        seeds: bootstrap addresses, `host:port`.
        properties: Java client properties; not in the `repr`, since there may be secrets.
        command_config: path of the properties file, for the equivalent commands of Kafka's tools.
        given: somebody named this cluster; otherwise it is only a guess.
    """

    name: str
    seeds: tuple[str, ...]
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    command_config: str | None = None
    read_only: bool = False
    colour: str | None = None
    environment: str = ""
    given: bool = True


@asynccontextmanager
async def connected(args: argparse.Namespace) -> AsyncIterator[KafkaGroupAdmin]:
    """The cluster that the options mean, closed at the end."""
    from kgtui.admin.kafka import connect

    where = resolve_target(args)
    async with connect(where.seeds, where.properties) as admin:
        yield admin


def resolve_target(args: argparse.Namespace) -> Where:
    """The cluster that options, environment and configuration name, else localhost. Raises `ConfigError`."""
    servers = args.bootstrap_server or "localhost:9092"
    return Where(
        servers, split_servers(servers), read_command_config(args.command_config), args.command_config,
        args.read_only, given=bool(args.bootstrap_server),
    )  # fmt: skip


def at_address(servers: str) -> Where:
    """A cluster by its addresses alone. Raises `UsageError`."""
    seeds = split_servers(servers)
    if not seeds:
        raise UsageError("no address: write host:port")
    return Where(servers, seeds)


def split_servers(text: str) -> tuple[str, ...]:
    """Addresses from a comma-separated list."""
    return tuple(server.strip() for server in text.split(",") if server.strip())


def read_command_config(path: str | None) -> dict[str, str]:
    """Client properties from a file."""
    return {}


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run a command's coroutine. Ctrl-C cancels it, so that connections are closed, and is then `KeyboardInterrupt`."""
    return asyncio.run(work)
