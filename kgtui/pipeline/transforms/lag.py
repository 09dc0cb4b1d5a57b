"""The gold table `lag`: offsets, lag and rates of each group and partition per minute.

The table is computed from a recording (tables in which kgtui has stored its polls of a cluster).

Terms:

- position: committed offset or, in a share group, the share-partition start offset
- time lag: age of the first record in a partition that a group has not read
- keyframe: poll for which the recorder wrote all rows. For other polls, it wrote only changed rows.
- gap: time for which polls are missing, for example because the recorder was stopped
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from kgtui.lake.schemas.gold import LAG, RECORDED
from kgtui.pipeline.spark_schema import TYPES, conform
from kgtui.pipeline.transforms.recorded_state import (
    PARTITION_KEY,
    groups_at,
    is_since,
    state_at,
    sum_of_doubles,
    time_slots,
    to_day,
    to_timestamp,
    with_timeline,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MINUTE = 60
"""Length of time that one row of the gold table `lag` covers, in seconds."""

_MIN_LOG_END_HISTORY_MS = 900_000
"""How far before the first computed minute recorded log end offsets are read, in milliseconds.

From these offsets, ages of the first unread record up to 15 minutes can be computed. If the first
unread record of a partition is older, older log end offsets of this partition are read, too.
"""

_LOG = ("topic", "partition")
_MINUTE = ("at", "slot", "first", "steady_since", "group")
_OF_PARTITION = (
    "topic", "partition", "lag", "position", "log_start", "log_end", "lead", "lost", "rate_in", "rate_out",
    "time_lag", "time_lag_at_least", "kind", "error",
)  # fmt: skip
_OF_GROUP = ("members", "state", "offsets_may_be_hidden")
_ROW = (*_OF_PARTITION, "partitions", "unknown", *_OF_GROUP)


def lag(
    timeline: DataFrame, groups: DataFrame, partitions: DataFrame, faults: DataFrame, *, since: int | None = None
) -> DataFrame:
    """Compute the gold table `lag` from the tables of a recording.

    Args:
        timeline: result of `poll_timeline`, with one row per poll.
        groups, partitions, faults: the recorded tables with these names.
        since: beginning of the first minute to return, in milliseconds since the epoch; None for
            all minutes.
    """
    # Checkpoint `minutes`, because this DataFrame is small and used often.
    minutes = time_slots(timeline, MINUTE, since).localCheckpoint()
    if since is None:
        log_ends = with_timeline(partitions, timeline).transform(with_log_growth)
        positions = _positions(log_ends, minutes)
    else:
        # Use only the rows since `keyframe`, a poll of which all rows were recorded, not only
        # changed ones. Older rows are needed only if the first unread record is older than 15
        # minutes.
        keyframe = _first_keyframe(timeline, minutes) or since
        groups, faults = (rows.filter(F.col("keyframe") >= keyframe) for rows in (groups, faults))
        recent = with_timeline(partitions.filter(F.col("keyframe") >= keyframe), timeline).transform(with_log_growth)
        positions = _positions(recent, minutes).localCheckpoint()
        log_ends = _with_older_log_ends(recent, positions, partitions, timeline)
    of_partitions = positions.transform(with_time_lag, log_ends).select("at", "group", *_OF_PARTITION, "missing")
    result = (
        groups_at(with_timeline(groups, timeline), with_timeline(faults, timeline), minutes)
        .select(*_MINUTE, *_OF_GROUP, "read")
        .join(of_partitions, ["at", "group"], "left")
        .transform(_with_group_rows)
        .transform(_to_table)
    )
    return result if since is None else result.filter(is_since("minute", since))


def _first_keyframe(timeline: DataFrame, minutes: DataFrame) -> int | None:
    """Return the time of the first poll whose rows are read; None if there are no polls.

    This poll is a keyframe: a poll of which all rows were recorded, not only changed ones. It is
    the last keyframe from which ages of the first unread record up to `_MIN_LOG_END_HISTORY_MS` can
    be computed. If there is no such keyframe, it is the last keyframe up to the end of the first
    minute. The time is in milliseconds since the epoch.

    Args:
        timeline: result of `poll_timeline`, with one row per poll.
        minutes: one row per minute to compute, from `time_slots`.
    """
    first = minutes.agg(F.min("at").alias("first"), F.min("keyframe").alias("of_first"))
    early = F.max(F.when(F.col("poll") <= F.col("first") - _MIN_LOG_END_HISTORY_MS, F.col("keyframe"))).alias("early")
    polls = timeline.select("poll", "keyframe").join(F.broadcast(first))
    row = polls.agg(early, F.max("of_first").alias("of_first")).collect()[0]
    keyframe: int | None = row["early"] or row["of_first"]
    return keyframe


def _positions(rows: DataFrame, minutes: DataFrame) -> DataFrame:
    """Return the lag and the rates of each group in each partition at the last poll of each minute.

    Args:
        rows: rows of the recorded table `partitions`, from `with_log_growth`.
        minutes: one row per minute with polls, from `time_slots`.
    """
    return state_at(rows, minutes, PARTITION_KEY).transform(with_offset_summary).transform(with_rates)


def with_offset_summary(rows: DataFrame) -> DataFrame:
    """Add the position, the lag and related columns to rows of the recorded table `partitions`.

    The definitions are those of `kgtui.model.offsets`.

    - `position`: committed offset or share-partition start offset
    - `lag`: number of records from the position to the log end offset or, for a share partition,
      the lag that the broker reports; null if unknown
    - `lead`: number of records from the log start offset to the position
    - `lost`: number of records that were deleted before the group read them
    - `error`: Kafka error code if the lag is unknown because of an error; otherwise null
    - `missing`: whether the lag is unknown because of an error or a missing response
    """
    share, without_error = F.col("kind") == "share", F.coalesce("error", F.lit(0)) == 0
    position = F.when(share, F.col("spso")).otherwise(F.col("committed"))
    known = F.when(share | without_error, position)
    log_error = F.when(known.isNotNull() & F.col("log_end").isNull(), F.col("log_error"))
    error = F.when(share | ~without_error, F.col("error")).otherwise(log_error)
    return rows.withColumns({
        "position": position,
        "lag": F.when(share, F.col("lag")).otherwise(_at_least_zero(F.col("log_end") - known)),
        "lead": _at_least_zero(known - F.col("log_start")),
        "lost": _at_least_zero(F.col("log_start") - known),
        "error": F.nullif(error, F.lit(0)),
    }).withColumn("missing", F.col("lag").isNull() & (~without_error | F.col("position").isNotNull()))  # fmt: skip


def _at_least_zero(records: Column) -> Column:
    """Replace negative numbers with 0, but keep null. (Spark's `greatest` alone would return 0.)"""
    return F.when(records.isNotNull(), F.greatest(records, F.lit(0).cast("long")))


def with_rates(rows: DataFrame) -> DataFrame:
    """Add `rate_in` and `rate_out`: numbers of records that were written and consumed per second.

    The rates are averages since the last poll of the previous time slot, such as a minute. Both are
    null after a gap between polls. `rate_in` is also null if the log end offset decreased.
    `rate_out` is also null if the committed offset or share-partition start offset decreased.

    Args:
        rows: one row per group, partition and time slot (see `time_slots`).
    """
    order = Window.partitionBy(*PARTITION_KEY).orderBy("at")
    before = F.lag("at").over(order)
    is_next_slot = (before == F.col("at_before")) & (before >= F.col("steady_since"))
    rows = rows.withColumns({
        "span": F.when(is_next_slot, (F.col("at") - before) / 1000),
        "written": F.col("log_end") - F.lag("log_end").over(order),
        "consumed": F.col("position") - F.lag("position").over(order),
    })  # fmt: skip
    return rows.withColumns({
        "rate_in": F.when(F.col("written") >= 0, F.col("written") / F.col("span")),
        "rate_out": F.when(F.col("consumed") >= 0, F.col("consumed") / F.col("span")),
    })  # fmt: skip


def with_log_growth(rows: DataFrame) -> DataFrame:
    """Add three columns that show how the log end offset of a partition has changed.

    - `generation`: how often the log end offset has decreased so far, because the topic was deleted
      and created again
    - `before`: log end offset at the previous poll; null if the log end offset has not increased
      since then, or after a gap between polls
    - `before_at`: time of the previous poll; null if `before` is null

    Args:
        rows: rows of the recorded table `partitions`, as returned by `with_timeline`.
    """
    order = Window.partitionBy(*_LOG).orderBy("poll")
    earlier = order.rangeBetween(Window.unboundedPreceding, -1)
    end, known = F.col("log_end"), F.last("log_end", ignorenulls=True).over(earlier)
    rows = rows.withColumns({
        "before": F.last("log_end").over(earlier),
        "restarted": F.coalesce(end < known, F.lit(False)),
    })  # fmt: skip
    grew = (F.col("before") < end) & F.col("previous").isNotNull()
    return rows.withColumns({
        "generation": F.sum(F.col("restarted").cast("int")).over(order),
        "before": F.when(grew, F.col("before")),
        "before_at": F.when(grew, F.col("previous")),
    }).drop("restarted")  # fmt: skip


def with_time_lag(positions: DataFrame, log_ends: DataFrame) -> DataFrame:
    """Add `time_lag`: age of the first unread record in seconds; 0 if there is no unread record.

    The first unread record was written between two polls. At the first of them, the log end offset
    was not yet above the committed offset (or share-partition start offset). At the next poll, it
    was above this offset. Therefore, the time of the record is interpolated between these polls. If
    the first of them was not recorded, `time_lag` is only a lower bound, and the new column
    `time_lag_at_least` is true.

    Args:
        positions: one row per group, partition and poll `at`, with the columns position, lag and
            `generation` (see `with_log_growth`).
        log_ends: rows of the recorded table `partitions`, from `with_log_growth`.
    """
    ends = log_ends.filter(F.col("log_end").isNotNull()).select(
        *_LOG,
        "generation",
        F.col("log_end").alias("offset"),
        F.struct(F.col("log_end").alias("end"), "poll", "before", "before_at").alias("seen"),
    )
    queries = positions.withColumns({"offset": F.col("position"), "is_query": F.lit(True)})
    # For each position, the SQL window `beyond` contains all rows with a larger log end offset.
    # Sort the rows by descending offset, so that each window begins at the first row. Spark is slow
    # if windows begin at later rows.
    beyond = (
        Window.partitionBy(*_LOG, "generation").orderBy(-F.col("offset")).rangeBetween(Window.unboundedPreceding, -1)
    )
    seen = F.col("seen")
    # `nearest` is the lowest log end offset above the position, with the first poll that read it.
    nearest = F.min_by(seen, F.when(seen.isNotNull(), F.struct(seen["end"], seen["poll"]))).over(beyond)
    both = queries.unionByName(ends, allowMissingColumns=True).withColumn("next", nearest).filter("is_query")
    fraction = (F.col("position") + 1 - F.col("next.before")) / (F.col("next.end") - F.col("next.before"))
    written_at = F.col("next.before_at") + (F.col("next.poll") - F.col("next.before_at")) * fraction
    has_unread = (F.col("lag") > 0) & F.col("position").isNotNull()
    return both.withColumns({
        "time_lag": F.when(F.col("lag") == 0, F.lit(0.0)).when(
            has_unread, (F.col("at") - F.coalesce(written_at, F.col("next.poll"))) / 1000
        ),
        "time_lag_at_least": F.when(F.col("lag") == 0, F.lit(False)).when(
            has_unread & F.col("next").isNotNull(), written_at.isNull()
        ),
    }).drop("offset", "seen", "is_query", "next")  # fmt: skip


def _with_older_log_ends(
    recent: DataFrame, positions: DataFrame, partitions: DataFrame, timeline: DataFrame
) -> DataFrame:
    """Add older log end offsets to `recent`, for partitions with old unread records.

    If the first unread record of a partition was written before `recent` begins, `with_time_lag`
    needs the older log end offsets of the partition to compute the age of this record.

    Args:
        recent: newest rows of the recorded table `partitions`, from `with_log_growth`.
        positions: offsets and lag of each group, from `_positions` for `recent`.
        partitions: all rows of the recorded table `partitions`.
        timeline: result of `poll_timeline`, with one row per poll.
    """
    ends = recent.filter(F.col("log_end").isNotNull())
    first = ends.groupBy(*_LOG).agg(F.min("poll").alias("first_poll"), F.min_by("log_end", "poll").alias("first_end"))
    unread = positions.filter(F.col("lag") > 0).groupBy(*_LOG).agg(F.min("position").alias("lowest"))
    older = unread.join(first, [*_LOG]).filter(F.col("lowest") < F.col("first_end")).select(*_LOG, "first_poll")
    older = older.localCheckpoint()
    if older.isEmpty():
        return recent
    # The column `generation` counts how often the log end offset has decreased. In `every`, the
    # count begins at the oldest row; in `positions`, it begins at the first row of `recent`. To
    # make the counts comparable, subtract the count at the first row of `recent`. In older rows,
    # the result is negative or 0.
    every = with_timeline(partitions.join(F.broadcast(older), [*_LOG]), timeline).transform(with_log_growth)
    counted = F.min(F.when(F.col("poll") >= F.col("first_poll"), F.col("generation"))).over(Window.partitionBy(*_LOG))
    every = every.withColumn("generation", F.col("generation") - counted).drop("first_poll")
    return recent.join(F.broadcast(older), [*_LOG], "left_anti").unionByName(every)


def _with_group_rows(rows: DataFrame) -> DataFrame:
    """Return the rows of all partitions and, for each group and minute, a row with totals.

    The totals are sums over the partitions of the group, except for `lead` (minimum) and `time_lag`
    (maximum). All totals are null if the poll could not read the offsets of the group.
    """
    has_offsets = F.col("read") & F.col("topic").isNotNull()
    time_lag = F.max(F.when(has_offsets, F.col("time_lag")))
    may_be_older = F.coalesce("time_lag_at_least", F.lit(False)) | F.col("missing")
    of_group = {
        "lag": F.sum(F.when(has_offsets, F.col("lag"))),
        "lead": F.min(F.when(has_offsets, F.col("lead"))),
        "lost": F.sum(F.when(has_offsets, F.col("lost"))),
        "rate_in": sum_of_doubles(F.when(has_offsets, F.col("rate_in"))),
        "rate_out": sum_of_doubles(F.when(has_offsets, F.col("rate_out"))),
        "time_lag": time_lag,
        "time_lag_at_least": F.when(time_lag.isNotNull(), F.bool_or(has_offsets & may_be_older)),
        "partitions": F.when(F.col("read"), F.count_if(has_offsets)),
        "unknown": F.when(F.col("read"), F.count_if(has_offsets & F.col("missing"))),
        **{name: F.col(name) for name in _OF_GROUP},
    }
    of_partition = {name: F.col(name) for name in _OF_PARTITION}
    return (
        rows.groupBy(*_MINUTE, *_OF_GROUP, "read")
        .agg(
            F.array(_row(of_group)).alias("total"),
            F.collect_list(F.when(has_offsets, _row(of_partition))).alias("partitions"),
        )
        .select(*_MINUTE, F.explode(F.concat("total", "partitions")).alias("row"))
        .select(*_MINUTE, "row.*")
    )


def _row(columns: dict[str, Column]) -> Column:
    """Return a struct with the columns `_ROW`. Those that are missing from `columns` are null."""
    types = {column.name: TYPES[column.type] for column in LAG.columns}
    return F.struct(*(columns.get(name, F.lit(None)).cast(types[name]).alias(name) for name in _ROW))


def _to_table(rows: DataFrame) -> DataFrame:
    return rows.withColumns({
        "day": to_day(F.col("slot")),
        "minute": to_timestamp(F.col("slot")),
        "steady_since": to_timestamp(F.col("steady_since")),
        "source": F.lit(RECORDED),
        "covered_from": to_timestamp(F.col("first")),
        "covered_to": to_timestamp(F.col("at")),
    }).transform(conform, LAG)  # fmt: skip
