"""The gold table `churn`: how often and how long each group rebalanced in each hour.

The rebalances come from two sources: the polls of a recording, and decoded records of
`__consumer_offsets`.

Terms:

- flapping: a group is flapping if its rebalances are too frequent
- burst: series of rebalances with short pauses (at most `_BURST_PAUSE`) between them
- keyframe: poll for which the recorder wrote all rows. For other polls, it wrote only changed rows.
- gap: time for which polls are missing, for example because the recorder was stopped
"""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from kgtui.lake.schemas.gold import BOTH, CHURN, RECORDED, SILVER
from kgtui.model.group_types import REBALANCING
from kgtui.model.health.values import RebalanceRate
from kgtui.pipeline.spark_schema import conform
from kgtui.pipeline.transforms.recorded_state import (
    GROUP_KEY,
    PARTITION_KEY,
    begins_lifetime,
    first_keyframe,
    floor_to,
    is_since,
    missing_from_next_keyframe,
    sum_of_doubles,
    to_day,
    to_timestamp,
    with_lifetimes,
    with_timeline,
)

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

HOUR_MS = 3_600_000
"""Length of time that one row of the gold table `churn` covers, in milliseconds."""

_KEY = ("group", "hour")
_COUNTS = ("rebalances", "members_joined", "members_left", "partitions_moved", "rebalancing_seconds", "epoch_steps")

_MEMBER_KEY = ("group", "member_id")
_EVENTS = ("changes", "entered", "steps", "shuffles", "joined", "left", "moved")

_LEAST_COVERED = 1_800.0
"""If polls cover fewer seconds of an hour than this, the column `per_hour` is not reliable.

The column is the number of rebalances, extrapolated to a whole hour. If it is not reliable, a group
is `flapping` (its rebalances are too frequent) only if many rebalances were observed, too.
"""

_BURST_PAUSE = 1_800_000
"""Maximum time between two rebalances in one burst (series of rebalances), in milliseconds."""


def churn(
    timeline: DataFrame,
    recorded: DataFrame,
    rebalances: DataFrame,
    lag: DataFrame,
    *,
    before: DataFrame | None = None,
    since: int | None = None,
) -> DataFrame:
    """Compute the gold table `churn`, with the rebalances of each group in each hour.

    There are two counts of rebalances and other changes: one from the polls of a recording, and one
    from the decoded records of `__consumer_offsets`. The larger count is used.

    Args:
        timeline: result of `poll_timeline`, with one row per poll.
        recorded: counts from polls, from `recorded_churn`.
        rebalances: the silver table `rebalances`, decoded from `__consumer_offsets`.
        lag: the gold table `lag`, which has the numbers of records written per second.
        before: stored rows of `churn` for the hours before `since`; None if there are none. A burst
            (series of rebalances) that continues after `since` may have begun in these hours.
        since: beginning of the first hour to return, in milliseconds since the epoch; None for all
            hours.
    """
    names = (*_COUNTS, "times")
    if before is not None and since is not None:
        recorded = recorded.filter(F.col("hour") >= since)
    recorded = recorded.select(*_KEY, "state_changes", *(F.col(name).alias(f"recorded_{name}") for name in names))
    decoded = _decoded_churn(rebalances).select(*_KEY, *(F.col(name).alias(f"decoded_{name}") for name in names))
    empty = F.array().cast("array<bigint>")
    times = F.array_union(F.coalesce("recorded_times", empty), F.coalesce("decoded_times", empty))
    rows = (
        recorded.join(decoded, [*_KEY], "full")
        .withColumns({name: F.greatest(f"recorded_{name}", f"decoded_{name}") for name in _COUNTS})
        .withColumn("times", F.array_sort(times))
        .transform(_with_bursts, before)
        .join(F.broadcast(_covered_hours(timeline)), "hour", "left")
        .join(_incoming_rates(lag), [*_KEY], "left")
    )
    changes = F.greatest(*(F.coalesce(name, F.lit(0)) for name in ("rebalances", "state_changes", "members_left")))
    rows = rows.filter(changes > 0).transform(_with_rate).transform(_to_table)
    return rows if since is None else rows.filter(is_since("hour", since))


