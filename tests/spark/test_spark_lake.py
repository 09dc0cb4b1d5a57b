"""Tests of `SparkLake`: appending a batch only once, merging rows by key, reading given days, and new columns."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import pytest
from deltalake import DeltaTable

from kgtui.errors import LakeError
from kgtui.lake.folder import MARKER
from kgtui.lake.schemas import COMMITS, COORDINATOR_RECORDS, GROUPS, LAG
from kgtui.lake.tables import create_tables
from kgtui.pipeline import spark_lake
from kgtui.pipeline.spark_lake import SparkLake
from tests.spark.recorded_rows import frame
from tests.spark.spark_settings import new_lake
from tests.spark.table_schemas import spark_schema
from tests.unit.history.recording_builder import START
from tests.unit.lake.test_added_columns import DAY as RECORDED_DAY
from tests.unit.lake.test_added_columns import LATER, append, with_added_columns

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from kgtui.lake.schemas import Table

DAY = date(2026, 11, 21)
NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def record(offset: int, value: bytes = b"v") -> tuple[Any, ...]:
    return (DAY, 7, offset, NOON, b"k", value)


def test_a_repeated_batch_and_rows_with_stored_keys_are_not_written_again(spark: SparkSession, lake: SparkLake) -> None:
    schema = spark_schema(COORDINATOR_RECORDS)
    first = spark.createDataFrame([record(1), record(2)], schema)
    for _ in range(2):
        lake.append(COORDINATOR_RECORDS, first, app="test", batch_id=0)
    second = spark.createDataFrame([record(2, b"other"), record(3)], schema)
    lake.merge(COORDINATOR_RECORDS, second, days=[str(DAY)])
    rows = DeltaTable(str(lake.path(COORDINATOR_RECORDS))).to_pyarrow_table().sort_by("offset")
    assert rows["offset"].to_pylist() == [1, 2, 3]
    assert rows["value"].to_pylist() == [b"v", b"v", b"v"]
    assert rows["timestamp"].to_pylist()[0] == NOON
    files = [path for path in (lake.folder.local_path / COORDINATOR_RECORDS.title).rglob("*.parquet") if path.is_file()]
    assert files
    assert all(path.stat().st_mode & 0o077 == 0 for path in files)


def test_folders_without_a_lake_and_lakes_of_a_newer_kgtui_are_rejected(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").touch()
    with pytest.raises(LakeError, match="no lake"):
        SparkLake(spark, tmp_path / "photos")
    (tmp_path / MARKER).write_text('{"format": "kgtui lake", "version": 99}')
    with pytest.raises(LakeError, match="newer kgtui"):
        SparkLake(spark, tmp_path)


def append_days(lake: SparkLake, *days: date) -> None:
    """Append one record for each of the days `days` to the bronze table. The records have the offsets 0, 1, 2, …"""
    rows = [(day, 0, offset, NOON, b"k", b"v") for offset, day in enumerate(days)]
    batch = lake.spark.createDataFrame(rows, spark_schema(COORDINATOR_RECORDS)).coalesce(1)
    lake.append(COORDINATOR_RECORDS, batch, app=f"records of {days}", batch_id=0)


def days_in(rows: DataFrame) -> list[date]:
    return sorted(row.day for row in rows.select("day").collect())


def test_read_days_ignores_rows_that_are_added_after_the_call(spark: SparkSession, tmp_path: Path) -> None:
    """The lake's path contains characters with a special meaning in URIs or file name patterns, such as % and *."""
    lake = new_lake(spark, tmp_path / "a b+c#d %x{y}*?é")
    first, second, third = (DAY.replace(day=number) for number in (20, 21, 22))
    assert days_in(lake.read_days(COORDINATOR_RECORDS, first, third)) == []
    append_days(lake, first, second, third)
    rows = lake.read_days(COORDINATOR_RECORDS, second, date.max)
    assert rows.dtypes == lake.read(COORDINATOR_RECORDS).dtypes
    append_days(lake, second)
    assert days_in(rows) == [second, third]
    assert "_delta_log" not in "".join(rows.inputFiles())
    assert days_in(lake.read_days(COORDINATOR_RECORDS, first, second)) == [first, second, second]


def test_deleted_rows_are_not_read_if_another_program_uses_deletion_vectors(lake: SparkLake) -> None:
    """With deletion vectors, Delta Lake marks a row as deleted, but keeps the row in its file."""
    append_days(lake, DAY, DAY)
    name = lake.sql_name(COORDINATOR_RECORDS)
    lake.spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')")
    lake.spark.sql(f"DELETE FROM {name} WHERE offset > 0")  # noqa: S608 - no text from outside
    assert days_in(lake.read_days(COORDINATOR_RECORDS, DAY, date.max)) == [DAY]


def test_a_new_column_of_a_recorded_table_is_null_in_older_rows(lake: SparkLake) -> None:
    wider, path = with_added_columns(GROUPS), lake.folder.local_path / GROUPS.title

    def read() -> list[tuple[Any, ...]]:
        rows = lake.read(wider)
        assert rows.columns == list(wider.names)
        return sorted(tuple(row) for row in rows.select("poll", "number", "text").collect())

    append(path, GROUPS, START)
    assert read() == [(START, None, None)]
    recorded = append(path, wider, LATER, number=7, text="new")
    assert read() == [(START, None, None), (LATER, 7, "new")]
    recorded.compact(recorded.files(RECORDED_DAY), [START, LATER])
    assert read() == [(START, None, None), (LATER, 7, "new")]


def test_rows_with_a_new_column_are_appended_to_a_silver_table(spark: SparkSession, lake: SparkLake) -> None:
    wider = with_added_columns(COMMITS)
    create_tables(lake.folder, [wider])
    assert not lake.was_written(COMMITS)
    row = {"day": DAY, "record_partition": 7, "record_offset": 1, "record_time": NOON, "group": "pay", "topic": "t",
           "partition": 0, "number": 7, "text": "new"}  # fmt: skip
    lake.append(wider, frame(spark, wider, [row]), app="test", batch_id=0)
    assert lake.was_written(COMMITS)
    assert [tuple(row) for row in lake.read(wider).select("number", "text").collect()] == [(7, "new")]


def test_only_new_gold_tables_get_column_comments(
    spark: SparkSession, lake: SparkLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def comments(table: Table) -> dict[str, str]:
        fields = DeltaTable(str(lake.path(table))).schema().fields
        return {field.name: field.metadata["comment"] for field in fields if field.metadata}

    def write(table: Table, lag: int) -> None:
        rows = frame(spark, table, [{"day": DAY, "group": "pay", "minute": NOON, "lag": lag}])
        lake.overwrite(table, rows, since=("minute", int(NOON.timestamp() * 1000)))

    older = replace(LAG, name="older_lag")
    with monkeypatch.context() as patched:
        patched.setattr(spark_lake, "with_comments", lambda rows, _table: rows)
        write(older, 1)
    for lag in (1, 2):
        write(LAG, lag)
        write(older, lag)
    assert comments(LAG) == {column.name: column.about for column in LAG.columns if column.about}
    assert comments(older) == {}
    for table in (LAG, older):
        assert [row.lag for row in lake.read(table).collect()] == [2]
