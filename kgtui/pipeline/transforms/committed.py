"""Windows of the commits themselves, from silver `commits`, with the log ends that polls have seen beside them.

They tell what polls cannot see: that the same offset is committed again and again. But of the past a compacted topic
keeps only the last commits, so a window counts only where it is full, lies within one stretch of polls without a gap,
ends in the position that the poll saw, and where records were read up to that poll.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from kgtui.pipeline.transforms.recorded import PARTITION_KEY, whole
from kgtui.pipeline.transforms.verdicts import COMMIT

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from kgtui.model.verdict import Options

_LOG = ("topic", "partition")


def with_commits(
    seen: DataFrame, commits: DataFrame, partitions: DataFrame, times: DataFrame, options: Options
) -> DataFrame:
    """Put the commits themselves into windows that polls saw, where they count; add whether they are `exact`.

    Args:
        seen: what `observed.windows` gave, with `steady_since`.
        commits: silver `commits`.
        partitions: as recorded, for their log ends.
    """
    rings = whole(partitions, times).transform(_rings, commits, options)
    upto = commits.agg(F.max(F.unix_millis("record_time")).alias("upto"))
    order = Window.partitionBy(*PARTITION_KEY).orderBy("at", F.col("asks").isNotNull(), "record_offset")
    both = seen.withColumn("asks", F.lit(True)).unionByName(rings, allowMissingColumns=True)
    both = both.withColumn("ring", F.last("ring", ignorenulls=True).over(order)).filter("asks")
    exact = (
        (F.size("ring") == options.intervals)
        & (F.element_at("ring", 1)["at"] >= F.col("steady_since"))
        & (F.element_at("ring", -1)["offset"] == F.col("position"))
        & (F.col("upto") >= F.col("at"))
    )
    both = both.join(F.broadcast(upto)).withColumn("exact", F.coalesce(exact, F.lit(False)))
    ours = F.when(F.col("exact"), F.col("ring")).otherwise(F.col("commits"))
    return both.withColumn("commits", ours).drop("asks", "ring", "upto", "record_offset")


def _rings(rows: DataFrame, commits: DataFrame, options: Options) -> DataFrame:
    """The window as of each commit: `kgtui.model.verdict.CommitRing`; empty after a tombstone."""
    told = commits.select(
        *PARTITION_KEY,
        F.coalesce(F.unix_millis("commit_time"), F.unix_millis("record_time")).alias("at"),
        "offset",
        "record_offset",
    )
    order = Window.partitionBy(*PARTITION_KEY).orderBy("record_offset")
    earlier = Window.partitionBy(*PARTITION_KEY, "life").orderBy("record_offset")
    newest = F.max(F.when(F.col("offset").isNotNull(), F.col("at"))).over(
        earlier.rowsBetween(Window.unboundedPreceding, -1)
    )
    known = (
        told.transform(_with_end, rows)
        .withColumn("life", F.sum(F.col("offset").isNull().cast("int")).over(order))
        .withColumn("newest", F.when(F.col("offset").isNotNull(), newest))
        .filter(F.col("newest").isNull() | (F.col("at") >= F.col("newest")))
    )
    commit = F.when(F.col("offset").isNotNull(), F.struct("offset", "at", _lag().alias("lag")).cast(COMMIT))
    # Of a life that a tombstone began it is the first row, and no commit.
    ring = F.collect_list("commit").over(earlier.rowsBetween(1 - options.intervals, 0))
    return known.withColumn("commit", commit).select(*PARTITION_KEY, "at", "record_offset", ring.alias("ring"))


def _with_end(commits: DataFrame, rows: DataFrame) -> DataFrame:
    """Add the newest log end that was seen before each commit."""
    ends = rows.groupBy(*_LOG, F.col("poll").alias("at")).agg(F.max("log_end").alias("end"))
    both = commits.withColumn("asks", F.lit(True)).unionByName(ends, allowMissingColumns=True)
    order = Window.partitionBy(*_LOG).orderBy("at", F.col("asks").isNotNull())
    seen = F.last("end", ignorenulls=True).over(order.rowsBetween(Window.unboundedPreceding, 0))
    return both.withColumn("end", seen).filter("asks").drop("asks")


def _lag() -> Column:
    return F.when(F.col("end").isNotNull(), F.greatest(F.col("end") - F.col("offset"), F.lit(0).cast("long")))
