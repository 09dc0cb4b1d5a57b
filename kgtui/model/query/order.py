"""How a filter sorts: `sort:lag-`. What is unknown comes last either way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.model import facts
from kgtui.model.query.terms import Need

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kgtui.model.snapshot import Snapshot

SORT_KEYS = ("name", "state", "members", "lag", "age", "type", "coordinator")
_NEEDS = {"members": Need.DESCRIPTION, "lag": Need.OFFSETS}


@dataclass(frozen=True, slots=True)
class SortKey:
    """One of `SORT_KEYS`, upwards unless `descending`."""

    key: str
    descending: bool = False

    @property
    def needs(self) -> frozenset[Need]:
        """What must have been read of a group for it to have a place."""
        need = _NEEDS.get(self.key)
        return frozenset() if need is None else frozenset({need})

    def spelled(self) -> str:
        """The key as the filter language writes it."""
        return f"sort:{self.key}{'-' if self.descending else ''}"


def ordered(ids: Iterable[str], keys: tuple[SortKey, ...], snapshot: Snapshot) -> list[str]:
    """The ids sorted by the keys, the first one counting most, and then by id."""
    found = sorted(ids)
    for key in reversed(keys):
        if key.key == "name":
            found.sort(reverse=key.descending)
            continue
        read = _reader(key.key, snapshot)
        values = [(read(group), group) for group in found]
        known = [(value, group) for value, group in values if value is not None]
        known.sort(key=lambda pair: pair[0], reverse=key.descending)
        found = [group for _, group in known] + [group for value, group in values if value is None]
    return found


def _reader(key: str, snapshot: Snapshot) -> Callable[[str], float | str | None]:
    readers: dict[str, Callable[[str], float | str | None]] = {
        "state": snapshot.state_of,
        "type": lambda group: facts.type_of(snapshot, group),
        "coordinator": lambda group: snapshot.groups[group].coordinator,
        "members": lambda group: facts.member_count(snapshot, group),
        "lag": lambda group: _lag(snapshot, group),
        "age": lambda group: _age(snapshot, group),
    }
    return readers[key]


def _lag(snapshot: Snapshot, group: str) -> int | None:
    total = facts.lag_total(snapshot, group)
    return None if total is None else total.lag


def _age(snapshot: Snapshot, group: str) -> float | None:
    at = facts.read_at(snapshot, group)
    return None if at is None else snapshot.taken_at - at
