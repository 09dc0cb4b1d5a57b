"""`python -m kgtui.simulator`: serve a simulated cluster; prints one line of JSON when it is ready."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from typing import TYPE_CHECKING

from kgtui.errors import UsageError
from kgtui.simulator.options import add_arguments, options_from
from kgtui.simulator.serving import serve

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until a signal comes, or with `--control` until stdin ends; 2 when it cannot be started."""
    parser = argparse.ArgumentParser(prog="python -m kgtui.simulator", description="Serve a simulated Kafka cluster.")
    add_arguments(parser)
    parser.add_argument("--control", action="store_true", help="take orders from stdin, and end with it")
    arguments = parser.parse_args(argv)
    try:
        asyncio.run(serve(options_from(arguments), say=_say, control=arguments.control))
    except (UsageError, OSError) as err:
        _say(json.dumps({"ready": False, "error": str(err)}))
        return 2
    return 0


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
