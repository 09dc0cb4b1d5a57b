"""Gold `cleanup`: what nobody uses, from recordings, from records, and from both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F
from pyspark.testing import assertDataFrameEqual

from kgtui.lake.schemas import COMMITS, GROUP_EVENTS
from kgtui.pipeline.transforms.cleanup import cleanup, decoded_activity, family_of, recorded_activity
from kgtui.tui.tree import grouping
from tests.spark.recorded_rows import Recorded, at, frame, ms

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DAYS = 86_400
CHOSEN = (
    "kind", "name", "family", "groups", "type", "lag", "last_commit", "quiet_since", "empty_since", "expires_at",
    "source",
)  # fmt: skip


def records(
    spark: SparkSession, commits: list[tuple[Any, ...]], events: list[tuple[Any, ...]]
) -> tuple[DataFrame, DataFrame]:
    """Silver tables: (group, offset, days) and (group, type, about, member, members, tombstone, days), as they came."""
    made = [
        {"record_offset": number, "record_time": at(day * DAYS), "day": at(day * DAYS).date(), "group": group,
         "topic": "t", "partition": 0, "offset": offset, "commit_time": None if offset is None else at(day * DAYS)}
        for number, (group, offset, day) in enumerate(commits)
    ]  # fmt: skip
    told = [
        {"record_offset": number, "record_time": at(day * DAYS), "day": at(day * DAYS).date(), "group": group,
         "type": kind, "about": about, "member_id": member, "members": members, "tombstone": tombstone,
         "state_time": at(day * DAYS)}
        for number, (group, kind, about, member, members, tombstone, day) in enumerate(events)
    ]  # fmt: skip
    return frame(spark, COMMITS, made), frame(spark, GROUP_EVENTS, told)


def ends(spark: SparkSession, day: float) -> DataFrame:
    return spark.createDataFrame([(at(day * DAYS).date(), ms(day * DAYS))], "day DATE, at BIGINT")


def test_groups_and_families_that_nobody_uses_are_found_in_recordings_and_records(spark: SparkSession) -> None:
    made = Recorded()
    for day in (0.5, 1.5, 3.5):
        made.poll(day * DAYS, keyframe=True, gap=None if day == 0.5 else "recorder stopped")
        for group in ("old.a", "old.b", "new.a", "alone", "waits"):
            made.group(group, "Empty", type="classic" if group == "alone" else "consumer", members=0)
        made.group("new.b", "Stable", members=1)
        made.group("share", "Empty", type="share", members=0)
        made.group("shrinks", "Empty" if day > 3 else "Stable", members=0)
        for group in ("old.a", "old.b", "new.a", "new.b", "alone", "shrinks"):
            made.commit(group, "t", 0, 5 if day == 0.5 and group == "old.b" else 9, 10)
        made.commit("waits", "t", 0, int(day * 10), 100)
        made.commit("share", "t", 0, None, 9, kind="share", spso=4, lag=5)
    times, groups, partitions, _ = made.frames(spark)
    seen = recorded_activity(times, groups, partitions, since=at(3 * DAYS).date()).localCheckpoint()  # as the job does
    read = decoded_activity(*records(spark, [("alone", 9, -3.0)], []), ends(spark, 3.5)).localCheckpoint()
    found = cleanup(seen, read, since=at(3 * DAYS).date()).select(*CHOSEN)
    half, week = at(DAYS / 2), 7 * DAYS
    expected = [
        ("family", "old.*", None, 2, None, 2, at(1.5 * DAYS), at(1.5 * DAYS), half, at(1.5 * DAYS + week), "recorded"),
        ("group", "old.a", "old.*", 1, "consumer", 1, None, half, half, at(DAYS / 2 + week), "recorded"),
        (
            "group",
            "old.b",
            "old.*",
            1,
            "consumer",
            1,
            at(1.5 * DAYS),
            at(1.5 * DAYS),
            half,
            at(1.5 * DAYS + week),
            "recorded",
        ),
        ("group", "new.a", "new.*", 1, "consumer", 1, None, half, half, at(DAYS / 2 + week), "recorded"),
        ("group", "alone", None, 1, "classic", 1, at(-3 * DAYS), half, half, at(DAYS / 2 + week), "recorded, silver"),
        ("group", "share", None, 1, "share", 5, None, half, half, None, "recorded"),
    ]
    assertDataFrameEqual(found, spark.createDataFrame(expected, found.schema))


def test_records_alone_tell_it_too(spark: SparkSession) -> None:
    commits = [
        ("simple", 3, 0.0),
        ("left", 1, 0.0),
        ("left", 2, 1.0),
        ("busy", 1, 0.0),
        ("gone", 1, 0.0),
        ("gone", None, 2.0),
    ]
    commits += [("empty", 5, 0.0)]
    events = [
        ("left", "consumer", "group", None, None, False, 0.0),
        ("left", "consumer", "member", "m", None, False, 0.0),
        ("left", "consumer", "member", "m", None, True, 2.0),
        ("busy", "consumer", "member", "m", None, False, 0.0),
        ("gone", "classic", "group", None, 0, False, 0.0),
        ("gone", "classic", "group", None, None, True, 2.0),
        ("empty", "classic", "group", None, 2, False, 0.0),
        ("empty", "classic", "group", None, 0, False, 3.0),
    ]
    seen = recorded_activity(*(Recorded().frames(spark)[:3])).localCheckpoint()
    read = decoded_activity(*records(spark, commits, events), ends(spark, 5.0)).localCheckpoint()
    found = cleanup(seen, read).select(*CHOSEN)
    week = 7 * DAYS
    expected = [
        ("group", "simple", None, 1, None, None, at(0), at(0), None, at(week), "silver"),
        ("group", "left", None, 1, "consumer", None, at(DAYS), at(2 * DAYS), at(2 * DAYS), at(DAYS + week), "silver"),
        ("group", "empty", None, 1, "classic", None, at(0), at(3 * DAYS), at(3 * DAYS), at(3 * DAYS + week), "silver"),
    ]
    assertDataFrameEqual(found, spark.createDataFrame(expected, found.schema))


def test_families_are_those_of_the_tree(spark: SparkSession) -> None:
    names = [
        "team-007.settle",
        "a-b",
        ".x",
        "x.",
        "x",
        "_a:b",
        "a.",
        "a-.",
        "a:b.c",
        "na\nme_x",
        "名.前",
        "",
        "--",
        "a-b-c:",
    ]
    found = spark.createDataFrame([(name,) for name in names], "name STRING").select(family_of(F.col("name")))
    assert [row[0] for row in found.collect()] == [grouping.family_of(name) for name in names]
