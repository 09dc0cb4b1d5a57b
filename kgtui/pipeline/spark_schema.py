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
    """Select the columns of a table in the table's order and cast them to its types.

    Rows are converted both before they are written to a table and after they are read from it.
    """
    # The expressions are SQL text, because building them from `Column` objects would take several JVM calls per column.
    return frame.selectExpr(
        *(
            f"CAST(`{column.name}` AS {TYPES[column.type].simpleString()}) AS `{column.name}`"
            for column in table.columns
        )
    )
