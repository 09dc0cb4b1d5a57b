"""Records of `__consumer_offsets` in a folder of Parquet files, as another tool has put them there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.errors import PySparkException
from pyspark.sql.types import BinaryType, IntegerType, LongType, StructField, StructType, TimestampType

from kgtui.errors import SourceError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = StructType(
    [
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("timestamp", TimestampType()),
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
    ]
)
"""Columns that the files must have; others are passed over."""


def folder_of(path: Path | str) -> Path:
    """Where records lie. Raises `SourceError` if there is no such folder."""
    folder = Path(path).expanduser().absolute()
    if not folder.is_dir():
        raise SourceError(f"{folder}: there is no such folder of records")
    return folder


def stream(spark: SparkSession, folder: Path | str, *, at_once: int | None = None) -> DataFrame:
    """The records of all files, and of files that are added later: the columns of `SCHEMA`.

    Args:
        at_once: files of one batch, at most.

    Raises:
        SourceError: there is no such folder, nothing in it, or something else.
    """
    path = folder_of(folder)
    try:
        found = spark.read.parquet(str(path)).schema
    except PySparkException as error:
        raise SourceError(f"{path} holds no Parquet files that can be read: {error.getCondition() or error}") from error
    types = {field.name: field.dataType for field in found}
    wrong = [field for field in SCHEMA if types.get(field.name) != field.dataType]
    if wrong:
        expected = ", ".join(f"{field.name} ({field.dataType.simpleString()})" for field in SCHEMA)
        got = ", ".join(f"{name} ({kind.simpleString()})" for name, kind in types.items())
        raise SourceError(f"{path}: files of records have the columns {expected}; these have {got}")
    reader = spark.readStream.schema(SCHEMA)
    if at_once is not None:
        reader = reader.option("maxFilesPerTrigger", at_once)
    return reader.parquet(str(path))
