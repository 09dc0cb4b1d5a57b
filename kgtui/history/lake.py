"""A lake to read: its moments, the cluster at one of them, and what differs between two."""

from __future__ import annotations

import threading
from collections import OrderedDict
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from kgtui.errors import LakeError
from kgtui.history.comparison import compare
from kgtui.history.frame import Frame
from kgtui.history.group_past import (
    FAULT_COLUMNS,
    GROUP_COLUMNS,
    MEMBER_COLUMNS,
    faults_of,
    past_of_group,
)
from kgtui.history.group_sums import PARTITION_COLUMNS
from kgtui.history.moments import Moments
from kgtui.history.one_group import day_of_group
from kgtui.history.rows import cluster_of_text
from kgtui.history.segment import Segment
from kgtui.lake.arrow import of_polls
from kgtui.lake.delta import DeltaFolder, disk_errors, library
from kgtui.lake.folder import LakeFolder
from kgtui.lake.schemas import FAULTS, GROUPS, MEMBERS, PARTITIONS, POLLS, TABLES
from kgtui.lake.schemas.recorded import day_of
from kgtui.lake.stored_text import stored
from kgtui.model.text import visible
from kgtui.model.timeline import GroupTimeline

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import date
    from pathlib import Path

    import pyarrow as pa

    from kgtui.history.comparison import Comparison
    from kgtui.history.moments import Moment
    from kgtui.history.one_group import DayOfGroup, Shape
    from kgtui.lake.parquet import Sorted
    from kgtui.lake.schemas import Table
    from kgtui.lake.schemas.definition import RowValues

_KEPT = 3
"""Segments that stay in memory: stepping over a keyframe and back reads nothing again."""

_DAYS_KEPT = 64
"""Days of single groups that stay in memory, for who goes from change to change."""


