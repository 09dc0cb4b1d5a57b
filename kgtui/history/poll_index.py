"""Index of all polls of a recording: when each was taken, its keyframe, and where gaps are."""

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
    """One recorded poll.

    Attributes:
        ms: time of the poll in milliseconds since the epoch; it identifies the poll.
        keyframe: the last poll that wrote the complete state.
        gap: why nothing was recorded before this poll; empty if it follows the poll before.
    """

    ms: int
    keyframe: int
    gap: str = ""

    @property
    def at(self) -> float:
        """Time of the poll in seconds since the epoch."""
        return self.ms / 1000


class PollIndex:
    """All polls of a recording in order, in compact arrays: a month has a quarter of a million."""

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
        """Add polls as (poll, keyframe, gap). They must be later than all polls in the index."""
        for poll, keyframe, gap in sorted(rows):
            self._polls.append(poll)
            self._keyframes.append(keyframe)
            if gap:
                self._gaps[poll] = gap

    def between(self, since: float | None = None, until: float | None = None) -> list[RecordedPoll]:
        """Return the polls of an interval in seconds since the epoch, both ends included."""
        start = 0 if since is None else bisect_left(self._polls, _ms(since))
        stop = len(self._polls) if until is None else bisect_right(self._polls, _ms(until))
        return [self[position] for position in range(start, stop)]

    def newest(self, until: float | None = None) -> RecordedPoll | None:
        """Return the last poll, or the last one at or before `until`; None if there is none."""
        stop = len(self._polls) if until is None else bisect_right(self._polls, _ms(until))
        return self[stop - 1] if stop else None

    def step(self, poll: RecordedPoll, by: int) -> RecordedPoll | None:
        """Return the poll `by` places later, or earlier if negative; None beyond the ends."""
        position = bisect_left(self._polls, poll.ms) + by
        return self[position] if 0 <= position < len(self._polls) else None

    def of_keyframe(self, keyframe: int) -> list[int]:
        """Return the polls that depend on a keyframe, among them the keyframe."""
        start = bisect_left(self._polls, keyframe)
        found = []
        for position in range(start, len(self._polls)):
            if self._keyframes[position] != keyframe:
                break
            found.append(self._polls[position])
        return found

    def days(self) -> list[date]:
        """Return all UTC days with polls. The first poll of a day is always a keyframe."""
        found: list[date] = []
        position = 0
        while position < len(self._polls):
            day = day_of(self._polls[position])
            found.append(day)
            midnight = datetime.combine(day + timedelta(days=1), datetime.min.time(), UTC)
            position = bisect_left(self._polls, _ms(midnight.timestamp()))
        return found

    def of_day(self, day: date) -> list[tuple[int, int]]:
        """Return the polls of a day, each with its keyframe."""
        start = datetime.combine(day, datetime.min.time(), UTC).timestamp()
        first, end = bisect_left(self._polls, _ms(start)), bisect_left(self._polls, _ms(start + 86_400))
        return list(zip(self._polls[first:end], self._keyframes[first:end], strict=True))


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
