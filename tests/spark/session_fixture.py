"""Fixture for the Spark session that all Spark tests share."""

from __future__ import annotations

import os
import warnings
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Start a local Spark session with two threads. Its JVM also runs a Spark Connect server."""
    # Import PySpark only in this function, because every test process imports this module, but few need PySpark.
    from kgtui.pipeline.session import start
    from tests import jars
    from tests.spark.spark_settings import CONNECT_SERVER, LONG_LIVED

    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setenv("KGTUI_SPARK_JARS", str(jars.spark_folder()))
        patch.setenv("KGTUI_SPARK_MEMORY", "1536m")
        # kgtui writes the jar of its Java decoder into this folder. Programs that tests start inherit the variable, so
        # they use the same jar.
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        spill = tmp_path_factory.mktemp("spark")
        # Lower the CPU priority, so that this process and its JVM do not slow down tests of the terminal UI. With an
        # even lower priority, Spark's Python workers would not start within Spark's limit of 10 s.
        os.nice(4)
        session = start("local[2]", options=LONG_LIVED | CONNECT_SERVER | {"spark.local.dir": str(spill)})
        yield session
        session.stop()
