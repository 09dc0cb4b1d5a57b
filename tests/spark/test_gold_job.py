"""Tests that gold tables contain the same values as the recording, and that a second computation changes nothing."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake

from kgtui.commands.pipeline import update_gold
from kgtui.history import RecordingReader
from kgtui.lake.schemas import COMMITS, FORECAST, GOLD, HEALTH, LAG
from kgtui.model.offsets import lags
from kgtui.pipeline.spark_lake import SparkLake
from tests.spark.sample_data import GROUPS, RETENTION, Cluster, record
from tests.spark.stored_rows import stored_rows
from tests.spark.table_schemas import spark_schema
from tests.unit.history.recording_builder import START, RecordingBuilder

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tests.spark.background_runs import BackgroundRuns


def test_pipeline_runs_on_two_executors_with_the_python_of_the_spark_worker(
    uninterrupted_lake: SparkLake, background_runs: BackgroundRuns
) -> None:
    assert background_runs.cluster_executors == 2
    assert background_runs.cluster_python_starts > 0, "the executors did not run the worker's python3"
    assert uninterrupted_lake.read(COMMITS).count() > 0, "executors decode records with kgtui's code"


def test_lags_in_the_gold_table_equal_those_replayed_from_the_recording(uninterrupted_lake: SparkLake) -> None:
    recording, lag = RecordingReader(uninterrupted_lake.folder.local_path), uninterrupted_lake.read(LAG).cache()
    last_polls = {row["minute"]: row["covered_to"] for row in lag.select("minute", "covered_to").distinct().collect()}
    assert len(last_polls) == 7
    polls = {poll.ms: poll for poll in recording.polls()}
    rows = {(row["group"], row["topic"], row["partition"], row["minute"]): row for row in lag.collect()}
    assert len(rows) == lag.count()
    compared = 0
    for minute, at in last_polls.items():
        state = recording.at(polls[round(at.timestamp() * 1000)])
        for group in GROUPS:
            stored = "caf\ufdd0dce9" if group == "caf\udce9" else group
            assert rows[stored, None, None, minute]["lag"] == state.lag(group).lag
            for expected in lags(state.offsets(group)):
                row = rows[stored, expected.topic, expected.partition, minute]
                assert (row["position"], row["log_end"], row["lag"], row["lead"], row["lost"]) == (
                    expected.position, expected.log_end, expected.lag, expected.lead, expected.lost,
                )  # fmt: skip
                compared += 1
    assert compared == 7 * len(GROUPS) * 3
    assert uninterrupted_lake.read(HEALTH).filter("`group` = '[/foo]' AND topic IS NULL AND status = 'ERR'").count() > 0
    assert uninterrupted_lake.read(FORECAST).filter("`group` = '[/foo]' AND drain_seconds IS NULL").count() == 4


def test_gold_table_forecast_uses_the_recorded_retention_time_of_the_topic(uninterrupted_lake: SparkLake) -> None:
    rows = uninterrupted_lake.read(FORECAST).filter("`group` = '[/foo]' AND topic = 't'").collect()
    assert len(rows) == 3
    assert {row["loss_basis"] for row in rows} == {"retention"}
    # The first unread record is deleted when it is RETENTION seconds old. At the end of the recording, the record is at
    # most 420 s old, because the recording lasts seven minutes.
    assert all(RETENTION - 420 <= row["loss_seconds"] <= RETENTION for row in rows)


def test_parquet_files_have_int64_timestamps_statistics_and_zstd_compression(uninterrupted_lake: SparkLake) -> None:
    folder = uninterrupted_lake.folder.local_path
    files = [file for table in (COMMITS, LAG) for file in (folder / table.title).glob("day=*/*.parquet")]
    assert len(files) >= 2
    for file in files:
        parquet = pq.ParquetFile(file)
        chunks = [parquet.metadata.row_group(0).column(index) for index in range(len(parquet.schema))]
        times = [chunk for chunk in chunks if chunk.path_in_schema in ("record_time", "minute")]
        assert [(chunk.physical_type, chunk.is_stats_set) for chunk in times] == [("INT64", True)]
        assert {chunk.compression for chunk in chunks} == {"ZSTD"}


def without_column(path: Path, column: str) -> None:
    """Rewrite a Delta table without the column `column`, as if an older kgtui had written the table."""
    rows = DeltaTable(str(path)).to_pyarrow_table().drop_columns([column])
    write_deltalake(str(path), rows, mode="overwrite", schema_mode="overwrite", partition_by=["day"])


def test_an_incremental_run_and_a_complete_run_give_the_same_gold_rows(
    spark: SparkSession, uninterrupted_lake: SparkLake, tmp_path: Path
) -> None:
    """The last run is complete: it computes all rows, because the test removes a column of the gold table `lag`."""
    lake = SparkLake(spark, shutil.copytree(uninterrupted_lake.folder.local_path, tmp_path / "lake"))
    first = {table.name: stored_rows(lake.folder.local_path, table) for table in GOLD}
    assert {name for name, rows in first.items() if not rows} == {"churn", "cleanup"}
    assert update_gold(lake) == ()
    recording, cluster = RecordingBuilder(lake.folder.local_path), Cluster(2)
    record(recording, cluster, START + 600_000, 6, gap="recorder stopped")
    record(recording, cluster, START + 86_400_000, 12, gap="recorder stopped")
    day = datetime.fromtimestamp(START / 1000, UTC).date()
    assert update_gold(lake) == (day, day + timedelta(days=1))
    incremental = {table.name: stored_rows(lake.folder.local_path, table) for table in GOLD}
    without_column(lake.folder.local_path / LAG.title, "lost")
    assert update_gold(lake) == (day, day + timedelta(days=1))
    for table in GOLD:
        assert stored_rows(lake.folder.local_path, table) == incremental[table.name]
    assert [row for row in incremental["lag"] if row["minute"] < first["lag"][-1]["minute"]] == [
        row for row in first["lag"] if row["minute"] < first["lag"][-1]["minute"]
    ]
    assert len({row["minute"] for row in incremental["lag"] if row["day"] > day}) == 3
    for table in GOLD:
        assert [column.name for column in lake.read(table).schema] == [column.name for column in spark_schema(table)]
