"""`kgtui pipeline demo`: record a simulated cluster, run the pipeline on the recording, and print the findings.

The recording covers several days, but is made within about a minute.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.commands.printing import Progress, notify, print_text, terminal_width
from kgtui.commands.time_options import parse_duration
from kgtui.errors import UsageError
from kgtui.lake.folder import LakeFolder
from kgtui.model.command_line import join
from kgtui.model.number_format import counted
from kgtui.model.rfc3339 import parse_rfc3339

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from kgtui.admin.base import GroupAdmin
    from kgtui.history.options import RecorderStatus
    from kgtui.history.recorder import Recorder
    from kgtui.model.snapshot import Snapshot
    from kgtui.simulator.cluster import Simulator

_MOST_DAYS = 60
_TIMEOUT = 60.0
_FLUSH_SECONDS = 6 * 3_600.0
_KEYFRAME_SECONDS = 4 * 3_600.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `kgtui pipeline demo`."""
    parser.add_argument("--lake", metavar="LAKE", help="folder for the new lake (default: a temporary folder)")
    parser.add_argument(
        "--days", type=float, default=3.0, metavar="N", help="length of the history in days (default: %(default)g)"
    )
    parser.add_argument("--every", default="5m", metavar="TIME", help="time between two polls (default: %(default)s)")
    parser.add_argument("--until", metavar="TIME", help="end of the history, such as 2026-11-21T10:00Z (default: now)")
    parser.add_argument(
        "--seed",
        type=int,
        default=1,
        metavar="S",
        help="seed for random choices; the same options (with --until) give the same history (default: %(default)s)",
    )
    parser.add_argument(
        "--history-only", action="store_true", help="record the history, but do not run the pipeline; needs no Java"
    )
    parser.add_argument("--master", metavar="URL", help="Spark master to run on (default: local[*])")
    parser.add_argument("--remote", metavar="URL", help="Spark Connect server to run on, such as sc://spark:15002")


def run(args: argparse.Namespace) -> int:
    """Run `kgtui pipeline demo`. Return 0, or the exit code of the first step that failed."""
    history = _history(args)
    lake = _new_folder(args.lake)
    started = time.monotonic()
    try:
        _record(lake, history)
    except BaseException:
        # Remove the temporary folder. Its path was not printed yet, so the user could not find and remove the folder.
        if args.lake is None:
            shutil.rmtree(lake, ignore_errors=True)
        raise
    seconds = time.monotonic() - started
    notify(f"recorded {history.days:g} days with {counted(history.polls, 'poll')} in {lake}; this took {seconds:.0f} s")
    if args.history_only:
        notify(f"to replay the recording: {join(('kgtui', 'replay', lake))}")
        return 0
    code = _run_pipeline(args, lake) or _print_findings(lake)
    notify(f"for a report with plots: {join(('kgtui', 'report', lake, '-o', 'report.html'))}")
    notify(f"to replay the recording: {join(('kgtui', 'replay', lake))}")
    return code


def _history(args: argparse.Namespace) -> DemoHistory:
    interval = parse_duration("--every", args.every)
    if not 0.04 <= args.days <= _MOST_DAYS:
        raise UsageError(f"--days takes a number from 0.04 (an hour) to {_MOST_DAYS}")
    if not 10 <= interval <= 3_600:
        raise UsageError("--every takes a duration from 10s to 1h")
    until = time.time()
    if args.until is not None:
        try:
            until = parse_rfc3339(args.until)
        except ValueError as error:
            raise UsageError(f"--until takes a time such as 2026-11-21T10:00Z, not {args.until!r}") from error
    return DemoHistory(args.days, interval, newest_poll_time(interval, until), args.seed)


def _new_folder(given: str | None) -> str:
    """Return the folder for the lake: `given`, or a new temporary folder if `given` is None.

    Raises `UsageError` if `given` is not a new or empty local folder.
    """
    if given is None:
        return tempfile.mkdtemp(prefix="kgtui-demo-")
    path = LakeFolder.of(given).local_path
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise UsageError(f"{path} is not an empty folder; name an empty or new folder for the lake of the demo")
    return str(path)


def _record(lake: str, history: DemoHistory) -> None:
    from kgtui.lake.delta import load_deltalake

    load_deltalake()
    with Progress() as progress:

        def on_poll(polls: int) -> None:
            progress.update(
                f"recording history: {polls:,} of {counted(history.polls, 'poll')}, {100 * polls // history.polls} %"
            )

        asyncio.run(record_history(lake, history, on_poll))


