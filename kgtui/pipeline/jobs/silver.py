"""From the bronze table to the silver ones."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kgtui.lake.schemas import COMMITS, COORDINATOR_RECORDS, GROUP_EVENTS, QUARANTINE, REBALANCES
from kgtui.pipeline.jobs.streams import days_of, started
from kgtui.pipeline.lake import ANEW, SparkLake
from kgtui.pipeline.transforms.group_events import with_created
from kgtui.pipeline.transforms.offset_commits import doubtful_commits, not_plain, others, plain_commits
from kgtui.pipeline.transforms.rebalances import rebalances
from kgtui.pipeline.transforms.records import PARTS, read_records, rows_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

    from kgtui.lake.schemas import Table

    Put = Callable[[SparkLake, Table, DataFrame, list[str]], None]
    """How rows, of some days, come into a table once."""

_BATCH = "512m"
"""Bytes of the bronze table that are decoded at once."""


def run(lake: SparkLake, *, every: float | None, files_at_once: int | None = None) -> StreamingQuery:
    """Decode what the bronze table has and the silver tables have not.

    Args:
        every: seconds between batches; None ends when all that is there now is done.
        files_at_once: files of the bronze table that are decoded in one batch; by default as many as fit.
    """
    limit = {"maxBytesPerTrigger": _BATCH} if files_at_once is None else {"maxFilesPerTrigger": str(files_at_once)}
    # Days that were pruned are decoded already: that they go is no reason to fail.
    records = lake.stream(COORDINATOR_RECORDS, ignoreDeletes="true", **limit)
    series = lake.series(COMMITS, "silver")
    writer = records.writeStream.foreachBatch(partial(write_batch, str(lake.folder.path), series))
    return started(writer, lake.checkpoint("silver", series), every)


def write_batch(path: str, series: str, batch: DataFrame, serial: int) -> None:
    """Decode one batch into the silver tables; the same batch again changes nothing.

    Rows are appended under the series and number of the batch, which Delta remembers; where an earlier series was
    lost, they are merged by their key.
    """
    lake, app = SparkLake(batch.sparkSession, path), f"kgtui-{series}"
    commits = batch.transform(plain_commits)
    if series.endswith(ANEW):
        _merge(lake, COMMITS, commits, days_of(batch))
        _write_rest(lake, batch.transform(not_plain), _merge)
        return
    written = lake.append(COMMITS, commits, app=app, serial=serial)
    # An earlier try may have come this far. The count takes no reading: each file tells how many rows it has.
    left = None if written is None else batch.count() - written
    if left != 0:
        done = _write_rest(lake, batch.transform(others), partial(_append, f"{app}-others", serial))
        if left is None or done < left:
            _write_rest(lake, batch.transform(doubtful_commits), partial(_append, f"{app}-doubtful", serial))


def _append(app: str, serial: int, lake: SparkLake, table: Table, rows: DataFrame, _: list[str]) -> None:
    lake.append(table, rows, app=app, serial=serial)


def _merge(lake: SparkLake, table: Table, rows: DataFrame, days: list[str]) -> None:
    lake.merge(table, rows, days=days)


def _write_rest(lake: SparkLake, records: DataFrame, put: Put) -> int:
    """Write what only Python reads: few records, of which each is decoded once. How many there were."""
    read = records.transform(read_records).persist()
    try:
        rows, days = _days(read)
        for table in (COMMITS, QUARANTINE):
            if table in days:
                put(lake, table, rows_of(read, table), days[table])
        if GROUP_EVENTS in days:
            _write_events(lake, rows_of(read, GROUP_EVENTS), days[GROUP_EVENTS], put)
    finally:
        read.unpersist()
    return rows


def _write_events(lake: SparkLake, events: DataFrame, days: list[str], put: Put) -> None:
    """Write events, and the rebalances of the groups that they are about, which take all events of these groups."""
    groups = events.select("record_partition", "group").distinct()
    before = lake.read(GROUP_EVENTS).join(groups, ["record_partition", "group"], "left_semi")
    every = before.join(events, list(GROUP_EVENTS.key), "left_anti").unionByName(events).transform(with_created)
    every = every.persist()
    try:
        put(lake, GROUP_EVENTS, every.join(events, list(GROUP_EVENTS.key), "left_semi"), days)
        lake.merge(REBALANCES, every.transform(rebalances), update=True)
    finally:
        every.unpersist()


def _days(read: DataFrame) -> tuple[int, dict[Table, list[str]]]:
    """How many rows there are; and, for each table that gets some, their days."""
    rows = 0
    found: dict[Table, list[str]] = {}
    told = [F.col(part).isNotNull().alias(part) for part in PARTS]
    for row in read.select("day", *told).groupBy("day", *PARTS).count().collect():
        rows += row["count"]
        for part, table in PARTS.items():
            if row[part]:
                found.setdefault(table, []).append(str(row.day))
    return rows, found
