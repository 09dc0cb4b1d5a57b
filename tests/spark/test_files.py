"""Tests of records in Parquet files. Each record must be decoded exactly once, even if files overlap."""

from __future__ import annotations

import re
import shutil
from datetime import date
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.testing import assertDataFrameEqual

from kgtui.errors import SourceError
from kgtui.lake.schemas import COMMITS, COORDINATOR_RECORDS, GROUP_EVENTS, QUARANTINE, REBALANCES
from kgtui.pipeline.jobs.gold_inputs import GoldInputs, GoldOptions
from kgtui.pipeline.jobs.run import Sources, run_once
from kgtui.pipeline.sources import stream_files
from tests.spark.record_samples import Record, commit, ignore, write_file
from tests.spark.spark_settings import new_lake
from tests.unit.protocol.records.random_records import every_record_type

if TYPE_CHECKING:
    from pathlib import Path

    from kgtui.pipeline.spark_lake import SparkLake


def row_counts(lake: SparkLake) -> dict[str, int]:
    return {table.name: lake.read(table).count() for table in (COORDINATOR_RECORDS, COMMITS, GROUP_EVENTS, QUARANTINE)}


def test_overlapping_files_and_deleted_checkpoints_cause_no_duplicate_rows(lake: SparkLake, tmp_path: Path) -> None:
    folder = tmp_path / "records"
    first: list[Record] = [commit(4, f"g{number}") for number in range(40)] + [(b"\x00\x63?", b"")]
    write_file(folder, "a.parquet", first)
    write_file(folder, "b.parquet", first[-5:], first_offset=len(first) - 5)
    progress: list[str] = []
    run_once(lake, Sources(records=folder), ignore, progress.append)
    assert row_counts(lake) == {"coordinator_records": 41, "commits": 40, "group_events": 0, "quarantine": 1}
    assert any(line.startswith("reading the files: ") for line in progress)
    assert re.fullmatch(r"decoding: [12] batch(es)?", progress[-1])
    shutil.rmtree(lake.folder.local_path / "_checkpoints" / "silver")
    shutil.rmtree(lake.folder.local_path / "_checkpoints" / "bronze")
    more: list[Record] = [*every_record_type(3, 1)[9:12], commit(3, "late")]
    write_file(folder, "c.parquet", more, first_offset=len(first))
    run_once(lake, Sources(records=folder), ignore, progress.append)
    assert row_counts(lake) == {"coordinator_records": 45, "commits": 41, "group_events": 3, "quarantine": 1}
    assert lake.read(REBALANCES).count() <= 3


@pytest.mark.parametrize("later", [0, 86_400_000_000])
def test_a_different_record_at_an_already_stored_offset_is_rejected(
    lake: SparkLake, tmp_path: Path, later: int
) -> None:
    """Two files have different records at the same offset, because the topic was deleted and created again.

    `later` is the difference between the timestamps of the two records, in microseconds.
    """
    folder = tmp_path / "records"
    noon = 1_795_262_400_000_000
    write_file(folder, "a.parquet", [commit(4, f"g{number}") for number in range(5)], timestamps=[noon] * 5)
    run_once(lake, Sources(records=folder), ignore, ignore)
    others = [commit(4, f"other{number}") for number in range(3)]
    write_file(folder, "b.parquet", others, first_offset=3, timestamps=[noon + later] * 3)
    with pytest.raises(SourceError, match=r"^partition 0 has two different records at offset 3: they come from two"):
        run_once(lake, Sources(records=folder), ignore, ignore)
    assert lake.read(COORDINATOR_RECORDS).count() == 5
    (folder / "b.parquet").unlink()


@pytest.mark.full
def test_record_files_can_be_decoded_in_any_order(lake: SparkLake, tmp_path: Path) -> None:
    """Three runs decode one file each. The second run decodes the file with the highest record offsets.

    The stored rows must equal those of one run that decodes all records. Some rebalances depend on events in several
    files.
    """
    random = Random(5)
    records: list[Record] = [record for _ in range(2) for record in every_record_type(3, random.randint(0, 9))]
    hour, noon = 3_600_000_000, 1_795_262_400_000_000
    times = [noon + number * hour for number in range(len(records))]
    write_file(tmp_path / "once", "all.parquet", records, timestamps=times)
    once = new_lake(lake.spark, tmp_path / "once-lake")
    run_once(once, Sources(records=tmp_path / "once"), ignore, ignore)
    size = -(-len(records) // 3)
    for part in (0, 2, 1):
        some = slice(part * size, (part + 1) * size)
        write_file(tmp_path / "parts", f"{part}.parquet", records[some], part * size, times[some])
        run_once(lake, Sources(records=tmp_path / "parts"), ignore, ignore)
    for table in (COMMITS, REBALANCES):
        assertDataFrameEqual(lake.read(table), once.read(table))
    assertDataFrameEqual(lake.read(GROUP_EVENTS).drop("created"), once.read(GROUP_EVENTS).drop("created"))
    assert once.read(REBALANCES).count() > 0


def test_a_missing_folder_and_a_folder_without_record_files_are_rejected(lake: SparkLake, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="does not exist"):
        stream_files(lake.spark, tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match="no Parquet files"):
        stream_files(lake.spark, tmp_path / "empty")
    (tmp_path / "other").mkdir()
    pq.write_table(pa.table({"key": ["text"]}), tmp_path / "other" / "a.parquet")
    with pytest.raises(SourceError, match=r"columns partition \(int\).*these files have key \(string\)"):
        stream_files(lake.spark, tmp_path / "other")


def test_extreme_timestamps_are_clamped_and_gold_tables_ignore_future_records(lake: SparkLake, tmp_path: Path) -> None:
    """A broker with a wrong clock can write records whose timestamps are in the future.

    Gold tables must ignore these records. If gold tables had rows for future days, all groups without such records
    would look unused on those days.
    """
    year = 365 * 86_400_000_000
    micros = {-1: 0, -100 * year: 0, 130 * year: 130 * year, 20_000 * year: 253_402_128_000_000_000}
    records = [commit(4, f"g{number}") for number in range(len(micros))]
    write_file(tmp_path / "records", "a.parquet", records, timestamps=list(micros))
    run_once(lake, Sources(records=tmp_path / "records"), ignore, ignore)
    rows = lake.read(COMMITS).selectExpr("unix_micros(record_time) AS time").collect()
    assert sorted(row.time for row in rows) == sorted(micros.values())
    inputs = GoldInputs(lake, 0, GoldOptions(last=date(2026, 11, 24)))
    assert inputs.rows(COMMITS).count() == inputs.all_rows(COMMITS).count() == 2
