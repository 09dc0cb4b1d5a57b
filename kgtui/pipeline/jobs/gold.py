"""The gold job: recompute the gold rows whose times are not before the earliest new recorded or silver row.

To add a gold table, define it and add it to `GOLD` in `kgtui/lake/schemas/gold.py`, write its transform in
`transforms`, and add the function that computes its rows to `BUILDERS`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from datetime import date, timedelta
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
from kgtui.lake.schemas.gold import (
    BASELINE,
    CHURN,
    CLEANUP,
    FORECAST,
    FORECAST_STATE,
    GOLD_STATE,
    HEALTH,
    HEALTH_STATE,
    LAG,
)
from kgtui.model.burrow import DEFAULTS
from kgtui.model.rfc3339 import rfc3339, utc_datetime
from kgtui.pipeline.spark_errors import SPARK_ERRORS
from kgtui.pipeline.transforms.baseline import WEEKS, baseline
from kgtui.pipeline.transforms.churn import churn, recorded_churn
from kgtui.pipeline.transforms.cleanup import (
    OFFSETS_RETENTION,
    cleanup,
    decoded_activity,
    groups_without_members,
    recorded_activity,
)
from kgtui.pipeline.transforms.commit_windows import first_poll_of_windows
from kgtui.pipeline.transforms.forecast import HOUR, forecast, forecast_state, hourly_lag
from kgtui.pipeline.transforms.health import WINDOW_SECONDS, commit_windows, health
from kgtui.pipeline.transforms.health_state import read_state, state_rows
from kgtui.pipeline.transforms.lag import MINUTE, lag
from kgtui.pipeline.transforms.recorded_state import (
    day_start,
    first_keyframe,
    is_since,
    poll_timeline,
    time_slots,
    with_hour_ends,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame

    from kgtui.lake.schemas import Table
    from kgtui.pipeline.spark_lake import SparkLake
    from kgtui.pipeline.transforms.health_state import Carried

_DAY_BEFORE = timedelta(days=1)

_ATTEMPTS = 4
"""Maximum number of attempts to compute a table if executors are lost. Spark has the same maximum for its tasks."""

_GROUPS_PER_FILE = 5_000
"""Number of groups whose rows of one hour are written into one file of gold `lag`, which then has about 30 MB."""

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
        last: the last day of source rows. Later rows are left out.
    """

    window: int = WINDOW_SECONDS
    offsets_retention: int = OFFSETS_RETENTION
    topics: Mapping[str, float] = field(default_factory=dict)
    look_back: int = 8
    last: date = date.max


_DEFAULT = GoldOptions()


