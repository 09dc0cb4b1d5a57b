"""No command: the UI. Opens a cluster, watches it, and closes everything at the end."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import TYPE_CHECKING

from kgtui.commands.connecting import Where, at_address, resolve_target
from kgtui.errors import UnreachableError, UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Awaitable, Callable

    from kgtui.simulator.options import Options
    from kgtui.tui.session import Session

FIRST_LOOK = 3.0
"""Seconds that a cluster nobody named may take to answer before the start screen comes up."""


def run(args: argparse.Namespace) -> int:
    """Run the UI on the cluster that the options mean, or on the start screen; the exit code."""
    _check(args)
    return asyncio.run(_run(args, None))


def run_demo(args: argparse.Namespace, options: Options) -> int:
    """Run the UI on a simulated cluster; the exit code."""
    _check(args)
    return asyncio.run(_run(args, options))


def _check(args: argparse.Namespace) -> None:
    """What is wrong on the command line is said before the screen is taken. Raises `UsageError`."""
    from kgtui.model.query import parse

    parse(args.filter)
    if args.interval is not None and not args.interval > 0:
        raise UsageError("--interval takes a number of seconds above 0")


async def _run(args: argparse.Namespace, demo: Options | None) -> int:
    from kgtui.tui.app import run_async

    async with AsyncExitStack() as stack:
        opener = Opener(args, stack)
        session = await (opener.first() if demo is None else opener.demo(demo))
        return await run_async(session)


class Opener:
    """Opens sessions, one after the other; what the last one held is closed when the next is open.

    Args:
        stack: closes what is still open at the end.
    """

    def __init__(self, args: argparse.Namespace, stack: AsyncExitStack) -> None:
        self._args = args
        self._stack = stack

    async def first(self) -> Session:
        """The session of the cluster that was asked for; without one, of localhost if it answers."""
        where = resolve_target(self._args)
        if where.given:
            return self._open(where)
        tried = await self._tried(where)
        return self._open(where) if not tried else replace(self._start(), tried=tried)

    async def demo(self, options: Options | None = None) -> Session:
        """A session on a simulated cluster, which ends with the program."""
        from kgtui.simulator import Options as SimulatorOptions
        from kgtui.simulator import spawn

        process = await asyncio.to_thread(spawn, options or SimulatorOptions())
        self._stack.callback(process.stop)
        return self._open(replace(at_address(process.bootstrap), name="demo"))

    async def _connect(self, address: str) -> Session:
        where = at_address(address)
        tried = await self._tried(where)
        if tried:
            raise UnreachableError(f"{address} does not answer", tried)
        return self._open(where)

    async def _tried(self, where: Where) -> tuple[tuple[str, str], ...]:
        """What was tried and failed; nothing when the cluster answers."""
        from kgtui.admin.kafka import connect

        try:
            async with connect(where.seeds, where.properties) as admin:
                await admin.cluster(timeout=FIRST_LOOK)
        except UnreachableError as error:
            return error.attempts or ((", ".join(where.seeds), str(error)),)
        return ()

    def _open(self, where: Where) -> Session:
        from kgtui.admin.kafka import connect
        from kgtui.monitor import Monitor, MonitorOptions
        from kgtui.tui.session import Target

        admin = connect(where.seeds, where.properties)
        self._stack.push_async_callback(admin.close)
        interval = self._args.interval
        options = MonitorOptions() if interval is None else MonitorOptions(interval=interval)
        target = Target(
            where.name, ",".join(where.seeds), where.colour, where.environment, where.command_config
        )  # fmt: skip
        read_only = where.read_only or self._args.read_only
        return replace(self._start(), target=target, monitor=Monitor(admin, options), admin=admin, read_only=read_only)

    def _start(self) -> Session:
        """A session without a cluster, with the user's settings."""
        from kgtui.commands.folders import state_folder
        from kgtui.tui.session import Session, Target
        from kgtui.tui.text import Look

        args = self._args
        connect: Callable[[str], Awaitable[Session]] = self._connect
        return Session(
            Target(""),
            read_only=args.read_only,
            filter=args.filter,
            theme=args.theme,
            state_folder=state_folder(),
            mouse=not args.no_mouse,
            look=Look(ascii=True) if args.ascii else None,
            connect=connect,
            demo=self.demo,
        )
