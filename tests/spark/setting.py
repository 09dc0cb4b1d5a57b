"""What tests of the pipeline begin with: Spark set up for many small jobs, and a lake with its tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.history.schemas import BRONZE, SILVER
from kgtui.history.tables_on_disk import make_tables
from kgtui.pipeline.lake import SparkLake
from kgtui.pipeline.session import local_options

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


SHORT_LIVED = {
    "spark.driver.extraJavaOptions": local_options()["spark.driver.extraJavaOptions"]
    + " -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m"
}
"""It hardly lives long enough to get back what better code takes to make: a third of all it takes."""


def new_lake(spark: SparkSession, path: Path) -> SparkLake:
    """A lake with the tables that the pipeline writes, made as the command does."""
    lake = SparkLake(spark, path)
    make_tables(lake.folder, (*BRONZE, *SILVER))
    return lake
