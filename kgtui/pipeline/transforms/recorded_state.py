"""Reconstruct the state of groups and partitions at any poll from a recording, and find gaps in it.

In a poll, kgtui reads the state of all groups, and the recorder writes this state into tables. The
tables are called a recording. Times are in milliseconds since the epoch.

Terms:

- keyframe: poll for which the recorder wrote all rows. For other polls, it wrote only changed rows.
  Therefore, the state of a group at a poll is the group's newest row from the last keyframe up to
  this poll.
- segment: all polls from one keyframe up to the next
- gap: time for which polls are missing, for example because the recorder was stopped
- lifetime: time from the appearance of a group, member or partition until it disappears
- time slot: time that one row of a gold table covers, such as a minute or an hour
- fault: error because of which a poll could not read some data
"""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame
    from pyspark.sql.window import WindowSpec

GROUP_KEY = ("group",)
PARTITION_KEY = ("group", "topic", "partition")
FAULT_KEY = ("scope", "broker", "group", "name")

_MILLION = 1_000_000
_DAY_MS = 86_400_000
_HOUR_MS = 3_600_000


def poll_timeline(polls: DataFrame, steady_since: int | None = None) -> DataFrame:
    """Number the polls of a recording. Find the keyframe of each poll, and gaps between polls.

    A keyframe is a poll of which all rows were recorded, not only changed ones. A gap is a time for
    which the recording lacks polls, for example because the recorder was stopped.

    Args:
        polls: recorded table `polls`, possibly without its oldest rows.
        steady_since: time of the first poll after the latest gap, if `polls` does not contain this
            poll. None if `polls` contains it, or if the time is unknown.

    Returns:
        One row per poll. Polls are given by their times, in milliseconds since the epoch:

        - `poll`: the poll itself
        - `keyframe`: the last keyframe up to this poll
        - `interval_ms`: configured time between two polls
        - `number`: number of the poll, from 1
        - `segment`: number of the keyframe, from 0
        - `previous`: the previous poll; null for the first poll and after a gap
        - `steady_since`: the first poll after the latest gap
        - `next_keyframe`: the next keyframe; null if a gap or the end of `polls` comes first
        - `lasts`: the last time at which rows of this poll can be valid: `next_keyframe` or, if
          that is null, the last poll before the next gap or the end of `polls`
    """
    order = _single_window("poll")
    before = F.lag("poll").over(order)
    rows = polls.select(
        "poll",
        "keyframe",
        "interval_ms",
        F.row_number().over(order).alias("number"),
        F.when(F.col("gap").isNull(), before).alias("previous"),
        F.when(F.col("gap").isNull() & before.isNull(), F.lit(steady_since)).alias("began"),
        (F.col("keyframe") != F.lag("keyframe").over(order)).cast("int").alias("turns"),
    )
    starts = F.when(F.col("previous").isNull(), F.coalesce("began", "poll"))
    rows = rows.select(
        "poll",
        "keyframe",
        "interval_ms",
        "number",
        "previous",
        F.coalesce(F.sum("turns").over(order), F.lit(0)).alias("segment"),
        F.last(starts, ignorenulls=True).over(order).alias("steady_since"),
        F.when(F.lead("previous").over(order).isNotNull(), F.lead("poll").over(order)).alias("next"),
    )
    stretch = Window.partitionBy("segment", "steady_since")
    last, lasts = F.max("poll").over(stretch), F.max(F.coalesce("next", "poll")).over(stretch)
    return rows.withColumns({"lasts": lasts, "next_keyframe": F.when(lasts > last, lasts)}).drop("next")


def _single_window(column: str) -> WindowSpec:
    """Return an SQL window over all rows of a DataFrame, ordered by a column.

    The window is partitioned by a constant, because Spark Connect warns about windows that are not
    partitioned.
    """
    return Window.partitionBy(F.lit(0)).orderBy(column)


