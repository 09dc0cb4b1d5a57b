"""Tests of computing when a group's backlog began, from time lags (ages of the first unread record).

Time lags before the latest recording gap (time without polls) are not used.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kgtui.lake.schemas import LAG
from kgtui.pipeline.transforms.problem_times import rising_since, with_age_histories
from tests.spark.recorded_rows import at, frame, ms

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_backlog_begins_when_the_time_lag_begins_to_rise(spark: SparkSession) -> None:
    """All time lags (ages of the first unread record) begin to rise in minute 200.

    For partition 0 of group `g`, the backlog began in this minute. For group `g` as a whole, it began in minute 230: a
    recording gap (time without polls) ends in minute 230, and time lags before the gap are not used.
    """
    series = (("g", "t", 0, 0), ("g", "t", 1, 700), ("g", None, None, 0), ("h", "t", 0, 9))
    lag = [
        {"group": group, "topic": topic, "partition": partition, "covered_to": at(60 * minute),
         "time_lag": float(shift + (60 * (minute - 200) if minute > 200 else 5)), "time_lag_at_least": minute < 10}
        for group, topic, partition, shift in series
        for minute in range(300)
    ]  # fmt: skip
    rows = [("g", "t", 0, ms(60 * 260), ms(0)), ("g", None, None, ms(60 * 250), ms(60 * 230)),
            ("none", "t", 0, ms(60 * 260), ms(0))]  # fmt: skip
    asked = spark.createDataFrame(rows, "group STRING, topic STRING, partition INT, at LONG, steady_since LONG")
    found = with_age_histories(asked, frame(spark, LAG, lag)).withColumn("since", rising_since(F.col("ages"))).collect()
    since = {(row["group"], row["topic"]): (len(row["ages"]), row["since"]) for row in found}
    assert since.keys() == {("g", "t"), ("g", None)}
    assert since["g", None] == (21, ms(60 * 230)), "the time lag already rose at the first read after the gap"
    assert since["g", "t"][0] == 251
    assert abs(since["g", "t"][1] - ms(60 * 200)) <= timedelta(minutes=2) / timedelta(milliseconds=1)
