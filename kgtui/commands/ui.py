"""No command: the UI. Opens a cluster, watches it, and closes everything at the end."""

from __future__ import annotations

import asyncio
import gc
import sys
from contextlib import AsyncExitStack
from importlib import import_module
from typing import TYPE_CHECKING

from kgtui.commands.sessions import SessionOpener
from kgtui.errors import UsageError

if TYPE_CHECKING:
    import argparse

    from kgtui.simulator.options import Options

STARTED = 2.0
"""Seconds after which the garbage collector, off during the start, is on."""
SWITCH = 0.0005
"""Seconds after which a thread that waits gets its turn: keys are read, and frames written, by threads of Textual."""


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
    from kgtui.commands.log_file import start_log

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
        opener = SessionOpener(args, stack)
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
