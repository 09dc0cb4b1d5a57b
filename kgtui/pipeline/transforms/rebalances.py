"""Compute the silver table `rebalances`, with one row per rebalance of a group.

A rebalance is found from the records that the coordinator writes to `__consumer_offsets`. The
silver table `group_events` contains these records, one per row.

- For each rebalance of a classic group, the coordinator writes one record with all members and
  their assignments.
- For each rebalance of a consumer, share or streams group, the coordinator writes several records:
  the changed subscriptions, the new group epoch, the target assignment, and one record for each
  member that reaches the new epoch.
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
_IDS, _ASSIGNMENT = "array<string>", "map<string, array<string>>"


def rebalances(events: DataFrame) -> DataFrame:
    """Return rows of the silver table `rebalances` for some groups.

    Args:
        events: rows of the silver table `group_events`: either all events of the groups, or only
            those that `needed_events` selects. In the second case, the caller must ignore
            rebalances with a record offset less than `since` (see `rebalance_starts`), because
            these rebalances are incomplete. The column `created` must already have been set with
            `with_created`.
    """
    classic = events.where("type = 'classic'").transform(_classic)
    return classic.unionByName(events.where("type <> 'classic'").transform(_by_epoch))


def rebalance_starts(stored: DataFrame, new: DataFrame) -> DataFrame:
    """Return for each group with new events from where on its rebalances must be recomputed.

    The result has one row per group. Its column `since` is an offset in `__consumer_offsets`. The
    new events do not change rebalances with a lower record offset.

    Args:
        stored: all rows of the silver table `group_events`.
        new: new rows of `group_events`. Some can already be in `stored`.
    """
    # In a classic group, each rebalance has only one record. Therefore, `since` is the record
    # offset of the first new event. For a consumer, share or streams group, let N be the last group
    # epoch that was stored before the new events. The new events can still belong to the rebalance
    # of epoch N. All records of this rebalance follow the record of epoch N - 1. Therefore, `since`
    # is the offset after the record of epoch N - 1.
    first = new.groupBy(*_GROUP).agg(F.min("record_offset").alias("first"))
    before = stored.join(F.broadcast(first), [*_GROUP]).where("record_offset < first AND type <> 'classic'")
    epoch = F.when((F.col("about") == "group") & ~F.col("tombstone"), F.col("record_offset"))
    last_epochs = F.sort_array(F.collect_list(epoch), asc=False)
    epochs = before.groupBy(*_GROUP).agg(F.coalesce(F.get(last_epochs, F.lit(1)) + 1, F.lit(0)).alias("since"))
    return first.join(epochs, [*_GROUP], "left").select(*_GROUP, F.coalesce("since", "first").alias("since"))


def needed_events(stored: DataFrame, starts: DataFrame) -> DataFrame:
    """Return which stored events are needed to recompute the newest rebalances of some groups.

    The needed events are:

    - all events of a group from the record offset `since` on. Their column `is_state` is false.
    - of the events before `since`, the newest one of each kind for the group and for each member.
      They show the state of the group before `since`. Their column `is_state` is true.

    Args:
        stored: all rows of the silver table `group_events`.
        starts: one row per group, with the record offset `since` (see `rebalance_starts`).

    Returns:
        One row per event, with the columns record_partition, record_offset, day and `is_state`
    """
    keys = stored.select(*_GROUP, "type", "about", "member_id", "tombstone", "record_offset", "day")
    keys = keys.join(F.broadcast(starts), [*_GROUP])
    place = ("record_partition", "record_offset", "day")
    later = keys.where("record_offset >= since").select(*place, F.lit(False).alias("is_state"))
    by_object = keys.where("record_offset < since").groupBy(*_GROUP, "type", "about", "member_id", "tombstone")
    state = by_object.agg(F.max("record_offset").alias("record_offset"), F.max_by("day", "record_offset").alias("day"))
    return later.unionByName(state.select(*place, F.lit(True).alias("is_state")))


def _classic(events: DataFrame) -> DataFrame:
    """Return the rebalances of classic groups.

    Each record that has another generation than the group's record before it is one rebalance.
    """
    order = Window.partitionBy(*_GROUP).orderBy("record_offset")
    none_if_created = F.when(F.col("created"), F.array().cast(_IDS))
    generations = (
        events.withColumn("ids", F.from_json(F.coalesce("member_ids", F.lit("[]")), _IDS))
        .withColumn("owners", _owners(F.from_json("assignment", _ASSIGNMENT)))
        .withColumns({
            "ids_before": F.coalesce(F.lag("ids").over(order), none_if_created),
            "owners_before": F.coalesce(F.lag("owners").over(order), none_if_created),
            "generation": F.lag("epoch").over(order),
        })
        .where("NOT tombstone AND epoch > 0 AND (generation IS NULL OR generation <> epoch)")
    )  # fmt: skip
    joined, left = F.size(F.array_except("ids", "ids_before")), F.size(F.array_except("ids_before", "ids"))
    return generations.select(
        *_GROUP,
        "record_offset",
        "type",
        "epoch",
        F.coalesce("state_time", "record_time").alias("start"),
        F.col("record_time").alias("end"),
        _member_cause(joined, left).alias("cause"),
        joined.alias("joined"),
        left.alias("left"),
        F.col("members"),
        _moved(F.col("owners_before"), F.col("owners")).alias("moved"),
    ).transform(_to_table)


def _by_epoch(events: DataFrame) -> DataFrame:
    """Return the rebalances of consumer, share and streams groups.

    Each group epoch is one rebalance, unless no member, subscription or target assignment changed.
    """
    order = Window.partitionBy(*_GROUP).orderBy("record_offset")
    epochs = F.count(F.when((F.col("about") == "group") & ~F.col("tombstone"), 1))
    # Find the group epoch to which each record belongs. The coordinator writes subscriptions and
    # tombstones before the record of the group epoch that these changes cause. It writes all other
    # records of a rebalance after the record of the group epoch.
    precedes = (F.col("about") == "member") | F.col("tombstone")
    epochs_before = F.coalesce(epochs.over(order.rowsBetween(Window.unboundedPreceding, -1)), F.lit(0))
    epochs_until = epochs.over(order.rowsBetween(Window.unboundedPreceding, 0))
    member = Window.partitionBy(*_GROUP, "about", "member_id").orderBy("record_offset")
    return (
        events.withColumn("rebalance", F.when(precedes, epochs_before + 1).otherwise(epochs_until))
        .withColumn("was_member", F.lag("tombstone").over(member) == F.lit(False))
        .withColumn("assignment_before", F.lag("assignment").over(member))
        .groupBy(*_GROUP, "type", "rebalance")
        .agg(*_epoch_aggregates())
        .where("epoch IS NOT NULL AND (joined > 0 OR `left` > 0 OR subscriptions > 0 OR targets > 0)")
        .withColumn("cause", F.coalesce(_member_cause(F.col("joined"), F.col("left")), _other_cause()))
        .withColumn("members", F.lit(None).cast("int"))
        .transform(_to_table)
    )


def _epoch_aggregates() -> tuple[Column, ...]:
    about_group = (F.col("about") == "group") & ~F.col("tombstone")
    about_member = F.col("about") == "member"
    is_target = F.col("about") == "target_member"
    subscribed = about_member & ~F.col("tombstone")
    after = F.flatten(F.collect_list(F.when(is_target, _owners_or_empty("assignment"))))
    before = F.flatten(F.collect_list(F.when(is_target, _owners_or_empty("assignment_before"))))
    joined = subscribed & ~F.coalesce(F.col("was_member"), F.lit(False))
    return (
        F.min(F.when(about_group, F.col("record_offset"))).alias("record_offset"),
        F.min(F.when(about_group, F.col("epoch"))).alias("epoch"),
        F.min(F.when(about_group | about_member, F.col("record_time"))).alias("start"),
        F.max(F.when((F.col("about") == "current") & ~F.col("tombstone"), F.col("record_time"))).alias("end"),
        F.count_distinct(F.when(joined, F.col("member_id"))).alias("joined"),
        F.count_distinct(F.when(about_member & F.col("tombstone"), F.col("member_id"))).alias("left"),
        F.count(F.when(subscribed, 1)).alias("subscriptions"),
        F.count(F.when(F.col("about").isin("target", "target_member"), 1)).alias("targets"),
        _moved(before, after).alias("moved"),
    )


def _owners_or_empty(column: str) -> Column:
    return F.coalesce(_owners(F.from_json(column, _ASSIGNMENT)), F.array().cast(_IDS))


def _owners(assignment: Column) -> Column:
    """Convert an assignment to an array of strings: partition, line break, member id of the owner.

    Args:
        assignment: map: member id → array of the names of its partitions.
    """
    return F.flatten(
        F.transform(
            F.map_entries(assignment),
            lambda entry: F.transform(entry["value"], lambda partition: F.concat_ws("\n", partition, entry["key"])),
        )
    )


def _moved(before: Column, after: Column) -> Column:
    """Return how many partitions have an owner in `before` and a different owner in `after`.

    Args:
        before, after: arrays of partitions with their owners, from `_owners`.
    """

    def partition(owner: Column) -> Column:
        return F.substring_index(owner, "\n", 1)

    owned_before = F.transform(before, partition)
    changed = F.array_except(after, before)
    return F.size(F.filter(changed, lambda owner: F.array_contains(owned_before, partition(owner))))


def _member_cause(joined: Column, left: Column) -> Column:
    return (
        F.when((joined > 0) & (left > 0), "joined and left").when(joined > 0, "joined").when(left > 0, "left")
    )  # fmt: skip


def _other_cause() -> Column:
    return F.when(F.col("subscriptions") > 0, "subscription").when(F.col("targets") > 0, "topics")


def _to_table(rows: DataFrame) -> DataFrame:
    return rows.withColumn("day", F.to_date("start")).transform(conform, REBALANCES)
