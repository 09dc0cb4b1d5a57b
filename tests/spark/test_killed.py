"""Killed at any point, and started again: the tables are those of a run that nobody disturbed. And through Connect."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from random import Random
from typing import TYPE_CHECKING

import pytest

from kgtui.history.schemas import BRONZE, SILVER
from kgtui.pipeline.jobs.run import Sources, once
from kgtui.pipeline.lake import SparkLake
from tests import jars
from tests.spark.test_records import Bytes, commit
from tests.spark.test_streams import nothing, write
from tests.unit.protocol.records.records import every_kind

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

FILES = 4
PATIENCE = 800.0


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files with a bit of everything."""
    folder = tmp_path_factory.mktemp("records")
    for number in range(FILES):
        some: list[Bytes] = [commit(4, f"g{number}-{n}") for n in range(30)]
        some += [*every_kind(number, 1)[6 + number :: 4], (b"\x00\x63?", b"")]
        write(folder, f"{number}.parquet", some, first=1_000 * number)
    return folder


@pytest.fixture(scope="module")
def undisturbed(spark: SparkSession, records: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What the tables hold when nothing happens on the way."""
    lake = SparkLake(spark, tmp_path_factory.mktemp("undisturbed") / "lake")
    once(lake, Sources(records=records), nothing, nothing)
    return contents(lake)


def contents(lake: SparkLake) -> dict[str, list[str]]:
    """Every row of every table, in one order."""
    return {table.name: sorted(map(str, lake.read(table).collect())) for table in (*BRONZE, *SILVER)}


def begin(lake: Path, records: Path, *more: str) -> subprocess.Popen[str]:
    """The program, with its JVM in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.spark.working", str(lake), str(records), *more],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"KGTUI_SPARK_JARS": str(jars.spark_folder()), "KGTUI_SPARK_MEMORY": "700m"},
    )


def kill_within(lake: Path, records: Path, seconds: float) -> None:
    """Start the program, and kill it and its JVM some time after Spark is there."""
    program = begin(lake, records)
    try:
        assert program.stdout is not None
        assert program.stdout.readline() == "started\n"
        deadline = time.monotonic() + seconds
        with pytest.raises(subprocess.TimeoutExpired):
            program.wait(max(0.0, deadline - time.monotonic()))
    finally:
        os.killpg(program.pid, signal.SIGKILL)
        program.wait()


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.full)])
@pytest.mark.timeout(3_600)
def test_a_killed_run_goes_on_where_it_was(
    spark: SparkSession, records: Path, undisturbed: dict[str, list[str]], tmp_path: Path, kills: int
) -> None:
    random = Random(kills)
    for number in range(kills):
        kill_within(tmp_path / "lake", records, random.uniform(2, 9) + number % 4)
    lake = SparkLake(spark, tmp_path / "lake")
    once(lake, Sources(records=records), nothing, nothing)
    assert contents(lake) == undisturbed


def test_through_spark_connect_the_same_tables_come(
    spark: SparkSession, records: Path, undisturbed: dict[str, list[str]], tmp_path: Path
) -> None:
    program = begin(tmp_path / "lake", records, "local[2]")
    try:
        told, _ = program.communicate(timeout=PATIENCE)
    finally:
        if program.poll() is None:
            os.killpg(program.pid, signal.SIGKILL)
    assert told.endswith("done\n")
    assert contents(SparkLake(spark, tmp_path / "lake")) == undisturbed
