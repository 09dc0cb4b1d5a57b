"""When one group was another than before, over a day: listed, described or peopled otherwise.

Moved offsets do not count, since they move in nearly every poll.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

GroupState = tuple[object, frozenset[object]]
"""The group's row without when it was described, None when there is no such group; and its members' rows."""

ABSENT: GroupState = (None, frozenset())

_ASIDE = frozenset({"day", "keyframe", "poll", "gone", "described_at"})


@dataclass(frozen=True, slots=True)
class DayOfChanges:
    """One group on one day.

    Attributes:
        changes: polls at which it was another than at the poll before, of the same day; in order.
        first, last: how it was at the day's first and last poll.
    """

    changes: tuple[int, ...]
    first: GroupState
    last: GroupState


def changes_of_day(groups: pa.Table, members: pa.Table, polls: Iterable[tuple[int, int]]) -> DayOfChanges:
    """Walk a day.

    Args:
        groups, members: the day's rows of this group alone.
        polls: every whole poll of the day with its keyframe, in order.
    """
    listed, peopled = _by_poll(groups), _by_poll(members)
    row: object = None
    people: dict[str, object] = {}
    changes: list[int] = []
    first = shape = ABSENT
    begun = False
    for poll, keyframe in polls:
        if poll == keyframe:
            row, people = None, {}
        elif poll not in listed and poll not in peopled:
            continue
        for gone, value, _ in listed.get(poll, ()):
            row = None if gone else value
        for gone, value, member in peopled.get(poll, ()):
            people.pop(member, None)
            if not gone:
                people[member] = value
        now: GroupState = (row, frozenset(people.items()))
        if not begun:
            first, begun = now, True
        elif now != shape:
            changes.append(poll)
        shape = now
    return DayOfChanges(tuple(changes), first, shape)


def _by_poll(rows: pa.Table) -> dict[int, list[tuple[bool, object, str]]]:
    found: dict[int, list[tuple[bool, object, str]]] = defaultdict(list)
    for row in rows.to_pylist():
        value: tuple[Any, ...] = tuple(row[name] for name in rows.column_names if name not in _ASIDE)
        found[row["poll"]].append((row["gone"], value, row.get("member_id", "")))
    return found
