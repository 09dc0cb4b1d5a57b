"""`kgtui report`: findings and plots of a lake as one HTML page."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from kgtui.commands.insights import complain
from kgtui.commands.printing import notify, print_bytes
from kgtui.commands.times import parse_time
from kgtui.errors import UsageError

if TYPE_CHECKING:
    import argparse


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `kgtui report`."""
    parser.add_argument("lake", metavar="LAKE", help="the folder, with the tables that kgtui pipeline has made")
    parser.add_argument(
        "-o", "--output", metavar="FILE", required=True, help="the page, - for stdout; one that is there is replaced"
    )
    parser.add_argument("--since", metavar="TIME", help="draw from here on, as 2026-11-21T10:04Z, or 6h before the end")
    parser.add_argument("--until", metavar="TIME", help="draw up to here")


def epilog() -> str:
    """Return the text below the options of `kgtui report --help`."""
    return (
        "The page needs no network and has no script. It names groups, topics and the cluster: it is made for its\n"
        "owner alone (mode 0600). Findings are as of the end of the tables; plots cover the last 14 days at most."
    )


def run(args: argparse.Namespace) -> int:
    """Run `kgtui report` and return its exit code: 1 if a table could not be read."""
    import kgtui
    from kgtui.insights.report import build_report, render_page
    from kgtui.lake.gold import Gold

    end = max((age.covered_to for age in Gold(args.lake).ages() if age.covered_to is not None), default=time.time())
    since, until = (
        None if words is None else parse_time(option, words, end)
        for option, words in (("--since", args.since), ("--until", args.until))
    )
    if since is not None and since >= (end if until is None else until):
        raise UsageError("--since has to be before the end")
    found = build_report(args.lake, time.time(), since=since, until=until)
    made = render_page(found, kgtui.__version__)
    if args.output == "-":
        print_bytes(made)
    else:
        path = Path(args.output).expanduser()
        _write(path, made)
        count = len(found.insights.findings)
        notify(f"{path} tells of {count} finding{'' if count == 1 else 's'}")
    return complain(found.insights)


def _write(path: Path, data: bytes) -> None:
    """Whole or not at all, for its owner alone. Raises `UsageError` that says why not."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        if path.exists() and not path.is_file():  # /dev/stdout is to be written to, not to be replaced by a file
            path.write_bytes(data)
            return
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(data)
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise UsageError(f"{path} cannot be written: {error.strerror or error}") from error
