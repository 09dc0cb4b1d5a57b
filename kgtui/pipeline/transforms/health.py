"""Gold `health`: Burrow's verdict on each group and partition, window by window, from recordings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from kgtui.lake.schemas.gold import BOTH, HEALTH, RECORDED
from kgtui.model.health.values import OBSERVED, Watching
from kgtui.model.verdict import Status
from kgtui.pipeline.spark_schema import TYPES, conform
from kgtui.pipeline.transforms.committed import with_commits
from kgtui.pipeline.transforms.observed import windows
from kgtui.pipeline.transforms.recorded import day_of, instant, listed, slots, whole
from kgtui.pipeline.transforms.verdicts import complete, name_of, observed, observed_share, status

if TYPE_CHECKING:
    from datetime import date

    from pyspark.sql import Column, DataFrame

WINDOW = 300
"""Seconds from one verdict to the next."""

COMMITS = "commits"
"""The label of a verdict made from the commits themselves."""

_DEFAULT = Watching()
_MOMENT = ("at", "slot", "at_before", "steady_since", "group")
_ROW = (
    "topic", "partition", "status", "worst", "affected", "lag", "unknown", "position", "complete", "commits",
    "first_commit", "last_commit", "undecided", "max_lag_topic", "max_lag_partition", "basis",
)  # fmt: skip


def health(
    times: DataFrame,
    groups: DataFrame,
    partitions: DataFrame,
    faults: DataFrame,
    *,
    commits: DataFrame | None = None,
    before: DataFrame | None = None,
    since: date | None = None,
    seconds: int = WINDOW,
    watching: Watching = _DEFAULT,
) -> DataFrame:
    """The table `health`, from recorded tables.

    Args:
        times: the `timeline` of the polls.
        commits: silver `commits`, which say more than polls see where there are enough of them.
        before: rows of this table from the day before `since`, that tell since when a status is bad.
        since: the first day that is wanted; windows begin in what was recorded before.
        seconds: from one verdict to the next.
    """
    moments = slots(times, seconds, since)
    groups_then = listed(whole(groups, times), whole(faults, times), moments).select(*_MOMENT, "members", "read")
    seen = windows(times, partitions, moments, watching.rules)
    if commits is not None:
        seen = seen.transform(with_commits, commits, partitions, times, watching.rules)
    found = (
        groups_then.join(seen.drop("steady_since"), ["at", "group"], "left")
        .transform(judged, watching)
        .transform(_with_groups)
        .transform(_with_bad_since, before)
        .transform(_contract)
    )
    return found if since is None else found.filter(F.col("day") >= F.lit(since))


def judged(rows: DataFrame, watching: Watching = _DEFAULT) -> DataFrame:
    """Add `status` and `undecided` (numbers of `Status`), `complete` and `basis` of each partition's window.

    Args:
        rows: windows that polls saw; where `exact` is true, of the commits themselves.
    """
    said = F.when(F.col("kind") == "share", observed_share(watching)).otherwise(observed(watching))
    rows = rows.withColumn("basis", F.lit(OBSERVED))
    if "exact" in rows.columns:
        judged_so = F.struct(status(watching.rules).alias("status"), F.lit(None).cast("int").alias("undecided"))
        said = F.when(F.col("exact"), judged_so).otherwise(said)
        rows = rows.withColumn("basis", F.when(F.col("exact"), COMMITS).otherwise(OBSERVED))
    rows = rows.withColumns({"said": said, "complete": F.least(complete(watching.rules), F.lit(1.0))})
    return rows.withColumns({"status": F.col("said.status"), "undecided": F.col("said.undecided")}).drop("said")


def _with_groups(rows: DataFrame) -> DataFrame:
    """Rows of partitions that are not OK, and one of each group: `roll_up`."""
    has = F.col("read") & F.col("topic").isNotNull()
    worst = F.max(F.when(has, F.col("status")))
    bad = F.when(has & (F.col("status") > Status.OK), F.struct(*_partition_row()))
    sized = F.when(has & F.col("lag").isNotNull(), F.struct(-F.col("lag"), "topic", "partition"))
    found = rows.groupBy(*_MOMENT, "read").agg(
        worst.alias("worst"),
        F.count_if(has).alias("partitions"),
        F.count_if(has & (F.col("complete") >= 1)).alias("full"),
        F.sum(F.when(has, F.col("lag"))).alias("lag"),
        F.count_if(has & F.col("missing")).cast("int").alias("unknown"),
        F.min(sized).alias("largest"),
        F.max(F.when(has, F.col("undecided"))).alias("undecided"),
        F.collect_list(bad).alias("bad"),
        F.max(F.when(has, F.col("basis"))).alias("basis"),  # `observed` if any is
    )
    return found.transform(_group_row).select(*_MOMENT, F.explode(F.concat("total", "bad")).alias("row")).select(
        *_MOMENT, "row.*"
    )  # fmt: skip


def _partition_row() -> list[Column]:
    return _struct({
        "topic": F.col("topic"),
        "partition": F.col("partition"),
        "status": name_of(F.col("status")),
        "lag": F.col("lag"),
        "position": F.col("position"),
        "complete": F.col("complete"),
        "commits": F.size("commits"),
        "first_commit": instant(F.element_at("commits", 1)["at"]),
        "last_commit": instant(F.element_at("commits", -1)["at"]),
        "undecided": name_of(_worse(F.col("undecided"), F.col("status"))),
        "basis": F.col("basis"),
    })  # fmt: skip


def _group_row(rows: DataFrame) -> DataFrame:
    number = F.least(F.coalesce("worst", F.lit(Status.OK.value)), F.lit(Status.ERR.value))
    ill = F.col("worst") > Status.OK
    same = F.size(F.filter("bad", lambda row: row["status"] == name_of(F.col("worst"))))
    full = F.when(F.col("partitions") > 0, F.col("full") / F.col("partitions")).otherwise(0.0)
    total = _struct({
        "status": F.when(F.col("read"), name_of(number)),
        "worst": F.when(ill, name_of(F.col("worst"))),
        "affected": F.when(F.col("read"), F.coalesce(F.when(ill, same), F.lit(0))),
        "lag": F.col("lag"),
        "unknown": F.when(F.col("read"), F.col("unknown")),
        "complete": F.when(F.col("read"), full),
        "undecided": F.when(F.col("read"), name_of(_worse(F.col("undecided"), number))),
        "max_lag_topic": F.col("largest.topic"),
        "max_lag_partition": F.col("largest.partition"),
        "basis": F.coalesce("basis", F.lit(OBSERVED)),
    })  # fmt: skip
    return rows.withColumn("total", F.array(F.struct(*total)))


def _worse(undecided: Column, given: Column) -> Column:
    """What was left open, if it is worse than what was given."""
    return F.when(F.least(undecided, F.lit(Status.ERR.value)) > F.least(given, F.lit(Status.ERR.value)), undecided)


def _struct(columns: dict[str, Column]) -> list[Column]:
    kinds = {column.name: TYPES[column.type] for column in HEALTH.columns}
    return [columns.get(name, F.lit(None)).cast(kinds[name]).alias(name) for name in _ROW]


def _with_bad_since(rows: DataFrame, before: DataFrame | None) -> DataFrame:
    """Add since when, window after window and without a gap, the status is bad."""
    key = ("group", "topic", "partition")
    order = Window.partitionBy(*key).orderBy("at")
    bad, at = F.coalesce(F.col("status") != "OK", F.lit(False)), F.col("at")
    goes_on = F.lag(bad).over(order) & (F.lag("at").over(order) == F.col("at_before"))
    steady = F.col("at_before") >= F.col("steady_since")
    rows = rows.withColumn("begins", bad & ~F.coalesce(goes_on & steady, F.lit(False)))
    started = instant(at)
    if before is not None:
        known = before.filter(F.col("bad_since").isNotNull()).select(
            *(F.col(name).alias(f"old_{name}") for name in (*key, "bad_since")),
            F.unix_millis("covered_to").alias("old_at"),
        )
        same = F.col("old_at") == F.col("at_before")
        for name in key:
            same &= F.col(name).eqNullSafe(F.col(f"old_{name}"))
        rows = rows.join(known, same & steady, "left")
        started = F.coalesce(F.col("old_bad_since"), started)
    first = F.last(F.when(F.col("begins"), started), ignorenulls=True).over(order)
    return rows.withColumn("bad_since", F.when(bad, first))


def _contract(rows: DataFrame) -> DataFrame:
    return rows.withColumns({
        "day": day_of(F.col("slot")),
        "window_start": instant(F.col("slot")),
        "source": F.when(F.col("basis") == COMMITS, BOTH).otherwise(RECORDED),
        "covered_from": instant(F.col("steady_since")),
        "covered_to": instant(F.col("at")),
    }).transform(conform, HEALTH)  # fmt: skip