class GoldInputs:
    """Tables from which the gold tables are computed. Each table is read when it is first used.

    The tables have rows from one day before the first recomputed day on, because rows depend on earlier rows. Tables
    that are kept in memory begin later, with `first_keyframe`. Rows of days after `options.last` are left out.

    Args:
        since: time from which the tables are recomputed, in milliseconds since the epoch.
    """

    def __init__(self, lake: SparkLake, since: int, options: GoldOptions) -> None:
        self.lake, self.since, self.options = lake, since, options
        self.first = utc_datetime(since / 1000).date()
        self._persisted: list[DataFrame] = []

    def rows(self, table: Table, before: timedelta = timedelta(0)) -> DataFrame:
        """Return the rows of a table from the first recomputed day onwards, and of the days up to `before` earlier."""
        return self.all_rows(table).filter(F.col("day") >= F.lit(self.first - before))

    def all_rows(self, table: Table) -> DataFrame:
        """Return the rows of all days until `options.last`."""
        return self.lake.read(table).filter(F.col("day") <= F.lit(self.options.last))

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
    def first_keyframe(self) -> int:
        """The keyframe of the last poll before the first recomputed hour, in milliseconds since the epoch."""
        return first_keyframe(self.timeline, self.since_slot(CHURN))

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

    @cached_property
    def newest(self) -> tuple[int, int]:
        """Time of the newest poll in milliseconds since the epoch, and the largest number of groups that polls listed.

        Without polls, both are 0.
        """
        polls = self.rows(POLLS).agg(F.max("poll").alias("poll"), F.max("groups").alias("groups"))
        row = polls.collect()[0]
        return row["poll"] or 0, row["groups"] or 0

    @property
    def retention(self) -> DataFrame | None:
        """Rows with the columns topic and retention_seconds, or None if no topic has a known and limited retention."""
        if not self.options.topics:
            return None
        topics = list(self.options.topics.items())
        return self.lake.spark.createDataFrame(topics, "topic string, retention_seconds double")

    @property
    def has_complete_hour(self) -> bool:
        """Whether an hour with recomputed rows is complete, so that the tables in `GOLD_STATE` have new rows."""
        hour = HOUR * 1000
        return self.newest[0] // hour > self.since_slot(HEALTH) // hour

    @cached_property
    def health_times(self) -> DataFrame:
        """Time slots of gold `health`. They are checkpointed, because they are small and used often."""
        times = time_slots(self.timeline, self.options.window, self.since_slot(HEALTH))
        return times.transform(with_hour_ends).localCheckpoint()

    @cached_property
    def health_start(self) -> tuple[int, int, int]:
        """Times from which sources of gold `health` are needed, in milliseconds since the epoch.

        These are the first keyframe of `health_times`, the last poll of the slot before them, and the first poll whose
        log end offsets are used. If there is no such poll, the time is 0.
        """
        first = self.health_times.agg(
            F.min("keyframe").alias("keyframe"),
            F.min("at_before").alias("at_before"),
            first_poll_of_windows(DEFAULTS).alias("first"),
        )
        poll = F.max(F.when(F.col("number") <= F.col("first"), F.col("poll"))).alias("poll")
        names = ("keyframe", "at_before")
        polls = self.timeline.select("number", "poll").join(F.broadcast(first))
        row = polls.agg(*(F.max(name).alias(name) for name in names), poll).collect()[0]
        return row["keyframe"] or 0, row["at_before"] or 0, row["poll"] or 0

    @cached_property
    def health_windows(self) -> DataFrame:
        """Windows from which gold `health` is computed, with the states for gold `health_state`."""
        return commit_windows(
            self.timeline, self.partitions, self.health_times, commits=self.commits, carried=self._carried()
        )

    @cached_property
    def hourly_lag(self) -> DataFrame:
        """Rows of gold `lag`, aggregated by hour for gold `forecast` and `forecast_state`, which both read them."""
        since = self.since_slot(FORECAST)
        state = self.rows(FORECAST_STATE, _DAY_BEFORE) if self.lake.exists(FORECAST_STATE) else None
        return hourly_lag(self.lag, since, state).localCheckpoint()

    def _carried(self) -> Carried | None:
        """Return the newest state of gold `health_state` that can replace earlier polls; None if there is none."""
        _, _, first = self.health_start
        if not first or not self.lake.exists(HEALTH_STATE):
            return None
        states = self.rows(HEALTH_STATE, _DAY_BEFORE)
        earlier = states.filter(~is_since("at", min(first + 1, self.since_slot(HEALTH))))
        at = earlier.agg(F.unix_millis(F.max("at")).alias("at")).collect()[0]["at"]
        return None if at is None else read_state(states, at)

    def release(self) -> None:
        """Free the memory of the persisted tables."""
        for rows in self._persisted:
            rows.unpersist()

    def _persist(self, table: Table) -> DataFrame:
        """Keep a small table in memory. Otherwise, Delta Lake would search for the table's files at each use.

        The table begins with the keyframe from which the state before the first recomputed hour is known.
        """
        rows = self.rows(table, _DAY_BEFORE).filter(F.col("keyframe") >= self.first_keyframe).persist()
        self._persisted.append(rows)
        return rows

    def since_slot(self, table: Table) -> int:
        """Return the time from which a table is recomputed: the beginning of the first time slot that has changed."""
        seconds = self.options.window if table in (HEALTH, HEALTH_STATE) else _SLOTS[table].seconds
        since = max(self.since - _SLOTS[table].before * 1000, day_start(self.first))
        return since - since % (seconds * 1000)


@dataclass(frozen=True, slots=True)
class _Slots:
    """The time slots of a gold table.

    Attributes:
        column: column with the beginning of the slot of a row.
        seconds: length of a slot. Slots begin at midnight UTC.
        before: a new source row also changes the gold rows up to this many seconds earlier on the same day.
    """

    column: str
    seconds: int
    before: int = 0


