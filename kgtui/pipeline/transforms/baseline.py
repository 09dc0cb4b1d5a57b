"""Gold `baseline`: an hour of a group beside the same hours before, by median and median absolute deviation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kgtui.lake.schemas.gold import BASELINE
from kgtui.pipeline.spark_schema import conform

if TYPE_CHECKING:
    from datetime import date

    from pyspark.sql import Column, DataFrame

WEEKS = 8
"""How far back hours of the week are compared."""
DAYS = 14
"""How far back hours of the day are, while too few weeks are known."""
FEWEST = 3
"""Hours from which a normal is told."""

HOUR_OF_WEEK, HOUR_OF_DAY = "hour of week", "hour of day"

_HOUR = 3_600
_MONDAY = 4 * 24  # hours from 1 January 1970, a Thursday, to a Monday
_TO_SIGMA = 1.4826  # of a normal distribution, from its median absolute deviation
_SERIES = {"lag": 1.0, "rate_in": 0.1, "rate_out": 0.1}
"""Series, and the least deviation that counts as one: of the smallest numbers any step would look large."""
_LEAST_SHARE = 0.05  # of the normal, likewise


def baseline(lag: DataFrame, *, before: DataFrame | None = None, since: date | None = None) -> DataFrame:
    """The table `baseline`, from `lag`.

    Args:
        lag: the table.
        before: rows of this table from before `since`, to compare with.
        since: the first day that is wanted.
    """
    rows = lag if since is None else lag.filter(F.col("day") >= F.lit(since))
    now = rows.transform(hours)
    past = now.select("group", "hour", *_SERIES)
    if before is not None:
        earlier = before if since is None else before.filter(F.col("day") < F.lit(since))
        past = past.unionByName(earlier.select("group", "hour", *_SERIES))
    return now.transform(_with_past, past).transform(_compared).transform(conform, BASELINE)


def hours(lag: DataFrame) -> DataFrame:
    """The median of each group's minutes, hour by hour."""
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
        .withColumn("hour_of_week", F.pmod(_number("hour") - _MONDAY, F.lit(168)).cast("int"))
    )


def _with_past(now: DataFrame, past: DataFrame) -> DataFrame:
    """Add the same hours of the weeks and of the days before, as arrays."""
    then = past.select(
        F.col("group").alias("then_group"),
        _number("hour").alias("then"),
        F.pmod(_number("hour"), F.lit(24)).alias("then_of_day"),
        F.struct(*_SERIES).alias("values"),
    )
    ago = _number("hour") - F.col("then")
    same = (F.col("group") == F.col("then_group")) & (F.pmod(_number("hour"), F.lit(24)) == F.col("then_of_day"))
    joined = now.join(then, same & (ago > 0) & (ago <= WEEKS * 168), "left")
    names = [name for name in now.columns if name not in ("group", "hour")]
    return joined.groupBy("group", "hour").agg(
        *(F.first(name).alias(name) for name in names),
        F.collect_list(F.when(ago % 168 == 0, F.col("values"))).alias("weeks"),
        F.collect_list(F.when(ago <= DAYS * 24, F.col("values"))).alias("days"),
    )


def _compared(rows: DataFrame) -> DataFrame:
    """Add normal, spread and deviation of each series."""
    weeks, days = F.size("weeks") >= FEWEST, F.size("days") >= FEWEST
    rows = rows.withColumns({
        "basis": F.when(weeks, HOUR_OF_WEEK).when(days, HOUR_OF_DAY),
        "hours": F.when(weeks, F.size("weeks")).otherwise(F.size("days")),
        "past": F.when(weeks, F.col("weeks")).when(days, F.col("days")),
    })  # fmt: skip
    for name, least in _SERIES.items():
        known = F.array_sort(F.filter(F.col(f"past.{name}"), lambda value: value.isNotNull()))
        rows = rows.withColumn("known", F.when(F.size(known) >= FEWEST, known))
        rows = rows.withColumn(f"{name}_normal", _median(F.col("known")))
        rows = rows.withColumn(f"{name}_spread", _median(_apart(F.col(f"{name}_normal"))))
        sigma = F.greatest(F.col(f"{name}_spread") * _TO_SIGMA, F.abs(f"{name}_normal") * _LEAST_SHARE, F.lit(least))
        far = (F.col(name) - F.col(f"{name}_normal")) / sigma
        rows = rows.withColumn(f"{name}_deviation", far)
    return rows


def _apart(middle: Column) -> Column:
    return F.array_sort(F.transform("known", lambda value: F.abs(value - middle)))


def _median(ordered: Column) -> Column:
    count = F.size(ordered)
    low, high = F.floor((count - 1) / 2).cast("int"), F.floor(count / 2).cast("int")
    return F.when(count > 0, (F.get(ordered, low) + F.get(ordered, high)) / 2)


def _number(name: str) -> Column:
    """Hours since the epoch."""
    return F.floor(F.unix_seconds(name) / _HOUR)
