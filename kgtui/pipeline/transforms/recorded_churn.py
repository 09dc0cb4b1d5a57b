"""What polls saw of rebalances: states and epochs that changed, members that came and went, partitions that moved."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from kgtui.model.group_types import REBALANCING
from kgtui.pipeline.transforms.lives import begins, vanishes, with_lives
from kgtui.pipeline.transforms.recorded import GROUP_KEY, PARTITION_KEY, floored, instant, whole

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

HOUR = 3_600_000
"""Milliseconds."""

_MEMBER_KEY = ("group", "member_id")
_COUNTS = ("changes", "entered", "steps", "shuffles", "joined", "left", "moved")


def recorded_churn(times: DataFrame, groups: DataFrame, members: DataFrame, partitions: DataFrame) -> DataFrame:
    """Counts of each group and hour in which something changed, from recorded tables.

    A change between polls that a gap separates is not counted: nobody knows how often.

    Returns:
        group, hour (ms), rebalances, state_changes, epoch_steps, members_joined, members_left, partitions_moved,
        rebalancing_seconds
    """
    listed = whole(groups, times).transform(with_lives, GROUP_KEY)
    owned = whole(partitions.select("day", "keyframe", "poll", *PARTITION_KEY, "gone", "owner"), times)
    parts = [
        _of_groups(listed),
        _in_rebalance(listed),
        _of_members(whole(members, times)),
        _of_partitions(owned.transform(with_lives, PARTITION_KEY)),
    ]
    events = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)
    sums = events.groupBy("group", "hour").agg(
        *(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in _COUNTS),
        F.max("has_epoch").alias("has_epoch"),
        F.coalesce(F.sum("seconds"), F.lit(0.0)).alias("rebalancing_seconds"),
    )
    # A member that comes or goes is a rebalance, also where none was seen between two polls.
    return sums.select(
        "group",
        "hour",
        F.greatest("entered", "steps", "shuffles").alias("rebalances"),
        F.col("changes").alias("state_changes"),
        F.when(F.col("has_epoch"), F.col("steps")).alias("epoch_steps"),
        F.col("joined").alias("members_joined"),
        F.col("left").alias("members_left"),
        F.col("moved").alias("partitions_moved"),
        "rebalancing_seconds",
    )


def covered_hours(times: DataFrame) -> DataFrame:
    """hour, covered_seconds, covered_from, covered_to: the part of each hour that polls cover."""
    steps = times.select(F.coalesce("previous", "poll").alias("from"), F.col("poll").alias("to")).transform(_by_hour)
    return steps.groupBy("hour").agg(
        F.sum("seconds").alias("covered_seconds"),
        instant(F.min("begin")).alias("covered_from"),
        instant(F.max("finish")).alias("covered_to"),
    )


def _of_groups(rows: DataFrame) -> DataFrame:
    """State changes, entries into a rebalance and epoch steps, as `kgtui.model.health.rebalances` counts them."""
    order = Window.partitionBy("group", "life").orderBy("poll")
    state, epoch = F.lag("state").over(order), F.lag("group_epoch").over(order)
    found = rows.filter(~F.col("gone")).select(
        "group",
        "poll",
        "steady_since",
        (F.col("state") != state).cast("int").alias("changes"),
        (_rebalancing() & ~state.isin(*sorted(REBALANCING))).cast("int").alias("entered"),
        F.greatest(F.col("group_epoch") - epoch, F.lit(0)).alias("steps"),
        F.col("group_epoch").isNotNull().alias("has_epoch"),
    )
    return found.filter(_watched()).withColumn("hour", _hour("poll")).drop("poll", "steady_since")


def _of_members(rows: DataFrame) -> DataFrame:
    """Members that came and went; a poll in which any did is one shuffle."""
    rows = rows.withColumns({"came": begins(_MEMBER_KEY), "lost": vanishes(_MEMBER_KEY)})
    told = F.struct(
        F.col("poll").alias("at"),
        (_watched() & F.col("came") & ~F.col("gone")).cast("int").alias("joined"),
        (_watched() & F.col("gone") & ~F.col("came")).cast("int").alias("left"),
    )
    untold = F.struct(
        F.col("next_keyframe").alias("at"), F.lit(0).alias("joined"), F.col("lost").cast("int").alias("left")
    )
    return (
        rows.select("group", F.explode(F.array(told, untold)).alias("event"))
        .groupBy("group", "event.at")
        .agg(F.sum("event.joined").alias("joined"), F.sum("event.left").alias("left"))
        .filter((F.col("joined") > 0) | (F.col("left") > 0))
        .select("group", _hour("at").alias("hour"), "joined", "left", F.lit(1).alias("shuffles"))
    )


def _of_partitions(rows: DataFrame) -> DataFrame:
    """Partitions that got another owner."""
    order = Window.partitionBy(*PARTITION_KEY, "life").orderBy("poll")
    before = F.last("owner", ignorenulls=True).over(order.rowsBetween(Window.unboundedPreceding, -1))
    found = rows.withColumn("moved", (F.col("owner") != before).cast("int")).filter(_watched() & (F.col("moved") == 1))
    return found.select("group", _hour("poll").alias("hour"), "moved")


def _in_rebalance(rows: DataFrame) -> DataFrame:
    """Seconds from a poll that saw a group rebalance to the one that did not, or to the last before a gap."""
    later = F.lead("poll").over(Window.partitionBy("group", "keyframe").orderBy("poll"))
    spans = rows.select("group", "state", "gone", F.col("poll").alias("from"), F.least(later, "lasts").alias("to"))
    return spans.filter(_rebalancing() & ~F.col("gone")).transform(_by_hour).select("group", "hour", "seconds")


def _watched() -> Column:
    """Whether the poll follows another, so that what changed did so in between."""
    return F.col("poll") > F.col("steady_since")


def _by_hour(spans: DataFrame) -> DataFrame:
    """Cut spans `from` … `to` (ms) at full hours; add hour, seconds, begin and finish."""
    first, last = (_hour(name) for name in ("from", "to"))
    cut = spans.withColumn("hour", F.explode(F.sequence(first, last, F.lit(HOUR).cast("long"))))
    cut = cut.withColumns({
        "begin": F.greatest("from", "hour"),
        "finish": F.least(F.col("to"), F.col("hour") + HOUR),
    })  # fmt: skip
    return cut.withColumn("seconds", (F.col("finish") - F.col("begin")) / 1000)


def _rebalancing() -> Column:
    return F.col("state").isin(*sorted(REBALANCING))


def _hour(name: str) -> Column:
    return floored(F.col(name), HOUR)
