"""Find when each group entered the state that it has at a given time of a recording."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kgtui.history.group_timeline import differs, previous
from kgtui.lake.arrow import sort_by_key, to_one_chunk, to_values
from kgtui.lake.schemas import GROUPS
from kgtui.model.empty_reason import StateSearch

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import pyarrow as pa

    from kgtui.history.poll_index import RecordedPoll
    from kgtui.history.recording_reader import RecordingReader

MOST_ROWS = 1_000_000
"""Approximate maximum number of rows of table `groups` that one search reads.

A keyframe (a poll with the complete state) has one row for each group. If there are 100,000 groups, a search therefore
reads only the ten newest keyframes up to the given poll, and the polls after each of them.
"""

COLUMNS = ("poll", "keyframe", "group", "gone", "state")


class StateTimes(NamedTuple):
    """The times at which groups entered the state that they have at one recorded poll.

    Attributes:
        since: group id → time at which the group entered its state, in seconds since the epoch. Groups that entered
            their state before the searched part of the recording are left out.
        search: the part of the recording that was searched.
    """

    since: Mapping[str, float]
    search: StateSearch


class StateChanges:
    """Finds the time at which each group entered the state that it has at a poll.

    The constructor reads the rows from disk.

    Args:
        poll: the poll at which the groups have these states. The method `at` can be called for this poll, and for other
            polls with the same keyframe (last poll with the complete state).
        groups: number of groups at this poll. The more groups there are, the fewer keyframes are read (see
            `MOST_ROWS`).

    Raises:
        LakeError: rows cannot be read.
    """

    def __init__(self, recording: RecordingReader, poll: RecordedPoll, groups: int) -> None:
        self._recorded = recording.last
        keyframes = recording.keyframes(poll)
        self._keyframes = keyframes[-max(MOST_ROWS // max(groups, 1), 1) :]
        self._search = StateSearch(self._keyframes[0] / 1000, whole=len(self._keyframes) == len(keyframes))
        self._rows = self._changes(recording.rows_since(GROUPS, COLUMNS, self._keyframes[0], poll))

    def covers(self, poll: RecordedPoll) -> bool:
        """Return whether the method `at` can be called for a poll.

        The poll must have the same keyframe (last poll with the complete state) as the poll that was passed to the
        constructor, and must have been recorded before this object was created.
        """
        return poll.keyframe == self._keyframes[-1] and poll.ms <= self._recorded.ms

    def _changes(self, rows: pa.Table) -> pa.Table:
        """Return the rows in which a group appears, disappears or changes its state."""
        import pyarrow as pa
        import pyarrow.compute as pc

        if not rows.num_rows:
            return rows
        rows = to_one_chunk(sort_by_key(to_one_chunk(rows), GROUPS))
        columns = {name: rows[name].chunk(0) for name in COLUMNS}
        number = pc.index_in(columns["keyframe"], pa.array(self._keyframes, pa.int64()))
        before = previous(number)
        # A keyframe (a poll with the complete state) has a row for every group that existed. If a group has no row at a
        # keyframe, the group did not exist then.
        absent = pc.or_(
            pc.greater(number, pc.add(before, 1)),
            pc.and_(pc.greater(number, before), pc.not_equal(columns["poll"], columns["keyframe"])),
        )
        states = {
            "group": columns["group"].indices,
            "state": pc.fill_null(columns["state"].indices, -1),
            "gone": columns["gone"],
        }
        return rows.filter(pc.or_(differs(states, *states), pc.fill_null(absent, False)))

    def at(self, poll: RecordedPoll, listed: Collection[str]) -> StateTimes:
        """Return the time at which each group entered the state that it has at a poll.

        Args:
            poll: a poll for which the method `covers` returns true.
            listed: ids of the groups that exist at this poll.
        """
        import pyarrow.compute as pc

        since: dict[str, float] = {}
        if self._rows.num_rows:
            rows = self._rows.filter(pc.less_equal(self._rows["poll"], poll.ms))
            polls = rows["poll"].to_pylist()
            # The rows of a group are sorted by poll, so the group's last change of state overwrites the earlier ones.
            for group, ms, gone in zip(to_values(rows["group"]), polls, rows["gone"].to_pylist(), strict=True):
                since[str(group)] = 0.0 if gone or ms == self._keyframes[0] else ms / 1000
        return StateTimes({group: at for group, at in since.items() if at and group in listed}, self._search)
