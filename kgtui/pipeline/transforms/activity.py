"""What is known of each group at the end of a day: who is in it, and when it last did anything.

Two sources give the same columns: day, group, type, state, members; last_commit, quiet_since, empty_since (ms, the last
two at the latest); partitions, topics, lag; first and at (ms): what was looked at.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from kgtui.pipeline.transforms.lag import with_lag
from kgtui.pipeline.transforms.recorded import GROUP_KEY, PARTITION_KEY, carried, day_of, slots, whole

if TYPE_CHECKING:
    from datetime import date

    from pyspark.sql import DataFrame

_DAY = 86_400
_EMPTY = "Empty"


def recorded_activity(
    times: DataFrame, groups: DataFrame, partitions: DataFrame, *, since: date | None = None
) -> DataFrame:
    """From recorded tables.

    Args:
        times: the `timeline` of the polls.
        since: the first day that is wanted; what was recorded before tells when a group last did anything.
    """
    moments = slots(times, _DAY, since).select("at", "keyframe")
    listed = carried(whole(groups, times).transform(_with_spells), moments, GROUP_KEY)
    held = carried(whole(partitions, times).transform(with_lag).transform(_with_moves), moments, PARTITION_KEY)
    sums = held.groupBy("at", "group").agg(
        F.max("moved_at").alias("last_commit"),
        F.min("seen_at").alias("seen_at"),
        F.count(F.lit(1)).cast("int").alias("partitions"),
        F.count_distinct("topic").cast("int").alias("topics"),
        F.sum("lag").alias("lag"),
    )
    return listed.join(sums, ["at", "group"], "left").select(
        day_of(F.col("at")).alias("day"),
        "group",
        "type",
        "state",
        "members",
        "last_commit",
        F.coalesce("last_commit", "seen_at", "first").alias("quiet_since"),
        "empty_since",
        F.coalesce("partitions", F.lit(0)).alias("partitions"),
        F.coalesce("topics", F.lit(0)).alias("topics"),
        "lag",
        "first",
        "at",
    )


def _with_spells(groups: DataFrame) -> DataFrame:
    """Add since when a group is Empty, and when it was `first` seen."""
    order = Window.partitionBy("group").orderBy("poll")
    empty = F.coalesce(F.col("state") == _EMPTY, F.lit(False))
    begins = empty & ~F.coalesce(F.lag("state").over(order) == _EMPTY, F.lit(False))
    rows = groups.withColumn("begins", F.when(begins, F.col("poll")))
    return rows.withColumns({
        "empty_since": F.when(empty, F.last("begins", ignorenulls=True).over(order)),
        "first": F.min("poll").over(order),
    }).drop("begins")  # fmt: skip


def _with_moves(partitions: DataFrame) -> DataFrame:
    """Add when the position was last seen to change, and when it was first seen. Over a gap: at the latest then."""
    order = Window.partitionBy(*PARTITION_KEY).orderBy("poll")
    before = F.last("position", ignorenulls=True).over(order.rowsBetween(Window.unboundedPreceding, -1))
    moved = before.isNotNull() & (F.col("position") != before)
    rows = partitions.withColumn("moves", F.when(moved, F.col("poll")))
    return rows.withColumns({
        "moved_at": F.last("moves", ignorenulls=True).over(order),
        "seen_at": F.min("poll").over(order),
    }).drop("moves")  # fmt: skip


def read_activity(commits: DataFrame, events: DataFrame, days: DataFrame) -> DataFrame:
    """From silver tables.

    Args:
        events: silver `group_events`.
        days: `day`, and `at`, up to when records count (ms).
    """
    committed = _committed(commits, days)
    told = _told(events, days)
    found = committed.join(told, ["day", "at", "group"], "full")
    exists = (F.col("partitions") > 0) | F.coalesce(F.col("exists"), F.lit(False))
    return found.filter(exists).select(
        "day",
        "group",
        "type",
        F.when(F.col("members") > 0, F.lit(None)).otherwise(F.lit(_EMPTY)).alias("state"),
        F.coalesce("members", F.lit(0)).alias("members"),
        "last_commit",
        F.coalesce(F.greatest("last_commit", "changed_at"), "at").alias("quiet_since"),
        F.col("changed_at").alias("empty_since"),
        F.coalesce("partitions", F.lit(0)).cast("int").alias("partitions"),
        F.coalesce("topics", F.lit(0)).cast("int").alias("topics"),
        F.lit(None).cast("long").alias("lag"),
        F.least("first_commit", "first_event").alias("first"),
        "at",
    )


def _committed(commits: DataFrame, days: DataFrame) -> DataFrame:
    """What each group has committed and not lost again, day by day.

    It begins with the last commits of each day, so that a history of many days is not read again for each of them.
    """
    daily = commits.groupBy("day", *PARTITION_KEY).agg(
        F.max_by("offset", "record_offset").alias("offset"),
        F.max_by(F.unix_millis("commit_time"), "record_offset").alias("commit_time"),
        F.min(F.unix_millis("record_time")).alias("time"),
        F.max(F.unix_millis("record_time")).alias("upto"),
        F.max("record_offset").alias("newest"),
    )
    order = Window.partitionBy(*PARTITION_KEY).orderBy("newest")
    until = F.min("upto").over(order.rowsBetween(1, Window.unboundedFollowing))
    told = daily.drop("day").withColumns({"time": F.min("time").over(order), "until": until})
    holds = (F.col("upto") <= F.col("at")) & (F.col("until").isNull() | (F.col("until") > F.col("at")))
    last = told.join(F.broadcast(days), holds)
    live = F.col("offset").isNotNull()
    return last.groupBy("day", "at", "group").agg(
        F.max(F.when(live, F.col("commit_time"))).alias("last_commit"),
        F.count_if(live).alias("partitions"),
        F.count_distinct(F.when(live, F.col("topic"))).alias("topics"),
        F.min("time").alias("first_commit"),
    )


def _told(events: DataFrame, days: DataFrame) -> DataFrame:
    """Type, members and the last change of each group, day by day."""
    rows = events.filter(F.col("about").isin("group", "member")).withColumn("time", F.unix_millis("record_time"))
    known = rows.drop("day").join(F.broadcast(days), F.col("time") <= F.col("at"))
    newest = F.struct("tombstone", "type", "members", "time", F.unix_millis("state_time").alias("state_time"))
    last = known.groupBy("day", "at", "group", "about", "member_id").agg(
        F.max_by(newest, "record_offset").alias("last"), F.min("time").alias("first")
    )
    group, there = F.col("about") == "group", ~F.col("last.tombstone")
    classic = group & there & (F.col("last.type") == "classic")
    counted = F.count_if((F.col("about") == "member") & there)
    in_classic = F.coalesce(F.max(F.when(classic, F.col("last.members"))), F.lit(0))
    changed = F.when(classic, F.coalesce("last.state_time", "last.time")).otherwise(F.col("last.time"))
    return last.groupBy("day", "at", "group").agg(
        F.max(F.when(there, F.col("last.type"))).alias("type"),
        F.greatest(in_classic, counted).cast("int").alias("members"),
        F.max(changed).alias("changed_at"),
        F.bool_or(there).alias("exists"),
        F.min("first").alias("first_event"),
    )
