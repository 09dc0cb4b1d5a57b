"""Schemas of the gold tables `forecast`, `forecast_state` (intermediate results of `forecast`) and `baseline`.

The pipeline computes these tables from the earlier lag of each group.
"""

from __future__ import annotations

from kgtui.lake.schemas.definition import Column, table
from kgtui.lake.schemas.gold_columns import DAY, GROUP, LEAD, LOST, PARTITION_INDEX, TOPIC, covered

FORECAST = table(
    "gold",
    "forecast",
    "forecast for a group with lag, or for one partition with lag: when the group will have caught up, and whether "
    "retention deletes unread records before that",
    ("group", "topic", "partition", "hour"),
    DAY,
    GROUP,
    TOPIC,
    PARTITION_INDEX,
    Column(
        "hour",
        "timestamp",
        "start of the hour; the forecast was made from data up to the last minute of the hour, at `covered_to`",
        nullable=False,
    ),
    Column("lag", "long", "lag in records in the last minute of the hour"),
    Column(
        "trend",
        "double",
        "growth of the lag in records/s; negative if the lag falls; null if there are too few samples",
    ),
    Column("trend_error", "double", "standard error of `trend` in records/s; null if there are too few samples"),
    Column(
        "drain_seconds",
        "double",
        "estimated seconds until the group will have caught up, from the trend of its time lag (age of the oldest "
        "unread record) or, if that trend is unknown, of its lag in records; null if the trend is unknown or does not "
        "clearly fall",
    ),
    Column(
        "drain_min_seconds",
        "double",
        "lowest plausible value of `drain_seconds`: the time that the group needs if the lag falls faster by two "
        "standard errors of its trend. If the trend of the time lag is known, but the time computed from the lag in "
        "records is shorter, the value is that time. Null if drain_seconds is null",
    ),
    Column(
        "drain_max_seconds",
        "double",
        "highest plausible value of `drain_seconds`: the time that the group needs if the lag falls more slowly by "
        "two standard errors of its trend. If the trend of the time lag is known, but the time computed from the lag "
        "in records is longer, the value is that time. Null if drain_seconds is null",
    ),
    Column(
        "drained_at",
        "timestamp",
        "time at which the group will have caught up; null if drain_seconds is null or longer than a century",
    ),
    LEAD,
    LOST,
    Column(
        "loss_seconds",
        "double",
        "seconds until retention deletes unread records; for the whole group, the smallest value of its partitions at "
        "risk; null if no deletion is expected within the topic's retention time",
    ),
    Column(
        "loss_at",
        "timestamp",
        "time at which retention deletes unread records; null if loss_seconds is null or longer than a century",
    ),
    Column(
        "loss_basis",
        "string",
        "basis of the estimate `loss_at`: `retention` (retention time of the topic) or `log start` (recent movement of "
        "the log start offset)",
    ),
    Column(
        "loss_at_most",
        "boolean",
        "true if unread records may be deleted earlier than `loss_at`, because the exact time at which they were "
        "written is unknown",
    ),
    Column("at_risk", "boolean", "whether retention will delete unread records before they are read; null if unknown"),
    Column("time_lag", "double", "age of the oldest unread record in the last minute of the hour, in seconds"),
    Column(
        "behind_since",
        "timestamp",
        "start of the group's current backlog (unread records), searched in the 24 hours before `covered_to`. The "
        "search is slow, so the value is null except in the newest hour of each day with data, and in the hour before "
        "it. It is also null in rows about a partition, in rows without a forecast, and if the oldest unread record is "
        "less than a minute old",
    ),
    Column(
        "behind_since_at_least",
        "boolean",
        "true if the backlog may have begun before behind_since, because it already existed when the age of the oldest "
        "unread record was first known",
    ),
    *covered("time from the first to the last minute from which the trend was computed"),
    file_span=("hour", 4 * 3_600),
)

FORECAST_STATE = table(
    "gold",
    "forecast_state",
    "intermediate results about one partition, from which the pipeline updates `forecast` without reading earlier "
    "minutes again; for internal use",
    ("group", "topic", "partition", "hour"),
    DAY,
    GROUP,
    Column("topic", "string", "topic of the partition", nullable=False),
    Column("partition", "int", "index of the partition in its topic", nullable=False),
    Column("hour", "timestamp", "start of the hour; the row has the values of its last minute", nullable=False),
    Column(
        "steady_since",
        "timestamp",
        "start of the uninterrupted series of polls to which the last minute of the hour belongs",
        nullable=False,
    ),
    Column("log_start", "long", "log start offset; null if unknown"),
    *(
        Column(
            f"{which}_{name}", "long", f"{about} at the {which} increase of the log start offset since `steady_since`"
        )
        for which in ("first", "last")
        for name, about in (("jump_at", "time in milliseconds since the epoch"), ("jump_start", "new log start offset"))
    ),
    file_span=("hour", 4 * 3_600),
)

SERIES = ("lag", "rate_in", "rate_out")
"""Columns of table `lag`. For each of them, table `baseline` compares one hour with the same hour of earlier weeks."""


def _deviation(name: str) -> tuple[Column, ...]:
    unit = "records" if name == "lag" else "records/s"
    earlier = f"the earlier hours with which this hour is compared, in {unit}; null if there are too few such hours"
    score = f"difference between {name} and {name}_normal, as a number of standard deviations; null if unknown"
    return (
        Column(name, "double", f"median of {name} over the minutes of this hour, in {unit}; null if unknown"),
        Column(f"{name}_normal", "double", f"median of {name} in {earlier}"),
        Column(f"{name}_spread", "double", f"median absolute deviation of {name} in {earlier}"),
        Column(f"{name}_deviation", "double", f"robust z-score: {score}"),
    )


BASELINE = table(
    "gold",
    "baseline",
    "comparison of one hour of a group with the same hours of earlier weeks",
    ("group", "hour"),
    DAY,
    GROUP,
    Column("hour", "timestamp", "start of the hour", nullable=False),
    Column("hour_of_week", "int", "hour of the week, from 0 (Monday 00:00 UTC) to 167 (Sunday 23:00)", nullable=False),
    *(column for name in SERIES for column in _deviation(name)),
    Column(
        "basis",
        "string",
        "`hour of week` if the hour is compared with the same hour of earlier weeks; `hour of day` if too few weeks "
        "have data, so that it is compared with the same hour of earlier days; null if too few days have data",
    ),
    Column("hours", "int", "number of earlier hours with which this hour is compared", nullable=False),
    *covered("time from the first to the last minute with values in this hour"),
)
