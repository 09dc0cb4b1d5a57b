"""How old the oldest unread record is: by interpolation over the log ends that all groups together have seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_LOG = ("topic", "partition")


def with_log_ends(rows: DataFrame) -> DataFrame:
    """Add `generation`, how often the log had begun anew, and the log end `before` at the poll `before_at`.

    `before` is null where it is not known what the log end was at the poll just before, and where it is the same.

    Args:
        rows: of recorded `partitions`, of polls that came to be. All rows of a poll tell the same of a log.
    """
    order = Window.partitionBy(*_LOG).orderBy("poll")
    earlier = order.rangeBetween(Window.unboundedPreceding, -1)
    end, known = F.col("log_end"), F.last("log_end", ignorenulls=True).over(earlier)
    rows = rows.withColumns({"before": F.last("log_end").over(earlier), "anew": F.coalesce(end < known, F.lit(False))})
    grew = (F.col("before") < end) & F.col("previous").isNotNull()
    return rows.withColumns({
        "generation": F.sum(F.col("anew").cast("int")).over(order),
        "before": F.when(grew, F.col("before")),
        "before_at": F.when(grew, F.col("previous")),
    }).drop("anew")  # fmt: skip


def with_time_lag(found: DataFrame, rows: DataFrame) -> DataFrame:
    """Add `time_lag` (seconds) and `time_lag_at_least`, as `kgtui.model.health.rates.time_lag` has them.

    The record at a position was written between the last poll whose log end was not beyond it and the next. Where a
    gap lies between the two, or nothing was seen before, it is at least as old as the later one.

    Args:
        found: positions with `lag`, `at` and the `generation` of their log.
        rows: what `with_log_ends` gave, from as long ago as is to be looked back.
    """
    ends = rows.filter(F.col("log_end").isNotNull()).select(
        *_LOG,
        "generation",
        F.col("log_end").alias("offset"),
        F.struct(F.col("log_end").alias("end"), "poll", "before", "before_at").alias("seen"),
    )
    asked = found.withColumns({"offset": F.col("position"), "asks": F.lit(True)})
    # Downwards, so that the frame grows row by row. Of those beyond the position the last is the nearest, and of
    # those with the same end the one that was seen first.
    beyond = (
        Window.partitionBy(*_LOG, "generation").orderBy(-F.col("offset")).rangeBetween(Window.unboundedPreceding, -1)
    )
    seen = F.col("seen")
    nearest = F.min_by(seen, F.when(seen.isNotNull(), F.struct(seen["end"], seen["poll"]))).over(beyond)
    both = asked.unionByName(ends, allowMissingColumns=True).withColumn("next", nearest).filter("asks")
    step = (F.col("position") + 1 - F.col("next.before")) / (F.col("next.end") - F.col("next.before"))
    between = F.col("next.before_at") + (F.col("next.poll") - F.col("next.before_at")) * step
    waits = (F.col("lag") > 0) & F.col("position").isNotNull()
    return both.withColumns({
        "time_lag": F.when(F.col("lag") == 0, F.lit(0.0)).when(
            waits, (F.col("at") - F.coalesce(between, F.col("next.poll"))) / 1000
        ),
        "time_lag_at_least": F.when(F.col("lag") == 0, F.lit(False)).when(
            waits & F.col("next").isNotNull(), between.isNull()
        ),
    }).drop("offset", "seen", "asks", "next")  # fmt: skip
