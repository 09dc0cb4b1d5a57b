"""Default values that several packages share and that users can change. Times are in seconds."""

from __future__ import annotations

TIMEOUT = 30.0
"""Time limit of a call of the API, and of a command without `--timeout`."""

POLL_INTERVAL = 2.0
"""Time between two polls of a broker by the terminal UI, and between two reads of `kgtui ls --watch`."""

TREE_COLUMNS = ("lag", "members", "problem", "state", "plot", "age", "trend", "timelag")
"""The columns of the tree. If the tree is too narrow for all columns, the last columns are left out."""
