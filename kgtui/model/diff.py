"""What differs between two snapshots."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.model.snapshot import Changes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kgtui.model.snapshot import Snapshot

_PARTS = ("summaries", "details", "offsets", "configs", "group_faults")


def diff(old: Snapshot, new: Snapshot) -> Changes:
    """What a view that shows `old` must draw again to show `new`.

    Values are compared by identity where both snapshots share them, so that 100,000 unchanged groups cost little.
    """
    added = new.groups.keys() - old.groups.keys()
    removed = old.groups.keys() - new.groups.keys()
    relisted = {group for group, row in new.groups.items() if group not in added and old.groups[group] != row}
    updated: set[str] = set()
    for part in _PARTS:
        updated |= _differing(getattr(old, part), getattr(new, part))
    return Changes(frozenset(added), frozenset(removed), frozenset(relisted), frozenset(updated))


def _differing(old: Mapping[str, object], new: Mapping[str, object]) -> set[str]:
    if old is new:
        return set()
    changed = {group for group, value in new.items() if old.get(group) is not value}
    return changed | (old.keys() - new.keys())
