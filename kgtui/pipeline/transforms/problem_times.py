"""Find when each problem in the gold table `health` began, and in which time window it ended.

Each row of the gold table `health` has the status of a group or partition in one time window.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F
from pyspark.sql.types import LongType

from kgtui.model.health import backlog_start
from kgtui.pipeline.transforms.recorded_state import to_timestamp

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import Column, DataFrame

HISTORY_MS = 86_400_000
"""How far back the recorded time lags are searched to find when a problem or backlog began, in milliseconds.

A time lag is the age of the first unread record.
"""

_KEY = ("group", "topic", "partition")


def with_age_histories(rows: DataFrame, lag: DataFrame) -> DataFrame:
    """Return for each row the time lags of its group or partition in the 24 hours up to `at`.

    A time lag is the age of the first unread record. Values that are only lower bounds are left out.

    Args:
        rows: rows with group, topic, partition, `at` (ms) and `steady_since` (ms). Time lags before `steady_since`, the
            first poll after the latest gap between polls, are not used.
        lag: the gold table `lag`.

    Returns:
        DataFrame with at, group, topic, partition and `ages`. `ages` is an array of structs (`at` in ms, time lag `age`
            in seconds), oldest first. Rows without time lags are left out.
    """
    known = lag.filter(F.col("time_lag").isNotNull() & ~F.coalesce("time_lag_at_least", F.lit(False))).select(
        *(F.col(name).alias(f"lag_{name}") for name in _KEY),
        F.unix_millis("covered_to").alias("read_at"),
        F.col("time_lag").alias("age"),
    )
    recent = (F.col("read_at") <= F.col("at")) & (F.col("read_at") >= F.col("at") - HISTORY_MS)
    same = recent & (F.col("read_at") >= F.col("steady_since")) & (F.col("group") == F.col("lag_group"))
    for name in _KEY[1:]:
        same &= F.col(name).eqNullSafe(F.col(f"lag_{name}"))
    joined = F.broadcast(rows.select("at", "steady_since", *_KEY)).join(known, same)
    ages = F.array_sort(F.collect_list(F.struct(F.col("read_at").alias("at"), "age"))).alias("ages")
    return joined.groupBy("at", *_KEY).agg(ages)


def rising_since(ages: Column) -> Column:
    """Return a Spark expression: when the time lag began to rise, in milliseconds since the epoch.

    The time lag is the age of the first unread record.

    Args:
        ages: time lags of a partition, from `with_age_histories`.
    """
    return _in_python(backlog_start.rising_since, ages)


def behind_since(ages: Column) -> Column:
    """Return a Spark expression: when the group's current backlog of unread records began, in ms since the epoch.

    Args:
        ages: time lags of the group, from `with_age_histories`.
    """
    return _in_python(backlog_start.behind_since, ages)


def _in_python(function: Callable[[Sequence[tuple[int, float]]], int], ages: Column) -> Column:
    # Use a Python function, because Spark expressions would search the array again for each element. Do not use Arrow,
    # because it needs pyarrow on the workers.
    run = F.udf(lambda pairs: function([tuple(pair) for pair in pairs]), LongType(), useArrow=False)
    return run(ages)


def with_problem_times(rows: DataFrame, before: DataFrame | None, lag: DataFrame | None) -> DataFrame:
    """Add the columns `bad_since` and `ended_since` to rows of the gold table `health`.

    - `bad_since`: when the current problem began; null if the status is OK or unknown
    - `ended_since`: beginning of the group's problem that ended in this time window; null if no problem ended

    Args:
        rows: for each time window, one row per group and one per unhealthy partition. The column `started` is the time
            (ms) at which the problem of a partition began, computed from the partition's commits.
        before: stored rows of `health` for earlier time windows; None if there are none.
        lag: the gold table `lag`, from which the start of a WARN or STOP problem is computed more exactly. None to use
            `started` for all problems.
    """
    order = Window.partitionBy(*_KEY).orderBy("at")
    bad, is_group = F.coalesce(F.col("status") != "OK", F.lit(False)), F.col("topic").isNull()
    follows = F.col("at_before") >= F.col("steady_since")
    was_bad = follows & F.lag(bad).over(order) & (F.lag("at").over(order) == F.col("at_before"))
    rows = rows.withColumns({"bad": bad, "was_bad": F.coalesce(was_bad, F.lit(False))})
    rows = rows.transform(_with_earlier_problems, before, follows)
    rows = rows.withColumn("begins", F.col("bad") & ~F.col("was_bad"))
    if lag is not None:
        rows = rows.transform(_with_start_of_rise, lag)
    began = F.when(F.col("begins"), F.coalesce("earlier", to_timestamp(F.coalesce("started", "at"))))
    since = F.when(F.col("bad") & ~is_group, F.last("began", ignorenulls=True).over(order))
    rows = rows.withColumn("began", began).withColumn("bad_since", since)
    # The problem of a group began when the earliest problem among its partitions began (`earliest`). Only partitions
    # that are unhealthy at the time `at` of the row are considered.
    earliest = F.min("bad_since").over(Window.partitionBy("at", "group"))
    began = F.when(F.col("begins"), F.coalesce("earlier", earliest, to_timestamp(F.col("at"))))
    since = F.when(F.col("bad"), F.last("began", ignorenulls=True).over(order))
    rows = rows.withColumn("began", F.when(is_group, began))
    rows = rows.withColumn("bad_since", F.when(is_group, since).otherwise(F.col("bad_since")))
    ended = F.coalesce(F.when(F.col("was_bad"), F.lag("bad_since").over(order)), "earlier")
    return rows.withColumn("ended_since", F.when(is_group & (F.col("status") == "OK"), ended))


def _with_earlier_problems(rows: DataFrame, before: DataFrame | None, follows: Column) -> DataFrame:
    """Add the column `earlier`: the value of `bad_since` that `before` contains for the previous time window.

    `earlier` is null if the status was OK, if `before` has no row for that time window, or after a gap between polls.

    Args:
        before: stored rows of `health` for earlier time windows; None if there are none.
        follows: expression that is true if there was no gap between polls since the previous time window.
    """
    if before is None:
        return rows.withColumn("earlier", F.lit(None).cast("timestamp"))
    earlier = before.filter(F.col("bad_since").isNotNull()).select(
        *(F.col(name).alias(f"old_{name}") for name in _KEY),
        F.col("bad_since").alias("earlier"),
        F.unix_millis("covered_to").alias("old_at"),
    )
    same = follows & (F.col("old_at") == F.col("at_before"))
    for name in _KEY:
        same &= F.col(name).eqNullSafe(F.col(f"old_{name}"))
    return rows.join(earlier, same, "left")


def _with_start_of_rise(rows: DataFrame, lag: DataFrame) -> DataFrame:
    """In rows in which a partition becomes WARN or STOP, compute the column `started` from the partition's time lags.

    - WARN: the time at which the time lag began to rise
    - STOP: the later of two times: the last commit, and the time at which the oldest unread record was written
    """
    begins = rows.filter(F.col("begins") & F.col("topic").isNotNull() & F.col("status").isin("WARN", "STOP"))
    ages = with_age_histories(begins, lag).select(
        *(F.col(name).alias(f"aged_{name}") for name in ("at", *_KEY)),
        rising_since(F.col("ages")).alias("risen"),
        F.element_at("ages", -1).alias("newest"),
    )
    same = F.col("begins") & (F.col("at") == F.col("aged_at")) & (F.col("group") == F.col("aged_group"))
    same &= (F.col("topic") == F.col("aged_topic")) & (F.col("partition") == F.col("aged_partition"))
    written = (F.col("newest")["at"] - F.col("newest")["age"] * 1000).cast("long")
    started = (
        F.when(F.col("status") == "WARN", F.coalesce("risen", "started"))
        .when(F.col("status") == "STOP", F.greatest("started", written))
        .otherwise(F.col("started"))
    )
    return rows.join(F.broadcast(ages), same, "left").withColumn("started", started)
