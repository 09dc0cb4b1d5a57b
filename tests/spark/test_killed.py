"""Killed at any point, and started again: the tables are those of a run that nobody disturbed. And through Connect."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING

import pytest

from kgtui.commands.pipeline import make_gold
from kgtui.history.schemas import BRONZE, GOLD, SILVER
from kgtui.pipeline.jobs.run import Sources, once
from kgtui.pipeline.lake import SparkLake
from tests import jars
from tests.spark.conftest import new_lake
from tests.spark.test_gold import Cluster, record
from tests.spark.test_records import Bytes, commit
from tests.spark.test_streams import nothing, write
from tests.unit.history.recording import START, Recording
from tests.unit.protocol.records.records import every_kind

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

FILES = 4
PATIENCE = 800.0
STEPS = ("started", "reading the files", "decoding", *(f"making gold/{table.name}" for table in GOLD))
"""What the program says at its steps."""


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
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with a recording and nothing else; tests work on copies."""
    path = tmp_path_factory.mktemp("recorded") / "lake"
    record(Recording(path), Cluster(7), START, 14, gap="the recording begins")
    return path


@pytest.fixture(scope="module")
def undisturbed(
    spark: SparkSession, records: Path, recorded: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[str]]:
    """What the tables hold when nothing happens on the way."""
    lake = new_lake(spark, shutil.copytree(recorded, tmp_path_factory.mktemp("undisturbed") / "lake"))
    once(lake, Sources(records=records), make_gold, nothing)
    found = contents(lake)
    assert found["commits"]
    assert found["lag"]
    assert found["health"]
    return found


def contents(lake: SparkLake) -> dict[str, list[str]]:
    """Every row of every table, in one order."""
    return {table.name: sorted(map(str, lake.read(table).collect())) for table in (*BRONZE, *SILVER, *GOLD)}


def begin(lake: Path, records: Path, *more: str) -> subprocess.Popen[str]:
    """The program, with its JVM in a process group of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.spark.working", str(lake), str(records), *more],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"KGTUI_SPARK_JARS": str(jars.spark_folder()), "KGTUI_SPARK_MEMORY": "700m"},
    )


def kill_after(lake: Path, records: Path, step: str, seconds: float) -> bool:
    """Start the program, and kill it and its JVM some time after it came to a step; whether it was still at work."""
    program = begin(lake, records)
    try:
        assert program.stdout is not None
        assert any(line.startswith(step) for line in program.stdout), f"it never came to {step}"
        program.wait(seconds)
    except subprocess.TimeoutExpired:
        return True
    finally:
        with suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
        program.wait()
    return False


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.full)])
@pytest.mark.timeout(3_600)
def test_a_killed_run_goes_on_where_it_was(
    spark: SparkSession, records: Path, recorded: Path, undisturbed: dict[str, list[str]], tmp_path: Path, kills: int
) -> None:
    random, killed = Random(kills), 0
    shutil.copytree(recorded, tmp_path / "lake")
    for number in range(kills):
        # One of two is killed while it reads, the other while it computes.
        step = random.choice(STEPS[3:] if number % 2 else STEPS[:3])
        killed += kill_after(tmp_path / "lake", records, step, random.uniform(0, 5))
    assert killed >= kills * 3 / 4
    lake = SparkLake(spark, tmp_path / "lake")
    once(lake, Sources(records=records), make_gold, nothing)
    assert contents(lake) == undisturbed


def test_through_spark_connect_the_same_tables_come(
    spark: SparkSession, records: Path, recorded: Path, undisturbed: dict[str, list[str]], tmp_path: Path
) -> None:
    shutil.copytree(recorded, tmp_path / "lake")
    program = begin(tmp_path / "lake", records, "local[2]")
    try:
        told, _ = program.communicate(timeout=PATIENCE)
    finally:
        if program.poll() is None:
            os.killpg(program.pid, signal.SIGKILL)
    assert told.endswith("done\n")
    assert contents(SparkLake(spark, tmp_path / "lake")) == undisturbed
