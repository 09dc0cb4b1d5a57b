"""Run the command line with `python -m kgtui`."""

from __future__ import annotations

import sys

from kgtui.cli import main

if __name__ == "__main__":
    sys.exit(main())
