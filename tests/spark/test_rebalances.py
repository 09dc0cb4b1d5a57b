"""Tests of the silver table `rebalances`, and of the column `created` in the table `group_events`.

The column says whether a record is the first one of a newly created group.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F
from pyspark.testing import assertDataFrameEqual

from kgtui.lake.schemas import GROUP_EVENTS, REBALANCES
from kgtui.pipeline.transforms.group_events import with_created
from kgtui.pipeline.transforms.rebalances import needed_events, rebalance_starts, rebalances
from tests.spark.table_schemas import spark_schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

START = datetime(2026, 11, 21, 12, tzinfo=UTC)


def at(second: int) -> datetime:
    return START + timedelta(seconds=second)


class GroupLog:
    """Builds rows of `group_events` for one group.

    The record offset of each row is 10 higher than in the previous row.
    """

    def __init__(self, group: str, group_type: str) -> None:
        self.rows: list[dict[str, Any]] = []
        self._common = {"day": START.date(), "record_partition": 3, "group": group, "type": group_type, "record": "R"}

    def set_type(self, group_type: str) -> None:
        """Set the group type of the rows that are added from now on."""
        self._common["type"] = group_type

    def add(self, second: int, about: str, **values: Any) -> None:
        """Add a record that was written `second` seconds after `START`.

        Args:
            about: what the record describes; value of the column `about`.
            values: values of other columns. A tombstone has `tombstone=True`.
        """
        place = {"record_offset": 10 * len(self.rows), "record_time": at(second)}
        self.rows.append(self._common | {"about": about, "tombstone": False} | place | values)

    def add_generation(self, second: int, epoch: int, assignment: dict[str, list[str]]) -> None:
        """Add the record of a rebalance in a classic group, `second` seconds after `START`.

        Args:
            epoch: number of the new generation.
            assignment: member id → partitions, such as `t-0` (partition 0 of topic `t`).
        """
        self.add(
            second,
            "group",
            epoch=epoch,
            state_time=at(second - 1),
            state="Stable" if assignment else "Empty",
            members=len(assignment),
            member_ids=json.dumps([*assignment]),
            assignment=json.dumps(assignment),
        )

    def add_assignment(self, second: int, about: str, epoch: int | None, member: str, *partitions: str) -> None:
        """Add a record with the target assignment or the current assignment of one member.

        Args:
            second: seconds after `START`.
            about: `target_member` for a target assignment, `current` for a current assignment.
            epoch: member epoch of a current assignment; None for a target assignment.
        """
        self.add(second, about, epoch=epoch, member_id=member, assignment=json.dumps({member: partitions}))


def group_events(spark: SparkSession, *logs: GroupLog) -> DataFrame:
    rows = [tuple(row.get(name) for name in GROUP_EVENTS.names) for log in logs for row in log.rows]
    return spark.createDataFrame(rows, spark_schema(GROUP_EVENTS)).transform(with_created)


def classic_group() -> GroupLog:
    log = GroupLog("payments", "classic")
    log.add_generation(10, 1, {"a": ["t-0", "t-1"]})
    log.add_generation(20, 2, {"a": ["t-0"], "b": ["t-1"]})
    # This record is not another rebalance: a new coordinator wrote the record of generation 2 again.
    log.add_generation(25, 2, {"a": ["t-0"], "b": ["t-1"]})
    log.add_generation(30, 3, {"b": ["t-0", "t-1"], "c": []})
    log.add_generation(40, 4, {})
    log.add(50, "group", tombstone=True)
    return log


def consumer_group() -> GroupLog:
    log = GroupLog("orders", "consumer")
    log.add(100, "member", member_id="a", client_id="x")
    log.add(100, "group", epoch=1)
    log.add_assignment(100, "target_member", None, "a", "t-0", "t-1")
    log.add(100, "target", epoch=1)
    log.add_assignment(101, "current", 1, "a", "t-0", "t-1")
    log.add(110, "member", member_id="b", client_id="x")
    log.add(110, "group", epoch=2)
    log.add_assignment(110, "target_member", None, "a", "t-0")
    log.add_assignment(110, "target_member", None, "b", "t-1")
    log.add(110, "target", epoch=2)
    log.add_assignment(112, "current", 2, "a", "t-0")
    log.add_assignment(114, "current", 2, "b", "t-1")
    log.add(120, "current", member_id="b", tombstone=True)
    log.add(120, "target_member", member_id="b", tombstone=True)
    log.add(120, "member", member_id="b", tombstone=True)
    log.add(120, "group", epoch=3)
    log.add_assignment(120, "target_member", None, "a", "t-0", "t-1")
    log.add(120, "target", epoch=3)
    return log


def rebalance(group: str, group_type: str, offset: int, epoch: int, *values: Any) -> dict[str, Any]:
    """Return an expected row of `rebalances`. `values` are start, end, cause, joined, left, members and moved."""
    names = ("start", "end", "cause", "joined", "left", "members", "moved")
    place = {"day": START.date(), "record_partition": 3, "record_offset": offset, "group": group, "type": group_type}
    return place | {"epoch": epoch} | dict(zip(names, values, strict=True))


def test_rebalances_are_computed_from_classic_and_kip_848_events(spark: SparkSession) -> None:
    rows = [
        rebalance("payments", "classic", 0, 1, at(9), at(10), "joined", 1, 0, 1, 0),
        rebalance("payments", "classic", 10, 2, at(19), at(20), "joined", 1, 0, 2, 1),
        rebalance("payments", "classic", 30, 3, at(29), at(30), "joined and left", 1, 1, 2, 1),
        rebalance("payments", "classic", 40, 4, at(39), at(40), "left", 0, 2, 0, 0),
        rebalance("orders", "consumer", 10, 1, at(100), at(101), "joined", 1, 0, None, 0),
        rebalance("orders", "consumer", 60, 2, at(110), at(114), "joined", 1, 0, None, 1),
        rebalance("orders", "consumer", 150, 3, at(120), None, "left", 0, 1, None, 1),
    ]
    expected = spark.createDataFrame(
        [tuple(row[name] for name in REBALANCES.names) for row in rows], spark_schema(REBALANCES)
    )
    result = group_events(spark, classic_group(), consumer_group()).transform(rebalances)
    assertDataFrameEqual(result, expected, ignoreNullable=True)


def random_log(random: Random, group: str) -> GroupLog:
    """Return a log of random events of one group. The group may be deleted, or change its type."""
    log = GroupLog(group, "")
    types = [random.choice(["classic", "consumer", "share"])]
    if random.random() < 0.3:
        types.append(random.choice(["classic", "consumer"]))
    second, epoch = 0, random.choice([0, 40])
    for group_type in types:
        log.set_type(group_type)
        for _ in range(random.randint(1, 30)):
            second += random.randint(0, 40_000)
            member, tombstone = random.choice("abc"), random.random() < 0.2
            if group_type == "classic" or random.random() < 0.3:
                epoch += random.randint(0, 1)
            if group_type == "classic":
                members = random.sample("abc", random.randint(0, 3))
                if tombstone:
                    log.add(second, "group", tombstone=True)
                else:
                    log.add_generation(second, epoch, {one: [f"t-{random.randint(0, 3)}"] for one in members})
            elif random.random() < 0.35:
                log.add(second, "group", **({"tombstone": True} if tombstone else {"epoch": epoch}))
            elif random.random() < 0.4 or tombstone:
                about = random.choice(["member", "member", "target_member", "current"])
                log.add(second, about, member_id=member, tombstone=tombstone)
            else:
                about = random.choice(["target_member", "current"])
                log.add_assignment(second, about, epoch, member, *random.sample(["t-0", "t-1", "t-2"], 2))
    return log


def test_new_rebalances_are_correct_if_computed_from_selected_events_only(spark: SparkSession) -> None:
    """Rebalances are computed from new group events, and from the stored events that `needed_events` selects.

    The result must be the same as if all stored events were used.
    """
    random = Random(18)
    rows: list[dict[str, Any]] = []
    is_new: set[int] = set()
    for number in range(150):
        log = random_log(random, f"group-{number}").rows
        for row in log:
            row["record_offset"] += 1_000 * number
        cut = random.randint(0, len(log))
        late = random.random() < 0.3
        chosen = random.sample(log, min(len(log), 2)) if late else log[cut:]
        is_new |= {row["record_offset"] for row in chosen}
        rows += log
    table = spark.createDataFrame(
        [tuple(row.get(name) for name in GROUP_EVENTS.names) for row in rows], spark_schema(GROUP_EVENTS)
    ).repartition(2)
    offsets = [*is_new]
    new, stored = table.where(F.col("record_offset").isin(offsets)), table.where(~F.col("record_offset").isin(offsets))
    starts = rebalance_starts(stored, new).persist()
    needed = stored.join(needed_events(stored, starts), [*GROUP_EVENTS.key, "day"], "left_semi").persist()
    assert needed.count() < stored.count() * 0.8

    def of(events: DataFrame) -> list[dict[str, Any]]:
        found = events.transform(with_created).transform(rebalances).join(starts, ["record_partition", "group"])
        return sorted((row.asDict() for row in found.collect()), key=str)

    complete, bounded, before = of(table), of(needed.unionByName(new)), of(stored)
    assert [row for row in complete if row["record_offset"] >= row["since"]] == [
        row for row in bounded if row["record_offset"] >= row["since"]
    ]
    assert [row for row in complete if row["record_offset"] < row["since"]] == [
        row for row in before if row["record_offset"] < row["since"]
    ]
    assert len(bounded) > 100
    created = {
        row.record_offset: row.created for row in table.transform(with_created).collect() if row.record_offset in is_new
    }
    assert created == {
        row.record_offset: row.created
        for row in needed.unionByName(new).transform(with_created).collect()
        if row.record_offset in is_new
    }


def test_creation_of_a_group_is_unknown_if_its_first_records_are_missing(spark: SparkSession) -> None:
    old = GroupLog("late", "classic")
    old.add_generation(10, 41, {"a": ["t-0"]})
    created_twice = classic_group()
    created_twice.add_generation(60, 1, {"z": ["t-0"]})
    events = group_events(spark, old, created_twice)
    created = {(row.group, row.record_offset): row.created for row in events.where("about = 'group'").collect()}
    assert created["late", 0] is None
    assert [offset for (group, offset), value in created.items() if group == "payments" and value] == [0, 60]
    (row,) = events.where("`group` = 'late'").transform(rebalances).collect()
    assert (row.epoch, row.joined, row.left, row.cause, row.members) == (41, None, None, None, 1)
