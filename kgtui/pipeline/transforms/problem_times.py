"""Find when each problem in the gold table `health` began, and in which time window it ended.

Each row of the gold table `health` has the status of a group, or of a group in one partition, in
one time window (by default five minutes). A problem is a series of time windows in which the status
is worse than OK.
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
"""How far back the gold table `lag` is searched to find when a problem began, in milliseconds.

The search uses the time lags in this table. A time lag is the age of the first unread record.
"""

_KEY = ("group", "topic", "partition")


def with_age_histories(rows: DataFrame, lag: DataFrame) -> DataFrame:
    """Return for each row the time lags of its group or partition in the 24 hours up to `at`.

    A time lag is the age of the first unread record. Values that are only lower bounds are left
    out.

    Args:
        rows: rows with group, topic, partition, and two times in ms since the epoch: `at`, and
            `steady_since`, the first poll after the latest gap between polls. Time lags before
            `steady_since` are not used.
        lag: the gold table `lag`.

    Returns:
        DataFrame with at, group, topic, partition and `ages`, an array of structs, oldest first.
            Each struct has a time `at` (ms since the epoch) and the time lag `age` (seconds). Rows
            without time lags are left out.
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
        ages: time lags of a group in a partition, oldest first, from `with_age_histories`.
    """
    return _in_python(backlog_start.rising_since, ages)


def behind_since(ages: Column) -> Column:
    """Return a Spark expression: when the group began to have its current unread records (backlog).

    The result is in milliseconds since the epoch.

    Args:
        ages: ages of the group's first unread record, oldest first, from `with_age_histories`.
    """
    return _in_python(backlog_start.behind_since, ages)


def _in_python(function: Callable[[Sequence[tuple[int, float]]], int], ages: Column) -> Column:
    # Use a Python function, because Spark expressions would search the array again for each
    # element. Do not use Arrow, because Arrow needs pyarrow on the workers.
    run = F.udf(lambda pairs: function([tuple(pair) for pair in pairs]), LongType(), useArrow=False)
    return run(ages)


def with_problem_times(rows: DataFrame, before: DataFrame | None, lag: DataFrame | None) -> DataFrame:
    """Add the columns `bad_since` and `ended_since` to rows of the gold table `health`.

    - `bad_since`: when the current problem began; null if the status is OK or unknown
    - `ended_since`: in the time window in which a group becomes OK, the beginning of the problem
      that has ended; null in all other rows

    Args:
        rows: for each time window, one row per group and one per unhealthy partition. The column
            `started` is the time (ms) at which the problem of a partition began, computed from
            commits.
        before: stored rows of `health` for earlier time windows; None if there are none.
        lag: the gold table `lag`, from which the start of a WARN or STOP problem is computed more
            exactly. None to use `started` for all problems.
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
    # The problem of a group began when the first of the current problems in its partitions began
    # (`earliest`). A problem is current if the partition is unhealthy at the time `at` of the row.
    earliest = F.min("bad_since").over(Window.partitionBy("at", "group"))
    began = F.when(F.col("begins"), F.coalesce("earlier", earliest, to_timestamp(F.col("at"))))
    since = F.when(F.col("bad"), F.last("began", ignorenulls=True).over(order))
    rows = rows.withColumn("began", F.when(is_group, began))
    rows = rows.withColumn("bad_since", F.when(is_group, since).otherwise(F.col("bad_since")))
    ended = F.coalesce(F.when(F.col("was_bad"), F.lag("bad_since").over(order)), "earlier")
    return rows.withColumn("ended_since", F.when(is_group & (F.col("status") == "OK"), ended))


def _with_earlier_problems(rows: DataFrame, before: DataFrame | None, follows: Column) -> DataFrame:
    """Add the column `earlier`: the stored value of `bad_since` from the previous time window.

    The value says when the problem began that the group or partition had in that time window.
    `earlier` is null if the status was OK then, if there is no stored row for that time window, or
    after a gap between polls.

    Args:
        before: stored rows of `health` for earlier time windows; None if there are none.
        follows: Spark expression: whether there was no gap between polls since the previous time
            window.
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
    """Compute more exactly when the status of a partition became WARN or STOP (column `started`).

    The gold table `lag` contains time lags, which are ages of the first unread record. The column
    `started` is changed only in the first row of a problem.

    - WARN: `started` becomes the time at which the time lag began to rise, if time lags are known.
    - STOP: `started` becomes the time at which the first unread record was written, if this time is
      later than `started`.
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
