"""Spark settings for tests with many small jobs, and functions that prepare lakes (folders of tables) for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.lake.schemas import BRONZE, GOLD, GOLD_STATE, SILVER
from kgtui.lake.tables import create_tables
from kgtui.pipeline.jobs import gold
from kgtui.pipeline.session import local_options
from kgtui.pipeline.spark_lake import SparkLake

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

    import pytest
    from pyspark.sql import SparkSession

    from kgtui.lake.schemas import Table

SMALL_JOBS = {
    "spark.sql.shuffle.partitions": "2",
    # Turn off adaptive execution and code generation. They take more time than they save, because the tables have few
    # rows.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Spark options that make many small jobs fast."""


def _java_options(*flags: str) -> dict[str, str]:
    """Return the Spark option that sets JVM flags: the flags that kgtui always uses, and then `flags`."""
    name = "spark.driver.extraJavaOptions"
    return {name: " ".join([local_options()[name], *flags])}


# To save CPU time, the JVM's optimizing compiler is off, and the JVM does not verify the bytecode of Spark's 20,000
# classes. The optimizing compiler would use half of the CPU time in the first minutes.
_FAST_START = (
    "-XX:TieredStopAtLevel=1",
    "-XX:ReservedCodeCacheSize=240m",
    "-XX:+UnlockDiagnosticVMOptions",
    "-XX:-BytecodeVerificationRemote",
)
LONG_LIVED = SMALL_JOBS | _java_options("-XX:+UseParallelGC", *_FAST_START)
"""Spark options for the session that all tests share."""

_SHORT_LIVED_JVM = ("-XX:+UseSerialGC", *_FAST_START)
SHORT_LIVED = SMALL_JOBS | _java_options(*_SHORT_LIVED_JVM)
"""Spark options for programs that run only briefly."""

ON_CLUSTER = SHORT_LIVED | {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.cores": "1",
    "spark.executor.memory": "600m",
    "spark.executor.extraJavaOptions": " ".join(_SHORT_LIVED_JVM),
}
"""Spark options for a program that runs only briefly, and whose executors run on a `StandaloneCluster`."""

CONNECT_SERVER = {
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.connect.grpc.binding.port": "0",
}
"""Spark options that start a Spark Connect server in the session's JVM. `connect_url` returns the server's URL."""


def connect_url(spark: SparkSession) -> str:
    """Return the URL of the Spark Connect server in a session's JVM."""
    service = getattr(spark._jvm, "org.apache.spark.sql.connect.service.SparkConnectService$")
    return f"sc://127.0.0.1:{getattr(service, 'MODULE$').localPort()}"


def new_lake(spark: SparkSession, path: Path) -> SparkLake:
    """Create a lake with empty bronze and silver tables, as `kgtui pipeline` does."""
    lake = SparkLake(spark, path)
    create_tables(lake.folder, (*BRONZE, *SILVER))
    return lake


def compute_only(tables: Collection[Table], lake: SparkLake, patch: pytest.MonkeyPatch) -> None:
    """Make the gold job compute only the gold tables `tables`, because computing a table takes seconds."""
    # Create all other gold tables without rows, because the gold job computes all days again if a table is missing.
    create_tables(lake.folder, [table for table in (*GOLD, *GOLD_STATE) if table not in tables])
    patch.setattr(gold, "TABLES", tuple(tables))
