"""Rebalances put together from the records that they leave: literal events in, literal rebalances out."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from pyspark.testing import assertDataFrameEqual

from kgtui.lake.schemas import GROUP_EVENTS, REBALANCES
from kgtui.pipeline.spark_schema import spark_schema
from kgtui.pipeline.transforms.group_events import with_created
from kgtui.pipeline.transforms.rebalances import rebalances

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

START = datetime(2026, 11, 21, 12, tzinfo=UTC)


def at(second: int) -> datetime:
    return START + timedelta(seconds=second)


class Log:
    """The records of one group, in their order."""

    def __init__(self, group: str, kind: str) -> None:
        self.rows: list[dict[str, Any]] = []
        self.always = {"day": START.date(), "record_partition": 3, "group": group, "type": kind, "record": "R"}

    def add(self, second: int, about: str, **given: Any) -> None:
        place = {"record_offset": 10 * len(self.rows), "record_time": at(second)}
        self.rows.append(self.always | {"about": about, "tombstone": False} | place | given)

    def generation(self, second: int, epoch: int, owners: dict[str, list[str]]) -> None:
        self.add(
            second,
            "group",
            epoch=epoch,
            state_time=at(second - 1),
            state="Stable" if owners else "Empty",
            members=len(owners),
            member_ids=json.dumps([*owners]),
            assignment=json.dumps(owners),
        )

    def given(self, second: int, about: str, epoch: int | None, member: str, *parts: str) -> None:
        self.add(second, about, epoch=epoch, member_id=member, assignment=json.dumps({member: parts}))


def frame(spark: SparkSession, *logs: Log) -> DataFrame:
    rows = [tuple(row.get(name) for name in GROUP_EVENTS.names) for log in logs for row in log.rows]
    return spark.createDataFrame(rows, spark_schema(GROUP_EVENTS)).transform(with_created)


def classic() -> Log:
    log = Log("payments", "classic")
    log.generation(10, 1, {"a": ["t-0", "t-1"]})
    log.generation(20, 2, {"a": ["t-0"], "b": ["t-1"]})
    log.generation(25, 2, {"a": ["t-0"], "b": ["t-1"]})  # written again, as when a coordinator moved
    log.generation(30, 3, {"b": ["t-0", "t-1"], "c": []})
    log.generation(40, 4, {})
    log.add(50, "group", tombstone=True)
    return log


def consumer() -> Log:
    log = Log("orders", "consumer")
    log.add(100, "member", member_id="a", client_id="x")
    log.add(100, "group", epoch=1)
    log.given(100, "target_member", None, "a", "t-0", "t-1")
    log.add(100, "target", epoch=1)
    log.given(101, "current", 1, "a", "t-0", "t-1")
    log.add(110, "member", member_id="b", client_id="x")
    log.add(110, "group", epoch=2)
    log.given(110, "target_member", None, "a", "t-0")
    log.given(110, "target_member", None, "b", "t-1")
    log.add(110, "target", epoch=2)
    log.given(112, "current", 2, "a", "t-0")
    log.given(114, "current", 2, "b", "t-1")
    log.add(120, "current", member_id="b", tombstone=True)
    log.add(120, "target_member", member_id="b", tombstone=True)
    log.add(120, "member", member_id="b", tombstone=True)
    log.add(120, "group", epoch=3)
    log.given(120, "target_member", None, "a", "t-0", "t-1")
    log.add(120, "target", epoch=3)
    return log


def expected(group: str, kind: str, offset: int, epoch: int, *rest: Any) -> dict[str, Any]:
    names = ("start", "end", "cause", "joined", "left", "members", "moved")
    start = {"day": START.date(), "record_partition": 3, "record_offset": offset, "group": group, "type": kind}
    return start | {"epoch": epoch} | dict(zip(names, rest, strict=True))


def test_each_rebalance_says_when_why_and_what_moved(spark: SparkSession) -> None:
    rows = [
        expected("payments", "classic", 0, 1, at(9), at(10), "joined", 1, 0, 1, 0),
        expected("payments", "classic", 10, 2, at(19), at(20), "joined", 1, 0, 2, 1),
        expected("payments", "classic", 30, 3, at(29), at(30), "joined and left", 1, 1, 2, 1),
        expected("payments", "classic", 40, 4, at(39), at(40), "left", 0, 2, 0, 0),
        expected("orders", "consumer", 10, 1, at(100), at(101), "joined", 1, 0, None, 0),
        expected("orders", "consumer", 60, 2, at(110), at(114), "joined", 1, 0, None, 1),
        expected("orders", "consumer", 150, 3, at(120), None, "left", 0, 1, None, 1),
    ]
    wanted = spark.createDataFrame(
        [tuple(row[name] for name in REBALANCES.names) for row in rows], spark_schema(REBALANCES)
    )
    assertDataFrameEqual(frame(spark, classic(), consumer()).transform(rebalances), wanted, ignoreNullable=True)


def test_a_group_that_began_before_the_log_has_an_unknown_beginning(spark: SparkSession) -> None:
    late = Log("late", "classic")
    late.generation(10, 41, {"a": ["t-0"]})
    reborn = classic()
    reborn.generation(60, 1, {"z": ["t-0"]})
    events = frame(spark, late, reborn)
    created = {(row.group, row.record_offset): row.created for row in events.where("about = 'group'").collect()}
    assert created["late", 0] is None
    assert [offset for (group, offset), yes in created.items() if group == "payments" and yes] == [0, 60]
    (row,) = events.where("`group` = 'late'").transform(rebalances).collect()
    assert (row.epoch, row.joined, row.left, row.cause, row.members) == (41, None, None, None, 1)
