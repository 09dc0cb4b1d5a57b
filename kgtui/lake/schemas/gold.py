"""Schemas of the gold tables, which the pipeline computes. A day of a table is always replaced as a whole.

`source` names the data of a row, `recorded` or `silver`, and `covered_from` and `covered_to` the time that these data
cover. Values without data are null, and rates are not computed across a gap between polls. Rows without `topic` and
`partition` are about the whole group. Uses the standard library only.
"""

from __future__ import annotations

from kgtui.lake.schemas.definition import PARTITION, Column, table

RECORDED, SILVER, BOTH = "recorded", "silver", "recorded, silver"
"""Values of column `source`."""

_DAY = Column(PARTITION, "date", "in UTC", nullable=False)
_GROUP = Column("group", "string", "group id", nullable=False)
_TOPIC = Column("topic", "string", "null in rows about the whole group")
_PARTITION = Column("partition", "int", "null in rows about the whole group")
_SOURCE = Column("source", "string", "`recorded`, `silver` or `recorded, silver`", nullable=False)


def _covered(about: str, *, nullable: bool = False) -> tuple[Column, ...]:
    return (
        _SOURCE,
        Column("covered_from", "timestamp", f"start of {about}", nullable=nullable),
        Column("covered_to", "timestamp", f"end of {about}", nullable=nullable),
    )


LAG = table(
    "gold",
    "lag",
    "lag and position of a group, per partition and in total, at the end of a minute with polls",
    ("group", "topic", "partition", "minute"),
    _DAY,
    _GROUP,
    _TOPIC,
    _PARTITION,
    Column("minute", "timestamp", "start of the minute", nullable=False),
    Column(
        "lag", "long", "records at the last poll of the minute; of a group the sum over partitions with a known lag"
    ),
    Column("position", "long", "committed offset or share-partition start offset; null if there is none"),
    Column("log_start", "long", "log start offset"),
    Column("log_end", "long", "log end offset"),
    Column("lead", "long", "records between log start offset and position; of a group the smallest of its partitions"),
    Column("lost", "long", "records that expired before they were read; of a group the sum"),
    Column("rate_in", "double", "records/s written since the minute before; null across a gap"),
    Column(
        "rate_out", "double", "records/s read since the minute before; null across a gap, or if the position decreased"
    ),
    Column("time_lag", "double", "age of the oldest unread record in seconds; of a group the largest"),
    Column(
        "time_lag_at_least", "boolean", "true if the record is older than the data, so that time_lag is a lower bound"
    ),
    Column("kind", "string", "commit, share or owned, as in `recorded/partitions`; null for a group"),
    Column("error", "int", "Kafka error code if it makes the lag unknown; else null"),
    Column("partitions", "int", "number of partitions with a position; null in rows about a partition"),
    Column("unknown", "int", "number of these partitions whose lag is unknown; null in rows about a partition"),
    Column("members", "int", "number of members; null if unknown, and in rows about a partition"),
    Column("state", "string", "group state as listed; null in rows about a partition"),
    Column(
        "steady_since",
        "timestamp",
        "start of the series of polls without a gap that contains this minute",
        nullable=False,
    ),
    *_covered("the polls of this minute"),
)

HEALTH = table(
    "gold",
    "health",
    "verdict as in Burrow at the end of a window: one row per group, and one per partition that is not OK",
    ("group", "topic", "partition", "window_start"),
    _DAY,
    _GROUP,
    _TOPIC,
    _PARTITION,
    Column(
        "window_start",
        "timestamp",
        "start of the window; the verdict is as of its last poll, `covered_to`",
        nullable=False,
    ),
    Column(
        "status", "string", "OK, WARN, STOP, STALL or REWIND; of a group OK, WARN or ERR; null if offsets were not read"
    ),
    Column("worst", "string", "worst status of any partition; null in rows about a partition"),
    Column(
        "affected", "int", "number of partitions with the worst status, 0 if all are OK; null in rows about a partition"
    ),
    Column(
        "bad_since", "timestamp", "end of the first of the consecutive windows that are not OK; null if this one is OK"
    ),
    Column("lag", "long", "records at the end of the window; of a group the sum over partitions with a known lag"),
    Column("unknown", "int", "number of partitions whose lag is unknown; null in rows about a partition"),
    Column("position", "long", "committed offset or share-partition start offset; null in rows about a group"),
    Column(
        "complete",
        "double",
        "filled fraction of the commit window, 0 to 1; of a group the fraction of partitions with a full one",
    ),
    Column("commits", "int", "number of commits in the window; null in rows about a group"),
    Column("first_commit", "timestamp", "time of the first commit in the window; null in rows about a group"),
    Column("last_commit", "timestamp", "time of the last commit in the window; null in rows about a group"),
    Column("undecided", "string", "worse status that a window of this length can neither show nor rule out; else null"),
    Column("max_lag_topic", "string", "topic of the partition with the largest lag; null in rows about a partition"),
    Column("max_lag_partition", "int", "partition with the largest lag; null in rows about a partition"),
    Column("basis", "string", "`observed` (offsets that changed between polls) or `commits` (records of the commits)"),
    *_covered("the data of the verdict"),
)

