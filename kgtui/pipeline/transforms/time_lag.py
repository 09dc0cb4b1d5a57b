"""How old the oldest unread record is: by interpolation over the log ends that all groups together have seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LOG = ("topic", "partition")


def with_time_lag(found: DataFrame, rows: DataFrame) -> DataFrame:
    """Add `time_lag` (seconds) and `time_lag_at_least`, as `kgtui.model.health.rates.time_lag` has them.

    The record at a position was written between the last poll whose log end was not beyond it and the next. Where a
    gap lies between the two, or nothing was seen before, it is at least as old as the later one.

    Args:
        found: positions with `lag`, `at` and the `poll` that wrote the row.
        rows: recorded `partitions`, from as long ago as is to be looked back.
    """
    ends = log_ends(rows)
    ages = ends.select(*_LOG, "poll", "generation")
    asked = found.join(ages, [*_LOG, "poll"], "left")
    unread = asked.filter((F.col("lag") > 0) & F.col("position").isNotNull())
    written = _written(ends, unread.select(*_LOG, "generation", "position").distinct())
    waiting = F.col("lag") > 0
    seconds = (F.col("at") - F.coalesce("between", "seen")) / 1000
    return (
        asked.join(written, [*_LOG, "generation", "position"], "left")
        .withColumns({
            "time_lag": F.when(F.col("lag") == 0, F.lit(0.0)).when(waiting, seconds),
            "time_lag_at_least": F.when(F.col("lag") == 0, F.lit(False)).when(
                waiting & F.col("seen").isNotNull(), F.col("between").isNull()
            ),
        })
        .drop("generation", "between", "seen")
    )  # fmt: skip


def log_ends(rows: DataFrame) -> DataFrame:
    """Every log end that was seen, with the one before it.

    Returns:
        topic, partition, poll, `end`; `generation`: how often the log had begun anew; `before`: the log end at
        `before_at`, the poll just before; null when that is not known.
    """
    seen = rows.groupBy(*_LOG, "poll").agg(F.max("log_end").alias("end"), F.first("previous").alias("previous"))
    order = Window.partitionBy(*_LOG).orderBy("poll")
    known = F.last("end", ignorenulls=True).over(order.rowsBetween(Window.unboundedPreceding, -1))
    seen = seen.withColumns(
        {"anew": F.coalesce(F.col("end") < known, F.lit(False)), "before": F.lag("end").over(order)}
    )
    both = F.col("before").isNotNull() & F.col("previous").isNotNull() & ~F.col("anew")
    return seen.select(
        *_LOG,
        "poll",
        "end",
        F.sum(F.col("anew").cast("int")).over(order).alias("generation"),
        F.when(both, F.col("before")).alias("before"),
        F.when(both, F.col("previous")).alias("before_at"),
    )


def _written(ends: DataFrame, positions: DataFrame) -> DataFrame:
    """When the record at each position was written: `between` two polls, and `seen` at the later of them."""
    points = (
        ends.filter(F.col("end").isNotNull())
        .groupBy(*_LOG, "generation", "end")
        .agg(F.min_by(F.struct("end", "poll", "before", "before_at"), "poll").alias("point"))
        .select(*_LOG, "generation", F.col("end").alias("offset"), "point")
    )
    asked = positions.select(*_LOG, "generation", F.col("position").alias("offset"), "position")
    # Descending, so that the frame grows row by row: the last one before is the nearest log end beyond the position.
    beyond = (
        Window.partitionBy(*_LOG, "generation").orderBy(-F.col("offset")).rangeBetween(Window.unboundedPreceding, -1)
    )
    later = points.unionByName(asked, allowMissingColumns=True).withColumn(
        "later", F.last("point", ignorenulls=True).over(beyond)
    )
    step = (F.col("position") + 1 - F.col("later.before")) / (F.col("later.end") - F.col("later.before"))
    between = F.col("later.before_at") + (F.col("later.poll") - F.col("later.before_at")) * step
    return later.filter(F.col("position").isNotNull() & F.col("later").isNotNull()).select(
        *_LOG, "generation", "position", between.alias("between"), F.col("later.poll").alias("seen")
    )