def _decoded_churn(rebalances: DataFrame) -> DataFrame:
    """Sum up the silver table `rebalances` per group and hour.

    A rebalance counts for the hour in which it began.
    """
    start, end = F.unix_millis("start"), F.unix_millis("end")
    return rebalances.groupBy("group", floor_to(start, HOUR_MS).alias("hour")).agg(
        F.count(F.lit(1)).alias("rebalances"),
        F.sum("joined").alias("members_joined"),
        F.sum("left").alias("members_left"),
        F.sum("moved").alias("partitions_moved"),
        (F.sum(end - start) / 1000).alias("rebalancing_seconds"),
        F.count(F.lit(1)).alias("epoch_steps"),
        F.collect_set(start).alias("times"),
    )


def _with_bursts(rows: DataFrame, before: DataFrame | None) -> DataFrame:
    """Add the times of three rebalances to each row, in milliseconds since the epoch.

    - `first_at`, `last_at`: first and last rebalance in the hour
    - `burst_since`: first rebalance in the burst to which `last_at` belongs. A burst is a series of
      rebalances with pauses of at most `_BURST_PAUSE`. It can begin in an earlier hour.

    Args:
        rows: one row per group and hour. Column `times` is the ordered array of the times of its
            rebalances.
        before: stored rows of the gold table `churn` for earlier hours; None if there are none.
    """
    nothing = F.lit(None).cast("bigint")
    start = F.struct(nothing.alias("last"), nothing.alias("first"))

    def step(burst: Column, at: Column) -> Column:
        continues = at - burst["last"] <= _BURST_PAUSE
        return F.struct(at.alias("last"), F.when(continues, burst["first"]).otherwise(at).alias("first"))

    # A burst is a series of rebalances with short pauses. `began` is the first rebalance that
    # belongs to the last burst of the hour. If `began` is also the first rebalance of the hour, the
    # burst may have begun in an earlier hour.
    began = F.aggregate("times", start, step, lambda burst: burst["first"])
    rows = rows.withColumns({"first_at": F.array_min("times"), "last_at": F.array_max("times"), "began": began})
    if before is not None:
        times = {"hour": "hour", "last_at": "last_rebalance", "began": "burst_since"}
        earlier = before.select("group", *(F.unix_millis(column).alias(name) for name, column in times.items()))
        rows = rows.unionByName(earlier.withColumn("is_earlier", F.lit(True)), allowMissingColumns=True)
    order = Window.partitionBy("group").orderBy("hour")
    last = F.last("last_at", ignorenulls=True).over(order.rowsBetween(Window.unboundedPreceding, -1))
    continues = (F.col("began") == F.col("first_at")) & (F.col("first_at") - last <= _BURST_PAUSE)
    rows = rows.withColumn("began", F.when(~F.coalesce(continues, F.lit(False)), F.col("began")))
    burst = F.last("began", ignorenulls=True).over(order)
    rows = rows.withColumn("burst_since", F.when(F.col("last_at").isNotNull(), burst))
    return rows if before is None else rows.filter(F.col("is_earlier").isNull()).drop("is_earlier")


def _incoming_rates(lag: DataFrame) -> DataFrame:
    """Return for each group and hour the mean of `rate_in`, the records written per second."""
    at = F.unix_millis("minute")
    hour = floor_to(at, HOUR_MS).alias("hour")
    average = sum_of_doubles(F.col("rate_in")) / F.nullif(F.count("rate_in"), F.lit(0))
    return lag.filter(F.col("topic").isNull()).groupBy("group", hour).agg(average.alias("rate_in"))


