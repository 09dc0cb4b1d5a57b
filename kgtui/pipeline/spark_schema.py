"""Convert DataFrames to the columns and types of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from kgtui.lake.schemas import Table

TYPES: dict[str, DataType] = {
    "long": LongType(),
    "int": IntegerType(),
    "double": DoubleType(),
    "string": StringType(),
    "binary": BinaryType(),
    "boolean": BooleanType(),
    "date": DateType(),
    "timestamp": TimestampType(),
}
"""Spark type of each column type in a table definition."""


def conform(frame: DataFrame, table: Table) -> DataFrame:
    """Select the columns of a table in their order, and cast them to the column types of the table.

    This is done after a table is read, and before it is written.
    """
    # Use SQL texts, because `selectExpr` needs only one JVM call for all of them. `Column` objects would need several
    # JVM calls per column.
    return frame.selectExpr(
        *(
            f"CAST(`{column.name}` AS {TYPES[column.type].simpleString()}) AS `{column.name}`"
            for column in table.columns
        )
    )


def with_comments(frame: DataFrame, table: Table) -> DataFrame:
    """Add the descriptions of the columns as comments. A table created from the DataFrame then has these comments."""
    about = {column.name: column.about for column in table.columns}
    schema = StructType()
    for field in frame.schema:
        comment = {"comment": about[field.name]} if about[field.name] else {}
        schema.add(StructField(field.name, field.dataType, field.nullable, comment))
    return frame.to(schema)
