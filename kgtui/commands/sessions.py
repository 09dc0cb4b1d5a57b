"""Opens sessions of the screen: on a cluster, on the simulated cluster, or on a recording."""

from __future__ import annotations

import asyncio
import os
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kgtui.commands.connecting import open_recording
from kgtui.commands.times import parse_time
from kgtui.config import ASSUMED, Target, load, named, parse_bootstrap, protected, resolve, state_dir
from kgtui.errors import UnreachableError

if TYPE_CHECKING:
    import argparse

    from kgtui.history.point_in_time import Comparison
    from kgtui.history.poll_index import RecordedPoll
    from kgtui.history.replay import ReplayAdmin
    from kgtui.model.timeline import GroupTimeline
    from kgtui.simulator.options import Options
    from kgtui.tui.session import ClusterChoice, Session

FIRST_LOOK = 3.0
"""Seconds that a cluster may take to answer before the start screen comes up, or stays."""
_INTERVAL = 2.0
_SOON = 8
"""Calls of `advance` that a moment may last; a longer one, such as one before a gap, is cut short."""


class SessionOpener:
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
        return self.replay(await open_recording(lake, at or None, option="the moment"))

    def replay(self, admin: ReplayAdmin) -> Session:
        """Return a session on a recording, with the user's settings; it shows the point in time of `admin`."""
        return _replay_session(self._empty(), admin)

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
            target.color or None,
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
            ClusterChoice(one.name, ",".join(one.seeds), one.color or None, one.environment, one.read_only)
            for one, _ in self._opened.values()
            if one.name not in configured
        ]
        return (
            *(
                ClusterChoice(
                    name, cluster.address, cluster.color or None, cluster.environment,
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


def _replay_session(empty: Session, admin: ReplayAdmin) -> Session:
    """A session on a recording, with nothing that could write; its monitor shows the moment of `admin`, whichever.

    Args:
        empty: has the user's settings.
    """
    from kgtui.monitor import Monitor, MonitorOptions
    from kgtui.tui.session import Target

    path = Path(admin.recording.path)
    return replace(
        empty,
        target=Target(path.name or str(path), str(path)),
        monitor=Monitor(
            admin,
            MonitorOptions(interval=_INTERVAL, metadata_interval=_INTERVAL),
            now=admin.now,
            recorded_at=lambda: admin.poll.at,
        ),
        admin=admin,
        replay_position=LakeReplayPosition(admin),
        lake=path,
        read_only=True,
        open_address=None,
        open_demo=None,
        clusters=(),
        open_cluster=None,
        open_recording=None,
    )


class LakeReplayPosition:
    """The way through a recording for the screen; see `kgtui.tui.session.ReplayPosition`."""

    def __init__(self, admin: ReplayAdmin) -> None:
        """Move this admin through the moments of its lake."""
        self._admin = admin
        self.playing: float | None = None
        self._over = 0.0
        self._over_of: RecordedPoll | None = None

    @property
    def at(self) -> float:
        """The moment shown, in seconds since the epoch."""
        return self._admin.poll.at

    @property
    def span(self) -> tuple[float, float]:
        """The first and the last moment."""
        lake = self._admin.recording
        return lake.first.at, lake.last.at

    async def step(self, by: int) -> bool:
        """Go some moments on, or back; False where there is none."""
        return await self._admin.step(by) is not None

    async def to_change(self, group: str, *, back: bool) -> bool:
        """Go to the next moment at which a group changed, or the one before; False where there is none."""
        return await self._admin.next_change(group, back=back) is not None

    async def go_to(self, words: str) -> None:
        """Go to the moment that the words mean. Raises `UsageError`, `LakeError`."""
        await self._admin.seek(parse_time("the time", words, self._admin.recording.last.at))

    async def seek(self, at: float) -> None:
        """Go to the newest moment at or before a time, in seconds since the epoch. Raises `LakeError`."""
        await self._admin.seek(at)

    async def advance(self, seconds: float) -> bool:
        """Go on by so much recorded time; False at the end.

        What is too short for the next moment is kept for the next call, and a gap is gone over at once.
        """
        shown = self._admin.poll
        self._over = self._over + seconds if self._over_of == shown else seconds
        self._over_of = shown
        lake = self._admin.recording
        following = lake.step(shown)
        if following is None:
            return False
        reached = lake.poll_at(shown.at + self._over)
        if reached == shown:
            if not following.gap and following.at - shown.at - self._over < _SOON * seconds:
                return True
            reached = following
        await self._admin.seek(reached)
        self._over, self._over_of = max(shown.at + self._over - reached.at, 0.0), reached
        return True

    async def group_timeline(self, group: str, since: float, until: float) -> GroupTimeline:
        """What happened to a group in an interval. Raises `LakeError`."""
        return await asyncio.to_thread(self._admin.recording.group_timeline, group, since, until)

    async def compare(self, at: float) -> Comparison:
        """What differs between a time and the moment shown. Raises `LakeError`."""
        return await asyncio.to_thread(self._admin.recording.compare, at, self._admin.poll)
