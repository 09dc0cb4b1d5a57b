"""What tests of the pipeline begin with: Spark set up for many small jobs, and a lake with its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.lake.schemas import BRONZE, SILVER
from kgtui.lake.tables import make_tables
from kgtui.pipeline.session import local_options
from kgtui.pipeline.spark_lake import SparkLake

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

QUICK = {
    "spark.sql.shuffle.partitions": "2",
    # Plans are long and rows are few: planning anew after each stage, and compiling each, takes longest of all.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""What makes many small jobs quick."""


def _java(*flags: str) -> dict[str, str]:
    """What makes a session start its JVM with some flags besides those that it has anyway."""
    name = "spark.driver.extraJavaOptions"
    return {name: " ".join([local_options()[name], *flags])}


# Compiling takes half of all that a JVM takes in its first minutes: five times the calls make HotSpot's better compiler
# look at a method.
LONG_LIVED = QUICK | _java(
    "-XX:+UseParallelGC",
    "-XX:Tier4InvocationThreshold=25000",
    "-XX:Tier4MinInvocationThreshold=5000",
    "-XX:Tier4CompileThreshold=50000",
    "-XX:Tier4BackEdgeThreshold=200000",
)
"""For the session that all tests share."""

SHORT_LIVED = QUICK | _java("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m")
"""For programs that hardly live long enough to get back what better code takes to make."""

SERVER = {
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.connect.grpc.binding.port": "0",
}
"""What makes a session a Spark Connect server too, at `server_of`."""


def server_of(spark: SparkSession) -> str:
    """Where programs reach the server in the JVM of a session."""
    service = getattr(spark._jvm, "org.apache.spark.sql.connect.service.SparkConnectService$")
    return f"sc://127.0.0.1:{getattr(service, 'MODULE$').localPort()}"


def new_lake(spark: SparkSession, path: Path) -> SparkLake:
    """A lake with the tables that the pipeline writes, made as the command does."""
    lake = SparkLake(spark, path)
    make_tables(lake.folder, (*BRONZE, *SILVER))
    return lake
