"""Tests that incremental runs, which compute only new gold rows, give the same tables as one complete run."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyspark.testing import assertDataFrameEqual

from kgtui.commands.pipeline import update_gold
from kgtui.lake.arrow import arrow_schema
from kgtui.lake.schemas import (
    COMMITS,
    GOLD,
    GOLD_STATE,
    HEALTH,
    LAG,
    MEMBERS,
    REBALANCES,
    TABLES,
)
from kgtui.lake.tables import StoredTable
from kgtui.pipeline.spark_lake import SparkLake
from kgtui.pipeline.transforms.churn import churn, recorded_churn
from kgtui.pipeline.transforms.lag import lag
from kgtui.pipeline.transforms.recorded_state import is_since
from tests.spark.random_recording import random_recording
from tests.spark.recorded_rows import frame, ms
from tests.spark.sample_data import Cluster, record
from tests.spark.spark_settings import compute_only, new_lake
from tests.spark.stored_rows import stored_rows
from tests.unit.history.recording_builder import START, RecordingBuilder

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from kgtui.lake.schemas import Table


DAY_MS = 86_400_000
FULL = [pytest.param(seed, marks=pytest.mark.full) for seed in range(2, 20)]


@pytest.mark.parametrize("seed", [1, *FULL])
def test_an_incremental_run_gives_the_same_lag_table_as_a_complete_run(spark: SparkSession, seed: int) -> None:
    random = Random(seed)
    tables = random_recording(random, 80).frames(spark)
    since = ms(60 * random.randint(5, 22))
    complete = lag(*tables).filter(is_since("minute", since)).cache()
    assert complete.filter("time_lag > 300").count() > 0
    assertDataFrameEqual(lag(*tables, since=since), complete)


@pytest.mark.parametrize("seed", FULL)
def test_an_incremental_run_gives_the_same_churn_table_as_a_complete_run(spark: SparkSession, seed: int) -> None:
    recording = random_recording(Random(seed), 250)
    timeline, groups, partitions, _ = recording.frames(spark)
    members = frame(spark, MEMBERS, recording.members)
    rebalances, lag_rows = frame(spark, REBALANCES, []), frame(spark, LAG, [])
    since = ms(3_600)
    complete = churn(timeline, recorded_churn(timeline, groups, members, partitions), rebalances, lag_rows).cache()
    earlier, expected = complete.filter(~is_since("hour", since)), complete.filter(is_since("hour", since))
    assert expected.filter("burst_since < hour AND partitions_moved > 0").count() > 0
    recorded = recorded_churn(timeline, groups, members, partitions, since=since)
    assertDataFrameEqual(churn(timeline, recorded, rebalances, lag_rows, before=earlier, since=since), expected)


@pytest.mark.parametrize("seed", FULL[:6])
def test_many_incremental_runs_give_the_same_tables_as_one_run(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    """Before each run, the test writes polls of a cluster and commits to the lake.

    Before some of the runs, there is a recording gap (time without polls). Some commits are late: the test writes them
    only before the next run.
    """
    random, cluster = Random(seed), Cluster(seed)
    lake = new_lake(spark, tmp_path / "batches")
    recording, commits = RecordingBuilder(lake.folder.local_path), RandomCommits(lake, random)
    at = START
    for _ in range(5):
        polls = random.randint(3, 90)
        gap = random.choice(("", "", "recorder stopped"))
        at += 900_000 if gap else 0
        record(recording, cluster, at, polls, gap=gap)
        commits.write(at, at + polls * 10_000)
        at += polls * 10_000
        update_gold(lake)
    ignore = shutil.ignore_patterns("gold", "_checkpoints")
    complete = shutil.copytree(lake.folder.local_path, tmp_path / "complete", ignore=ignore)
    update_gold(SparkLake(spark, complete))
    for table in (*GOLD, *GOLD_STATE):
        assert stored_rows(lake.folder.local_path, table) == stored_rows(complete, table)
    assert {row["basis"] for row in stored_rows(complete, HEALTH)} >= {"observed"}


class RandomCommits:
    """Writes random rows to the silver tables `commits` and `rebalances`. Some are written only by the next call."""

    def __init__(self, lake: SparkLake, random: Random) -> None:
        self._lake, self._random = lake, random
        self._offset = 0
        self._late: list[tuple[int, int]] = []

    def write(self, start: int, end: int) -> None:
        """Write rows for a time span, and the rows that the previous call held back.

        In 40 % of the calls, the rows for the new time span are held back until the next call.

        Args:
            start, end: limits of the time span, in milliseconds since the epoch.
        """
        spans, self._late = [*self._late, (start, end)], []
        if self._random.random() < 0.4:
            self._late.append(spans.pop())
        commits, rebalances = [], []
        for begin, finish in spans:
            for at in range(begin, finish, 10_000):
                moment = datetime.fromtimestamp((at + self._random.randint(0, 9_000)) / 1000, UTC)
                place = {
                    "day": moment.date(),
                    "record_partition": 0,
                    "record_offset": self._offset,
                    "group": "orders.paid",
                }
                self._offset += 1
                offset = self._offset + 100 if self._random.random() < 0.97 else None
                commits.append(place | {"record_time": moment, "topic": "t", "partition": 0, "offset": offset,
                                        "commit_time": moment if offset else None})  # fmt: skip
                if self._random.random() < 0.02:
                    rebalances.append(
                        place | {"type": "consumer", "epoch": self._offset, "start": moment, "end": moment}
                    )
        for table, rows in ((COMMITS, commits), (REBALANCES, rebalances)):
            made = pa.Table.from_pylist(rows, arrow_schema(table))
            write_deltalake(str(self._lake.path(table)), made, mode="append", partition_by=["day"])


@pytest.mark.parametrize(
    "tables", [(LAG, HEALTH), pytest.param((*GOLD, *GOLD_STATE), marks=pytest.mark.full)], ids=["two", "all"]
)
def test_gold_rows_of_deleted_polls_are_kept(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tables: tuple[Table, ...]
) -> None:
    """After the first day's polls are deleted, a late commit makes kgtui compute the gold tables of this day again.

    The gold rows that were computed from the deleted polls must not change.
    """
    lake = new_lake(spark, tmp_path / "lake")
    compute_only(tables, lake, monkeypatch)
    recording, cluster = RecordingBuilder(lake.folder.local_path), Cluster(1)
    record(recording, cluster, START, 3)
    record(recording, cluster, START + DAY_MS, 3, gap="recorder stopped")
    update_gold(lake)
    before = {table: stored_rows(lake.folder.local_path, table) for table in tables}
    day = datetime.fromtimestamp(START / 1000, UTC).date()
    for table in TABLES:
        StoredTable(table.layer, table.name, lake.path(table)).delete_before(day + timedelta(days=1))
    RandomCommits(lake, Random(2)).write(START, START + 30_000)
    assert update_gold(lake)[0] == day
    for table, rows in before.items():
        assert [row for row in stored_rows(lake.folder.local_path, table) if row["day"] == day] == [
            row for row in rows if row["day"] == day
        ]
    assert before[LAG]
    assert before[HEALTH]
