"""Gold `forecast`: where an hour's lag leads, and whether unread records expire first. From gold `lag`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from kgtui.lake.schemas.gold import FORECAST
from kgtui.model.health.rates import LEAST
from kgtui.pipeline.spark_schema import conform

if TYPE_CHECKING:
    from datetime import date

    from pyspark.sql import Column, DataFrame

HOUR = 3_600

_KEY = ("group", "topic", "partition")
_NOISE = 0.1
"""A group that keeps up seems slower than the log by up to this part of it, between two commits in a rush hour."""


def forecast(lag: DataFrame, *, retention: DataFrame | None = None, since: date | None = None) -> DataFrame:
    """The table `forecast`, from `lag`.

    Args:
        lag: the table, from a day before `since`: how fast logs are deleted shows over a day.
        retention: topic, retention_seconds, of topics whose retention is known and limited.
        since: the first day that is wanted.
    """
    hours = lag.transform(with_deletion).transform(_hours, since)
    if retention is None:
        hours = hours.withColumn("retention_seconds", F.lit(None).cast("double"))
    else:
        hours = hours.join(F.broadcast(retention.select("topic", "retention_seconds")), "topic", "left")
    found = hours.transform(_with_course).transform(_with_loss).transform(_with_groups)
    return found.filter(F.col("lag") > 0).transform(_contract)


def with_deletion(lag: DataFrame) -> DataFrame:
    """Add `deleted`, by how much the log start moved a second between the first leap seen and the last.

    Retention deletes whole segments: the start stands still for long and then leaps (`rates.deletion`).
    """
    order = Window.partitionBy(*_KEY, "steady_since").orderBy("minute")
    leaps = F.col("log_start") > F.lag("log_start").over(order)
    leap = F.when(leaps, F.struct(_seconds("covered_to").alias("at"), F.col("log_start").alias("start")))
    rows = lag.withColumn("leap", leap)
    first = F.first("leap", ignorenulls=True).over(order.rowsBetween(Window.unboundedPreceding, 0))
    last = F.last("leap", ignorenulls=True).over(order)
    rows = rows.withColumns({"first_leap": first, "last_leap": last})
    span = F.nullif(F.col("last_leap.at") - F.col("first_leap.at"), F.lit(0.0))
    return rows.withColumn("deleted", (F.col("last_leap.start") - F.col("first_leap.start")) / span)


def _hours(lag: DataFrame, since: date | None) -> DataFrame:
    """One row an hour, of the minutes since the newest gap in it: last values, the line through lag, growths."""
    rows = lag if since is None else lag.filter(F.col("day") >= F.lit(since))
    rows = rows.withColumn("hour", F.timestamp_seconds(F.floor(F.unix_seconds("minute") / HOUR) * HOUR))
    newest = F.max("steady_since").over(Window.partitionBy(*_KEY, "hour"))
    rows = rows.withColumn("newest", newest).filter(F.col("steady_since") == F.col("newest"))
    at = _seconds("covered_to") - F.unix_seconds("hour")
    values = ("lag", "position", "log_end", "lead", "lost", "unknown", "time_lag", "time_lag_at_least", "deleted")
    ends = [F.max_by(name, "minute").alias(name) for name in values]
    return rows.groupBy("day", "hour", *_KEY).agg(
        *ends,
        F.regr_slope("lag", at).alias("slope"),
        F.regr_count("lag", at).alias("reads"),
        F.regr_sxx("lag", at).alias("sxx"),
        F.regr_syy("lag", at).alias("syy"),
        F.regr_slope("position", at).alias("moved"),
        F.regr_slope("log_end", at).alias("grown"),
        F.max("source").alias("source"),
        F.min("covered_from").alias("covered_from"),
        F.max("covered_to").alias("covered_to"),
    )


def _with_course(rows: DataFrame) -> DataFrame:
    """Add trend and drain_seconds, as `rates.slope` and `rates.drain` have them."""
    enough = (F.col("reads") >= LEAST) & (F.col("sxx") > 0)
    off = F.greatest(F.col("syy") - F.col("slope") ** 2 * F.col("sxx"), F.lit(0.0))
    rows = rows.withColumns({
        "trend": F.when(enough, F.col("slope")),
        "trend_error": F.when(enough, F.sqrt(off / (F.col("reads") - 2) / F.col("sxx"))),
    })  # fmt: skip
    falls = (F.col("trend") < 0) & (-F.col("trend") > 2 * F.col("trend_error"))
    known = F.coalesce(F.col("unknown") == 0, F.lit(True))
    return rows.withColumn("drain_seconds", F.when(falls & known, F.col("lag") / -F.col("trend")))


def _with_loss(rows: DataFrame) -> DataFrame:
    """Add when retention reaches the position, as `rates.loss_to_come` has it: by the topic's or by log starts."""
    moved, grown = F.col("moved"), F.col("grown")
    behind = F.when(grown > 0, 1 - moved / grown).when(grown <= 0, F.when(moved <= 0, 1.0).otherwise(0.0))
    waits = F.col("position").isNotNull() & (F.col("lag") > 0) & (F.coalesce("lost", F.lit(0)) == 0)
    falls = (behind > 0) & ((behind >= _NOISE) | F.col("time_lag_at_least"))
    kept, closing = F.col("retention_seconds"), F.col("deleted") - moved
    age = F.col("time_lag")
    by_age = F.when(kept.isNotNull() & age.isNotNull(), F.greatest(kept - age, F.lit(0.0)) / behind)
    by_start = F.when(closing > 0, F.col("lead") / closing)
    loss = F.when(waits & falls, F.least(by_age, by_start))
    of_topic = F.coalesce(by_age <= by_start, by_age.isNotNull())
    told = waits & behind.isNotNull() & (kept.isNotNull() | F.col("deleted").isNotNull())
    rows = rows.withColumns({
        "loss_seconds": loss,
        "loss_basis": F.when(loss.isNotNull(), F.when(of_topic, "retention").otherwise("log start")),
        "loss_at_most": F.when(loss.isNotNull(), of_topic & F.col("time_lag_at_least")),
        "told": told,
    })  # fmt: skip
    sooner = F.col("drain_seconds").isNull() | (F.col("loss_seconds") < F.col("drain_seconds"))
    risk = F.when(F.col("loss_seconds").isNotNull(), sooner).when(F.col("told"), F.lit(False))
    return rows.withColumn("at_risk", risk)


