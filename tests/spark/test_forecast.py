"""Gold `forecast` and `baseline`: literal minutes, and what follows from them."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from pyspark.testing import assertDataFrameEqual

from kgtui.lake.schemas import BASELINE, LAG
from kgtui.pipeline.transforms.baseline import baseline
from kgtui.pipeline.transforms.forecast import forecast
from tests.spark.recorded_rows import DAY, at, frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def minute(group: str, number: int, topic: str | None = None, *, steady: int = 0, **values: Any) -> dict[str, Any]:
    """A row of `lag`."""
    start = at(60 * number)
    times = {"day": start.date(), "minute": start, "covered_from": start, "covered_to": start + timedelta(seconds=50)}
    row = {"group": group, "topic": topic, "partition": None if topic is None else 0, "source": "recorded"}
    return {**row, **times, "steady_since": at(steady), "unknown": 0 if topic is None else None, **values}


def test_a_forecast_says_when_a_backlog_is_gone_and_what_expires_first(spark: SparkSession) -> None:
    rows = []
    for number in range(60):
        # Ten a second come in, and it reads 15 a second, but only after the gap in the middle of the hour.
        for topic in (None, "t"):
            rows.append(minute("drains", number, topic, lag=60_000 - 300 * number if number >= 30 else 7,
                               steady=1_800 if number >= 30 else 0))  # fmt: skip
            rows.append(minute("done", number, topic, lag=0))
        # A thousand a minute are deleted, in leaps, while it reads none.
        start = 1_000 * (number // 10 * 10)
        risk: dict[str, Any] = {"position": 100_000, "log_end": 200_000 + 600 * number, "log_start": start,
                   "lead": 100_000 - start, "lost": 0, "lag": 100_000 + 600 * number,
                   "time_lag_at_least": True}  # fmt: skip
        rows.append(minute("stuck", number, "t", **risk))
        rows.append(minute("stuck", number, lag=100_000 + 600 * number, lost=0))
        # The topic keeps what it is slow to read, of one for longer than the start of its log takes to come there.
        slow = risk | {"time_lag": 600.0, "position": 100_000 + 300 * number}
        rows += [minute("kept", number, topic, **slow) for topic in ("k", "l")]
    retention = spark.createDataFrame([("k", 2_400.0), ("l", 3_600.0)], "topic STRING, retention_seconds DOUBLE")
    found = forecast(frame(spark, LAG, rows), retention=retention)
    chosen = found.selectExpr(
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
        ("kept", "k", at(0), 135_400, 10.0, None, None, 3_600.0, "retention", True, True, at(0)),
        ("kept", "l", at(0), 135_400, 10.0, None, None, 50_000 / (700 / 60), "log start", False, True, at(0)),
    ]
    assertDataFrameEqual(chosen, spark.createDataFrame(expected, chosen.schema))


def past(group: str, hours_ago: int, lag: float, rate: float | None = None) -> dict[str, Any]:
    """A row of `baseline` that is that old."""
    hour = at(-3_600 * hours_ago)
    return {
        "group": group,
        "day": hour.date(),
        "hour": hour,
        "hour_of_week": 0,
        "lag": float(lag),
        "rate_in": rate,
        "hours": 0,
    }


def test_an_hour_is_compared_with_the_same_hours_of_weeks_or_else_of_days(spark: SparkSession) -> None:
    rows = [minute("weekly", number, lag=lag, rate_in=9.0) for number, lag in enumerate((1_000, 400, 500))]
    rows += [minute("daily", 0, lag=0), minute("new", 0, lag=3), minute("weekly", 1, "t", lag=9)]
    before = [
        past("weekly", 168 * week, lag, 9.0 if week > 2 else None)
        for week, lag in ((1, 90), (2, 100), (3, 130), (4, 100))
    ]
    before += [past("weekly", 24 * day, 7_777) for day in range(1, 7)]
    before += [past("weekly", 168 * 9, 1e9), past("weekly", 23, 1e9), past("daily", 24 * 20, 1e9)]
    before += [past("daily", 24 * day, lag) for day, lag in ((1, 10), (2, 20), (3, 30))]
    before += [past("new", 24, 3), past("new", 168, 3)]
    found = baseline(frame(spark, LAG, rows), before=frame(spark, BASELINE, before), since=DAY)
    chosen = found.selectExpr(
        "group", "hour", "hour_of_week", "lag", "lag_normal", "lag_spread", "round(lag_deviation, 4) d", "rate_in",
        "rate_in_normal", "basis", "hours",
    )  # fmt: skip
    expected = [
        ("weekly", at(0), 0, 500.0, 100.0, 5.0, round(400 / (5 * 1.4826), 4), 9.0, None, "hour of week", 4),
        ("daily", at(0), 0, 0.0, 20.0, 10.0, round(-20 / 14.826, 4), None, None, "hour of day", 3),
        ("new", at(0), 0, 3.0, None, None, None, None, None, None, 2),
    ]
    assertDataFrameEqual(chosen, spark.createDataFrame(expected, chosen.schema))
