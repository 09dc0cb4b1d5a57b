"""Find out by interpolation when the last consumed and the first unread record of a partition were written.

ListOffsets returns the offset of the first record at or after a timestamp. If this offset is lower than the offset of
the searched record, the next request is for a later timestamp. If the returned offset is higher, the next request is
for an earlier timestamp. `RecordSearch` computes the timestamps, and its caller sends the requests.

The search assumes that timestamps never decrease within a partition. If compaction has removed the searched record, the
result is a time between the timestamps of the neighboring records.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from kgtui.model.record_times import FUTURE, NO_TIMESTAMPS, PRECISION, UNORDERED, RecordTime, TimeRange

if TYPE_CHECKING:
    from kgtui.model.record_times import LogPosition

ROUNDS = 20
"""Maximum number of requests for one search. After the last request, the result is the narrowest time range found."""

_AHEAD_MS = 3_600_000
"""Longest accepted time between now and a record's timestamp in the future, in milliseconds.

If a timestamp is further in the future, the search fails. Since Kafka 4.0, brokers refuse such records by default
(`message.timestamp.after.max.ms`).
"""

WIDTH_MS = 1000
"""Width of a record's time range, in milliseconds, below which the search for the record always ends.

If the parameter `precision` allows a wider range, the search ends earlier.
"""

_GUARD_ROUNDS, _GUARD_FACTOR = 4, 8
"""Number of answers of a broker, and the factor by which they must together narrow a record's time range.

If the last 4 answers narrow the range by less than a factor of 8, interpolation is too slow. The next request is then
for the middle of the range.
"""

_ILLINOIS_FACTOR = 0.25
"""Factor of the Illinois method, which speeds up interpolation if records are unevenly distributed over time.

