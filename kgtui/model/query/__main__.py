"""Prints the table of filter terms in Markdown: `python -m kgtui.model.query`."""

from __future__ import annotations

import sys

from kgtui.model.query.term_help import markdown

if __name__ == "__main__":
    sys.stdout.write(markdown() + "\n")
