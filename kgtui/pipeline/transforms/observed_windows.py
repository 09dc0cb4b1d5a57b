"""Find the newest commits of each group in each partition from the polls of a recording.

A poll reads committed offsets, and does not show every commit. Therefore, a committed offset that
differs from the one in the previous poll counts as one commit at the time of the poll. The first
known offset counts as a commit, too. The same rule is in `kgtui.model.health.judging`.

Terms:

- position: committed offset or, in a share group, the share-partition start offset
- commit window: newest commits of a group in one partition. It starts empty after a gap, and after
  the partition has disappeared from the recording.
- gap: time for which polls are missing, for example because the recorder was stopped
- keyframe: poll for which the recorder wrote all rows. For other polls, it wrote only changed rows.
- time slot: time that one row of the gold table `health` covers, by default five minutes
- saved state, carried state: results up to a poll, which an earlier run of the pipeline has saved
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from kgtui.pipeline.transforms.health_state import COMMIT, RECORDED, STATE
from kgtui.pipeline.transforms.lag import with_offset_summary
from kgtui.pipeline.transforms.recorded_state import (
    PARTITION_KEY,
    with_lifetimes,
    with_state_after_gaps,
    with_until,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from kgtui.model.burrow import Options
    from kgtui.pipeline.transforms.health_state import Carried

_REFRESH_EARLY = 0.9
"""`Options.offset_refresh` times this factor is the minimum age of a log end offset, in seconds.

The lag of a commit is computed from the newest log end offset that was at least this old at the
time of the commit. This imitates Burrow, which reads log end offsets only every `offset_refresh`
seconds. The factor is below 1, because the time between two polls can be slightly shorter than
configured.
"""

_LIFETIME = (*PARTITION_KEY, "steady_since", "lifetime")
_STATE = (
    "keyframe", "gone", "steady_since", "kind", "position", "lag", "missing", "commits", "moves", "first_read",
    "still_since",
)  # fmt: skip
"""Columns that `observed_windows` takes from a partition's newest row at the end of a time slot.

The columns `keyframe` and `gone` only show whether the partition still exists at that time.
`observed_windows` does not return them.
"""

_SAVED = ("recorded", "latest", "known_end", "ends", "commits", "moves", "first_read", "still_since")
"""Fields of the saved state of a partition (type `STATE`) that are computed from polls.

