"""No command: the UI. Opens a cluster, watches it, and closes everything at the end."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
from contextlib import AsyncExitStack
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING

from kgtui.config import ASSUMED, Target, load, named, parse_bootstrap, protected, resolve, state_dir
from kgtui.errors import UnreachableError, UsageError

if TYPE_CHECKING:
    import argparse

    from kgtui.simulator.options import Options
    from kgtui.tui.session import ClusterChoice, Session

STARTED = 2.0
"""Seconds after which the garbage collector, off during the start, is on."""
SWITCH = 0.0005
"""Seconds after which a thread that waits gets its turn: keys are read, and frames written, by threads of Textual."""
FIRST_LOOK = 3.0
"""Seconds that a cluster may take to answer before the start screen comes up, or stays."""


def run(args: argparse.Namespace) -> int:
    """Run the UI on the cluster that the options mean, or on the start screen; the exit code."""
    return _start(args, None)


def run_demo(args: argparse.Namespace, options: Options) -> int:
    """Run the UI on a simulated cluster; the exit code."""
    return _start(args, options)


def _start(args: argparse.Namespace, demo: Options | None) -> int:
    """What is wrong on the command line is said before the screen is taken. Raises `UsageError`."""
    if args.filter:
        from kgtui.model.query import parse

        parse(args.filter)
    if args.interval is not None and not 0 < args.interval < float("inf"):
        raise UsageError("--interval takes a number of seconds above 0")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        # Textual reads keys from stdin and draws on stderr.
        raise UsageError("the screen needs a terminal on stdin and stderr; for scripts take kgtui ls or kgtui show")
    from kgtui.commands.logs import start_log

    start_log(debug=args.debug)
    sys.setswitchinterval(SWITCH)
    gc.disable()  # what is made until the screen is there stays: nobody waits for looks at it
    try:
        return asyncio.run(_run(args, demo))
    finally:
        gc.enable()


async def _run(args: argparse.Namespace, demo: Options | None) -> int:
    asyncio.get_running_loop().call_later(STARTED, gc.enable)
    # In a thread, while the cluster is asked for its groups: the first frame then has them.
    screen = asyncio.create_task(asyncio.to_thread(import_module, "kgtui.tui.app"))
    async with AsyncExitStack() as stack:
        opener = Opener(args, stack)
        session = await (opener.first() if demo is None else opener.demo(demo))
        if session.monitor is not None:
            session.monitor_task = asyncio.create_task(session.monitor.run(), name="monitor")
            stack.push_async_callback(_ended, session.monitor_task)
        code: int = await (await screen).run_async(session)
        return code


async def _ended(task: asyncio.Task[None]) -> None:
    """Cancel a task and wait for its end; what it failed with has been told."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


