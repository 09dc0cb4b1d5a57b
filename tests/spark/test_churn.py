"""Gold `churn`: what polls and records tell of rebalances, and what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.testing import assertDataFrameEqual

from kgtui.lake.schemas import LAG, MEMBERS, REBALANCES
from kgtui.pipeline.transforms.churn import churn, recorded_churn
from tests.spark.recorded_rows import Recorded, at, frame

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def members_of(made: Recorded, group: str, present: str, before: str) -> None:
    """Rows of those that came or went; all of them in a keyframe, where those that went have no row."""
    keyframe = made.polls[-1]["poll"] == made.keyframe
    for name in sorted(set(present) | set(before)):
        if name in present and (keyframe or name not in before):
            made.member(group, name)
        elif name not in present and not keyframe:
            made.member(group, name, gone=True)


def test_an_hour_tells_what_was_seen_and_flapping_is_named(spark: SparkSession) -> None:
    made = Recorded()
    states = {600: "Assigning", 900: "Reconciling", 1_200: "Stable", 3_300: "Reconciling", 3_900: "Stable"}
    sizes = {0: "ab", 900: "abc", 1_200: "bc", 1_800: "abc", 3_300: "bc"}
    state, there = "Stable", ""
    for second in range(0, 7_200, 300):
        if second == 5_100:  # after a gap nobody knows what happened in between
            made.poll(second, keyframe=True, gap="no poll for 600 s")
            made.group("flaps", "Empty", group_epoch=99)
            made.group("quiet")
            continue
        if second == 4_800:
            continue
        made.poll(second, keyframe=second % 600 == 0)
        now, was = sizes.get(second, there), there
        if second in states or second % 600 == 0:
            state = states.get(second, state)
            made.group("flaps", state, group_epoch=5 + second // 900 if second < 3_600 else 8)
            made.group("quiet")
        if second < 5_100:
            members_of(made, "flaps", now, was)
            there = now
        made.commit("flaps", "t", 0, 0, 0, owner="a" if "a" in there else "b")
    times, groups, partitions, _ = made.frames(spark)
    members = frame(spark, MEMBERS, made.members)
    records = frame(spark, REBALANCES, [
        {"day": at(0).date(), "record_partition": 0, "record_offset": offset, "group": group, "type": "classic",
         "epoch": offset, "start": at(start), "end": at(start + 4), "joined": 1, "left": 0, "moved": 2}
        for offset, (group, start) in enumerate([("flaps", 100), *(("records", 10_800 + 500 * n) for n in range(7))])
    ])  # fmt: skip
    rate = frame(
        spark,
        LAG,
        [{"group": "flaps", "minute": at(60), "rate_in": 2.0}, {"group": "flaps", "minute": at(120), "rate_in": 4.0}],
    )
    found = churn(times, recorded_churn(times, groups, members, partitions), records, rate)
    chosen = found.select(
        "group", "hour", "rebalances", "state_changes", "epoch_steps", "members_joined", "members_left",
        "partitions_moved", "rebalancing_seconds", "records_held_up", "covered_seconds", "per_hour", "flapping",
        "source",
    )  # fmt: skip
    expected = [
        ("flaps", at(0), 4, 4, 3, 2, 2, 3, 900.0, 2_700.0, 3_600.0, 4.0, False, "recorded, silver"),
        ("flaps", at(3_600), 0, 2, 0, 0, 0, 0, 300.0, None, 2_700.0, 0.0, False, "recorded"),
        ("records", at(10_800), 7, None, 7, 7, 0, 14, 28.0, None, None, 7.0, True, "silver"),
    ]
    assertDataFrameEqual(chosen, spark.createDataFrame(expected, chosen.schema))
