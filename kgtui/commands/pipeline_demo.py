"""`kgtui pipeline demo`: days of history of the simulated cluster, the whole pipeline over them, and its findings."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from kgtui.commands.printing import put_text, say, terminal_width
from kgtui.commands.progress import Progress
from kgtui.commands.times import seconds_of
from kgtui.errors import UsageError
from kgtui.model.command_line import join

if TYPE_CHECKING:
    import argparse

    from kgtui.commands.demo_history import Days

_LONGEST_DAYS = 60


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--lake", metavar="LAKE", help="where to make it, a new folder; by default a temporary one")
    parser.add_argument("--days", type=float, default=3.0, metavar="N", help="of history (3)")
    parser.add_argument("--every", default="5m", metavar="TIME", help="between two polls (5m)")
    parser.add_argument("--until", metavar="TIME", help="end of the history, such as 2026-11-21T10:00Z; by default now")
    parser.add_argument(
        "--seed", type=int, default=1, metavar="S", help="the same seed and end give the same history (1)"
    )
    parser.add_argument("--history-only", action="store_true", help="only record the history; no Java is needed")
    parser.add_argument("--master", metavar="URL", help="Spark to run on, as of kgtui pipeline run")
    parser.add_argument("--remote", metavar="URL", help="Spark Connect server to run on, as of kgtui pipeline run")


def run(args: argparse.Namespace) -> int:
    """Run the command; the exit code: that of what failed first."""
    days = _days(args)
    lake = _new_folder(args.lake)
    began = time.monotonic()
    try:
        _record(lake, days)
    except BaseException:
        if args.lake is None:  # nobody has been told of the folder
            shutil.rmtree(lake, ignore_errors=True)
        raise
    say(f"{days.days:g} days with {days.polls} polls are in {lake}, made in {time.monotonic() - began:.0f} s")
    if args.history_only:
        say(f"look at them with {join(('kgtui', 'replay', lake))}")
        return 0
    code = _pipeline(args, lake) or _insights(lake)
    say(f"the same with plots: {join(('kgtui', 'report', lake, '-o', 'report.html'))}")
    say(f"any moment of it: {join(('kgtui', 'replay', lake))}")
    return code


def _days(args: argparse.Namespace) -> Days:
    """The history that is meant. Raises `UsageError`."""
    from kgtui.commands.demo_history import Days, last_whole

    every = seconds_of("--every", args.every)
    if not 0.04 <= args.days <= _LONGEST_DAYS:
        raise UsageError(f"--days takes a number from 0.04, an hour, to {_LONGEST_DAYS}")
    if not 10 <= every <= 3_600:
        raise UsageError("--every takes a time from 10s to 1h")
    until = time.time()
    if args.until is not None:
        try:
            until = datetime.fromisoformat(args.until).astimezone().timestamp()
        except ValueError as error:
            raise UsageError(f"--until takes a time such as 2026-11-21T10:00Z, not {args.until!r}") from error
    return Days(args.days, every, last_whole(every, until), args.seed)


def _new_folder(given: str | None) -> str:
    """Where the lake is made. Raises `UsageError` when there is something already."""
    if given is None:
        return tempfile.mkdtemp(prefix="kgtui-demo-")
    path = Path(given).expanduser()
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise UsageError(f"{path} is not empty: the demo makes a lake of its own; name a new folder")
    return str(path)


def _record(lake: str, days: Days) -> None:
    from kgtui.commands.demo_history import record_days
    from kgtui.lake.delta import library

    library()
    with Progress() as progress:

        def tell(polls: int) -> None:
            progress.tell(f"recording history: {polls} of {days.polls} polls, {100 * polls // days.polls} %")

        asyncio.run(record_days(lake, days, tell))


def _pipeline(args: argparse.Namespace, lake: str) -> int:
    """As `kgtui pipeline run` on the lake."""
    from kgtui.commands.parser import parse_args, run_command

    where = [f"--{name}={value}" for name in ("master", "remote") if (value := getattr(args, name)) is not None]
    return run_command(parse_args(["pipeline", "run", f"--lake={lake}", *where]))


def _insights(lake: str) -> int:
    from kgtui.commands.findings_text import as_text
    from kgtui.commands.insights import complain
    from kgtui.insights.reader import insights

    found = insights(lake)
    put_text(as_text(found, found.findings, time.time(), width=terminal_width()))
    return complain(found)
