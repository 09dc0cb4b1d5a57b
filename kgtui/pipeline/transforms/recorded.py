"""What recorded rows mean: polls that follow each other, states carried from row to row, and groups that were not read.

Only changes are recorded, and everything once a keyframe: the state at a poll is, of the rows of its keyframe, the
newest of each key. Times are milliseconds since the epoch here, as in the recorded tables.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame
    from pyspark.sql.window import WindowSpec

GROUP_KEY = ("group",)
PARTITION_KEY = ("group", "topic", "partition")
FAULT_KEY = ("scope", "broker", "group", "name")

_DAY_MS = 86_400_000


def timeline(polls: DataFrame) -> DataFrame:
    """The polls in order, each with what it follows. Small, and used again and again: worth a checkpoint.

    Returns:
        poll, keyframe, interval_ms; `segment`: number of its keyframe; `number`: of the poll; `previous`: the poll
        before, null after a gap; `steady_since`: the poll after the newest gap; `lasts`: until when rows of its
        keyframe hold at the latest, `next_keyframe` or, if that is null, the last poll before a gap.
    """
    order = _one_by_one("poll")
    before = F.lag("poll").over(order)
    told = polls.select(
        "poll",
        "keyframe",
        "interval_ms",
        F.row_number().over(order).alias("number"),
        F.when(F.col("gap").isNull(), before).alias("previous"),
        (F.col("keyframe") != F.lag("keyframe").over(order)).cast("int").alias("turns"),
    )
    starts = F.when(F.col("previous").isNull(), F.col("poll"))
    told = told.select(
        "poll",
        "keyframe",
        "interval_ms",
        "number",
        "previous",
        F.coalesce(F.sum("turns").over(order), F.lit(0)).alias("segment"),
        F.last(starts, ignorenulls=True).over(order).alias("steady_since"),
        F.when(F.lead("previous").over(order).isNotNull(), F.lead("poll").over(order)).alias("next"),
    )
    stretch = Window.partitionBy("segment", "steady_since")
    last, upto = F.max("poll").over(stretch), F.max(F.coalesce("next", "poll")).over(stretch)
    return told.withColumns({"lasts": upto, "next_keyframe": F.when(upto > last, upto)}).drop("next")


def _one_by_one(column: str) -> WindowSpec:
    """A window of all rows, of which there are few. Spark Connect warns of one that says nothing of partitions."""
    return Window.partitionBy(F.lit(0)).orderBy(column)


def slots(times: DataFrame, seconds: int, since: date | None = None) -> DataFrame:
    """Stretches of time that have polls, each to be seen as of its last poll.

    Args:
        times: a `timeline`.
        seconds: how long a slot is.
        since: leave out those before this day, but for the last of them.

    Returns:
        slot: its start; `at`: its last poll, with keyframe, interval_ms, number and steady_since; `first`: its first
        poll since then; `at_before`: `at` of the slot before, null for the first.
    """
    found = (
        times.groupBy(floored(F.col("poll"), seconds * 1000).alias("slot"))
        .agg(
            F.max("poll").alias("at"),
            F.max("keyframe").alias("keyframe"),
            F.max("number").alias("number"),
            F.max("interval_ms").alias("interval_ms"),
            F.max("steady_since").alias("steady_since"),
            F.min("poll").alias("first"),
        )
        .withColumn("first", F.greatest("first", "steady_since"))
    )
    order = _one_by_one("slot")
    found = found.withColumns({"at_before": F.lag("at").over(order), "next": F.lead("slot").over(order)})
    if since is not None:
        start = int(datetime(since.year, since.month, since.day, tzinfo=UTC).timestamp() * 1000)
        found = found.filter(F.coalesce("next", "slot") >= start)
    return found.drop("next")


def whole(rows: DataFrame, times: DataFrame) -> DataFrame:
    """Rows whose poll came to be, with what `timeline` knows of it."""
    return rows.drop("day").join(F.broadcast(times.drop("keyframe", "interval_ms", "number")), "poll")


def carried(rows: DataFrame, moments: DataFrame, key: Sequence[str]) -> DataFrame:
    """The state at some moments: of each key the newest row of the moment's keyframe, unless it says gone.

    Args:
        rows: of a recorded table, of polls that came to be; columns of `moments` other than `keyframe` win.
        moments: `at` and `keyframe`, and what shall be known beside; few.
        key: what identifies a row.

    Returns:
        Columns of both; `poll` is the one that the row was written by.
    """
    order = Window.partitionBy("keyframe", *key).orderBy("poll")
    ours = [name for name in rows.columns if name == "keyframe" or name not in moments.columns]
    spans = rows.select(*ours, F.lead("poll").over(order).alias("until"))
    held = (F.col("poll") <= F.col("at")) & (F.col("until").isNull() | (F.col("at") < F.col("until")))
    later = moments.withColumnRenamed("keyframe", "of_keyframe")
    found = spans.join(F.broadcast(later), (F.col("keyframe") == F.col("of_keyframe")) & held)
    return found.filter(~F.col("gone")).drop("until", "of_keyframe", "gone")


def anchored(rows: DataFrame, times: DataFrame, key: Sequence[str]) -> DataFrame:
    """`whole` rows, and the full state again at each poll after a gap that is no keyframe: a stretch begins with it."""
    known = whole(rows, times)
    after_gap = (F.col("poll") == F.col("steady_since")) & (F.col("poll") != F.col("keyframe"))
    moments = times.filter(after_gap).select(F.col("poll").alias("at"), "keyframe")
    again = (
        carried(known, moments, key)
        .filter(F.col("poll") < F.col("at"))
        .withColumn("gone", F.lit(False))
        .withColumn("poll", F.col("at"))
        .select(*rows.drop("day").columns)
    )
    return known.unionByName(whole(again, times))


def listed(groups: DataFrame, faults: DataFrame, moments: DataFrame) -> DataFrame:
    """Every group at some moments, and whether its offsets could be `read`: if not, what is recorded is as of before.

    Args:
        groups, faults: `whole`.

    Returns:
        Columns of `moments` and of `groups`, and `read`.
    """
    told = carried(faults.filter(F.col("scope") == "offsets"), moments.select("at", "keyframe"), FAULT_KEY)
    one = told.filter(F.col("group").isNotNull()).select("at", "group", F.lit(True).alias("refused")).distinct()
    # Those that concern no one group concern all of a coordinator; without a broker, all.
    many = (
        told.filter(F.col("group").isNull())
        .groupBy("at")
        .agg(F.collect_set("broker").alias("silent"), F.bool_or(F.col("broker").isNull()).alias("all_silent"))
    )
    return (
        carried(groups, moments, GROUP_KEY)
        .join(one, ["at", "group"], "left")
        .join(F.broadcast(many), "at", "left")
        .withColumn("unheard", F.col("all_silent") | F.array_contains("silent", F.col("coordinator")))
        .withColumn("read", F.col("refused").isNull() & ~F.coalesce("unheard", F.lit(False)))
        .drop("refused", "silent", "all_silent", "unheard")
    )


def floored(at: Column, span: int) -> Column:
    """The start of the stretch of time, of `span` milliseconds, that a time lies in."""
    return at - F.pmod(at, F.lit(span))


def day_of(at: Column) -> Column:
    """The day of a time, in UTC whatever the session's time zone."""
    return F.date_from_unix_date(F.floor(at / _DAY_MS).cast("int"))


def instant(at: Column) -> Column:
    """A time as a timestamp."""
    return F.timestamp_millis(at)
