"""Rebalances, put together from the records that they leave.

A classic group writes one record at the end of each rebalance, with all members and their assignment: what changed is
what differs from the one before. The groups of the newer protocols write one record per member and epoch: first what
members said, then the group's new epoch, the target, and the members one by one as they come to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from kgtui.lake.schemas import REBALANCES
from kgtui.pipeline.spark_schema import conform

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

_GROUP = ("record_partition", "group")
_IDS, _MEMBERS = "array<string>", "map<string, array<string>>"


def rebalances(events: DataFrame) -> DataFrame:
    """The rebalances of groups, from all their events."""
    classic = events.where("type = 'classic'").transform(_classic)
    return classic.unionByName(events.where("type <> 'classic'").transform(_by_epoch))


def _classic(events: DataFrame) -> DataFrame:
    order = Window.partitionBy(*_GROUP).orderBy("record_offset")
    had = F.coalesce(F.lag("ids").over(order), F.when(F.col("created"), F.array().cast(_IDS)))
    owned = F.coalesce(F.lag("owners").over(order), F.when(F.col("created"), F.array().cast(_IDS)))
    seen = (
        events.withColumn("ids", F.from_json(F.coalesce("member_ids", F.lit("[]")), _IDS))
        .withColumn("owners", _owners(F.from_json("assignment", _MEMBERS)))
        .withColumns({"had": had, "owned": owned, "generation": F.lag("epoch").over(order)})
        .where("NOT tombstone AND epoch > 0 AND (generation IS NULL OR generation <> epoch)")
    )
    joined, left = F.size(F.array_except("ids", "had")), F.size(F.array_except("had", "ids"))
    return seen.select(
        *_GROUP,
        "record_offset",
        "type",
        "epoch",
        F.coalesce("state_time", "record_time").alias("start"),
        F.col("record_time").alias("end"),
        _cause(joined, left).alias("cause"),
        joined.alias("joined"),
        left.alias("left"),
        F.col("members"),
        _moved(F.col("owned"), F.col("owners")).alias("moved"),
    ).transform(_dated)


def _by_epoch(events: DataFrame) -> DataFrame:
    """A session is all that belongs to one group epoch."""
    order = Window.partitionBy(*_GROUP).orderBy("record_offset")
    epochs = F.count(F.when((F.col("about") == "group") & ~F.col("tombstone"), 1))
    # What members say, and what is taken from those who leave, comes before the epoch that it brings; all else behind.
    first = (F.col("about") == "member") | F.col("tombstone")
    seen = F.coalesce(epochs.over(order.rowsBetween(Window.unboundedPreceding, -1)), F.lit(0))
    session = F.when(first, seen + 1).otherwise(epochs.over(order.rowsBetween(Window.unboundedPreceding, 0)))
    member = Window.partitionBy(*_GROUP, "about", "member_id").orderBy("record_offset")
    return (
        events.withColumn("session", session)
        .withColumn("was", F.lag("tombstone").over(member) == F.lit(False))
        .withColumn("before", F.lag("assignment").over(member))
        .groupBy(*_GROUP, "type", "session")
        .agg(*_of_session())
        .where("epoch IS NOT NULL AND (joined > 0 OR `left` > 0 OR said > 0 OR targets > 0)")
        .withColumn("cause", F.coalesce(_cause(F.col("joined"), F.col("left")), _other_cause()))
        .withColumn("end", F.when(F.col("arrived").isNotNull(), F.col("arrived")))
        .withColumn("members", F.lit(None).cast("int"))
        .transform(_dated)
    )


def _of_session() -> tuple[Column, ...]:
    group, member = (F.col("about") == "group") & ~F.col("tombstone"), F.col("about") == "member"
    target = F.col("about") == "target_member"
    told = member & ~F.col("tombstone")
    pairs = F.flatten(F.collect_list(F.when(target, _pairs("assignment"))))
    before = F.flatten(F.collect_list(F.when(target, _pairs("before"))))
    return (
        F.min(F.when(group, F.col("record_offset"))).alias("record_offset"),
        F.min(F.when(group, F.col("epoch"))).alias("epoch"),
        F.min(F.when(group | member, F.col("record_time"))).alias("start"),
        F.max(F.when((F.col("about") == "current") & ~F.col("tombstone"), F.col("record_time"))).alias("arrived"),
        F.count_distinct(F.when(told & ~F.coalesce(F.col("was"), F.lit(False)), F.col("member_id"))).alias("joined"),
        F.count_distinct(F.when(member & F.col("tombstone"), F.col("member_id"))).alias("left"),
        F.count(F.when(told, 1)).alias("said"),
        F.count(F.when(F.col("about").isin("target", "target_member"), 1)).alias("targets"),
        _moved(before, pairs).alias("moved"),
    )


def _pairs(column: str) -> Column:
    """Owner and partition of each entry of an assignment; none when there is no assignment."""
    return F.coalesce(_owners(F.from_json(column, _MEMBERS)), F.array().cast(_IDS))


def _owners(assignment: Column) -> Column:
    """An assignment as an array of `partition⏎owner`; no name of a topic has a line break."""
    return F.flatten(
        F.transform(
            F.map_entries(assignment),
            lambda entry: F.transform(entry["value"], lambda place: F.concat_ws("\n", place, entry["key"])),
        )
    )


def _moved(before: Column, after: Column) -> Column:
    """How many that had an owner have another one now."""

    def place(pair: Column) -> Column:
        return F.substring_index(pair, "\n", 1)

    places = F.transform(before, place)
    return F.size(F.filter(F.array_except(after, before), lambda pair: F.array_contains(places, place(pair))))


def _cause(joined: Column, left: Column) -> Column:
    return (
        F.when((joined > 0) & (left > 0), "joined and left").when(joined > 0, "joined").when(left > 0, "left")
    )  # fmt: skip


def _other_cause() -> Column:
    return F.when(F.col("said") > 0, "subscription").when(F.col("targets") > 0, "topics")


def _dated(found: DataFrame) -> DataFrame:
    return found.withColumn("day", F.to_date("start")).transform(conform, REBALANCES)
