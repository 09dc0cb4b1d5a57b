"""From a source of records to the bronze table."""

from __future__ import annotations

import hashlib
from functools import partial
from typing import TYPE_CHECKING

from kgtui.history.schemas import COORDINATOR_RECORDS
from kgtui.pipeline.jobs.streams import days_of, started
from kgtui.pipeline.lake import ANEW, SparkLake
from kgtui.pipeline.transforms.bronze import coordinator_records

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

KAFKA, FILES = "kafka-", "files-"
"""How the names of streams begin that read a cluster, or a folder."""


def from_kafka(lake: SparkLake, records: DataFrame, *, every: float | None) -> StreamingQuery:
    """Append records of the topic, each once: Delta knows which batches of the stream it has.

    Args:
        every: seconds between batches; None ends when all that is there now is done.
    """
    lake.create(COORDINATOR_RECORDS)
    series = lake.series(COORDINATOR_RECORDS, "bronze", KAFKA)
    rows = records.transform(coordinator_records)
    if series.endswith(ANEW) or len(list(lake.checkpoint("bronze").iterdir())) > 1:
        return _merging(lake, rows, series, every)
    writer = rows.writeStream.format("delta").outputMode("append").option("path", str(lake.path(COORDINATOR_RECORDS)))
    if every is not None:
        writer = writer.option("optimizeWrite", "true")  # one small file a batch instead of one a partition
    return started(writer, lake.checkpoint("bronze", series), every)


def has_read_kafka(lake: SparkLake) -> bool:
    """Whether the stream of `from_kafka` has done a batch before."""
    return any(lake.checkpoint("bronze").glob(f"{KAFKA}*/commits/[0-9]*"))


def from_files(lake: SparkLake, records: DataFrame, folder: str, *, every: float | None) -> StreamingQuery:
    """Add records of files that the table does not have: they may overlap with each other and with the topic.

    Args:
        folder: which tells one such stream from another.
    """
    lake.create(COORDINATOR_RECORDS)
    source = f"{FILES}{hashlib.sha256(folder.encode()).hexdigest()[:12]}-"
    series = lake.series(COORDINATOR_RECORDS, "bronze", source)
    return _merging(lake, records.transform(coordinator_records), series, every)


def _merging(lake: SparkLake, rows: DataFrame, series: str, every: float | None) -> StreamingQuery:
    writer = rows.writeStream.foreachBatch(partial(_merge, str(lake.folder.path)))
    return started(writer, lake.checkpoint("bronze", series), every)


def _merge(path: str, batch: DataFrame, _: int) -> None:
    rows = batch.dropDuplicates([*COORDINATOR_RECORDS.key])
    if days := days_of(rows):
        SparkLake(batch.sparkSession, path).merge(COORDINATOR_RECORDS, rows, days=days)
