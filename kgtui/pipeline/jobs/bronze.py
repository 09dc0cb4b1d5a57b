"""From a source of records to the bronze table."""

from __future__ import annotations

import hashlib
from functools import partial, reduce
from operator import or_
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kgtui.lake.schemas import COORDINATOR_RECORDS
from kgtui.pipeline.jobs.streams import started
from kgtui.pipeline.lake import ANEW, SparkLake
from kgtui.pipeline.transforms.bronze import coordinator_records

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row
    from pyspark.sql.streaming.query import StreamingQuery

KAFKA, FILES = "kafka-", "files-"
"""How the names of streams begin that read a cluster, or a folder."""


def from_kafka(lake: SparkLake, records: DataFrame, *, every: float | None) -> StreamingQuery:
    """Append records of the topic, each once: Delta knows which batches of the stream it has.

    Args:
        every: seconds between batches; None ends when all that is there now is done.
    """
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
    source = f"{FILES}{hashlib.sha256(folder.encode()).hexdigest()[:12]}-"
    series = lake.series(COORDINATOR_RECORDS, "bronze", source)
    return _merging(lake, records.transform(coordinator_records), series, every)


def _merging(lake: SparkLake, rows: DataFrame, series: str, every: float | None) -> StreamingQuery:
    writer = rows.writeStream.foreachBatch(partial(_add, str(lake.folder.path), series))
    return started(writer, lake.checkpoint("bronze", series), every)


def _add(path: str, series: str, batch: DataFrame, serial: int) -> None:
    """Add what the table does not have: where nothing of it can be there, as nearly always, by appending it."""
    lake = SparkLake(batch.sparkSession, path)
    spans = _spans(batch)
    if not spans:
        return
    days = sorted({str(day) for span in spans for day in span.days})
    if all(span.times == 1 for span in spans) and not _overlapping(lake, spans, days):
        lake.append(COORDINATOR_RECORDS, batch, app=f"kgtui-{series}", serial=serial)
    else:
        lake.merge(COORDINATOR_RECORDS, batch.dropDuplicates([*COORDINATOR_RECORDS.key]), days=days)


def _spans(batch: DataFrame) -> list[Row]:
    """Of each partition: offsets from `first` to `last`, how many `times` one of them comes at most, and `days`."""
    each = batch.groupBy("partition", "offset").agg(F.count(F.lit(1)).alias("times"), F.max("day").alias("day"))
    return each.groupBy("partition").agg(
        F.min("offset").alias("first"),
        F.max("offset").alias("last"),
        F.max("times").alias("times"),
        F.collect_set("day").alias("days"),
    ).collect()  # fmt: skip


def _overlapping(lake: SparkLake, spans: list[Row], days: list[str]) -> bool:
    """Whether the table has any record in these spans; Delta looks only into files of these days and offsets."""
    known = lake.read(COORDINATOR_RECORDS).where(F.col("day").isin([F.lit(day).cast("date") for day in days]))
    same = [(F.col("partition") == span.partition) & F.col("offset").between(span.first, span.last) for span in spans]
    return not known.where(reduce(or_, same)).isEmpty()
