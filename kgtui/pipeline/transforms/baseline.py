"""The gold table `baseline`: compare the lag and the rates of a group with its usual values.

The values of each hour are compared with those of the same hour in earlier weeks or, if too few
weeks have data, on earlier days. The normal value is the median of the values in the earlier hours.
The spread is their median absolute deviation (MAD).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kgtui.lake.schemas.gold import BASELINE
from kgtui.pipeline.spark_schema import conform
from kgtui.pipeline.transforms.recorded_state import is_since

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

WEEKS = 8
"""Number of earlier weeks. Each hour is compared with the same hour of these weeks."""
DAYS = 14
"""Number of earlier days.

Each hour is compared with the same hour of these days only if fewer than `FEWEST` of the earlier
weeks have data.
"""
FEWEST = 3
"""Minimum number of earlier hours with data. If there are fewer, the normal value is null."""

HOUR_OF_WEEK, HOUR_OF_DAY = "hour of week", "hour of day"
"""Values of the column `basis`: an hour was compared with earlier weeks, or with earlier days."""

_HOUR = 3_600
_MONDAY = 4 * 24
"""Hours from the epoch (1 January 1970, a Thursday) to the Monday after it."""
_SIGMA_PER_MAD = 1.4826
"""Factor that converts a median absolute deviation (MAD) to a standard deviation.

The factor is exact for a normal distribution.
"""
_SERIES = {"lag": 1.0, "rate_in": 0.1, "rate_out": 0.1}
"""Column that is compared → minimum standard deviation, in records (`lag`) or records/s (rates).

The columns are columns of the gold table `lag`. A smaller standard deviation is replaced by the
minimum. Otherwise, tiny changes of a steady value would look unusual.
"""
_LEAST_RELATIVE_DEVIATION = 0.05
"""Minimum standard deviation, as a fraction of the normal value (median of the earlier hours).

If the minimum in `_SERIES` is larger, that minimum is used.
"""


def baseline(lag: DataFrame, *, before: DataFrame | None = None, since: int | None = None) -> DataFrame:
    """Compute the gold table `baseline`, which compares each hour with earlier weeks or days.

    Args:
        lag: the gold table `lag`, with one row per minute.
        before: stored rows of `baseline` for hours before `since`, which contain the earlier
            values; None if there are none.
        since: beginning of the first hour to return, in milliseconds since the epoch; None for all
            hours.
    """
    rows = lag if since is None else lag.filter(is_since("minute", since))
    current = rows.transform(_hourly_medians)
    past = current.select("group", "hour", *_SERIES)
    if before is not None:
        earlier = before if since is None else before.filter(~is_since("hour", since))
        past = past.unionByName(earlier.select("group", "hour", *_SERIES))
    return current.transform(_with_past, past).transform(_with_deviations).transform(conform, BASELINE)


def _hourly_medians(lag: DataFrame) -> DataFrame:
    """Return one row per group and hour, with the medians of the lag and the rates in the hour."""
    hour = F.floor(F.unix_seconds("minute") / _HOUR)
    return (
        lag.filter(F.col("topic").isNull())
        .groupBy("day", "group", F.timestamp_seconds(hour * _HOUR).alias("hour"))
        .agg(
            *(F.median(name).alias(name) for name in _SERIES),
            F.max("source").alias("source"),
            F.min("covered_from").alias("covered_from"),
            F.max("covered_to").alias("covered_to"),
        )
        .withColumn("hour_of_week", F.pmod(_hours_since_epoch("hour") - _MONDAY, F.lit(168)).cast("int"))
    )


def _with_past(current: DataFrame, past: DataFrame) -> DataFrame:
    """Add two arrays with the lag and the rates of the group in earlier hours.

    - `weeks`: values in the same hour of the week, in the last `WEEKS` weeks
    - `days`: values in the same hour of the day, on the last `DAYS` days

    Args:
        current: one row per group and hour to compare.
        past: one row per group and hour, with lag and rates. Only earlier hours are used.
    """
    then = past.select(
        F.col("group").alias("then_group"),
        _hours_since_epoch("hour").alias("then"),
        F.pmod(_hours_since_epoch("hour"), F.lit(24)).alias("then_hour_of_day"),
        F.struct(*_SERIES).alias("values"),
    )
    now = _hours_since_epoch("hour")
    hours_ago = now - F.col("then")
    same = (F.col("group") == F.col("then_group")) & (F.pmod(now, F.lit(24)) == F.col("then_hour_of_day"))
    joined = current.join(then, same & (hours_ago > 0) & (hours_ago <= WEEKS * 168), "left")
    names = [name for name in current.columns if name not in ("group", "hour")]
    return joined.groupBy("group", "hour").agg(
        *(F.first(name).alias(name) for name in names),
        F.collect_list(F.when(hours_ago % 168 == 0, F.col("values"))).alias("weeks"),
        F.collect_list(F.when(hours_ago <= DAYS * 24, F.col("values"))).alias("days"),
    )


def _with_deviations(rows: DataFrame) -> DataFrame:
    """Compare each hour with earlier hours, and add the result as columns.

    - `basis`: `HOUR_OF_WEEK` or `HOUR_OF_DAY`; null if too few earlier hours have data
    - `hours`: number of earlier hours with data
    - `lag_normal`, `lag_spread`: median and median absolute deviation (MAD) of the lag in the
      earlier hours
    - `lag_deviation`: robust z-score of the lag, as a number of standard deviations
    - the corresponding columns for the rates in `_SERIES`
    """
    weeks, days = F.size("weeks") >= FEWEST, F.size("days") >= FEWEST
    rows = rows.withColumns({
        "basis": F.when(weeks, HOUR_OF_WEEK).when(days, HOUR_OF_DAY),
        "hours": F.when(weeks, F.size("weeks")).otherwise(F.size("days")),
        "past": F.when(weeks, F.col("weeks")).when(days, F.col("days")),
    })  # fmt: skip
    for name, least in _SERIES.items():
        values = F.array_sort(F.filter(F.col(f"past.{name}"), lambda value: value.isNotNull()))
        normal, spread = F.col(f"{name}_normal"), F.col(f"{name}_spread")
        rows = rows.withColumn("values", F.when(F.size(values) >= FEWEST, values))
        rows = rows.withColumn(f"{name}_normal", _median(F.col("values")))
        rows = rows.withColumn(f"{name}_spread", _median(_absolute_deviations(normal)))
        sigma = F.greatest(spread * _SIGMA_PER_MAD, F.abs(normal) * _LEAST_RELATIVE_DEVIATION, F.lit(least))
        rows = rows.withColumn(f"{name}_deviation", (F.col(name) - normal) / sigma)
    return rows


def _absolute_deviations(center: Column) -> Column:
    return F.array_sort(F.transform("values", lambda value: F.abs(value - center)))


def _median(ordered: Column) -> Column:
    count = F.size(ordered)
    low, high = F.floor((count - 1) / 2).cast("int"), F.floor(count / 2).cast("int")
    return F.when(count > 0, (F.get(ordered, low) + F.get(ordered, high)) / 2)


def _hours_since_epoch(name: str) -> Column:
    return F.floor(F.unix_seconds(name) / _HOUR)
