"""Find out by interpolation when the last consumed and the first unread record of a partition were written.

`RecordSearch` sends no requests. It computes the timestamp for the next ListOffsets request; its caller sends the
request, and passes the answer to `RecordSearch`.

ListOffsets returns the offset and timestamp of the first record that is not older than a requested timestamp. Each
answer narrows the time range in which the searched record was written:
- If the returned offset is lower than that of the searched record, the answer gives a lower limit of the time.
- If the returned offset is higher than that of the searched record, the answer gives an upper limit of the time.
- If the searched record itself is returned, its exact time is known.

The search assumes that timestamps never decrease from one record to the next, and that no offset is missing in the log.
If the searched record is missing in the log, for example because of compaction, the result lies between the times of
the records before and after it.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from kgtui.model.record_times import FUTURE, NO_TIMESTAMPS, PRECISION, UNORDERED, RecordTime, TimeRange

if TYPE_CHECKING:
    from kgtui.model.record_times import LogPosition

ROUNDS = 20
"""Maximum number of requests for one search. After them, the search ends with the time range that it has found."""

_AHEAD_MS = 3_600_000
"""Longest time by which a record's timestamp can be in the future, in milliseconds.

If a timestamp is later, the search ends without a result.
Since Kafka 4.0, brokers have the same limit by default (`message.timestamp.after.max.ms`).
"""

WIDTH_MS = 1000
"""A search ends when its time range is narrower than this number of milliseconds, even with a higher precision."""

_GUARD_ROUNDS, _GUARD_FACTOR = 4, 8
"""If the last 4 answers have not narrowed the time range by a factor of 8, interpolation is too slow.

The next request then asks for the middle of the time range (bisection).
"""

_ILLINOIS_FACTOR = 0.25
"""Factor that moves the next interpolated time towards a limit of the time range that has not changed for a while.

