"""The gold job: recompute the gold tables for the days whose recorded or silver rows have changed.

To add a gold table, define it and add it to `GOLD` in `kgtui/lake/schemas/gold.py`, write its transform in
`transforms`, and add the function that computes its rows to `BUILDERS`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kgtui.lake.schemas import (
    COMMITS,
    FAULTS,
    GROUP_EVENTS,
    GROUPS,
    MEMBERS,
    PARTITIONS,
    POLLS,
    REBALANCES,
)
from kgtui.lake.schemas.gold import BASELINE, CHURN, CLEANUP, FORECAST, GOLD, HEALTH, LAG
from kgtui.pipeline.spark_errors import SPARK_ERRORS
from kgtui.pipeline.transforms.baseline import WEEKS, baseline
from kgtui.pipeline.transforms.churn import churn, recorded_churn
from kgtui.pipeline.transforms.cleanup import OFFSETS_RETENTION, cleanup, decoded_activity, recorded_activity
from kgtui.pipeline.transforms.forecast import forecast
from kgtui.pipeline.transforms.health import WINDOW_SECONDS, health
from kgtui.pipeline.transforms.lag import lag
from kgtui.pipeline.transforms.recorded_state import poll_timeline

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from datetime import date

    from pyspark.sql import DataFrame

    from kgtui.lake.schemas import Table
    from kgtui.pipeline.spark_lake import SparkLake

_DAY_BEFORE = timedelta(days=1)

_ATTEMPTS = 4
"""How many times the computation of a table is tried while executors are lost; Spark tries tasks as many times."""

_LOST_CHECKPOINT = "Checkpoint block"
"""Part of the error that Spark reports if an executor is lost together with a part of a local checkpoint."""


@dataclass(frozen=True, slots=True)
class GoldOptions:
    """Settings for computing the gold tables.

    Attributes:
        window: length of the time windows of gold `health`, in seconds. Each group gets one health verdict per window.
        offsets_retention: the brokers' `offsets.retention.minutes`, in seconds.
        topics: topic → its retention time in seconds. Topics whose retention is unknown or unlimited are left out.
        look_back: how far back the last activity of a group is searched for table `cleanup`, in days before the first
            recomputed day.
    """

    window: int = WINDOW_SECONDS
    offsets_retention: int = OFFSETS_RETENTION
    topics: Mapping[str, float] = field(default_factory=dict)
    look_back: int = 8


_DEFAULT = GoldOptions()


class GoldInputs:
    """Tables from which the gold tables are computed. Each table is read when it is first used.

    Each property has rows from one day before the first recomputed day on, because the state at midnight depends on the
    day before.

    Args:
        first: the first day that is recomputed.
    """

    def __init__(self, lake: SparkLake, first: date, options: GoldOptions) -> None:
        self.lake, self.first, self.options = lake, first, options
        self._persisted: list[DataFrame] = []

    def rows(self, table: Table, before: timedelta = timedelta(0)) -> DataFrame:
        """Return the rows of a table, beginning on the day that is `before` earlier than the first recomputed day."""
        return self.lake.read(table).filter(F.col("day") >= F.lit(self.first - before))

    @cached_property
    def timeline(self) -> DataFrame:
        """One row per poll, with its keyframe and the gaps around it (see `poll_timeline`).

        The rows are checkpointed, because nearly every gold table is computed from them.
        """
        return poll_timeline(self.rows(POLLS, _DAY_BEFORE)).localCheckpoint()

    @cached_property
    def partitions(self) -> DataFrame:
        """Rows of the recorded table `partitions`."""
        return self.rows(PARTITIONS, _DAY_BEFORE)

    @cached_property
    def groups(self) -> DataFrame:
        """Rows of the recorded table `groups`, kept in memory."""
        return self._persist(GROUPS)

    @cached_property
    def members(self) -> DataFrame:
        """Rows of the recorded table `members`, kept in memory."""
        return self._persist(MEMBERS)

    @cached_property
    def faults(self) -> DataFrame:
        """Rows of the recorded table `faults`, kept in memory."""
        return self._persist(FAULTS)

    @cached_property
    def lag(self) -> DataFrame:
        """Rows of gold `lag`. This table is the first one in `GOLD`, so that other tables read its recomputed rows."""
        return self.rows(LAG, _DAY_BEFORE)

    @cached_property
    def commits(self) -> DataFrame | None:
        """Rows of silver `commits`; None if no offset commit has ever been decoded."""
        return self.rows(COMMITS, _DAY_BEFORE) if self.lake.was_written(COMMITS) else None

    @property
    def retention(self) -> DataFrame | None:
        """Rows with the columns topic and retention_seconds, or None if no topic has a known and limited retention."""
        if not self.options.topics:
            return None
        topics = list(self.options.topics.items())
        return self.lake.spark.createDataFrame(topics, "topic string, retention_seconds double")

    def release(self) -> None:
        """Free the memory of the persisted tables."""
        for rows in self._persisted:
            rows.unpersist()

    def _persist(self, table: Table) -> DataFrame:
        """Keep a small table in memory. Otherwise, Delta Lake would search for the table's files at each use."""
        rows = self.rows(table, _DAY_BEFORE).persist()
        self._persisted.append(rows)
        return rows


