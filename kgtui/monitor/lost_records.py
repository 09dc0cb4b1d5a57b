"""Counts the unread records that retention has already deleted."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from kgtui.errors import KgtuiError
from kgtui.model.trail import positions_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kgtui.admin.base import GroupAdmin
    from kgtui.admin.groups_read import GroupsRead
    from kgtui.model.offsets import PartitionBounds, TopicPartition
    from kgtui.model.trail import Trail


async def lost_records(
    admin: GroupAdmin, trails: Mapping[str, Trail], read: GroupsRead, *, timeout: float
) -> dict[str, int]:
    """Return group id → number of unread records that retention has deleted.

    Groups for which this number is not known are missing, because their offsets or the log start offsets could not
    be read. Log start offsets are read only for partitions with unread records whose position does not move,
    because this takes another request.

    Args:
        trails: group id → the last reads of the group, of which `read` is the newest.
        timeout: maximum duration of the request for log start offsets, in seconds.
    """
    waiting: dict[str, list[tuple[TopicPartition, int]]] = {}
    for group, trail in trails.items():
        if group not in read.committed and group not in read.share:
            continue
        waiting[group] = []
        if any(waited > 1 for waited in trail.waited):
            rows = positions_of(read.committed.get(group, ()), read.share.get(group, ()), {})
            waiting[group] = [
                (row.key, row.position)
                for row, waited in zip(rows, trail.waited, strict=True)
                if waited > 1 and row.position is not None
            ]
    partitions = {key for rows in waiting.values() for key, _ in rows}
    bounds: Mapping[TopicPartition, PartitionBounds] = {}
    if partitions:
        with suppress(KgtuiError):
            bounds = (await admin.partition_bounds(partitions, timeout=timeout)).rows
    return {
        group: _count_lost(rows, bounds) for group, rows in waiting.items() if all(key in bounds for key, _ in rows)
    }


def _count_lost(rows: Iterable[tuple[TopicPartition, int]], bounds: Mapping[TopicPartition, PartitionBounds]) -> int:
    starts = ((bounds[key].log_start, position) for key, position in rows)
    return sum(max(start - position, 0) for start, position in starts if start is not None)