_SLOTS = {
    LAG: _Slots("minute", MINUTE),
    HEALTH: _Slots("window_start", WINDOW_SECONDS),
    HEALTH_STATE: _Slots("at", WINDOW_SECONDS),
    CHURN: _Slots("hour", HOUR),
    CLEANUP: _Slots("day", 24 * HOUR),
    # Some columns have values only in the last two hours of a day. If there is a new last hour, the hour that is no
    # longer one of these two is recomputed without the values.
    FORECAST: _Slots("hour", HOUR, before=HOUR),
    FORECAST_STATE: _Slots("hour", HOUR),
    BASELINE: _Slots("hour", HOUR),
}


def _lag(inputs: GoldInputs) -> DataFrame:
    return lag(inputs.timeline, inputs.groups, inputs.partitions, inputs.faults, since=inputs.since_slot(LAG))


def _health(inputs: GoldInputs) -> DataFrame:
    since, (keyframe, at_before, _) = inputs.since_slot(HEALTH), inputs.health_start
    # The newest rows before `since` are those of the last poll of the slot before it.
    before = inputs.rows(HEALTH, _DAY_BEFORE).filter(~is_since("window_start", since))
    return health(
        inputs.timeline,
        inputs.groups.filter(F.col("keyframe") >= keyframe),
        inputs.partitions,
        inputs.faults.filter(F.col("keyframe") >= keyframe),
        lag=inputs.lag,
        before=before.filter(is_since("covered_to", at_before)),
        since=since,
        seconds=inputs.options.window,
        times=inputs.health_times,
        windows=inputs.health_windows,
    )


def _health_state(inputs: GoldInputs) -> DataFrame:
    return state_rows(inputs.health_windows).filter(is_since("at", inputs.since_slot(HEALTH_STATE)))


def _churn(inputs: GoldInputs) -> DataFrame:
    since = inputs.since_slot(CHURN)
    recorded = recorded_churn(inputs.timeline, inputs.groups, inputs.members, inputs.partitions, since=since)
    # Rows of the hour before suffice: a burst of rebalances that began earlier has a rebalance in that hour, too.
    in_hour_before = ~is_since("hour", since) & is_since("hour", since - HOUR * 1000)
    return churn(
        inputs.timeline,
        recorded,
        inputs.rows(REBALANCES).filter(is_since("start", since)),
        inputs.rows(LAG).filter(is_since("minute", since)),
        before=inputs.rows(CHURN, _DAY_BEFORE).filter(in_hour_before),
        since=since,
    )


def _cleanup(inputs: GoldInputs) -> DataFrame:
    first, look_back = inputs.first, timedelta(days=inputs.options.look_back)
    timeline = poll_timeline(inputs.rows(POLLS, look_back)).localCheckpoint()
    groups, partitions = inputs.rows(GROUPS, look_back), inputs.rows(PARTITIONS, look_back)
    # On days with polls, only groups without members can be unused. Therefore, only their history is read.
    asked = groups_without_members(timeline, groups, since=first).localCheckpoint()
    partitions = partitions.join(F.broadcast(asked), "group", "left_semi")
    # `recorded` and `decoded` are checkpointed, because `cleanup` reads each of them several times. Both are small:
    # they have one row per group and day.
    recorded = recorded_activity(timeline, groups, partitions, since=first).localCheckpoint()
    commits, events = inputs.all_rows(COMMITS), inputs.all_rows(GROUP_EVENTS)
    times = commits.select("day", "record_time").unionByName(events.select("day", "record_time"))
    decoded_until = times.groupBy("day").agg(F.max(F.unix_millis("record_time")).alias("at"))
    polled_until = timeline.groupBy(F.to_date(F.timestamp_millis("poll")).alias("day")).agg(F.max("poll").alias("at"))
    ends = decoded_until.unionByName(polled_until).filter(F.col("day") >= F.lit(first))
    ends = ends.groupBy("day").agg(F.max("at").alias("at"))
    ends = ends.localCheckpoint()
    if ends.join(recorded.select("day").distinct(), "day", "left_anti").isEmpty():
        commits, events = (rows.join(F.broadcast(asked), "group", "left_semi") for rows in (commits, events))
    decoded = decoded_activity(commits, events, ends).localCheckpoint()
    return cleanup(recorded, decoded, since=first, offsets_retention=inputs.options.offsets_retention)


