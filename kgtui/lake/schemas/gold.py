"""The gold tables: answers, made by the pipeline. A day of a table is replaced as a whole. Standard library alone.

Each table says in `source` what its row is made from, and in `covered_from` and `covered_to` which time that source
has seen: what no source covers is null, and no rate is taken across a gap between polls. Where `topic` and `partition`
are null, a row is about the whole group.
"""

from __future__ import annotations

from kgtui.lake.schemas.definition import PARTITION, Column, table

RECORDED, SILVER, BOTH = "recorded", "silver", "recorded, silver"
"""Values of `source`."""

_DAY = Column(PARTITION, "date", "in UTC", nullable=False)
_GROUP = Column("group", "string", "group id", nullable=False)
_TOPIC = Column("topic", "string", "null: the whole group")
_PARTITION = Column("partition", "int", "null: the whole group")
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
    "a group's position in a partition at the end of a minute; minutes without a poll have no row",
    ("group", "topic", "partition", "minute"),
    _DAY,
    _GROUP,
    _TOPIC,
    _PARTITION,
    Column("minute", "timestamp", "its start", nullable=False),
    Column("lag", "long", "records at its last poll; of a group the sum over partitions where it is known"),
    Column("position", "long", "committed offset, or share-partition start offset; null when there is none"),
    Column("log_start", "long", "first offset of the log"),
    Column("log_end", "long", "next offset of the log"),
    Column("lead", "long", "records between log start and position; of a group the least of its partitions"),
    Column("lost", "long", "records that expired before they were read, 0 when none; of a group the sum"),
    Column("rate_in", "double", "records/s written since the minute before; null across a gap"),
    Column("rate_out", "double", "records/s read since the minute before; null across a gap, or when it went back"),
    Column("time_lag", "double", "seconds: age of the oldest unread record; of a group the most"),
    Column("time_lag_at_least", "boolean", "it was there before the time covered: its true age may be more"),
    Column("kind", "string", "commit, share or owned, as in `recorded/partitions`; null for a group"),
    Column("error", "int", "Kafka's error code behind an unknown lag; null when there is none"),
    Column("partitions", "int", "of a group: how many it has a position in; else null"),
    Column("unknown", "int", "of a group: how many of them have an unknown lag; else null"),
    Column("members", "int", "of a group: how many, null if unknown; else null"),
    Column("state", "string", "of a group: as listed; else null"),
    Column("steady_since", "timestamp", "since when polls have followed each other without a gap", nullable=False),
    *_covered("the polls of this minute"),
)

HEALTH = table(
    "gold",
    "health",
    "Burrow's verdict at the end of a window: one row for each group, and one for each partition that is not OK",
    ("group", "topic", "partition", "window_start"),
    _DAY,
    _GROUP,
    _TOPIC,
    _PARTITION,
    Column("window_start", "timestamp", "its start; the verdict is of its last poll, `covered_to`", nullable=False),
    Column("status", "string", "OK, WARN, STOP, STALL, REWIND; of a group OK, WARN, ERR; null: not read"),
    Column("worst", "string", "of a group: the worst status of a partition; else null"),
    Column("affected", "int", "of a group: how many partitions have that status, 0 when all is well; else null"),
    Column("bad_since", "timestamp", "end of the first window since which the status is worse than OK; else null"),
    Column("lag", "long", "records at the end; of a group the sum over partitions where it is known"),
    Column("unknown", "int", "of a group: partitions whose lag is unknown; else null"),
    Column("position", "long", "committed offset, or share-partition start offset; null for a group"),
    Column("complete", "double", "how full the window of commits is, 0 to 1; of a group the share of full ones"),
    Column("commits", "int", "in the window; null for a group"),
    Column("first_commit", "timestamp", "of the window; null for a group"),
    Column("last_commit", "timestamp", "of the window; null for a group"),
    Column("undecided", "string", "a worse status that so short a window can neither find nor rule out"),
    Column("max_lag_topic", "string", "of a group: where its largest lag is; else null"),
    Column("max_lag_partition", "int", "of a group: where its largest lag is; else null"),
    Column("basis", "string", "`observed` (offsets seen to change) or `commits` (the commits themselves)"),
    *_covered("what the verdict rests on"),
)