The state is saved for the next run of the pipeline. The only other field of `STATE`, `decoded`, is
computed from the silver table `commits`.
"""


def observed_windows(
    timeline: DataFrame, partitions: DataFrame, times: DataFrame, options: Options, carried: Carried | None = None
) -> DataFrame:
    """Return the newest commits of each group in each partition at the last poll of each time slot.

    The commits are those that polls have observed since the latest gap between polls, or since the
    partition appeared, if that was later.

    Args:
        timeline: result of `poll_timeline`, with one row per poll.
        partitions: recorded table `partitions`.
        times: result of `time_slots`, with one row per time slot. If it has the column `ends_hour`
            (see `with_hour_ends`), the result has the column `saved`.
        carried: state that an earlier run saved at the poll `carried.at`, or None. The state
            replaces all rows of `partitions` up to this poll. The poll must not be after the first
            poll whose log end offsets are needed (see `first_poll_of_windows`).

    Returns:
        One row per time slot, group and partition, with the columns at (last poll of the slot),
            group, topic, partition, kind, position, lag, and

        - `commits`: array of `COMMIT`, oldest first, at most `Options.intervals`
        - `moves`: number of all observed commits, including those that `commits` no longer contains
        - `lowest_end`: lowest log end offset in the newest polls, which `_log_end_ranges` selects.
          If the committed offset is not below it, the group has caught up recently.
        - `now`: same as `at`; the rules in the module `health` use this name
        - `first_read`: first poll that found a committed offset or share-partition start offset
        - `missing`: whether the lag could not be read (see `with_offset_summary`)
        - `steady_since`: first poll after the latest gap between polls
        - `still_since`: last poll at which the consumer of a share partition was active
        - `saved`: state for the next run (type `STATE`) if `ends_hour` is true; otherwise null
    """
    if carried is not None:
        later = partitions.filter(F.col("poll") > carried.at).drop("day")
        partitions = later.unionByName(carried.rows, allowMissingColumns=True)
    rows = (
        with_state_after_gaps(partitions, timeline, PARTITION_KEY)
        .withColumn("recorded", F.struct(*RECORDED))
        .transform(with_offset_summary)
        .transform(with_lifetimes, (*PARTITION_KEY, "steady_since"))
    )
    rows = rows.transform(_with_observed_commits, options).transform(_with_still_since, options)
    saves = "ends_hour" in times.columns
    if saves:
        rows = rows.transform(_with_saved_values, options)
    refresh_ms = options.offset_refresh * 1000 * _REFRESH_EARLY
    columns = dict.fromkeys((*_STATE, *(_SAVED if saves else ())))
    ranges = _log_end_ranges(timeline, times, options.intervals, refresh_ms)
    keyframes = ranges.select(F.col("range_keyframe").alias("keyframe"))
    rows = rows.transform(with_until, keyframes, PARTITION_KEY)
    spans = rows.select(*PARTITION_KEY, "poll", "log_end", *columns, "until")
    overlap = (F.col("poll") <= F.col("to")) & (F.col("until").isNull() | (F.col("until") > F.col("from")))
    joined = spans.join(F.broadcast(ranges), (F.col("keyframe") == F.col("range_keyframe")) & overlap)
    saved = [F.when(F.col("ends_hour"), F.struct(*_SAVED)).alias("saved")] if saves else []
    return (
        joined.groupBy("at", "of_keyframe", *PARTITION_KEY)
        .agg(F.max_by(F.struct(*_STATE, *saved), "poll").alias("state"), F.min("log_end").alias("lowest_end"))
        .filter((F.col("state.keyframe") == F.col("of_keyframe")) & ~F.col("state.gone"))
        .select("at", *PARTITION_KEY, "state.*", "lowest_end", F.col("at").alias("now"))
        .drop("keyframe", "gone")
    )


def _log_end_ranges(timeline: DataFrame, times: DataFrame, intervals: int, refresh_ms: float) -> DataFrame:
    """Return the time ranges whose log end offsets show whether a group has caught up recently.

    Each row of `times` has a poll `at`. The result contains a range of polls that ends at `at`. As
    in Burrow, the range is long enough for `intervals` log end offsets, one every `refresh_ms`
    milliseconds. Shortly after a gap between polls, the range is shorter, because it begins after
    the gap.

    Returns:
        One row per range. A range that contains keyframes (polls of which all rows were recorded)
            is split at these keyframes, and then has one row for each part. The columns are

        - `at`, `of_keyframe`: last poll of the range, and the last keyframe up to this poll
        - `range_keyframe`: last keyframe up to the polls of the part
        - `from`, `to`: first and last poll of the part
        - `ends_hour`: copied from `times`, if it has this column
    """
    polls = timeline.select("poll", F.col("keyframe").alias("range_keyframe"), F.col("number").alias("poll_number"))
    within = F.col("poll_number").between(F.col("number") - _reach(intervals, refresh_ms), F.col("number"))
    kept = [name for name in ("ends_hour",) if name in times.columns]
    return (
        times.select("at", F.col("keyframe").alias("of_keyframe"), "number", "interval_ms", "steady_since", *kept)
        .join(F.broadcast(polls), within & (F.col("poll") >= F.col("steady_since")))
        .groupBy("at", "of_keyframe", "range_keyframe", *kept)
        .agg(F.min("poll").alias("from"), F.max("poll").alias("to"))
    )


def _reach(intervals: int, refresh_ms: float) -> Column:
    """Return a Spark expression for the number of earlier polls whose log end offsets are needed.

    To judge a group at one poll, `intervals` log end offsets are needed, one every `refresh_ms`
    milliseconds. Example: 10 log end offsets, one every 10 s, span 9 steps of 10 s. With a poll
    every 5 s (column `interval_ms`), each step has 2 polls, so that 9 * 2 = 18 earlier polls are
    needed.
    """
    return (intervals - 1) * F.greatest(F.ceil(F.lit(refresh_ms) / F.col("interval_ms")), F.lit(1))


def first_poll_of_windows(options: Options) -> Column:
    """Return a Spark aggregate over rows of `time_slots`: number of the first poll that is needed.

    To judge a group at the last poll of a time slot, the log end offsets at this poll and at some
    earlier polls are needed. `poll_timeline` numbers the polls from 1. A result below 1 means that
    the timeline begins too late, and lacks some of the needed polls.
    """
    return F.min(F.col("number") - _reach(options.intervals, options.offset_refresh * 1000 * _REFRESH_EARLY))


def _with_observed_commits(rows: DataFrame, options: Options) -> DataFrame:
    """Add the columns `commits`, `moves` and `first_read` that `observed_windows` describes.

    Each row is computed from itself and earlier rows. As in Burrow, the lag of a commit is computed
    from the log end offset about `offset_refresh` seconds before the commit. For a share partition,
    the recorded lag is used instead.
    """
    if "carried" not in rows.columns:
        rows = rows.withColumn("carried", F.lit(None).cast(STATE))
    refresh_ms = round(options.offset_refresh * 1000 * _REFRESH_EARLY)
    order = Window.partitionBy(*_LIFETIME).orderBy("poll")
    earlier = order.rowsBetween(Window.unboundedPreceding, -1)
    refreshed = order.rangeBetween(Window.unboundedPreceding, -refresh_ms)
    # `usable` is the committed offset or share-partition start offset. If the lag of a share
    # partition is unknown, its start offset must not be used, so that `usable` is null (see
    # `kgtui.model.health.judging.judge_share`).
    usable = F.when((F.col("kind") != "share") | F.col("lag").isNotNull(), F.col("position"))
    current = F.when(usable.isNotNull(), F.struct("position", "lag"))
    # `carried` is the state that an earlier run saved. Only the first row of a partition can have
    # this state. Copy the state to the column `state` in all following rows, up to the end of the
    # lifetime: until the partition disappears, or until a gap between polls.
    state = F.first("carried").over(order)
    rows = rows.withColumns({
        "is_carried": F.col("carried").isNotNull(),
        "usable": usable,
        "current": F.coalesce("carried.latest", current),
        "any_end": F.coalesce("log_end", "carried.known_end"),
        "state": state,
    })  # fmt: skip
    # `end` is the newest log end offset from polls at least `refresh_ms` before the poll of a row.
    # `before` is the last known committed offset or share-partition start offset in earlier rows,
    # with the lag at that time.
    end = F.last("any_end", ignorenulls=True).over(refreshed)
    rows = rows.withColumns({"end": end, "before": F.last("current", ignorenulls=True).over(earlier)})
    known_early = F.filter("state.ends", lambda seen: seen["at"] <= F.col("poll") - refresh_ms)
    rows = rows.withColumn("end", F.coalesce("end", F.element_at(known_early, -1)["end"]))
    last = F.col("before")["position"]
    moved = ~F.col("is_carried") & F.col("usable").isNotNull() & (last.isNull() | (F.col("usable") != last))
    commit_lag = F.when(F.col("kind") == "share", F.col("lag")).otherwise(
        lag_of_commit(F.col("end"), F.col("position"))
    )
    rows = rows.withColumns({"moved": moved, "commit_lag": commit_lag})
    commit = F.struct(F.col("position").alias("offset"), F.col("poll").alias("at"), F.col("commit_lag").alias("lag"))
    ring = Window.partitionBy(*_LIFETIME, "moved").orderBy("poll").rowsBetween(1 - options.intervals, 0)
    rows = rows.withColumn("ring", F.collect_list(commit).over(ring))
    empty = F.array().cast(f"array<{COMMIT}>")
    newest = F.last(F.when(F.col("moved"), F.col("ring")), ignorenulls=True).over(order)
    first_read = F.min(F.when(F.col("usable").isNotNull(), F.col("poll"))).over(order)
    return rows.withColumns({
        "commits": newest_commits(F.col("state.commits"), F.coalesce(newest, empty), options),
        "moves": F.sum(F.col("moved").cast("int")).over(order) + F.coalesce("state.moves", F.lit(0)),
        "first_read": F.coalesce("state.first_read", first_read),
    })  # fmt: skip


def newest_commits(earlier: Column, later: Column, options: Options) -> Column:
    """Join two arrays of commits, and return the newest `Options.intervals` of them, oldest first.

    Args:
        earlier: array of earlier commits, oldest first, or null.
        later: array of later commits, oldest first; not null.
    """
    both = F.concat(earlier, later)
    return F.when(earlier.isNull(), later).otherwise(
        F.slice(both, F.greatest(F.size(both) - options.intervals + 1, F.lit(1)), options.intervals)
    )


def _with_still_since(rows: DataFrame, options: Options) -> DataFrame:
    """Add `still_since`: the last poll, up to the poll of a row, at which a consumer was active.

    The column is used only for share partitions. A consumer counts as inactive between two polls if
    the lag at the first poll was above `Options.allowed_lag`, and if, at the second poll, neither
    the share-partition start offset has changed nor the lag has decreased.
    """
    order = Window.partitionBy(*_LIFETIME).orderBy("poll")
    before = F.col("before")
    had_lag = before["lag"] > options.allowed_lag
    unchanged = (F.col("position") == before["position"]) & (F.col("lag") >= before["lag"]) & had_lag
    active = ~F.col("is_carried") & F.col("usable").isNotNull() & ~F.coalesce(unchanged, F.lit(False))
    rows = rows.withColumn("active", active)
    still_since = F.last(F.when(F.col("active"), F.col("poll")), ignorenulls=True).over(order)
    return rows.withColumn("still_since", F.coalesce(still_since, F.col("state.still_since")))


def _with_saved_values(rows: DataFrame, options: Options) -> DataFrame:
    """Add columns that are only needed in the state of a partition for the next run (type `STATE`).

    - `latest`: newest committed offset or share-partition start offset, and the lag at that time
    - `known_end`: newest known log end offset
    - `ends`: newest log end offsets with their times, oldest first. From these offsets, the next
      run computes the lags of later commits.
    """
    refresh_ms = round(options.offset_refresh * 1000 * _REFRESH_EARLY)
    order = Window.partitionBy(*_LIFETIME).orderBy("poll")
    seen = F.when(F.col("any_end").isNotNull(), F.struct(F.col("poll").alias("at"), F.col("any_end").alias("end")))
    recent = F.collect_list(seen).over(order.rangeBetween(-refresh_ms, 0))
    early = F.struct((F.col("poll") - refresh_ms).alias("at"), "end")
    return rows.withColumns({
        "latest": F.last("current", ignorenulls=True).over(order),
        "known_end": F.last("any_end", ignorenulls=True).over(order),
        "ends": F.concat(F.array(early), recent),
    })  # fmt: skip


def lag_of_commit(end: Column, position: Column) -> Column:
    """Return the lag of a commit: the log end offset minus the committed offset, but at least 0.

    The result is null if the log end offset is unknown.
    """
    return F.when(end.isNotNull(), F.greatest(end - position, F.lit(0).cast("long")))
