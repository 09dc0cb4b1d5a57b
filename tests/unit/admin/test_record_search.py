"""Tests of `RecordSearch`, which finds the timestamps of records in a partition. The partitions are simulated."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from math import sin, tau
from random import Random
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtui.admin.record_search import ROUNDS, RecordSearch
from kgtui.model.record_times import FUTURE, NO_TIMESTAMPS, UNORDERED, LogPosition, RecordTime

NOW = 1_800_000_000_000
DAY = 86_400_000
RECORDS = 50_000


class Log:
    """A partition with synthetic records. Its method `answer` responds like ListOffsets.

    Args:
        records: `(offset, timestamp in milliseconds)` of each record, sorted by offset.
        end: log end offset.
    """

    def __init__(self, records: list[tuple[int, int]], end: int | None = None) -> None:
        self.records = records
        self.times = [at for _, at in records]
        self.end = records[-1][0] + 1 if end is None else end

    def answer(self, asked: int) -> tuple[int, int]:
        """Return `(offset, timestamp)` of the first record at or after time `asked`; (-1, -1) if there is none."""
        index = bisect_left(self.times, asked)
        return self.records[index] if index < len(self.records) else (-1, -1)

    def search(self, offset: int, *, precision: float = 0.0) -> RecordTime:
        search = RecordSearch(LogPosition(offset, self.records[0][0], self.end), NOW, precision=precision)
        while (asked := search.next_time()) is not None:
            search.answer(asked, *self.answer(asked))
        return search.result()


def dense(times: list[int]) -> Log:
    """Return a log whose records have these timestamps and consecutive offsets."""
    return Log(list(enumerate(sorted(times), 1000)))


def steady(random: Random) -> list[int]:
    return [NOW - 3 * DAY + number * 3 * DAY // RECORDS + random.randrange(500) for number in range(RECORDS)]


def daily(random: Random) -> list[int]:
    weights = [1 + 0.95 * sin(minute / 1440 * tau) for minute in range(3 * 1440)]
    minutes = random.choices(range(3 * 1440), weights, k=RECORDS)
    return [NOW - 3 * DAY + minute * 60_000 + random.randrange(60_000) for minute in minutes]


def bursts(random: Random) -> list[int]:
    starts = [NOW - random.randrange(60_000, 3 * DAY) for _ in range(40)]
    return [random.choice(starts) + random.randrange(60_000) for _ in range(RECORDS)]


def hourly(random: Random) -> list[int]:
    return [(NOW - random.randrange(3 * DAY)) // 3_600_000 * 3_600_000 for _ in range(RECORDS)]


def stale(random: Random) -> list[int]:
    return [at - 5 * DAY for at in steady(random)]


SHAPES = {
    "steady": (steady, 3),
    "daily": (daily, 12),
    "bursts": (bursts, 20),
    "hourly": (hourly, 15),
    "stale": (stale, 7),
}
"""Traffic pattern → (function that returns record timestamps, limit for the median number of requests per search)."""


@pytest.mark.parametrize("shape", SHAPES)
def test_the_record_search_finds_timestamps_for_every_traffic_pattern(shape: str) -> None:
    random = Random(shape)
    make, limit = SHAPES[shape]
    log = dense(make(random))
    offsets = [random.randrange(1001, log.end) for _ in range(60)]
    found = [log.search(offset) for offset in offsets]
    print(f"{shape}: median {median(one.rounds for one in found):g} rounds, maximum {max(one.rounds for one in found)}")  # noqa: T201
    assert median(one.rounds for one in found) <= limit
    within = 0
    for offset, one in zip(offsets, found, strict=True):
        assert one.unread is not None
        assert one.consumed is not None
        assert one.rounds <= ROUNDS
        for times, index in ((one.unread, offset - 1000), (one.consumed, offset - 1001)):
            assert times.earliest <= log.times[index] / 1000 <= times.latest
        within += one.unread.latest - one.unread.earliest < 1
    assert within >= (30 if shape == "bursts" else 54)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_record_search_reaches_the_required_precision(shape: str) -> None:
    """The search returns a time range that contains the timestamp of the first unread record.

    With the precision 0.01, the range spans at most 1 % of the record's age or 1 s, whichever is longer.
    """
    random = Random(shape)
    log = dense(SHAPES[shape][0](random))
    for offset in [random.randrange(1001, log.end) for _ in range(30)]:
        exact, rough = log.search(offset), log.search(offset, precision=0.01)
        assert rough.unread is not None
        width, age = rough.unread.latest - rough.unread.earliest, NOW / 1000 - rough.unread.latest
        assert width <= max(1, 0.01 * age)
        assert rough.rounds <= exact.rounds or rough.rounds < ROUNDS


TIMES = st.lists(st.integers(1, 40), min_size=2, max_size=60).map(
    lambda steps: [NOW - 50_000_000 + at for at in accumulate(step**4 - 1 for step in steps)]
)
"""Hypothesis strategy for ascending record timestamps in milliseconds, with bursts, pauses and equal values.

