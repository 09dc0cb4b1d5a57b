"""Tests of the gold table `churn`: rebalances per hour, from recordings and from `__consumer_offsets`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.testing import assertDataFrameEqual

from kgtui.lake.schemas import LAG, MEMBERS, REBALANCES
from kgtui.pipeline.transforms.churn import churn, recorded_churn
from tests.spark.recorded_rows import RecordedTables, at, frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def record_members(tables: RecordedTables, group: str, present: str, before: str) -> None:
    """Add rows for the latest poll to the table `members`.

    Add all members if the poll is a keyframe (a poll with the complete state). Otherwise, add only members that joined
    or left.

    Args:
        present: ids of the members at the latest poll, one character per id.
        before: ids of the members at the previous poll, one character per id.
    """
    keyframe = tables.polls[-1]["poll"] == tables.keyframe
    for name in sorted(set(present) | set(before)):
        if name in present and (keyframe or name not in before):
            tables.member(group, name)
        elif name not in present and not keyframe:
            tables.member(group, name, gone=True)


def test_rebalances_from_polls_and_from_records_are_counted_per_hour(spark: SparkSession) -> None:
    tables = RecordedTables()
    states = {600: "Assigning", 900: "Reconciling", 1_200: "Stable", 3_300: "Reconciling", 3_900: "Stable"}
    members_at = {0: "ab", 900: "abc", 1_200: "bc", 1_800: "abc", 3_300: "bc"}
    state, present = "Stable", ""
    for second in range(0, 7_200, 300):
        # The poll at 4,800 s is missing. After this gap, the state and epoch of group `flaps` are different. This must
        # not be counted as a rebalance.
        if second == 5_100:
            tables.poll(second, keyframe=True, gap="no poll for 600 s")
            tables.group("flaps", "Empty", group_epoch=99)
            tables.group("quiet")
            continue
        if second == 4_800:
            continue
        tables.poll(second, keyframe=second % 600 == 0)
        now, before = members_at.get(second, present), present
        if second in states or second % 600 == 0:
            state = states.get(second, state)
            tables.group("flaps", state, group_epoch=5 + second // 900 if second < 3_600 else 8)
            tables.group("quiet")
        if second < 5_100:
            record_members(tables, "flaps", now, before)
            present = now
        tables.commit("flaps", "t", 0, 0, 0, owner="a" if "a" in present else "b")
    # Only six minutes of the last hour were recorded, with three rebalances. This is not enough to report that the
    # group flaps (rebalances again and again).
    for second, now in ((14_400, "abc"), (14_520, "bc"), (14_640, "abc"), (14_760, "bc")):
        tables.poll(second, keyframe=second == 14_400, gap="recorder stopped" if second == 14_400 else None)
        if second == 14_400:
            tables.group("flaps", group_epoch=100)
        record_members(tables, "flaps", now, present)
        tables.commit("flaps", "t", 0, 0, 0, owner="a" if "a" in now else "b")
        present = now
    timeline, groups, partitions, _ = tables.frames(spark)
    members = frame(spark, MEMBERS, tables.members)
    rebalances = frame(spark, REBALANCES, [
        {"day": at(0).date(), "record_partition": 0, "record_offset": offset, "group": group, "type": "classic",
         "epoch": offset, "start": at(start), "end": at(start + 4), "joined": 1, "left": 0, "moved": 2}
        for offset, (group, start) in enumerate([("flaps", 100), *(("records", 10_800 + 500 * n) for n in range(7))])
    ])  # fmt: skip
    rates = [("flaps", 60, 2.0), ("flaps", 120, 4.0)]
    lag = frame(spark, LAG, [{"group": group, "minute": at(time), "rate_in": rate} for group, time, rate in rates])
    result = churn(timeline, recorded_churn(timeline, groups, members, partitions), rebalances, lag).select(
        "group", "hour", "rebalances", "state_changes", "epoch_steps", "members_joined", "members_left",
        "partitions_moved", "rebalancing_seconds", "records_held_up", "covered_seconds", "per_hour", "flapping",
        "source", "burst_since", "last_rebalance", "covered_to",
    )  # fmt: skip
    expected = [
        ("flaps", at(0), 4, 4, 3, 2, 2, 3, 900.0, 2_700.0, 3_600.0, 4.0, False, "recorded, silver",
         at(100), at(3_300), at(3_600)),
        ("flaps", at(3_600), 0, 2, 0, 0, 0, 0, 300.0, None, 2_700.0, 0.0, False, "recorded", None, None, at(6_900)),
        ("flaps", at(14_400), 3, 0, None, 1, 2, 3, 0.0, None, 360.0, 30.0, False, "recorded",
         at(14_520), at(14_760), at(14_760)),
        # Group `records` is known only from decoded records of `__consumer_offsets`, so its row covers only the time up
        # to its last rebalance.
        ("records", at(10_800), 7, None, 7, 7, 0, 14, 28.0, None, None, 7.0, True, "silver",
         at(10_800), at(13_800), at(13_800)),
    ]  # fmt: skip
    assertDataFrameEqual(result, spark.createDataFrame(expected, result.schema))
