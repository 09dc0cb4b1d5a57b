"""The gold job: recompute the gold tables from the time of the earliest new input row on.

The input rows are the polls of a recording, and the decoded records in the silver tables. The gold
tables contain results, such as the lag and the health of each group.

To add a gold table, do these steps:

1. Add its schema to `GOLD` in `kgtui/lake/schemas/gold.py`.
2. Write a function that computes its rows in `kgtui/pipeline/transforms`.
3. Add its time slots to `SLOTS` in `kgtui/pipeline/jobs/gold_inputs.py`.
4. Add a function that calls the transform to `_ROUNDS`.
"""

from __future__ import annotations

import math
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kgtui.lake.schemas import COMMITS, GROUP_EVENTS, GROUPS, PARTITIONS, POLLS, REBALANCES
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
from kgtui.model.rfc3339 import rfc3339, utc_datetime
from kgtui.pipeline.jobs.gold_inputs import DAY_BEFORE, SLOTS, GoldInputs, GoldOptions
from kgtui.pipeline.session import run_together, use_pool
from kgtui.pipeline.spark_errors import SPARK_ERRORS
from kgtui.pipeline.transforms.baseline import WEEKS, baseline
from kgtui.pipeline.transforms.churn import HOUR_MS, churn, recorded_churn
from kgtui.pipeline.transforms.cleanup import (
    cleanup,
    decoded_activity,
    groups_without_members,
    recorded_activity,
)
from kgtui.pipeline.transforms.forecast import HOUR_SECONDS, forecast, forecast_state
from kgtui.pipeline.transforms.health import health
from kgtui.pipeline.transforms.health_state import state_rows
from kgtui.pipeline.transforms.lag import lag
from kgtui.pipeline.transforms.recorded_state import is_since, poll_timeline

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import DataFrame

    from kgtui.lake.schemas import Table
    from kgtui.pipeline.spark_lake import SparkLake

_ATTEMPTS = 4
"""Maximum number of attempts to compute a gold table if Spark loses checkpoints with an executor.

Spark's option `spark.task.maxFailures` has the same default.
"""

_GROUPS_PER_FILE = 5_000
"""Maximum number of groups per file of a large gold table, on average.

In the gold table `lag`, a file with one hour of 5,000 groups has about 30 MB.
"""

_LOST_CHECKPOINT = "Checkpoint block"
"""Text in Spark's error if parts of a local checkpoint are lost together with an executor."""


_DEFAULT = GoldOptions()


def _lag(inputs: GoldInputs) -> DataFrame:
    return lag(inputs.timeline, inputs.groups, inputs.partitions, inputs.faults, since=inputs.since_slot(LAG))


def _health(inputs: GoldInputs) -> DataFrame:
    since, (keyframe, at_before, _) = inputs.since_slot(HEALTH), inputs.health_start
    # Rows from `since` on are recomputed. Also read stored rows of `health` from before `since`.
    # They show when problems began that continue after `since`.
    before = inputs.rows(HEALTH, DAY_BEFORE).filter(~is_since("window_start", since))
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
    # Rows from `since` on are recomputed. Also read the stored rows of the hour before `since`.
    # They show when bursts (series of rebalances) began that continue after `since`. Older rows are
    # not needed, because a burst ends after half an hour without a rebalance.
    in_hour_before = ~is_since("hour", since) & is_since("hour", since - HOUR_MS)
    return churn(
        inputs.timeline,
        recorded,
        inputs.rows(REBALANCES).filter(is_since("start", since)),
        inputs.rows(LAG).filter(is_since("minute", since)),
        before=inputs.rows(CHURN, DAY_BEFORE).filter(in_hour_before),
        since=since,
    )


def _cleanup(inputs: GoldInputs) -> DataFrame:
    first = utc_datetime(inputs.since_slot(CLEANUP) / 1000).date()
    look_back = timedelta(days=inputs.options.look_back)
    timeline = poll_timeline(inputs.rows(POLLS, look_back)).localCheckpoint()
    groups, partitions = inputs.rows(GROUPS, look_back), inputs.rows(PARTITIONS, look_back)
    # The table `cleanup` lists unused groups. Groups that have members at the end of each day are
    # in use, so their partitions are left out.
    asked = groups_without_members(timeline, groups, since=first).localCheckpoint()
    partitions = partitions.join(F.broadcast(asked), "group", "left_semi")
    # Checkpoint `recorded` and `decoded`, because `cleanup` reads them several times. The
    # checkpoints are small, because they have only one row per group and day.
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
    complete = ~is_since("hour", newest - newest % HOUR_MS)
    rows = inputs.hourly_lag.filter(complete & is_since("hour", inputs.since_slot(FORECAST_STATE)))
    return forecast_state(rows)


def _baseline(inputs: GoldInputs) -> DataFrame:
    before = inputs.rows(BASELINE, timedelta(weeks=WEEKS))
    return baseline(inputs.lag, before=before, since=inputs.since_slot(BASELINE))


