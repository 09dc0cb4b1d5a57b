"""The recorded tables: what polls saw that differed from the poll before.

Every row carries `day` (UTC, the partition), `keyframe` (the poll of the last full picture before it) and `poll`
(milliseconds since the epoch, growing, the key of `polls`). A row of another table counts only when `polls` has its
poll: that table is appended last. The state at a poll is, of all rows with its `keyframe` and no later `poll`, the
newest of each key; rows whose `gone` is true end what they name.
"""

from __future__ import annotations

from datetime import UTC, date, datetime

from kgtui.lake.schemas.definition import PARTITION, Column, Layer, Table, table

LAYER: Layer = "recorded"
"""The folder of these tables in a lake."""


_ALWAYS = (
    Column(PARTITION, "date", "the poll's day in UTC", nullable=False),
    Column("keyframe", "long", "the poll that wrote the last full picture", nullable=False),
    Column("poll", "long", "milliseconds since the epoch", nullable=False),
)
_GONE = Column("gone", "boolean", "true: it exists no more", nullable=False)
_GROUP = Column("group", "string", "group id", nullable=False)


def _table(name: str, about: str, key: tuple[str, ...], *columns: Column) -> Table:
    return table(LAYER, name, about, key, *_ALWAYS, *columns)


POLLS = _table(
    "polls",
    "one look at the cluster; whole when it is here",
    ("poll",),
    Column("taken_at", "timestamp", "when the poll began", nullable=False),
    Column("run", "string", "id of the recorder's run", nullable=False),
    Column("previous", "long", "the poll before; null when nothing is known of the time before: see gap"),
    Column("gap", "string", "why nothing was recorded before this poll; null when it follows the one before"),
    Column("interval_ms", "int", "between polls, as set", nullable=False),
    Column("took_ms", "int", "how long the poll took", nullable=False),
    Column("rows", "int", "rows that the other tables have of this poll", nullable=False),
    Column("groups", "int", "groups that were listed", nullable=False),
    Column("brokers", "int", "brokers of the cluster", nullable=False),
    Column("brokers_answered", "int", "brokers whose list was fresh", nullable=False),
    Column("cluster_id", "string", "null if the cluster does not tell"),
    Column("cluster", "string", "JSON: brokers, controller, features, seeds; null when unchanged"),
)

GROUPS = _table(
    "groups",
    "a group as listed and described",
    ("group",),
    _GROUP,
    _GONE,
    Column("type", "string", "as listed; null if the broker does not tell"),
    Column("protocol", "string", "protocol type, as listed"),
    Column("state", "string", "as listed; null if the broker does not tell"),
    Column("coordinator", "int", "node id"),
    Column("described_at", "long", "ms since the epoch when it was first described so; null: never described"),
    Column("assignor", "string", "assignor or protocol name"),
    Column("group_epoch", "int", "KIP-848, KIP-932, KIP-1071; null for classic groups"),
    Column("assignment_epoch", "int", "of the target assignment; null for classic groups"),
    Column("members", "int", "number of members; null if unknown or withheld"),
    Column("description", "string", "JSON: the rest of the description; null: never described"),
)

MEMBERS = _table(
    "members",
    "a member of a group",
    ("group", "member_id"),
    _GROUP,
    Column("member_id", "string", "as the coordinator names it", nullable=False),
    _GONE,
    Column("client_id", "string", ""),
    Column("host", "string", "as the broker sees it"),
    Column("instance_id", "string", "static membership (KIP-345)"),
    Column("rack", "string", ""),
    Column("epoch", "int", "member epoch; null for classic members of classic groups"),
    Column("protocol", "string", "classic, consumer, share or streams; null if the broker did not say"),
    Column("assigned", "int", "partitions, tasks or connectors it has; null if unknown"),
    Column("detail", "string", "JSON: subscription, assignment, target, and what its kind adds"),
)

PARTITIONS = _table(
    "partitions",
    "a group's position in a partition",
    ("group", "topic", "partition"),
    _GROUP,
    Column("topic", "string", "", nullable=False),
    Column("partition", "int", "", nullable=False),
    _GONE,
    Column("kind", "string", "commit, share, or owned: a member has it and nothing is committed"),
    Column("committed", "long", "committed offset; null when there is none"),
    Column("spso", "long", "share-partition start offset (KIP-932); null before it is initialised"),
    Column("lag", "long", "of a share partition as the broker tells it (KIP-1226); null if it does not"),
    Column("leader_epoch", "int", "of the position"),
    Column("metadata", "string", "of the commit"),
    Column("error", "int", "Kafka's error code of the position, 0 when fine"),
    Column("message", "string", "of that error, if there is one"),
    Column("log_start", "long", "first offset of the log; null if unknown"),
    Column("log_end", "long", "next offset of the log; null if unknown"),
    Column("log_error", "int", "Kafka's error code of the two, 0 when fine; null when they were not read"),
    Column("owner", "string", "member id; null when nobody is known to have it"),
)

FAULTS = _table(
    "faults",
    "what could not be learned, and why",
    ("group", "scope", "broker", "name"),
    Column("scope", "string", "cluster, broker, describe, offsets or logs", nullable=False),
    Column("broker", "int", "node id"),
    Column("group", "string", "group id, if it concerns one group"),
    Column("name", "string", "Kafka's error name, or one of kgtui's", nullable=False),
    _GONE,
    Column("code", "int", "Kafka's error code; null for kgtui's own"),
    Column("message", "string", ""),
    Column("advice", "string", ""),
)

TABLES = (GROUPS, MEMBERS, PARTITIONS, FAULTS, POLLS)
"""In the order in which a flush appends them: `polls` last."""


def day_of(poll: int) -> date:
    """Return the UTC day of a poll, which is the partition of its rows. `poll` is in milliseconds since the epoch."""
    return datetime.fromtimestamp(poll / 1000, UTC).date()
