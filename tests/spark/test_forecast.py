"""Tests of the gold tables `forecast` and `baseline`, which are computed from the gold table `lag`."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from pyspark.testing import assertDataFrameEqual

from kgtui.lake.schemas import BASELINE, LAG
from kgtui.pipeline.transforms.baseline import baseline
from kgtui.pipeline.transforms.forecast import forecast
from tests.spark.recorded_rows import at, frame, ms

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def lag_row(group: str, minute: int, topic: str | None = None, *, steady: int = 0, **values: Any) -> dict[str, Any]:
    """Return a row of the gold table `lag` for partition 0 of `topic`, or for the whole group if `topic` is None.

    Args:
        minute: minutes after `START`.
        steady: value of the column `steady_since` (time of the first poll after the latest recording gap), in seconds
            after `START`.
        values: values of other columns.
    """
    start = at(60 * minute)
    times = {"day": start.date(), "minute": start, "covered_from": start, "covered_to": start + timedelta(seconds=50)}
    row = {"group": group, "topic": topic, "partition": None if topic is None else 0, "source": "recorded"}
    return {**row, **times, "steady_since": at(steady), "unknown": 0 if topic is None else None, **values}


def test_gold_table_forecast_says_when_groups_catch_up_or_lose_records(spark: SparkSession) -> None:
    rows = []
    for minute in range(60):
        # The recording has a gap at minute 30. Afterwards, the lag of group `drains` falls by 5 records per second.
        for topic in (None, "t"):
            rows.append(lag_row("drains", minute, topic, lag=60_000 - 300 * minute if minute >= 30 else 7,
                                steady=1_800 if minute >= 30 else 0))  # fmt: skip
            rows.append(lag_row("done", minute, topic, lag=0))
        # The lag of group `ages` falls as fast as the lag of `drains`. The time lag of `ages` (age of the first unread
        # record) falls by one second per second.
        if minute >= 30:
            rows.append(lag_row("ages", minute, lag=60_000 - 300 * minute, steady=1_800,
                                time_lag=10_000.0 - 60 * (minute - 30)))  # fmt: skip
        # Group `stuck` consumes nothing. The log start offset of its partition increases by 10,000 every ten minutes.
        start = 1_000 * (minute // 10 * 10)
        stuck: dict[str, Any] = {"position": 100_000, "log_end": 200_000 + 600 * minute, "log_start": start,
                   "lead": 100_000 - start, "lost": 0, "lag": 100_000 + 600 * minute,
                   "time_lag_at_least": True}  # fmt: skip
        rows.append(lag_row("stuck", minute, "t", **stuck))
        rows.append(lag_row("stuck", minute, lag=100_000 + 600 * minute, lost=0))
        # Group `slow` is like group `stuck`, but consumes 300 records per minute in each of the topics `k` and `l`. Its
        # loss of records is forecast from the retention time in topic `k`, and from the increase of the log start
        # offset in topic `l`.
        slow = stuck | {"time_lag": 600.0, "position": 100_000 + 300 * minute}
        rows += [lag_row("slow", minute, topic, **slow) for topic in ("k", "l")]
        # The time lag of group `later` grows so slowly (0.11 s per second) that it would reach the retention time (75
        # min) only after 8.9 h. A loss is forecast only if it is at most one retention time (75 min) away, so the group
        # is not at risk.
        later: dict[str, Any] = {"position": 100_000, "log_end": 235_400, "lag": 135_400, "lost": 0}
        later["time_lag"] = 600 + 6.6 * minute
        rows.append(lag_row("later", minute, "l", **later))
    retention = spark.createDataFrame([("k", 1_000.0), ("l", 4_500.0)], "topic STRING, retention_seconds DOUBLE")
    made = forecast(frame(spark, LAG, rows), retention=retention).cache()
    (ages,) = made.filter("group = 'ages'").collect()
    assert (round(ages.drain_min_seconds), round(ages.drain_max_seconds)) == (8_260, 8_460)
    assert (ages.behind_since, ages.behind_since_at_least) == (at(30 * 60 + 50).replace(tzinfo=None), True)
    result = made.selectExpr(
        "group", "topic", "hour", "lag", "round(trend, 6) trend", "drain_seconds", "drained_at", "loss_seconds",
        "loss_basis", "loss_at_most", "at_risk", "covered_from",
    )  # fmt: skip
    end = at(59 * 60 + 50)
    drains = (42_300, -5.0, 8_460.0, end + timedelta(seconds=8_460), None, None, None, None, at(1_800))
    loss = 50_000 / (1_000 / 60)
    expected = [
        ("drains", None, at(0), *drains),
        ("drains", "t", at(0), *drains),
        ("stuck", "t", at(0), 135_400, 10.0, None, None, loss, "log start", False, True, at(0)),
        ("stuck", None, at(0), 135_400, 10.0, None, None, loss, "log start", False, True, at(0)),
        ("ages", None, at(0), 42_300, -5.0, 8_260.0, end + timedelta(seconds=8_260), None, None, None, None, at(1_800)),
        ("later", "l", at(0), 135_400, 0.0, None, None, None, None, None, False, at(0)),
        ("slow", "k", at(0), 135_400, 10.0, None, None, 800.0, "retention", True, True, at(0)),
        ("slow", "l", at(0), 135_400, 10.0, None, None, 50_000 / (700 / 60), "log start", False, True, at(0)),
    ]
    assertDataFrameEqual(result, spark.createDataFrame(expected, result.schema))


def test_behind_since_is_computed_only_for_the_last_two_hours_of_a_day(spark: SparkSession) -> None:
    """`behind_since` (when a group's backlog began) is computed for the last hour of a day and the hour before.

    The last hour is the last one with data, even if the group has no lag in this hour.
    """
    late = [lag_row("late", minute, lag=1_000 * minute, time_lag=600.0) for minute in range(50, 60)]
    done = [lag_row("late", minute, lag=0) for minute in (60, 120, 180)]

    def known(rows: list[dict[str, Any]]) -> list[bool]:
        found = forecast(frame(spark, LAG, rows)).selectExpr("behind_since IS NOT NULL AS known").collect()
        return [row.known for row in found]

    assert known(late + done[:1]) == [True]
    assert known(late + done) == [False]


def baseline_row(group: str, hours_ago: int, lag: float, rate: float | None = None) -> dict[str, Any]:
    """Return a row of `baseline` for the hour that began `hours_ago` hours before `START`."""
    hour = at(-3_600 * hours_ago)
    values = {"lag": float(lag), "rate_in": rate}
    return {"group": group, "day": hour.date(), "hour": hour, "hour_of_week": 0, "hours": 0, **values}


def test_baseline_is_computed_from_the_same_hour_of_earlier_weeks_or_days(spark: SparkSession) -> None:
    rows = [lag_row("weekly", minute, lag=lag, rate_in=9.0) for minute, lag in enumerate((1_000, 400, 500))]
    rows += [lag_row("daily", 0, lag=0), lag_row("new", 0, lag=3), lag_row("weekly", 1, "t", lag=9)]
    before = [
        baseline_row("weekly", 168 * week, lag, 9.0 if week > 2 else None)
        for week, lag in ((1, 90), (2, 100), (3, 130), (4, 100))
    ]
    before += [baseline_row("weekly", 24 * day, 7_777) for day in range(1, 7)]
    too_old = [baseline_row("weekly", 168 * 9, 1e9), baseline_row("daily", 24 * 20, 1e9)]
    before += [*too_old, baseline_row("weekly", 23, 1e9)]
    before += [baseline_row("daily", 24 * day, lag) for day, lag in ((1, 10), (2, 20), (3, 30))]
    before += [baseline_row("new", 24, 3), baseline_row("new", 168, 3)]
    result = baseline(frame(spark, LAG, rows), before=frame(spark, BASELINE, before), since=ms(0)).selectExpr(
        "group", "hour", "hour_of_week", "lag", "lag_normal", "lag_spread", "round(lag_deviation, 4) d", "rate_in",
        "rate_in_normal", "basis", "hours",
    )  # fmt: skip
    expected = [
        ("weekly", at(0), 0, 500.0, 100.0, 5.0, round(400 / (5 * 1.4826), 4), 9.0, None, "hour of week", 4),
        ("daily", at(0), 0, 0.0, 20.0, 10.0, round(-20 / 14.826, 4), None, None, "hour of day", 3),
        ("new", at(0), 0, 3.0, None, None, None, None, None, None, 2),
    ]
    assertDataFrameEqual(result, spark.createDataFrame(expected, result.schema))
