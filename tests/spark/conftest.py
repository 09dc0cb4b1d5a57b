"""One local session of two threads, shared by all tests of the pipeline; and a fresh lake for each of them."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kgtui.history.schemas import BRONZE, GOLD, SILVER
from kgtui.history.tables_on_disk import make_tables
from kgtui.pipeline.lake import SparkLake
from kgtui.pipeline.session import start
from tests import jars
from tests.brokers.fixtures import asked_by

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

HERE = Path(__file__).parent

QUICK = {
    "spark.sql.shuffle.partitions": "2",
    # Plans are long and rows are few: planning anew after each stage, and compiling each, takes longest of all.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""What makes many small jobs quick."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Spark tests run in one worker, so that one JVM serves them: where the brokers are, which some of them need."""
    for item in items:
        if HERE in item.path.parents:
            if not asked_by(item):
                item.add_marker(pytest.mark.xdist_group("broker"))
            if not item.get_closest_marker("timeout"):
                item.add_marker(pytest.mark.timeout(900))  # where little is left to it, Spark takes its time
            # PySpark leaves sockets to the collector and uses what pandas calls deprecated.
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))
            item.add_marker(pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session on two threads of this machine."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setenv("KGTUI_SPARK_JARS", str(jars.spark_folder()))
        patch.setenv("KGTUI_SPARK_MEMORY", "1536m")
        spill = tmp_path_factory.mktemp("spark")
        # It takes all cores that it gets; tests of the screen, beside it in another worker, wait for frames.
        os.nice(10)
        session = start("local[2]", options=QUICK | {"spark.local.dir": str(spill)})
        yield session
        session.stop()


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> SparkLake:
    """A new lake."""
    return new_lake(spark, tmp_path / "lake")


def new_lake(spark: SparkSession, path: Path) -> SparkLake:
    """A lake with the tables that the pipeline writes, made as the command does."""
    lake = SparkLake(spark, path)
    make_tables(lake.folder, (*BRONZE, *SILVER, *GOLD))
    return lake
