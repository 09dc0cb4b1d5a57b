"""Runs that are killed and started again write the same tables as a complete run, with and without Spark Connect."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kgtui.lake.schemas import BRONZE, GOLD, SILVER
from kgtui.pipeline.spark_lake import SparkLake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.spark.background_runs import BackgroundRuns


@pytest.fixture(scope="module")
def expected(uninterrupted_lake: SparkLake) -> dict[str, list[str]]:
    """Rows that all tables must have, from a run that was not killed."""
    rows = all_rows(uninterrupted_lake)
    assert rows["commits"]
    assert rows["lag"]
    assert rows["health"]
    return rows


def all_rows(lake: SparkLake) -> dict[str, list[str]]:
    """Return all rows of each table as sorted texts, by table name."""
    return {table.name: sorted(map(str, lake.read(table).collect())) for table in (*BRONZE, *SILVER, *GOLD)}


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.full)])
@pytest.mark.timeout(3_600)
def test_restarting_a_killed_pipeline_neither_loses_nor_duplicates_rows(
    spark: SparkSession, background_runs: BackgroundRuns, expected: dict[str, list[str]], kills: int
) -> None:
    lakes, killed = background_runs.killed(kills)
    assert killed >= kills * 3 / 4
    for path in lakes:
        assert all_rows(SparkLake(spark, path)) == expected