def _with_groups(rows: DataFrame) -> DataFrame:
    """What a group may lose is told by its partitions."""
    group = Window.partitionBy("group", "hour")
    whole = F.col("topic").isNull()
    soonest = F.min(F.when(F.col("at_risk"), F.struct("loss_seconds", "loss_basis", "loss_at_most"))).over(group)
    rows = rows.withColumns({"soonest": soonest, "any_risk": F.bool_or("at_risk").over(group)})
    of_group = {name: F.col(f"soonest.{name}") for name in ("loss_seconds", "loss_basis", "loss_at_most")}
    of_group["at_risk"] = F.col("any_risk")
    return rows.withColumns({name: F.when(whole, column).otherwise(F.col(name)) for name, column in of_group.items()})


def _contract(rows: DataFrame) -> DataFrame:
    def after(name: str) -> Column:
        # A line that hardly falls ends beyond what a timestamp can say.
        near = F.when(F.col(name) < 100 * 365 * 86_400, F.col(name))
        return F.timestamp_millis((F.unix_millis("covered_to") + near * 1000).cast("long"))

    return rows.withColumns({"drained_at": after("drain_seconds"), "loss_at": after("loss_seconds")}).transform(
        conform, FORECAST
    )


def _seconds(name: str) -> Column:
    return F.unix_millis(name) / 1000