CHURN = table(
    "gold",
    "churn",
    "number and cost of a group's rebalances in an hour; only hours with changes have rows",
    ("group", "hour"),
    _DAY,
    _GROUP,
    Column("hour", "timestamp", "start of the hour", nullable=False),
    Column("rebalances", "int", "lower bound, because polls miss what happens between them", nullable=False),
    Column("state_changes", "int", "null if the hour was not recorded"),
    Column("epoch_steps", "int", "growth of the group epoch or generation; null if the group has none"),
    Column("members_joined", "int", "null if unknown"),
    Column("members_left", "int", "null if unknown"),
    Column("partitions_moved", "int", "partitions whose owner changed; null if unknown"),
    Column("rebalancing_seconds", "double", "seconds in which the group was rebalancing; null if unknown"),
    Column("records_held_up", "double", "records written during these rebalances; null if unknown"),
    Column("covered_seconds", "double", "seconds of the hour that polls cover; null if the hour was not recorded"),
    Column("per_hour", "double", "rebalances per hour of the covered time"),
    Column("flapping", "boolean", "whether the group rebalances unusually often", nullable=False),
    *_covered("the recorded part of the hour; null if there is none", nullable=True),
)

CLEANUP = table(
    "gold",
    "cleanup",
    "an unused group (no members, no commits) or family of such groups at the end of a day",
    ("kind", "name"),
    _DAY,
    Column("kind", "string", "`group` or `family`", nullable=False),
    Column("name", "string", "group id, or name of the family such as `team-007.*`", nullable=False),
    Column("family", "string", "family of a group, if it has several groups; null for a family"),
    Column("groups", "int", "number of groups in a family, all of which are unused; 1 for a group", nullable=False),
    Column("type", "string", "group type; null for a family or if unknown"),
    Column("state", "string", "group state; null for a family or if unknown"),
    Column("partitions", "int", "number of partitions with a position"),
    Column("topics", "int", "number of topics with a position"),
    Column("lag", "long", "unread records; null if unknown"),
    Column("last_commit", "timestamp", "time of the newest commit; null if there is none in the data"),
    Column("quiet_since", "timestamp", "the group has been unused since this time or longer", nullable=False),
    Column("empty_since", "timestamp", "the group has been without members since this time or longer; null if unknown"),
    Column(
        "expires_at", "timestamp", "latest time at which brokers delete its offsets; null if they may never do that"
    ),
    *_covered("the data"),
)

FORECAST = table(
    "gold",
    "forecast",
    "forecast for a group or partition with lag: when it catches up, and whether records expire before",
    ("group", "topic", "partition", "hour"),
    _DAY,
    _GROUP,
    _TOPIC,
    _PARTITION,
    Column(
        "hour", "timestamp", "start of the hour; the forecast is as of its last minute, `covered_to`", nullable=False
    ),
    Column("lag", "long", "records at the last minute"),
    Column("trend", "double", "growth of the lag in records/s; null if there are too few samples"),
    Column("trend_error", "double", "standard error of the trend"),
    Column(
        "drain_seconds",
        "double",
        "seconds until the group has caught up; null if the lag does not fall or the trend is unknown",
    ),
    Column("drained_at", "timestamp", "when the group will have caught up; null as drain_seconds"),
    Column("lead", "long", "records between log start offset and position; of a group the smallest of its partitions"),
    Column("lost", "long", "records that expired before they were read; of a group the sum"),
    Column("loss_seconds", "double", "seconds until unread records expire; of a group the smallest of its partitions"),
    Column("loss_at", "timestamp", "when unread records will expire; null as loss_seconds"),
    Column(
        "loss_basis", "string", "basis of `loss_at`: `retention` (of the topic) or `log start` (its recent movement)"
    ),
    Column("loss_at_most", "boolean", "true if records may expire earlier, because they may be older than the data"),
    Column("at_risk", "boolean", "whether unread records will expire before they are read; null if unknown"),
    *_covered("the minutes of the trend"),
)

SERIES = ("lag", "rate_in", "rate_out")
"""Columns of `lag` that `baseline` compares with earlier weeks."""


def _deviation(name: str) -> tuple[Column, ...]:
    unit = "records" if name == "lag" else "records/s"
    return (
        Column(name, "double", f"{unit}: median of the minutes of this hour"),
        Column(
            f"{name}_normal", "double", f"{unit}: median of the same hours of earlier weeks; null if there are too few"
        ),
        Column(
            f"{name}_spread", "double", f"{unit}: median absolute deviation of these hours; null if there are too few"
        ),
        Column(f"{name}_deviation", "double", "robust z-score: distance from normal in standard deviations"),
    )


BASELINE = table(
    "gold",
    "baseline",
    "comparison of one hour of a group with the same hours of earlier weeks",
    ("group", "hour"),
    _DAY,
    _GROUP,
    Column("hour", "timestamp", "start of the hour", nullable=False),
    Column("hour_of_week", "int", "0 for Monday 0:00 UTC to 167 for Sunday 23:00", nullable=False),
    *(column for name in SERIES for column in _deviation(name)),
    Column(
        "basis", "string", "`hour of week`, or `hour of day` if there are few weeks; null if there are too few days"
    ),
    Column("hours", "int", "number of earlier hours in the comparison", nullable=False),
    *_covered("the minutes of this hour"),
)

GOLD = (LAG, HEALTH, CHURN, CLEANUP, FORECAST, BASELINE)
"""All gold tables in the order in which they are computed. `lag` is first, because other tables read it."""
