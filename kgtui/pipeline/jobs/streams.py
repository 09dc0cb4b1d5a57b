"""What the streaming jobs share: how a stream is started and watched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException

from kgtui.pipeline.session import apart

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter

_LOOK = 1
_ATTEMPTS = 4
_SLOW = "Python worker failed to connect back"
"""Through Spark Connect: Spark gives a worker ten seconds to start, which a busy machine may not keep."""


def started(writer: DataStreamWriter, checkpoint: Path, every: float | None) -> StreamingQuery:
    """Start a stream that keeps how far it has come in a folder of the lake."""
    writer = writer.queryName("kgtui-" + "-".join(checkpoint.parts[-2:])).option("checkpointLocation", str(checkpoint))
    trigger = {"availableNow": True} if every is None else {"processingTime": f"{every:g} seconds"}
    writer = writer.trigger(**trigger)
    for attempt in range(_ATTEMPTS):
        try:
            return writer.start()
        except PySparkException as error:
            if _SLOW not in str(error) or attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError("the last attempt returns or raises")


def finish(query: StreamingQuery, say: Callable[[int], None]) -> int:
    """Wait for the end of a stream; how many rows its source gave, as far as Spark has counted them.

    Args:
        say: told how many batches are done, again and again.
    """
    rows: dict[int, int] = {}  # by batch
    try:
        ended = False
        while not ended:
            ended = bool(query.awaitTermination(_LOOK))
            rows |= {progress["batchId"]: _read_by(progress) for progress in query.recentProgress}
            say(len(rows))
    finally:
        stop(query)
    return sum(rows.values())


def stop(*queries: StreamingQuery) -> None:
    """End streams that have not ended by themselves."""

    def work() -> None:
        for query in queries:
            if query.isActive:
                query.stop()

    apart(work)


def _read_by(progress: Any) -> int:
    """Rows that the sources gave in a batch; the sum that PySpark tells of all of them is null."""
    return sum(source["numInputRows"] or 0 for source in progress["sources"])


def days_of(rows: DataFrame) -> list[str]:
    """The days of rows, as SQL writes them."""
    return [str(row.day) for row in rows.select("day").distinct().collect()]