def _with_rate(rows: DataFrame) -> DataFrame:
    """Add the columns `per_hour`, `records_held_up`, `source` and `flapping`.

    - `per_hour`: rebalances per hour. The larger of two numbers is used: rebalances in polls,
      extrapolated to a whole hour, and rebalances in decoded records of `__consumer_offsets`.
    - `records_held_up`: estimated number of records that were written during rebalances
    - `source`: whether polls, decoded records or both have data for this hour
    - `flapping`: whether rebalances are too frequent: `rebalances` and `per_hour` reach the limits
      in `RebalanceRate`. If polls cover only a small part of the hour, the limit for `rebalances`
      is higher.
    """
    recorded, decoded = F.col("recorded_rebalances"), F.col("decoded_rebalances")
    recorded_rate = recorded * 3600 / F.nullif(F.col("covered_seconds"), F.lit(0.0))
    often = (F.col("rebalances") >= RebalanceRate.FLAPPING_LEAST) & (F.col("per_hour") >= RebalanceRate.FLAPPING)
    # If polls cover less than half of the hour, the extrapolated rate `per_hour` is not reliable.
    # Therefore, many rebalances must have been observed, too.
    often &= (F.col("rebalances") >= RebalanceRate.FLAPPING) | (F.col("covered_seconds") >= _LEAST_COVERED)
    return rows.withColumns({
        "rebalances": F.coalesce("rebalances", F.lit(0)),
        "per_hour": F.greatest(recorded_rate, decoded.cast("double")),
        "records_held_up": F.col("rebalancing_seconds") * F.col("rate_in"),
        "source": F.when(recorded.isNull(), SILVER).when(decoded.isNull(), RECORDED).otherwise(BOTH),
    }).withColumn("flapping", F.coalesce(often, F.lit(False)))  # fmt: skip


def _to_table(rows: DataFrame) -> DataFrame:
    first, last = to_timestamp(F.col("first_at")), to_timestamp(F.col("last_at"))
    return rows.withColumns({
        "day": to_day(F.col("hour")),
        "hour": to_timestamp(F.col("hour")),
        "burst_since": to_timestamp(F.col("burst_since")),
        "last_rebalance": last,
        # If no polls cover the hour, `covered_from` and `covered_to` become the times of the first
        # and of the last rebalance in the decoded records.
        "covered_from": F.coalesce("covered_from", first),
        "covered_to": F.coalesce("covered_to", last),
    }).transform(conform, CHURN)  # fmt: skip


def recorded_churn(
    timeline: DataFrame, groups: DataFrame, members: DataFrame, partitions: DataFrame, *, since: int | None = None
) -> DataFrame:
    """Count the changes to each group per hour, as shown by the polls of a recording.

    Changes during a gap (time for which polls are missing) are not counted. For an hour without
    changes, a group has no row, or a row in which all counts are 0.

    Args:
        timeline: result of `poll_timeline`, with one row per poll.
        groups, members, partitions: the recorded tables with these names.
        since: beginning of the first hour with complete counts, in milliseconds since the epoch;
            None for all hours. The counts of earlier hours can be too small.

    Returns:
        DataFrame with group, hour (ms), one column per count (such as `members_joined`),
            rebalancing_seconds, and `times`: array with the times of the polls (ms) that observed a
            rebalance
    """
    owners = partitions.select("day", "keyframe", "poll", *PARTITION_KEY, "gone", "owner")
    if since is not None:
        keyframe = first_keyframe(timeline, since)
        groups, members = (rows.filter(F.col("keyframe") >= keyframe) for rows in (groups, members))
        owners = _owners_since(owners, keyframe)
    group_rows = with_timeline(groups, timeline).transform(with_lifetimes, GROUP_KEY)
    owners = with_timeline(owners, timeline)
    parts = [
        _group_changes(group_rows),
        _rebalancing_seconds(group_rows),
        _member_changes(with_timeline(members, timeline)),
        _owner_changes(owners.transform(with_lifetimes, PARTITION_KEY)),
    ]
    events = reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), parts)
    rebalanced = F.greatest(*(F.coalesce(name, F.lit(0)) for name in ("entered", "steps", "shuffles"))) > 0
    sums = events.groupBy("group", "hour").agg(
        *(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in _EVENTS),
        F.max("has_epoch").alias("has_epoch"),
        F.coalesce(sum_of_doubles(F.col("seconds")), F.lit(0.0)).alias("rebalancing_seconds"),
        F.collect_set(F.when(rebalanced, F.col("at"))).alias("times"),
    )
    # Rebalances are counted in three ways: by changes to a rebalancing state, by increases of the
    # group epoch, and by polls that found new or missing members. Each way can miss some
    # rebalances, so the largest count is used.
    return sums.select(
        "group",
        "hour",
        F.greatest("entered", "steps", "shuffles").alias("rebalances"),
        F.col("changes").alias("state_changes"),
        F.when(F.col("has_epoch"), F.col("steps")).alias("epoch_steps"),
        F.col("joined").alias("members_joined"),
        F.col("left").alias("members_left"),
        F.col("moved").alias("partitions_moved"),
        "rebalancing_seconds",
        "times",
    )


