"""A lake to read: its moments, the cluster at one of them, and what differs between two."""

from __future__ import annotations

import threading
from collections import OrderedDict
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kgtui.errors import LakeError
from kgtui.history.group_changes import changes_of_day
from kgtui.history.group_timeline import (
    FAULT_COLUMNS,
    GROUP_COLUMNS,
    MEMBER_COLUMNS,
    PARTITION_COLUMNS,
    faults_of,
    group_timeline,
)
from kgtui.history.keyframe import Keyframe
from kgtui.history.point_in_time import PointInTime, compare
from kgtui.history.poll_index import PollIndex
from kgtui.history.rows import cluster_of_text
from kgtui.lake.arrow import escape_surrogates, filter_polls
from kgtui.lake.delta import RecordedTable, load_deltalake, storage_errors
from kgtui.lake.folder import LakeFolder
from kgtui.lake.schemas import FAULTS, GROUPS, MEMBERS, PARTITIONS, POLLS, TABLES
from kgtui.lake.schemas.recorded import day_of
from kgtui.model.rfc3339 import rfc3339
from kgtui.model.text import visible
from kgtui.model.timeline import GroupTimeline

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date
    from pathlib import Path

    import pyarrow as pa

    from kgtui.history.group_changes import DayOfChanges, GroupState
    from kgtui.history.point_in_time import Comparison
    from kgtui.history.poll_index import RecordedPoll
    from kgtui.lake.parquet import RowBlocks
    from kgtui.lake.schemas import Table
    from kgtui.lake.schemas.definition import RowValues

_KEPT = 3
"""Segments that stay in memory: stepping over a keyframe and back reads nothing again."""

_DAYS_KEPT = 64
"""Days of single groups that stay in memory, for who goes from change to change."""


