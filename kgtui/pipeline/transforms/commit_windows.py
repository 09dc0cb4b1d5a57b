"""Build a window for each partition: its latest commits, from which gold `health` computes the partition's status.

A window comes from one of two sources. The first source is polls, which show positions but no commits. If a poll shows
a new position, this counts as a commit at the time of the poll, as in `kgtui.model.health.judging`. A new window begins
after a gap between polls, and when a partition exists again after it was gone, because commits may be missing.

The second source is silver `commits`. It also contains commits that do not change the offset, but it may be incomplete,
because the topic is compacted. Therefore a window of silver commits is used only if all of these conditions hold: it is
full, it begins after the latest gap between polls, its last offset is the position that the poll observed, and records
of `__consumer_offsets` were decoded up to the time of the poll.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from kgtui.pipeline.transforms.lag import with_lag
from kgtui.pipeline.transforms.recorded_state import (
    PARTITION_KEY,
    with_lifetimes,
    with_state_after_gaps,
    with_timeline,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from kgtui.model.burrow import Options

COMMIT = "struct<offset: bigint, at: bigint, lag: bigint>"
"""Spark type of one commit in the column `commits`. Its time `at` is in milliseconds."""

_LOG = ("topic", "partition")
_REFRESH_EARLY = 0.9
"""Minimum age of the log end offset from which the lag of a commit is computed, as a fraction of `offset_refresh`.

