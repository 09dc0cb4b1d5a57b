"""One local session of two threads, shared by all tests of the pipeline; and a fresh lake for each of them."""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kgtui.pipeline.session import start
from kgtui.pipeline.spark_lake import SparkLake
from tests import jars
from tests.brokers.fixtures import ONE_OF_EACH, asked_by
from tests.spark.beside import Beside
from tests.spark.setting import LONG_LIVED, SERVER, new_lake, server_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from tests.brokers.fixtures import Brokers

HERE = Path(__file__).parent


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
    items.sort(key=_waits)


def _waits(item: pytest.Item) -> bool:
    """Whether a test needs what a program does beside the others, and so is one of the last."""
    return HERE in item.path.parents and "undisturbed" in getattr(item, "fixturenames", ())


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session on two threads of this machine."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setenv("KGTUI_SPARK_JARS", str(jars.spark_folder()))
        patch.setenv("KGTUI_SPARK_MEMORY", "1536m")
        spill = tmp_path_factory.mktemp("spark")
        # It takes all cores that it gets; tests of the screen, if any run beside it, wait for frames.
        os.nice(10)
        session = start("local[2]", options=LONG_LIVED | SERVER | {"spark.local.dir": str(spill)})
        yield session
        session.stop()


@pytest.fixture(scope="session")
def record_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files with a bit of everything."""
    folder = tmp_path_factory.mktemp("records")
    from tests.spark import small

    small.write_records(folder)
    return folder


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with a recording and nothing else; tests work on copies."""
    path = tmp_path_factory.mktemp("recorded") / "lake"
    from tests.spark import small

    small.record_a_while(path)
    return path


@pytest.fixture(scope="session", autouse=True)
def beside(
    spark: SparkSession,
    request: pytest.FixtureRequest,
    recorded: Path,
    record_files: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Beside]:
    """Programs that are at work from the first test on."""
    made = Beside(tmp_path_factory.mktemp("beside"), recorded, record_files, server_of(spark))
    asking = [item for item in request.session.items if _waits(item)]
    kills = sorted(item.callspec.params["kills"] for item in asking if hasattr(item, "callspec"))
    if asking:
        made.start(*kills)
    yield made
    made.stop()


@pytest.fixture(scope="session", autouse=True)
def brokers_meanwhile(spark: SparkSession, request: pytest.FixtureRequest) -> None:
    """Brokers, and groups on them that come and go, take their time while the first tests run."""
    needed = set().union(*(asked_by(item) for item in request.session.items if HERE in item.path.parents))
    if needed:
        brokers: Brokers = request.getfixturevalue("brokers")
        for name in sorted(needed.intersection(ONE_OF_EACH["live"])):
            brokers.leave_behind(name)


@pytest.fixture(scope="session")
def undisturbed(spark: SparkSession, beside: Beside) -> SparkLake:
    """The whole pipeline over that recording and those files, through Spark Connect; only to be read."""
    return SparkLake(spark, beside.undisturbed())


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> SparkLake:
    """A new lake."""
    return new_lake(spark, tmp_path / "lake")
