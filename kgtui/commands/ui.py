"""`kgtui` without a command: open the terminal UI on a cluster."""

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

START_TIME = 2.0
"""Number of seconds for which garbage collection is disabled at the start, so that the terminal UI starts faster."""
THREAD_SWITCH_INTERVAL = 0.0005
"""Python's thread switch interval, in seconds. It is short, so that the thread that reads keys never waits long."""


def run(args: argparse.Namespace) -> int:
    """Open the terminal UI on the cluster that the command line or configuration names. Return the exit code."""
    return _start(args, None)


def run_demo(args: argparse.Namespace, options: Options) -> int:
    """Open the terminal UI on a simulated cluster, and return the exit code."""
    return _start(args, options)


def _start(args: argparse.Namespace, demo: Options | None) -> int:
    if args.filter:
        from kgtui.model.query import parse

        parse(args.filter)
    if args.interval is not None and args.interval <= 0:
        raise UsageError("--interval takes a number of seconds above 0")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        # stdin and stderr must both be terminals, because Textual reads keys from stdin and draws on stderr.
        raise UsageError("the terminal UI needs a terminal on stdin and stderr; in scripts, use kgtui ls or kgtui show")
    from kgtui.commands.log_file import start_log

    start_log(debug=args.debug)
    sys.setswitchinterval(THREAD_SWITCH_INTERVAL)
    # Disable garbage collection during the start, because it takes time but would free almost nothing. Nearly all new
    # objects are still in use.
    gc.disable()
    try:
        return asyncio.run(_run(args, demo))
    finally:
        gc.enable()


async def _run(args: argparse.Namespace, demo: Options | None) -> int:
    asyncio.get_running_loop().call_later(START_TIME, gc.enable)
    # Import the terminal UI in a thread, so that the groups are read meanwhile. The first screen can then show them.
    loading = asyncio.create_task(asyncio.to_thread(import_module, "kgtui.tui.app"))
    async with AsyncExitStack() as stack:
        opener = SessionOpener(args, stack)
        session = await (opener.first() if demo is None else opener.demo(demo))
        if session.monitor is not None:
            session.monitor_task = asyncio.create_task(session.monitor.run(), name="monitor")
            stack.push_async_callback(_cancel, session.monitor_task)
        code: int = await (await loading).run_async(session)
        return code


async def _cancel(task: asyncio.Task[None]) -> None:
    """Cancel a task, and wait for its end. Errors of the task are ignored, because they have been reported already."""
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
