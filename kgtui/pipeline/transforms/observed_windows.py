"""Compute commit windows from the polls of a recording.

A commit window consists of the newest commits of a group in one partition. Burrow's rules determine the status of the
partition from it. A poll shows the position (committed offset or share-partition start offset), but no commits.
Therefore, if the position differs from the position at the previous poll, this counts as one commit at the time of the
poll. The terminal UI uses the same rule (`kgtui.model.health.judging`).

After a gap between polls, the commit window begins without commits, because kgtui does not know which commits were made
during the gap. The same is true if a partition disappears and then exists again.

An update of gold `health` does not read all polls again. It computes commit windows from a state that an earlier update
saved (`Carried`), and from the polls after this state.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from kgtui.pipeline.transforms.health_state import COMMIT, RECORDED, STATE
from kgtui.pipeline.transforms.lag import with_lag
from kgtui.pipeline.transforms.recorded_state import PARTITION_KEY, with_lifetimes, with_state_after_gaps

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from kgtui.model.burrow import Options
    from kgtui.pipeline.transforms.health_state import Carried

_REFRESH_EARLY = 0.9
"""Minimum age of the log end offset from which the lag of a commit is computed, as a fraction of `offset_refresh`.

Burrow reads log end offsets once per `offset_refresh` seconds. It computes the lag of a commit from the last log end
offset that it has read, which can be `offset_refresh` seconds old. The fraction is less than 1, because the time
between two polls can be slightly shorter than configured. `kgtui.model.health.judging` uses the same fraction.
"""

_LIFETIME = (*PARTITION_KEY, "steady_since", "lifetime")
_STATE = (
    "keyframe", "gone", "steady_since", "kind", "position", "lag", "missing", "commits", "moves", "first_read",
    "still_since",
)  # fmt: skip
"""Columns that `observed_windows` copies from the newest row of a partition at or before the last poll of a time slot.

`keyframe` and `gone` only show whether the partition still exists at this poll. They are not in the result.
"""

_SAVED = ("recorded", "latest", "known_end", "ends", "commits", "moves", "first_read", "still_since")
"""Fields of the struct type `STATE` that are computed from polls.

The only other field of `STATE`, `decoded`, is computed from silver `commits`.
"""


def observed_windows(
    timeline: DataFrame, partitions: DataFrame, times: DataFrame, options: Options, carried: Carried | None = None
) -> DataFrame:
    """Return the commit window of each partition at the last poll of each time slot.

    The commit window is the group's newest commits in the partition, at most `Options.intervals`. Burrow's rules
    determine the status of the partition from them. A change of the position (committed offset or share-partition start
    offset) between two polls counts as a commit.

    Args:
        timeline: result of `poll_timeline`.
        partitions: recorded table `partitions`.
        times: result of `time_slots`, with or without the column `ends_hour` (see `with_hour_ends`).
        carried: the state that an earlier run of the pipeline saved for one poll. It replaces all rows of `partitions`
            up to this poll. The poll must not be later than the first poll whose log end offsets are needed for a
            commit window (see `first_poll_of_windows`). None to compute the commit windows from `partitions` only.

    Returns:
        DataFrame with the columns at (last poll of the slot), group, topic, partition, kind, position, lag, and
        - `commits`: array of `COMMIT`, oldest first
        - `moves`: number of commits that polls observed since the partition appeared or since the latest gap
        - `lowest_end`: lowest log end offset during the time that the commit window spans (see `_log_end_ranges`)
        - `now`: time for which the status is computed; the same as `at`
        - `first_read`: first poll that showed a position
        - `missing`: see `with_lag`
        - `steady_since`: see `poll_timeline`
        - `still_since`: last poll at which the consumer was active (see `_with_still_since`)
        - `saved`: the state to save in gold `health_state` if `ends_hour` of the slot is true, otherwise null; this
          column is missing if `times` has no column `ends_hour`
    """
    if carried is not None:
        later = partitions.filter(F.col("poll") > carried.at).drop("day")
        partitions = later.unionByName(carried.rows, allowMissingColumns=True)
    rows = (
        with_state_after_gaps(partitions, timeline, PARTITION_KEY)
        .withColumn("recorded", F.struct(*RECORDED))
        .transform(with_lag)
        .transform(with_lifetimes, (*PARTITION_KEY, "steady_since"))
    )
    rows = rows.transform(_with_observed_commits, options).transform(_with_still_since, options)
    saves = "ends_hour" in times.columns
    if saves:
        rows = rows.transform(_with_saved_values, options)
    refresh_ms = options.offset_refresh * 1000 * _REFRESH_EARLY
    order = Window.partitionBy("keyframe", *PARTITION_KEY).orderBy("poll")
    columns = dict.fromkeys((*_STATE, *(_SAVED if saves else ())))
    spans = rows.select(*PARTITION_KEY, "poll", "log_end", *columns, F.lead("poll").over(order).alias("until"))
    ranges = _log_end_ranges(timeline, times, options.intervals, refresh_ms)
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
    """Return, for each poll in `times`, the range of polls whose log end offsets are needed for its commit windows.

    As in Burrow, the range covers the time in which `intervals` log end offsets are read, one every `refresh_ms`
    milliseconds. It never begins before the latest gap between polls, and it includes the poll itself. A range that
    spans several keyframes (polls that wrote the complete state) is divided into one row per keyframe.

    Returns:
        DataFrame with the columns
        - `at`, `of_keyframe`: the poll in `times`, and its keyframe
        - `range_keyframe`, `from`, `to`: a keyframe, and the first and last poll of the range that belong to it
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
    """Return the number of polls in a range of `_log_end_ranges`, not counting its last poll, if there is no gap.

    A range must contain `intervals` polls that are at least `refresh_ms` milliseconds apart. The result is a Spark
    expression that uses the column `interval_ms` (configured time between two polls) of `time_slots`.
    """
    return (intervals - 1) * F.greatest(F.ceil(F.lit(refresh_ms) / F.col("interval_ms")), F.lit(1))