class RecordingReader:
    """A recording. Every call may read from disk, and blocks; safe to use from several threads.

    Args:
        path: its folder.

    Raises:
        LakeError: it is no lake, of a newer version, has no poll yet, or what reads lakes is not installed.
    """

    def __init__(self, path: Path | str) -> None:
        load_deltalake()
        folder = LakeFolder.of(path)
        self.path = folder.path
        folder.check()
        self._tables = {table.name: RecordedTable(folder.table(table.name), table) for table in TABLES}
        self._keyframes: OrderedDict[int, Keyframe] = OrderedDict()
        self._clusters: dict[int, list[RowValues]] = {}
        self._days: OrderedDict[tuple[str, date], tuple[int, DayOfChanges]] = OrderedDict()
        self._polls = PollIndex()
        self._lock = threading.RLock()
        with self._reading():
            self.refresh()
        if not self._polls:
            raise LakeError(f"{self.path} has no recorded moment yet")

    def refresh(self) -> int:
        """Look for polls that were added since; how many."""
        with self._lock:
            for table in self._tables.values():
                table.open(renew=True)
            last = self._polls.newest()
            rows = self._tables[POLLS.name].read(["poll", "keyframe", "gap"], after=last.ms if last else None)
            if last is not None and rows.num_rows:
                self._keyframes.pop(last.keyframe, None)  # it may have grown
                self._clusters.pop(last.keyframe, None)
            self._polls.add(zip(*(rows[name].to_pylist() for name in ("poll", "keyframe", "gap")), strict=True))
            return int(rows.num_rows)

    # -- moments -----------------------------------------------------------------------------------------------------

    @property
    def first(self) -> RecordedPoll:
        """The oldest moment."""
        return self._polls[0]

    @property
    def last(self) -> RecordedPoll:
        """The newest moment."""
        return self._polls[-1]

    def polls(self, since: float | None = None, until: float | None = None) -> list[RecordedPoll]:
        """Whole polls of an interval, oldest first; seconds since the epoch, both ends included."""
        return self._polls.between(since, until)

    def step(self, moment: RecordedPoll, by: int = 1) -> RecordedPoll | None:
        """The moment `by` places later, or earlier; None beyond the ends."""
        return self._polls.step(moment, by)

    def poll_at(self, time: float | None = None) -> RecordedPoll:
        """The newest moment at or before a time, in seconds since the epoch; without one, the newest of all.

        Raises `LakeError` when the recording begins later.
        """
        found = self._polls.newest(time)
        if found is None:
            begins = rfc3339(self.first.at, "seconds")
            raise LakeError(f"{self.path}: the recording begins at {begins}")
        return found

    # -- the state at one --------------------------------------------------------------------------------------------

    def at(self, time: float | RecordedPoll | None = None) -> PointInTime:
        """The cluster at a moment, or at the newest one before a time. Raises `LakeError` as `find`."""
        moment = self.poll_at(time) if time is None or isinstance(time, (int, float)) else time
        with self._lock, self._reading():
            segment = self._segment(moment.keyframe)
            told = [row for row in self._clusters[moment.keyframe] if row[0] <= moment.ms]
        text = next((row[3] for row in reversed(told) if row[3] is not None), None)
        _, answered, cluster_id, _, interval = told[-1]
        return PointInTime(moment, segment, cluster_of_text(cluster_id, text), answered, interval / 1000)

    def rows_of(self, table: Table, columns: Sequence[str], keyframe: int, until: int) -> pa.Table:
        """Columns of all rows from a keyframe on, until a poll before the next. Raises `LakeError`."""
        with self._lock, self._reading():
            self._tables[table.name].open(renew=True)
            rows = self._tables[table.name].read(columns, day=day_of(keyframe), keyframe=keyframe)
        return filter_polls(rows, [poll for poll in self._polls.of_keyframe(keyframe) if poll <= until])

    def _segment(self, keyframe: int) -> Keyframe:
        found = self._keyframes.get(keyframe)
        if found is None:
            day = day_of(keyframe)
            found = self._keyframes[keyframe] = Keyframe(
                lambda name: self._read_segment(name, keyframe), self._polls.of_keyframe(keyframe), self._reading
            )
            columns = ["poll", "brokers_answered", "cluster_id", "cluster", "interval_ms"]
            rows = self._tables[POLLS.name].read(columns, day=day, keyframe=keyframe)
            self._clusters[keyframe] = sorted(
                zip(*(rows[name].to_pylist() for name in columns), strict=True), key=lambda row: row[0]
            )
            while len(self._keyframes) > _KEPT:
                old, _ = self._keyframes.popitem(last=False)
                del self._clusters[old]
        self._keyframes.move_to_end(keyframe)
        return found

    def _read_segment(self, name: str, keyframe: int) -> RowBlocks:
        table, day = self._tables[name], day_of(keyframe)
        with self._lock, self._reading():
            try:
                return table.read_keyframe(day, keyframe)
            except FileNotFoundError:  # compacted since, and swept away
                table.open(renew=True)
                return table.read_keyframe(day, keyframe)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """What the disk or a damaged table says, as `LakeError`."""
        try:
            yield
        except storage_errors() as error:
            raise LakeError(f"{self.path} cannot be read: {visible(str(error))}") from error

    # -- what changed ------------------------------------------------------------------------------------------------

    def next_change(self, group: str, after: float | RecordedPoll, *, back: bool = False) -> RecordedPoll | None:
        """The next moment at which the group was another than before: listed, described or peopled otherwise.

        Moved offsets do not count, since they move in nearly every poll. None when nothing changed until the end.

        Args:
            back: look at earlier moments instead: the newest one before `after` that had brought a change.
        """
        moment = self.poll_at(after) if isinstance(after, (int, float)) else after
        days = self._polls.days()
        days = [day for day in days if (day <= day_of(moment.ms) if back else day >= day_of(moment.ms))]
        beside: GroupState | None = None  # how the group was on the near side of the days looked at so far
        edge = 0
        for day in reversed(days) if back else days:
            polls = self._polls.of_day(day)
            found = self._day_of_group(group, day, polls)
            over = edge if back else polls[0][0]  # the first poll of the later of two days
            if beside is not None and over != moment.ms and beside != (found.last if back else found.first):
                return self._moment(over)
            changes = [poll for poll in found.changes if (poll < moment.ms if back else poll > moment.ms)]
            if changes:
                return self._moment(changes[-1] if back else changes[0])
            beside, edge = (found.first, polls[0][0]) if back else (found.last, 0)
        return None

    def _day_of_group(self, group: str, day: date, polls: list[tuple[int, int]]) -> DayOfChanges:
        known = self._days.pop((group, day), None)
        if known is None or known[0] != len(polls):
            span = (polls[0][0], polls[-1][0])  # a day begins with a keyframe
            groups, members = (self._read_group(table, table.names[1:], group, span) for table in (GROUPS, MEMBERS))
            known = len(polls), changes_of_day(groups, members, polls)
        self._days[group, day] = known
        while len(self._days) > _DAYS_KEPT:
            self._days.popitem(last=False)
        return known[1]

    def _read_group(self, table: Table, columns: Sequence[str], group: str, span: tuple[int, int]) -> pa.Table:
        """Read rows of one group. The lock is held only to open the table, so that other threads do not wait."""
        recorded = self._tables[table.name]
        with self._reading():
            with self._lock:
                query = recorded.query()
            return recorded.read_group(query, columns, escape_surrogates(group), span)

    def _moment(self, poll: int) -> RecordedPoll:
        return self.poll_at(poll / 1000)

    def group_timeline(self, group: str, since: float, until: float) -> GroupTimeline:
        """Lag, rates and members of one group at every moment of an interval, and what changed.

        Raises `LakeError` when its rows cannot be read. An interval without a moment has no samples.
        """
        begin = self._polls.newest(since) or self.first
        moments = self._polls.between(begin.keyframe / 1000, until)
        if not moments:
            return GroupTimeline(since, until)
        span = (begin.keyframe, moments[-1].ms)
        wanted = ((GROUPS, GROUP_COLUMNS), (MEMBERS, MEMBER_COLUMNS), (PARTITIONS, PARTITION_COLUMNS))
        groups, members, partitions = (self._read_group(table, columns, group, span) for table, columns in wanted)
        with self._lock, self._reading():
            self._tables[FAULTS.name].open(renew=True)
            faults = self._tables[FAULTS.name].read(FAULT_COLUMNS, span=span)
        return group_timeline(
            groups, members, partitions, faults_of(faults, escape_surrogates(group)), moments, since, until
        )

    def compare(self, a: float | RecordedPoll, b: float | RecordedPoll) -> Comparison:
        """What joined, left, moved and grew from one moment to another."""
        return compare(self.at(a), self.at(b))
