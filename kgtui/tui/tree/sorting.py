"""Sort the groups of one tree node in short steps, so that the event loop is not blocked."""

from __future__ import annotations

from bisect import bisect_left
from itertools import chain
from typing import TYPE_CHECKING, TypeVar

from kgtui.model.query.sort_keys import NAME, SORT_KEYS

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from kgtui.model.snapshot import Snapshot

CHUNK = 8_000
"""Maximum number of group ids that are sorted in one step (about 2 ms)."""

_Item = TypeVar("_Item", bound="str | tuple[float | str, int]")


def merge_sorted(parts: Sequence[Sequence[_Item]]) -> Generator[None, None, Sequence[_Item]]:
    """Merge sorted lists into one sorted list. Yield after every few thousand items, so that other tasks can run."""
    if len(parts) == 1:
        return parts[0]
    longest = max(parts, key=len, default=())
    stretches = 1 + sum(len(part) for part in parts) // CHUNK
    pivots = [longest[len(longest) * number // stretches] for number in range(1, stretches)]
    starts = [0] * len(parts)
    joined: list[_Item] = []
    for pivot in (*pivots, None):
        ends = [len(part) if pivot is None else bisect_left(part, pivot) for part in parts]
        spans = [part[start:end] for part, start, end in zip(parts, starts, ends, strict=True)]
        joined += sorted(chain.from_iterable(spans))
        starts = ends
        yield
    return joined


def sort_groups(
    ids: Sequence[str], snapshot: Snapshot, sort: str, descending: bool
) -> Generator[None, None, Sequence[str]]:
    """Sort group ids by a value of the groups, such as the lag. Work in several steps, and yield after each step.

    Groups with equal values are sorted by name. Groups whose value is unknown come last.

    Args:
        ids: group ids, already sorted by name.
        sort: the value to sort by, as a key of `SORT_KEYS`.
    """
    if sort == NAME:
        return ids[::-1] if descending else ids
    value = SORT_KEYS[sort].reader(snapshot)
    # For a descending order, sort the tuples (value, index) in ascending order, and reverse them at the end. Negate the
    # indexes, so that groups with equal values are still sorted by name after the reversal.
    sign = -1 if descending else 1
    runs: list[list[tuple[float | str, int]]] = []
    unknown: list[str] = []
    for start in range(0, len(ids), CHUNK):
        run: list[tuple[float | str, int]] = []
        for index in range(start, min(start + CHUNK, len(ids))):
            group = ids[index]
            known = value(group)
            if known is None:
                unknown.append(group)
            else:
                run.append((known, sign * index))
            if index % 500 == 499:
                yield
        run.sort()
        runs.append(run)
        yield
    merged = yield from merge_sorted(runs)
    found: list[str] = []
    for start in range(0, len(merged), CHUNK):
        found += [ids[abs(index)] for _, index in merged[start : start + CHUNK]]
        yield
    return [*(reversed(found) if descending else found), *unknown]