def _run_pipeline(args: argparse.Namespace, lake: str) -> int:
    from kgtui.commands.parser import parse_args, run_command

    where = [f"--{name}={value}" for name in ("master", "remote") if (value := getattr(args, name)) is not None]
    return run_command(parse_args(["pipeline", "run", f"--lake={lake}", *where]))


def _print_findings(lake: str) -> int:
    from kgtui.commands.insights import as_text, report_missing_tables
    from kgtui.insights.apply_rules import read_insights

    found = read_insights(lake)
    print_text(as_text(found, found.findings, time.time(), width=terminal_width()))
    return report_missing_tables(found)


@dataclass(frozen=True, slots=True)
class DemoHistory:
    """Parameters of the simulated history.

    Attributes:
        days: length of the history in days.
        interval: seconds between two polls (reads of the cluster by the recorder).
        until: end of the history, in seconds since the epoch.
        seed: seed for random choices. Equal parameters give the same history.
    """

    days: float = 3.0
    interval: float = 300.0
    until: float = 0.0
    seed: int = 1

    @property
    def start(self) -> float:
        """Time of the first poll, in seconds since the epoch."""
        return self.until - self.days * 86_400

    @property
    def polls(self) -> int:
        return int(self.days * 86_400 // self.interval) + 1


def newest_poll_time(interval: float, now: float) -> float:
    """Return the time of the history's last poll: `now` (epoch seconds), rounded down to a multiple of `interval`."""
    return now // interval * interval


async def record_history(lake: str, history: DemoHistory, on_poll: Callable[[int], None]) -> RecorderStatus:
    """Record a simulated history into a lake, and return the final status of the recorder.

    Args:
        on_poll: function that is called after each poll (read of the simulated cluster), with the number of polls that
            have been recorded so far.

    Raises:
        LakeError: the folder of the lake cannot be written, or contains files but is not a lake.
    """
    from kgtui.admin.kafka import connect
    from kgtui.history.options import RecorderOptions
    from kgtui.history.recorder import Recorder
    from kgtui.simulator.cluster import Simulator
    from kgtui.simulator.cluster_state import ManualClock
    from kgtui.simulator.demo_history import HistoryPlan, add_history

    simulator = Simulator(scenario="empty", seed=history.seed, clock=ManualClock(history.start))
    add_history(simulator.state, HistoryPlan(history.start, history.days * 86_400, history.seed))
    simulator.dispatcher.build_row_caches()
    options = RecorderOptions(
        interval=history.interval,
        flush=_FLUSH_SECONDS,
        keyframe=_KEYFRAME_SECONDS,
        describe=history.interval,
        keep_days=None,
    )
    async with simulator, connect(simulator.bootstrap.split(","), {}) as admin:
        monitor = _SimulatedMonitor(simulator, admin, history, on_poll, await _list_groups(admin))
        clock = simulator.clock.now
        recorder = Recorder(monitor, admin, lake, options, now=clock, elapsed=clock, wait=monitor.wait)
        monitor.recorder = recorder
        await recorder.run()
    return recorder.status


class _SimulatedMonitor:
    """Lists the groups of the simulated cluster for the recorder. In `kgtui record`, the `Monitor` lists the groups.

    Between two polls, this object advances the time of the simulated cluster. After the last poll, it stops the
    recorder.
    """

    def __init__(
        self,
        simulator: Simulator,
        admin: GroupAdmin,
        history: DemoHistory,
        on_poll: Callable[[int], None],
        snapshot: Snapshot,
    ) -> None:
        self._simulator, self._admin, self._history, self._on_poll = simulator, admin, history, on_poll
        self._polls = 0
        self.recorder: Recorder | None = None
        self.snapshot = snapshot

    async def wait(self, seconds: float) -> None:
        """Advance the simulated time by `seconds` instead of sleeping. After the last poll, stop the recorder."""
        self._polls += 1
        self._on_poll(self._polls)
        if self._polls >= self._history.polls and self.recorder is not None:
            self.recorder.stop()
            return
        self._simulator.advance(seconds)
        self.snapshot = await _list_groups(self._admin)


async def _list_groups(admin: GroupAdmin) -> Snapshot:
    from kgtui.commands.selection import list_groups

    snapshot, _ = await list_groups(admin, timeout=_TIMEOUT)
    return snapshot
