"""The tables' definitions as Spark schemas."""

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


def spark_schema(table: Table) -> StructType:
    """The Spark schema of a table."""
    return StructType([StructField(column.name, TYPES[column.type], column.nullable) for column in table.columns])


def conform(frame: DataFrame, table: Table) -> DataFrame:
    """The columns of a table, in order and of its types: the contract at both ends of a transform."""
    # As text: an expression built in Python takes several calls of the JVM for each column.
    return frame.selectExpr(
        *(
            f"CAST(`{column.name}` AS {TYPES[column.type].simpleString()}) AS `{column.name}`"
            for column in table.columns
        )
    )
