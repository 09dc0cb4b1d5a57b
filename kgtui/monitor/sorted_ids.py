"""Inserts and removes a few ids in a long sorted list, faster than sorting the list again."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


_SORT_BELOW = 8
"""A sorted list is changed by bisection if it has at least this number of entries per change.

If there are more changes, it is faster to sort the list again.
"""


def merged(ids: list[str], added: list[str], removed: list[str]) -> list[str]:
    """Return sorted ids, in which the ids in `added` are inserted and the ids in `removed` are missing.

    The given list is not changed.
    """
    if (len(added) + len(removed)) * _SORT_BELOW <= len(ids):
        return patched(ids, added, removed)
    out = {*removed, *added}
    kept = [group for group in ids if group not in out] if ids else []
    kept.extend(added)
    kept.sort()
    return kept


def patched(ids: list[str], added: Iterable[str], removed: Iterable[str]) -> list[str]:
    """Return a copy of sorted ids, in which the ids in `added` are inserted and the ids in `removed` are missing.

    The ids between two changes are copied as one slice, which is fast if there are few changes.
    """
    kept: list[str] = []
    start = 0
    places = {at for group in removed if (at := bisect_left(ids, group)) < len(ids) and ids[at] == group}
    for at in sorted(places):
        kept += ids[start:at]
        start = at + 1
    kept += ids[start:]
    patched: list[str] = []
    start = 0
    for group in sorted(added):
        at = bisect_left(kept, group, start)
        patched += kept[start:at]
        patched.append(group)
        start = at
    patched += kept[start:]
    return patched
