"""`kgtui report`: write the findings and plots of a lake into one HTML page.

Findings are problems of groups. They come from the gold tables of the lake.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from kgtui.commands.insights import report_missing_tables
from kgtui.commands.printing import notify, print_bytes
from kgtui.commands.time_options import parse_time
from kgtui.errors import UsageError
from kgtui.model.number_format import counted
from kgtui.model.paths import expanded
from kgtui.private_files import replace_private

if TYPE_CHECKING:
    import argparse
    from pathlib import Path


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `kgtui report`."""
    parser.add_argument("lake", metavar="LAKE", help="a folder or URI with the tables that kgtui pipeline computes")
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        required=True,
        help="HTML file to write; an existing file is replaced; - for stdout",
    )
    parser.add_argument(
        "--since",
        metavar="TIME",
        help="start of the plots, such as 2026-11-21T10:04Z, or 6h for 6 h before the newest data",
    )
    parser.add_argument("--until", metavar="TIME", help="end of the plots")


def epilog() -> str:
    """Return the text below the options of `kgtui report --help`."""
    return (
        "The page needs no network and contains no scripts. Only its owner can read it (mode 0600), because it names\n"
        "groups, topics and the cluster. Findings describe the newest time in the tables; plots and past problems\n"
        "cover up to 14 days."
    )


def run(args: argparse.Namespace) -> int:
    """Run `kgtui report`. The exit code is 1 if a table could not be read, otherwise 0."""
    import kgtui
    from kgtui.insights.report import build_report, render_page
    from kgtui.lake.gold import Gold

    end = max((age.covered_to for age in Gold(args.lake).ages() if age.covered_to is not None), default=time.time())
    since, until = (
        None if words is None else parse_time(option, words, end)
        for option, words in (("--since", args.since), ("--until", args.until))
    )
    if since is not None and since >= (end if until is None else until):
        raise UsageError("--since must be earlier than --until, or than the newest data if --until is not given")
    found = build_report(args.lake, time.time(), since=since, until=until)
    made = render_page(found, kgtui.__version__)
    if args.output == "-":
        print_bytes(made)
    else:
        path = expanded(args.output, "--output: ")
        _write(path, made)
        notify(f"{path} was written with {counted(len(found.insights.findings), 'finding')}")
    return report_missing_tables(found.insights)


def _write(path: Path, data: bytes) -> None:
    """Write a file with mode 0600, or to a device. If the write fails, an existing file remains unchanged."""
    try:
        # Write directly to a device such as /dev/stdout. `replace_private` would replace the device with a file.
        if path.exists() and not path.is_file():
            path.write_bytes(data)
        else:
            replace_private(path, data)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from error
