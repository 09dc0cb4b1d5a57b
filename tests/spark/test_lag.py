"""Tests of the gold table `lag`: lag, rates and time lag (age of the first unread record) per minute.

A value is null if it is unknown.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from pyspark.testing import assertDataFrameEqual

from kgtui.pipeline.transforms.lag import lag
from tests.spark.recorded_rows import DAY, RecordedTables, at, ms

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARTITION = ("group", "partition", "minute", "lag", "rate_in", "rate_out", "time_lag", "time_lag_at_least")
GROUP = ("group", "minute", "lag", "rate_in", "partitions", "unknown", "members", "state")


def minute(number: int) -> object:
    """Return the start time of minute `number`. Minute 0 starts at `START`."""
    return at(60 * number)


def partition_rows(result: DataFrame) -> DataFrame:
    return result.filter("topic IS NOT NULL").select(*PARTITION)


def group_rows(result: DataFrame) -> DataFrame:
    return result.filter("topic IS NULL").select(*GROUP)


def assert_rows(spark: SparkSession, result: DataFrame, expected: list[tuple[Any, ...]]) -> None:
    assertDataFrameEqual(result, spark.createDataFrame(expected, result.schema))


def two_minutes_of_three_groups() -> RecordedTables:
    """Return a recording of two minutes. kgtui polls the cluster every ten seconds.

    Group `reads` commits before each poll. The committed offset of group `sleeps` never changes. Group `leaves` is
    deleted after one minute.
    """
    tables = RecordedTables()
    for second in range(0, 120, 10):
        tables.poll(second)
        if second == 0:
            tables.group("reads", members=2, offsets_may_be_hidden=True)
            tables.group("sleeps", "Empty", members=0)
            tables.group("leaves")
            tables.commit("sleeps", "quiet", 0, 5, 8)
            tables.commit("leaves", "quiet", 0, 8, 8)
        if second == 60:
            tables.group("leaves", gone=True)
            tables.partition_gone("leaves", "quiet", 0)
        # Partition 0 of topic `busy` gets ten records per second. Group `reads` commits the offset of each record 20
        # seconds after the record was written.
        tables.commit("reads", "busy", 0, max(second * 10 - 200, 0), second * 10)
        tables.commit("reads", "busy", 1, None, 50)
    return tables


def test_lag_rates_and_time_lag_are_computed_per_minute(spark: SparkSession) -> None:
    result = lag(*two_minutes_of_three_groups().frames(spark)).cache()
    assert_rows(spark, partition_rows(result), [
        ("reads", 0, minute(0), 200, None, None, 19.9, False),
        ("reads", 0, minute(1), 200, 10.0, 10.0, 19.9, False),
        ("reads", 1, minute(0), None, None, None, None, None),
        ("reads", 1, minute(1), None, 0.0, None, None, None),
        ("sleeps", 0, minute(0), 3, None, None, 50.0, True),
        ("sleeps", 0, minute(1), 3, 0.0, 0.0, 110.0, True),
        ("leaves", 0, minute(0), 0, None, None, 0.0, False),
    ])  # fmt: skip
    marks = result.filter("topic IS NULL").select("group", "offsets_may_be_hidden").distinct()
    assert_rows(spark, marks, [("reads", True), ("sleeps", None), ("leaves", None)])
    assert_rows(spark, group_rows(result), [
        ("reads", minute(0), 200, None, 2, 0, 2, "Stable"),
        ("reads", minute(1), 200, 10.0, 2, 0, 2, "Stable"),
        ("sleeps", minute(0), 3, None, 1, 0, 0, "Empty"),
        ("sleeps", minute(1), 3, 0.0, 1, 0, 0, "Empty"),
        ("leaves", minute(0), 0, None, 1, 0, None, "Stable"),
    ])  # fmt: skip


def test_a_recording_gap_makes_rates_null_but_not_the_time_lag(spark: SparkSession) -> None:
    tables = RecordedTables()
    tables.poll(0)
    tables.group("g")
    tables.commit("g", "t", 0, 100, 100)
    # The first poll after a gap is usually a keyframe (all rows are written). This poll is not: it adds only a row to
    # `polls`, because no offset has changed.
    tables.poll(70, gap="no poll for 70 s")
    tables.poll(130)
    tables.commit("g", "t", 0, 160, 220)
    tables.poll(400, keyframe=True, gap="recorder stopped")
    tables.group("g")
    tables.commit("g", "t", 0, 160, 820)
    result = lag(*tables.frames(spark)).filter("topic IS NOT NULL")
    columns = result.select("minute", "lag", "rate_in", "rate_out", "time_lag", "time_lag_at_least", "steady_since")
    assert_rows(spark, columns, [
        (minute(0), 0, None, None, 0.0, False, at(0)),
        (minute(1), 0, None, None, 0.0, False, at(70)),
        (minute(2), 60, 2.0, 1.0, 29.5, False, at(70)),
        (minute(6), 660, None, None, 299.5, False, at(400)),
    ])  # fmt: skip


def test_group_totals_are_null_if_offsets_cannot_be_read(spark: SparkSession) -> None:
    tables = RecordedTables()
    tables.poll(0)
    for group, coordinator in (("silent", 1), ("refused", 2), ("read", 2)):
        tables.group(group, coordinator=coordinator)
    tables.commit("silent", "t", 0, 1, 5)
    tables.commit("refused", "t", 0, 1, 5)
    tables.commit("read", "t", 0, 1, None, None, log_error=6)
    tables.commit("read", "t", 1, None, 5, error=29)
    tables.commit("read", "t", 2, 2, 5, 3)
    tables.commit("read", "s", 0, None, 9, kind="share", spso=4, lag=2)
    tables.poll(60)
    tables.fault(broker=1)
    tables.fault(group="refused")
    tables.poll(120)
    tables.fault(broker=1, gone=True)
    result = lag(*tables.frames(spark)).cache()
    columns = result.filter("topic IS NULL").select("group", "minute", "lag", "partitions", "unknown", "lead", "lost")
    assert_rows(spark, columns, [
        *(("read", minute(number), 5, 4, 2, 0, 1) for number in range(3)),
        ("silent", minute(0), 4, 1, 0, 1, 0),
        ("silent", minute(1), None, None, None, None, None),
        ("silent", minute(2), 4, 1, 0, 1, 0),
        ("refused", minute(0), 4, 1, 0, 1, 0),
        ("refused", minute(1), None, None, None, None, None),
        ("refused", minute(2), None, None, None, None, None),
    ])  # fmt: skip
    errors = result.filter("minute = '2026-11-23 00:00:00' AND error IS NOT NULL").select("topic", "partition", "error")
    assert_rows(spark, errors, [("t", 0, 6), ("t", 1, 29)])


def test_recreated_topics_have_no_rates_and_unfinished_polls_are_ignored(spark: SparkSession) -> None:
    tables = RecordedTables()
    tables.poll(0)
    tables.group("g")
    tables.commit("g", "t", 0, 900, 1000)
    tables.poll(60)
    tables.commit("g", "t", 0, 0, 10)
    tables.poll(110)
    tables.commit("g", "t", 0, 5, 30)
    tables.poll(115)
    tables.commit("g", "t", 0, 99, 99)
    # An unfinished poll has rows in other tables, but no row in `polls`, because the recorder writes `polls` last.
    del tables.polls[-1]
    result = lag(*tables.frames(spark)).filter("topic IS NOT NULL")
    assert_rows(spark, result.select("minute", "lag", "rate_in", "rate_out", "time_lag", "time_lag_at_least"), [
        (minute(0), 100, None, None, 0.0, True),
        (minute(1), 25, None, None, 50.0, True),
    ])  # fmt: skip


def test_rates_at_midnight_use_polls_of_the_previous_day(spark: SparkSession) -> None:
    tables = RecordedTables()
    day = 86_400
    tables.poll(day - 120)
    tables.group("g")
    tables.commit("g", "t", 0, 0, 0)
    tables.poll(day - 30)
    tables.commit("g", "t", 0, 0, 30)
    tables.poll(day + 30, keyframe=True)
    tables.group("g")
    tables.commit("g", "t", 0, 0, 90)
    result = lag(*tables.frames(spark), since=ms(day)).filter("topic IS NOT NULL")
    assert_rows(spark, result.select("day", "minute", "lag", "rate_in", "time_lag"), [
        (DAY + timedelta(days=1), at(day), 90, 1.0, 147.0),
    ])  # fmt: skip
