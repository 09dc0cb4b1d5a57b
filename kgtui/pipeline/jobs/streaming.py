"""Start, await and stop Spark's streaming queries for the bronze and silver jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException

from kgtui.pipeline.session import call_in_thread, use_pool
from kgtui.pipeline.spark_lake import spark_uri

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

    from kgtui.pipeline.spark_lake import SparkLake

_AWAIT_SECONDS = 1
_START_ATTEMPTS = 8
_WORKER_TIMED_OUT = "Python worker failed to connect back"
"""Text in Spark Connect's error if one of its Python workers does not start within ten seconds.

The error occurs, for example, on a busy machine.
"""


def start_query(
    lake: SparkLake, writer: DataStreamWriter, layer: str, name: str, interval: float | None
) -> StreamingQuery:
    """Start a streaming query.

    If Spark's Python worker does not start in time, try again. There are at most `_START_ATTEMPTS`
    attempts.

    Args:
        writer: the query to start. This function sets its name, checkpoint and trigger.
        layer: layer of the table that the query writes, such as `bronze`. The query runs in a
            scheduler pool with the name of the layer.
        name: name of the query in this layer. The checkpoint folder of the query has the same name.
        interval: seconds between two batches; None to read everything that exists now, and then
            stop.
    """
    use_pool(lake.spark, layer)
    writer = writer.queryName(f"kgtui-{layer}-{name}")
    writer = writer.option("checkpointLocation", spark_uri(lake.checkpoint(layer, name)))
    trigger = {"availableNow": True} if interval is None else {"processingTime": f"{interval:g} seconds"}
    writer = writer.trigger(**trigger)
    for attempt in range(_START_ATTEMPTS):
        try:
            return writer.start()
        except PySparkException as error:
            if _WORKER_TIMED_OUT not in str(error) or attempt == _START_ATTEMPTS - 1:
                raise
    raise AssertionError("this line is never reached, because the last attempt returns or raises")


def await_end(query: StreamingQuery, on_progress: Callable[[int], None]) -> int:
    """Wait until a query has stopped, and return the number of rows that it has read.

    Args:
        on_progress: called every second with the number of finished batches.
    """
    rows: dict[int, int] = {}  # batch id → number of rows that the batch has read
    try:
        ended = False
        while not ended:
            ended = bool(query.awaitTermination(_AWAIT_SECONDS))
            rows |= {progress["batchId"]: _rows_read(progress) for progress in query.recentProgress}
            on_progress(len(rows))
    finally:
        stop(query)
    return sum(rows.values())


def stop(*queries: StreamingQuery) -> None:
    """Stop the queries that are still active. Wait at most 10 seconds, and ignore errors."""

    def stop_active() -> None:
        for query in queries:
            if query.isActive:
                query.stop()

    call_in_thread(stop_active)


def _rows_read(progress: Any) -> int:
    """Return the number of rows that a batch has read from all its sources.

    Args:
        progress: Spark's report on the batch.
    """
    # In PySpark, the field `numInputRows` with the total is null. Therefore, add up the rows of all
    # sources.
    return sum(source["numInputRows"] or 0 for source in progress["sources"])


def days_of(rows: DataFrame) -> list[str]:
    """Return the distinct values of the column `day` in `rows`, as ISO dates."""
    return [str(row.day) for row in rows.select("day").distinct().collect()]
