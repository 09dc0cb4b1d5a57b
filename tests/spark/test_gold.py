"""The job: from a lake that the recorder wrote to gold tables, once and again."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kgtui.commands.pipeline import update_gold
from kgtui.history import RecordingReader
from kgtui.lake.schemas import FORECAST, GOLD, HEALTH, LAG
from kgtui.model.offsets import lags
from kgtui.pipeline.spark_lake import SparkLake
from kgtui.pipeline.spark_schema import spark_schema
from tests.spark.small import GROUPS, KEPT, Cluster, record
from tests.unit.history.recording_builder import START, RecordingBuilder

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession


def rows_of(rows: DataFrame) -> list[tuple[object, ...]]:
    return sorted(map(tuple, rows.collect()), key=repr)


def test_lag_is_the_recorders(undisturbed: SparkLake) -> None:
    replay, made = RecordingReader(undisturbed.folder.path), undisturbed.read(LAG).cache()
    minutes = {row["minute"]: row["covered_to"] for row in made.select("minute", "covered_to").distinct().collect()}
    assert len(minutes) == 7
    moments = {moment.ms: moment for moment in replay.polls()}
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
    assert undisturbed.read(HEALTH).filter("`group` = '[/foo]' AND topic IS NULL AND status = 'ERR'").count() > 0
    assert undisturbed.read(FORECAST).filter("`group` = '[/foo]' AND drain_seconds IS NULL").count() == 4


def test_losses_are_told_by_the_retention_that_was_recorded(undisturbed: SparkLake) -> None:
    told = undisturbed.read(FORECAST).filter("`group` = '[/foo]' AND topic = 't'").collect()
    assert len(told) == 3
    assert {row["loss_basis"] for row in told} == {"retention"}
    # What it does not read waits since some time of the seven minutes that were recorded, or from before.
    assert all(KEPT - 420 <= row["loss_seconds"] <= KEPT for row in told)


def test_days_are_made_anew_without_a_trace(spark: SparkSession, undisturbed: SparkLake, tmp_path: Path) -> None:
    lake = SparkLake(spark, shutil.copytree(undisturbed.folder.path, tmp_path / "lake"))
    first = {table.name: rows_of(lake.read(table)) for table in GOLD}
    assert {name for name, rows in first.items() if not rows} == {"churn", "cleanup"}
    assert update_gold(lake) == ()
    tomorrow = START + 86_400_000
    record(RecordingBuilder(lake.folder.path), Cluster(2), tomorrow, 12, gap="recorder stopped")
    day = datetime.fromtimestamp(START / 1000, UTC).date()
    assert update_gold(lake) == (day, day + timedelta(days=1))  # the newest day that was made may have grown
    for table in GOLD:
        assert rows_of(lake.read(table).filter(F.col("day") <= F.lit(day))) == first[table.name]
    both = lake.read(LAG)
    assert both.filter(F.col("day") > F.lit(day)).select("minute").distinct().count() == 3
    for table in GOLD:
        assert [field.name for field in lake.read(table).schema] == [field.name for field in spark_schema(table)]
