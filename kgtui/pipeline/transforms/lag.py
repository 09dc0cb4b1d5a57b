"""Gold `lag`: position, lag, rates and time lag of each partition and group, minute by minute, from recordings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from kgtui.lake.schemas.gold import LAG, RECORDED
from kgtui.pipeline.spark_schema import TYPES, conform
from kgtui.pipeline.transforms.recorded import PARTITION_KEY, carried, day_of, instant, listed, slots, whole
from kgtui.pipeline.transforms.time_lag import with_log_ends, with_time_lag

if TYPE_CHECKING:
    from datetime import date

    from pyspark.sql import Column, DataFrame

MINUTE = 60
"""Seconds of a row."""

_MINUTE = ("at", "slot", "first", "steady_since", "group")
_SEEN = (
    "topic", "partition", "lag", "position", "log_start", "log_end", "lead", "lost", "rate_in", "rate_out",
    "time_lag", "time_lag_at_least", "kind", "error",
)  # fmt: skip
_ROW = (*_SEEN, "partitions", "unknown", "members", "state")


def lag(
    times: DataFrame, groups: DataFrame, partitions: DataFrame, faults: DataFrame, *, since: date | None = None
) -> DataFrame:
    """The table `lag`, from recorded tables.

    Args:
        times: the `timeline` of the polls.
        since: the first day that is wanted; what was recorded before tells the age of unread records, and the rates
            of the first minute.
    """
    minutes = slots(times, MINUTE, since)
    rows = whole(partitions, times).transform(with_log_ends)
    seen = (
        carried(rows, minutes, PARTITION_KEY)
        .transform(with_lag)
        .transform(with_rates)
        .transform(with_time_lag, rows)
        .select("at", "group", *_SEEN, "missing")
    )
    found = (
        listed(whole(groups, times), whole(faults, times), minutes)
        .select(*_MINUTE, "members", "state", "read")
        .join(seen, ["at", "group"], "left")
        .transform(_with_totals)
        .transform(_contract)
    )
    return found if since is None else found.filter(F.col("day") >= F.lit(since))


def with_lag(rows: DataFrame) -> DataFrame:
    """Add position, lag, lead and lost as `kgtui.model.offsets` counts them, and whether a lag is `missing`.

    Args:
        rows: of recorded `partitions`.
    """
    share, fine = F.col("kind") == "share", F.coalesce("error", F.lit(0)) == 0
    position = F.when(share, F.col("spso")).otherwise(F.col("committed"))
    known = F.when(share | fine, position)
    of_log = F.when(known.isNotNull() & F.col("log_end").isNull(), F.col("log_error"))
    code = F.when(share | ~fine, F.col("error")).otherwise(of_log)
    return rows.withColumns({
        "position": position,
        "lag": F.when(share, F.col("lag")).otherwise(_at_least_none(F.col("log_end") - known)),
        "lead": _at_least_none(known - F.col("log_start")),
        "lost": _at_least_none(F.col("log_start") - known),
        "error": F.nullif(code, F.lit(0)),
    }).withColumn("missing", F.col("lag").isNull() & (~fine | F.col("position").isNotNull()))  # fmt: skip


def _at_least_none(records: Column) -> Column:
    """Never negative; `greatest` alone would make 0 of null."""
    return F.when(records.isNotNull(), F.greatest(records, F.lit(0).cast("long")))


def with_rates(rows: DataFrame) -> DataFrame:
    """Add rate_in and rate_out since the slot before; null across a gap, and where an offset went back."""
    order = Window.partitionBy(*PARTITION_KEY).orderBy("at")
    before = F.lag("at").over(order)
    follows = (before == F.col("at_before")) & (before >= F.col("steady_since"))
    rows = rows.withColumns({
        "span": F.when(follows, (F.col("at") - before) / 1000),
        "grown": F.col("log_end") - F.lag("log_end").over(order),
        "moved": F.col("position") - F.lag("position").over(order),
    })  # fmt: skip
    return rows.withColumns({
        "rate_in": F.when(F.col("grown") >= 0, F.col("grown") / F.col("span")),
        "rate_out": F.when(F.col("moved") >= 0, F.col("moved") / F.col("span")),
    })  # fmt: skip


def _with_totals(rows: DataFrame) -> DataFrame:
    """The rows of partitions, and one of each group: without sums where its offsets were not read."""
    has = F.col("read") & F.col("topic").isNotNull()
    known_age = F.max(F.when(has, F.col("time_lag")))
    total = {
        "lag": F.sum(F.when(has, F.col("lag"))),
        "lead": F.min(F.when(has, F.col("lead"))),
        "lost": F.sum(F.when(has, F.col("lost"))),
        "rate_in": F.sum(F.when(has, F.col("rate_in"))),
        "rate_out": F.sum(F.when(has, F.col("rate_out"))),
        "time_lag": known_age,
        "time_lag_at_least": F.when(
            known_age.isNotNull(), F.bool_or(has & (F.coalesce("time_lag_at_least", F.lit(False)) | F.col("missing")))
        ),
        "partitions": F.when(F.col("read"), F.count_if(has)),
        "unknown": F.when(F.col("read"), F.count_if(has & F.col("missing"))),
        "members": F.col("members"),
        "state": F.col("state"),
    }
    one = {name: F.col(name) for name in _SEEN}
    return (
        rows.groupBy(*_MINUTE, "members", "state", "read")
        .agg(F.array(_row(total)).alias("total"), F.collect_list(F.when(has, _row(one))).alias("partitions"))
        .select(*_MINUTE, F.explode(F.concat("total", "partitions")).alias("row"))
        .select(*_MINUTE, "row.*")
    )


def _row(columns: dict[str, Column]) -> Column:
    """A struct of all columns; null where there is none."""
    kinds = {column.name: TYPES[column.type] for column in LAG.columns}
    return F.struct(*(columns.get(name, F.lit(None)).cast(kinds[name]).alias(name) for name in _ROW))


def _contract(rows: DataFrame) -> DataFrame:
    return rows.withColumns({
        "day": day_of(F.col("slot")),
        "minute": instant(F.col("slot")),
        "steady_since": instant(F.col("steady_since")),
        "source": F.lit(RECORDED),
        "covered_from": instant(F.col("first")),
        "covered_to": instant(F.col("at")),
    }).transform(conform, LAG)  # fmt: skip
