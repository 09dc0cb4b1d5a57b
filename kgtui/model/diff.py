"""What differs between two snapshots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kgtui.model.snapshot import Snapshot

_PARTS = ("summaries", "details", "offsets", "configs", "group_faults")


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """What differs from a snapshot before.

    Attributes:
        added: ids listed now and not before.
        removed: ids listed before and not now.
        relisted: ids whose listing (type, protocol, state, coordinator) changed.
        updated: ids whose summary, details, offsets, configs or fault changed.
    """

    added: frozenset[str]
    removed: frozenset[str]
    relisted: frozenset[str]
    updated: frozenset[str]

    def __bool__(self) -> bool:
        return bool(self.added or self.removed or self.relisted or self.updated)


def diff(old: Snapshot, new: Snapshot) -> Changes:
    """What a view that shows `old` must draw again to show `new`.

    Values are compared by identity where both snapshots share them, so that 100,000 unchanged groups cost little.
    Snapshots of one monitor share the summaries themselves: between those they never differ.
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
