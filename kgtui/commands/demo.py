"""`kgtui demo`: the UI on a simulated cluster in a process of its own; or just the cluster."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING

from kgtui.commands.printing import notify, print_text

if TYPE_CHECKING:
    import argparse

    from kgtui.simulator.options import Options


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    from kgtui.commands.parser import add_screen_options
    from kgtui.simulator.options import add_arguments

    parser.add_argument("--no-tui", action="store_true", help="serve the cluster and print its address")
    add_arguments(parser)
    add_screen_options(parser, again=True)


def run(args: argparse.Namespace) -> int:
    """Run the command; the exit code."""
    from kgtui.simulator.options import options_from

    options = options_from(args)
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
    """The address on stdout, for a script; the rest for a person."""
    told = json.loads(line)
    print_text(f"{told['bootstrap']}\n")
    notify(f"a simulated cluster of {len(told['brokers'])} brokers with {told['groups']} groups; Ctrl-C ends it")
    sys.stderr.flush()