def _forecast(inputs: GoldInputs) -> DataFrame:
    since = inputs.since_slot(FORECAST)
    return forecast(inputs.lag, retention=inputs.retention, since=since, hours=inputs.hourly_lag)


def _forecast_state(inputs: GoldInputs) -> DataFrame:
    newest, _ = inputs.newest
    complete = ~is_since("hour", newest - newest % (HOUR * 1000))
    rows = inputs.hourly_lag.filter(complete & is_since("hour", inputs.since_slot(FORECAST_STATE)))
    return forecast_state(rows)


def _baseline(inputs: GoldInputs) -> DataFrame:
    before = inputs.rows(BASELINE, timedelta(weeks=WEEKS))
    return baseline(inputs.lag, before=before, since=inputs.since_slot(BASELINE))


BUILDERS: dict[Table, Callable[[GoldInputs], DataFrame]] = {
    LAG: _lag,
    HEALTH: _health,
    HEALTH_STATE: _health_state,
    CHURN: _churn,
    CLEANUP: _cleanup,
    FORECAST: _forecast,
    FORECAST_STATE: _forecast_state,
    BASELINE: _baseline,
}
"""Gold table → function that computes its rows from the inputs."""

TABLES = tuple(BUILDERS)
"""All tables that the job writes, in this order."""


def gold(
    lake: SparkLake,
    since: int,
    *,
    options: GoldOptions = _DEFAULT,
    on_progress: Callable[[str], None] | None = None,
) -> None:
    """Recompute the rows of all gold tables from `since` onwards. A second call with the same inputs changes nothing.

    Args:
        since: time in milliseconds since the epoch. Later rows depend on earlier rows, so all later rows are
            recomputed.
        on_progress: called with a message for the user before each table is computed.
    """
    inputs = GoldInputs(lake, since, options)
    for table in TABLES:
        if table in GOLD_STATE and lake.exists(table) and not inputs.has_complete_hour:
            continue
        for attempt in range(_ATTEMPTS):
            try:
                _write(inputs, table, on_progress)
                break
            except SPARK_ERRORS as error:
                if _LOST_CHECKPOINT not in str(error) or attempt == _ATTEMPTS - 1:
                    raise
                # The lost executor had parts of the checkpoints in `inputs`, so all checkpoints are computed again.
                inputs.release()
                inputs = GoldInputs(lake, since, options)
    inputs.release()


def _write(inputs: GoldInputs, table: Table, on_progress: Callable[[str], None] | None) -> None:
    """Recompute and replace the rows of a gold table from `inputs.since_slot` onwards.

    All rows of a group are written into the same file, so that a query about one group reads few files.
    """
    since = inputs.since_slot(table)
    if on_progress is not None:
        on_progress(f"computing gold/{table.name} from {rfc3339(since / 1000, 'minutes')}")
    rows = _with_file_layout(inputs, table, BUILDERS[table](inputs), since)
    inputs.lake.overwrite(table, rows, since=(_SLOTS[table].column, since))


def _with_file_layout(inputs: GoldInputs, table: Table, rows: DataFrame, since: int) -> DataFrame:
    """Distribute and sort rows so that each task of Spark writes the rows of one file.

    All rows of a group are written into the same file, so that a query about one group reads few files. If the table
    has a `file_span`, the rows of each span are in files of their own, so that the next run copies few rows.
    """
    if table.file_span is not None:
        column, seconds = table.file_span
        newest, groups = inputs.newest
        spans = min(max(newest // 1000 // seconds - since // 1000 // seconds + 1, 1), 24 * HOUR // seconds)
        files = max(1, math.ceil(groups / _GROUPS_PER_FILE))
        # Spans of different days may have the same number, because Delta Lake writes a file for each day.
        span = F.pmod(F.floor(F.unix_seconds(column) / seconds), F.lit(spans))
        number = span * files + F.pmod(F.hash("group"), F.lit(files))
        rows = rows.repartitionById(spans * files, number.cast("int"))
    elif "group" in table.names:
        rows = rows.repartition("group")
    # Delta Lake needs the rows of a task in the order of their days, and would sort them again without it.
    partition = [] if table.partition is None else [table.partition]
    return rows.sortWithinPartitions(*partition, *table.key)
