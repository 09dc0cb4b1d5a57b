"""What polls saw of rebalances: states and epochs that changed, members that came and went, partitions that moved."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from kgtui.model.group import REBALANCING
from kgtui.pipeline.transforms.lives import lived
from kgtui.pipeline.transforms.recorded import GROUP_KEY, PARTITION_KEY, instant

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
    parts = [
        _of_groups(times, groups),
        _of_members(times, members),
        _of_partitions(times, partitions),
        _in_rebalance(times, groups),
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


def _of_groups(times: DataFrame, groups: DataFrame) -> DataFrame:
    """State changes, entries into a rebalance and epoch steps, as `kgtui.model.health.rebalances` counts them."""
    order = Window.partitionBy("group", "steady_since", "life").orderBy("poll")
    state, epoch = F.lag("state").over(order), F.lag("group_epoch").over(order)
    rows = lived(groups, times, GROUP_KEY).filter(~F.col("gone"))
    return rows.select(
        "group",
        _hour().alias("hour"),
        (F.col("state") != state).cast("int").alias("changes"),
        (_rebalancing("state") & ~state.isin(*sorted(REBALANCING))).cast("int").alias("entered"),
        F.greatest(F.col("group_epoch") - epoch, F.lit(0)).alias("steps"),
        F.col("group_epoch").isNotNull().alias("has_epoch"),
    )


def _of_members(times: DataFrame, members: DataFrame) -> DataFrame:
    """Members that came and went after the first poll of a stretch; a poll in which any did is one shuffle."""
    rows = lived(members, times, _MEMBER_KEY)
    events = rows.filter(F.col("poll") > F.col("steady_since"))
    came = (F.col("begins") == 1) & ~F.col("gone")
    went = F.col("gone") & (F.col("begins") == 0)
    return (
        events.groupBy("group", "poll")
        .agg(F.count_if(came).alias("joined"), F.count_if(went).alias("left"))
        .filter((F.col("joined") > 0) | (F.col("left") > 0))
        .select("group", _hour().alias("hour"), "joined", "left", F.lit(1).alias("shuffles"))
    )


def _of_partitions(times: DataFrame, partitions: DataFrame) -> DataFrame:
    """Partitions that got another owner."""
    rows = lived(partitions.select("day", "keyframe", "poll", *PARTITION_KEY, "gone", "owner"), times, PARTITION_KEY)
    order = Window.partitionBy(*PARTITION_KEY, "steady_since", "life").orderBy("poll")
    before = F.last("owner", ignorenulls=True).over(order.rowsBetween(Window.unboundedPreceding, -1))
    moved = F.col("owner") != before
    return rows.select("group", _hour().alias("hour"), moved.cast("int").alias("moved")).filter("moved = 1")


def _in_rebalance(times: DataFrame, groups: DataFrame) -> DataFrame:
    """Seconds from a poll that saw a group rebalance to the one that did not, or to the end of the stretch."""
    ends = times.groupBy("steady_since").agg(F.max("poll").alias("end"))
    order = Window.partitionBy("group", "steady_since").orderBy("poll")
    rows = lived(groups, times, GROUP_KEY).withColumn("next", F.lead("poll").over(order))
    rows = rows.filter(_rebalancing("state") & ~F.col("gone")).join(F.broadcast(ends), "steady_since")
    spans = rows.select("group", F.col("poll").alias("from"), F.coalesce("next", "end").alias("to"))
    return spans.transform(_by_hour).select("group", "hour", "seconds")


def _by_hour(spans: DataFrame) -> DataFrame:
    """Cut spans `from` … `to` (ms) at full hours; add hour, seconds, begin and finish."""
    first, last = (F.col(name) - F.pmod(F.col(name), F.lit(HOUR)) for name in ("from", "to"))
    cut = spans.withColumn("hour", F.explode(F.sequence(first, last, F.lit(HOUR).cast("long"))))
    cut = cut.withColumns({
        "begin": F.greatest("from", "hour"),
        "finish": F.least(F.col("to"), F.col("hour") + HOUR),
    })  # fmt: skip
    return cut.withColumn("seconds", (F.col("finish") - F.col("begin")) / 1000)


def _rebalancing(name: str) -> Column:
    return F.col(name).isin(*sorted(REBALANCING))


def _hour() -> Column:
    return F.col("poll") - F.pmod(F.col("poll"), F.lit(HOUR))
