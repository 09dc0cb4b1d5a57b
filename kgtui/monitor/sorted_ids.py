"""Finds ids in a sorted list, and inserts or removes a few ids without sorting the whole list again."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_SORT_BELOW = 8
"""Ids are inserted and removed by bisection if the list is at least this many times as long as the number of changes.

Otherwise, the whole list is sorted again, which is faster for many changes.
"""


def index_of(ids: Sequence[str], group: str) -> int | None:
    """Return the index of a group id in a sorted list; None if the list does not contain it."""
    at = bisect_left(ids, group)
    return at if at < len(ids) and ids[at] == group else None


def merged(ids: list[str], added: list[str], removed: list[str]) -> list[str]:
    """Return a sorted copy of `ids` with `added` and without `removed`.

    The list `ids` must be sorted, and is not changed.
    """
    if (len(added) + len(removed)) * _SORT_BELOW <= len(ids):
        return merged_by_bisection(ids, added, removed)
    out = {*removed, *added}
    kept = [group for group in ids if group not in out] if ids else []
    kept.extend(added)
    kept.sort()
    return kept


def merged_by_bisection(ids: list[str], added: Iterable[str], removed: Iterable[str]) -> list[str]:
    """Return a sorted copy of the sorted list `ids`, with `added` and without `removed`.

    The ids are inserted and removed by bisection, which is fast for few changes. `added` must not contain ids that are
    in `ids`, unless they are also in `removed`.
    """
    kept: list[str] = []
    start = 0
    places = {at for group in removed if (at := index_of(ids, group)) is not None}
    for at in sorted(places):
        kept += ids[start:at]
        start = at + 1
    kept += ids[start:]
    result: list[str] = []
    start = 0
    for group in sorted(added):
        at = bisect_left(kept, group, start)
        result += kept[start:at]
        result.append(group)
        start = at
    result += kept[start:]
    return result
