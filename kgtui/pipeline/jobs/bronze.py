"""The bronze job: copy records of `__consumer_offsets` from a cluster or from files to table `coordinator_records`."""

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
"""Earliest and latest timestamp in the bronze table. An earlier or later timestamp is replaced with the nearer of them.

Many readers of Delta tables reject years after 9999. 30 December 9999 (UTC) is in the year 9999 in every time zone.
"""
_TOPIC, _FILES = "kafka-", "files-"
"""Prefixes of the names of streaming queries: `_TOPIC` for queries that read the topic, `_FILES` for those on files."""


def coordinator_records(records: DataFrame) -> DataFrame:
    """Convert Kafka records to rows of the bronze table. The column `day` is the UTC day of the record's timestamp.

    Timestamps before 1970, such as -1 for no timestamp, become 1 January 1970. Timestamps after 30 December 9999 become
    this day, because many readers of Delta tables reject years after 9999.
    """
    in_range = F.least(F.greatest("timestamp", F.lit(_FIRST)), F.lit(_LAST))
    rows = records.select(*COLUMNS).withColumn("timestamp", in_range)
    return rows.withColumn("day", F.to_date("timestamp")).transform(conform, COORDINATOR_RECORDS)


def ingest_topic(lake: SparkLake, records: DataFrame, *, interval: float | None) -> StreamingQuery:
    """Start the streaming query that appends each of the topic's records exactly once to the bronze table.

    Args:
        interval: seconds between two batches; None to read everything that exists now, and then stop.
    """
    name = lake.query_name(COORDINATOR_RECORDS, _LAYER, _TOPIC)
    rows = records.transform(coordinator_records)
    if name.endswith(MERGES_BY_KEY) or len(lake.checkpoint_names(_LAYER)) > 1:
        # Another query may have written some of the topic's records already, so compare each batch with the table.
        return _start_deduplicating(lake, rows, name, interval)
    # If Spark repeats a batch after a failure, Delta Lake does not write the batch again, because the Delta log of the
    # table contains the number of the last written batch.
    writer = rows.writeStream.format("delta").outputMode("append").option("path", lake.uri(COORDINATOR_RECORDS))
    if interval is not None:
        # The batches of continuous queries are small. Write one file per batch, and not one file per Spark partition.
        writer = writer.option("optimizeWrite", "true")
    return start_query(lake, writer, _LAYER, name, interval)


def has_read_topic(lake: SparkLake) -> bool:
    """Return whether a query that `ingest_topic` started, now or in an earlier run, has finished at least one batch."""
    queries = [name for name in lake.checkpoint_names(_LAYER) if name.startswith(_TOPIC)]
    return any(batch[0].isdigit() for name in queries for batch in lake.checkpoint_names(_LAYER, name, "commits"))


def ingest_files(lake: SparkLake, records: DataFrame, folder: str, *, interval: float | None) -> StreamingQuery:
    """Start the streaming query that copies records from files to the bronze table.

    Records that the table already contains are skipped.

    Args:
        folder: path of the folder with the files. The name of the query contains a hash of this path, so that each
            folder has its own checkpoint.
        interval: seconds between two batches; None to read everything that exists now, and then stop.
    """
    prefix = f"{_FILES}{hashlib.sha256(folder.encode()).hexdigest()[:12]}-"
    name = lake.query_name(COORDINATOR_RECORDS, _LAYER, prefix)
    return _start_deduplicating(lake, records.transform(coordinator_records), name, interval)


def _start_deduplicating(lake: SparkLake, rows: DataFrame, name: str, interval: float | None) -> StreamingQuery:
    writer = rows.writeStream.foreachBatch(partial(_add_batch, str(lake.folder.path), name))
    return start_query(lake, writer, _LAYER, name, interval)


def _add_batch(path: str, query_name: str, batch: DataFrame, batch_id: int) -> None:
    """Add the rows of a batch to the bronze table, except rows that the table already contains.

    Raises:
        SourceError: the table has a different record with the same partition and offset.
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
        # Some rows are already in the table, or occur twice in the batch. Merge the rows by key, although merging is
        # slower than appending.
        _check_same_records(batch.unionByName(known))
        lake.merge(COORDINATOR_RECORDS, batch.dropDuplicates([*COORDINATOR_RECORDS.key]), days=days)


def _offset_ranges(batch: DataFrame) -> list[Row]:
    """Return one row for each partition of `__consumer_offsets` that has records in a batch.

    The row contains the `first` and the `last` offset in the batch, the `days` of the records, and `copies`: the
    maximum number of records with the same offset. `copies` is 1 if no offset occurs twice.
    """
    each = batch.groupBy("partition", "offset").agg(F.count(F.lit(1)).alias("copies"), F.max("day").alias("day"))
    return each.groupBy("partition").agg(
        F.min("offset").alias("first"),
        F.max("offset").alias("last"),
        F.max("copies").alias("copies"),
        F.collect_set("day").alias("days"),
    ).collect()  # fmt: skip


def _rows_in(lake: SparkLake, ranges: list[Row]) -> DataFrame:
    """Return the rows of the bronze table whose offsets are in the given ranges.

    All days are searched, because the table may contain a wrong record: one with a partition and offset of the batch,
    but from another day. `_check_same_records` finds such records.

    Args:
        ranges: rows with `partition`, `first` and `last` offset.
    """
    in_range = [
        (F.col("partition") == offsets.partition) & F.col("offset").between(offsets.first, offsets.last)
        for offsets in ranges
    ]
    return lake.read(COORDINATOR_RECORDS).where(reduce(or_, in_range))


def _check_same_records(rows: DataFrame) -> None:
    """Raise `SourceError` if two rows with the same partition and offset differ in their day, key or value.

    Kafka never replaces the record at an offset. Therefore, different records at one offset come from two clusters, or
    from a topic that was deleted and created again.
    """
    record = F.struct("day", F.xxhash64("key", "value"), F.length("key"), F.length("value"))
    different = rows.groupBy("partition", "offset").agg(F.count_distinct(record).alias("records")).where("records > 1")
    for row in different.sort("partition", "offset").limit(1).collect():
        raise SourceError(
            f"partition {row.partition} has two different records at offset {row.offset}: they come from two clusters, "
            "or from a topic that was deleted and created again. A lake holds the records of one topic. Use another "
            "folder for these records."
        )
