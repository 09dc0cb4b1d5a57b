"""The bronze job: copy records of `__consumer_offsets` to the bronze table `coordinator_records`.

The records come from a cluster, or from Parquet files. They are not decoded.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from functools import partial, reduce
from operator import or_
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kgtui.errors import SourceError
from kgtui.lake.schemas import COORDINATOR_RECORDS
from kgtui.pipeline.jobs.streaming import start_query
from kgtui.pipeline.sources import COLUMNS
from kgtui.pipeline.spark_lake import MERGES_BY_KEY, SparkLake
from kgtui.pipeline.spark_schema import conform

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row
    from pyspark.sql.streaming.query import StreamingQuery

_LAYER = "bronze"
_FIRST, _LAST = datetime(1970, 1, 1, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC)
"""Earliest and latest timestamp in the bronze table.

A timestamp of a Kafka record before `_FIRST` becomes `_FIRST`, and one after `_LAST` becomes
`_LAST`. Many readers of Delta tables reject years after 9999. 30 December 9999 (UTC) is in the year
9999 in every time zone.
"""
_TOPIC, _FILES = "kafka-", "files-"
"""Prefixes in the names of streaming queries.

The name of a query that reads the topic begins with `_TOPIC`. The name of a query that reads files
begins with `_FILES`.
"""


def coordinator_records(records: DataFrame) -> DataFrame:
    """Convert records of `__consumer_offsets` to rows of the bronze table, without decoding them.

    The new column `day` is the UTC day of the record's timestamp. Timestamps before 1970, such as
    -1 for no timestamp, become 1 January 1970. Timestamps after 30 December 9999 become this day,
    because many readers of Delta tables reject years after 9999.

    Args:
        records: DataFrame with the columns `sources.COLUMNS`.
    """
    in_range = F.least(F.greatest("timestamp", F.lit(_FIRST)), F.lit(_LAST))
    rows = records.select(*COLUMNS).withColumn("timestamp", in_range)
    return rows.withColumn("day", F.to_date("timestamp")).transform(conform, COORDINATOR_RECORDS)


def ingest_topic(lake: SparkLake, records: DataFrame, *, interval: float | None) -> StreamingQuery:
    """Start the streaming query that appends records of the topic to the bronze table.

    Each record is appended exactly once.

    Args:
        records: streaming DataFrame of the records, from `sources.stream_topic`.
        interval: seconds between two batches; None to read everything that exists now, and then
            stop.
    """
    name = lake.query_name(COORDINATOR_RECORDS, _LAYER, _TOPIC)
    rows = records.transform(coordinator_records)
    if name.endswith(MERGES_BY_KEY) or len(lake.checkpoint_names(_LAYER)) > 1:
        # Another query may have written some records of the topic already. Therefore, compare each
        # batch with the table.
        return _start_deduplicating(lake, rows, name, interval)
    # If Spark repeats a batch after a failure, Delta Lake does not write the batch again, because
    # the Delta log of the table contains the number of the last written batch.
    writer = rows.writeStream.format("delta").outputMode("append").option("path", lake.uri(COORDINATOR_RECORDS))
    if interval is not None:
        # The batches of a continuous query are small. Therefore, write one file per batch, and not
        # one file per Spark partition.
        writer = writer.option("optimizeWrite", "true")
    return start_query(lake, writer, _LAYER, name, interval)


def has_read_topic(lake: SparkLake) -> bool:
    """Return whether records of the topic have ever been written to the bronze table.

    The result is true if a query that `ingest_topic` started, now or in an earlier run, has
    finished at least one batch.
    """
    queries = [name for name in lake.checkpoint_names(_LAYER) if name.startswith(_TOPIC)]
    return any(batch[0].isdigit() for name in queries for batch in lake.checkpoint_names(_LAYER, name, "commits"))


def ingest_files(lake: SparkLake, records: DataFrame, folder: str, *, interval: float | None) -> StreamingQuery:
    """Start the streaming query that copies records from Parquet files to the bronze table.

    Records that the table already contains are skipped.

    Args:
        records: streaming DataFrame of the records, from `sources.stream_files`.
        folder: path of the folder with the files. The name of the query contains a hash of this
            path, so that each folder has its own checkpoint.
        interval: seconds between two batches; None to read everything that exists now, and then
            stop.
    """
    prefix = f"{_FILES}{hashlib.sha256(folder.encode()).hexdigest()[:12]}-"
    name = lake.query_name(COORDINATOR_RECORDS, _LAYER, prefix)
    return _start_deduplicating(lake, records.transform(coordinator_records), name, interval)


def _start_deduplicating(lake: SparkLake, rows: DataFrame, name: str, interval: float | None) -> StreamingQuery:
    writer = rows.writeStream.foreachBatch(partial(_add_batch, str(lake.folder.path), name))
    return start_query(lake, writer, _LAYER, name, interval)


def _add_batch(path: str, query_name: str, batch: DataFrame, batch_id: int) -> None:
    """Add the rows of a batch to the bronze table, except rows that the table already contains.

    Args:
        path: path or URI of the lake.
        query_name: name of the streaming query to which the batch belongs.

    Raises:
        SourceError: two different records have the same partition and offset.
    """
    lake = SparkLake(batch.sparkSession, path)
    ranges = _offset_ranges(batch)
    if not ranges:
        return
    days = sorted({str(day) for offsets in ranges for day in offsets.days})
    known = _rows_in(lake, ranges)
    if all(offsets.copies == 1 for offsets in ranges) and known.isEmpty():
        lake.append(COORDINATOR_RECORDS, batch, app=f"kgtui-{query_name}", batch_id=batch_id)
    else:
        # Some rows may already be in the table, or occur twice in the batch. Therefore, merge the
        # rows by key, although merging is slower than appending.
        _check_same_records(batch.unionByName(known))
        lake.merge(COORDINATOR_RECORDS, batch.dropDuplicates([*COORDINATOR_RECORDS.key]), days=days)


def _offset_ranges(batch: DataFrame) -> list[Row]:
    """Return one row for each partition of `__consumer_offsets` that has records in a batch.

    - `first`, `last`: lowest and highest offset of the partition in the batch
    - `days`: days of the records
    - `copies`: maximum number of records with the same offset; 1 if no offset occurs twice
    """
    each = batch.groupBy("partition", "offset").agg(F.count(F.lit(1)).alias("copies"), F.max("day").alias("day"))
    return each.groupBy("partition").agg(
        F.min("offset").alias("first"),
        F.max("offset").alias("last"),
        F.max("copies").alias("copies"),
        F.collect_set("day").alias("days"),
    ).collect()  # fmt: skip


def _rows_in(lake: SparkLake, ranges: list[Row]) -> DataFrame:
    """Return the rows of the bronze table whose offsets are in one of the given ranges.

    The rows of all days are searched. The table may contain a different record with the same
    partition and offset from another day. `_check_same_records` then raises an error.

    Args:
        ranges: rows with a `partition`, and with its `first` and `last` offset.
    """
    in_range = [
        (F.col("partition") == offsets.partition) & F.col("offset").between(offsets.first, offsets.last)
        for offsets in ranges
    ]
    return lake.read(COORDINATOR_RECORDS).where(reduce(or_, in_range))


def _check_same_records(rows: DataFrame) -> None:
    """Raise `SourceError` if rows with the same partition and offset contain different records.

    Two records are different if they differ in their day, key or value. Kafka never replaces the
    record at an offset. Therefore, different records at one offset come from two clusters, or from
    a topic that was deleted and created again.
    """
    record = F.struct("day", F.xxhash64("key", "value"), F.length("key"), F.length("value"))
    different = rows.groupBy("partition", "offset").agg(F.count_distinct(record).alias("records")).where("records > 1")
    for row in different.sort("partition", "offset").limit(1).collect():
        raise SourceError(
            f"partition {row.partition} has two different records at offset {row.offset}: they come from two clusters, "
            "or from a topic that was deleted and created again. A lake holds the records of one topic. Use another "
            "folder for these records."
        )
