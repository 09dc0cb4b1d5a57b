"""`kgtui record`: look at every group again and again, and write what changed into a lake."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from typing import TYPE_CHECKING

from kgtui.commands.connecting import connected, run_async, timeout_of
from kgtui.commands.printing import notify
from kgtui.commands.times import seconds_of

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from kgtui.history.options import RecorderOptions
    from kgtui.history.recorder import Recorder

_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("lake", metavar="LAKE", help="a folder; made if there is none")
    parser.add_argument("--interval", default="10s", metavar="TIME", help="between two looks at every group (10s)")
    parser.add_argument("--flush", default="10s", metavar="TIME", help="write at least this often (10s)")
    parser.add_argument("--keep", default="30d", metavar="TIME", help="remove whole days that are older (30d), or all")
    parser.add_argument("--for", dest="seconds", default=None, metavar="TIME", help="end after this time; never")


def epilog() -> str:
    """What else there is to know."""
    return (
        "Ends with Ctrl-C or SIGTERM, after what it has seen is written. A kill loses what was seen since the\n"
        "last flush, and the next start says so. A lake has one recorder. The folder is its owner's alone; it\n"
        "holds names of groups, topics, members and hosts, and no secrets. To look at it: kgtui replay LAKE."
    )


def run(args: argparse.Namespace) -> int:
    """Run the command; the exit code: 1 when something that was seen could not be written."""
    from kgtui.lake.delta import library
    from kgtui.lake.folder import LakeFolder

    options = _options(args)
    seconds = None if args.seconds is None else seconds_of("--for", args.seconds)
    library()
    LakeFolder.of(args.lake).check_usable()
    return run_async(_run(args, options, seconds))


def _options(args: argparse.Namespace) -> RecorderOptions:
    from kgtui.history.options import RecorderOptions

    keep = None if args.keep == "all" else max(int(seconds_of("--keep", args.keep) // 86_400), 1)
    return RecorderOptions(
        interval=seconds_of("--interval", args.interval), flush=seconds_of("--flush", args.flush), keep_days=keep
    )


async def _run(args: argparse.Namespace, options: RecorderOptions, seconds: float | None) -> int:
    from kgtui.history.recorder import Recorder
    from kgtui.monitor import Monitor, MonitorOptions
    from kgtui.monitor.policy import NO_SWEEP

    async with connected(args) as admin:
        await admin.cluster(timeout=timeout_of(args))
        monitor = Monitor(admin, MonitorOptions(interval=options.interval, sweep_rate=NO_SWEEP))
        recorder = Recorder(monitor, admin, args.lake, options, say=notify)
        with _until_told(recorder, seconds):
            watching = asyncio.create_task(monitor.run())
            try:
                await recorder.run()
            finally:
                watching.cancel()
                await asyncio.gather(watching, return_exceptions=True)
    status = recorder.status
    notify(f"{status.polls} polls with {status.rows} rows are in {args.lake}")
    if status.waiting:
        notify(f"{status.waiting} rows could not be written")
    return 1 if status.waiting else 0


@contextlib.contextmanager
def _until_told(recorder: Recorder, seconds: float | None) -> Iterator[None]:
    """Let a signal, or the time, end the recording in order."""
    loop = asyncio.get_running_loop()
    for number in _ENDS:
        loop.add_signal_handler(number, recorder.stop)
    timer = None if seconds is None else loop.call_later(seconds, recorder.stop)
    try:
        yield
    finally:
        if timer is not None:
            timer.cancel()
        for number in _ENDS:
            loop.remove_signal_handler(number)
