"""Tests that incremental runs give the same gold tables as a complete run.

An incremental run uses the state that earlier runs have stored.
"""

from __future__ import annotations

import shutil
from random import Random
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from kgtui.commands.pipeline import update_gold
from kgtui.lake.schemas import FORECAST, HEALTH, HEALTH_STATE, LAG
from kgtui.model.rfc3339 import utc_datetime
from kgtui.pipeline.jobs import gold
from kgtui.pipeline.jobs.gold_inputs import GoldInputs, GoldOptions
from kgtui.pipeline.spark_lake import SparkLake
from tests.spark.following_commits import FollowingCommits, without_group
from tests.spark.sample_data import Cluster
from tests.spark.spark_settings import compute_only, new_lake
from tests.spark.stored_rows import stored_rows
from tests.spark.table_schemas import spark_schema
from tests.unit.history.recording_builder import START, RecordingBuilder

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from kgtui.lake.schemas import Table

MINUTE = 60_000
HOUR = 60 * MINUTE
TEN = START // HOUR * HOUR + 2 * HOUR
"""10:00 UTC on the day of `START`, in milliseconds since the epoch."""


HEALTH_TABLES = (LAG, HEALTH, HEALTH_STATE)
"""The gold tables `lag` and `health`, and the table that stores the state of `health` between runs."""


def assert_equals_a_complete_run(lake: SparkLake, tables: Iterable[Table] = gold.TABLES) -> None:
    """Assert that the lake's gold tables equal those that a complete run computes.

    The complete run uses a copy of the lake without gold tables.
    """
    path = lake.folder.local_path
    complete = shutil.copytree(path, path.parent / "complete", ignore=shutil.ignore_patterns("gold", "_checkpoints"))
    update_gold(SparkLake(lake.spark, complete))
    for table in tables:
        assert stored_rows(path, table) == stored_rows(complete, table), table.name


