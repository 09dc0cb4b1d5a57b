"""`kgtui demo`: open the terminal UI on a simulated cluster, or only run the simulated cluster."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

from kgtui.commands.printing import notify, print_text
from kgtui.model.number_format import counted

if TYPE_CHECKING:
    import argparse

    from kgtui.simulator.options import Options


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `kgtui demo`."""
    from kgtui.commands.parser import add_ui_options
    from kgtui.simulator.options import add_arguments

    parser.add_argument(
        "--no-tui", action="store_true", help="only run the cluster and print its address, without the terminal UI"
    )
    add_arguments(parser)
    add_ui_options(parser, again=True)


def run(args: argparse.Namespace) -> int:
    """Run `kgtui demo` and return its exit code."""
    from kgtui.simulator.options import options_from

    options = options_from(args)
    if not options.loopback:
        notify(f"warning: everyone who can reach {options.listen} can read and change the simulated cluster")
    if args.no_tui:
        return _serve(options)
    from kgtui.commands.ui import run_demo

    return run_demo(args, options)


def _serve(options: Options) -> int:
    from kgtui.simulator import serve

    try:
        asyncio.run(serve(options, write_line=_ready))
    except OSError as error:
        notify(f"the simulated cluster cannot listen on {options.listen}: {error.strerror or error}")
        return 2
    return 0


def _ready(line: str) -> None:
    cluster = json.loads(line)
    print_text(f"{cluster['bootstrap']}\n")
    brokers, groups = counted(len(cluster["brokers"]), "broker"), counted(cluster["groups"], "group")
    notify(f"simulated cluster with {brokers} and {groups}; Ctrl-C stops it")