In the interpolation, the number of records between the searched record and a limit is multiplied by this factor if the
last two answers have not changed the limit, and once more for each further answer that does not change it. This is the
Illinois method. Without it, interpolation converges slowly where records are not evenly distributed over time.
"""


class _Answer(NamedTuple):
    """One answer to ListOffsets: offset and timestamp of the first record that is not older than the time `asked`.

    Times are in milliseconds since the epoch. Offset and timestamp are -1 if there is no such record.
    """

    asked: int
    offset: int
    timestamp: int


class _Bracket(NamedTuple):
    """The time range in which the searched record was written, in milliseconds.

    Attributes:
        low: offset and timestamp of a record before the searched record.
        high: offset and timestamp of a record after the searched record. If no such record is known, the log end offset
            and an upper limit of the time.
        below: upper limit of the time: the searched record is older than this.
        proven: whether `below` follows from an answer; False if it is only the current time.
    """

    low: tuple[int, int]
    high: tuple[int, int]
    below: int
    proven: bool

    @property
    def width(self) -> int:
        return self.below - 1 - self.low[1]


class RecordSearch:
    """Searches for the times of the first unread and the last consumed record of one partition.

    Call `next_time`, send the request and pass the result to `answer`, until `next_time` returns None.

    Args:
        position: a committed offset below the log end offset.
        now: current time, in milliseconds since the epoch.
        precision: accepted uncertainty, as a fraction of the record's age.
    """

    def __init__(self, position: LogPosition, now: int, *, precision: float = PRECISION) -> None:
        self._position = position
        self._now = now
        self._precision = precision
        # If retention has deleted unread records, the first unread record that still exists is at the log start.
        self._unread = max(position.offset, position.log_start)
        consumed = position.offset - 1
        self._targets = [self._unread, consumed] if consumed >= position.log_start else [self._unread]
        self._answers: list[_Answer] = []
        self._target: int | None = None
        self._widths: list[int] = []
        # How many answers in a row have changed the same limit of the time range: positive if it is the lower limit,
        # negative if it is the upper limit.
        self._repeats = 0
        self._failed = ""

    @property
    def log_start(self) -> int:
        """The log start offset at the time at which the search began."""
        return self._position.log_start

    @property
    def rounds(self) -> int:
        """Number of answers that this search has received."""
        return len(self._answers)

    @property
    def failed(self) -> bool:
        """Whether the search has ended without a result."""
        return bool(self._failed)

    def next_time(self) -> int | None:
        """Return the timestamp to request next, in milliseconds; None if the search has ended."""
        if self._failed or self.rounds >= ROUNDS:
            return None
        if not self._answers:
            # First ask for the oldest record (timestamp 0). The answer also shows whether records have timestamps.
            return 0
        for target in self._targets:
            bracket = self._bracket(target)
            if bracket is None or self._is_precise(bracket):
                continue
            if target != self._target:
                self._target, self._widths, self._repeats = target, [bracket.width], 0
            return self._guess(bracket, target)
        return None

    def answer(self, asked: int, offset: int, timestamp: int) -> None:
        """Process the answer to one request.

        Args:
            asked: the requested timestamp, in milliseconds.
            offset: offset of the first record that is not older than `asked`; -1 if there is no such record.
            timestamp: timestamp of this record in milliseconds; -1 if there is no such record.
        """
        self._answers.append(_Answer(asked, offset, timestamp))
        if (asked == 0 and offset < 0) or (offset >= 0 and timestamp < 0):
            self._failed = NO_TIMESTAMPS
            return
        if timestamp > self._now + _AHEAD_MS:
            self._failed = FUTURE
            return
        brackets = [self._bracket(target) for target in self._targets]
        if any(one is not None and one.proven and one.low[1] >= one.below for one in brackets):
            self._failed = UNORDERED
        if self._target is not None:
            lower = 0 <= offset <= self._target
            before, self._repeats = self._repeats, 1 if lower else -1
            if before * self._repeats > 0:
                self._repeats += before
            bracket = self._bracket(self._target)
            if bracket is not None:
                self._widths.append(bracket.width)

    def fail(self, reason: str) -> None:
        """End the search without a result. `RecordTime.reason` will contain the reason."""
        self._failed = reason

    def result(self) -> RecordTime:
        """Return the times of the two records according to the answers received until now.

        A time is a range if the exact timestamp is not known.
        """
        offset = self._position.offset
        if self._failed:
            return RecordTime(offset, reason=self._failed, rounds=self.rounds)
        consumed = self._range(self._targets[1]) if len(self._targets) > 1 else None
        return RecordTime(offset, self._range(self._unread), consumed, rounds=self.rounds)

    def _exact(self, target: int) -> int | None:
        """Return the timestamp of the record at the offset `target`; None if it is not known.

        If retention has just deleted the first unread record, return the timestamp of the oldest record instead.
        """
        for one in self._answers:
            if one.offset == target or (target == self._unread and one.asked == 0 and one.offset > target):
                return one.timestamp
        return None

    def _bracket(self, target: int) -> _Bracket | None:
        """Return the time range in which the record at the offset `target` was written.

        The result is None if its exact time is known, or if no answer has given a lower limit yet.
        """
        if self._exact(target) is not None:
            return None
        lower = [one for one in self._answers if 0 <= one.offset < target]
        if not lower:
            return None
        low = max(lower, key=lambda one: (one.offset, one.timestamp))
        above = [one for one in self._answers if one.offset > target or one.offset < 0]
        if not above:
            return _Bracket(low[1:], (self._position.log_end, self._now), self._now + 1, proven=False)
        high = min(above, key=lambda one: one.asked)
        point = high[1:] if high.offset >= 0 else (self._position.log_end, high.asked)
        return _Bracket(low[1:], point, high.asked, proven=True)

    def _is_precise(self, bracket: _Bracket) -> bool:
        """Return whether the time range is so narrow that the search can end.

        The precision is a fraction of the record's age. Because the age is not known exactly, the lowest possible age
        is used.
        """
        return bracket.width < max(WIDTH_MS, self._precision * (self._now - bracket.below + 1))

    def _guess(self, bracket: _Bracket, target: int) -> int:
        """Return the next timestamp to request, for which ListOffsets will probably return the record at `target`.

        ListOffsets returns this record for every timestamp that is later than the previous record and not later than
        this record. Therefore, the guess is the interpolated time of the record minus half of the time between two
        records. The result is in milliseconds.
        """
        (low_offset, low_time), (high_offset, high_time) = bracket.low, bracket.high
        if len(self._widths) > _GUARD_ROUNDS and (self._widths[-1] > self._widths[-1 - _GUARD_ROUNDS] / _GUARD_FACTOR):
            guess = (low_time + bracket.below) / 2
        else:
            from_low, to_high = target - 0.5 - low_offset, max(high_offset - target, 1) + 0.5
            weight = _ILLINOIS_FACTOR ** max(abs(self._repeats) - 1, 0)
            if self._repeats > 0:
                to_high *= weight
            else:
                from_low *= weight
            guess = low_time + (max(high_time, bracket.below) - low_time) * from_low / (from_low + to_high)
        return min(max(ceil(guess), low_time + 1), bracket.below - 1)

    def _range(self, target: int) -> TimeRange | None:
        exact, bracket = self._exact(target), self._bracket(target)
        if exact is not None:
            return TimeRange(exact / 1000, exact / 1000)
        if bracket is None:
            return None
        # If no answer has given an upper limit, the timestamp can be in the future, because the producer's clock can
        # be ahead of this machine's clock.
        latest = bracket.below - 1 if bracket.proven else max(self._now, bracket.low[1])
        return TimeRange(bracket.low[1] / 1000, latest / 1000)
