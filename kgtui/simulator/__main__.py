"""Entry point of `python -m kgtui.simulator`: run a simulated cluster, and print a JSON line when it is ready."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from typing import TYPE_CHECKING

from kgtui.errors import UsageError
from kgtui.simulator.options import add_arguments, options_from
from kgtui.simulator.standalone import serve

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run a simulated cluster until the process receives a signal. With `--control`, also stop when stdin is closed.

    Returns the exit code: 0, or 2 if the cluster cannot be started.
    """
    parser = argparse.ArgumentParser(prog="python -m kgtui.simulator", description="Serve a simulated Kafka cluster.")
    add_arguments(parser)
    parser.add_argument(
        "--control", action="store_true", help="execute commands from stdin, and exit when stdin is closed"
    )
    arguments = parser.parse_args(argv)
    try:
        asyncio.run(serve(options_from(arguments), write_line=_write_line, control=arguments.control))
    except (UsageError, OSError) as err:
        _write_line(json.dumps({"ready": False, "error": str(err)}))
        return 2
    return 0


def _write_line(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