def time_slots(timeline: DataFrame, seconds: int, since: int | None = None) -> DataFrame:
    """Divide time into slots of equal length, such as minutes. Return one row per slot with polls.

    Args:
        timeline: result of `poll_timeline`, with one row per poll.
        seconds: length of a slot in seconds.
        since: time in milliseconds since the epoch, or None to return all slots. The result has all
            slots from the one that contains `since` on, and the last slot with polls before it.

    Returns:
        DataFrame with these times, in milliseconds since the epoch, and with the columns keyframe,
            interval_ms, number and steady_since of the poll `at`:

        - `slot`: start of the slot
        - `at`: last poll in the slot
        - `first`: first poll in the slot or, if there is a gap between polls in the slot, the first
          poll after the last gap
        - `at_before`: last poll in the previous slot with polls; null for the first slot
    """
    slots = (
        timeline.groupBy(floor_to(F.col("poll"), seconds * 1000).alias("slot"))
        .agg(
            F.max("poll").alias("at"),
            F.max("keyframe").alias("keyframe"),
            F.max("number").alias("number"),
            F.max("interval_ms").alias("interval_ms"),
            F.max("steady_since").alias("steady_since"),
            F.min("poll").alias("first"),
        )
        .withColumn("first", F.greatest("first", "steady_since"))
    )
    order = _single_window("slot")
    slots = slots.withColumns({"at_before": F.lag("at").over(order), "next": F.lead("slot").over(order)})
    if since is not None:
        slots = slots.filter(F.coalesce("next", "slot") >= since - since % (seconds * 1000))
    return slots.drop("next")


def with_hour_ends(times: DataFrame) -> DataFrame:
    """Add the column `ends_hour`: whether a time slot is the last one with polls in its hour.

    The column is false for all time slots of the newest hour, because this hour may get more polls.

    Args:
        times: result of `time_slots`, with one row per time slot.
    """
    later = F.lead("slot").over(_single_window("slot"))
    ends_hour = floor_to(later, _HOUR_MS) > floor_to(F.col("slot"), _HOUR_MS)
    return times.withColumn("ends_hour", F.coalesce(ends_hour, F.lit(False)))


def first_keyframe(timeline: DataFrame, since: int) -> int:
    """Return from which time on rows are needed to reconstruct the state of all groups at `since`.

    The result is the time of the last keyframe before `since`. A keyframe is a poll of which all
    rows were recorded, not only changed ones. If there is no keyframe before `since`, the result is
    the first keyframe. If there are no polls, the result is `since`. All times are in milliseconds
    since the epoch.
    """
    before = F.max(F.when(F.col("poll") < since, F.col("keyframe")))
    row = timeline.agg(before.alias("before"), F.min("keyframe").alias("first")).collect()[0]
    return int(row["before"] or row["first"] or since)


def with_timeline(rows: DataFrame, timeline: DataFrame) -> DataFrame:
    """Add columns of `timeline`, such as `steady_since`, to the rows of a recorded table.

    Rows whose poll is not in `timeline` are dropped. They come from a poll whose write was
    interrupted.

    Args:
        rows: rows of a recorded table, such as `groups`.
        timeline: result of `poll_timeline`, with one row per poll.
    """
    return rows.drop("day").join(F.broadcast(timeline.drop("keyframe", "interval_ms", "number")), "poll")


def state_at(rows: DataFrame, times: DataFrame, key: Sequence[str]) -> DataFrame:
    """Return for each poll in `times` the rows of a recorded table that were valid at this poll.

    A row is valid until a later row with the same key, or until the next keyframe: a poll of which
    all rows were recorded, not only changed ones.

    Args:
        rows: rows of a recorded table that `with_timeline` has returned.
        times: one row per poll, with its time `at`, and with `keyframe`: the last keyframe at or
            before `at`. Further columns of `times` replace columns of `rows` with the same name.
        key: columns that identify a group, partition or error.

    Returns:
        DataFrame with the columns of `rows` and `times`. `poll` is the poll that recorded the row:
            the poll `at`, or an earlier one.
    """
    ours = [name for name in rows.columns if name == "keyframe" or name not in times.columns]
    spans = rows.transform(with_until, times.select("keyframe"), key).select(*ours, "until")
    valid = (F.col("poll") <= F.col("at")) & (F.col("until").isNull() | (F.col("at") < F.col("until")))
    later = times.withColumnRenamed("keyframe", "of_keyframe")
    joined = spans.join(F.broadcast(later), (F.col("keyframe") == F.col("of_keyframe")) & valid)
    return joined.filter(~F.col("gone")).drop("until", "of_keyframe", "gone")


