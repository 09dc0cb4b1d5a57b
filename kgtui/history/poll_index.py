"""Index of all polls of a recording, with the time of each poll and the reasons for gaps between polls.

A poll is one read of the cluster by the recorder.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from kgtui.lake.schemas.recorded import day_of

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class RecordedPoll:
    """One poll of a recording. In each poll, the recorder reads the state of all groups from the cluster.

    Attributes:
        ms: time of the poll, in milliseconds since the epoch.
        keyframe: time of the last keyframe (a poll with the complete state), in milliseconds since the epoch; `ms` if
            this poll is a keyframe.
        gap: why polls are missing directly before this poll; empty if none are missing.
    """

    ms: int
    keyframe: int
    gap: str = ""

    @property
    def at(self) -> float:
        """Time of the poll in seconds since the epoch."""
        return self.ms / 1000


class PollIndex:
    """All polls (reads of the cluster by the recorder) of a recording, oldest first.

    The polls are stored in arrays to save memory. With a poll every ten seconds, a recording of one month has about
    260,000 polls.
    """

    def __init__(self) -> None:
        self._polls = array("q")
        self._keyframes = array("q")
        self._gaps: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self._polls)

    def __getitem__(self, position: int) -> RecordedPoll:
        poll = self._polls[position]
        return RecordedPoll(poll, self._keyframes[position], self._gaps.get(poll, ""))

    def add(self, rows: Iterable[tuple[int, int, str | None]]) -> None:
        """Add polls that are newer than all polls in the index.

        Args:
            rows: a tuple with the columns `poll`, `keyframe` and `gap` for each new row of table `polls`, in any order.
        """
        for poll, keyframe, gap in sorted(rows):
            self._polls.append(poll)
            self._keyframes.append(keyframe)
            if gap:
                self._gaps[poll] = gap

    def between(self, since: float | None = None, until: float | None = None) -> list[RecordedPoll]:
        """Return the recorded polls (reads of the cluster) from `since` to `until`, oldest first.

        Both times are inclusive, in seconds since the epoch. None means no limit.
        """
        start = 0 if since is None else bisect_left(self._polls, _ms(since))
        stop = len(self._polls) if until is None else bisect_right(self._polls, _ms(until))
        return [self[position] for position in range(start, stop)]

    def newest(self, until: float | None = None) -> RecordedPoll | None:
        """Return the newest poll at or before `until` (seconds since the epoch); None if there is no such poll.

        If `until` is None, return the newest poll of the recording.
        """
        stop = len(self._polls) if until is None else bisect_right(self._polls, _ms(until))
        return self[stop - 1] if stop else None

    def step(self, poll: RecordedPoll, by: int) -> RecordedPoll | None:
        """Return the poll that is `by` polls after `poll`; None if there is no such poll.

        If `by` is negative, the result is an earlier poll. For example, -1 gives the previous poll.
        """
        position = bisect_left(self._polls, poll.ms) + by
        return self[position] if 0 <= position < len(self._polls) else None

    def of_keyframe(self, keyframe: int) -> list[int]:
        """Return the times of a keyframe (a poll with the complete state) and of all polls before the next keyframe.

        Times are in milliseconds since the epoch.
        """
        start = bisect_left(self._polls, keyframe)
        found = []
        for position in range(start, len(self._polls)):
            if self._keyframes[position] != keyframe:
                break
            found.append(self._polls[position])
        return found

    def keyframes(self, until: int) -> list[int]:
        """Return the times of all keyframes (polls with the complete state) up to `until`, oldest first.

        All times, including `until`, are in milliseconds since the epoch.
        """
        return sorted(set(self._keyframes[: bisect_right(self._polls, until)]))

    def days(self) -> list[date]:
        """Return all UTC days with at least one poll, oldest first."""
        found: list[date] = []
        position = 0
        while position < len(self._polls):
            day = day_of(self._polls[position])
            found.append(day)
            midnight = datetime.combine(day + timedelta(days=1), datetime.min.time(), UTC)
            position = bisect_left(self._polls, _ms(midnight.timestamp()))
        return found

    def of_day(self, day: date) -> list[tuple[int, int]]:
        """Return a pair (time of the poll, time of its keyframe) for each poll of a UTC day, in ms since the epoch.

        A keyframe is a poll with the complete state. The first poll of a day is always a keyframe.
        """
        start = datetime.combine(day, datetime.min.time(), UTC).timestamp()
        first, end = bisect_left(self._polls, _ms(start)), bisect_left(self._polls, _ms(start + 86_400))
        return list(zip(self._polls[first:end], self._keyframes[first:end], strict=True))


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