CHURN = table(
    "gold",
    "churn",
    "how often a group rebalanced in an hour, and what that cost; only hours in which something changed",
    ("group", "hour"),
    _DAY,
    _GROUP,
    Column("hour", "timestamp", "its start", nullable=False),
    Column("rebalances", "int", "at least: what happens between two polls is not seen", nullable=False),
    Column("state_changes", "int", "null when not recorded"),
    Column("epoch_steps", "int", "by how much the group epoch or generation grew; null when it has none"),
    Column("members_joined", "int", "null when not known"),
    Column("members_left", "int", "null when not known"),
    Column("partitions_moved", "int", "that got another owner; null when not known"),
    Column("rebalancing_seconds", "double", "spent in rebalances; null when not known"),
    Column("records_held_up", "double", "written meanwhile for the group; null when not known"),
    Column("covered_seconds", "double", "of the hour that polls covered; null: not recorded"),
    Column("per_hour", "double", "rebalances an hour over the time covered"),
    Column("flapping", "boolean", "it rebalances again and again", nullable=False),
    *_covered("the part of the hour that was recorded; null when it was not", nullable=True),
)

CLEANUP = table(
    "gold",
    "cleanup",
    "what nobody uses at the end of a day: groups without members that commit no more, and families of such",
    ("kind", "name"),
    _DAY,
    Column("kind", "string", "`group` or `family`", nullable=False),
    Column("name", "string", "group id, or the family as the tree names it: `team-007.*`", nullable=False),
    Column("family", "string", "of a group: the family it is in, if that has several; null for a family"),
    Column("groups", "int", "of a family: how many, all unused; 1 for a group", nullable=False),
    Column("type", "string", "of a group, if known"),
    Column("state", "string", "of a group, if known"),
    Column("partitions", "int", "that it has a position in"),
    Column("topics", "int", "that it has a position in"),
    Column("lag", "long", "records that it would leave unread; null when unknown"),
    Column("last_commit", "timestamp", "the newest; null when none was seen"),
    Column("quiet_since", "timestamp", "since when at the latest it is unused", nullable=False),
    Column("empty_since", "timestamp", "since when at the latest it has no members; null when not known"),
    Column("expires_at", "timestamp", "when brokers delete its offsets at the latest; null when they may not"),
    *_covered("what was looked at"),
)

FORECAST = table(
    "gold",
    "forecast",
    "where an hour's course leads: when the lag is gone, and whether data expires first; only where there is lag",
    ("group", "topic", "partition", "hour"),
    _DAY,
    _GROUP,
    _TOPIC,
    _PARTITION,
    Column("hour", "timestamp", "its start; the forecast is made at its last minute, `covered_to`", nullable=False),
    Column("lag", "long", "records"),
    Column("trend", "double", "records/s that the lag grows by; null when it was seen too seldom"),
    Column("trend_error", "double", "standard error of the trend"),
    Column("drain_seconds", "double", "until the lag is gone; null when it does not fall, or nobody can tell"),
    Column("drained_at", "timestamp", "when that is"),
    Column("lead", "long", "records between log start and position; of a group the least of its partitions"),
    Column("lost", "long", "records that expired before they were read; of a group the sum"),
    Column("loss_seconds", "double", "until retention reaches unread records; of a group the soonest"),
    Column("loss_at", "timestamp", "when that is"),
    Column("loss_basis", "string", "`retention` of the topic, or `log start`: its movement of late"),
    Column("loss_at_most", "boolean", "it may come sooner: the record may be older than was seen"),
    Column("at_risk", "boolean", "unread records will expire before they are read; null when not known"),
    *_covered("the minutes that it is taken from"),
)

SERIES = ("lag", "rate_in", "rate_out")
"""What `baseline` compares."""


def _deviation(name: str) -> tuple[Column, ...]:
    unit = "records" if name == "lag" else "records/s"
    return (
        Column(name, "double", f"{unit}: median of this hour's minutes"),
        Column(f"{name}_normal", "double", f"{unit}: median of the same hours before; null when too few"),
        Column(f"{name}_spread", "double", f"{unit}: median absolute deviation of those hours; null when too few"),
        Column(f"{name}_deviation", "double", "robust z-score: distance from normal in standard deviations"),
    )


BASELINE = table(
    "gold",
    "baseline",
    "an hour of a group beside the same hours of the weeks before",
    ("group", "hour"),
    _DAY,
    _GROUP,
    Column("hour", "timestamp", "its start", nullable=False),
    Column("hour_of_week", "int", "0 is Monday from 0:00 UTC, 167 the last of Sunday", nullable=False),
    *(column for name in SERIES for column in _deviation(name)),
    Column("basis", "string", "`hour of week`, or `hour of day` while fewer weeks are known; null: too few"),
    Column("hours", "int", "how many hours before it is compared with", nullable=False),
    *_covered("this hour's minutes"),
)

GOLD = (LAG, HEALTH, CHURN, CLEANUP, FORECAST, BASELINE)
"""In the order in which they are made: later ones read `lag`."""
