"""Gold `lag`: position, lag, rates and time lag of each partition and group, minute by minute, from recordings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from kgtui.history.schemas.gold import LAG, RECORDED
from kgtui.pipeline.transforms.recorded import (
    GROUP_KEY,
    PARTITION_KEY,
    anchored,
    carried,
    day_of,
    instant,
    slots,
    timeline,
    unread,
    whole,
)
from kgtui.pipeline.transforms.time_lag import with_time_lag

if TYPE_CHECKING:
    from datetime import date

    from pyspark.sql import Column, DataFrame

MINUTE = 60
"""Seconds of a row."""


def lag(
    polls: DataFrame, groups: DataFrame, partitions: DataFrame, faults: DataFrame, *, since: date | None = None
) -> DataFrame:
    """The table `lag`, from recorded tables.

    Args:
        since: the first day that is wanted; what was recorded before tells the age of unread records, and the rates
            of the first minute.
    """
    times = timeline(polls)
    minutes = slots(times, MINUTE, since)
    listed = carried(whole(groups, times), minutes, GROUP_KEY)
    blind = unread(whole(faults, times), listed, minutes)
    rows = anchored(partitions, times, PARTITION_KEY)
    read = (
        carried(rows, minutes, PARTITION_KEY)
        .join(F.broadcast(blind), ["at", "group"], "left_anti")
        .transform(with_lag)
        .transform(with_rates)
        .transform(lambda found: with_time_lag(found, rows))
    )
    found = read.transform(_of_partitions).unionByName(_of_groups(read, listed, blind))
    return (found if since is None else found.filter(F.col("day") >= F.lit(since))).select(*LAG.names)


def with_lag(rows: DataFrame) -> DataFrame:
    """Add position, lag, lead and lost as `kgtui.model.offsets` counts them, and whether a lag is `missing`.

    Args:
        rows: of recorded `partitions`.
    """
    share, fine = F.col("kind") == "share", F.coalesce("error", F.lit(0)) == 0
    position = F.when(share, F.col("spso")).otherwise(F.col("committed"))
    known = F.when(share | fine, position)
    counted = F.greatest(F.col("log_end") - known, F.lit(0).cast("long"))
    of_log = F.when(known.isNotNull() & F.col("log_end").isNull(), F.col("log_error"))
    code = F.when(share | ~fine, F.col("error")).otherwise(of_log)
    return rows.withColumns({
        "position": position,
        "lag": F.when(share, F.col("lag")).otherwise(_if_known(counted, known, F.col("log_end"))),
        "lead": _if_known(F.greatest(known - F.col("log_start"), F.lit(0).cast("long")), known, F.col("log_start")),
        "lost": _if_known(F.greatest(F.col("log_start") - known, F.lit(0).cast("long")), known, F.col("log_start")),
        "error": F.nullif(code, F.lit(0)),
    }).withColumn("missing", F.col("lag").isNull() & (~fine | F.col("position").isNotNull()))  # fmt: skip


def _if_known(value: Column, *needed: Column) -> Column:
    """`greatest` passes over nulls: say null where something is not known."""
    known = F.lit(True)
    for column in needed:
        known &= column.isNotNull()
    return F.when(known, value)


def with_rates(rows: DataFrame) -> DataFrame:
    """Add rate_in and rate_out since the slot before; null across a gap, and where an offset went back."""
    order = Window.partitionBy(*PARTITION_KEY).orderBy("turn")
    follows = (F.lag("turn").over(order) == F.col("turn") - 1) & (
        F.lag("steady_since").over(order) == F.col("steady_since")
    )
    seconds = (F.col("at") - F.lag("at").over(order)) / 1000
    rows = rows.withColumns({
        "span": F.when(follows, seconds),
        "grown": F.col("log_end") - F.lag("log_end").over(order),
        "moved": F.col("position") - F.lag("position").over(order),
    })  # fmt: skip
    return rows.withColumns({
        "rate_in": F.when(F.col("grown") >= 0, F.col("grown") / F.col("span")),
        "rate_out": F.when(F.col("moved") >= 0, F.col("moved") / F.col("span")),
    }).drop("span", "grown", "moved")  # fmt: skip


def _of_partitions(rows: DataFrame) -> DataFrame:
    return rows.withColumns({
        "partitions": F.lit(None).cast("int"),
        "unknown": F.lit(None).cast("int"),
        "members": F.lit(None).cast("int"),
        "state": F.lit(None).cast("string"),
    }).transform(_contract)  # fmt: skip


def _of_groups(rows: DataFrame, listed: DataFrame, blind: DataFrame) -> DataFrame:
    """One row for each group that was listed; without sums where its offsets were not read."""
    sums = rows.groupBy("at", "group").agg(
        F.sum("lag").alias("lag"),
        F.min("lead").alias("lead"),
        F.sum("lost").alias("lost"),
        F.sum("rate_in").alias("rate_in"),
        F.sum("rate_out").alias("rate_out"),
        F.max("time_lag").alias("time_lag"),
        F.bool_or(F.col("time_lag_at_least") | F.col("missing")).alias("time_lag_at_least"),
        F.count(F.lit(1)).cast("int").alias("partitions"),
        F.count_if("missing").cast("int").alias("unknown"),
    )
    read = F.col("not_read").isNull()
    found = (
        listed.select("at", "slot", "first", "steady_since", "group", "members", "state")
        .join(sums, ["at", "group"], "left")
        .join(F.broadcast(blind.withColumn("not_read", F.lit(True))), ["at", "group"], "left")
    )
    return found.withColumns({
        "topic": F.lit(None).cast("string"),
        "partition": F.lit(None).cast("int"),
        "position": F.lit(None).cast("long"),
        "log_start": F.lit(None).cast("long"),
        "log_end": F.lit(None).cast("long"),
        "kind": F.lit(None).cast("string"),
        "error": F.lit(None).cast("int"),
        "time_lag_at_least": F.when(F.col("time_lag").isNotNull(), F.col("time_lag_at_least")),
        "partitions": F.when(read, F.coalesce("partitions", F.lit(0))),
        "unknown": F.when(read, F.coalesce("unknown", F.lit(0))),
    }).transform(_contract)  # fmt: skip


def _contract(rows: DataFrame) -> DataFrame:
    return rows.withColumns({
        "day": day_of(F.col("slot")),
        "minute": instant(F.col("slot")),
        "steady_since": instant(F.col("steady_since")),
        "source": F.lit(RECORDED),
        "covered_from": instant(F.col("first")),
        "covered_to": instant(F.col("at")),
    }).select(*LAG.names)  # fmt: skip
