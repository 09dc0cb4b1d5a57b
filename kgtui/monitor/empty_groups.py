"""Find unused groups: Empty groups whose unread records are old.

If a group was Empty when kgtui started, it is not known when its members left: a minute or a year ago. Therefore, kgtui
finds out when the group's unread records were written. If the oldest unread record of each partition is older than
`ABANDONED_AFTER`, the members probably left long ago, and the group gets the problem `UNUSED`.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from kgtui.admin.deadline import Deadline
from kgtui.admin.reading import Logs, read_groups, read_record_times
from kgtui.errors import KgtuiError
from kgtui.model.offsets import lags, searchable
from kgtui.monitor.policy import (
    EMPTY_SEARCH_GROUPS,
    EMPTY_SEARCH_LOAD,
    EMPTY_SEARCH_PAUSE,
    RECORD_TIME_PARTITIONS,
    background_pause,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from kgtui.admin.base import GroupAdmin
    from kgtui.admin.groups_read import GroupsRead
    from kgtui.model.offsets import PartitionLag, TopicPartition
    from kgtui.model.record_times import RecordTime
    from kgtui.model.snapshot import BrokerStatus
    from kgtui.monitor.poll_timer import PollTimer
    from kgtui.monitor.screening import Screening
    from kgtui.monitor.store import Store

_PRECISION = 0.1
"""The search for the time of a record stops when the error is at most this fraction of the record's age.

With 0.1, the time of a record that is 10 hours old can be wrong by up to 1 hour.
"""

_LONGEST_PAUSE = 60.0
"""Maximum pause, in seconds, between two searches for the times of unread records in Empty groups."""

_RETRY_AFTER = 3_600.0
"""Seconds until kgtui searches again for the times of a group's unread records, if the last search found no time."""


class EmptyGroupSearch:
    """Finds out when the unread records of Empty groups were written.

    If kgtui did not see the members of a group leave, these times show whether the group is unused. After a successful
    search, a group is not searched again, because the offsets of Empty groups rarely change.

    Args:
        screening: judges a group again after kgtui has found out when its unread records were written.
        timeout: time limit for each step of a search, in seconds.
    """

    def __init__(self, admin: GroupAdmin, store: Store, screening: Screening, timeout: float) -> None:
        self._admin = admin
        self._store = store
        self._screening = screening
        self._timeout = timeout
        self._failed_at: dict[str, float] = {}

    @property
    def group_count(self) -> int:
        """Number of groups in the cluster."""
        return len(self._store.groups)

    async def search_next(self, first: Iterable[str] = ()) -> bool:
        """Search for the times of unread records in the next batch of Empty groups. Return False if no group was left.

        Args:
            first: ids of the groups that are searched before all others.
        """
        groups = self._next(first)
        if groups:
            try:
                await self._search(groups)
            except KgtuiError:
                self._failed_at |= dict.fromkeys(groups, self._store.now())
        return bool(groups)

    def _next(self, first: Iterable[str]) -> list[str]:
        """Return the ids of the next groups to search, which have at most `RECORD_TIME_PARTITIONS` partitions in total.

        At most `EMPTY_SEARCH_GROUPS` groups are returned. A group with more than `RECORD_TIME_PARTITIONS` partitions is
        returned alone. The groups in `first` come before all others.
        """
        store, partitions = self._store, 0
        found: list[str] = []
        latest = store.now() - _RETRY_AFTER
        empty = store.screening.empty
        urgent = {group: None for group in first if group in empty}
        for group in chain(urgent, (group for group in empty if group not in urgent)):
            summary = store.summaries.get(group)
            if summary is None or group in store.unread_since or self._failed_at.get(group, latest) > latest:
                continue
            if group not in store.groups or _is_silent(store.brokers.get(store.groups[group].coordinator)):
                continue
            partitions += summary.partitions
            if found and partitions > RECORD_TIME_PARTITIONS:
                break
            found.append(group)
            if len(found) == EMPTY_SEARCH_GROUPS:
                break
        return found

    async def _search(self, groups: Sequence[str]) -> None:
        store = self._store
        listed = {group: store.groups[group] for group in groups if group in store.groups}
        read = await read_groups(self._admin, Deadline(self._timeout), offsets=listed, logs=Logs.BOUNDS)
        times = await unread_times(self._admin, read, limit=RECORD_TIME_PARTITIONS, timeout=self._timeout)
        for group in groups:
            since = times.get(group)
            if since is None:
                self._failed_at[group] = store.now()
            elif group in store.groups:
                self._failed_at.pop(group, None)
                store.unread_since[group] = since
                self._screening.judge(group)


def _is_silent(broker: BrokerStatus | None) -> bool:
    return broker is not None and broker.fault is not None


class EmptyGroupTier:
    """Polling loop that searches Empty groups for the times of unread records, selected and visible groups first.

    Args:
        in_view: returns the ids of the selected and visible groups.
        changed: called after each search.
    """

    def __init__(
        self,
        search: EmptyGroupSearch,
        timer: PollTimer,
        in_view: Callable[[], Iterable[str]],
        changed: Callable[[], None],
    ) -> None:
        self._search = search
        self._timer = timer
        self._in_view = in_view
        self._changed = changed

    async def run(self) -> None:
        """Search batches of groups until this task is canceled. In the replay of a recording, do nothing."""
        while self._timer.recorded_at is None:
            began = self._timer.now()
            if await self._search.search_next(self._in_view()):
                self._changed()
            took = self._timer.now() - began
            pause = background_pause(EMPTY_SEARCH_PAUSE, self._search.group_count)
            await self._timer.pause_for(min(max(pause, took / EMPTY_SEARCH_LOAD), _LONGEST_PAUSE))


async def unread_times(admin: GroupAdmin, read: GroupsRead, *, limit: int, timeout: float) -> dict[str, float]:
    """Find out when the first unread records of groups were written.

    Args:
        read: offsets of the groups, with log start and log end offsets.
        limit: maximum number of partitions to search.
        timeout: time limit for the search, in seconds.

    Returns:
        Group id → latest time at which the first unread record of any partition can have been written, in seconds since
        the epoch (see `unread_since`). Groups for which this time is unknown are left out.
    """
    rows = {group: lags(offsets) for group, offsets in read.offsets_by_group().items()}
    times = await read_record_times(admin, rows, precision=_PRECISION, limit=limit, timeout=timeout)
    found = ((group, unread_since(rows[group], times[group])) for group in times)
    return {group: since for group, since in found if since is not None}


def unread_since(rows: Sequence[PartitionLag], times: Mapping[TopicPartition, RecordTime]) -> float | None:
    """Return the latest time (epoch seconds) at which the first unread record of any partition can have been written.

    For the first unread record of each partition, only a time range is known. The result is the latest end of these
    ranges. It is None if there are no unread records, or if the range is unknown for at least one partition with unread
    records. Partitions with unknown offsets are ignored.

    Args:
        rows: offsets and lag of all partitions of a group.
        times: partition → times of the last consumed and the first unread record.
    """
    found = [times[tp].unread if tp in times else None for tp in searchable(rows, len(rows))]
    known = [one.latest for one in found if one is not None]
    return max(known) if known and len(known) == len(found) else None