def _owners_since(owners: DataFrame, keyframe: int) -> DataFrame:
    """Return the rows of `owners` from a keyframe on, and the older rows about some partitions.

    A keyframe is a poll of which all rows were recorded, not only changed ones. If a partition had
    no owner at the keyframe and got an owner later, the older rows about this partition are needed,
    because only they show its previous owner.

    Args:
        owners: rows of the recorded table `partitions`, with the owner of each partition.
        keyframe: time of the keyframe, in milliseconds since the epoch.
    """
    recent = owners.filter(F.col("keyframe") >= keyframe)
    unowned = recent.filter((F.col("poll") == keyframe) & F.col("owner").isNull()).select(*PARTITION_KEY)
    owned = recent.filter(F.col("owner").isNotNull()).select(*PARTITION_KEY)
    asked = unowned.join(owned, [*PARTITION_KEY], "left_semi").localCheckpoint()
    if asked.isEmpty():
        return recent
    older = owners.filter(F.col("keyframe") < keyframe).join(F.broadcast(asked), [*PARTITION_KEY], "left_semi")
    return recent.unionByName(older.select(*recent.columns))


def _covered_hours(timeline: DataFrame) -> DataFrame:
    """Return one row per hour, which says how much of the hour the polls of a recording cover.

    The time between two successive polls is covered, unless it is a gap. Hours that no polls cover
    have no row. The columns are

    - `hour`: start of the hour, in milliseconds since the epoch
    - `covered_from`, `covered_to`: first and last covered time in the hour, as timestamps
    - `covered_seconds`: number of covered seconds in the hour
    """
    spans = timeline.select(F.coalesce("previous", "poll").alias("from"), F.col("poll").alias("to"))
    return spans.transform(_split_by_hour).groupBy("hour").agg(
        F.sum("seconds").alias("covered_seconds"),
        to_timestamp(F.min("begin")).alias("covered_from"),
        to_timestamp(F.max("finish")).alias("covered_to"),
    )  # fmt: skip


def _group_changes(rows: DataFrame) -> DataFrame:
    """Compare each row of the recorded table `groups` with the previous row of the same group.

    Rows of the first poll after a gap between polls are left out.

    Returns:
        DataFrame with group, hour, `at` (time of the poll), and

        - `changes`: 1 if the group state changed, otherwise 0 or null
        - `entered`: 1 if a rebalance began, otherwise 0 or null
        - `steps`: increase of the group epoch
        - `has_epoch`: whether the group has an epoch
    """
    order = Window.partitionBy("group", "lifetime").orderBy("poll")
    state, epoch = F.lag("state").over(order), F.lag("group_epoch").over(order)
    changes = rows.filter(~F.col("gone")).select(
        "group",
        "poll",
        "steady_since",
        (F.col("state") != state).cast("int").alias("changes"),
        (_is_rebalancing() & ~state.isin(*sorted(REBALANCING))).cast("int").alias("entered"),
        F.greatest(F.col("group_epoch") - epoch, F.lit(0)).alias("steps"),
        F.col("group_epoch").isNotNull().alias("has_epoch"),
    )
    changes = changes.filter(_follows_a_poll()).withColumn("hour", _hour("poll")).drop("steady_since")
    return changes.withColumnRenamed("poll", "at")


