"""Windows of commits as polls saw them: a change of a position stands for a commit at the poll that saw it.

As in `kgtui.model.health.observed`, the position unchanged since stands for the last commit's time. A window begins
anew after a gap, and when a partition comes back: what happened in between is not known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from kgtui.pipeline.transforms.lag import with_lag
from kgtui.pipeline.transforms.lives import with_lives
from kgtui.pipeline.transforms.recorded import PARTITION_KEY, anchored

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from kgtui.model.verdict import Options

_EARLY = 0.9  # part of `offset_refresh` after which a log end is taken, as in the model

_LIFE = (*PARTITION_KEY, "steady_since", "life")
_STATE = (
    "keyframe", "gone", "steady_since", "kind", "position", "lag", "missing", "commits", "moves", "first_read",
    "still_since",
)  # fmt: skip


def windows(times: DataFrame, partitions: DataFrame, moments: DataFrame, options: Options) -> DataFrame:
    """The window of each partition at some moments.

    Args:
        partitions: as recorded.
        moments: what `slots` gave.

    Returns:
        at, group, topic, partition, kind, position, lag, missing; commits, moves, lowest_end, now for `verdicts`;
        steady_since; first_read; still_since: since when nothing was acknowledged, of share partitions.
    """
    rows = (
        anchored(partitions, times, PARTITION_KEY)
        .transform(with_lag)
        .transform(with_lives, (*PARTITION_KEY, "steady_since"))
    )
    rows = rows.transform(_with_commits, options).transform(_with_stillness, options)
    every = options.offset_refresh * 1000 * _EARLY
    order = Window.partitionBy("keyframe", *PARTITION_KEY).orderBy("poll")
    spans = rows.select(
        *PARTITION_KEY, "poll", "log_end", *_STATE, F.lead("poll").over(order).alias("until")
    )  # fmt: skip
    looks = _looks(times, moments, options.intervals, every)
    held = (F.col("poll") <= F.col("to")) & (F.col("until").isNull() | (F.col("until") > F.col("from")))
    found = spans.join(F.broadcast(looks), (F.col("keyframe") == F.col("look_keyframe")) & held)
    return (
        found.groupBy("at", "of_keyframe", *PARTITION_KEY)
        .agg(F.max_by(F.struct(*_STATE), "poll").alias("state"), F.min("log_end").alias("lowest_end"))
        .filter((F.col("state.keyframe") == F.col("of_keyframe")) & ~F.col("state.gone"))
        .select("at", *PARTITION_KEY, "state.*", "lowest_end", F.col("at").alias("now"))
        .drop("keyframe", "gone")
    )


def _looks(times: DataFrame, moments: DataFrame, intervals: int, every: float) -> DataFrame:
    """From which poll to which the log ends of a moment's ring were refreshed, in each keyframe that it touches."""
    polls = times.select("poll", F.col("keyframe").alias("look_keyframe"), F.col("number").alias("turn"))
    reach = (intervals - 1) * F.greatest(F.ceil(F.lit(every) / F.col("interval_ms")), F.lit(1))
    within = F.col("turn").between(F.col("number") - reach, F.col("number")) & (F.col("poll") >= F.col("steady_since"))
    return (
        moments.select("at", F.col("keyframe").alias("of_keyframe"), "number", "interval_ms", "steady_since")
        .join(F.broadcast(polls), within)
        .groupBy("at", "of_keyframe", "look_keyframe")
        .agg(F.min("poll").alias("from"), F.max("poll").alias("to"))
    )


def _with_commits(rows: DataFrame, options: Options) -> DataFrame:
    """Add the ring of commits as of each row; the lag of one is counted from a log end `offset_refresh` old."""
    order = Window.partitionBy(*_LIFE).orderBy("poll")
    earlier = order.rowsBetween(Window.unboundedPreceding, -1)
    early = order.rangeBetween(Window.unboundedPreceding, -round(options.offset_refresh * 1000 * _EARLY))
    last = F.last("counts", ignorenulls=True).over(earlier)
    end = F.last("log_end", ignorenulls=True).over(early)
    refreshed = F.when(F.col("kind") == "share", F.col("lag")).otherwise(_lag(end, F.col("position")))
    # Of a share partition only reads count whose lag the broker told.
    counts = F.when((F.col("kind") != "share") | F.col("lag").isNotNull(), F.col("position"))
    rows = rows.withColumn("counts", counts)
    moved = F.col("counts").isNotNull() & (last.isNull() | (F.col("counts") != last))
    rows = rows.withColumns({"moved": moved, "commit_lag": refreshed})
    commit = F.struct(F.col("position").alias("offset"), F.col("poll").alias("at"), F.col("commit_lag").alias("lag"))
    ring = Window.partitionBy(*_LIFE, "moved").orderBy("poll").rowsBetween(1 - options.intervals, 0)
    rows = rows.withColumn("ring", F.collect_list(commit).over(ring))
    empty = F.array().cast("array<struct<offset: bigint, at: bigint, lag: bigint>>")
    return rows.withColumns({
        "commits": F.coalesce(F.last(F.when(F.col("moved"), F.col("ring")), ignorenulls=True).over(order), empty),
        "moves": F.sum(F.col("moved").cast("int")).over(order),
        "first_read": F.min(F.when(F.col("counts").isNotNull(), F.col("poll"))).over(order),
    })  # fmt: skip


def _with_stillness(rows: DataFrame, options: Options) -> DataFrame:
    """Add since when a share partition has lag and nothing of it was acknowledged."""
    order = Window.partitionBy(*_LIFE).orderBy("poll")
    told = F.when(F.col("counts").isNotNull(), F.struct("position", "lag"))
    rows = rows.withColumn("told", told)
    rows = rows.withColumn(
        "was", F.last("told", ignorenulls=True).over(order.rowsBetween(Window.unboundedPreceding, -1))
    )
    was = F.col("was")
    went_on = (F.col("position") == was["position"]) & (F.col("lag") >= was["lag"]) & (was["lag"] > options.allowed_lag)
    works = F.col("told").isNotNull() & ~F.coalesce(went_on, F.lit(False))
    rows = rows.withColumn("works", works)
    return rows.withColumn("still_since", F.last(F.when(F.col("works"), F.col("poll")), ignorenulls=True).over(order))


def _lag(end: Column, position: Column) -> Column:
    return F.when(end.isNotNull(), F.greatest(end - position, F.lit(0).cast("long")))
