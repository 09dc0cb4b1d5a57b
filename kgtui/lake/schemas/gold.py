"""Schemas of the gold tables, which the pipeline computes.

If `topic` and `partition` are null, the row describes the whole group. Any value that cannot be computed is null.
"""

from __future__ import annotations

from kgtui.lake.schemas.definition import Column, table
from kgtui.lake.schemas.gold_columns import (
    BOTH,
    DAY,
    GROUP,
    HIDDEN,
    LEAD,
    LOST,
    PARTITION_INDEX,
    RECORDED,
    SILVER,
    TOPIC,
    covered,
)
from kgtui.lake.schemas.gold_forecasts import BASELINE, FORECAST, FORECAST_STATE, SERIES

_HOUR = 3_600
"""Maximum time span of the rows in one file of the largest gold tables, in seconds.

The time span is short, because each update of the newest rows rewrites the whole file with these rows.
"""

LAG = table(
    "gold",
    "lag",
    "lag and offset of a group in one partition, or total lag of a group, at the last poll of a minute",
    ("group", "topic", "partition", "minute"),
    DAY,
    GROUP,
    TOPIC,
    PARTITION_INDEX,
    Column("minute", "timestamp", "start of the minute", nullable=False),
    Column(
        "lag",
        "long",
        "lag in records at the last poll of the minute; in rows about the whole group, the sum over the partitions "
        "whose lag is known; null if unknown",
    ),
    Column(
        "position",
        "long",
        "committed offset or share-partition start offset; null if the group has neither in the partition, and in "
        "rows about the whole group",
    ),
    Column("log_start", "long", "log start offset; null if unknown, and in rows about the whole group"),
    Column("log_end", "long", "log end offset; null if unknown, and in rows about the whole group"),
    LEAD,
    LOST,
    Column(
        "rate_in",
        "double",
        "number of records written per second since the last poll of the previous minute; null after a gap between "
        "polls, or if the log end offset decreased",
    ),
    Column(
        "rate_out",
        "double",
        "number of records read by the group per second since the last poll of the previous minute; null after a gap "
        "between polls, or if the group's offset decreased",
    ),
    Column(
        "time_lag",
        "double",
        "age of the oldest unread record in seconds, 0 if there is no lag; in rows about the whole group, the largest "
        "known value of its partitions; null if unknown",
    ),
    Column(
        "time_lag_at_least",
        "boolean",
        "true if time_lag is only a lower bound, because the oldest unread record was written before the recorded "
        "data begin",
    ),
    Column(
        "kind",
        "string",
        "`commit` (committed offset), `share` (share-partition start offset) or `owned` (no offset, but a member owns "
        "the partition); null in rows about the whole group",
    ),
    Column(
        "error",
        "int",
        "code of the Kafka error that prevented kgtui from reading the lag; null if there was no error, and in rows "
        "about the whole group",
    ),
    Column(
        "partitions",
        "int",
        "number of partitions in which the group has an offset, or that a member owns; null if offsets were not read, "
        "and in rows about a partition",
    ),
    Column(
        "unknown",
        "int",
        "number of partitions whose lag could not be read; null if offsets were not read, and in rows about a "
        "partition",
    ),
    Column("members", "int", "number of members; null if unknown, and in rows about a partition"),
    Column("state", "string", "group state as returned by ListGroups; null in rows about a partition"),
    HIDDEN,
    Column(
        "steady_since",
        "timestamp",
        "start of the uninterrupted series of polls to which this minute belongs",
        nullable=False,
    ),
    *covered("time covered by the polls of this minute"),
    file_span=("minute", _HOUR),
)

