"""The moments of a recording: when a poll was taken, and where nothing is known of the time before."""

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
    """One whole poll.

    Attributes:
        poll: milliseconds since the epoch.
        keyframe: the full picture that it builds upon.
        gap: why nothing is known of the time before it; `` when it follows the poll before.
    """

    ms: int
    keyframe: int
    gap: str = ""

    @property
    def at(self) -> float:
        """Seconds since the epoch."""
        return self.ms / 1000


class PollIndex:
    """All moments of a lake, in order; compact, since a month has a quarter of a million."""

    def __init__(self) -> None:
        self._polls = array("q")
        self._keyframes = array("q")
        self._gaps: dict[int, str] = {}

    def __len__(self) -> int:
        return len(self._polls)

    def __getitem__(self, index: int) -> RecordedPoll:
        poll = self._polls[index]
        return RecordedPoll(poll, self._keyframes[index], self._gaps.get(poll, ""))

    def add(self, rows: Iterable[tuple[int, int, str | None]]) -> None:
        """Add polls with keyframe and gap, later ones than all that are there."""
        for poll, keyframe, gap in sorted(rows):
            self._polls.append(poll)
            self._keyframes.append(keyframe)
            if gap:
                self._gaps[poll] = gap

    def between(self, since: float | None = None, until: float | None = None) -> list[RecordedPoll]:
        """Those of an interval, both ends included; seconds since the epoch."""
        start = 0 if since is None else bisect_left(self._polls, _ms(since))
        stop = len(self._polls) if until is None else bisect_right(self._polls, _ms(until))
        return [self[index] for index in range(start, stop)]

    def newest(self, until: float | None = None) -> RecordedPoll | None:
        """The last one, at the latest at `until`."""
        stop = len(self._polls) if until is None else bisect_right(self._polls, _ms(until))
        return self[stop - 1] if stop else None

    def step(self, moment: RecordedPoll, by: int) -> RecordedPoll | None:
        """The one `by` places after, or before; None beyond the ends."""
        index = bisect_left(self._polls, moment.ms) + by
        return self[index] if 0 <= index < len(self._polls) else None

    def of_keyframe(self, keyframe: int) -> list[int]:
        """The polls that build upon a keyframe."""
        start = bisect_left(self._polls, keyframe)
        found = []
        for index in range(start, len(self._polls)):
            if self._keyframes[index] != keyframe:
                break
            found.append(self._polls[index])
        return found

    def days(self) -> list[date]:
        """Every day that has moments, in UTC; a day begins with a keyframe."""
        found: list[date] = []
        index = 0
        while index < len(self._polls):
            day = day_of(self._polls[index])
            found.append(day)
            midnight = datetime.combine(day + timedelta(days=1), datetime.min.time(), UTC)
            index = bisect_left(self._polls, _ms(midnight.timestamp()))
        return found

    def of_day(self, day: date) -> list[tuple[int, int]]:
        """The polls of a day with their keyframes."""
        start = datetime.combine(day, datetime.min.time(), UTC).timestamp()
        first, end = bisect_left(self._polls, _ms(start)), bisect_left(self._polls, _ms(start + 86_400))
        return list(zip(self._polls[first:end], self._keyframes[first:end], strict=True))


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