class Opener:
    """Opens sessions, and closes at the end what they hold.

    Args:
        stack: where what is open is closed.
    """

    def __init__(self, args: argparse.Namespace, stack: AsyncExitStack) -> None:
        self._args = args
        self._stack = stack
        self._settings = load()
        self._opened: dict[str, tuple[Target, str | None]] = {}

    async def first(self) -> Session:
        """The session of the cluster that was asked for; without one, of localhost if it answers."""
        target = resolve(self._settings, self._args)
        tried = await _tried(target) if target.source == ASSUMED else ()
        return (
            replace(self._empty(), failed_attempts=tried)
            if tried
            else await self._open(target, self._command_config(target))
        )

    async def demo(self, options: Options | None = None) -> Session:
        """A session on a simulated cluster, which ends with the program."""
        from kgtui.simulator import Options as SimulatorOptions
        from kgtui.simulator import spawn

        process = await asyncio.to_thread(spawn, options or SimulatorOptions())
        self._stack.callback(process.stop)
        return await self._open(Target("demo", tuple(process.bootstrap.split(",")), source="demo"), None)

    async def connect(self, address: str) -> Session:
        """A session on the cluster at an address. Raises `UnreachableError`, `ConfigError`."""
        seeds = parse_bootstrap(address, "address")
        # As if it had stood on the command line: a configured cluster keeps its login and what protects it.
        asked = {"bootstrap_server": address, "cluster": None}
        target = resolve(self._settings, type(self._args)(**(vars(self._args) | asked)))
        tried = await _tried(target)
        if tried:
            raise UnreachableError(f"{', '.join(seeds)} does not answer", tried)
        return await self._open(target, self._command_config(target))

    async def another(self, name: str) -> Session:
        """A session on a cluster of the list, whether it answers or not. Raises `ConfigError`.

        One that was open before is opened as it was; a command config that was given for it is for no other.
        """
        if name in self._opened:
            target, command_config = self._opened[name]
        else:
            target = named(self._settings, name, self._args)
            command_config = self._settings.clusters[name].command_config or None
        return replace(await self._open(target, command_config), filter="")

    async def recording(self, lake: str, at: str) -> Session:
        """A session on a recording at a moment, by default its end. Raises `LakeError`, `UsageError`."""
        from kgtui.commands.replay import opened, replayed

        return replayed(self._empty(), await opened(lake, at or None, option="the moment"))

    async def _open(self, target: Target, command_config: str | None) -> Session:
        from kgtui.admin.kafka import connect
        from kgtui.monitor import Monitor, MonitorOptions
        from kgtui.tui.session import Target as Shown

        admin = connect(target.seeds, target.properties)
        # Closed when another cluster takes its place, at the latest with the program.
        held = await self._stack.enter_async_context(AsyncExitStack())
        held.push_async_callback(admin.close)
        self._opened[target.name] = target, command_config
        interval = self._args.interval or self._settings.ui.interval
        shown = Shown(
            target.name,
            ",".join(target.seeds),
            target.colour or None,
            target.environment,
            command_config,
        )
        return replace(
            self._empty(),
            target=shown,
            monitor=Monitor(admin, MonitorOptions(interval=interval)),
            admin=admin,
            read_only=target.read_only,
            close=held.aclose,
            warnings=admin.warnings,
        )

    def _clusters(self) -> tuple[ClusterChoice, ...]:
        """Those configured, and what else was opened, such as an address; nothing when none is configured."""
        from kgtui.tui.session import ClusterChoice

        configured = self._settings.clusters
        if not configured:
            return ()
        others = [
            ClusterChoice(one.name, ",".join(one.seeds), one.colour or None, one.environment, one.read_only)
            for one, _ in self._opened.values()
            if one.name not in configured
        ]
        return (
            *(
                ClusterChoice(
                    name, cluster.address, cluster.colour or None, cluster.environment,
                    protected(cluster.read_only, self._args),
                )
                for name, cluster in sorted(configured.items())
            ),
            *others,
        )  # fmt: skip

    def _command_config(self, target: Target) -> str | None:
        cluster = self._settings.clusters.get(target.name)
        given = self._args.command_config or os.environ.get("KGTUI_COMMAND_CONFIG")
        return given or (cluster.command_config if cluster is not None else "") or None

    def _empty(self) -> Session:
        """A session without a cluster, with the user's settings."""
        from kgtui.tui.session import Session
        from kgtui.tui.session import Target as Shown
        from kgtui.tui.text import DisplaySettings

        args, settings = self._args, self._settings
        ascii_only = args.ascii or settings.ui.ascii
        look = DisplaySettings(ascii=ascii_only, utc=settings.ui.utc) if ascii_only or settings.ui.utc else None
        return Session(
            Shown(""),
            read_only=args.read_only,
            filter=args.filter,
            theme=args.theme or settings.ui.theme or None,
            keymap=settings.keys,
            presets=settings.presets,
            themes_folder=settings.path.parent / "themes",
            state_folder=state_dir(),
            config_file=settings.path,
            mouse=not args.no_mouse,
            display=look,
            open_address=self.connect,
            open_demo=self.demo,
            clusters=self._clusters(),
            open_recording=self.recording,
            open_cluster=None if self._opened.keys() == {"demo"} and not settings.clusters else self.another,
        )


async def _tried(target: Target) -> tuple[tuple[str, str], ...]:
    """What was tried and failed; nothing when the cluster answers."""
    from kgtui.admin.kafka import connect

    try:
        async with connect(target.seeds, target.properties) as admin:
            await admin.cluster(timeout=FIRST_LOOK)
    except UnreachableError as error:
        return error.attempts or ((", ".join(target.seeds), str(error)),)
    return ()
