"""The gold table `forecast`: when each group will have caught up, and whether it will lose records.

A group loses records if retention deletes them before the group has read them. The table is
computed from the gold table `lag`.

Terms:

- time lag: age of the first record in a partition that a group has not read
- backlog: unread records of a group
- jump: increase of the log start offset, because retention has deleted a log segment
- deletion rate: speed at which retention moves the log start offset, in records/s
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from kgtui.lake.schemas.gold import FORECAST, FORECAST_STATE
from kgtui.model.health.rates import LEAST
from kgtui.pipeline.spark_schema import conform
from kgtui.pipeline.transforms.problem_times import behind_since, with_age_histories
from kgtui.pipeline.transforms.recorded_state import is_since, to_timestamp

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

HOUR_SECONDS = 3_600
"""Length of time that one row of the gold table `forecast` covers, in seconds."""

_KEY = ("group", "topic", "partition")
_JUMPS = ("first_jump_at", "first_jump_start", "last_jump_at", "last_jump_start")
"""Columns about the first and the last jump of the log start offset.

A jump is an increase of the log start offset. It shows that retention has deleted a log segment.
For each jump, there is a column with its time (ms since the epoch), and one with the new offset.
"""

_NOISE = 0.1
"""A group falls behind only if its time lag grows by at least this many seconds per second.

The time lag is the age of the first unread record. If its growth is unknown, the fraction of the
written records that the group does not consume is compared with this limit instead. Smaller values
can be measurement errors.
"""

_MAX_ESTIMATE_RATIO = 3.0
"""Maximum ratio of two estimates of the time until retention deletes unread records.

The first estimate is computed from the retention time of the topic. The second estimate is computed
from the speed at which the log start offset moves. The first estimate is used if it is at most this
many times as long as the second one. The ratio is above 1, because traffic varies.
"""

_MIN_BACKLOG_AGE = 60.0
"""Minimum age of a group's oldest unread record, in seconds.

