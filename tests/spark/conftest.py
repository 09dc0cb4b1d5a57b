"""Fixtures for Spark tests: pipeline runs that several tests share, and a new lake for each test."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kgtui.pipeline.spark_lake import SparkLake
from tests.brokers.fixtures import LIVE, group_of, requested_by
from tests.spark import sample_data
from tests.spark.background_runs import BackgroundRuns
from tests.spark.spark_settings import connect_url, new_lake

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from tests.brokers.fixtures import Brokers

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)  # This hook must add `xdist_group` marks before xdist's own hook reads them.
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run all Spark tests in one xdist worker, so that they share one JVM.

    Spark tests that need a broker come first, so that the broker can be stopped early. Spark tests that wait for
    background runs come last.
    """
    for item in items:
        if HERE in item.path.parents:
            if not requested_by(item):
                item.add_marker(pytest.mark.xdist_group("spark"))
            if not item.get_closest_marker("timeout"):
                # The timeout is longer than in other tests, because Spark is slow while other tests use the CPU.
                item.add_marker(pytest.mark.timeout(900))

            # PySpark leaves sockets open, so that Python issues a ResourceWarning, which must not fail a test.
            item.add_marker(pytest.mark.filterwarnings("ignore::ResourceWarning"))
            item.add_marker(pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"))
    items.sort(key=lambda item: (_waits_for_background_runs(item), group_of(item) != "spark", not requested_by(item)))


def _waits_for_background_runs(item: pytest.Item) -> bool:
    return HERE in item.path.parents and "uninterrupted_lake" in getattr(item, "fixturenames", ())


@pytest.fixture(scope="session")
def record_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of Parquet files with `__consumer_offsets` records of all types."""
    folder = tmp_path_factory.mktemp("records")
    sample_data.write_records(folder)
    return folder


@pytest.fixture(scope="session")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a lake (folder of tables) with a recording: the polls of a simulated cluster during seven minutes.

    The lake also contains the retention time of the topic, but no other data. Tests use copies of this lake.
    """
    path = tmp_path_factory.mktemp("recording") / "lake"
    sample_data.record_seven_minutes(path)
    return path


@pytest.fixture(scope="session", autouse=True)
def start_brokers_early(request: pytest.FixtureRequest) -> None:
    """Before the first test, start all brokers that the selected Spark tests need, so that no test waits for one.

    If tests need groups with members, also start the groups, and write all types of records to `__consumer_offsets`.
    """
    needed = set().union(*(requested_by(item) for item in request.session.items if HERE in item.path.parents))
    if needed:
        brokers: Brokers = request.getfixturevalue("brokers")
        for name in sorted(needed.intersection(LIVE)):
            brokers.write_coordinator_records(name)


@pytest.fixture(scope="session", autouse=True)
def background_runs(
    start_brokers_early: None,
    spark: SparkSession,
    request: pytest.FixtureRequest,
    recording: Path,
    record_files: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[BackgroundRuns]:
    """Yield the background runs of the pipeline. If a selected test needs them, they start before the first test."""
    runs = BackgroundRuns(tmp_path_factory.mktemp("runs"), recording, record_files, connect_url(spark))
    waiting = [item for item in request.session.items if _waits_for_background_runs(item)]
    kills = sorted(item.callspec.params["kills"] for item in waiting if hasattr(item, "callspec"))
    if waiting:
        runs.start(*kills)
    yield runs
    runs.stop()


@pytest.fixture(scope="session")
def uninterrupted_lake(spark: SparkSession, background_runs: BackgroundRuns) -> SparkLake:
    """Return the lake of an uninterrupted run on a standalone Spark cluster. Tests must not change this lake.

    The run has processed all data in `recording` and `record_files`.
    """
    return SparkLake(spark, background_runs.uninterrupted())


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> SparkLake:
    """Return a new lake with empty bronze and silver tables."""
    return new_lake(spark, tmp_path / "lake")
