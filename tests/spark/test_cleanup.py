"""Tests of the gold table `cleanup`: unused groups, and families (groups with the same id prefix) that are unused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F
from pyspark.testing import assertDataFrameEqual

from kgtui.lake.schemas import COMMITS, GROUP_EVENTS
from kgtui.pipeline.transforms.cleanup import (
    cleanup,
    decoded_activity,
    family_of,
    groups_without_members,
    recorded_activity,
)
from kgtui.tui.tree import grouping
from tests.spark.recorded_rows import RecordedTables, at, frame, ms

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DAYS = 86_400
WEEK = 7 * DAYS
COLUMNS = (
    "kind", "name", "family", "groups", "type", "lag", "last_commit", "quiet_since", "empty_since", "expires_at",
    "source",
)  # fmt: skip


def silver_tables(
    spark: SparkSession, commits: list[tuple[Any, ...]], events: list[tuple[Any, ...]]
) -> tuple[DataFrame, DataFrame]:
    """Return the silver tables `commits` and `group_events` as DataFrames.

    The `record_offset` of a row is the index of its tuple in `commits` or `events`.

    Args:
        commits: tuples (group, committed offset, days after `START`). The offset of a tombstone is None.
        events: tuples (group, type of the group, what the record describes: `group` or `member`, member id, number of
            members, whether the record is a tombstone, days after `START`).
    """

    def place(number: int, day: float) -> dict[str, Any]:
        return {"record_offset": number, "record_time": at(day * DAYS), "day": at(day * DAYS).date()}

    commit_rows = [
        {**place(number, day), "group": group, "topic": "t", "partition": 0, "offset": offset,
         "commit_time": None if offset is None else at(day * DAYS)}
        for number, (group, offset, day) in enumerate(commits)
    ]  # fmt: skip
    event_rows = [
        {**place(number, day), "group": group, "type": group_type, "about": about, "member_id": member,
         "members": members, "tombstone": tombstone, "state_time": at(day * DAYS)}
        for number, (group, group_type, about, member, members, tombstone, day) in enumerate(events)
    ]  # fmt: skip
    return frame(spark, COMMITS, commit_rows), frame(spark, GROUP_EVENTS, event_rows)


def end_of_day(spark: SparkSession, day: float) -> DataFrame:
    """Return a DataFrame with one row: a date, and the time at which its data end, `day` days after `START`.

    Tests pass it to `decoded_activity` as the argument `days`.
    """
    return spark.createDataFrame([(at(day * DAYS).date(), ms(day * DAYS))], "day DATE, at BIGINT")


def test_unused_groups_and_unused_group_id_prefixes_are_listed(spark: SparkSession) -> None:
    """A family contains the groups with the same id prefix.

    Family `old.*` is listed, because both its groups are unused. Family `new.*` is not, because `new.b` is in use.
    """
    tables = RecordedTables()
    for day in (0.5, 1.5, 3.5):
        tables.poll(day * DAYS, keyframe=True, gap=None if day == 0.5 else "recorder stopped")
        for group in ("old.a", "old.b", "new.a", "alone", "waits"):
            marked = group in ("old.a", "alone")
            tables.group(
                group, "Empty", type="classic" if group == "alone" else "consumer", members=0,
                offsets_may_be_hidden=marked,
            )  # fmt: skip
        tables.group("new.b", "Stable", members=1)
        tables.group("share", "Empty", type="share", members=0)
        tables.group("shrinks", "Empty" if day > 3 else "Stable", members=0)
        for group in ("old.a", "old.b", "new.a", "new.b", "alone", "shrinks"):
            tables.commit(group, "t", 0, 5 if day == 0.5 and group == "old.b" else 9, 10)
        tables.commit("waits", "t", 0, int(day * 10), 100)
        tables.commit("share", "t", 0, None, 9, kind="share", spso=4, lag=5)
    timeline, groups, partitions, _ = tables.frames(spark)
    since = at(3 * DAYS).date()
    # Do the same as the gold job: use only the history of groups without members, and compute `recorded` and `decoded`
    # (with `localCheckpoint`) before `cleanup` uses these DataFrames.
    asked = groups_without_members(timeline, groups, since=since)
    assert {row.group for row in asked.collect()} == {"old.a", "old.b", "new.a", "alone", "waits", "share", "shrinks"}
    partitions = partitions.join(asked, "group", "left_semi")
    recorded = recorded_activity(timeline, groups, partitions, since=since).localCheckpoint()
    silver = silver_tables(spark, [("alone", 9, -3.0)], [])
    decoded = decoded_activity(*silver, end_of_day(spark, 3.5)).localCheckpoint()
    rows = cleanup(recorded, decoded, since=since).cache()
    # The recorder says that offsets of the groups `old.a` and `alone` may be hidden, because it lacks a permission. But
    # commits of `alone` were decoded from `__consumer_offsets`, which contains all offsets, so none of them is hidden.
    assert {row["name"]: row["offsets_may_be_hidden"] for row in rows.collect()} == {
        "old.*": True, "old.a": True, "old.b": False, "new.a": False, "alone": False, "share": None
    }  # fmt: skip
    result = rows.select(*COLUMNS)
    half, expiry = at(DAYS / 2), at(DAYS / 2 + WEEK)
    moved, moved_expiry = at(1.5 * DAYS), at(1.5 * DAYS + WEEK)
    expected = [
        ("family", "old.*", None, 2, None, 2, moved, moved, half, moved_expiry, "recorded"),
        ("group", "old.a", "old.*", 1, "consumer", 1, None, half, half, expiry, "recorded"),
        ("group", "old.b", "old.*", 1, "consumer", 1, moved, moved, half, moved_expiry, "recorded"),
        ("group", "new.a", "new.*", 1, "consumer", 1, None, half, half, expiry, "recorded"),
        ("group", "alone", None, 1, "classic", 1, at(-3 * DAYS), half, half, expiry, "recorded, silver"),
        ("group", "share", None, 1, "share", 5, None, half, half, None, "recorded"),
    ]
    assertDataFrameEqual(result, spark.createDataFrame(expected, result.schema))


def test_offsets_expire_a_week_after_the_group_was_last_active(spark: SparkSession) -> None:
    """Decoded records of `__consumer_offsets` show when a group made its last commit.

    kgtui's polls of a cluster do not show commits of an unchanged offset. Without decoded records, kgtui therefore
    assumes that the group committed until it became Empty.
    """
    tables = RecordedTables()
    for day in (0.5, 1.0, 1.5, 3.5):
        tables.poll(day * DAYS, keyframe=True, gap=None if day == 0.5 else "recorder stopped")
        for group in ("polled", "decoded"):
            tables.group(group, "Stable" if day < 1.5 else "Empty", members=0)
            tables.commit(group, "t", 0, 5 if day < 1.0 else 9, 10)
        for group, protocol in (("classic", "consumer"), ("simple", "")):
            tables.group(group, "Empty", type="classic", protocol=protocol, members=0)
            tables.commit(group, "t", 0, 5 if day < 1.5 else 9, 10)
    timeline, groups, partitions, _ = tables.frames(spark)
    since = at(3 * DAYS).date()
    recorded = recorded_activity(timeline, groups, partitions, since=since).localCheckpoint()
    silver = silver_tables(spark, [("decoded", 9, 1.0)], [])
    decoded = decoded_activity(*silver, end_of_day(spark, 3.5)).localCheckpoint()
    rows = cleanup(recorded, decoded, since=since).select("name", F.unix_millis("expires_at")).collect()
    assert dict(map(tuple, rows)) == {
        # Group `polled` became Empty on day 1.5. Its commits are known only from kgtui's polls.
        "polled": ms(1.5 * DAYS + WEEK),
        # Decoded records show that group `decoded` made its last commit on day 1.
        "decoded": ms(1.0 * DAYS + WEEK),
        # Group `classic` has been Empty since day 0.5. The reset of its offsets on day 1.5 does not delay their expiry.
        "classic": ms(0.5 * DAYS + WEEK),
        # Group `simple` never has members. Its last commit first appears in the poll on day 1.5.
        "simple": ms(1.5 * DAYS + WEEK),
    }


def test_unused_groups_known_only_from_decoded_records_are_listed(spark: SparkSession) -> None:
    """The recording is empty. Group `gone` was deleted, and group `busy` has a member, so these two are not listed."""
    commits = [
        ("simple", 3, 0.0), ("left", 1, 0.0), ("left", 2, 1.0), ("busy", 1, 0.0), ("gone", 1, 0.0),
        ("gone", None, 2.0), ("empty", 5, 0.0),
    ]  # fmt: skip
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
    recorded = recorded_activity(*(RecordedTables().frames(spark)[:3])).localCheckpoint()
    silver = silver_tables(spark, commits, events)
    decoded = decoded_activity(*silver, end_of_day(spark, 5.0)).localCheckpoint()
    result = cleanup(recorded, decoded).select(*COLUMNS)
    expected = [
        ("group", "simple", None, 1, None, None, at(0), at(0), None, at(WEEK), "silver"),
        ("group", "left", None, 1, "consumer", None, at(DAYS), at(2 * DAYS), at(2 * DAYS), at(DAYS + WEEK), "silver"),
        ("group", "empty", None, 1, "classic", None, at(0), at(3 * DAYS), at(3 * DAYS), at(3 * DAYS + WEEK), "silver"),
    ]
    assertDataFrameEqual(result, spark.createDataFrame(expected, result.schema))


def test_spark_and_the_terminal_ui_find_the_same_group_id_prefixes(spark: SparkSession) -> None:
    names = [
        "team-007.settle", "a-b", ".x", "x.", "x", "_a:b", "a.", "a-.", "a:b.c", "na\nme_x", "名.前", "", "--",
        "a-b-c:",
    ]  # fmt: skip
    rows = spark.createDataFrame([(name,) for name in names], "name STRING").select(family_of(F.col("name"))).collect()
    assert [row[0] for row in rows] == [grouping.family_of(name) for name in names]
