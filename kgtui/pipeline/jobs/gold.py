"""From recorded and silver tables to the gold ones: the days that may have changed are made anew as a whole."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kgtui.lake.schemas import (
    BASELINE,
    CHURN,
    CLEANUP,
    COMMITS,
    FAULTS,
    FORECAST,
    GROUP_EVENTS,
    GROUPS,
    HEALTH,
    LAG,
    MEMBERS,
    PARTITIONS,
    POLLS,
    REBALANCES,
)
from kgtui.pipeline.transforms.activity import read_activity, recorded_activity
from kgtui.pipeline.transforms.baseline import WEEKS, baseline
from kgtui.pipeline.transforms.churn import churn
from kgtui.pipeline.transforms.cleanup import OFFSETS_RETENTION, cleanup
from kgtui.pipeline.transforms.forecast import forecast
from kgtui.pipeline.transforms.health import WINDOW, health
from kgtui.pipeline.transforms.lag import lag
from kgtui.pipeline.transforms.recorded import timeline
from kgtui.pipeline.transforms.recorded_churn import recorded_churn

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import date

    from pyspark.sql import DataFrame

    from kgtui.lake.schemas import Table
    from kgtui.pipeline.lake import SparkLake

_BEFORE = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class GoldOptions:
    """Settings.

    Attributes:
        window: seconds from one verdict to the next.
        offsets_retention: the brokers' `offsets.retention.minutes`, in seconds.
        topics: topic → seconds for which it keeps a record, of those whose retention is known and limited.
        look_back: days in which it is searched when an unused group last did something.
    """

    window: int = WINDOW
    offsets_retention: int = OFFSETS_RETENTION
    topics: Mapping[str, float] = field(default_factory=dict)
    look_back: int = 8


_DEFAULT = GoldOptions()


def gold(
    lake: SparkLake,
    days: Sequence[date],
    *,
    options: GoldOptions = _DEFAULT,
    say: Callable[[str], None] | None = None,
) -> None:
    """Make the gold tables of some days. The same days again give the same rows.

    Args:
        days: in order; all that have anything, from the first of them on.
        say: told which table is being made.
    """
    if not days:
        return
    first, write = days[0], partial(_write, lake, days, say)
    times = timeline(_from(lake.read(POLLS), first, _BEFORE)).localCheckpoint()
    # The timeline tells which of their polls came to be.
    partitions = _from(lake.read(PARTITIONS), first, _BEFORE)
    # Small beside those, and looked into again and again: each time Delta would first search for the files.
    small = groups, members, faults = [
        _from(lake.read(table), first, _BEFORE).persist() for table in (GROUPS, MEMBERS, FAULTS)
    ]
    write(LAG, lag(times, groups, partitions, faults, since=first))
    minutes = _from(lake.read(LAG), first, _BEFORE)
    commits, before = _from(lake.read(COMMITS), first, _BEFORE), _from(lake.read(HEALTH), first, _BEFORE)
    known, before = commits if lake.written(COMMITS) else None, before.filter(F.col("day") < F.lit(first))
    verdicts = partial(health, commits=known, before=before, since=first, seconds=options.window)
    write(HEALTH, verdicts(times, groups, partitions, faults))
    seen = recorded_churn(times, groups, members, partitions)
    write(CHURN, churn(times, seen, _from(lake.read(REBALANCES), first), minutes, since=first))
    write(CLEANUP, _cleanup(lake, first, options))
    write(FORECAST, forecast(minutes, retention=_retention(lake, options), since=first))
    past = _from(lake.read(BASELINE), first, timedelta(weeks=WEEKS))
    write(BASELINE, baseline(minutes, before=past, since=first))  # the last: it tells which days are done
    for rows in small:
        rows.unpersist()


def _write(
    lake: SparkLake, days: Sequence[date], say: Callable[[str], None] | None, table: Table, rows: DataFrame
) -> None:
    """Put days in the place of what was there of them; rows of a group lie together, so that it is found fast."""
    if say is not None:
        say(f"making gold/{table.name} of {days[0]}" + (f" to {days[-1]}" if len(days) > 1 else ""))
    rows = rows.repartition("group") if "group" in table.names else rows
    lake.overwrite(table, rows.sortWithinPartitions(*table.key), days=[day.isoformat() for day in days])


def _cleanup(lake: SparkLake, first: date, options: GoldOptions) -> DataFrame:
    back = timedelta(days=options.look_back)
    times = timeline(_from(lake.read(POLLS), first, back)).localCheckpoint()
    groups, partitions = (_from(lake.read(table), first, back) for table in (GROUPS, PARTITIONS))
    # A row a group and day, used several times.
    seen = recorded_activity(times, groups, partitions, since=first).localCheckpoint()
    commits, events = lake.read(COMMITS), lake.read(GROUP_EVENTS)
    known = commits.select("day", "record_time").unionByName(events.select("day", "record_time"))
    known = known.groupBy("day").agg(F.max(F.unix_millis("record_time")).alias("at"))
    polled = times.groupBy(F.to_date(F.timestamp_millis("poll")).alias("day")).agg(F.max("poll").alias("at"))
    ends = known.unionByName(polled).filter(F.col("day") >= F.lit(first)).groupBy("day").agg(F.max("at").alias("at"))
    read = read_activity(commits, events, ends.localCheckpoint()).localCheckpoint()
    return cleanup(seen, read, since=first, offsets_retention=options.offsets_retention)


def _retention(lake: SparkLake, options: GoldOptions) -> DataFrame | None:
    if not options.topics:
        return None
    return lake.spark.createDataFrame(list(options.topics.items()), "topic string, retention_seconds double")


def _from(rows: DataFrame, first: date, back: timedelta = timedelta(0)) -> DataFrame:
    """Rows of the days from `first`, and of some before."""
    return rows.filter(F.col("day") >= F.lit(first - back))
