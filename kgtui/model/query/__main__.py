"""Prints the filter language as a Markdown table: `python -m kgtui.model.query`."""

from __future__ import annotations

import sys

from kgtui.model.query.term_catalog import markdown

if __name__ == "__main__":
    sys.stdout.write(markdown() + "\n")