def first_poll_of_windows(options: Options) -> Column:
    """Return a Spark aggregate expression: the earliest poll whose log end offset is needed for a commit window.

    The expression aggregates rows of `time_slots`, because a commit window is computed at the last poll of each time
    slot. Its value is the `number` of the poll in `poll_timeline`. The value is less than 1 if polls before the first
    poll of the timeline would be needed.
    """
    return F.min(F.col("number") - _reach(options.intervals, options.offset_refresh * 1000 * _REFRESH_EARLY))


def _with_observed_commits(rows: DataFrame, options: Options) -> DataFrame:
    """Add to each row the columns `commits`, `moves` and `first_read`, computed from the polls up to this row.

    For their meaning, see `observed_windows`. As in Burrow, the lag of a commit is computed with the log end offset
    that the partition had about `offset_refresh` seconds before the commit.
    """
    if "carried" not in rows.columns:
        rows = rows.withColumn("carried", F.lit(None).cast(STATE))
    refresh_ms = round(options.offset_refresh * 1000 * _REFRESH_EARLY)
    order = Window.partitionBy(*_LIFETIME).orderBy("poll")
    earlier = order.rowsBetween(Window.unboundedPreceding, -1)
    refreshed = order.rangeBetween(Window.unboundedPreceding, -refresh_ms)
    # `counts` is the position that the poll showed, or null if the position must not count as a commit. In a share
    # partition, it does not count if the broker reported no lag, as in `kgtui.model.health.judging.judge_share`.
    counts = F.when((F.col("kind") != "share") | F.col("lag").isNotNull(), F.col("position"))
    current = F.when(counts.isNotNull(), F.struct("position", "lag"))
    # `carried` is null except in a row with a saved state, which is the first row of the partition's lifetime.
    state = F.first("carried").over(order)
    rows = rows.withColumns({
        "is_carried": F.col("carried").isNotNull(),
        "counts": counts,
        "current": F.coalesce("carried.latest", current),
        "any_end": F.coalesce("log_end", "carried.known_end"),
        "state": state,
    })  # fmt: skip
    # `end` is the newest known log end offset that is at least `refresh_ms` older than the poll of the row. `before` is
    # a struct: the newest position that a poll before this row showed, and the lag at that poll.
    end = F.last("any_end", ignorenulls=True).over(refreshed)
    rows = rows.withColumns({"end": end, "before": F.last("current", ignorenulls=True).over(earlier)})
    known_early = F.filter("state.ends", lambda seen: seen["at"] <= F.col("poll") - refresh_ms)
    rows = rows.withColumn("end", F.coalesce("end", F.element_at(known_early, -1)["end"]))
    last = F.col("before")["position"]
    moved = ~F.col("is_carried") & F.col("counts").isNotNull() & (last.isNull() | (F.col("counts") != last))
    commit_lag = F.when(F.col("kind") == "share", F.col("lag")).otherwise(
        lag_of_commit(F.col("end"), F.col("position"))
    )
    rows = rows.withColumns({"moved": moved, "commit_lag": commit_lag})
    commit = F.struct(F.col("position").alias("offset"), F.col("poll").alias("at"), F.col("commit_lag").alias("lag"))
    ring = Window.partitionBy(*_LIFETIME, "moved").orderBy("poll").rowsBetween(1 - options.intervals, 0)
    rows = rows.withColumn("ring", F.collect_list(commit).over(ring))
    empty = F.array().cast(f"array<{COMMIT}>")
    newest = F.last(F.when(F.col("moved"), F.col("ring")), ignorenulls=True).over(order)
    first_read = F.min(F.when(F.col("counts").isNotNull(), F.col("poll"))).over(order)
    return rows.withColumns({
        "commits": newest_commits(F.col("state.commits"), F.coalesce(newest, empty), options),
        "moves": F.sum(F.col("moved").cast("int")).over(order) + F.coalesce("state.moves", F.lit(0)),
        "first_read": F.coalesce("state.first_read", first_read),
    })  # fmt: skip


