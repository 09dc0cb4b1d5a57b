"""Searches for the times of unread records in Empty groups, to find the groups that have been abandoned for a day.

A group that was already Empty when kgtui started may have lost its members a minute ago or a year ago. If the first
unread record of every partition was written more than a day ago, nobody has read this far since, and the group is
abandoned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.admin.deadline import Deadline
from kgtui.admin.reading import Logs, read_groups, read_record_times
from kgtui.errors import KgtuiError
from kgtui.model.judgment import Problem
from kgtui.model.offsets import lags, searchable
from kgtui.monitor.policy import EMPTY_SEARCH_GROUPS, EMPTY_SEARCH_LOAD, EMPTY_SEARCH_PAUSE, RECORD_TIME_PARTITIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from kgtui.admin.base import GroupAdmin
    from kgtui.model.offsets import PartitionLag, TopicPartition
    from kgtui.model.record_times import RecordTime
    from kgtui.monitor.health import RetentionTier
    from kgtui.monitor.poll_timer import PollTimer
    from kgtui.monitor.screening import Screening
    from kgtui.monitor.store import Store

_PRECISION = 0.1
"""Width of a time range at which a search ends, as a fraction of the age of the record."""

_RETRY_AFTER = 3_600.0
"""Time after which a group is searched again if the times of its records could not be found, in seconds."""


class EmptyGroupTier:
    """Searches each group that has been Empty since before kgtui started once, and stores the result.

    The result stays valid while the group is Empty, because its offsets do not move.

    Args:
        screening: judges each group again when its search has ended.
        retention: reads the configs of topics. Compacted topics are not searched.
        timeout: maximum duration of a search, in seconds.
        in_view: returns the ids of the selected and visible groups, which are searched first.
        changed: called after each search.
    """

    def __init__(
        self,
        admin: GroupAdmin,
        store: Store,
        screening: Screening,
        timer: PollTimer,
        retention: RetentionTier,
        timeout: float,
        in_view: Callable[[], Collection[str]],
        changed: Callable[[], None],
    ) -> None:
        self._admin = admin
        self._store = store
        self._screening = screening
        self._timer = timer
        self._retention = retention
        self._timeout = timeout
        self._in_view = in_view
        self._changed = changed
        self._failed_at: dict[str, float] = {}

    async def run(self) -> None:
        """Search groups until cancelled. A recording is never searched."""
        while self._timer.recorded_at is None:
            began = self._timer.now()
            groups = self._next()
            if groups:
                try:
                    await self._search(groups)
                except KgtuiError:
                    self._failed_at |= dict.fromkeys(groups, self._timer.now())
                self._changed()
            took = self._timer.now() - began
            await self._timer.pause_for(min(max(EMPTY_SEARCH_PAUSE, took / EMPTY_SEARCH_LOAD), 60.0))

    def _next(self) -> list[str]:
        """Return the ids of the next groups to search, which together have at most `RECORD_TIME_PARTITIONS`."""
        store, partitions = self._store, 0
        found: list[str] = []
        latest = self._timer.now() - _RETRY_AFTER
        for group in dict.fromkeys((*self._in_view(), *store.screened)):
            judgment, summary = store.screened.get(group), store.summaries.get(group)
            if judgment is None or judgment.kind is not Problem.EMPTY or group in store.unread_since:
                continue
            if summary is None or self._failed_at.get(group, latest) > latest:
                continue
            partitions += summary.partitions
            if found and partitions > RECORD_TIME_PARTITIONS:
                break
            found.append(group)
            if len(found) == EMPTY_SEARCH_GROUPS:
                break
        return found

    async def _search(self, groups: Sequence[str]) -> None:
        store, deadline = self._store, Deadline(self._timeout)
        listed = {group: store.groups[group] for group in groups if group in store.groups}
        read = await read_groups(self._admin, deadline, offsets=listed, logs=Logs.BOUNDS)
        rows = {group: lags(offsets) for group, offsets in read.offsets_by_group().items()}
        await self._retention.read_now({row.topic for found in rows.values() for row in found})
        times = await read_record_times(
            self._admin,
            rows,
            rules=self._retention.known.rules,
            precision=_PRECISION,
            limit=RECORD_TIME_PARTITIONS,
            timeout=self._timeout,
        )
        for group in groups:
            since = unread_since(rows.get(group, ()), times.get(group, {}))
            if since is None:
                self._failed_at[group] = self._timer.now()
            elif group in store.groups:
                self._failed_at.pop(group, None)
                store.unread_since[group] = since
                self._screening.judge(group)


def unread_since(rows: Sequence[PartitionLag], times: Mapping[TopicPartition, RecordTime]) -> float | None:
    """Return the time before which the first unread record of every partition was written, in seconds since the epoch.

    None if there is no unread record, or if this time is not known for every partition with unread records.

    Args:
        rows: offsets and lag of all partitions of a group.
        times: partition → when the records around its position were written.
    """
    found = [times[tp].unread if tp in times else None for tp in searchable(rows, len(rows))]
    known = [one.latest for one in found if one is not None]
    return max(known) if known and len(known) == len(found) else None
