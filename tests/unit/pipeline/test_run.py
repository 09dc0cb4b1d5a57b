"""Tests of the pipeline jobs: errors and Ctrl+C stop all Spark queries, and a run that misses partitions fails."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException

from kgtui.errors import SourceError
from kgtui.pipeline.jobs import run
from kgtui.pipeline.jobs.run import TOPIC, Sources, end_offsets
from kgtui.pipeline.jobs.streaming import await_end
from kgtui.pipeline.sources import OffsetsTopic

if TYPE_CHECKING:
    from collections.abc import Callable


class FakeQuery:
    """A fake streaming query.

    Args:
        has_ended: function that returns whether the query has ended, or raises the query's error.
        progress: progress report of the newest batch; None if there was no batch yet.
    """

    def __init__(self, has_ended: Callable[[], bool], progress: Any = None) -> None:
        self._has_ended = has_ended
        self.lastProgress = progress
        self.recentProgress = [] if progress is None else [progress]
        self.isActive = True
        self.stopped_in: list[threading.Thread] = []

    def awaitTermination(self, _: float) -> bool:
        if self._has_ended():
            self.isActive = False
            return True
        return False

    def stop(self) -> None:
        self.stopped_in.append(threading.current_thread())


def is_interrupted() -> bool:
    raise KeyboardInterrupt


def fails() -> bool:
    raise PySparkException("[STREAM_FAILED] it broke")


def fails_after(calls: int) -> Callable[[], bool]:
    """Return a function that returns False for the given number of calls, and then raises an error."""
    left = iter([False] * calls)
    return lambda: next(left, None) is None and fails()


def progress(rows: int, end_offsets: str) -> dict[str, Any]:
    """Return Spark's progress report about a batch from `__consumer_offsets`.

    Args:
        rows: number of rows in the batch.
        end_offsets: a JSON object as text: partition → offset after the last row.
    """
    source = {"numInputRows": rows, "endOffset": f'{{"__consumer_offsets": {end_offsets}}}'}
    return {"batchId": 0, "sources": [source]}


def ignore(_: object) -> None:
    """Do nothing. Tests pass this function in place of the gold job and of progress callbacks."""


def test_await_end_does_not_stop_a_spark_query_that_has_already_ended() -> None:
    query: Any = FakeQuery(lambda: True, progress(7, "{}"))
    batches: list[int] = []
    assert await_end(query, batches.append) == 7
    assert (batches, query.stopped_in) == ([1], [])


def test_keyboard_interrupt_while_waiting_stops_the_query_from_a_different_thread() -> None:
    query: Any = FakeQuery(is_interrupted)
    with pytest.raises(KeyboardInterrupt):
        await_end(query, ignore)
    assert query.stopped_in != [threading.current_thread()]
    assert len(query.stopped_in) == 1


@pytest.fixture
def replace_queries(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Any, Any]]:
    """Return a function `replace(topic, silver)`, which replaces two Spark queries of the pipeline with fake queries.

    `topic` replaces the query of the bronze job, which reads `__consumer_offsets`. `silver` replaces the query of the
    silver job, which decodes the records. The function returns both fake queries.
    """

    def replace(topic: FakeQuery, silver: FakeQuery) -> tuple[Any, Any]:
        monkeypatch.setattr(run, "_start_ingestion", lambda *_: {TOPIC: topic})
        monkeypatch.setattr("kgtui.pipeline.jobs.silver.start_decoding", lambda *_, **__: silver)
        monkeypatch.setattr("kgtui.pipeline.jobs.bronze.has_read_topic", lambda _: False)
        return topic, silver

    return replace


class FakeLake:
    """A fake lake (a set of Delta tables) in which every table exists."""

    def exists(self, _: object) -> bool:
        return True

    def query_name(self, *_: object) -> str:
        return "query"

    def delete_checkpoint(self, *_: object) -> None:
        """Do nothing, because the fake queries have no checkpoints."""


def run_continuously(sources: Sources, make_gold: Callable[[Any], object] = ignore) -> None:
    lake: Any = FakeLake()
    run.run_continuously(lake, sources, make_gold, ignore, interval=0.01)


def test_continuous_run_updates_the_gold_tables_after_every_interval(
    replace_queries: Callable[..., tuple[Any, Any]],
) -> None:
    """The fake Spark query runs during the first four intervals, and fails in the fifth."""
    replace_queries(FakeQuery(lambda: False), FakeQuery(fails_after(4)))
    updates: list[None] = []
    with pytest.raises(SourceError, match="it broke"):
        run_continuously(Sources(), lambda _: updates.append(None))
    assert len(updates) == 5


def test_continuous_run_stops_all_spark_queries_if_one_fails(
    replace_queries: Callable[..., tuple[Any, Any]],
) -> None:
    topic, silver = replace_queries(FakeQuery(lambda: False), FakeQuery(fails))
    with pytest.raises(SourceError, match=r"Spark failed: \[STREAM_FAILED\] it broke"):
        run_continuously(Sources())
    assert len(topic.stopped_in) == len(silver.stopped_in) == 1


def test_continuous_run_fails_if_it_reads_no_partition_of_the_topic(
    replace_queries: Callable[..., tuple[Any, Any]],
) -> None:
    replace_queries(FakeQuery(lambda: False, progress(0, "{}")), FakeQuery(lambda: False))
    with pytest.raises(SourceError, match=r"did not read partition 0\."):
        run_continuously(Sources(topic=OffsetsTopic(("a:1",), {0: (0, 5)})))


def test_continuous_run_compacts_the_tables_at_intervals(
    replace_queries: Callable[..., tuple[Any, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    compacted: list[object] = []
    monkeypatch.setattr(run, "compact_tables", lambda lake, _: compacted.append(lake))
    for seconds, times in ((600.0, 0), (0.0, 2)):
        monkeypatch.setattr(run, "COMPACTION_SECONDS", seconds)
        replace_queries(FakeQuery(lambda: False), FakeQuery(fails_after(2)))
        with pytest.raises(SourceError):
            run_continuously(Sources())
        assert len(compacted) == times


def test_continuous_run_starts_decoding_again_if_rows_to_decode_were_deleted(
    replace_queries: Callable[..., tuple[Any, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first silver query fails because the rows that it must decode were deleted, so kgtui starts a second query.

    The second query fails for a different reason, which ends the run.
    """

    def rows_are_gone() -> bool:
        raise PySparkException("[DELTA_LOG_FILE_NOT_FOUND_FOR_STREAMING_SOURCE] your query is lagging behind")

    replace_queries(FakeQuery(lambda: False), FakeQuery(rows_are_gone))
    queries = iter((FakeQuery(rows_are_gone), FakeQuery(fails)))
    monkeypatch.setattr("kgtui.pipeline.jobs.silver.start_decoding", lambda *_, **__: next(queries))
    with pytest.raises(SourceError, match="it broke"):
        run_continuously(Sources())
    assert next(queries, None) is None


def test_end_offsets_are_parsed_from_the_progress_report_of_spark() -> None:
    assert end_offsets(None) is None
    assert end_offsets({"sources": [{"endOffset": None}]}) is None
    assert end_offsets({"sources": [{"endOffset": '{"__consumer_offsets":{"0":5,"12":7}}'}]}) == {0: 5, 12: 7}
    assert end_offsets({"sources": [{"endOffset": {"__consumer_offsets": {"3": 1}}}]}) == {3: 1}