def with_until(rows: DataFrame, keyframes: DataFrame, key: Sequence[str]) -> DataFrame:
    """Add the column `until`: time of the poll from which on a later row replaces a row.

    The later row must have the same key and the same keyframe (last poll of which all rows were
    recorded, not only changed ones). `until` is null if there is no such row. Rows whose keyframe
    is not in `keyframes` are dropped first, so that Spark does not have to sort them.

    Args:
        rows: rows of a recorded table that `with_timeline` has returned.
        keyframes: rows with the column `keyframe`.
        key: columns that identify a group, partition or error.
    """
    order = Window.partitionBy("keyframe", *key).orderBy("poll")
    rows = rows.join(F.broadcast(keyframes), "keyframe", "left_semi")
    return rows.withColumn("until", F.lead("poll").over(order))


def with_state_after_gaps(rows: DataFrame, timeline: DataFrame, key: Sequence[str]) -> DataFrame:
    """Add the columns of `poll_timeline` to recorded rows, and add rows after each gap.

    A gap is a time for which polls are missing. At the first poll after a gap, the recorder may
    have written no row about an unchanged group or partition. The row from before the gap is then
    copied to this poll. If `rows` has the column `carried` (state that an earlier run of the
    pipeline saved), this column is null in the copies.

    Args:
        rows: rows of a recorded table.
        timeline: result of `poll_timeline`, with one row per poll.
        key: columns that identify a group or partition.
    """
    known = with_timeline(rows, timeline)
    after_gap = (F.col("poll") == F.col("steady_since")) & (F.col("poll") != F.col("keyframe"))
    times = timeline.filter(after_gap).select(F.col("poll").alias("at"), "keyframe")
    repeated = (
        state_at(known, times, key)
        .filter(F.col("poll") < F.col("at"))
        .withColumn("gone", F.lit(False))
        .withColumn("poll", F.col("at"))
        .select(*rows.drop("day", "carried").columns)
    )
    return known.unionByName(with_timeline(repeated, timeline), allowMissingColumns="carried" in rows.columns)


def groups_at(groups: DataFrame, faults: DataFrame, times: DataFrame) -> DataFrame:
    """Return for each poll in `times` all groups that existed at this poll.

    Args:
        groups, faults: the recorded tables `groups` and `faults` (errors because of which polls
            could not read some data), as returned by `with_timeline`.
        times: one row per poll, with its time `at`, and with `keyframe`: the last poll up to `at`
            of which all rows were recorded, not only changed ones.

    Returns:
        DataFrame with the columns of `times` and `groups`, and `read`: whether the poll could read
            the group's offsets
    """
    offset_faults = state_at(faults.filter(F.col("scope") == "offsets"), times.select("at", "keyframe"), FAULT_KEY)
    of_group = offset_faults.filter(F.col("group").isNotNull())
    of_group = of_group.select("at", "group", F.lit(True).alias("refused")).distinct()
    # A fault is an error because of which a poll could not read offsets. A fault with a broker id,
    # but without a group id, concerns all groups that the broker coordinates; `silent` contains the
    # ids of such brokers. A fault without both ids concerns all groups; `all_silent` says whether
    # there is such a fault.
    of_broker = (
        offset_faults.filter(F.col("group").isNull())
        .groupBy("at")
        .agg(F.collect_set("broker").alias("silent"), F.bool_or(F.col("broker").isNull()).alias("all_silent"))
    )
    return (
        state_at(groups, times, GROUP_KEY)
        .join(of_group, ["at", "group"], "left")
        .join(F.broadcast(of_broker), "at", "left")
        .withColumn("unheard", F.col("all_silent") | F.array_contains("silent", F.col("coordinator")))
        .withColumn("read", F.col("refused").isNull() & ~F.coalesce("unheard", F.lit(False)))
        .drop("refused", "silent", "all_silent", "unheard")
    )


