"""Inputs of the gold job: the tables that it reads, and the time from which it updates each table.

The gold job updates tables with results, such as the lag and the health of each group. It
recomputes only the newest rows.

Terms:

- recording: tables in which kgtui has stored its polls (reads of the state of all groups)
- keyframe: poll for which the recorder wrote all rows. For other polls, it wrote only changed rows.
- gap: time for which polls are missing, for example because the recorder was stopped
- time slot: time that one row of a gold table covers, such as a minute or an hour
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kgtui.lake.schemas import COMMITS, FAULTS, GROUPS, MEMBERS, PARTITIONS, POLLS
from kgtui.lake.schemas.gold import (
    BASELINE,
    CHURN,
    CLEANUP,
    FORECAST,
    FORECAST_STATE,
    HEALTH,
    HEALTH_STATE,
    LAG,
    RECORDED,
)
from kgtui.model.burrow import DEFAULTS
from kgtui.model.rfc3339 import utc_datetime
from kgtui.pipeline.transforms.churn import HOUR_MS
from kgtui.pipeline.transforms.cleanup import OFFSETS_RETENTION
from kgtui.pipeline.transforms.commit_windows import commit_windows
from kgtui.pipeline.transforms.forecast import HOUR_SECONDS, hourly_lag
from kgtui.pipeline.transforms.health import WINDOW_SECONDS
from kgtui.pipeline.transforms.health_state import read_state
from kgtui.pipeline.transforms.lag import MINUTE
from kgtui.pipeline.transforms.observed_windows import first_poll_of_windows
from kgtui.pipeline.transforms.recorded_state import (
    day_start,
    first_keyframe,
    is_since,
    poll_timeline,
    time_slots,
    with_hour_ends,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import DataFrame

    from kgtui.lake.schemas import Table
    from kgtui.pipeline.spark_lake import SparkLake
    from kgtui.pipeline.transforms.health_state import Carried

DAY_BEFORE = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class GoldOptions:
    """Settings for computing the gold tables.

    Attributes:
        window: length of the time windows of the gold table `health`, in seconds. The table has one
            status per group and time window.
        offsets_retention: the brokers' `offsets.retention.minutes`, in seconds.
        topics: topic → retention in seconds. Topics with unknown or unlimited retention are
            missing.
        look_back: the gold table `cleanup` needs the last activity of each group. It is searched in
            the recorded tables, from this number of days before the first recomputed day on. Silver
            tables are always searched from their oldest row on.
        last: last UTC day whose rows are used.
        first_poll_day: earliest UTC day whose polls are still in the recording; earlier polls may
            have been deleted. Gold rows that were computed from deleted polls are kept, and not
            recomputed. None to recompute all rows.
    """

    window: int = WINDOW_SECONDS
    offsets_retention: int = OFFSETS_RETENTION
    topics: Mapping[str, float] = field(default_factory=dict)
    look_back: int = 8
    last: date = date.max
    first_poll_day: date | None = None


@dataclass(frozen=True, slots=True)
class Slots:
    """The time slots of a gold table. Each row is about one time slot, such as a minute or an hour.

    Attributes:
        column: name of the column with the beginning of the time slot.
        seconds: length of a time slot in seconds. The first time slot of a day begins at midnight
            UTC.
        before: rows of the gold table are also recomputed for this many seconds before the first
            new input row. This value is ignored if all new input rows belong to one hour that an
            earlier run has already computed.
    """

    column: str
    seconds: int
    before: int = 0


SLOTS = {
    LAG: Slots("minute", MINUTE),
    HEALTH: Slots("window_start", WINDOW_SECONDS),
    HEALTH_STATE: Slots("at", WINDOW_SECONDS),
    CHURN: Slots("hour", HOUR_SECONDS),
    CLEANUP: Slots("day", 24 * HOUR_SECONDS),
    # The column `behind_since` (when the backlog of a group began) has values only in the last two
    # hours of a day. A new hour changes which hours are the last two. Therefore, also recompute the
    # hour before the first changed hour.
    FORECAST: Slots("hour", HOUR_SECONDS, before=HOUR_SECONDS),
    FORECAST_STATE: Slots("hour", HOUR_SECONDS),
    BASELINE: Slots("hour", HOUR_SECONDS),
}


class GoldInputs:
    """Tables from which the gold tables are computed. Each table is read when it is first used.

    Most tables are read from the day before the first recomputed day on, because gold rows also
    depend on earlier rows.

    Args:
        since: time from which the gold tables are recomputed, in milliseconds since the epoch.
    """

    def __init__(self, lake: SparkLake, since: int, options: GoldOptions) -> None:
        self.lake, self.since, self.options = lake, since, options
        self.first = utc_datetime(since / 1000).date()
        self._persisted: list[DataFrame] = []
        self._rows: dict[tuple[Table, timedelta], DataFrame] = {}
        self._has_recorded_rows: dict[Table, bool] = {}
        # Two threads compute gold tables. They must not use `_rows` at the same time.
        self._lock = threading.Lock()

    def rows(self, table: Table, before: timedelta = timedelta(0)) -> DataFrame:
        """Return the rows of a table from the first recomputed day up to the day `options.last`.

        A second call returns the same rows, even if the table has changed in the meantime.

        Args:
            before: the rows of this time before the first recomputed day are returned, too.
        """
        key = table, before
        with self._lock:
            if key not in self._rows:
                self._rows[key] = self.lake.read_days(table, self.first - before, self.options.last)
            return self._rows[key]

    def all_rows(self, table: Table) -> DataFrame:
        """Return all rows of a table up to the day `options.last`."""
        return self.lake.read_days(table, date.min, self.options.last)

    @cached_property
    def timeline(self) -> DataFrame:
        """One row per poll of the recording (see `poll_timeline`).

        Each row says where the gaps before and after the poll are, and gives the keyframe of the
        poll: the last poll, up to this one, of which all rows were recorded, not only changed ones.
        """
        return poll_timeline(self.rows(POLLS, DAY_BEFORE), self._steady_since()).localCheckpoint()

    @property
    def partitions(self) -> DataFrame:
        """Rows of the recording's table `partitions`."""
        return self.rows(PARTITIONS, DAY_BEFORE)

    @cached_property
    def first_keyframe(self) -> int:
        """Time of the last keyframe before the first recomputed hour, in ms since the epoch.

        A keyframe is a poll of which all rows were recorded, not only changed ones. Therefore, rows
        before this keyframe are not needed to find the state of all groups at the beginning of the
        hour.
        """
        return first_keyframe(self.timeline, self.since_slot(CHURN))

    @cached_property
    def groups(self) -> DataFrame:
        """Rows of the recording's table `groups`, kept in memory."""
        return self._persist(GROUPS)

    @cached_property
    def members(self) -> DataFrame:
        """Rows of the recording's table `members`, kept in memory."""
        return self._persist(MEMBERS)

    @cached_property
    def faults(self) -> DataFrame:
        """Rows of the recording's table `faults`, kept in memory."""
        return self._persist(FAULTS)

    @property
    def lag(self) -> DataFrame:
        """Rows of the gold table `lag`.

        This table is recomputed first, so that the other gold tables are computed from its new
        rows.
        """
        return self.rows(LAG, DAY_BEFORE)

    @cached_property
    def commits(self) -> DataFrame | None:
        """Rows of the silver table `commits`; None if no row was ever written to this table."""
        return self.rows(COMMITS, DAY_BEFORE) if self.lake.was_written(COMMITS) else None

    @cached_property
    def newest(self) -> tuple[int, int]:
        """Time of the newest poll in ms since the epoch, and maximum number of groups in a poll.

        Only polls from the first recomputed day on are considered. Without such polls, the pair is
        (0, 0).
        """
        polls = self.rows(POLLS).agg(F.max("poll").alias("poll"), F.max("groups").alias("groups"))
        row = polls.collect()[0]
        return row["poll"] or 0, row["groups"] or 0

    @property
    def retention(self) -> DataFrame | None:
        """Retention of topics, as rows with the columns topic and retention_seconds.

        None if no topic has a known and limited retention.
        """
        if not self.options.topics:
            return None
        topics = list(self.options.topics.items())
        return self.lake.spark.createDataFrame(topics, "topic string, retention_seconds double")

    def saves_state(self, table: Table) -> bool:
        """Return whether this run must write a table with state for the next run (`GOLD_STATE`).

        Each row of such a table is about a complete hour. Therefore, there is nothing to write if
        none of the recomputed hours is complete. However, a table that does not exist is always
        created.
        """
        return self.has_complete_hour or not self.lake.exists(table)

    @property
    def has_complete_hour(self) -> bool:
        """Whether at least one recomputed hour is complete, so that it will not get more polls.

        An hour is complete if there are polls in a later hour.
        """
        return self.newest[0] // HOUR_MS > self.since_slot(HEALTH) // HOUR_MS

    @cached_property
    def health_times(self) -> DataFrame:
        """Time slots of the gold table `health`, by default five minutes long (see `time_slots`).

        In each complete hour, the column `ends_hour` is true for the last time slot with polls. At
        the end of this time slot, the state of each partition is saved for the next run. The column
        is left out if this run saves no state. The rows are checkpointed, because they are few and
        used often.
        """
        times = time_slots(self.timeline, self.options.window, self.since_slot(HEALTH))
        if self.saves_state(HEALTH_STATE):
            times = times.transform(with_hour_ends)
        return times.localCheckpoint()

    @cached_property
    def health_start(self) -> tuple[int, int, int]:
        """Three times from which inputs of the gold table `health` are read.

        The times are those of polls, in milliseconds since the epoch; 0 if unknown:

        1. For the recorded tables: the keyframe of the first time slot in `health_times`. It is the
           last poll, up to the end of this time slot, of which all rows were recorded, not only
           changed ones.
        2. For stored rows of `health`: the last poll before the first time slot in `health_times`.
        3. For log end offsets: the first poll whose log end offsets are needed (see
           `first_poll_of_windows`).
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
        """The newest commits of each group in each partition at the end of each time slot.

        The time slots are those of the gold table `health`. `commit_windows` describes the columns.
        """
        return commit_windows(
            self.timeline, self.partitions, self.health_times, commits=self.commits, carried=self._carried()
        )

    @cached_property
    def hourly_lag(self) -> DataFrame:
        """The gold table `lag`, aggregated to hours (see `transforms.forecast.hourly_lag`).

        The gold tables `forecast` and `forecast_state` are computed from these rows.
        """
        since = self.since_slot(FORECAST)
        state = self.rows(FORECAST_STATE, DAY_BEFORE) if self.lake.exists(FORECAST_STATE) else None
        return hourly_lag(self.lag, since, state).localCheckpoint()

    def _steady_since(self) -> int | None:
        """Return when the latest gap between polls before the first poll of `timeline` ended.

        The result is the time of the first poll after this gap, in milliseconds since the epoch. It
        is read from the gold table `lag`, because `timeline` does not contain this poll. Return
        None if the gap is not known, or if it ended on the first day of `timeline`.
        """
        if not self.lake.exists(LAG):
            return None
        # In each row of the gold table `lag`, `steady_since` is the time of the first poll after
        # the latest gap between polls before the row.
        day = self.first - DAY_BEFORE
        rows = self.lake.read_days(LAG, day, day).filter(~is_since("steady_since", day_start(day)))
        row = rows.select(F.unix_millis("steady_since").alias("at")).first()
        return None if row is None else int(row["at"])

    def _carried(self) -> Carried | None:
        """Return the newest usable state in the gold table `health_state`; None if none is usable.

        The state contains the newest commits of each group in each partition at one poll. An
        earlier run saved the state, so that this run need not read polls and commits before that
        poll.
        """
        _, _, first = self.health_start
        if not first or not self.lake.exists(HEALTH_STATE):
            return None
        states = self.rows(HEALTH_STATE, DAY_BEFORE)
        # A state is usable if it was saved at a poll before the first recomputed time window of the
        # gold table `health`. This poll must also not be after `first`, the first poll whose log
        # end offsets are needed.
        earlier = states.filter(~is_since("at", min(first + 1, self.since_slot(HEALTH))))
        at = earlier.agg(F.unix_millis(F.max("at")).alias("at")).collect()[0]["at"]
        return None if at is None else read_state(states, at)

    def release(self) -> None:
        """Free the memory in which `groups`, `members` and `faults` are kept."""
        for rows in self._persisted:
            rows.unpersist()

    def _persist(self, table: Table) -> DataFrame:
        """Return the rows of a small recorded table since `first_keyframe`. Keep them in memory.

        Otherwise, Spark would read the files of the table again at each use.
        """
        rows = self.rows(table, DAY_BEFORE).filter(F.col("keyframe") >= self.first_keyframe)
        # If an earlier run was interrupted, it may have left a copy of these rows in memory. Free
        # the memory of this copy.
        rows.unpersist()
        self._persisted.append(rows.persist())
        return rows

    def since_slot(self, table: Table) -> int:
        """Return from which time on a gold table is recomputed, in milliseconds since the epoch.

        The result is the beginning of a time slot. A time slot is the time that one row of the
        table covers, such as a minute or an hour. If rows were computed from polls that have been
        deleted since, these rows are not recomputed.
        """
        seconds = self.options.window if table in (HEALTH, HEALTH_STATE) else SLOTS[table].seconds
        before = SLOTS[table].before
        if before and self._continues_hour:
            before = 0
        since = max(self.since - before * 1000, day_start(self.first))
        first = self.options.first_poll_day
        if first is not None and first > self.first and self._needs_polls(table, first):
            since = max(since, day_start(first))
        return since - since % (seconds * 1000)

    @cached_property
    def _continues_hour(self) -> bool:
        """Whether all new polls belong to one hour that an earlier run has already computed.

        This is the case if no later hour has polls, and the gold table `forecast` has rows of the
        hour.
        """
        if self.has_complete_hour or not self.lake.exists(FORECAST):
            return False
        hour = self.since - self.since % HOUR_MS
        return not self.rows(FORECAST).filter(is_since("hour", hour)).isEmpty()

    def _needs_polls(self, table: Table, first: date) -> bool:
        """Return whether polls are needed to recompute the rows of a gold table before a day.

        Tables that are computed from the gold table `lag` do not need polls.

        Args:
            first: the day. Only rows of earlier days matter.
        """
        # Rows of `churn` and `cleanup` can also be computed from silver tables alone. Their column
        # `source` says whether they were computed from polls, from silver tables, or from both.
        if table in (CHURN, CLEANUP):
            if table not in self._has_recorded_rows:
                rows = self.lake.read(table).filter((F.col("day") < F.lit(first)) & F.col("source").contains(RECORDED))
                self._has_recorded_rows[table] = not rows.isEmpty()
            return self._has_recorded_rows[table]
        return table in (LAG, HEALTH, HEALTH_STATE)
