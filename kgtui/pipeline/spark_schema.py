"""Convert DataFrames to the columns and types of a lake table (`kgtui.lake.schemas.Table`)."""

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
"""Column type in a table definition (`kgtui.lake.schemas.Type`) → Spark type."""


def conform(frame: DataFrame, table: Table) -> DataFrame:
    """Select the columns of `table` in their order, and cast them to the types in its definition.

    Callers use this function after they have read a table, and before they write a table.
    """
    # Pass SQL texts, because `selectExpr` needs only one JVM call for all columns. With `Column`
    # objects, PySpark would need several JVM calls per column.
    return frame.selectExpr(
        *(
            f"CAST(`{column.name}` AS {TYPES[column.type].simpleString()}) AS `{column.name}`"
            for column in table.columns
        )
    )


def with_comments(frame: DataFrame, table: Table) -> DataFrame:
    """Add the description of each column in `table` to the DataFrame, as a column comment.

    A Delta table that is created from the returned DataFrame has these comments.
    """
    about = {column.name: column.about for column in table.columns}
    schema = StructType()
    for field in frame.schema:
        comment = {"comment": about[field.name]} if about[field.name] else {}
        schema.add(StructField(field.name, field.dataType, field.nullable, comment))
    return frame.to(schema)
