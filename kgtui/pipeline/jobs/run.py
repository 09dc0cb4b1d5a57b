"""Run the jobs of the pipeline in order (bronze, silver, gold), once or continuously.

The bronze job copies records of `__consumer_offsets`, the silver job decodes them, and the gold job
computes results, such as the lag and the health of each group.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException

from kgtui.lake.schemas import COORDINATOR_RECORDS
from kgtui.model.number_format import counted
from kgtui.pipeline import sources as record_sources
from kgtui.pipeline.jobs import bronze, silver
from kgtui.pipeline.jobs.streaming import await_end, stop
from kgtui.pipeline.jobs.table_maintenance import compact_tables
from kgtui.pipeline.spark_errors import translated_spark_errors

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql.streaming.query import StreamingQuery

    from kgtui.pipeline.sources import OffsetsTopic
    from kgtui.pipeline.spark_lake import SparkLake

    MakeGold = Callable[[SparkLake], object]
    """Function that recomputes the gold tables of a lake, from the first new input row on."""

TOPIC, FILES, DECODING = "topic", "files", "silver"
"""Short names of the streaming queries, for dicts and messages. Spark uses longer names.

The queries `TOPIC` and `FILES` copy records from a topic or from files to the bronze table. The
query `DECODING` decodes the records of the bronze table, and writes the silver tables.
"""

COMPACTION_SECONDS = 600.0
"""In a continuous run, minimum time between two compactions of all tables, in seconds."""

_AWAIT_SECONDS = 1


@dataclass(frozen=True, slots=True)
class Sources:
    """Where to read records of `__consumer_offsets` for the bronze table.

    If neither a topic nor a folder is given, only data that is already in the lake is processed.

    Attributes:
        topic: `__consumer_offsets` of a cluster; None to read no topic.
        records: folder of Parquet files with records; None to read no files.
        since: when the topic is first read, records before this time are skipped, in seconds since
            the epoch; None to read all records.
        max_files: maximum number of Parquet files per batch. In `run_once`, this is also the
            maximum number of files of the bronze table that are decoded per batch. None for any
            number of Parquet files per batch, and about 512 MB of files of the bronze table.
    """

    topic: OffsetsTopic | None = None
    records: Path | None = None
    since: float | None = None
    max_files: int | None = None


def run_once(lake: SparkLake, sources: Sources, make_gold: MakeGold, on_progress: Callable[[str], None]) -> None:
    """Read and decode all new records of `__consumer_offsets` once, then recompute the gold tables.

    Raises:
        SourceError: a query failed, or Spark has not read all partitions of the topic.
    """
    with translated_spark_errors():
        read_before = bronze.has_read_topic(lake)
        for name, query in _start_ingestion(lake, sources, None).items():
            rows = await_end(query, partial(_report_batches, on_progress, f"reading the {name}"))
            if name == TOPIC and not (read_before and rows == 0):
                check_first_read(sources, query.lastProgress, rows)
        if lake.exists(COORDINATOR_RECORDS):
            report = partial(_report_batches, on_progress, "decoding")
            try:
                await_end(silver.start_decoding(lake, interval=None, max_files=sources.max_files), report)
            except PySparkException as error:
                query = silver.restart_if_rows_are_gone(
                    lake, error, on_progress, interval=None, max_files=sources.max_files
                )
                await_end(query, report)
        make_gold(lake)


def run_continuously(
    lake: SparkLake, sources: Sources, make_gold: MakeGold, on_progress: Callable[[str], None], *, interval: float
) -> None:
    """Update all tables of a lake every `interval` seconds, until the user presses Ctrl-C.

    Each update reads and decodes new records of `__consumer_offsets`, and recomputes the gold
    tables.

    Raises:
        SourceError: a query failed, or Spark has not read all partitions of the topic.
    """
    running: dict[str, StreamingQuery] = {}
    with translated_spark_errors():
        unchecked = sources.topic is not None and not bronze.has_read_topic(lake)
        try:
            running |= _start_ingestion(lake, sources, interval)
            if lake.exists(COORDINATOR_RECORDS):
                running[DECODING] = silver.start_decoding(lake, interval=interval)
            compacted = time.monotonic()
            on_progress("waiting for new records and polls")
            while True:
                started = time.monotonic()
                make_gold(lake)
                on_progress(f"all tables are up to date ({datetime.now().astimezone().isoformat(timespec='seconds')})")
                for name, query in running.items():
                    try:
                        # If the query has failed, this call raises its error.
                        query.awaitTermination(_AWAIT_SECONDS)
                    except PySparkException as error:
                        if name != DECODING:
                            raise
                        running[name] = silver.restart_if_rows_are_gone(lake, error, on_progress, interval=interval)
                if time.monotonic() - compacted >= COMPACTION_SECONDS:
                    compact_tables(lake, on_progress)
                    compacted = time.monotonic()
                if unchecked and (progress := running[TOPIC].lastProgress):
                    check_first_read(sources, progress, None)
                    unchecked = False
                time.sleep(max(0.0, interval - (time.monotonic() - started)))
        finally:
            stop(*running.values())


def check_first_read(sources: Sources, progress: Any, rows: int | None) -> None:
    """Check that the first read of the topic has read all partitions. Raises `SourceError` if not.

    Args:
        progress: Spark's report on the newest batch; None if there was no batch.
        rows: number of records that were read; None if unknown.
    """
    if sources.topic is None:
        return
    read_up_to = end_offsets(progress)
    if sources.since is None:
        record_sources.check_read_complete(sources.topic, read_up_to or {}, rows)
    elif read_up_to is not None:
        # The topic may have no records after `since`. The check would then fail if it knew that no
        # record was read. Therefore, do not pass `rows`.
        record_sources.check_read_complete(sources.topic, read_up_to, None)


def end_offsets(progress: Any) -> dict[int, int] | None:
    """Return a dict: partition of the topic → offset at which the next batch will begin.

    The result is None if the report has no offsets.

    Args:
        progress: Spark's report on the newest batch; None if there was no batch.
    """
    reported = progress["sources"][0]["endOffset"] if progress else None
    if not reported or reported == "null":
        return None
    offsets = json.loads(reported) if isinstance(reported, str) else reported
    return {int(partition): end for partition, end in offsets.get(record_sources.TOPIC, {}).items()}


def _start_ingestion(lake: SparkLake, sources: Sources, interval: float | None) -> dict[str, StreamingQuery]:
    started = {}
    if sources.records is not None:
        folder = str(record_sources.records_folder(sources.records))
        records = record_sources.stream_files(lake.spark, folder, max_files=sources.max_files)
        started[FILES] = bronze.ingest_files(lake, records, folder, interval=interval)
    if sources.topic is not None:
        records = record_sources.stream_topic(lake.spark, sources.topic, since=sources.since)
        started[TOPIC] = bronze.ingest_topic(lake, records, interval=interval)
    return started


def _report_batches(on_progress: Callable[[str], None], step: str, batches: int) -> None:
    on_progress(f"{step}: {counted(batches, 'batch', 'batches')}")
