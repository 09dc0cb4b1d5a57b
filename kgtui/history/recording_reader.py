"""Read a recording: its polls, the state of the cluster at a poll, and the changes between polls."""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kgtui.errors import LakeError
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
from kgtui.lake.store_errors import lake_error_text
from kgtui.model.rfc3339 import rfc3339
from kgtui.model.timeline import GroupTimeline

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import date

    import pyarrow as pa

    from kgtui.history.point_in_time import Comparison
    from kgtui.history.poll_index import RecordedPoll
    from kgtui.lake.parquet import RowBlocks
    from kgtui.lake.schemas import Table
    from kgtui.lake.schemas.definition import RowValues
    from kgtui.lake.store import LakePath


_CACHED_KEYFRAMES = 3
"""Number of keyframes that stay in memory, with the polls after each of them, so that stepping between polls is fast.

A keyframe is a poll with the complete state.
"""

_CACHED_DAYS = 64
"""Number of `DayOfChanges` (changes to one group on one day) that stay in memory for later calls of `next_change`."""


class RecordingReader:
    """Reads a recording. Methods block while they read from disk. Several threads can share one reader.

    Raises:
        LakeError: the folder is not a lake, has no recorded polls, or was created by a newer kgtui; or deltalake is
            not installed.
    """

    def __init__(self, path: LakePath | str) -> None:
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
            raise LakeError(f"{self.path} has no recorded polls yet")

    def refresh(self) -> int:
        """Find the polls that were recorded since the last call, and return their number."""
        with self._lock:
            for table in self._tables.values():
                table.open(renew=True)
            last = self._polls.newest()
            rows = self._tables[POLLS.name].read(["poll", "keyframe", "gap"], after=last.ms if last else None)
            if last is not None and rows.num_rows:
                # Drop the cached rows of the last keyframe (a poll with the complete state) and of the polls after it,
                # because the rows of the new polls are missing among them.
                self._keyframes.pop(last.keyframe, None)
                self._clusters.pop(last.keyframe, None)
            self._polls.add(zip(*(rows[name].to_pylist() for name in ("poll", "keyframe", "gap")), strict=True))
            return int(rows.num_rows)

    @property
    def first(self) -> RecordedPoll:
        """The oldest poll (read of the cluster by the recorder) in the recording."""
        return self._polls[0]

    @property
    def last(self) -> RecordedPoll:
        """The newest poll (read of the cluster by the recorder) in the recording."""
        return self._polls[-1]

    def polls(self, since: float | None = None, until: float | None = None) -> list[RecordedPoll]:
        """Return the recorded polls (reads of the cluster) from `since` to `until`, oldest first.

        Both times are inclusive, in seconds since the epoch. None means no limit.
        """
        return self._polls.between(since, until)

    def step(self, poll: RecordedPoll, by: int = 1) -> RecordedPoll | None:
        """Return the poll that is `by` polls after `poll`; None if there is no such poll.

        If `by` is negative, the result is an earlier poll. At the end of the recording, look for polls that were
        recorded since the last call of `refresh`.

        Raises:
            LakeError: the lake cannot be read.
        """
        found = self._polls.step(poll, by)
        if found is None and by > 0:
            with self._reading():
                self.refresh()
            found = self._polls.step(poll, by)
        return found

    def poll_at(self, time: float | None = None) -> RecordedPoll:
        """Return the newest poll at or before `time` (seconds since the epoch; None for the newest recorded poll).

        Raises:
            LakeError: the recording starts after `time`.
        """
        found = self._polls.newest(time)
        if found is None:
            start = rfc3339(self.first.at, "seconds")
            raise LakeError(f"{self.path} has no poll at or before this time: the recording starts at {start}")
        return found

    def at(self, time: float | RecordedPoll | None = None) -> PointInTime:
        """Return the state of the cluster at a poll.

        Args:
            time: a poll, or seconds since the epoch (newest poll up to this time); None for the newest poll.

        Raises:
            LakeError: the recording starts after `time`, or cannot be read.
        """
        poll = self.poll_at(time) if time is None or isinstance(time, (int, float)) else time
        with self._lock, self._reading():
            keyframe = self._keyframe(poll.keyframe)
            poll_rows = [row for row in self._clusters[poll.keyframe] if row[0] <= poll.ms]
        text = next((row[3] for row in reversed(poll_rows) if row[3] is not None), None)
        _, answered, cluster_id, _, interval = poll_rows[-1]
        return PointInTime(poll, keyframe, cluster_of_text(cluster_id, text), answered, interval / 1000)

    def rows_of(self, table: Table, columns: Sequence[str], keyframe: int, until: int) -> pa.Table:
        """Return a table's rows of all polls from a keyframe (a poll with the complete state) to the poll at `until`.

        Args:
            keyframe: time of the keyframe, in milliseconds since the epoch.
            until: time of the last poll, in milliseconds since the epoch. It must be before the next keyframe.

        Raises:
            LakeError: the table cannot be read.
        """
        with self._lock, self._reading():
            self._tables[table.name].open(renew=True)
            rows = self._tables[table.name].read(columns, day=day_of(keyframe), keyframe=keyframe)
        return filter_polls(rows, [poll for poll in self._polls.of_keyframe(keyframe) if poll <= until])

    def keyframes(self, until: RecordedPoll) -> list[int]:
        """Return the times of all keyframes (polls with the complete state) up to a poll, oldest first.

        Times are in milliseconds since the epoch.
        """
        return self._polls.keyframes(until.ms)

    def rows_since(self, table: Table, columns: Sequence[str], keyframe: int, poll: RecordedPoll) -> pa.Table:
        """Return a table's rows of all polls from a keyframe up to, but not including, the first keyframe after `poll`.

        A keyframe is a poll with the complete state. The result can span several keyframes.

        Args:
            columns: names of the columns, including `poll`.
            keyframe: time of the keyframe, in milliseconds since the epoch.
            poll: any poll at or after the keyframe.

        Raises:
            LakeError: the table cannot be read.
        """
        last = self._polls.of_keyframe(poll.keyframe)[-1]
        with self._lock, self._reading():
            self._tables[table.name].open(renew=True)
            rows = self._tables[table.name].read(columns, span=(keyframe, last))
        return filter_polls(rows, [one.ms for one in self._polls.between(keyframe / 1000, last / 1000)])

    def _keyframe(self, keyframe: int) -> Keyframe:
        found = self._keyframes.get(keyframe)
        if found is None:
            day = day_of(keyframe)
            found = self._keyframes[keyframe] = Keyframe(
                lambda name: self._read_table(name, keyframe), self._polls.of_keyframe(keyframe), self._reading
            )
            columns = ["poll", "brokers_answered", "cluster_id", "cluster", "interval_ms"]
            rows = self._tables[POLLS.name].read(columns, day=day, keyframe=keyframe)
            self._clusters[keyframe] = sorted(
                zip(*(rows[name].to_pylist() for name in columns), strict=True), key=lambda row: row[0]
            )
            while len(self._keyframes) > _CACHED_KEYFRAMES:
                old, _ = self._keyframes.popitem(last=False)
                del self._clusters[old]
        self._keyframes.move_to_end(keyframe)
        return found

    def _read_table(self, name: str, keyframe: int) -> RowBlocks:
        table, day = self._tables[name], day_of(keyframe)
        with self._lock, self._reading():
            try:
                return table.read_keyframe(day, keyframe)
            except FileNotFoundError:
                # Compaction has replaced a file of the opened table version. Open the newest version instead.
                table.open(renew=True)
                return table.read_keyframe(day, keyframe)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Return a context manager that converts errors of the disk or of a damaged table to `LakeError`."""
        try:
            yield
        except storage_errors() as error:
            raise LakeError(f"{self.path} cannot be read: {lake_error_text(error)}") from error

    def next_change(self, group: str, after: float | RecordedPoll, *, back: bool = False) -> RecordedPoll | None:
        """Return the next poll at which the state, coordinator, description or members of a group changed.

        Return None if there is no such poll. Changes to offsets are ignored, because they happen in nearly every poll.

        Args:
            after: start of the search, as a poll or in seconds since the epoch. A change at this poll is ignored.
            back: whether to search backward in time, for the last change before `after`.
        """
        start = self.poll_at(after) if isinstance(after, (int, float)) else after
        days = self._polls.days()
        days = [day for day in days if (day <= day_of(start.ms) if back else day >= day_of(start.ms))]
        # The group can also change between the last poll of one day and the first poll of the next day. To notice this,
        # each iteration compares the states of the group at these two polls. `adjacent` is the state at the one of the
        # two polls that is on the previously searched day; None in the first iteration.
        adjacent: GroupState | None = None
        first_poll = 0  # Used only if `back` is true: time of the first poll of the previously searched day.
        for day in reversed(days) if back else days:
            polls = self._polls.of_day(day)
            changes = self._changes_of_day(group, day, polls)
            # `midnight_poll` is the time of the first poll after the midnight between this day and the previously
            # searched day. If `back` is true, the previously searched day is the later one of the two days.
            midnight_poll = first_poll if back else polls[0][0]
            changed_at_midnight = adjacent is not None and adjacent != (changes.last if back else changes.first)
            if changed_at_midnight and midnight_poll != start.ms:
                return self._poll(midnight_poll)
            found = [poll for poll in changes.changes if (poll < start.ms if back else poll > start.ms)]
            if found:
                return self._poll(found[-1] if back else found[0])
            adjacent, first_poll = (changes.first, polls[0][0]) if back else (changes.last, 0)
        return None

    def disappeared_at(self, group: str) -> float | None:
        """Return the time of the first poll that shows that a group no longer exists, in epoch seconds.

        Return None if the group was never recorded, or still existed at the last poll.
        """
        rows = self._read_group(GROUPS, ("poll", "gone"), group, (self.first.ms, self.last.ms))
        found = sorted(zip(rows["poll"].to_pylist(), rows["gone"].to_pylist(), strict=True))
        if not found:
            return None
        poll, gone = found[-1]
        if gone:
            return float(poll) / 1000
        # `poll` is the last poll with a row of the group. A later keyframe (a poll with the complete state) has no row
        # of the group, so the group had disappeared by then.
        later = self._polls.between(poll / 1000, None)
        return next((one.at for one in later if one.ms == one.keyframe and one.ms > poll), None)

    def _changes_of_day(self, group: str, day: date, polls: list[tuple[int, int]]) -> DayOfChanges:
        cached = self._days.pop((group, day), None)
        if cached is None or cached[0] != len(polls):
            # The first poll of a day is a keyframe (a poll with the complete state), so no earlier rows are needed.
            span = (polls[0][0], polls[-1][0])
            groups, members = (self._read_group(table, table.names[1:], group, span) for table in (GROUPS, MEMBERS))
            cached = len(polls), changes_of_day(groups, members, polls)
        self._days[group, day] = cached
        while len(self._days) > _CACHED_DAYS:
            self._days.popitem(last=False)
        return cached[1]

    def _read_group(self, table: Table, columns: Sequence[str], group: str, span: tuple[int, int]) -> pa.Table:
        """Read the rows of one group.

        Args:
            span: times of the first and last poll, in milliseconds since the epoch. The first poll must be a keyframe
                (a poll with the complete state).
        """
        recorded = self._tables[table.name]
        with self._reading():
            with self._lock:
                query = recorded.query()
            return recorded.read_group(query, columns, escape_surrogates(group), span)

    def _poll(self, ms: int) -> RecordedPoll:
        return self.poll_at(ms / 1000)

    def group_timeline(self, group: str, since: float, until: float) -> GroupTimeline:
        """Return the history of a group from `since` to `until` (seconds since the epoch).

        The history contains the group's lag, read and write rates and number of members at each poll, and the polls at
        which the group changed. If the recording has no polls in this time, the history is empty.

        Raises:
            LakeError: rows cannot be read.
        """
        begin = self._polls.newest(since) or self.first
        polls = self._polls.between(begin.keyframe / 1000, until)
        if not polls:
            return GroupTimeline(since, until)
        span = (begin.keyframe, polls[-1].ms)
        tables = ((GROUPS, GROUP_COLUMNS), (MEMBERS, MEMBER_COLUMNS), (PARTITIONS, PARTITION_COLUMNS))
        groups, members, partitions = (self._read_group(table, columns, group, span) for table, columns in tables)
        with self._lock, self._reading():
            self._tables[FAULTS.name].open(renew=True)
            faults = self._tables[FAULTS.name].read(FAULT_COLUMNS, span=span)
        return group_timeline(
            groups, members, partitions, faults_of(faults, escape_surrogates(group)), polls, since, until
        )

    def compare(self, a: float | RecordedPoll, b: float | RecordedPoll) -> Comparison:
        """Compare the groups, members, partition owners and lags at two polls.

        Args:
            a, b: polls, or seconds since the epoch (newest poll up to this time); in any order.
        """
        return compare(self.at(a), self.at(b))


GroupState = tuple[object, frozenset[object]]
"""State of a group: (row in table `groups`, set of pairs (member id, row in table `members`)).

