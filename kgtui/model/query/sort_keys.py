"""The catalog of sort keys, such as `lag`, by which groups can be sorted.

To add a sort key, add an entry to `SORT_KEYS`. The filter parser, the tree of groups, the help and the README use this
catalog.
"""

from __future__ import annotations

from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from kgtui.model import facts
from kgtui.model.facts import Need

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kgtui.model.snapshot import Snapshot

    ValueReader = Callable[[str], float | str | None]


class SortKeyEntry(NamedTuple):
    """One way to sort groups.

    Attributes:
        value: function that takes a snapshot and a group id, and returns the value to sort by. Groups with the value
            None come last.
        needs: data that must be read before groups can be sorted. The list of groups is always read.
        cycled: whether the user can select this sort key with the key `s` in the terminal UI.
        largest_first: whether the largest value comes first when the user selects this sort key.
        in_summary: name of the attribute of `Summary` (values from the background reads of a group) that contains the
            value, such as `lag`. The attribute is read instead of calling `value`, because that is faster. Empty if
            there is no such attribute.
        newer_in: name of the mapping in `Snapshot` that may have newer data than the summaries, such as `offsets`. For
            groups in this mapping, `value` is called nevertheless. Empty if `in_summary` is empty.
    """

    value: Callable[[Snapshot, str], float | str | None]
    needs: frozenset[Need] = frozenset()
    cycled: bool = False
    largest_first: bool = True
    in_summary: str = ""
    newer_in: str = ""

    def reader(self, snapshot: Snapshot) -> ValueReader:
        """Return a function that takes a group id, and returns the value to sort by, or None if it is unknown."""
        if not self.in_summary:
            return partial(self.value, snapshot)
        value, in_summary = self.value, attrgetter(self.in_summary)
        summaries, newer = snapshot.summaries, getattr(snapshot, self.newer_in)

        def read(group: str) -> float | str | None:
            summary = summaries.get(group)
            if summary is None or group in newer:
                return value(snapshot, group)
            return in_summary(summary)  # type: ignore[no-any-return]

        return read


def _lag(snapshot: Snapshot, group: str) -> int | None:
    total = facts.lag_total(snapshot, group)
    return None if total is None else total.lag


def _age(snapshot: Snapshot, group: str) -> float | None:
    at = facts.read_at(snapshot, group)
    return None if at is None else max(snapshot.taken_at - at, 0.0)


def _time_lag(snapshot: Snapshot, group: str) -> float | None:
    found = facts.time_lag(snapshot, group)
    return None if found is None else found[0]


def _harm(snapshot: Snapshot, group: str) -> int | None:
    judgment = snapshot.judgment(group)
    return None if judgment.kind is None and judgment.status.value == "UNKNOWN" else judgment.harm


def _coordinator(snapshot: Snapshot, group: str) -> int | None:
    # `listing` is None if the tree on the screen still contains a group that no longer exists.
    listing = snapshot.groups.get(group)
    return None if listing is None else listing.coordinator


NAME = "name"
"""The sort key for the group id. Sorting by id is fast, because a snapshot contains sorted lists of group ids."""

SORT_KEYS: Mapping[str, SortKeyEntry] = {
    NAME: SortKeyEntry(lambda _snapshot, group: group, cycled=True, largest_first=False),
    "lag": SortKeyEntry(
        _lag,
        frozenset({Need.OFFSETS}),
        cycled=True,
        in_summary="lag",
        newer_in="offsets",
    ),
    "members": SortKeyEntry(
        facts.member_count,
        frozenset({Need.DESCRIPTION}),
        cycled=True,
        in_summary="members",
        newer_in="details",
    ),
    "trend": SortKeyEntry(facts.lag_trend, frozenset({Need.WATCHING}), cycled=True),
    "timelag": SortKeyEntry(_time_lag, frozenset({Need.WATCHING}), cycled=True),
    "verdict": SortKeyEntry(_harm, frozenset({Need.OFFSETS, Need.WATCHING}), cycled=True),
    "state": SortKeyEntry(lambda snapshot, group: snapshot.state_of(group)),
    "age": SortKeyEntry(_age),
    "type": SortKeyEntry(facts.type_of),
    "coordinator": SortKeyEntry(_coordinator),
}

CYCLED_SORT_KEYS = tuple(key for key, entry in SORT_KEYS.items() if entry.cycled)
"""The sort keys that the user can select with the `s` key of the terminal UI, in the order of selection."""


def joined(keys: tuple[str, ...] = tuple(SORT_KEYS)) -> str:
    """Return the names of sort keys (by default, of all sort keys) as text, such as `name, lag or members`."""
    return f"{', '.join(keys[:-1])} or {keys[-1]}"
