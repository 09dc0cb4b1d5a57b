"""However a run ends, its streams and its JVM end with it; an interrupted connection is not used again."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import pytest
from pyspark import SparkContext
from pyspark.errors import PySparkException

from kgtui.errors import SourceError
from kgtui.pipeline import session
from kgtui.pipeline.jobs import run
from kgtui.pipeline.jobs.run import TOPIC, Sources
from kgtui.pipeline.jobs.streaming import await_end
from kgtui.pipeline.sources import OffsetsTopic

if TYPE_CHECKING:
    from collections.abc import Callable


class Query:
    """A stream.

    Args:
        ends: what waiting for it does: returns whether it has ended, or raises.
        progress: of its newest batch.
    """

    def __init__(self, ends: Callable[[], bool], progress: Any = None) -> None:
        self._ends = ends
        self.lastProgress = progress
        self.recentProgress = [] if progress is None else [progress]
        self.isActive = True
        self.stopped_in: list[threading.Thread] = []

    def awaitTermination(self, _: float) -> bool:
        if self._ends():
            self.isActive = False
            return True
        return False

    def stop(self) -> None:
        self.stopped_in.append(threading.current_thread())


def interrupted() -> bool:
    raise KeyboardInterrupt


def fails() -> bool:
    raise PySparkException("[STREAM_FAILED] it broke")


def batch(read: int, ends: str) -> dict[str, Any]:
    return {"batchId": 0, "sources": [{"numInputRows": read, "endOffset": f'{{"__consumer_offsets": {ends}}}'}]}


def nothing(_: object) -> None:
    """Neither gold nor words are wanted here."""


def test_a_stream_that_ends_is_not_stopped() -> None:
    query: Any = Query(lambda: True, batch(7, "{}"))
    said: list[int] = []
    assert await_end(query, said.append) == 7
    assert (said, query.stopped_in) == ([1], [])


def test_an_interrupt_stops_a_stream_from_another_thread() -> None:
    query: Any = Query(interrupted)
    with pytest.raises(KeyboardInterrupt):
        await_end(query, nothing)
    assert query.stopped_in != [threading.current_thread()]
    assert len(query.stopped_in) == 1


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[Any, Any]]:
    """Puts streams of a topic and of silver in the place of Spark's; they are returned."""

    def put(topic: Query, silver: Query) -> tuple[Any, Any]:
        monkeypatch.setattr(run, "_start_ingestion", lambda *_: {TOPIC: topic})
        monkeypatch.setattr("kgtui.pipeline.jobs.silver.start_decoding", lambda *_, **__: silver)
        monkeypatch.setattr("kgtui.pipeline.jobs.bronze.has_read_topic", lambda _: False)
        return topic, silver

    return put


class Records:
    """A lake of which only that is known: it has records."""

    def exists(self, _: object) -> bool:
        return True


def watch(sources: Sources, gold: Callable[[Any], object] = nothing) -> None:
    lake: Any = Records()
    run.run_continuously(lake, sources, gold, nothing, interval=0.01)


def test_a_watch_asks_for_gold_in_each_round(watched: Callable[..., tuple[Any, Any]]) -> None:
    looks = iter((False, False, False, False))

    def ends() -> bool:
        return next(looks, None) is None and fails()

    watched(Query(lambda: False), Query(ends))
    made: list[None] = []
    with pytest.raises(SourceError, match="it broke"):
        watch(Sources(), lambda _: made.append(None))
    assert len(made) == 5


def test_a_watch_that_fails_ends_all_its_streams(watched: Callable[..., tuple[Any, Any]]) -> None:
    topic, silver = watched(Query(lambda: False), Query(fails))
    with pytest.raises(SourceError, match=r"Spark failed: \[STREAM_FAILED\] it broke"):
        watch(Sources())
    assert len(topic.stopped_in) == len(silver.stopped_in) == 1


def test_a_watch_that_sees_nothing_of_a_topic_fails(watched: Callable[..., tuple[Any, Any]]) -> None:
    watched(Query(lambda: False, batch(0, "{}")), Query(lambda: False))
    with pytest.raises(SourceError, match=r"did not see its partitions 0\."):
        watch(Sources(topic=OffsetsTopic(("a:1",), {0: (0, 5)})))


class Spark:
    """A session that cannot even be stopped."""

    def stop(self) -> None:
        raise ConnectionRefusedError


def test_the_jvm_is_gone_when_the_session_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gateway:
        proc = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)

    monkeypatch.setattr(session, "_STOP_TIMEOUT", 120.0)
    monkeypatch.setattr(SparkContext, "_gateway", Gateway())
    monkeypatch.setattr(SparkContext, "_jvm", object())
    spark: Any = Spark()
    session.stop(spark)
    assert Gateway.proc.returncode == 0
    assert SparkContext._gateway is None


def test_a_jvm_that_does_not_listen_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Gateway:
        proc = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"], stdin=subprocess.PIPE)

    monkeypatch.setattr(session, "_STOP_TIMEOUT", 0.1)
    monkeypatch.setattr(SparkContext, "_gateway", Gateway())
    spark: Any = Spark()
    session.stop(spark)
    assert Gateway.proc.returncode == -9