@pytest.mark.full
@pytest.mark.parametrize("seed", range(1, 12))
def test_incremental_runs_equal_a_complete_run_for_random_commits(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    """Depending on `seed`, the first commit is earlier or later than the first poll, or at about the same time.

    Some commits are written to the lake late, only before the next run. The data also have tombstones, gaps, groups
    that disappear for a while, and a recreated topic.
    """
    random, cluster = Random(seed), Cluster(seed)
    lake = new_lake(spark, tmp_path / "lake")
    recording, commits = RecordingBuilder(lake.folder.local_path), FollowingCommits(lake, random, cluster)
    at = START
    for batch in range(4):
        step = random.choice((3_000, MINUTE, 5 * MINUTE))
        at += random.choice((0, 0, 5_000_000))
        gone = random.choice((None, "orders.paid", "shared"))
        if batch == 2:
            cluster.ends = dict.fromkeys(cluster.ends, 0)
            cluster.positions = dict.fromkeys(cluster.positions, 0)
            commits.add(at, step, tombstones=1.0)
        for number in range(random.randint(10, 45)):
            result = cluster.poll()
            if gone is not None and random.random() < 0.5:
                result = without_group(result, gone)
            gap = "recorder stopped" if number == 0 and random.random() < 0.3 else ""
            if batch > 0 or seed % 3 != 0:
                recording.poll(result, at, keyframe=number % 7 == 0, gap=gap)
            if batch > 1 or seed % 3 != 1:
                commits.add(at, step)
            at += step
        recording.flush()
        commits.write(late=random.choice((0.0, 0.1)) if batch < 3 else 0.0)
        update_gold(lake)
    assert {row["basis"] for row in stored_rows(lake.folder.local_path, HEALTH)} == {"observed", "commits"}
    assert_equals_a_complete_run(lake)


def test_previous_hours_forecasts_are_recomputed_only_in_a_new_hour(spark: SparkSession, tmp_path: Path) -> None:
    lake = new_lake(spark, tmp_path / "lake")
    recording = RecordingBuilder(lake.folder.local_path)

    def first_hour() -> int:
        """Return the first hour that a run computes if rows since 10:01 are new. 0 is 10:00, and -1 is 9:00."""
        return (GoldInputs(lake, TEN + MINUTE, GoldOptions()).since_slot(FORECAST) - TEN) // HOUR

    recording.poll(Cluster(1).poll(), TEN + MINUTE, keyframe=True)
    recording.flush()
    assert first_hour() == -1
    ten = utc_datetime(TEN / 1000)
    row = dict.fromkeys(FORECAST.names) | dict.fromkeys(("hour", "covered_from", "covered_to"), ten)
    row |= {"day": ten.date(), "group": "g", "source": "recorded"}
    lake.overwrite(FORECAST, spark.createDataFrame([row], spark_schema(FORECAST)))
    assert first_hour() == 0
    recording.poll(Cluster(1).poll(), TEN + HOUR)
    recording.flush()
    assert first_hour() == -1


@pytest.mark.full
def test_incremental_run_counts_a_commit_whose_record_is_decoded_late(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A group commits 20 ms before 10:00, but Kafka writes the record of this commit 5 ms after 10:00.

    The first run stores the group's state at 10:00 before the record is decoded. The second run must add the commit to
    the stored state.
    """
    cluster, lake = Cluster(1), new_lake(spark, tmp_path / "lake")
    compute_only(HEALTH_TABLES, lake, monkeypatch)
    recording, commits = RecordingBuilder(lake.folder.local_path), FollowingCommits(lake, Random(1), cluster)

    def record_minutes(first: int, last: int) -> None:
        """Record a poll 10 ms before each full minute. Two groups commit 10 ms before each poll.

        `first` (included) and `last` (excluded) are in minutes after 10:00.
        """
        for minute in range(first, last):
            poll, written = TEN + minute * MINUTE - 10, TEN + minute * MINUTE - 20
            recording.poll(cluster.poll(), poll, keyframe=minute % 10 == 0)
            for group in ("orders.paid", "[/foo]"):
                commits.commit(group, "t", 0, written, TEN + 5 if minute == 0 else written)
        recording.flush()

    record_minutes(-20, 0)
    commits.write()
    record_minutes(0, 10)
    commits.write(group="[/foo]")
    update_gold(lake)
    record_minutes(10, 20)
    commits.write()
    update_gold(lake)
    assert_equals_a_complete_run(lake, HEALTH_TABLES)


@pytest.mark.full
def test_incremental_gold_tables_of_four_days_equal_those_of_a_complete_run(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Groups commit every four hours, so that each health status depends on commits of more than one day."""
    cluster, random = Cluster(1), Random(1)
    lake = new_lake(spark, tmp_path / "lake")
    recording, commits = RecordingBuilder(lake.folder.local_path), FollowingCommits(lake, random, cluster)
    at, step = START, 20 * MINUTE
    for batch in (100, 70, 10, 80):
        for _ in range(batch):
            if (at - START) % (12 * step) == 0:
                earlier = dict(cluster.ends)
                result = cluster.poll()
                for key in cluster.positions:
                    cluster.positions[key] = random.randint(earlier[key[1]], cluster.ends[key[1]])
                    group, (topic, partition) = key
                    commits.commit(group, topic, partition, at, at)
                result = cluster.result()
            recording.poll(result, at, keyframe=(at - START) % (3 * step) == 0)
            at += step
        recording.flush()
        commits.write()
        update_gold(lake)
    assert {row["basis"] for row in stored_rows(lake.folder.local_path, HEALTH)} == {"observed", "commits"}
    assert_equals_a_complete_run(lake)


class Interrupted(Exception):
    """The test raises this exception right after a run has written a table, so that the run ends early."""


def files_by_span(lake: SparkLake, table: Table) -> dict[int, set[str]]:
    """Return the paths of a table's data files, grouped by the time span (such as an hour) of their rows.

    The keys are the numbers of the time spans since the epoch. Assert that no file contains rows of two time spans.
    """
    assert table.file_span is not None
    column, seconds = table.file_span
    found: dict[int, set[str]] = {}
    for file in pa.table(DeltaTable(str(lake.path(table))).get_add_actions(flatten=True)).to_pylist():
        first, last = (file[f"{edge}.{column}"].timestamp() // seconds for edge in ("min", "max"))
        assert first == last, f"{file['path']} covers several spans"
        found.setdefault(int(first), set()).add(file["path"])
    return found


@pytest.mark.full
@pytest.mark.parametrize(
    ("last", "tables"),
    [
        pytest.param(HEALTH, HEALTH_TABLES, id="health tables"),
        *(pytest.param(table, gold.TABLES, id=table.name) for table in gold.TABLES[:-1]),
    ],
)
def test_the_run_after_an_interrupted_run_completes_the_gold_tables(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: Table, tables: tuple[Table, ...]
) -> None:
    """The second run is interrupted after it has written the gold table `last`. The third run must complete all tables.

    Files that the first run wrote must not change, except those with the newest rows. Some commits are written to the
    lake late, only before the next run.
    """
    random, cluster = Random(1), Cluster(1)
    lake = new_lake(spark, tmp_path / "lake")
    compute_only(tables, lake, monkeypatch)
    recording, commits = RecordingBuilder(lake.folder.local_path), FollowingCommits(lake, random, cluster)
    at = START
    overwrite = SparkLake.overwrite

    def record_polls(number: int, *, late: float = 0.2) -> None:
        nonlocal at
        for index in range(number):
            recording.poll(cluster.poll(), at, keyframe=index % 6 == 0)
            commits.add(at, 5 * MINUTE)
            at += 5 * MINUTE
        recording.flush()
        commits.write(late=late)

    def interrupted(self: SparkLake, table: Table, rows: DataFrame, *, since: tuple[str, int] | None = None) -> None:
        overwrite(self, table, rows, since=since)
        if table == last:
            raise Interrupted

    record_polls(110, late=0)
    update_gold(lake)
    before = {table: files_by_span(lake, table) for table in (LAG, HEALTH, FORECAST) if table in tables}
    record_polls(20)
    with monkeypatch.context() as patch:
        patch.setattr(SparkLake, "overwrite", interrupted)
        with pytest.raises(Interrupted):
            update_gold(lake)
    record_polls(15)
    update_gold(lake)
    for table, files in before.items():
        after, newest = files_by_span(lake, table), max(files)
        earlier = files.keys() - {newest}
        assert earlier
        assert {span: after[span] for span in earlier} == {span: files[span] for span in earlier}
        assert max(after) >= newest
    assert_equals_a_complete_run(lake, tables)