Burrow reads log end offsets once per `offset_refresh` seconds, so its log end offset can be that old at a commit. The
fraction is below 1, because polls may come slightly early. `kgtui.model.health.judging` uses the same fraction.
"""

_LIFETIME = (*PARTITION_KEY, "steady_since", "lifetime")
_STATE = (
    "keyframe", "gone", "steady_since", "kind", "position", "lag", "missing", "commits", "moves", "first_read",
    "still_since",
)  # fmt: skip


def observed_windows(timeline: DataFrame, partitions: DataFrame, times: DataFrame, options: Options) -> DataFrame:
    """Return the window of each partition at the last poll of each time slot, from the recorded table `partitions`.

    The window is the partition's newest commits, at most `Options.intervals`, from which Burrow's rules determine the
    partition's status. A change of the position (committed offset or share-partition start offset) between two polls
    counts as a commit.

    Args:
        timeline: result of `poll_timeline`.
        times: result of `time_slots`.

    Returns:
        DataFrame with the columns at (last poll of the slot), group, topic, partition, kind, position, lag, and
        - `commits`: array of `COMMIT`, oldest first
        - `moves`: number of commits that polls observed since the partition appeared or since the latest gap
        - `lowest_end`: lowest log end offset during the window
        - `now`: time for which the status is computed; the same as `at`
        - `first_read`: first poll that showed a position
        - `missing`: see `with_lag`
        - `steady_since`: see `poll_timeline`
        - `still_since`: see `_with_still_since`
    """
    rows = (
        with_state_after_gaps(partitions, timeline, PARTITION_KEY)
        .transform(with_lag)
        .transform(with_lifetimes, (*PARTITION_KEY, "steady_since"))
    )
    rows = rows.transform(_with_observed_commits, options).transform(_with_still_since, options)
    refresh_ms = options.offset_refresh * 1000 * _REFRESH_EARLY
    order = Window.partitionBy("keyframe", *PARTITION_KEY).orderBy("poll")
    spans = rows.select(
        *PARTITION_KEY, "poll", "log_end", *_STATE, F.lead("poll").over(order).alias("until")
    )  # fmt: skip
    ranges = _log_end_ranges(timeline, times, options.intervals, refresh_ms)
    overlap = (F.col("poll") <= F.col("to")) & (F.col("until").isNull() | (F.col("until") > F.col("from")))
    joined = spans.join(F.broadcast(ranges), (F.col("keyframe") == F.col("range_keyframe")) & overlap)
    return (
        joined.groupBy("at", "of_keyframe", *PARTITION_KEY)
        .agg(F.max_by(F.struct(*_STATE), "poll").alias("state"), F.min("log_end").alias("lowest_end"))
        .filter((F.col("state.keyframe") == F.col("of_keyframe")) & ~F.col("state.gone"))
        .select("at", *PARTITION_KEY, "state.*", "lowest_end", F.col("at").alias("now"))
        .drop("keyframe", "gone")
    )


def _log_end_ranges(timeline: DataFrame, times: DataFrame, intervals: int, refresh_ms: float) -> DataFrame:
    """Return, for each poll in `times`, the range of polls whose log end offsets belong to the window at this poll.

    As in Burrow, the window spans the time in which `intervals` log end offsets are read, one every `refresh_ms`
    milliseconds, but the window never begins before the latest gap. A range that spans several keyframes is divided
    into one row per keyframe.

    Returns:
        DataFrame with the columns
        - `at`, `of_keyframe`: the poll in `times`, and its keyframe
        - `range_keyframe`, `from`, `to`: a keyframe, and the first and last poll of the range that belong to it
    """
    polls = timeline.select("poll", F.col("keyframe").alias("range_keyframe"), F.col("number").alias("poll_number"))
    reach = (intervals - 1) * F.greatest(F.ceil(F.lit(refresh_ms) / F.col("interval_ms")), F.lit(1))
    within = F.col("poll_number").between(F.col("number") - reach, F.col("number"))
    return (
        times.select("at", F.col("keyframe").alias("of_keyframe"), "number", "interval_ms", "steady_since")
        .join(F.broadcast(polls), within & (F.col("poll") >= F.col("steady_since")))
        .groupBy("at", "of_keyframe", "range_keyframe")
        .agg(F.min("poll").alias("from"), F.max("poll").alias("to"))
    )


def _with_observed_commits(rows: DataFrame, options: Options) -> DataFrame:
    """Add `commits`, `moves` and `first_read` (see `observed_windows`), from the commits that polls observed up to each
    row.

    As in Burrow, the lag of a commit is computed with the log end offset about `offset_refresh` seconds before the
    commit.
    """
    order = Window.partitionBy(*_LIFETIME).orderBy("poll")
    earlier = order.rowsBetween(Window.unboundedPreceding, -1)
    refreshed = order.rangeBetween(Window.unboundedPreceding, -round(options.offset_refresh * 1000 * _REFRESH_EARLY))
    last = F.last("counts", ignorenulls=True).over(earlier)
    end = F.last("log_end", ignorenulls=True).over(refreshed)
    commit_lag = F.when(F.col("kind") == "share", F.col("lag")).otherwise(_lag(end, F.col("position")))
    # `counts` is the position, or null if the poll is ignored. A poll of a share partition is ignored if the broker
    # reported no lag, as in `kgtui.model.health.judging.judge_share`.
    counts = F.when((F.col("kind") != "share") | F.col("lag").isNotNull(), F.col("position"))
    rows = rows.withColumn("counts", counts)
    moved = F.col("counts").isNotNull() & (last.isNull() | (F.col("counts") != last))
    rows = rows.withColumns({"moved": moved, "commit_lag": commit_lag})
    commit = F.struct(F.col("position").alias("offset"), F.col("poll").alias("at"), F.col("commit_lag").alias("lag"))
    ring = Window.partitionBy(*_LIFETIME, "moved").orderBy("poll").rowsBetween(1 - options.intervals, 0)
    rows = rows.withColumn("ring", F.collect_list(commit).over(ring))
    empty = F.array().cast(f"array<{COMMIT}>")
    return rows.withColumns({
        "commits": F.coalesce(F.last(F.when(F.col("moved"), F.col("ring")), ignorenulls=True).over(order), empty),
        "moves": F.sum(F.col("moved").cast("int")).over(order),
        "first_read": F.min(F.when(F.col("counts").isNotNull(), F.col("poll"))).over(order),
    })  # fmt: skip


def _with_still_since(rows: DataFrame, options: Options) -> DataFrame:
    """Add `still_since`, the last poll at which the consumer was active, for the rules about share partitions.

    The consumer is inactive at a poll if the partition had lag at the previous poll and since then the position has not
    changed and the lag has not decreased.
    """
    order = Window.partitionBy(*_LIFETIME).orderBy("poll")
    rows = rows.withColumn("current", F.when(F.col("counts").isNotNull(), F.struct("position", "lag")))
    earlier = order.rowsBetween(Window.unboundedPreceding, -1)
    rows = rows.withColumn("before", F.last("current", ignorenulls=True).over(earlier))
    before = F.col("before")
    had_lag = before["lag"] > options.allowed_lag
    unchanged = (F.col("position") == before["position"]) & (F.col("lag") >= before["lag"]) & had_lag
    rows = rows.withColumn("active", F.col("current").isNotNull() & ~F.coalesce(unchanged, F.lit(False)))
    still_since = F.last(F.when(F.col("active"), F.col("poll")), ignorenulls=True).over(order)
    return rows.withColumn("still_since", still_since)


def _lag(end: Column, position: Column) -> Column:
    """Return log end minus position, but never less than 0; null if the log end is unknown."""
    return F.when(end.isNotNull(), F.greatest(end - position, F.lit(0).cast("long")))


def with_silver_commits(
    observed: DataFrame, commits: DataFrame, partitions: DataFrame, timeline: DataFrame, options: Options
) -> DataFrame:
    """Replace each window of `observed_windows` with a window of silver commits, if these commits are complete.

    They are complete if they fill the window, the oldest is not older than the latest gap, the newest has the position
    that the poll observed, and records up to the time of the poll have been decoded.

    Also add the column `exact`: whether the window was replaced.

    Args:
        observed: result of `observed_windows`.
        commits: silver `commits`.
        partitions: recorded table `partitions`, used for log end offsets.
    """
    rings = with_timeline(partitions, timeline).transform(_commit_rings, commits, options)
    read_until = commits.agg(F.max(F.unix_millis("record_time")).alias("read_until"))
    order = Window.partitionBy(*PARTITION_KEY).orderBy("at", F.col("is_query").isNotNull(), "record_offset")
    both = observed.withColumn("is_query", F.lit(True)).unionByName(rings, allowMissingColumns=True)
    both = both.withColumn("ring", F.last("ring", ignorenulls=True).over(order)).filter("is_query")
    exact = (
        (F.size("ring") == options.intervals)
        & (F.element_at("ring", 1)["at"] >= F.col("steady_since"))
        & (F.element_at("ring", -1)["offset"] == F.col("position"))
        & (F.col("read_until") >= F.col("at"))
    )
    both = both.join(F.broadcast(read_until)).withColumn("exact", F.coalesce(exact, F.lit(False)))
    window = F.when(F.col("exact"), F.col("ring")).otherwise(F.col("commits"))
    return both.withColumn("commits", window).drop("is_query", "ring", "read_until", "record_offset")


def _commit_rings(rows: DataFrame, commits: DataFrame, options: Options) -> DataFrame:
    """Return one row per commit. Column `ring` is the window at the time of the commit: this and earlier commits.

    As in `kgtui.model.burrow.CommitRing`, a commit that is older than an earlier one is dropped. The window of a
    tombstone is empty.
    """
    records = commits.select(
        *PARTITION_KEY,
        F.coalesce(F.unix_millis("commit_time"), F.unix_millis("record_time")).alias("at"),
        "offset",
        "record_offset",
    )
    order = Window.partitionBy(*PARTITION_KEY).orderBy("record_offset")
    lifetime = Window.partitionBy(*PARTITION_KEY, "lifetime").orderBy("record_offset")
    newest = F.max(F.when(F.col("offset").isNotNull(), F.col("at"))).over(
        lifetime.rowsBetween(Window.unboundedPreceding, -1)
    )
    in_order = (
        records.transform(_with_log_end, rows)
        .withColumn("lifetime", F.sum(F.col("offset").isNull().cast("int")).over(order))
        .withColumn("newest", F.when(F.col("offset").isNotNull(), newest))
        .filter(F.col("newest").isNull() | (F.col("at") >= F.col("newest")))
    )
    commit = F.struct("offset", "at", _lag(F.col("end"), F.col("offset")).alias("lag")).cast(COMMIT)
    commit = F.when(F.col("offset").isNotNull(), commit)
    # A tombstone starts a new lifetime of the committed offset, so it is the first row of a `lifetime`. Its `commit` is
    # null and is therefore not collected, because collect_list ignores nulls.
    ring = F.collect_list("commit").over(lifetime.rowsBetween(1 - options.intervals, 0))
    return in_order.withColumn("commit", commit).select(*PARTITION_KEY, "at", "record_offset", ring.alias("ring"))


def _with_log_end(commits: DataFrame, rows: DataFrame) -> DataFrame:
    """Add `end` to each commit: the newest log end offset that a poll observed before the commit."""
    ends = rows.groupBy(*_LOG, F.col("poll").alias("at")).agg(F.max("log_end").alias("end"))
    both = commits.withColumn("is_query", F.lit(True)).unionByName(ends, allowMissingColumns=True)
    order = Window.partitionBy(*_LOG).orderBy("at", F.col("is_query").isNotNull())
    newest = F.last("end", ignorenulls=True).over(order.rowsBetween(Window.unboundedPreceding, 0))
    return both.withColumn("end", newest).filter("is_query").drop("is_query")