HEALTH = table(
    "gold",
    "health",
    "status of a group, or of one partition whose status is not OK, at the end of a time window; computed by the "
    "rules of Burrow, LinkedIn's lag checker",
    ("group", "topic", "partition", "window_start"),
    DAY,
    GROUP,
    TOPIC,
    PARTITION_INDEX,
    Column(
        "window_start",
        "timestamp",
        "start of the time window; the status was computed for the last poll of the window, at `covered_to`",
        nullable=False,
    ),
    Column(
        "status",
        "string",
        "OK, WARN, STOP, STALL or REWIND for a partition; OK, WARN or ERR for the whole group, null if its offsets "
        "were not read",
    ),
    Column(
        "worst",
        "string",
        "worst status of the group's partitions; null if all are OK, and in rows about a partition",
    ),
    Column(
        "affected",
        "int",
        "number of partitions that have the status in `worst`, 0 if all are OK; null in rows about a partition",
    ),
    Column(
        "bad_since",
        "timestamp",
        "when the current problem began; in every window since then, the status has been worse than OK; null if the "
        "status is OK or unknown",
    ),
    Column(
        "ended_since",
        "timestamp",
        "start of the problem that ended in this window; null if no problem ended, and in rows about a partition",
    ),
    Column(
        "lag",
        "long",
        "lag in records at the end of the window; in rows about the whole group, the sum over the partitions whose lag "
        "is known; null if unknown",
    ),
    Column("unknown", "int", "number of partitions whose lag could not be read; null in rows about a partition"),
    Column("position", "long", "committed offset or share-partition start offset; null in rows about the whole group"),
    Column(
        "complete",
        "double",
        "how complete the data are, from 0 to 1: for a partition, number of known commits (see `basis`) divided by "
        "the number that Burrow's rules need; for the whole group, fraction of its partitions with complete data",
    ),
    Column(
        "commits",
        "int",
        "number of commits from which the status was computed; if `basis` is `observed`, each offset change between "
        "polls counts as a commit; null in rows about the whole group",
    ),
    Column(
        "first_commit",
        "timestamp",
        "time of the first commit from which the status was computed; null in rows about the whole group",
    ),
    Column(
        "last_commit",
        "timestamp",
        "time of the last commit from which the status was computed; null in rows about the whole group",
    ),
    Column(
        "undecided",
        "string",
        "a status worse than `status` that is also possible, because the data do not rule it out; null if there is "
        "none",
    ),
    HIDDEN,
    Column("max_lag_topic", "string", "topic of the partition with the largest lag; null in rows about a partition"),
    Column(
        "max_lag_partition", "int", "partition of `max_lag_topic` with the largest lag; null in rows about a partition"
    ),
    Column(
        "basis",
        "string",
        "data from which the status was computed: `observed` (offsets in polls) or `commits` (table `silver/commits`)",
    ),
    Column("members", "int", "number of members; null if unknown, and in rows about a partition"),
    *covered("time covered by the data from which the status was computed"),
    file_span=("window_start", _HOUR),
)

CHURN = table(
    "gold",
    "churn",
    "rebalances of a group in one hour: their number and duration, how many members joined or left, and how many "
    "partitions changed their owner; hours without changes have no row",
    ("group", "hour"),
    DAY,
    GROUP,
    Column("hour", "timestamp", "start of the hour", nullable=False),
    Column(
        "rebalances",
        "int",
        "number of rebalances in the hour; a lower bound, because rebalances that begin and end between two polls are "
        "not noticed",
        nullable=False,
    ),
    Column(
        "state_changes", "int", "number of changes of the group state in the hour; null if the hour was not recorded"
    ),
    Column(
        "epoch_steps",
        "int",
        "increase of the group epoch (in a classic group, of the generation) in the hour; null if unknown",
    ),
    Column("members_joined", "int", "number of members that joined the group in the hour; null if unknown"),
    Column("members_left", "int", "number of members that left the group in the hour; null if unknown"),
    Column("partitions_moved", "int", "number of partitions whose owner changed in the hour; null if unknown"),
    Column(
        "rebalancing_seconds",
        "double",
        "time for which the group was rebalancing in the hour, in seconds; null if unknown",
    ),
    Column(
        "records_held_up",
        "double",
        "estimated number of records that producers wrote to the group's partitions during the rebalances; null if "
        "unknown",
    ),
    Column(
        "covered_seconds",
        "double",
        "how much of the hour the recording covers, in seconds; null if the hour was not recorded",
    ),
    Column(
        "per_hour",
        "double",
        "rebalances per hour, the larger of two numbers: recorded rebalances divided by the recorded fraction of the "
        "hour, and rebalances decoded from __consumer_offsets",
    ),
    Column(
        "flapping",
        "boolean",
        "whether the group rebalances again and again: `rebalances` is at least 3 (at least 6 if less than half of the "
        "hour was recorded), and `per_hour` is at least 6",
        nullable=False,
    ),
    Column("last_rebalance", "timestamp", "time of the last rebalance in the hour; null if there was none"),
    Column(
        "burst_since",
        "timestamp",
        "start of the last burst of rebalances, which may be in an earlier hour; a burst is a series of rebalances "
        "with pauses of at most 30 minutes; null if the hour has no rebalance",
    ),
    *covered(
        "time covered by polls in this hour; if there were no polls, time from the first to the last rebalance "
        "decoded from __consumer_offsets",
        nullable=True,
    ),
)

