"""All jobs in order, once or for ever."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

from kgtui.lake.schemas import COORDINATOR_RECORDS
from kgtui.pipeline.jobs import bronze, silver
from kgtui.pipeline.jobs.streams import finish, stop
from kgtui.pipeline.sources import files, kafka
from kgtui.pipeline.trouble import in_words

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql.streaming.query import StreamingQuery

    from kgtui.pipeline.lake import SparkLake
    from kgtui.pipeline.sources.kafka import OffsetsTopic

    Gold = Callable[[SparkLake], object]
    """Computes what follows, if there is anything new to compute it from."""

TOPIC, FILES = "topic", "files"
_LOOK = 1


@dataclass(frozen=True, slots=True)
class Sources:
    """Where records come from; without any, what the lake has is enough.

    Attributes:
        topic: of a cluster.
        records: a folder of files.
        since: for the topic, when it is read for the first time: seconds since the epoch.
        files_at_once: files of one batch, of the folder and of the bronze table; by default as many as fit.
    """

    topic: OffsetsTopic | None = None
    records: Path | None = None
    since: float | None = None
    files_at_once: int | None = None


def once(lake: SparkLake, sources: Sources, gold: Gold, say: Callable[[str], None]) -> None:
    """Read all that is there, decode it, and compute what follows. Raises `SourceError`."""
    with in_words():
        begun_before = bronze.has_read_kafka(lake)
        for name, query in _begin(lake, sources, None).items():
            rows = finish(query, partial(_told, say, f"reading the {name}"))
            if name == TOPIC and not (begun_before and rows == 0):
                check(sources, query.lastProgress, rows)
        if lake.exists(COORDINATOR_RECORDS):
            finish(silver.run(lake, every=None, files_at_once=sources.files_at_once), partial(_told, say, "decoding"))
        gold(lake)


def watch(lake: SparkLake, sources: Sources, gold: Gold, say: Callable[[str], None], *, every: float) -> None:
    """Go on reading and decoding, and keep what follows fresh, until something fails or an interrupt comes.

    Raises `SourceError`.
    """
    running: dict[str, StreamingQuery] = {}
    with in_words():
        unchecked = sources.topic is not None and not bronze.has_read_kafka(lake)
        try:
            running |= _begin(lake, sources, every)
            if lake.exists(COORDINATOR_RECORDS):
                running["silver"] = silver.run(lake, every=every)
            say("looking for what is new")
            while True:
                begun = time.monotonic()
                gold(lake)
                say(f"up to date at {datetime.now().astimezone().isoformat(timespec='seconds')}")
                for query in running.values():  # one that has failed raises here
                    query.awaitTermination(_LOOK)
                if unchecked and (progress := running[TOPIC].lastProgress):
                    check(sources, progress, None)
                    unchecked = False
                time.sleep(max(0.0, every - (time.monotonic() - begun)))
        finally:
            stop(*running.values())


def check(sources: Sources, progress: Any, rows: int | None) -> None:
    """Make sure that the topic was seen as it is, when it was read for the first time. Raises `SourceError`.

    Args:
        progress: of the stream's newest batch; None when it had none.
        rows: records that it gave; None when that is not known.
    """
    if sources.topic is None:
        return
    seen = ends_of(progress)
    if sources.since is None:
        kafka.check_seen(sources.topic, seen or {}, rows)
    elif seen is not None:  # there may be no records since then
        kafka.check_seen(sources.topic, seen, None)


def ends_of(progress: Any) -> dict[int, int] | None:
    """Up to where the Kafka source has read; None when its last batch does not tell."""
    told = progress["sources"][0]["endOffset"] if progress else None
    if not told or told == "null":
        return None
    offsets = json.loads(told) if isinstance(told, str) else told
    return {int(partition): end for partition, end in offsets.get(kafka.TOPIC, {}).items()}


def _begin(lake: SparkLake, sources: Sources, every: float | None) -> dict[str, StreamingQuery]:
    begun = {}
    if sources.records is not None:
        folder = str(files.folder_of(sources.records))
        records = files.stream(lake.spark, folder, at_once=sources.files_at_once)
        begun[FILES] = bronze.from_files(lake, records, folder, every=every)
    if sources.topic is not None:
        records = kafka.stream(lake.spark, sources.topic, since=sources.since)
        begun[TOPIC] = bronze.from_kafka(lake, records, every=every)
    return begun


def _told(say: Callable[[str], None], what: str, batches: int) -> None:
    say(f"{what}: {batches} {'batch' if batches == 1 else 'batches'}")
