"""Find out when unread records were written, in the selected group and in groups with a possible problem.

From these times, kgtui computes the age of the oldest unread record.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING

from kgtui.admin.record_search import ROUNDS
from kgtui.errors import KgtuiError
from kgtui.model.offsets import lags, searchable
from kgtui.model.record_times import NO_ANSWER, PRECISION, with_expiry
from kgtui.monitor.policy import RECORD_TIME_PARTITIONS, RECORD_TIME_PAUSE

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from kgtui.admin.base import GroupAdmin
    from kgtui.model.offsets import GroupOffsets, TopicPartition
    from kgtui.model.record_times import LogPosition, RecordTime
    from kgtui.monitor.health import HealthTier, RetentionTier
    from kgtui.monitor.policy import MonitorOptions
    from kgtui.monitor.poll_timer import PollTimer
    from kgtui.monitor.store import Store

    Times = Mapping[TopicPartition, RecordTime]


class RecordTimeTier:
    """Searches for the times at which unread records were written, with ListOffsets requests by timestamp.

    If a group's committed offset in a partition has moved, this partition is searched again. There are at least
    `RECORD_TIME_PAUSE` seconds between two searches in the same group. But if the user selects a group, and some of its
    known times can be found more precisely, the group is searched without this pause. In the replay of a recording,
    kgtui does not search.

    Args:
        retention: reads the configs of topics. Compacted topics are not searched.
        health: receives the times that were found, and computes a new health verdict on the group.
        changed: called after each successful search.
    """

    def __init__(
        self,
        admin: GroupAdmin,
        store: Store,
        options: MonitorOptions,
        timer: PollTimer,
        retention: RetentionTier,
        health: HealthTier,
        changed: Callable[[], None],
    ) -> None:
        self._admin = admin
        self._timeout = options.timeout
        self._kept_groups = options.kept_groups
        self._timer = timer
        self._retention = retention
        self._health = health
        self._store = store
        self._changed = changed
        self._selected: str | None = None
        self._suspects: frozenset[str] = frozenset()
        self._known: OrderedDict[str, Times] = OrderedDict()
        self._searched_at: dict[str, float] = {}
        self._wanted: dict[str, GroupOffsets] = {}
        self._wake = asyncio.Event()

    def set_selected(self, group: str | None) -> None:
        """Set the selected group.

        A search for the times of unread records in this group is precise: it ends when the times are
        known to within one second, or after `ROUNDS` requests.
        """
        if (
            group is not None
            and group != self._selected
            and any(_could_be_narrowed(found) for found in self._known.get(group, {}).values())
        ):
            self._searched_at.pop(group, None)
        self._selected = group

    def set_suspects(self, groups: Collection[str]) -> None:
        """Set the groups with a possible problem ("suspects").

        A search for the times of unread records in these groups is less precise than in the selected group: it ends
        when the error of a time is at most `PRECISION` × the age of the record.
        """
        self._suspects = frozenset(groups)

    def add(self, group: str, offsets: GroupOffsets) -> GroupOffsets:
        """Return the offsets of a group, with the known times of its unread records added.

        If the group is selected or may have a problem, also request a search for the times that are not known yet,
        unless the last search was less than `RECORD_TIME_PAUSE` seconds ago.

        Args:
            offsets: the offsets that have just been read.
        """
        if self._timer.recorded_at is not None:
            return offsets
        known = self._known.get(group, {})
        if group == self._selected or group in self._suspects:
            last = self._searched_at.get(group)
            paused = last is not None and 0 <= self._timer.now() - last < RECORD_TIME_PAUSE
            if not paused:
                self._wanted[group] = offsets
                self._wake.set()
        return replace(offsets, record_times=known) if known else offsets

    @property
    def idle(self) -> bool:
        """Whether no search is requested or running."""
        return not self._wake.is_set()

    async def run(self) -> None:
        """Run the requested searches until this task is canceled. The selected group is searched first."""
        while True:
            await self._wake.wait()
            while self._wanted:
                group = min(self._wanted, key=lambda one: one != self._selected)
                await self._search(group, self._wanted.pop(group))
            self._wake.clear()

    async def _search(self, group: str, offsets: GroupOffsets) -> None:
        # Choosing the partitions to search takes long if a group has thousands of them, so a thread does it.
        selected = group == self._selected
        positions = await asyncio.to_thread(_missing, offsets, self._known.get(group, {}), exact=selected)
        if not positions:
            return
        now = self._searched_at[group] = self._timer.now()
        if len(self._searched_at) > 2 * self._kept_groups:
            recent = {name: at for name, at in self._searched_at.items() if now - at < RECORD_TIME_PAUSE}
            self._searched_at = recent
        try:
            await self._retention.read_now({topic for topic, _ in positions})
            rules = self._retention.known.rules
            precision = 0.0 if selected else PRECISION
            answer = await self._admin.record_times(positions, rules, precision=precision, timeout=self._timeout)
        except KgtuiError:
            # Do not repeat the failed search here. The first read of the group after `RECORD_TIME_PAUSE` seconds
            # requests a new search.
            return
        times = dict(self._known.get(group, {}))
        times.update((tp, with_expiry(found, rules.get(tp[0]))) for tp, found in answer.rows.items())
        self._known[group] = times
        self._known.move_to_end(group)
        while len(self._known) > self._kept_groups:
            forgotten, _ = self._known.popitem(last=False)
            self._searched_at.pop(forgotten, None)
        self._store.extend_offsets(group, lambda offsets: replace(offsets, record_times=times))
        self._health.take_record_times(group, times)
        self._changed()


def _missing(offsets: GroupOffsets, known: Times, *, exact: bool) -> dict[TopicPartition, LogPosition]:
    """Return the partitions in which a search for the time of the first unread record is needed.

    A search is needed if `known` does not contain this time for the current committed offset, or if the leader did not
    answer during the last search.

    Args:
        exact: whether the times must be precise. If True, a search is also needed where the known time is uncertain by
            one second or more, unless the last search already used `ROUNDS` requests.

    Returns:
        Partition → committed offset, log start offset and log end offset.
    """
    return {
        tp: position
        for tp, position in searchable(lags(offsets), RECORD_TIME_PARTITIONS).items()
        if tp not in known
        or known[tp].offset != position.offset
        or known[tp].reason == NO_ANSWER
        or (exact and _could_be_narrowed(known[tp]))
    }


def _could_be_narrowed(found: RecordTime) -> bool:
    return found.unread is not None and found.unread.latest - found.unread.earliest >= 1 and found.rounds < ROUNDS
