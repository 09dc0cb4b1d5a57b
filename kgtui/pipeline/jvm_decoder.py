"""The SQL function `kgtui.decode(key, value)`, which decodes a record of `__consumer_offsets` inside the JVM.

A second function decodes only offset commits and keeps all other records (see `KeptRecords`).
The Java source is in the folder `jvm`, and `decoder_jar` compiles it. A session without the function decodes records
with Spark expressions and Python instead, which needs about twice as much CPU time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from pyspark.sql.classic.dataframe import DataFrame as ClassicDataFrame

from kgtui.lake.schemas import COMMITS
from kgtui.pipeline.transforms.record_decoding import DECODED, POSITION, rows_for, with_positions

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


class KeptRecords:
    """Decodes offset commits, and keeps all other records on the driver, so that Spark reads the records only once.

    Nothing is kept if these records are larger than 32 MB. One instance is used for one batch.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._java: Any = spark._jvm.kgtui.spark.KeptRecords  # type: ignore[union-attr]
        self._id: int = self._java.create(spark._jsc.sc())

    @classmethod
    def of(cls, spark: SparkSession) -> KeptRecords | None:
        """Return a new instance; None if the session has no decoder in the JVM, or uses Spark Connect."""
        # A session of Spark Connect has no attribute `_jvm`.
        return cls(spark) if getattr(spark, "_jvm", None) is not None and has_decoder(spark) else None

    def decode_commits(self, records: DataFrame) -> DataFrame:
        """Decode bronze rows into rows of silver `commits`. Other records, and damaged commits, are kept.

        The records are kept while Spark computes the result, which must therefore be computed exactly once.
        """
        decode = f"kgtui.decode_keeping_{self._id}(day, record_partition, record_offset, record_time, key, value)"
        decoded = with_positions(records).withColumn("commit", F.expr(decode))
        return rows_for(decoded, COMMITS)

    def take(self, expected: int | None) -> DataFrame | None:
        """Return the kept records as bronze rows, and forget them.

        Returns None if there are not exactly `expected` records, for example because they were too large.
        """
        kept = self._java.take(self._id, self._spark._jsparkSession, -1 if expected is None else expected)
        if kept is None:
            return None
        day, time = F.date_from_unix_date("day").alias("day"), F.timestamp_micros("timestamp").alias("timestamp")
        return ClassicDataFrame(kept, self._spark).select(day, "partition", "offset", time, "key", "value")


def decode_in_jvm(records: DataFrame) -> DataFrame:
    """Decode bronze rows into rows of `record_decoding.SCHEMA`, like `decode_records`, but inside the JVM."""
    decoded = with_positions(records).withColumn("decoded", F.expr("kgtui.decode(key, value)"))
    return decoded.select(*POSITION, "decoded.*")
