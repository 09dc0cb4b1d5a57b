"""The SQL function `kgtui.decode(key, value)`, which decodes a record of `__consumer_offsets` inside the JVM.

The Java source is in the folder `jvm`, and `decoder_jar` compiles it. A session without the function decodes records
with Spark expressions and Python instead, which needs about three times as much CPU time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from kgtui.pipeline.transforms.record_decoding import DECODED, POSITION, with_positions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_CATALOG = "spark.sql.catalog.kgtui"
"""Spark option that names the Java class of the catalog `kgtui`, which contains the function."""

_CATALOG_CLASS = "kgtui.spark.DecoderCatalog"


def enable_decoder(spark: SparkSession) -> bool:
    """Let a session use the function, and return whether the session has it.

    A Spark Connect server has the function only if kgtui has started the server, or if the jar was added to it. A
    function of another kgtui version, whose result has other fields, is not used.
    """
    spark.conf.set(_CATALOG, _CATALOG_CLASS)
    try:
        schema = spark.sql("SELECT kgtui.decode(X'', X'') AS decoded").schema
        found = schema["decoded"].dataType.simpleString() == DECODED.simpleString()
    except (PySparkException, Py4JJavaError):
        # PySpark does not convert the error about a missing class into an error of its own.
        found = False
    if not found:
        spark.conf.unset(_CATALOG)
    return found


def has_decoder(spark: SparkSession) -> bool:
    """Return whether `enable_decoder` has found the function."""
    return spark.conf.get(_CATALOG, None) is not None


def decode_in_jvm(records: DataFrame) -> DataFrame:
    """Decode bronze rows into rows of `record_decoding.SCHEMA`, like `decode_records`, but inside the JVM."""
    decoded = with_positions(records).withColumn("decoded", F.expr("kgtui.decode(key, value)"))
    return decoded.select(*POSITION, "decoded.*")
