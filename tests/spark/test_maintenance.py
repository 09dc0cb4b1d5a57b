"""Tests that compacting and pruning tables does not break Spark's streaming query on the bronze table."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from kgtui.lake import maintenance
from kgtui.lake.arrow import arrow_schema
from kgtui.lake.delta import load_deltalake, open_table
from kgtui.lake.folder import LOG
from kgtui.lake.maintenance import KeepRules
from kgtui.lake.schemas import COMMITS, COORDINATOR_RECORDS
from kgtui.pipeline.jobs import silver
from kgtui.pipeline.jobs.run import Sources, run_once
from kgtui.pipeline.jobs.streaming import await_end
from kgtui.pipeline.jobs.table_maintenance import compact_tables
from tests.spark.record_samples import NOON, commit, ignore

if TYPE_CHECKING:
    from kgtui.pipeline.spark_lake import SparkLake


def append(lake: SparkLake, first_offset: int, count: int) -> None:
    """Append one file with `count` records to the bronze table.

    Each record is an offset commit of a different group.
    """
    offsets = [*range(first_offset, first_offset + count)]
    records = [commit(4, f"g{offset}") for offset in offsets]
    columns = [[NOON.date()] * count, [0] * count, offsets, [NOON] * count, *zip(*records, strict=True)]
    schema = arrow_schema(COORDINATOR_RECORDS)
    rows = pa.Table.from_arrays(
        [pa.array(column, kind) for column, kind in zip(columns, schema.types, strict=True)], schema=schema
    )
    load_deltalake().write_deltalake(str(lake.path(COORDINATOR_RECORDS)), rows, mode="append", partition_by=["day"])


def decode(lake: SparkLake) -> dict[str, int | None]:
    """Decode the new rows of the bronze table. Return how many rows each table, such as `silver/commits`, then has."""
    await_end(silver.start_decoding(lake, interval=None), ignore)
    tables = {status.table.title: status for status in maintenance.status(lake.folder.path).tables}
    assert all(not status.error for status in tables.values()), tables
    return {title: status.contents.rows for title, status in tables.items() if status.contents is not None}


def test_decoding_continues_after_the_bronze_table_is_compacted_and_pruned(lake: SparkLake) -> None:
    path = lake.folder.path
    append(lake, 0, 3)
    append(lake, 3, 3)
    before = decode(lake)
    assert (before["bronze/coordinator_records"], before["silver/commits"]) == (6, 6)
    results = {result.table: result for result in maintenance.optimize(path)}
    assert all(not result.error for result in results.values()), results
    assert results["bronze/coordinator_records"].what == "compacted 2 files into 1"
    (pruned,) = maintenance.prune(path, KeepRules(None, (("bronze", 1),)), now=(NOON + timedelta(days=5)).timestamp())
    assert pruned.what.startswith("deleted 6 rows from before")
    append(lake, 6, 1)
    assert decode(lake) == {**before, "bronze/coordinator_records": 1, "silver/commits": 7}


@pytest.mark.parametrize("lost", ["files", "log"])
def test_decoding_starts_from_the_beginning_if_undecoded_bronze_data_was_removed(lake: SparkLake, lost: str) -> None:
    """The bronze table has rows that the pipeline has not decoded. Then, data that the pipeline needs are removed.

    `lost` says which: data files that a compaction has replaced (`files`), or old entries of the Delta log (`log`).
    """
    append(lake, 0, 3)
    decode(lake)
    append(lake, 3, 3)
    append(lake, 6, 3)
    delta = open_table(lake.folder.local_path / COORDINATOR_RECORDS.title)
    if lost == "files":
        delta.optimize.compact()
        delta.vacuum(retention_hours=0, enforce_retention_duration=False, dry_run=False)
    else:
        delta.create_checkpoint()
        for version in range(delta.version()):
            (lake.path(COORDINATOR_RECORDS) / LOG / f"{version:020}.json").unlink(missing_ok=True)
    append(lake, 9, 1)
    progress: list[str] = []
    run_once(lake, Sources(), ignore, progress.append)
    assert any("decoding all records again" in message for message in progress)
    assert sorted(row.group for row in lake.read(COMMITS).collect()) == [f"g{number}" for number in range(10)]


def test_tables_can_be_compacted_while_a_streaming_query_runs(lake: SparkLake) -> None:
    for number in range(3):
        append(lake, number, 1)
        decode(lake)
    problems: list[str] = []
    query = silver.start_decoding(lake, interval=1)
    try:
        append(lake, 3, 1)
        compact_tables(lake, problems.append)
        append(lake, 4, 1)
        query.processAllAvailable()
        assert query.isActive
    finally:
        query.stop()
    assert problems == []
    files = {status.table.title: status.contents.files for status in maintenance.status(lake.folder.path).tables
             if status.contents is not None}  # fmt: skip
    assert files["bronze/coordinator_records"] <= 2
    assert files["silver/commits"] <= 3
    assert lake.read(COMMITS).count() == 5
