"""From options and configuration to a cluster: which one, how to log in, how long to wait."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from kgtui.errors import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Coroutine

    from kgtui.admin.kafka import KafkaGroupAdmin

T = TypeVar("T")

DEFAULT_TIMEOUT = 30.0


def timeout_of(args: argparse.Namespace) -> float:
    """Seconds for the whole command. Raises `UsageError`."""
    timeout = DEFAULT_TIMEOUT if args.timeout is None else float(args.timeout)
    if not timeout > 0:
        raise UsageError("--timeout takes a number of seconds above 0")
    return timeout


@asynccontextmanager
async def connected(args: argparse.Namespace) -> AsyncIterator[KafkaGroupAdmin]:
    """The cluster that the options mean, closed at the end."""
    from kgtui.admin.kafka import connect

    seeds, properties = resolve_target(args)
    async with connect(seeds, properties) as admin:
        yield admin


def resolve_target(args: argparse.Namespace) -> tuple[list[str], dict[str, str]]:
    """Addresses and client properties."""
    return split_servers(args.bootstrap_server or "localhost:9092"), read_command_config(args.command_config)


def split_servers(text: str) -> list[str]:
    """Addresses from a comma-separated list."""
    return [server.strip() for server in text.split(",") if server.strip()]


def read_command_config(path: str | None) -> dict[str, str]:
    """Client properties from a file."""
    return {}


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run a command's coroutine. Ctrl-C cancels it, so that connections are closed, and is then `KeyboardInterrupt`."""
    return asyncio.run(work)