class Lake:
    """A recording. Every call may read from disk, and blocks; safe to use from several threads.

    Args:
        path: its folder.

    Raises:
        LakeError: it is no lake, of a newer version, has no poll yet, or what reads lakes is not installed.
    """

    def __init__(self, path: Path | str) -> None:
        library()
        folder = LakeFolder.of(path)
        self.path = folder.path
        folder.check()
        self._tables = {table.name: DeltaFolder(folder.table(table.name), table) for table in TABLES}
        self._segments: OrderedDict[int, Segment] = OrderedDict()
        self._clusters: dict[int, list[RowValues]] = {}
        self._days: OrderedDict[tuple[str, date], tuple[int, DayOfGroup]] = OrderedDict()
        self._moments = Moments()
        self._lock = threading.RLock()
        with self._reading():
            self.refresh()
        if not self._moments:
            raise LakeError(f"{self.path} has no recorded moment yet")

    def refresh(self) -> int:
        """Look for polls that were added since; how many."""
        with self._lock:
            for table in self._tables.values():
                table.open(renew=True)
            last = self._moments.newest()
            rows = self._tables[POLLS.name].read(["poll", "keyframe", "gap"], after=last.poll if last else None)
            if last is not None and rows.num_rows:
                self._segments.pop(last.keyframe, None)  # it may have grown
                self._clusters.pop(last.keyframe, None)
            self._moments.add(zip(*(rows[name].to_pylist() for name in ("poll", "keyframe", "gap")), strict=True))
            return int(rows.num_rows)

    # -- moments -----------------------------------------------------------------------------------------------------

    @property
    def first(self) -> Moment:
        """The oldest moment."""
        return self._moments[0]

    @property
    def last(self) -> Moment:
        """The newest moment."""
        return self._moments[-1]

    def moments(self, since: float | None = None, until: float | None = None) -> list[Moment]:
        """Whole polls of an interval, oldest first; seconds since the epoch, both ends included."""
        return self._moments.between(since, until)

    def step(self, moment: Moment, by: int = 1) -> Moment | None:
        """The moment `by` places later, or earlier; None beyond the ends."""
        return self._moments.step(moment, by)

    def find(self, time: float | None = None) -> Moment:
        """The newest moment at or before a time, in seconds since the epoch; without one, the newest of all.

        Raises `LakeError` when the recording begins later.
        """
        found = self._moments.newest(time)
        if found is None:
            begins = datetime.fromtimestamp(self.first.at, UTC).isoformat(timespec="seconds")
            raise LakeError(f"{self.path}: the recording begins at {begins}")
        return found

    # -- the state at one --------------------------------------------------------------------------------------------

    def at(self, time: float | Moment | None = None) -> Frame:
        """The cluster at a moment, or at the newest one before a time. Raises `LakeError` as `find`."""
        moment = self.find(time) if time is None or isinstance(time, (int, float)) else time
        with self._lock, self._reading():
            segment = self._segment(moment.keyframe)
            told = [row for row in self._clusters[moment.keyframe] if row[0] <= moment.poll]
        text = next((row[3] for row in reversed(told) if row[3] is not None), None)
        _, answered, cluster_id, _, interval = told[-1]
        return Frame(moment, segment, cluster_of_text(cluster_id, text), answered, interval / 1000)

    def rows_of(self, table: Table, columns: Sequence[str], keyframe: int, until: int) -> pa.Table:
        """Columns of all rows from a keyframe on, until a poll before the next. Raises `LakeError`."""
        with self._lock, self._reading():
            self._tables[table.name].open(renew=True)
            rows = self._tables[table.name].read(columns, day=day_of(keyframe), keyframe=keyframe)
        return of_polls(rows, [poll for poll in self._moments.of_keyframe(keyframe) if poll <= until])

    def _segment(self, keyframe: int) -> Segment:
        found = self._segments.get(keyframe)
        if found is None:
            day = day_of(keyframe)
            found = self._segments[keyframe] = Segment(
                lambda name: self._read_segment(name, keyframe), self._moments.of_keyframe(keyframe), self._reading
            )
            columns = ["poll", "brokers_answered", "cluster_id", "cluster", "interval_ms"]
            rows = self._tables[POLLS.name].read(columns, day=day, keyframe=keyframe)
            self._clusters[keyframe] = sorted(
                zip(*(rows[name].to_pylist() for name in columns), strict=True), key=lambda row: row[0]
            )
            while len(self._segments) > _KEPT:
                old, _ = self._segments.popitem(last=False)
                del self._clusters[old]
        self._segments.move_to_end(keyframe)
        return found

    def _read_segment(self, name: str, keyframe: int) -> Sorted:
        table, day = self._tables[name], day_of(keyframe)
        with self._lock, self._reading():
            try:
                return table.read_segment(day, keyframe)
            except FileNotFoundError:  # compacted since, and swept away
                table.open(renew=True)
                return table.read_segment(day, keyframe)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """What the disk or a damaged table says, as `LakeError`."""
        try:
            yield
        except disk_errors() as error:
            raise LakeError(f"{self.path} cannot be read: {visible(str(error))}") from error

    # -- what changed ------------------------------------------------------------------------------------------------

    def next_change(self, group: str, after: float | Moment, *, back: bool = False) -> Moment | None:
        """The next moment at which the group was another than before: listed, described or peopled otherwise.

        Moved offsets do not count, since they move in nearly every poll. None when nothing changed until the end.

        Args:
            back: look at earlier moments instead: the newest one before `after` that had brought a change.
        """
        moment = self.find(after) if isinstance(after, (int, float)) else after
        days = self._moments.days()
        days = [day for day in days if (day <= day_of(moment.poll) if back else day >= day_of(moment.poll))]
        beside: Shape | None = None  # how the group was on the near side of the days looked at so far
        edge = 0
        for day in reversed(days) if back else days:
            polls = self._moments.of_day(day)
            found = self._day_of_group(group, day, polls)
            over = edge if back else polls[0][0]  # the first poll of the later of two days
            if beside is not None and over != moment.poll and beside != (found.last if back else found.first):
                return self._moment(over)
            changes = [poll for poll in found.changes if (poll < moment.poll if back else poll > moment.poll)]
            if changes:
                return self._moment(changes[-1] if back else changes[0])
            beside, edge = (found.first, polls[0][0]) if back else (found.last, 0)
        return None

    def _day_of_group(self, group: str, day: date, polls: list[tuple[int, int]]) -> DayOfGroup:
        known = self._days.pop((group, day), None)
        if known is None or known[0] != len(polls):
            span = (polls[0][0], polls[-1][0])  # a day begins with a keyframe
            groups, members = (self._read_group(table, table.names[1:], group, span) for table in (GROUPS, MEMBERS))
            known = len(polls), day_of_group(groups, members, polls)
        self._days[group, day] = known
        while len(self._days) > _DAYS_KEPT:
            self._days.popitem(last=False)
        return known[1]

    def _read_group(self, table: Table, columns: Sequence[str], group: str, span: tuple[int, int]) -> pa.Table:
        """What was recorded of a group; nobody has to wait meanwhile."""
        with self._reading():
            with self._lock:
                self._tables[table.name].open(renew=True)
                files = self._tables[table.name].spanned(span)
            return self._tables[table.name].read_group(files, columns, stored(group), span)

    def _moment(self, poll: int) -> Moment:
        return self.find(poll / 1000)

    def group_timeline(self, group: str, since: float, until: float) -> GroupTimeline:
        """Lag, rates and members of one group at every moment of an interval, and what changed.

        Raises `LakeError` when its rows cannot be read. An interval without a moment has no samples.
        """
        begin = self._moments.newest(since) or self.first
        moments = self._moments.between(begin.keyframe / 1000, until)
        if not moments:
            return GroupTimeline(since, until)
        span = (begin.keyframe, moments[-1].poll)
        wanted = ((GROUPS, GROUP_COLUMNS), (MEMBERS, MEMBER_COLUMNS), (PARTITIONS, PARTITION_COLUMNS))
        groups, members, partitions = (self._read_group(table, columns, group, span) for table, columns in wanted)
        with self._lock, self._reading():
            self._tables[FAULTS.name].open(renew=True)
            faults = self._tables[FAULTS.name].read(FAULT_COLUMNS, span=span)
        return past_of_group(groups, members, partitions, faults_of(faults, stored(group)), moments, since, until)

    def compare(self, a: float | Moment, b: float | Moment) -> Comparison:
        """What joined, left, moved and grew from one moment to another."""
        return compare(self.at(a), self.at(b))
