"""Records as they were read, as rows of `coordinator_records`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kgtui.lake.schemas import COORDINATOR_RECORDS
from kgtui.pipeline.sources import COLUMNS
from kgtui.pipeline.spark_schema import conform

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def coordinator_records(records: DataFrame) -> DataFrame:
    """Rows of the bronze table, each in the day of its timestamp."""
    return records.select(*COLUMNS).withColumn("day", F.to_date("timestamp")).transform(conform, COORDINATOR_RECORDS)
