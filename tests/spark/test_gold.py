"""The job: from a lake that the recorder wrote to gold tables, once and again."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from kgtui.commands.pipeline import make_gold
from kgtui.history import Lake
from kgtui.history.changes import Seen
from kgtui.history.schemas import BASELINE, CHURN, FORECAST, GOLD, HEALTH, LAG
from kgtui.model.group import GroupDescription, Listing
from kgtui.model.offsets import CommittedOffset, PartitionBounds, ShareOffset, lags
from kgtui.pipeline.spark_schema import spark_schema
from tests.scripted import member
from tests.unit.history.recording import START, Recording

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame

    from kgtui.pipeline.lake import SparkLake

GROUPS = ("orders.paid", "[/foo]", "a\nb", "caf\udce9", "shared")
MINUTE = 60_000


class Cluster:
    """Groups that read, more or less."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.ends = {("t", number): 100 for number in range(3)}
        self.positions = {(group, tp): 90 for group in GROUPS for tp in self.ends}

    def look(self) -> Seen:
        """What a poll sees after a while."""
        for tp in self.ends:
            self.ends[tp] += self.random.randrange(50)
        for group, tp in self.positions:
            if self.random.random() < 0.5 and group != "[/foo]":
                self.positions[group, tp] += self.random.randrange(self.ends[tp] - self.positions[group, tp] + 1)
        bounds = {tp: PartitionBounds(0, end) for tp, end in self.ends.items()}
        listed = {
            group: Listing("share" if group == "shared" else "consumer", "consumer", "Stable", 1) for group in GROUPS
        }
        described = {
            group: GroupDescription(
                group, row.type or "", "consumer", "Stable", 1, group_epoch=1, members=(member("m"),)
            )
            for group, row in listed.items()
        }
        committed = {
            group: tuple(CommittedOffset(*tp, self.positions[group, tp]) for tp in self.ends)
            for group in GROUPS
            if group != "shared"
        }
        share = tuple(ShareOffset(*tp, self.positions["shared", tp], 0, 7) for tp in self.ends)
        return Seen(listed, described, committed, {"shared": share}, bounds)


def record(recording: Recording, cluster: Cluster, start: int, polls: int, *, gap: str = "") -> None:
    """Polls of ten seconds, a keyframe every three minutes, each minute a flush."""
    for number in range(polls):
        first = number == 0
        recording.poll(cluster.look(), start + number * 10_000, keyframe=number % 18 == 0, gap=gap if first else "")
        if number % 6 == 5:
            recording.flush()
    recording.flush()


def rows_of(rows: DataFrame) -> list[tuple[object, ...]]:
    return sorted(map(tuple, rows.collect()), key=repr)


@pytest.mark.timeout(900)  # the whole job, twice; on a machine that is busy with other things it takes its time
def test_lag_is_the_recorders_and_days_are_made_anew_without_a_trace(lake: SparkLake, tmp_path: Path) -> None:
    path = tmp_path / "lake"
    recording, cluster = Recording(path), Cluster(1)
    record(recording, cluster, START, 40, gap="the recording begins")
    assert make_gold(lake) == (datetime.fromtimestamp(START / 1000, UTC).date(),)

    replay, made = Lake(path), lake.read(LAG).cache()
    minutes = {row["minute"]: row["covered_to"] for row in made.select("minute", "covered_to").distinct().collect()}
    assert len(minutes) == 7
    moments = {moment.poll: moment for moment in replay.moments()}
    told = {(row["group"], row["topic"], row["partition"], row["minute"]): row for row in made.collect()}
    assert len(told) == made.count()
    expected = 0
    for minute, at in minutes.items():
        seen = replay.at(moments[round(at.timestamp() * 1000)])
        for group in GROUPS:
            stored = "caf\ufdd0dce9" if group == "caf\udce9" else group
            assert told[stored, None, None, minute]["lag"] == seen.lag(group).lag
            for row in lags(seen.offsets(group)):
                found = told[stored, row.topic, row.partition, minute]
                assert (found["position"], found["log_end"], found["lag"], found["lead"], found["lost"]) == (
                    row.position, row.log_end, row.lag, row.lead, row.lost,
                )  # fmt: skip
                expected += 1
    assert expected == 7 * len(GROUPS) * 3
    assert lake.read(HEALTH).filter("`group` = '[/foo]' AND topic IS NULL AND status = 'ERR'").count() > 0
    assert lake.read(FORECAST).filter("`group` = '[/foo]' AND drain_seconds IS NULL").count() == 4

    first = {table.name: rows_of(lake.read(table)) for table in GOLD}
    assert first["churn"] == first["cleanup"] == []
    assert first["baseline"]
    tomorrow = START + 86_400_000
    record(recording, cluster, tomorrow, 12, gap="recorder stopped")
    day = datetime.fromtimestamp(START / 1000, UTC).date()
    assert make_gold(lake) == (day, day + timedelta(days=1))  # the newest day that was made may have grown
    for table in GOLD:
        assert rows_of(lake.read(table).filter(F.col("day") == F.lit(day))) == first[table.name]
    assert make_gold(lake) == ()
    both = lake.read(LAG)
    assert both.filter(F.col("day") > F.lit(day)).select("minute").distinct().count() == 3
    for table in (*GOLD, BASELINE, CHURN):
        assert [field.name for field in lake.read(table).schema] == [field.name for field in spark_schema(table)]
