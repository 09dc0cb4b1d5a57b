"""`kgtui replay`: the UI on a recorded moment; and the moment that `--lake` and `--at` mean for other commands."""

from __future__ import annotations

import asyncio
import sys
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kgtui.commands.times import instant_of
from kgtui.commands.ui import Opener
from kgtui.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from kgtui.history.comparison import Comparison
    from kgtui.history.moments import Moment
    from kgtui.history.replay import ReplayAdmin
    from kgtui.model.timeline import GroupTimeline
    from kgtui.tui.session import Session

_INTERVAL = 2.0
_SOON = 8
"""Calls of `advance` that a moment may last; a longer one, such as one before a gap, is cut short."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    from kgtui.commands.parser import add_screen_options

    parser.add_argument("lake", metavar="LAKE", help="what kgtui record has written")
    parser.add_argument("--at", metavar="TIME", help="such as 2026-11-21T10:04:23Z, 10:04, or 15m before the end")
    add_screen_options(parser, again=True)


def run(args: argparse.Namespace) -> int:
    """Run the UI on the moment; the exit code."""
    admin = asyncio.run(opened(args.lake, args.at))
    if args.filter:
        from kgtui.model.query import parse

        parse(args.filter)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("the screen needs a terminal; for scripts take kgtui ls --lake LAKE --at TIME")
    from kgtui.commands.logs import start_log

    start_log(debug=args.debug)
    return asyncio.run(_run(args, admin))


async def opened(lake: str, at: str | None, *, option: str = "--at") -> ReplayAdmin:
    """The recorded moment that is meant. Raises `LakeError`, `UsageError` that names the `option`."""
    from kgtui.history import Lake, ReplayAdmin

    found = await asyncio.to_thread(Lake, lake)
    return await ReplayAdmin.open(found, None if at is None else instant_of(option, at, found.last.at))


async def _run(args: argparse.Namespace, admin: ReplayAdmin) -> int:
    from kgtui.tui.app import run_async

    async with AsyncExitStack() as stack:
        return await run_async(ReplayOpener(args, stack).replay(admin))


class ReplayOpener(Opener):
    """Opens a session on a recording, with the user's settings."""

    def replay(self, admin: ReplayAdmin) -> Session:
        """The session; see `replayed`."""
        return replayed(self._empty(), admin)


def replayed(empty: Session, admin: ReplayAdmin) -> Session:
    """A session on a recording, with nothing that could write; its monitor shows the moment of `admin`, whichever.

    Args:
        empty: has the user's settings.
    """
    from kgtui.monitor import Monitor, MonitorOptions
    from kgtui.tui.session import Target

    path = Path(admin.lake.path)
    return replace(
        empty,
        target=Target(path.name or str(path), str(path)),
        monitor=Monitor(
            admin,
            MonitorOptions(interval=_INTERVAL, cluster_every=_INTERVAL),
            now=admin.now,
            moment=lambda: admin.moment.at,
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
        self._over_of: Moment | None = None

    @property
    def at(self) -> float:
        """The moment shown, in seconds since the epoch."""
        return self._admin.moment.at

    @property
    def span(self) -> tuple[float, float]:
        """The first and the last moment."""
        lake = self._admin.lake
        return lake.first.at, lake.last.at

    async def step(self, by: int) -> bool:
        """Go some moments on, or back; False where there is none."""
        return await self._admin.step(by) is not None

    async def to_change(self, group: str, *, back: bool) -> bool:
        """Go to the next moment at which a group changed, or the one before; False where there is none."""
        return await self._admin.next_change(group, back=back) is not None

    async def go_to(self, words: str) -> None:
        """Go to the moment that the words mean. Raises `UsageError`, `LakeError`."""
        await self._admin.seek(instant_of("the time", words, self._admin.lake.last.at))

    async def seek(self, at: float) -> None:
        """Go to the newest moment at or before a time, in seconds since the epoch. Raises `LakeError`."""
        await self._admin.seek(at)

    async def advance(self, seconds: float) -> bool:
        """Go on by so much recorded time; False at the end.

        What is too short for the next moment is kept for the next call, and a gap is gone over at once.
        """
        shown = self._admin.moment
        self._over = self._over + seconds if self._over_of == shown else seconds
        self._over_of = shown
        lake = self._admin.lake
        following = lake.step(shown)
        if following is None:
            return False
        reached = lake.find(shown.at + self._over)
        if reached == shown:
            if not following.gap and following.at - shown.at - self._over < _SOON * seconds:
                return True
            reached = following
        await self._admin.seek(reached)
        self._over, self._over_of = max(shown.at + self._over - reached.at, 0.0), reached
        return True

    async def group_timeline(self, group: str, since: float, until: float) -> GroupTimeline:
        """What happened to a group in an interval. Raises `LakeError`."""
        return await asyncio.to_thread(self._admin.lake.group_timeline, group, since, until)

    async def compare(self, at: float) -> Comparison:
        """What differs between a time and the moment shown. Raises `LakeError`."""
        return await asyncio.to_thread(self._admin.lake.compare, at, self._admin.moment)
