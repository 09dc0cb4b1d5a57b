"""One local session of two threads, shared by all tests of the pipeline; and a fresh lake for each of them."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kgtui.pipeline.lake import SparkLake
from kgtui.pipeline.session import local_options, start
from tests import jars
from tests.brokers.fixtures import asked_by

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

HERE = Path(__file__).parent

QUICK = {
    "spark.sql.shuffle.partitions": "2",
    # Half of the time would go into compiling for a speed that a few rows never need.
    "spark.driver.extraJavaOptions": f"{local_options()['spark.driver.extraJavaOptions']} -XX:TieredStopAtLevel=1",
}
"""What makes many small jobs quick."""

SMALL = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Plans of a few rows are not worth compiling."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Spark tests run in one worker, so that one JVM serves them."""
    for item in items:
        if HERE in item.path.parents:
            if not asked_by(item):  # those with real brokers run where the brokers are, with a session of their own
                item.add_marker(pytest.mark.xdist_group("spark"))
            # PySpark leaves sockets to the collector and uses what pandas calls deprecated.
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))
            item.add_marker(pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session on two threads of this machine."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setenv("KGTUI_SPARK_JARS", str(jars.spark_folder()))
        patch.setenv("KGTUI_SPARK_MEMORY", "1g")
        spill = tmp_path_factory.mktemp("spark")
        session = start("local[2]", options=QUICK | {"spark.local.dir": str(spill)})
        yield session
        session.stop()


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> SparkLake:
    """A new lake."""
    return SparkLake(spark, tmp_path / "lake")
