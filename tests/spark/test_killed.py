"""Tests that killed and restarted runs give the same tables as a run that was not killed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from kgtui.lake.schemas import BRONZE, GOLD, GOLD_STATE, SILVER
from tests.spark.stored_rows import stored_rows

if TYPE_CHECKING:
    from pathlib import Path

    from kgtui.pipeline.spark_lake import SparkLake
    from tests.spark.background_runs import BackgroundRuns


Rows = dict[str, list[dict[str, Any]]]
"""Maps the name of each table in a lake to all rows of the table."""


@pytest.fixture(scope="module")
def expected(uninterrupted_lake: SparkLake) -> Rows:
    """Return the rows of all tables after a run that was not killed. Other runs must give the same rows."""
    rows = all_rows(uninterrupted_lake.folder.local_path)
    assert rows["commits"]
    assert rows["lag"]
    assert rows["health"]
    return rows


def all_rows(lake: Path) -> Rows:
    return {table.name: stored_rows(lake, table) for table in (*BRONZE, *SILVER, *GOLD, *GOLD_STATE)}


@pytest.mark.full
@pytest.mark.timeout(3_600)
def test_killing_spark_executors_neither_loses_nor_duplicates_rows(
    background_runs: BackgroundRuns, expected: Rows
) -> None:
    lake = background_runs.with_killed_executors("decoding", "computing gold/health", "computing gold/baseline")
    assert all_rows(lake) == expected


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.full)])
@pytest.mark.timeout(3_600)
def test_restarting_a_killed_pipeline_neither_loses_nor_duplicates_rows(
    background_runs: BackgroundRuns, expected: Rows, kills: int
) -> None:
    lakes, killed = background_runs.killed(kills)
    assert killed >= kills * 3 / 4
    for path in lakes:
        assert all_rows(path) == expected