def begins_lifetime(key: Sequence[str]) -> Column:
    """Return a Spark expression that is true in the first row after an object has appeared.

    The object is the group, member or partition that the columns `key` identify. It can appear
    several times, because it can be deleted, or can be missing from a keyframe (a poll of which all
    rows were recorded, not only changed ones). The rows must come from `with_timeline`.
    """
    order = Window.partitionBy(*key).orderBy("poll")
    same_segment = F.col("segment") == F.lag("segment").over(order)
    in_next_keyframe = (F.col("segment") == F.lag("segment").over(order) + 1) & (F.col("poll") == F.col("keyframe"))
    return ~F.coalesce(~F.lag("gone").over(order) & (same_segment | in_next_keyframe), F.lit(False))


def with_lifetimes(rows: DataFrame, key: Sequence[str]) -> DataFrame:
    """Add the column `lifetime`: how often the object of a row has appeared so far, at least 1.

    The object is the group, member or partition that the columns `key` identify. It can disappear
    and appear again.

    Args:
        rows: rows of a recorded table that `with_timeline` has returned.
        key: columns that identify a group, member or partition.
    """
    rows = rows.withColumn("begins", begins_lifetime(key).cast("int"))
    return rows.withColumn("lifetime", F.sum("begins").over(Window.partitionBy(*key).orderBy("poll")))


def missing_from_next_keyframe(key: Sequence[str]) -> Column:
    """Return a Spark expression: whether the object of a row is missing from the next keyframe.

    The object is the group, member or partition that the columns `key` identify. A keyframe is a
    poll of which all rows were recorded, not only changed ones. For a missing object, the
    expression is true only in the last row before the keyframe. The rows must come from
    `with_timeline`.
    """
    order = Window.partitionBy(*key).orderBy("poll")
    in_segment = F.lead("keyframe").over(order) == F.col("keyframe")
    in_next_keyframe = F.lead("poll").over(order) == F.col("next_keyframe")
    continues = F.coalesce(in_segment | in_next_keyframe, F.lit(False))
    return F.col("next_keyframe").isNotNull() & ~F.col("gone") & ~continues


def floor_to(at: Column, span: int) -> Column:
    """Round a time in milliseconds down to a multiple of `span` milliseconds."""
    return at - F.pmod(at, F.lit(span))


def sum_of_doubles(rate: Column) -> Column:
    """Return a Spark aggregate: the sum of doubles, each of them rounded to millionths.

    Because of the rounding, the sum does not depend on the order in which Spark adds the rows.
    """
    return F.sum(F.round(rate * _MILLION).cast("long")) / _MILLION


def to_day(at: Column) -> Column:
    """Return the UTC day of a time in milliseconds since the epoch.

    The result does not depend on the time zone of the Spark session.
    """
    return F.date_from_unix_date(F.floor(at / _DAY_MS).cast("int"))


def day_start(day: date) -> int:
    """Return the beginning of a UTC day in milliseconds since the epoch."""
    return (day - date(1970, 1, 1)).days * _DAY_MS


def is_since(column: str, since: int) -> Column:
    """Return a Spark expression: whether a timestamp column is at or after `since`.

    `since` is in milliseconds since the epoch.
    """
    return F.col(column) >= F.timestamp_millis(F.lit(since))


def to_timestamp(at: Column) -> Column:
    """Convert milliseconds since the epoch to a timestamp."""
    return F.timestamp_millis(at)
