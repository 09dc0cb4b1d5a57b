"""Find the time lags before a row, from which Python functions compute since when a group has been behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import LongType

from kgtui.model.health import backlog_start

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import Column, DataFrame

HISTORY = 86_400_000
"""How long before a row its time lags are searched, in milliseconds."""

_KEY = ("group", "topic", "partition")


def with_age_histories(rows: DataFrame, lag: DataFrame) -> DataFrame:
    """Return the time lags of the group or partition of each row until the row.

    Args:
        rows: rows with group, topic, partition, `at` and `steady_since` (both in milliseconds). Time lags before
            `steady_since` and more than `HISTORY` before `at` are left out. Rows without any time lag are left out.
        lag: the gold table.

    Returns:
        DataFrame with the columns at, group, topic, partition, and `ages`: array of structs with `at` in milliseconds
        and `age` in seconds, oldest first
    """
    known = lag.filter(F.col("time_lag").isNotNull() & ~F.coalesce("time_lag_at_least", F.lit(False))).select(
        *(F.col(name).alias(f"lag_{name}") for name in _KEY),
        F.unix_millis("covered_to").alias("read_at"),
        F.col("time_lag").alias("age"),
    )
    recent = (F.col("read_at") <= F.col("at")) & (F.col("read_at") >= F.col("at") - HISTORY)
    same = recent & (F.col("read_at") >= F.col("steady_since")) & (F.col("group") == F.col("lag_group"))
    for name in _KEY[1:]:
        same &= F.col(name).eqNullSafe(F.col(f"lag_{name}"))
    joined = F.broadcast(rows.select("at", "steady_since", *_KEY)).join(known, same)
    ages = F.array_sort(F.collect_list(F.struct(F.col("read_at").alias("at"), "age"))).alias("ages")
    return joined.groupBy("at", *_KEY).agg(ages)


def rising_since(ages: Column) -> Column:
    """Apply `kgtui.model.health.backlog_start.rising_since` to an array of `with_age_histories`."""
    return _in_python(backlog_start.rising_since, ages)


def behind_since(ages: Column) -> Column:
    """Apply `kgtui.model.health.backlog_start.behind_since` to an array of `with_age_histories`."""
    return _in_python(backlog_start.behind_since, ages)


def _in_python(function: Callable[[Sequence[tuple[int, float]]], int], ages: Column) -> Column:
    # Spark expressions would evaluate the nested searches once per element. Only few rows need the function: one for
    # each problem that begins.
    # Without Arrow, the workers of a cluster do not need pyarrow.
    run = F.udf(lambda pairs: function([tuple(pair) for pair in pairs]), LongType(), useArrow=False)
    return run(ages)