Some timestamps are later than the current time.
"""


@given(times=TIMES, data=st.data())
def test_the_record_search_finds_timestamps_in_a_log_without_offset_gaps(times: list[int], data: st.DataObject) -> None:
    log = dense(times)
    offset = data.draw(st.integers(1000, log.end - 1))
    found = log.search(offset)
    assert found.reason == ""
    assert found.unread is not None
    assert found.unread.earliest <= times[offset - 1000] / 1000 <= max(found.unread.latest, NOW / 1000)
    if offset == 1000:
        assert found.consumed is None
    else:
        assert found.consumed is not None
        assert found.consumed.earliest <= times[offset - 1001] / 1000 <= max(found.consumed.latest, NOW / 1000)


@given(times=TIMES, data=st.data())
def test_the_record_search_finds_timestamps_in_a_log_with_offset_gaps(times: list[int], data: st.DataObject) -> None:
    """Compaction and aborted transactions leave gaps: offsets that have no record."""
    steps = data.draw(st.lists(st.integers(1, 5), min_size=len(times), max_size=len(times)))
    log = Log(list(zip(accumulate(steps), times, strict=True)), sum(steps) + data.draw(st.integers(1, 5)))
    offset = data.draw(st.integers(log.records[0][0], log.end - 1))
    found = log.search(offset)
    assert found.unread is not None
    before = max(at for number, at in log.records if number <= offset)
    after = min((at for number, at in log.records if number >= offset), default=log.times[-1])
    assert found.unread.latest >= before / 1000
    assert found.unread.earliest <= after / 1000


@given(times=st.lists(st.integers(NOW - 10**9, NOW), min_size=2, max_size=80), data=st.data())
def test_the_record_search_ends_even_if_timestamps_decrease(times: list[int], data: st.DataObject) -> None:
    offset = data.draw(st.integers(0, len(times) - 1))
    search = RecordSearch(LogPosition(offset, 0, len(times)), NOW)
    while (asked := search.next_time()) is not None:
        row = next(((number, at) for number, at in enumerate(times) if at >= asked), (-1, -1))
        search.answer(asked, *row)
    found = search.result()
    assert found.rounds <= ROUNDS
    assert found.reason == UNORDERED or found.unread is not None


def test_the_record_search_reports_decreasing_timestamps() -> None:
    search = RecordSearch(LogPosition(50, 0, 100), NOW)
    for asked, offset, timestamp in ((0, 0, 1000), (2000, 60, 2000), (1500, 10, 5000)):
        search.next_time()
        search.answer(asked, offset, timestamp)
    assert search.next_time() is None
    assert search.result() == RecordTime(50, reason=UNORDERED, rounds=3)


@pytest.mark.parametrize("timestamp", [NOW + 86_400_000, NOW * 1_000, 2**63 - 1])
def test_the_record_search_reports_timestamps_in_the_future(timestamp: int) -> None:
    """Some producers write microseconds. Read as milliseconds, these timestamps are in the far future."""
    search = RecordSearch(LogPosition(5, 0, 10), NOW)
    search.answer(0, 0, timestamp)
    assert search.next_time() is None
    assert search.result() == RecordTime(5, reason=FUTURE, rounds=1)


@pytest.mark.parametrize("answer", [(-1, -1), (0, -1)])
def test_the_record_search_reports_records_without_timestamps(answer: tuple[int, int]) -> None:
    search = RecordSearch(LogPosition(5, 0, 10), NOW)
    search.answer(0, *answer)
    assert search.next_time() is None
    assert search.result() == RecordTime(5, reason=NO_TIMESTAMPS, rounds=1)


def test_first_remaining_record_is_found_if_retention_deleted_unread_records() -> None:
    """The committed offset is 10, but the log now starts at offset 1000, because older records were deleted."""
    log = dense([NOW - 9000, NOW - 5000, NOW - 1000])
    found = log.search(10)
    assert found.unread == ((NOW - 9000) / 1000,) * 2
    assert (found.offset, found.consumed) == (10, None)