CLEANUP = table(
    "gold",
    "cleanup",
    "one group that is unused at the end of a day, or one family of unused groups (groups whose ids have the same "
    "prefix, such as `team-007.`)",
    ("kind", "name"),
    DAY,
    Column(
        "kind",
        "string",
        "`group` if the row is about one group; `family` if it is about groups whose ids begin with the same prefix",
        nullable=False,
    ),
    Column("name", "string", "group id, or name of the family, such as `team-007.*`", nullable=False),
    Column(
        "family",
        "string",
        "name of the family to which the group belongs; null if no other group id begins with the same prefix, and in "
        "rows about a family",
    ),
    Column("groups", "int", "number of groups in the family, all unused; 1 in rows about a group", nullable=False),
    Column("type", "string", "group type; null if it is unknown, and in rows about a family"),
    Column("state", "string", "group state; null if it is unknown, and in rows about a family"),
    Column(
        "partitions",
        "int",
        "number of partitions in which the group has offsets; in rows about a family, the sum over its groups",
    ),
    Column("topics", "int", "number of topics in which the group has offsets; null in rows about a family"),
    Column(
        "lag",
        "long",
        "number of unread records; in rows about a family, the sum over its groups whose lag is known; null if unknown",
    ),
    Column("last_commit", "timestamp", "time of the newest offset commit; null if the data contain no offset commit"),
    Column(
        "quiet_since",
        "timestamp",
        "the group has been unused (no members, no commits) since this time, or even longer; in rows about a family, "
        "the latest value of its groups",
        nullable=False,
    ),
    Column(
        "empty_since",
        "timestamp",
        "the group has had no members since this time, or even longer; in rows about a family, the latest known value "
        "of its groups; null if unknown",
    ),
    Column(
        "expires_at",
        "timestamp",
        "time by which brokers will have deleted the group's offsets; in rows about a family, the latest known value; "
        "null if the group has no offsets, or if brokers never delete them",
    ),
    Column(
        "offsets_may_be_hidden",
        "boolean",
        "true if offsets may be missing, because the Kafka user of the recorder is not allowed to see every topic; "
        "the group may then be in use; null if unknown",
    ),
    *covered("time covered by the data about the group"),
)

HEALTH_STATE = table(
    "gold",
    "health_state",
    "intermediate results about one partition, from which the pipeline updates `health` without reading earlier "
    "polls and commits again; for internal use",
    ("group", "topic", "partition", "at"),
    DAY,
    GROUP,
    Column("topic", "string", "topic of the partition", nullable=False),
    Column("partition", "int", "index of the partition in its topic", nullable=False),
    Column(
        "at", "timestamp", "time of the last poll in an hour; `state` contains the data up to this poll", nullable=False
    ),
    Column("state", "string", "JSON object with the latest commits and offsets of the partition", nullable=False),
    file_span=("at", _HOUR),
)

GOLD = (LAG, HEALTH, CHURN, CLEANUP, FORECAST, BASELINE)
"""The gold tables for users, in the order of computation. `lag` is first, because other tables are computed from it."""

GOLD_STATE = (HEALTH_STATE, FORECAST_STATE)
"""Tables of the layer `gold` that only the pipeline reads.

They contain intermediate results. With these, the pipeline updates the tables in `GOLD` without reading all earlier
data again.
"""

__all__ = [
    "BASELINE", "BOTH", "CHURN", "CLEANUP", "FORECAST", "FORECAST_STATE", "GOLD", "GOLD_STATE", "HEALTH",
    "HEALTH_STATE", "LAG", "RECORDED", "SERIES", "SILVER",
]  # fmt: skip
