"""Default values that several packages share and that users can change. Times are in seconds."""

from __future__ import annotations

TIMEOUT = 30.0
"""Time limit of a Python API call, and of a command without `--timeout`, in seconds."""

POLL_INTERVAL = 2.0
"""Seconds between two polls of a broker in the terminal UI, and between two reads in `kgtui ls --watch`."""

TREE_COLUMNS = ("lag", "members", "problem", "state", "plot", "age", "trend", "timelag")
"""Default columns of the tree of groups in the terminal UI, the most important first.

A column is left out if it does not fit beside the more important columns.
"""
