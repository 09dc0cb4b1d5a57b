"""`kgtui record`: read every group at a fixed interval, and write all changes into a lake."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from typing import TYPE_CHECKING

from kgtui.commands.connecting import connected, run_async, timeout_of
from kgtui.commands.printing import notify
from kgtui.commands.time_options import parse_duration
from kgtui.model.number_format import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from kgtui.history.options import RecorderOptions
    from kgtui.history.recorder import Recorder

_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `kgtui record`."""
    from kgtui.history.options import RecorderOptions

    defaults = RecorderOptions()
    interval, flush, keep = f"{defaults.interval:g}s", f"{defaults.flush:g}s", f"{defaults.keep_days}d"
    parser.add_argument(
        "lake",
        metavar="LAKE",
        help="folder to record into, or a URI such as s3a://bucket/folder; it is created if it does not exist",
    )
    parser.add_argument(
        "--interval",
        default=interval,
        metavar="TIME",
        help=f"time between two polls of the cluster (default: {interval})",
    )
    parser.add_argument(
        "--flush", default=flush, metavar="TIME", help=f"maximum time between two writes to the lake (default: {flush})"
    )
    parser.add_argument(
        "--keep",
        default=keep,
        metavar="TIME",
        help=f"age at which recorded days are deleted; the value all keeps them forever (default: {keep})",
    )
    parser.add_argument(
        "--for", dest="seconds", default=None, metavar="TIME", help="stop after this duration (default: never)"
    )


def epilog() -> str:
    """Return the text below the options of `kgtui record --help`."""
    return (
        "Ctrl-C or SIGTERM stops the recorder after it has written everything. If the recorder is killed, the polls\n"
        "since its last write (see --flush) are lost, and the next start reports this. Only one recorder at a time\n"
        "can write to a lake. A lake contains ids of groups, topics, members and hosts, but no secrets. Only you can\n"
        "read local lakes. To replay the recording: kgtui replay LAKE."
    )


def run(args: argparse.Namespace) -> int:
    """Run `kgtui record`. The exit code is 1 if some rows could not be written, otherwise 0."""
    from kgtui.commands.log_file import start_log
    from kgtui.lake.delta import load_deltalake
    from kgtui.lake.folder import LakeFolder

    options = _options(args)
    seconds = None if args.seconds is None else parse_duration("--for", args.seconds)
    start_log(debug=args.debug)
    load_deltalake()
    LakeFolder.of(args.lake).check_usable()
    return run_async(_run(args, options, seconds))


def _options(args: argparse.Namespace) -> RecorderOptions:
    from kgtui.history.options import RecorderOptions

    keep = None if args.keep == "all" else max(int(parse_duration("--keep", args.keep) // 86_400), 1)
    return RecorderOptions(
        interval=parse_duration("--interval", args.interval),
        flush=parse_duration("--flush", args.flush),
        keep_days=keep,
    )


async def _run(args: argparse.Namespace, options: RecorderOptions, seconds: float | None) -> int:
    from kgtui.history.recorder import Recorder
    from kgtui.monitor import Monitor, MonitorOptions
    from kgtui.monitor.policy import NEGLIGIBLE_SWEEP_RATE

    async with connected(args) as admin:
        await admin.cluster(timeout=timeout_of(args))
        monitor = Monitor(admin, MonitorOptions(interval=options.interval, sweep_rate=NEGLIGIBLE_SWEEP_RATE))
        recorder = Recorder(monitor, admin, args.lake, options, notify=notify)
        with _stop_on_signal(recorder, seconds):
            watching = asyncio.create_task(monitor.run())
            # If the monitor fails, stop the recorder too, because the monitor provides the lists of groups.
            watching.add_done_callback(lambda _: recorder.stop())
            try:
                await recorder.run()
            finally:
                watching.cancel()
                await asyncio.wait([watching])
            if not watching.cancelled():
                watching.result()
    status = recorder.status
    polls = f"{counted(status.polls, 'poll')} with {counted(status.rows, 'row')}"
    notify(f"{polls} {'was' if status.polls == 1 else 'were'} written to {args.lake}")
    if status.waiting:
        notify(f"{counted(status.waiting, 'row')} could not be written")
    return 1 if status.waiting else 0


@contextlib.contextmanager
def _stop_on_signal(recorder: Recorder, seconds: float | None) -> Iterator[None]:
    """Context manager in which Ctrl-C, SIGTERM or SIGHUP stops the recorder.

    Args:
        seconds: number of seconds after which the recorder stops, even without a signal; None for no limit.
    """
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