def newest_commits(earlier: Column, later: Column, options: Options) -> Column:
    """Join two arrays of commits, and return the newest `Options.intervals` of all these commits, oldest first.

    Args:
        earlier: array of commits, oldest first; null if there is none.
        later: array of commits that were made after the commits in `earlier`, oldest first; not null.
    """
    both = F.concat(earlier, later)
    return F.when(earlier.isNull(), later).otherwise(
        F.slice(both, F.greatest(F.size(both) - options.intervals + 1, F.lit(1)), options.intervals)
    )


def _with_still_since(rows: DataFrame, options: Options) -> DataFrame:
    """Add the column `still_since`: time of the newest poll, up to the poll of the row, with an active consumer.

    The status of share partitions depends on this column. The consumer is inactive at a poll if the lag at the previous
    poll was more than `allowed_lag` records, and if the position has not changed and the lag has not decreased since
    the previous poll.
    """
    order = Window.partitionBy(*_LIFETIME).orderBy("poll")
    before = F.col("before")
    had_lag = before["lag"] > options.allowed_lag
    unchanged = (F.col("position") == before["position"]) & (F.col("lag") >= before["lag"]) & had_lag
    active = ~F.col("is_carried") & F.col("counts").isNotNull() & ~F.coalesce(unchanged, F.lit(False))
    rows = rows.withColumn("active", active)
    still_since = F.last(F.when(F.col("active"), F.col("poll")), ignorenulls=True).over(order)
    return rows.withColumn("still_since", F.coalesce(still_since, F.col("state.still_since")))


def _with_saved_values(rows: DataFrame, options: Options) -> DataFrame:
    """Add the columns `latest`, `known_end` and `ends`, which are needed only for the state that is saved.

    The other fields of a saved state (type `STATE`) are also columns of `observed_windows`.

    - `latest`: struct of the newest position (see `counts` in `_with_observed_commits`) and the lag at its poll
    - `known_end`: newest known log end offset
    - `ends`: log end offsets with their times, oldest first, from which the lags of the next commits are computed
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
    """Return the lag of a commit at a position: the log end offset minus the position, but at least 0.

    The result is null if the log end offset is unknown.
    """
    return F.when(end.isNotNull(), F.greatest(end - position, F.lit(0).cast("long")))
