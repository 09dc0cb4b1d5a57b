"""Killed at any point, and started again: the tables are those of a run that nobody disturbed. And through Connect."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import pytest

from kgtui.commands.pipeline import make_gold
from kgtui.history.schemas import BRONZE, GOLD, SILVER
from kgtui.pipeline.jobs.run import Sources, once
from kgtui.pipeline.lake import SparkLake
from tests import jars
from tests.spark.setting import new_lake
from tests.spark.test_streams import nothing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

PATIENCE = 800.0
STEPS = ("started", "reading the files", "decoding", *(f"making gold/{table.name}" for table in GOLD))
"""What the program says at its steps."""


@pytest.fixture(scope="module")
def through_connect(records: Path, recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connected]:
    """A run through Spark Connect, by a server of its own: it works while other things are tested."""
    lake = shutil.copytree(recorded, tmp_path_factory.mktemp("connect") / "lake")
    program = begin(lake, records, "local[2]")
    yield Connected(lake, program)
    end(program)


@pytest.fixture(scope="module")
def expected(undisturbed: SparkLake) -> dict[str, list[str]]:
    """What the tables hold when nothing happens on the way."""
    found = contents(undisturbed)
    assert found["commits"]
    assert found["lag"]
    assert found["health"]
    return found


class Connected(NamedTuple):
    """A program at work on a lake."""

    lake: Path
    program: subprocess.Popen[str]


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
        end(program)
    return False


def end(program: subprocess.Popen[str]) -> None:
    """Kill a program with its JVM, if they are still there."""
    with suppress(ProcessLookupError):
        os.killpg(program.pid, signal.SIGKILL)
    program.wait()


@pytest.mark.usefixtures("through_connect")
@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.full)])
@pytest.mark.timeout(3_600)
def test_a_killed_run_goes_on_where_it_was(
    spark: SparkSession, records: Path, recorded: Path, expected: dict[str, list[str]], tmp_path: Path, kills: int
) -> None:
    random, killed = Random(kills), 0
    shutil.copytree(recorded, tmp_path / "lake")
    for number in range(kills):
        # One of two is killed while it reads, the other while it computes.
        step = random.choice(STEPS[3:] if number % 2 else STEPS[:3])
        killed += kill_after(tmp_path / "lake", records, step, random.uniform(0, 5))
    assert killed >= kills * 3 / 4
    lake = new_lake(spark, tmp_path / "lake")
    once(lake, Sources(records=records), make_gold, nothing)
    assert contents(lake) == expected


def test_through_spark_connect_the_same_tables_come(
    spark: SparkSession, through_connect: Connected, expected: dict[str, list[str]]
) -> None:
    told, _ = through_connect.program.communicate(timeout=PATIENCE)
    assert told.endswith("done\n")
    assert contents(SparkLake(spark, through_connect.lake)) == expected