_ROUNDS: tuple[tuple[dict[Table, Callable[[GoldInputs], DataFrame]], ...], ...] = (
    ({LAG: _lag}, {CLEANUP: _cleanup}),
    (
        {HEALTH: _health, HEALTH_STATE: _health_state},
        {CHURN: _churn, FORECAST: _forecast, FORECAST_STATE: _forecast_state, BASELINE: _baseline},
    ),
)
"""The functions that compute the gold tables, in the order in which they are called.

The outer tuple has two rounds, which run one after the other. A round is a tuple of dicts, and each
dict maps gold tables to the functions that compute their rows. The dicts of a round run at the same
time, each in its own thread, which computes the tables of the dict one after the other. The threads
save time, because planning a query on few rows takes longer than executing it. A table from which
other tables are computed, such as `lag`, is in an earlier round.
"""

TABLES = tuple(table for chains in _ROUNDS for chain in chains for table in chain)
"""All tables that the gold job writes."""


def gold(
    lake: SparkLake,
    since: int,
    *,
    options: GoldOptions = _DEFAULT,
    on_progress: Callable[[str], None] | None = None,
) -> None:
    """Recompute the rows of all gold tables from `since` on.

    A second call with the same inputs changes nothing.

    Args:
        since: time of the first new or changed input row, in milliseconds since the epoch. All rows
            from this time on are recomputed, because a gold row can depend on earlier rows.
        on_progress: called with a message for the user before each table is computed.
    """
    inputs = GoldInputs(lake, since, options)
    for chains in _ROUNDS:
        run_together(*(partial(_write_chain, inputs, chain, on_progress) for chain in chains))
    inputs.release()


def _write_chain(
    inputs: GoldInputs,
    chain: Mapping[Table, Callable[[GoldInputs], DataFrame]],
    on_progress: Callable[[str], None] | None,
) -> None:
    """Recompute the gold tables in `chain` one after the other.

    If Spark loses an executor with checkpoints that a table needs, the table is computed again.

    Args:
        chain: gold table → function that computes its rows.
    """
    lake, shared = inputs.lake, inputs
    use_pool(lake.spark, "gold")
    for table, build in chain.items():
        is_unchanged = table in GOLD_STATE and not inputs.saves_state(table)
        if is_unchanged or table not in TABLES:
            continue
        for attempt in range(_ATTEMPTS):
            try:
                _write(inputs, table, build, on_progress)
                break
            except SPARK_ERRORS as error:
                if _LOST_CHECKPOINT not in str(error) or attempt == _ATTEMPTS - 1:
                    raise
                # Spark has lost an executor that stored parts of the checkpoints in `inputs`.
                # Compute all checkpoints again.
                inputs.release()
                inputs = GoldInputs(lake, inputs.since, inputs.options)
    if inputs is not shared:
        inputs.release()


def _write(
    inputs: GoldInputs,
    table: Table,
    build: Callable[[GoldInputs], DataFrame],
    on_progress: Callable[[str], None] | None,
) -> None:
    """Recompute the newest rows of a gold table, and replace the stored rows with them.

    The rows are recomputed from the first changed time slot on. A time slot is the time that one
    row covers, such as a minute or an hour.

    Args:
        build: function that computes the rows.
    """
    since = inputs.since_slot(table)
    if on_progress is not None:
        on_progress(f"computing gold/{table.name} from {rfc3339(since / 1000, 'minutes')}")
    rows = _with_file_layout(inputs, table, build(inputs), since)
    inputs.lake.overwrite(table, rows, since=(SLOTS[table].column, since))


def _with_file_layout(inputs: GoldInputs, table: Table, rows: DataFrame, since: int) -> DataFrame:
    """Distribute and sort rows of a gold table, so that a query about one group reads few files.

    Each Spark task writes one file per day. If the table has a `file_span`, it writes one file per
    time span of this length instead. Large tables have short time spans, so that the next run can
    replace the newest rows without copying many older rows.

    Args:
        since: time of the first row, in milliseconds since the epoch.
    """
    if table.file_span is not None:
        column, seconds = table.file_span
        newest, groups = inputs.newest
        spans = min(max(newest // 1000 // seconds - since // 1000 // seconds + 1, 1), 24 * HOUR_SECONDS // seconds)
        files = max(1, math.ceil(groups / _GROUPS_PER_FILE))
        # `spans` is the number of time spans to write, but at most the number of time spans in one
        # day. `span` numbers the time spans from 0. If rows of several days are written, time spans
        # of different days can have the same number. Their rows are still in different files,
        # because Delta Lake writes separate files for each day.
        span = F.pmod(F.floor(F.unix_seconds(column) / seconds), F.lit(spans))
        number = span * files + F.pmod(F.hash("group"), F.lit(files))
        rows = rows.repartitionById(spans * files, number.cast("int"))
    elif "group" in table.names:
        rows = rows.repartition("group")
    # Sort by `day` first, because Delta Lake writes the rows of a task day by day. With another
    # order, Delta Lake would have to sort the rows again.
    partition = [] if table.partition is None else [table.partition]
    return rows.sortWithinPartitions(*partition, *table.key)
