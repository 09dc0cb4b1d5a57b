"""Killed at any point, and started again: the tables are those of a run that nobody disturbed, through Connect too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kgtui.lake.schemas import BRONZE, GOLD, SILVER
from kgtui.pipeline.spark_lake import SparkLake

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.spark.beside import Beside


@pytest.fixture(scope="module")
def expected(undisturbed: SparkLake) -> dict[str, list[str]]:
    """What the tables hold when nothing happens on the way."""
    found = contents(undisturbed)
    assert found["commits"]
    assert found["lag"]
    assert found["health"]
    return found


def contents(lake: SparkLake) -> dict[str, list[str]]:
    """Every row of every table, in one order."""
    return {table.name: sorted(map(str, lake.read(table).collect())) for table in (*BRONZE, *SILVER, *GOLD)}


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.full)])
@pytest.mark.timeout(3_600)
def test_a_killed_run_goes_on_where_it_was(
    spark: SparkSession, beside: Beside, expected: dict[str, list[str]], kills: int
) -> None:
    lakes, killed = beside.killed(kills)
    assert killed >= kills * 3 / 4
    for path in lakes:
        assert contents(SparkLake(spark, path)) == expected