If the group does not exist, the row in table `groups` is None.
"""

ABSENT: GroupState = (None, frozenset())

_NOT_COMPARED = frozenset({"day", "keyframe", "poll", "gone", "described_at", "offsets_may_be_hidden"})


@dataclass(frozen=True, slots=True)
class DayOfChanges:
    """The changes to one group on one UTC day.

    Attributes:
        changes: times of the polls at which the group differed from the previous poll of the day, oldest first, in
            milliseconds since the epoch.
        first: state of the group at the first poll of the day.
        last: state of the group at the last poll of the day.
    """

    changes: tuple[int, ...]
    first: GroupState
    last: GroupState


def changes_of_day(groups: pa.Table, members: pa.Table, polls: Iterable[tuple[int, int]]) -> DayOfChanges:
    """Find the changes to a group on one UTC day.

    Args:
        groups, members: the group's rows of this day in the tables with these names.
        polls: all polls of the day, oldest first, as pairs (time of the poll, time of its keyframe) in milliseconds
            since the epoch. A keyframe is a poll with the complete state.
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
        value: tuple[Any, ...] = tuple(group_row[name] for name in rows.column_names if name not in _NOT_COMPARED)
        found[group_row["poll"]].append((group_row["gone"], value, group_row.get("member_id", "")))
    return found
