"""Gold `lag`: what a minute's row says, and what it does not say."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from pyspark.testing import assertDataFrameEqual

from kgtui.pipeline.transforms.lag import lag
from tests.spark.recorded_rows import DAY, Recorded, at

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARTITION = ("group", "partition", "minute", "lag", "rate_in", "rate_out", "time_lag", "time_lag_at_least")
GROUP = ("group", "minute", "lag", "rate_in", "partitions", "unknown", "members", "state")


def minute(number: int) -> object:
    """Its start."""
    return at(60 * number)


def of_partitions(found: DataFrame) -> DataFrame:
    return found.filter("topic IS NOT NULL").select(*PARTITION)


def of_groups(found: DataFrame) -> DataFrame:
    return found.filter("topic IS NULL").select(*GROUP)


def same(spark: SparkSession, found: DataFrame, rows: list[tuple[Any, ...]]) -> None:
    assertDataFrameEqual(found, spark.createDataFrame(rows, found.schema))


def minutes_of_three_groups() -> Recorded:
    """Ten seconds between polls, two minutes; one group reads, one stands still, one is gone after a minute."""
    made = Recorded()
    for second in range(0, 120, 10):
        made.poll(second)
        if second == 0:
            made.group("reads", members=2)
            made.group("sleeps", "Empty", members=0)
            made.group("leaves")
            made.commit("sleeps", "quiet", 0, 5, 8)
            made.commit("leaves", "quiet", 0, 8, 8)
        if second == 60:
            made.group("leaves", gone=True)
            made.gone("leaves", "quiet", 0)
        # Ten records a second come in; what is read is 20 s old.
        made.commit("reads", "busy", 0, max(second * 10 - 200, 0), second * 10)
        made.commit("reads", "busy", 1, None, 50)
    return made


def test_a_minute_tells_the_state_at_its_last_poll_and_the_rates_since_the_minute_before(spark: SparkSession) -> None:
    found = lag(*minutes_of_three_groups().frames(spark)).cache()
    same(spark, of_partitions(found), [
        ("reads", 0, minute(0), 200, None, None, 19.9, False),
        ("reads", 0, minute(1), 200, 10.0, 10.0, 19.9, False),
        ("reads", 1, minute(0), None, None, None, None, None),
        ("reads", 1, minute(1), None, 0.0, None, None, None),
        ("sleeps", 0, minute(0), 3, None, None, 50.0, True),
        ("sleeps", 0, minute(1), 3, 0.0, 0.0, 110.0, True),
        ("leaves", 0, minute(0), 0, None, None, 0.0, False),
    ])  # fmt: skip
    same(spark, of_groups(found), [
        ("reads", minute(0), 200, None, 2, 0, 2, "Stable"),
        ("reads", minute(1), 200, 10.0, 2, 0, 2, "Stable"),
        ("sleeps", minute(0), 3, None, 1, 0, 0, "Empty"),
        ("sleeps", minute(1), 3, 0.0, 1, 0, 0, "Empty"),
        ("leaves", minute(0), 0, None, 1, 0, None, "Stable"),
    ])  # fmt: skip


def test_nothing_is_carried_or_counted_across_a_gap(spark: SparkSession) -> None:
    made = Recorded()
    made.poll(0)
    made.group("g")
    made.commit("g", "t", 0, 100, 100)
    made.poll(70, gap="no poll for 70 s")  # of the same keyframe, and nothing changed
    made.poll(130)
    made.commit("g", "t", 0, 160, 220)
    made.poll(400, keyframe=True, gap="recorder stopped")
    made.group("g")
    made.commit("g", "t", 0, 160, 820)
    found = lag(*made.frames(spark)).filter("topic IS NOT NULL")
    chosen = found.select("minute", "lag", "rate_in", "rate_out", "time_lag", "time_lag_at_least", "steady_since")
    same(spark, chosen, [
        (minute(0), 0, None, None, 0.0, False, at(0)),
        (minute(1), 0, None, None, 0.0, False, at(70)),
        (minute(2), 60, 2.0, 1.0, 29.5, False, at(70)),
        (minute(6), 660, None, None, 299.5, False, at(400)),
    ])  # fmt: skip


def test_what_was_not_read_is_unknown_and_a_lag_that_cannot_be_counted_is_missing(spark: SparkSession) -> None:
    made = Recorded()
    made.poll(0)
    for group, coordinator in (("silent", 1), ("refused", 2), ("read", 2)):
        made.group(group, coordinator=coordinator)
    made.commit("silent", "t", 0, 1, 5)
    made.commit("refused", "t", 0, 1, 5)
    made.commit("read", "t", 0, 1, None, None, log_error=6)
    made.commit("read", "t", 1, None, 5, error=29)
    made.commit("read", "t", 2, 2, 5, 3)
    made.commit("read", "s", 0, None, 9, kind="share", spso=4, lag=2)
    made.poll(60)
    made.fault(broker=1)
    made.fault(group="refused")
    made.poll(120)
    made.fault(broker=1, gone=True)
    found = lag(*made.frames(spark)).cache()
    chosen = found.filter("topic IS NULL").select("group", "minute", "lag", "partitions", "unknown", "lead", "lost")
    same(spark, chosen, [
        *(("read", minute(number), 5, 4, 2, 0, 1) for number in range(3)),
        ("silent", minute(0), 4, 1, 0, 1, 0),
        ("silent", minute(1), None, None, None, None, None),
        ("silent", minute(2), 4, 1, 0, 1, 0),
        ("refused", minute(0), 4, 1, 0, 1, 0),
        ("refused", minute(1), None, None, None, None, None),
        ("refused", minute(2), None, None, None, None, None),
    ])  # fmt: skip
    errors = found.filter("minute = '2026-11-23 00:00:00' AND error IS NOT NULL").select("topic", "partition", "error")
    same(spark, errors, [("t", 0, 6), ("t", 1, 29)])


def test_a_topic_made_anew_and_rows_of_a_poll_that_never_came_to_be_do_no_harm(spark: SparkSession) -> None:
    made = Recorded()
    made.poll(0)
    made.group("g")
    made.commit("g", "t", 0, 900, 1000)
    made.poll(60)
    made.commit("g", "t", 0, 0, 10)
    made.poll(110)
    made.commit("g", "t", 0, 5, 30)
    made.polls.append(made.polls.pop())
    made.poll(115)
    made.commit("g", "t", 0, 99, 99)
    del made.polls[-1]
    found = lag(*made.frames(spark)).filter("topic IS NOT NULL")
    same(spark, found.select("minute", "lag", "rate_in", "rate_out", "time_lag", "time_lag_at_least"), [
        (minute(0), 100, None, None, 0.0, True),
        (minute(1), 25, None, None, 50.0, True),
    ])  # fmt: skip


def test_the_days_asked_for_come_with_the_rate_of_their_first_minute(spark: SparkSession) -> None:
    made = Recorded()
    day = 86_400
    made.poll(day - 120)
    made.group("g")
    made.commit("g", "t", 0, 0, 0)
    made.poll(day - 30)
    made.commit("g", "t", 0, 0, 30)
    made.poll(day + 30, keyframe=True)
    made.group("g")
    made.commit("g", "t", 0, 0, 90)
    found = lag(*made.frames(spark), since=DAY + timedelta(days=1)).filter("topic IS NOT NULL")
    same(spark, found.select("day", "minute", "lag", "rate_in", "time_lag"), [
        (DAY + timedelta(days=1), at(day), 90, 1.0, 147.0),
    ])  # fmt: skip