def _lag(inputs: GoldInputs) -> DataFrame:
    return lag(inputs.timeline, inputs.groups, inputs.partitions, inputs.faults, since=inputs.first)


def _health(inputs: GoldInputs) -> DataFrame:
    before = inputs.rows(HEALTH, _DAY_BEFORE).filter(F.col("day") < F.lit(inputs.first))
    return health(
        inputs.timeline,
        inputs.groups,
        inputs.partitions,
        inputs.faults,
        commits=inputs.commits,
        lag=inputs.lag,
        before=before,
        since=inputs.first,
        seconds=inputs.options.window,
    )


def _churn(inputs: GoldInputs) -> DataFrame:
    recorded = recorded_churn(inputs.timeline, inputs.groups, inputs.members, inputs.partitions)
    rebalances = inputs.rows(REBALANCES, _DAY_BEFORE)
    return churn(inputs.timeline, recorded, rebalances, inputs.lag, since=inputs.first)


def _cleanup(inputs: GoldInputs) -> DataFrame:
    lake, first, look_back = inputs.lake, inputs.first, timedelta(days=inputs.options.look_back)
    timeline = poll_timeline(inputs.rows(POLLS, look_back)).localCheckpoint()
    groups, partitions = inputs.rows(GROUPS, look_back), inputs.rows(PARTITIONS, look_back)
    # `recorded` and `decoded` are checkpointed, because `cleanup` reads each of them several times. Both are small:
    # they have one row per group and day.
    recorded = recorded_activity(timeline, groups, partitions, since=first).localCheckpoint()
    commits, events = lake.read(COMMITS), lake.read(GROUP_EVENTS)
    times = commits.select("day", "record_time").unionByName(events.select("day", "record_time"))
    decoded_until = times.groupBy("day").agg(F.max(F.unix_millis("record_time")).alias("at"))
    polled_until = timeline.groupBy(F.to_date(F.timestamp_millis("poll")).alias("day")).agg(F.max("poll").alias("at"))
    ends = decoded_until.unionByName(polled_until).filter(F.col("day") >= F.lit(first))
    ends = ends.groupBy("day").agg(F.max("at").alias("at"))
    decoded = decoded_activity(commits, events, ends.localCheckpoint()).localCheckpoint()
    return cleanup(recorded, decoded, since=first, offsets_retention=inputs.options.offsets_retention)


def _forecast(inputs: GoldInputs) -> DataFrame:
    return forecast(inputs.lag, retention=inputs.retention, since=inputs.first)


def _baseline(inputs: GoldInputs) -> DataFrame:
    return baseline(inputs.lag, before=inputs.rows(BASELINE, timedelta(weeks=WEEKS)), since=inputs.first)


BUILDERS: dict[Table, Callable[[GoldInputs], DataFrame]] = {
    LAG: _lag,
    HEALTH: _health,
    CHURN: _churn,
    CLEANUP: _cleanup,
    FORECAST: _forecast,
    BASELINE: _baseline,
}
"""Gold table → function that computes its rows from the inputs. The tables are written in the order of `GOLD`."""


def gold(
    lake: SparkLake,
    days: Sequence[date],
    *,
    options: GoldOptions = _DEFAULT,
    on_progress: Callable[[str], None] | None = None,
) -> None:
    """Recompute all gold tables for the given days. A second call with the same inputs writes the same rows.

    Args:
        days: days in ascending order. The rows of a day depend on the days before it. If a day is recomputed, all later
            days that have data must be recomputed too.
        on_progress: called with a text before each table is computed.
    """
    if not days:
        return
    inputs = GoldInputs(lake, days[0], options)
    for table in GOLD:
        for attempt in range(_ATTEMPTS):
            try:
                _write(lake, days, on_progress, table, BUILDERS[table](inputs))
                break
            except SPARK_ERRORS as error:
                if _LOST_CHECKPOINT not in str(error) or attempt == _ATTEMPTS - 1:
                    raise
                # The checkpoints in `inputs` are incomplete, so they are computed again.
                inputs.release()
                inputs = GoldInputs(lake, days[0], options)
    inputs.release()


def _write(
    lake: SparkLake, days: Sequence[date], on_progress: Callable[[str], None] | None, table: Table, rows: DataFrame
) -> None:
    """Replace the rows of `days` in a gold table.

    All rows of a group are written into the same file, so that a query about one group reads few files.
    """
    if on_progress is not None:
        span = f"{days[0]} to {days[-1]}" if len(days) > 1 else f"{days[0]}"
        on_progress(f"computing gold/{table.name} for {span}")
    rows = rows.repartition("group") if "group" in table.names else rows
    lake.overwrite(table, rows.sortWithinPartitions(*table.key), days=[day.isoformat() for day in days])
