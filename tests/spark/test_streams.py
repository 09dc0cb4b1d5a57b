"""Records from files go through bronze and silver once, whatever is repeated, removed or killed on the way."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kgtui.errors import SourceError
from kgtui.lake.schemas import COMMITS, COORDINATOR_RECORDS, GROUP_EVENTS, QUARANTINE, REBALANCES
from kgtui.pipeline.jobs.run import Sources, run_once
from kgtui.pipeline.sources import stream_files
from tests.spark.test_records import NOON, Bytes, commit
from tests.unit.protocol.records.records import every_kind

if TYPE_CHECKING:
    from pathlib import Path

    from kgtui.pipeline.spark_lake import SparkLake


def write(folder: Path, name: str, records: list[Bytes], first: int = 0) -> None:
    """A file of records, of partition 0."""
    folder.mkdir(exist_ok=True)
    size = len(records)
    columns = {
        "partition": pa.array([0] * size, pa.int32()),
        "offset": pa.array(range(first, first + size), pa.int64()),
        "timestamp": pa.array([NOON] * size, pa.timestamp("us", tz="UTC")),
        "key": pa.array([key for key, _ in records], pa.binary()),
        "value": pa.array([value for _, value in records], pa.binary()),
    }
    pq.write_table(pa.table(columns), folder / name)


def nothing(_: object) -> None:
    """Neither gold nor words are wanted here."""


def counts(lake: SparkLake) -> dict[str, int]:
    return {table.name: lake.read(table).count() for table in (COORDINATOR_RECORDS, COMMITS, GROUP_EVENTS, QUARANTINE)}


def test_files_that_overlap_and_lost_checkpoints_double_nothing(lake: SparkLake, tmp_path: Path) -> None:
    folder = tmp_path / "records"
    first: list[Bytes] = [commit(4, f"g{n}") for n in range(40)] + [(b"\x00\x63?", b"")]
    write(folder, "a.parquet", first)
    write(folder, "b.parquet", first[-5:], first=len(first) - 5)
    said: list[str] = []
    run_once(lake, Sources(records=folder), nothing, said.append)
    expected = {"coordinator_records": 41, "commits": 40, "group_events": 0, "quarantine": 1}
    assert counts(lake) == expected
    assert any(line.startswith("reading the files: ") for line in said)
    assert re.fullmatch(r"decoding: [12] batch(es)?", said[-1])
    shutil.rmtree(lake.checkpoint("silver"))
    shutil.rmtree(lake.checkpoint("bronze"))
    more: list[Bytes] = [*every_kind(3, 1)[9:12], commit(3, "late")]
    write(folder, "c.parquet", more, first=len(first))
    run_once(lake, Sources(records=folder), nothing, said.append)
    assert counts(lake) == {"coordinator_records": 45, "commits": 41, "group_events": 3, "quarantine": 1}
    assert lake.read(REBALANCES).count() <= 3


def test_a_folder_that_holds_something_else_says_what(lake: SparkLake, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no such folder"):
        stream_files(lake.spark, tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(SourceError, match="no Parquet files"):
        stream_files(lake.spark, tmp_path / "empty")
    (tmp_path / "other").mkdir()
    pq.write_table(pa.table({"key": ["text"]}), tmp_path / "other" / "a.parquet")
    with pytest.raises(SourceError, match=r"columns partition \(int\).*these files have key \(string\)"):
        stream_files(lake.spark, tmp_path / "other")