def _member_changes(rows: DataFrame) -> DataFrame:
    """Return one row for each group and each poll that found new or missing members of the group.

    - `at`: time of the poll, in milliseconds since the epoch
    - `joined`: number of new members
    - `left`: number of missing members
    - `shuffles`: always 1, so that its sum is the number of such polls

    The result also has the columns group and hour.

    Args:
        rows: rows of the recorded table `members`, as returned by `with_timeline`.
    """
    rows = rows.withColumns({
        "appeared": begins_lifetime(_MEMBER_KEY),
        "vanished": missing_from_next_keyframe(_MEMBER_KEY),
    })  # fmt: skip
    at_poll = F.struct(
        F.col("poll").alias("at"),
        (_follows_a_poll() & F.col("appeared") & ~F.col("gone")).cast("int").alias("joined"),
        (_follows_a_poll() & F.col("gone") & ~F.col("appeared")).cast("int").alias("left"),
    )
    at_keyframe = F.struct(
        F.col("next_keyframe").alias("at"), F.lit(0).alias("joined"), F.col("vanished").cast("int").alias("left")
    )
    return (
        rows.select("group", F.explode(F.array(at_poll, at_keyframe)).alias("event"))
        .groupBy("group", "event.at")
        .agg(F.sum("event.joined").alias("joined"), F.sum("event.left").alias("left"))
        .filter((F.col("joined") > 0) | (F.col("left") > 0))
        .select("group", _hour("at").alias("hour"), "at", "joined", "left", F.lit(1).alias("shuffles"))
    )


def _owner_changes(rows: DataFrame) -> DataFrame:
    """Return one row for each change of a partition's owner.

    The columns are group, hour and `moved`, which is always 1, so that its sum is the number of
    changes.
    """
    order = Window.partitionBy(*PARTITION_KEY, "lifetime").orderBy("poll")
    before = F.last("owner", ignorenulls=True).over(order.rowsBetween(Window.unboundedPreceding, -1))
    moves = rows.withColumn("moved", (F.col("owner") != before).cast("int"))
    moves = moves.filter(_follows_a_poll() & (F.col("moved") == 1))
    return moves.select("group", _hour("poll").alias("hour"), "moved")


def _rebalancing_seconds(rows: DataFrame) -> DataFrame:
    """Return for how many `seconds` each group was rebalancing in each hour.

    A group is rebalancing from a row with a rebalancing state until the next row about the group,
    but not beyond a gap between polls. One group and hour can have several rows.
    """
    later = F.lead("poll").over(Window.partitionBy("group", "keyframe").orderBy("poll"))
    spans = rows.select("group", "state", "gone", F.col("poll").alias("from"), F.least(later, "lasts").alias("to"))
    spans = spans.filter(_is_rebalancing() & ~F.col("gone"))
    return spans.transform(_split_by_hour).select("group", "hour", "seconds")


def _follows_a_poll() -> Column:
    """Return a Spark expression: whether the previous poll was also recorded.

    The expression is false in rows of the first poll, and of the first poll after a gap (time for
    which polls are missing, for example because the recorder was stopped).
    """
    return F.col("poll") > F.col("steady_since")


def _split_by_hour(spans: DataFrame) -> DataFrame:
    """Split time spans at full hours. Return one row for each part.

    The columns `from` and `to` of each row are the time span. The new columns are `hour`, the times
    `begin` and `finish` of the part in this hour, and its length in `seconds`. Times are in
    milliseconds since the epoch. Example: the time span 9:50 to 10:05 becomes 9:50 to 10:00 (600 s)
    and 10:00 to 10:05 (300 s).
    """
    first, last = (_hour(name) for name in ("from", "to"))
    pieces = spans.withColumn("hour", F.explode(F.sequence(first, last, F.lit(HOUR_MS).cast("long"))))
    pieces = pieces.withColumns({
        "begin": F.greatest("from", "hour"),
        "finish": F.least(F.col("to"), F.col("hour") + HOUR_MS),
    })  # fmt: skip
    return pieces.withColumn("seconds", (F.col("finish") - F.col("begin")) / 1000)


def _is_rebalancing() -> Column:
    return F.col("state").isin(*sorted(REBALANCING))


def _hour(name: str) -> Column:
    return floor_to(F.col(name), HOUR_MS)
