"""Killed at any point, and started again: the tables are those of a run that nobody disturbed. And through Connect."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kgtui.commands.pipeline import make_gold
from kgtui.history.schemas import BRONZE, GOLD, SILVER
from kgtui.pipeline.jobs.run import Sources, once
from kgtui.pipeline.lake import SparkLake
from tests.spark.setting import new_lake
from tests.spark.test_streams import nothing

if TYPE_CHECKING:
    from pathlib import Path

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
    spark: SparkSession, record_files: Path, beside: Beside, expected: dict[str, list[str]], kills: int
) -> None:
    path, killed = beside.killed(kills)
    assert killed >= kills * 3 / 4
    lake = new_lake(spark, path)
    once(lake, Sources(records=record_files), make_gold, nothing)
    assert contents(lake) == expected


@pytest.mark.timeout(3_600)
def test_through_spark_connect_the_same_tables_come(
    spark: SparkSession, beside: Beside, expected: dict[str, list[str]]
) -> None:
    path, told = beside.connected()
    assert told.endswith("done\n")
    assert contents(SparkLake(spark, path)) == expected