If the record is younger, the time at which the backlog (unread records) began is not computed.
"""


def forecast(
    lag: DataFrame,
    *,
    retention: DataFrame | None = None,
    since: int | None = None,
    hours: DataFrame | None = None,
) -> DataFrame:
    """Compute the gold table `forecast`: one row per hour for each group and partition with lag.

    Args:
        lag: the gold table `lag`, beginning one day before `since`.
        retention: topics with a known, limited retention. Columns: topic, retention_seconds. None
            if there are none.
        since: beginning of the first hour to return, in milliseconds since the epoch; None for all
            hours.
        hours: lag per hour, from `hourly_lag`; None to compute it from all rows of `lag`.
    """
    hours = hourly_lag(lag, since) if hours is None else hours
    # Find the last hour of each day before the hours without lag are dropped. Otherwise, the last
    # hour with lag would be found. This hour could be before `since`, and rows before `since` are
    # not updated.
    last_hours = hours.groupBy("day").agg(F.max("hour").alias("last_hour"))
    if retention is None:
        hours = hours.withColumn("retention_seconds", F.lit(None).cast("double"))
    else:
        hours = hours.join(F.broadcast(retention.select("topic", "retention_seconds")), "topic", "left")
    rows = hours.transform(_with_trend).transform(_with_loss).transform(_with_group_risk)
    return rows.filter(F.col("lag") > 0).transform(_with_behind_since, lag, last_hours).transform(_to_table)


def hourly_lag(lag: DataFrame, since: int | None = None, state: DataFrame | None = None) -> DataFrame:
    """Aggregate the gold table `lag` to one row per hour for each group and each of its partitions.

    `_hours` describes the columns.

    Args:
        lag: the gold table `lag`, with one row per minute.
        since: beginning of the first hour to return, in milliseconds since the epoch; None for all
            hours.
        state: the gold table `forecast_state` (results of earlier runs), which replaces rows of
            `lag` before `since`; None to use only `lag`.
    """
    if since is None or state is None:
        return lag.transform(_with_deletion_rate).transform(_hours, since)
    return (
        lag.filter(is_since("minute", since)).transform(_with_deletion_rate, _carried(state, since)).transform(_hours)
    )


def _carried(state: DataFrame, since: int) -> DataFrame:
    """Return the newest saved results before `since`, which replace older rows of the table `lag`.

    The result has one row for each group, partition and gapless series of polls (column
    `steady_since`). The column `is_carried` is always true.

    Args:
        state: the gold table `forecast_state`, with the results of earlier runs.
        since: milliseconds since the epoch.
    """
    values = ("hour", "log_start", *_JUMPS)
    newest = state.filter(~is_since("hour", since)).groupBy(*_KEY, "steady_since")
    rows = newest.agg(F.max(F.struct(*values)).alias("newest")).select(*_KEY, "steady_since", "newest.*")
    return rows.withColumnRenamed("hour", "minute").withColumn("is_carried", F.lit(True))


def forecast_state(hours: DataFrame) -> DataFrame:
    """Return rows of the gold table `forecast_state`, from which the next run continues.

    Args:
        hours: lag per hour, from `hourly_lag`.
    """
    return hours.filter(F.col("topic").isNotNull()).transform(conform, FORECAST_STATE)


def _with_deletion_rate(lag: DataFrame, carried: DataFrame | None = None) -> DataFrame:
    """Add `deletion_rate`: number of records per second that retention deletes at the log start.

    Retention deletes whole log segments, so that the log start offset moves in jumps. The rate is
    measured between the first and the last jump since the latest gap between polls.

    Args:
        lag: the gold table `lag`, with one row per minute.
        carried: saved results that replace earlier rows of `lag` (see `_carried`); None if `lag`
            contains all rows.
    """
    order = Window.partitionBy(*_KEY, "steady_since").orderBy("minute")
    rows = lag.withColumns(dict.fromkeys(_JUMPS, F.lit(None).cast("long")))
    if carried is not None:
        rows = rows.unionByName(carried, allowMissingColumns=True)
    jumped = F.col("log_start") > F.lag("log_start").over(order)
    at, start = F.when(jumped, F.unix_millis("covered_to")), F.when(jumped, F.col("log_start"))
    # A jump is an increase of the log start offset. Below, the time of a jump and the offset after
    # the jump are copied to later rows independently of each other. The two values still come from
    # the same jump, because before they are copied, each row has either both values or neither.
    jumps = {name: F.coalesce(name, at if name.endswith("_at") else start) for name in _JUMPS}
    rows = rows.withColumns(jumps)
    until_now = order.rowsBetween(Window.unboundedPreceding, 0)
    rows = rows.withColumns({
        name: (F.first if name.startswith("first") else F.last)(name, ignorenulls=True).over(until_now)
        for name in _JUMPS
    })  # fmt: skip
    span = F.nullif(F.col("last_jump_at") / 1000 - F.col("first_jump_at") / 1000, F.lit(0.0))
    rows = rows.withColumn("deletion_rate", (F.col("last_jump_start") - F.col("first_jump_start")) / span)
    return rows if carried is None else rows.filter(F.col("is_carried").isNull()).drop("is_carried")


def _hours(lag: DataFrame, since: int | None = None) -> DataFrame:
    """Aggregate minutes to hours: one row per hour, for each group and each of its partitions.

    - lag, offsets, `time_lag` (age of the first unread record) and `deletion_rate`: values in the
      last minute of the hour
    - `slope`, `reads`, `sxx`, `syy`: linear regression of the lag over time. `slope` is in
      records/s, `reads` is the number of points, and `sxx` and `syy` are the sums of squared
      deviations of time and lag.
    - `age_slope`, `age_reads`, `age_sxx`, `age_syy`: linear regression of the time lag over time.
      Time lags that are only lower bounds are left out.
    - `write_rate`, `consume_rate`: numbers of records written and consumed per second

    If there are gaps between polls in the hour, only the minutes after the last gap are used.

    Args:
        lag: rows of the gold table `lag` (one per minute), from `_with_deletion_rate`.
        since: beginning of the first hour to return, in milliseconds since the epoch; None for all
            hours.
    """
    rows = lag if since is None else lag.filter(is_since("minute", since))
    rows = rows.withColumn("hour", F.timestamp_seconds(F.floor(F.unix_seconds("minute") / HOUR_SECONDS) * HOUR_SECONDS))
    newest = F.max("steady_since").over(Window.partitionBy(*_KEY, "hour"))
    rows = rows.withColumn("newest", newest).filter(F.col("steady_since") == F.col("newest"))
    at = _seconds("covered_to") - F.unix_seconds("hour")
    values = (
        "lag",
        "position",
        "log_start",
        "log_end",
        "lead",
        "lost",
        "unknown",
        "time_lag",
        "time_lag_at_least",
        "deletion_rate",
        *_JUMPS,
    )
    age = F.when(~F.coalesce("time_lag_at_least", F.lit(False)), F.col("time_lag"))
    return rows.groupBy("day", "hour", *_KEY).agg(
        *(F.max_by(name, "minute").alias(name) for name in values),
        F.regr_slope(age, at).alias("age_slope"),
        F.regr_count(age, at).alias("age_reads"),
        F.regr_sxx(age, at).alias("age_sxx"),
        F.regr_syy(age, at).alias("age_syy"),
        F.max("steady_since").alias("steady_since"),
        F.regr_slope("lag", at).alias("slope"),
        F.regr_count("lag", at).alias("reads"),
        F.regr_sxx("lag", at).alias("sxx"),
        F.regr_syy("lag", at).alias("syy"),
        F.regr_slope("position", at).alias("consume_rate"),
        F.regr_slope("log_end", at).alias("write_rate"),
        F.max("source").alias("source"),
        F.min("covered_from").alias("covered_from"),
        F.max("covered_to").alias("covered_to"),
    )


def _with_trend(rows: DataFrame) -> DataFrame:
    """Add trends of the lag, and estimates of the time until the group has caught up.

    The time lag is the age of the first unread record.

    - `trend`, `trend_error`: growth of the lag in records/s, and the standard error of the growth
    - `age_trend`, `age_error`: growth of the time lag in seconds per second, and its standard error
    - `drain_seconds`: estimated seconds until the group has caught up, computed from `age_trend`
      or, if that is null, from `trend`. The estimate is null if this trend does not clearly point
      down, or if the lag of a partition is unknown.
    - `drain_min_seconds`, `drain_max_seconds`: lowest and highest plausible value of
      `drain_seconds`
    """
    rows = rows.withColumns({
        "trend": _slope(""),
        "trend_error": _error(""),
        "age_trend": F.when(F.col("age_reads") == F.col("reads"), _slope("age_")),
        "age_error": _error("age_"),
    })  # fmt: skip
    complete = F.coalesce(F.col("unknown") == 0, F.lit(True))
    by_lag, by_age = F.col("by_lag"), F.col("by_age")
    rows = rows.withColumns({
        "by_lag": F.when(complete, _drain("lag", "trend", "trend_error")),
        "by_age": F.when(complete, _drain("time_lag", "age_trend", "age_error")),
    })  # fmt: skip
    # Prefer the trend of the time lag (age of the first unread record) to that of the lag in
    # records, because the latter also changes if the traffic changes.
    known = F.col("age_trend").isNotNull()
    seconds = F.when(known, by_age.seconds).otherwise(by_lag.seconds)
    # If the estimate `by_lag` is null, `least` and `greatest` return their other argument.
    soonest = F.when(known, F.least(by_age.soonest, by_lag.seconds)).otherwise(by_lag.soonest)
    latest = F.when(known, F.greatest(by_age.latest, by_lag.seconds)).otherwise(by_lag.latest)
    return rows.withColumns({
        "drain_seconds": seconds,
        "drain_min_seconds": F.when(seconds.isNotNull(), soonest),
        "drain_max_seconds": F.when(seconds.isNotNull(), latest),
    })  # fmt: skip


def _slope(prefix: str) -> Column:
    """Return the slope of a linear regression over time, per second.

    The result is null if there are fewer than `LEAST` points, or if all points have the same time.

    Args:
        prefix: prefix of the columns with the regression: empty for the lag in records, `age_` for
            the age of the first unread record.
    """
    enough = (F.col(f"{prefix}reads") >= LEAST) & (F.col(f"{prefix}sxx") > 0)
    return F.when(enough, F.col(f"{prefix}slope"))


def _error(prefix: str) -> Column:
    """Return the standard error of the slope that `_slope` returns; null if the slope is null."""
    slope, sxx, syy = (F.col(f"{prefix}{name}") for name in ("slope", "sxx", "syy"))
    residuals = F.greatest(syy - slope**2 * sxx, F.lit(0.0))
    return F.when(_slope(prefix).isNotNull(), F.sqrt(residuals / (F.col(f"{prefix}reads") - 2) / sxx))


def _drain(value: str, trend: str, error: str) -> Column:
    """Return the time until a value has fallen to 0; null if the value does not clearly fall.

    The result is a Spark struct of numbers of seconds: the estimate (`seconds`), and its range
    (`soonest`, `latest`). The rules are the same as in `kgtui.model.health.rates`.

    Args:
        value, trend, error: names of the columns with the value, its growth per second, and the
            standard error of the growth.
    """
    falls, margin = -F.col(trend), 2 * F.col(error)
    struct = F.struct(
        (F.col(value) / falls).alias("seconds"),
        (F.col(value) / (falls + margin)).alias("soonest"),
        (F.col(value) / (falls - margin)).alias("latest"),
    )
    return F.when((falls > 0) & (falls > margin), struct)


def _with_loss(rows: DataFrame) -> DataFrame:
    """Add `loss_seconds`: time until retention deletes unread records; null if no loss is expected.

    There are two estimates of this time. The first one is computed from the retention time of the
    topic and the age of the first unread record. The second one is computed from the speed at which
    retention moves the log start offset. The first one is used, unless it is unknown or more than
    `_MAX_ESTIMATE_RATIO` times as long as the second one. If only a lower bound of the age is
    known, the first one must not be longer than the second one.

    Further new columns are:

    - `loss_basis`: which estimate was used: `retention` (the first one) or `log start`
    - `loss_at_most`: whether the estimate is only an upper limit
    - `assessed`: whether the data suffice for an estimate
    - `at_risk`: whether unread records will be deleted before the group has caught up; null if the
      data do not suffice
    """
    consumed, written = F.col("consume_rate"), F.col("write_rate")
    behind = F.when(written > 0, 1 - consumed / written).when(written <= 0, F.when(consumed <= 0, 1.0).otherwise(0.0))
    has_unread = F.col("position").isNotNull() & (F.col("lag") > 0) & (F.coalesce("lost", F.lit(0)) == 0)
    retention, approach = F.col("retention_seconds"), F.col("deletion_rate") - consumed
    age = F.col("time_lag")
    growth = F.coalesce(F.col("age_trend"), behind)
    falls_behind = (growth > 0) & ((growth >= _NOISE) | F.col("time_lag_at_least"))
    by_age = F.when(retention.isNotNull() & age.isNotNull(), F.greatest(retention - age, F.lit(0.0)) / growth)
    by_log_start = F.when(approach > 0, F.col("lead") / approach)
    # `kept` is the time until retention has deleted all records that the log contains now. Losses
    # after this time are not predicted, because the current trend says little about them.
    kept = F.coalesce(retention, (F.col("log_end") - F.col("log_start")) / F.col("deletion_rate"))
    varies = F.when(F.col("time_lag_at_least"), F.lit(1.0)).otherwise(_MAX_ESTIMATE_RATIO)
    soonest = F.when(by_age <= by_log_start * varies, by_age).otherwise(F.coalesce(by_log_start, by_age))
    loss = F.when(has_unread & falls_behind & F.coalesce(soonest <= kept, F.lit(True)), soonest)
    age_is_first = F.coalesce(by_age <= by_log_start * varies, by_age.isNotNull())
    assessed = has_unread & behind.isNotNull() & (retention.isNotNull() | F.col("deletion_rate").isNotNull())
    rows = rows.withColumns({
        "loss_seconds": loss,
        "loss_basis": F.when(loss.isNotNull(), F.when(age_is_first, "retention").otherwise("log start")),
        "loss_at_most": F.when(loss.isNotNull(), age_is_first & F.col("time_lag_at_least")),
        "assessed": assessed,
    })  # fmt: skip
    before_drained = F.col("drain_seconds").isNull() | (F.col("loss_seconds") < F.col("drain_seconds"))
    risk = F.when(F.col("loss_seconds").isNotNull(), before_drained).when(F.col("assessed"), F.lit(False))
    return rows.withColumn("at_risk", risk)


def _with_group_risk(rows: DataFrame) -> DataFrame:
    """Fill in the loss forecast in the row about each group.

    The group gets the forecast of its partition in which unread records will be deleted first.
    """
    group = Window.partitionBy("group", "hour")
    is_group_row = F.col("topic").isNull()
    names = ("loss_seconds", "loss_basis", "loss_at_most")
    soonest = F.min(F.when(F.col("at_risk"), F.struct(*names))).over(group)
    rows = rows.withColumns({"soonest": soonest, "any_risk": F.bool_or("at_risk").over(group)})
    of_group = {name: F.col(f"soonest.{name}") for name in names} | {"at_risk": F.col("any_risk")}
    return rows.withColumns({
        name: F.when(is_group_row, column).otherwise(F.col(name)) for name, column in of_group.items()
    })  # fmt: skip


def _with_behind_since(rows: DataFrame, lag: DataFrame, last_hours: DataFrame) -> DataFrame:
    """Add `behind_since`: when the backlog (unread records) of a group began.

    The second new column, `behind_since_at_least`, is true if the backlog may have begun earlier.
    Both columns have values only in rows about groups, in the last two hours of each day. Values
    for all hours would be slow to compute, because each of them is searched in the 24 hours before
    the row.

    Args:
        rows: forecasts, one row per hour, for each group and partition with lag.
        lag: the gold table `lag`, with one row per minute.
        last_hours: last hour of each day, with the columns day and last_hour.
    """
    # Checkpoint the rows, because they are read twice: to find the groups with a backlog, and to
    # add the times at which their backlogs began.
    rows = rows.localCheckpoint()
    rows = rows.join(F.broadcast(last_hours), "day").withColumn("at", F.unix_millis("covered_to"))
    recent = F.unix_seconds("hour") >= F.unix_seconds("last_hour") - HOUR_SECONDS
    searched = recent & F.col("topic").isNull() & (F.col("time_lag") >= _MIN_BACKLOG_AGE)
    searched &= F.col("drain_seconds").isNotNull() | (F.col("trend") > 0) | F.col("at_risk")
    asked = rows.filter(searched).select("at", *_KEY, F.unix_millis("steady_since").alias("steady_since"))
    found = with_age_histories(asked, lag.filter(F.col("topic").isNull())).select(
        F.col("at").alias("aged_at"),
        F.col("group").alias("aged_group"),
        behind_since(F.col("ages")).alias("since"),
        F.element_at("ages", 1)["at"].alias("oldest"),
    )
    same = F.col("topic").isNull() & (F.col("at") == F.col("aged_at")) & (F.col("group") == F.col("aged_group"))
    return rows.join(F.broadcast(found), same, "left").withColumns({
        "behind_since": to_timestamp(F.col("since")),
        "behind_since_at_least": F.col("since") <= F.col("oldest"),
    })  # fmt: skip


def _to_table(rows: DataFrame) -> DataFrame:
    """Convert forecasts to rows of the gold table `forecast`.

    The times `drained_at` and `loss_at` are computed from the forecasts in seconds.
    """

    def time_after(name: str) -> Column:
        # If the trend is close to zero, the time can be too late for a Spark timestamp. Therefore,
        # a time that is more than a century away becomes null.
        within_a_century = F.when(F.col(name) < 100 * 365 * 86_400, F.col(name))
        return F.timestamp_millis((F.unix_millis("covered_to") + within_a_century * 1000).cast("long"))

    return rows.withColumns({
        "drained_at": time_after("drain_seconds"),
        "loss_at": time_after("loss_seconds"),
    }).transform(conform, FORECAST)  # fmt: skip


def _seconds(name: str) -> Column:
    """Convert a timestamp column to seconds since the epoch, with a precision of milliseconds."""
    return F.unix_millis(name) / 1000
