"""`kgtui replay`: open the terminal UI on a recording, at any point in time."""

from __future__ import annotations

import asyncio
import sys
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

from kgtui.commands.connecting import open_recording
from kgtui.commands.sessions import SessionOpener
from kgtui.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from kgtui.history.replay import ReplayAdmin


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `kgtui replay`."""
    from kgtui.commands.parser import add_ui_options

    parser.add_argument("lake", metavar="LAKE", help="folder or URI of a recording, as given to kgtui record")
    parser.add_argument(
        "--at",
        metavar="TIME",
        help="time in the recording: 2026-11-21T10:04:23Z, 10:04, or 15m for 15 min before its end",
    )
    add_ui_options(parser, again=True)


def run(args: argparse.Namespace) -> int:
    """Run `kgtui replay` and return its exit code."""
    admin = asyncio.run(open_recording(args.lake, args.at))
    if args.filter:
        from kgtui.model.query import parse

        parse(args.filter)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError("the terminal UI needs a terminal; in scripts, use kgtui ls --lake LAKE --at TIME")
    from kgtui.commands.log_file import start_log

    start_log(debug=args.debug)
    return asyncio.run(_run(args, admin))


async def _run(args: argparse.Namespace, admin: ReplayAdmin) -> int:
    from kgtui.tui.app import run_async

    async with AsyncExitStack() as stack:
        return await run_async(SessionOpener(args, stack).replay(admin))
