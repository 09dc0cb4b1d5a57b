"""Sort the groups of one node by name, lag or number of members, in slices that do not block the event loop."""

from __future__ import annotations

from bisect import bisect_left
from itertools import chain
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from kgtui.model.snapshot import Snapshot

Sort = Literal["name", "lag", "members"]
SORTS: tuple[Sort, ...] = get_args(Sort)

CHUNK = 8_000
"""Maximum number of group ids that are sorted in one slice. Sorting this many takes about 2 ms."""
_UNKNOWN = 1 << 62


def merge_sorted(parts: Sequence[Sequence[str]]) -> Generator[None, None, Sequence[str]]:
    """Merge sorted lists of group ids into one sorted list, and return it.

    This generator yields after each step. Each step merges the ids of one alphabetical range: the first step all ids
    up to a certain id, the second step the ids up to a later id, and so on.
    """
    if len(parts) == 1:
        return parts[0]
    longest = max(parts, key=len, default=())
    stretches = 1 + sum(len(part) for part in parts) // CHUNK
    pivots = [longest[len(longest) * number // stretches] for number in range(1, stretches)]
    starts = [0] * len(parts)
    joined: list[str] = []
    for pivot in (*pivots, None):
        ends = [len(part) if pivot is None else bisect_left(part, pivot) for part in parts]
        spans = [part[start:end] for part, start, end in zip(parts, starts, ends, strict=True)]
        joined += sorted(chain.from_iterable(spans))
        starts = ends
        yield
    return joined


def sort_groups(
    ids: Sequence[str], snapshot: Snapshot, sort: Sort, descending: bool
) -> Generator[None, None, Sequence[str]]:
    """Sort group ids by lag or number of members, and return them. This generator yields after each slice.

    Groups with equal values are in order of name, and groups with an unknown value come last.

    Args:
        ids: group ids that are already sorted by name.
    """
    if sort == "name":
        return ids[::-1] if descending else ids
    value = _lag(snapshot) if sort == "lag" else _members(snapshot)
    sign = -1 if descending else 1
    runs: list[list[tuple[int, int]]] = []
    for start in range(0, len(ids), CHUNK):
        run: list[tuple[int, int]] = []
        for index in range(start, min(start + CHUNK, len(ids))):
            known = value(ids[index])
            run.append((_UNKNOWN if known is None else sign * known, index))
            if index % 2_000 == 1_999:
                yield
        run.sort()
        runs.append(run)
        yield
    while len(runs) > 1:
        runs = [*_pairs(runs)]
        yield
    return [ids[index] for _, index in runs[0]] if runs else []


def _pairs(runs: list[list[tuple[int, int]]]) -> list[list[tuple[int, int]]]:
    joined = []
    for at in range(0, len(runs), 2):
        both = runs[at] + (runs[at + 1] if at + 1 < len(runs) else [])
        both.sort()
        joined.append(both)
    return joined


def _lag(snapshot: Snapshot) -> Callable[[str], int | None]:
    summaries = snapshot.summaries

    def value(group: str) -> int | None:
        summary = summaries.get(group)
        return None if summary is None else summary.lag

    return value


def _members(snapshot: Snapshot) -> Callable[[str], int | None]:
    summaries = snapshot.summaries

    def value(group: str) -> int | None:
        summary = summaries.get(group)
        return None if summary is None else summary.members

    return value
