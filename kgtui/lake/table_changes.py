"""Find in a table's Delta log the earliest time of the rows that were added after a given version.

This module uses only the standard library.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kgtui.errors import PARSE_ERRORS
from kgtui.lake.folder import LOG, log_names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgtui.lake.store import LakePath

UNKNOWN = 0
"""Result of `earliest_change` if the Delta log does not show which rows changed.

The value is the earliest possible time (0 ms since the epoch), because any row may have changed.
"""

CHANGED_FROM = "kgtui.changedFrom"
"""Key in the metadata of a Delta commit that rewrites files.

The value is the earliest time of a changed row, in milliseconds since the epoch. The statistics of a rewritten file do
not show this time, because they also cover the unchanged rows in the file.
"""


def newest_version(path: LakePath) -> int | None:
    """Return the number of the newest version in the Delta log of a table; None if the table does not exist."""
    return max(_versions(path), default=None)


def earliest_change(path: LakePath, after: int, column: str) -> int | None:
    """Return the earliest time of the rows that were added or changed after version `after` of a table.

    Commits that only delete or merge files (pruning or compaction) do not count.

    Args:
        after: number of a table version. Only later versions are searched; -1 to search all versions.
        column: name of the time column, which contains timestamps or milliseconds since the epoch.

    Returns:
        Milliseconds since the epoch; None if no rows have changed; `UNKNOWN` if the Delta log does not show the time.
    """
    versions = _versions(path)
    newest = max(versions, default=after)
    if newest < after or not versions.issuperset(range(after + 1, newest + 1)):
        return UNKNOWN
    times: list[int] = []
    for version in range(after + 1, newest + 1):
        try:
            text = (path / LOG / f"{version:020}.json").read_text(encoding="utf-8")
        except FileNotFoundError:
            return UNKNOWN
        times += _times_of_commit([json.loads(line) for line in text.splitlines()], column)
    return min(times, default=None)


def _times_of_commit(actions: list[dict[str, Any]], column: str) -> Iterator[int]:
    added = [action["add"] for action in actions if "add" in action]
    if not any(file.get("dataChange", True) for file in added):
        return
    for action in actions:
        stated = _changed_from(action.get("commitInfo", {}).get("userMetadata"))
        if stated is not None:
            yield stated
            return
    for file in added:
        stats = json.loads(file.get("stats") or "{}")
        if stats.get("numRecords") != 0:
            yield _milliseconds(stats.get("minValues", {}).get(column))


def _changed_from(metadata: object) -> int | None:
    try:
        stated = json.loads(metadata) if isinstance(metadata, str) else None
    except PARSE_ERRORS:
        return None
    value = stated.get(CHANGED_FROM) if isinstance(stated, dict) else None
    return value if isinstance(value, int) else None


def _milliseconds(value: object) -> int:
    """Convert a time in the statistics of a file to milliseconds since the epoch; `UNKNOWN` if it is not valid."""
    if isinstance(value, int):
        return value
    try:
        at = datetime.fromisoformat(str(value))
    except ValueError:
        return UNKNOWN
    return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)


def _versions(path: LakePath) -> set[int]:
    names = (name.removesuffix(".json") for name in log_names(path))
    return {int(name) for name in names if name.isdigit()}
