"""Convert kgtui's definitions of the lake's tables to Spark schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.types import StructField, StructType

from kgtui.pipeline.spark_schema import TYPES

if TYPE_CHECKING:
    from kgtui.lake.schemas import Table


def spark_schema(table: Table) -> StructType:
    return StructType([StructField(column.name, TYPES[column.type], column.nullable) for column in table.columns])
