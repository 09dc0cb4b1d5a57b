"""Tests of record times: when the first unread record of a partition was written, and when retention can delete it.

The module also tests in which partitions kgtui searches for these times.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from kgtui.model.cluster import TopicRules
from kgtui.model.offsets import (
    CommittedOffset,
    GroupOffsets,
    PartitionBounds,
    ShareOffset,
    lags,
    searchable,
)
from kgtui.model.record_times import (
    BY_SIZE,
    NEVER_DELETES,
    NO_TIMESTAMPS,
    UNLIMITED,
    LogPosition,
    RecordTime,
    TimeRange,
    with_expiry,
)

FOUND = RecordTime(5, TimeRange(1000.0, 1001.0))
FAULT = "grant DESCRIBE_CONFIGS on the topic to this user"


@pytest.mark.parametrize(
    ("found", "rules", "expected"),
    [
        (FOUND, TopicRules(60.0), (1060.0, False, "")),
        (FOUND, TopicRules(60.0, by_size=True), (None, True, BY_SIZE)),
        (FOUND, TopicRules(60.0, compacted=True, deletes=False), (None, False, NEVER_DELETES)),
        (FOUND, TopicRules(None), (None, False, UNLIMITED)),
        (FOUND, TopicRules(fault=FAULT), (None, False, FAULT)),
        (FOUND, None, (None, False, "the configs of the topic were not read")),
        (RecordTime(5, reason=NO_TIMESTAMPS), TopicRules(60.0), (None, False, NO_TIMESTAMPS)),
    ],
)
def test_expiry_of_a_record_depends_on_the_configs_of_its_topic(
    found: RecordTime, rules: TopicRules | None, expected: tuple[float | None, bool, str]
) -> None:
    result = with_expiry(found, rules)
    assert (result.expires_at, result.any_time, result.expiry_reason) == expected


def test_record_times_are_searched_first_in_the_partitions_with_the_largest_lag() -> None:
    """`searchable` returns the partition with the largest lag first.

    It leaves out partitions without unread records, and partitions in which an offset is unknown.
    """
    bounds = {("t", 0): (0, 10), ("t", 1): (0, 99), ("t", 2): (0, 7), ("t", 3): (None, 9), ("t", 4): (0, 9)}
    commits = [CommittedOffset("t", part, None if part == 4 else 7) for part in range(5)]
    offsets = GroupOffsets(tuple(commits), bounds={tp: PartitionBounds(*found) for tp, found in bounds.items()})
    assert searchable(lags(offsets), 9) == {("t", 1): LogPosition(7, 0, 99), ("t", 0): LogPosition(7, 0, 10)}
    assert list(searchable(lags(offsets), 1)) == [("t", 1)]
    shares = tuple(ShareOffset("t", part, 7, 0, lag) for part, lag in ((0, 3), (1, 0)))
    assert searchable(lags(replace(offsets, committed=(), share=shares)), 9) == {("t", 0): LogPosition(7, 0, 10)}


def test_record_time_of_an_older_committed_offset_is_not_exact() -> None:
    times = {("t", 0): FOUND, ("t", 1): FOUND}
    offsets = GroupOffsets(
        (CommittedOffset("t", 0, 5), CommittedOffset("t", 1, 6)),
        bounds={("t", 0): PartitionBounds(0, 9), ("t", 1): PartitionBounds(0, 9)},
        record_times=times,
    )
    same, moved = lags(offsets)
    assert (same.exact_times, same.times) == (FOUND, FOUND)
    assert (moved.exact_times, moved.times) == (None, FOUND)
