"""Compare positions with log start offsets, to count records that retention deleted before a group read them.

A position is a committed offset or a share-partition start offset.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from kgtui.errors import KgtuiError
from kgtui.model.offsets import positions_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kgtui.admin.base import GroupAdmin
    from kgtui.admin.groups_read import GroupsRead
    from kgtui.model.offsets import PartitionBounds, Position, TopicPartition
    from kgtui.model.trail import Trail

_PAUSE = 120
"""Approximate time, in seconds, between two complete comparisons of positions with log start offsets.

A position is a committed offset or a share-partition start offset. A complete comparison includes all positions with
unread records. Between two complete comparisons, only positions that have stopped moving are compared.
"""

_OLDER_PART = 0.5
"""Fraction of the offsets in a log that count as near the log start offset, counted from the log start offset."""


class LogStartCheck(NamedTuple):
    """Result of comparing a group's positions (committed offsets) with the log start offsets.

    Attributes:
        lost: number of unread records that retention has deleted.
        near: whether at least one position with unread records is in the older half of its log; None if not all
            positions with unread records were compared.
    """

    lost: int
    near: bool | None


async def compare_with_log_starts(
    admin: GroupAdmin, trails: Mapping[str, Trail], read: GroupsRead, *, timeout: float
) -> dict[str, LogStartCheck]:
    """Compare the positions (committed offsets) of groups with log start offsets. Return group id → result.

    Most calls compare only positions that have not moved since the previous read. About every `_PAUSE` seconds, a call
    compares all positions with unread records. Groups whose positions or log start offsets could not be read are
    missing in the returned dict.

    Args:
        trails: group id → data of its last reads, including `read`.
        read: the newest read of the groups.
        timeout: time limit for reading log start offsets, in seconds.
    """
    rows: dict[str, list[Position]] = {}
    complete: set[str] = set()
    for group, trail in trails.items():
        if group not in read.committed and group not in read.share:
            continue
        due = _due(trail)
        checked: list[Position] = []
        if due or any(waited > 1 for waited in trail.waited):
            found = positions_of(read.committed.get(group, ()), read.share.get(group, ()), read.bounds)
            if len(found) != len(trail.waited):
                # Skip the group, because some of its partitions are missing in this read. Such a read is not added to
                # the trail (the data of the group's last reads), and cannot be compared with the trail.
                continue
            checked = [
                row
                for row, waited in zip(found, trail.waited, strict=True)
                if row.position is not None and (waited > 1 or (due and row.lag))
            ]
        rows[group] = checked
        if due:
            complete.add(group)
    partitions = {row.key for found in rows.values() for row in found}
    bounds: Mapping[TopicPartition, PartitionBounds] = {}
    if partitions:
        with suppress(KgtuiError):
            bounds = (await admin.partition_bounds(partitions, timeout=timeout)).rows
    return {
        group: LogStartCheck(_count_lost(found, bounds), _near(found, bounds) if group in complete else None)
        for group, found in rows.items()
        if all(row.key in bounds for row in found)
    }


def _due(trail: Trail) -> bool:
    """Return whether all positions (committed offsets) with unread records must now be compared with log start offsets.

    This complete comparison is due after the second read of a group, and then about every `_PAUSE` seconds.
    """
    if len(trail.samples) < 2:
        return False
    before = trail.samples[-2].at
    return trail.reads == 2 or (trail.at - trail.first_at) // _PAUSE > (before - trail.first_at) // _PAUSE


def _count_lost(rows: Iterable[Position], bounds: Mapping[TopicPartition, PartitionBounds]) -> int:
    found = ((bounds[row.key].log_start, row.position) for row in rows)
    return sum(max(start - position, 0) for start, position in found if start is not None and position is not None)


def _near(rows: Iterable[Position], bounds: Mapping[TopicPartition, PartitionBounds]) -> bool:
    return any(row.lag and _in_older_part(row.position, bounds[row.key]) for row in rows)


def _in_older_part(position: int | None, bounds: PartitionBounds) -> bool:
    start, end = bounds.log_start, bounds.log_end
    if position is None or start is None or end is None:
        return False
    return position < start + _OLDER_PART * (end - start)
