"""Find the polls of a day at which the listing, the description or the members of one group changed.

Changes to offsets are ignored, because offsets change in nearly every poll.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

GroupState = tuple[object, frozenset[object]]
"""State of a group: a tuple of its row in table `groups`, and a set with a pair (member id, row) for each member.

The rows have no key, and no column `described_at`. The row in table `groups` is None if the group does not exist.
"""

ABSENT: GroupState = (None, frozenset())

_ASIDE = frozenset({"day", "keyframe", "poll", "gone", "described_at"})


@dataclass(frozen=True, slots=True)
class DayOfChanges:
    """The changes to one group on one day.

    Attributes:
        changes: times of the polls at which the group differs from the previous poll of the same day, in order.
        first, last: state of the group at the first and at the last poll of the day.
    """

    changes: tuple[int, ...]
    first: GroupState
    last: GroupState


def changes_of_day(groups: pa.Table, members: pa.Table, polls: Iterable[tuple[int, int]]) -> DayOfChanges:
    """Find the changes to a group on a day.

    Args:
        groups, members: rows of this group on that day in tables `groups` and `members`.
        polls: pairs (poll, keyframe) for all polls of the day, in order.
    """
    group_rows, member_rows = _by_poll(groups), _by_poll(members)
    group_row: object = None
    members_now: dict[str, object] = {}
    changes: list[int] = []
    first = shape = ABSENT
    begun = False
    for poll, keyframe in polls:
        if poll == keyframe:
            group_row, members_now = None, {}
        elif poll not in group_rows and poll not in member_rows:
            continue
        for gone, value, _ in group_rows.get(poll, ()):
            group_row = None if gone else value
        for gone, value, member in member_rows.get(poll, ()):
            members_now.pop(member, None)
            if not gone:
                members_now[member] = value
        now: GroupState = (group_row, frozenset(members_now.items()))
        if not begun:
            first, begun = now, True
        elif now != shape:
            changes.append(poll)
        shape = now
    return DayOfChanges(tuple(changes), first, shape)


def _by_poll(rows: pa.Table) -> dict[int, list[tuple[bool, object, str]]]:
    found: dict[int, list[tuple[bool, object, str]]] = defaultdict(list)
    for group_row in rows.to_pylist():
        value: tuple[Any, ...] = tuple(group_row[name] for name in rows.column_names if name not in _ASIDE)
        found[group_row["poll"]].append((group_row["gone"], value, group_row.get("member_id", "")))
    return found