If successive answers change only one limit of the time range, the next requested time is closer to the other limit.
"""


class _Bracket(NamedTuple):
    """The time range in which the searched record was written, in milliseconds.

    Attributes:
        low: offset and timestamp of a record before the searched record.
        high: offset and timestamp of a record after the searched record. If no such record is known, the log end offset
            and the latest possible time.
        below: time before which the searched record was written.
        proven: whether `below` follows from an answer of a broker. If False, `below` comes from the current time.
    """

    low: tuple[int, int]
    high: tuple[int, int]
    below: int
    proven: bool

    @property
    def width(self) -> int:
        return self.below - 1 - self.low[1]


class _Target:
    """One record that a `RecordSearch` searches for, and the narrowest time range found so far for this record.

    Each answer of a broker updates the time range, and earlier answers are not stored. Therefore, a search in thousands
    of partitions takes little CPU time.

    Args:
        offset: offset of the record.
        oldest: whether to search for the oldest existing record instead, if retention has deleted the record at
            `offset`.
    """

    __slots__ = ("_high", "_low", "_oldest", "exact", "offset")

    def __init__(self, offset: int, *, oldest: bool) -> None:
        self.offset = offset
        self._oldest = oldest
        self.exact: int | None = None  # timestamp of the record; None while it is unknown
        self._low: tuple[int, int] | None = None  # offset and time of the nearest known record before `offset`
        # The answer that gives the lowest upper limit of the record's time: `(requested timestamp, offset, timestamp)`.
        # Offset and timestamp are those of the record that the broker found, or -1 if it found none.
        self._high: tuple[int, int, int] | None = None

    def add(self, asked: int, offset: int, timestamp: int) -> None:
        """Use the answer to one ListOffsets request to narrow the time range (see `RecordSearch.answer`)."""
        if self.exact is None and (offset == self.offset or (self._oldest and asked == 0 and offset > self.offset)):
            self.exact = timestamp
        if 0 <= offset < self.offset:
            self._low = max(self._low or (offset, timestamp), (offset, timestamp))
        elif offset != self.offset and (self._high is None or asked < self._high[0]):
            self._high = asked, offset, timestamp

    def bracket(self, log_end: int, now: int) -> _Bracket | None:
        """Return the time range in which the record was written.

        Return None if the exact time is known, or if no record with a lower offset has been found yet.

        Args:
            log_end: log end offset.
            now: current time, in milliseconds since the epoch.
        """
        if self.exact is not None or self._low is None:
            return None
        if self._high is None:
            return _Bracket(self._low, (log_end, now), now + 1, proven=False)
        asked, offset, timestamp = self._high
        return _Bracket(self._low, (offset, timestamp) if offset >= 0 else (log_end, asked), asked, proven=True)


class RecordSearch:
    """Searches for the times of the first unread and the last consumed record of one partition.

    Call `next_time`, request the returned timestamp with ListOffsets, and pass the result to `answer`. Repeat this
    until `next_time` returns None.

    Args:
        position: committed offset, log start and log end. The committed offset must be below the log end offset.
        now: current time, in milliseconds since the epoch.
        precision: accepted uncertainty of a record's time, as a fraction of the record's age.

    Attributes:
        rounds: number of answers that this search has received.
    """

    def __init__(self, position: LogPosition, now: int, *, precision: float = PRECISION) -> None:
        self._position = position
        self._now = now
        self._precision = precision
        # If retention has deleted unread records, the first unread record that still exists is at the log start.
        self._unread = _Target(max(position.offset, position.log_start), oldest=True)
        consumed = position.offset - 1
        self._consumed = _Target(consumed, oldest=False) if consumed >= position.log_start else None
        self._targets = [target for target in (self._unread, self._consumed) if target is not None]
        self._target: _Target | None = None
        self._widths: list[int] = []
        # Number of successive answers that have changed the same limit of the time range. It is positive for the lower
        # limit and negative for the upper limit.
        self._repeats = 0
        self._failed = ""
        self.rounds = 0

    @property
    def log_start(self) -> int:
        """The log start offset when the search began."""
        return self._position.log_start

    @property
    def failed(self) -> bool:
        """Whether the search has failed."""
        return bool(self._failed)

    def next_time(self) -> int | None:
        """Return the timestamp to request next, in milliseconds; None if the search has ended."""
        if self._failed or self.rounds >= ROUNDS:
            return None
        if not self.rounds:
            # Begin with timestamp 0, for which ListOffsets returns the oldest record. If this record has no timestamp,
            # the search fails.
            return 0
        for target in self._targets:
            bracket = self._bracket(target)
            if bracket is None or self._is_precise(bracket):
                continue
            if target is not self._target:
                self._target, self._widths, self._repeats = target, [bracket.width], 0
            return self._guess(bracket, target.offset)
        return None

    def answer(self, asked: int, offset: int, timestamp: int) -> None:
        """Use the answer to one ListOffsets request to narrow the time ranges of both records.

        Args:
            asked: the requested timestamp, in milliseconds.
            offset: offset of the first record whose timestamp is at least `asked`; -1 if there is none.
            timestamp: timestamp of this record, in milliseconds; -1 if there is none.
        """
        self.rounds += 1
        if (asked == 0 and offset < 0) or (offset >= 0 and timestamp < 0):
            self._failed = NO_TIMESTAMPS
            return
        if timestamp > self._now + _AHEAD_MS:
            self._failed = FUTURE
            return
        for target in self._targets:
            target.add(asked, offset, timestamp)
            bracket = self._bracket(target)
            if bracket is None:
                continue
            if bracket.proven and bracket.low[1] >= bracket.below:
                self._failed = UNORDERED
            if target is self._target:
                self._widths.append(bracket.width)
        if self._target is not None:
            lower = 0 <= offset <= self._target.offset
            before, self._repeats = self._repeats, 1 if lower else -1
            if before * self._repeats > 0:
                self._repeats += before

    def fail(self, reason: str) -> None:
        """End the search without a result. `RecordTime.reason` will contain the reason."""
        self._failed = reason

    def result(self) -> RecordTime:
        """Return the times of the first unread and the last consumed record, as far as they are known.

        If the exact timestamp of a record is not known, its time is a range.
        """
        offset = self._position.offset
        if self._failed:
            return RecordTime(offset, reason=self._failed, rounds=self.rounds)
        consumed = None if self._consumed is None else self._range(self._consumed)
        return RecordTime(offset, self._range(self._unread), consumed, rounds=self.rounds)

    def _bracket(self, target: _Target) -> _Bracket | None:
        return target.bracket(self._position.log_end, self._now)

    def _is_precise(self, bracket: _Bracket) -> bool:
        """Return whether a record's time range is narrow enough to end the search for this record."""
        return bracket.width < max(WIDTH_MS, self._precision * (self._now - bracket.below + 1))

    def _guess(self, bracket: _Bracket, target: int) -> int:
        """Return the next timestamp to request, in milliseconds: an estimate for the record at the offset `target`."""
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
            # Estimate a time between the record at offset `target` and the record before it, because ListOffsets
            # returns the record at `target` for any such time.
            guess = low_time + (max(high_time, bracket.below) - low_time) * from_low / (from_low + to_high)
        return min(max(ceil(guess), low_time + 1), bracket.below - 1)

    def _range(self, target: _Target) -> TimeRange | None:
        if target.exact is not None:
            return TimeRange(target.exact / 1000, target.exact / 1000)
        bracket = self._bracket(target)
        if bracket is None:
            return None
        # If no answer has given an upper limit, use the current time, or the lower limit if the lower limit is later.
        # The lower limit is later if the producer's clock is ahead of this machine's clock.
        latest = bracket.below - 1 if bracket.proven else max(self._now, bracket.low[1])
        return TimeRange(bracket.low[1] / 1000, latest / 1000)
