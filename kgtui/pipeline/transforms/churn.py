"""Gold `churn`: how often groups rebalanced, hour by hour, and what that cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from kgtui.lake.schemas.gold import BOTH, CHURN, RECORDED, SILVER
from kgtui.model.health.values import RebalanceRate
from kgtui.pipeline.spark_schema import conform
from kgtui.pipeline.transforms.recorded import day_of, floored, instant
from kgtui.pipeline.transforms.recorded_churn import HOUR, covered_hours

if TYPE_CHECKING:
    from datetime import date

    from pyspark.sql import Column, DataFrame

_KEY = ("group", "hour")
_COUNTS = ("rebalances", "members_joined", "members_left", "partitions_moved", "rebalancing_seconds", "epoch_steps")


def churn(
    times: DataFrame, recorded: DataFrame, rebalances: DataFrame, lag: DataFrame, *, since: date | None = None
) -> DataFrame:
    """The table `churn`. Of two sources that each see only part, the one that saw more counts.

    Args:
        times: the `timeline` of the polls.
        recorded: what `recorded_churn` gave.
        rebalances: silver `rebalances`.
        lag: gold `lag`.
        since: the first day that is wanted.
    """
    seen = recorded.select(*_KEY, "state_changes", *(F.col(name).alias(f"seen_{name}") for name in _COUNTS))
    read = of_records(rebalances).select(*_KEY, *(F.col(name).alias(f"read_{name}") for name in _COUNTS))
    found = (
        seen.join(read, [*_KEY], "full")
        .withColumns({name: F.greatest(f"seen_{name}", f"read_{name}") for name in _COUNTS})
        .join(F.broadcast(covered_hours(times)), "hour", "left")
        .join(_written(lag), [*_KEY], "left")
    )
    changed = F.greatest(*(F.coalesce(name, F.lit(0)) for name in ("rebalances", "state_changes", "members_left")))
    found = found.filter(changed > 0).transform(_rated).transform(_contract)
    return found if since is None else found.filter(F.col("day") >= F.lit(since))


def of_records(rebalances: DataFrame) -> DataFrame:
    """What silver `rebalances` tell of each hour: those that began in it."""
    start, end = F.unix_millis("start"), F.unix_millis("end")
    return rebalances.groupBy("group", floored(start, HOUR).alias("hour")).agg(
        F.count(F.lit(1)).alias("rebalances"),
        F.sum("joined").alias("members_joined"),
        F.sum("left").alias("members_left"),
        F.sum("moved").alias("partitions_moved"),
        (F.sum(end - start) / 1000).alias("rebalancing_seconds"),
        F.count(F.lit(1)).alias("epoch_steps"),
    )


def _written(lag: DataFrame) -> DataFrame:
    """Records a second that were written for a group in an hour."""
    at = F.unix_millis("minute")
    hour = floored(at, HOUR).alias("hour")
    return lag.filter(F.col("topic").isNull()).groupBy("group", hour).agg(F.avg("rate_in").alias("rate_in"))


def _rated(rows: DataFrame) -> DataFrame:
    """Add what it cost, the rate, and whether the group flaps (`RebalanceRate`)."""
    seen, read = F.col("seen_rebalances"), F.col("read_rebalances")
    rate = F.greatest(seen * 3600 / F.nullif(F.col("covered_seconds"), F.lit(0.0)), read.cast("double"))
    often = (F.col("rebalances") >= RebalanceRate.FLAPPING_LEAST) & (F.col("per_hour") >= RebalanceRate.FLAPPING)
    return rows.withColumns({
        "rebalances": F.coalesce("rebalances", F.lit(0)),
        "per_hour": rate,
        "records_held_up": F.col("rebalancing_seconds") * F.col("rate_in"),
        "source": _source(seen, read),
    }).withColumn("flapping", F.coalesce(often, F.lit(False)))  # fmt: skip


def _source(seen: Column, read: Column) -> Column:
    return F.when(seen.isNull(), SILVER).when(read.isNull(), RECORDED).otherwise(BOTH)


def _contract(rows: DataFrame) -> DataFrame:
    return rows.withColumns({"day": day_of(F.col("hour")), "hour": instant(F.col("hour"))}).transform(conform, CHURN)
