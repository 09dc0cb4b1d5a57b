"""Schemas of the recorded tables, which hold what each poll found changed since the poll before.

Each row has `day` (UTC, the partition), `keyframe` (the last poll that wrote the complete state) and `poll`
(milliseconds since the epoch, the key of `polls`). The state at a poll consists of the newest row of each key among all
rows with the same `keyframe` and no later `poll`, without those whose `gone` is true. Rows count only if `polls`
contains their poll, because a flush appends to `polls` last.
"""

from __future__ import annotations

from datetime import UTC, date, datetime

from kgtui.lake.schemas.definition import PARTITION, Column, Layer, Table, table

LAYER: Layer = "recorded"
"""Folder of these tables in a lake."""


_ALWAYS = (
    Column(PARTITION, "date", "the poll's day in UTC", nullable=False),
    Column("keyframe", "long", "the last poll that wrote the complete state", nullable=False),
    Column("poll", "long", "milliseconds since the epoch", nullable=False),
)
_GONE = Column("gone", "boolean", "true if the object does not exist any more", nullable=False)
_GROUP = Column("group", "string", "group id", nullable=False)


def _table(name: str, about: str, key: tuple[str, ...], *columns: Column) -> Table:
    return table(LAYER, name, about, key, *_ALWAYS, *columns)


POLLS = _table(
    "polls",
    "one poll of the cluster; all its rows are in the other tables",
    ("poll",),
    Column("taken_at", "timestamp", "when the poll began", nullable=False),
    Column("run", "string", "id of the recorder's run", nullable=False),
    Column("previous", "long", "the poll before; null after a gap"),
    Column("gap", "string", "why nothing was recorded before this poll; null if there is no gap"),
    Column("interval_ms", "int", "configured interval between polls in milliseconds", nullable=False),
    Column("took_ms", "int", "duration of the poll in milliseconds", nullable=False),
    Column("rows", "int", "number of rows of this poll in the other tables", nullable=False),
    Column("groups", "int", "number of listed groups", nullable=False),
    Column("brokers", "int", "number of brokers", nullable=False),
    Column("brokers_answered", "int", "number of brokers that answered the list request", nullable=False),
    Column("cluster_id", "string", "null if the cluster reports none"),
    Column("cluster", "string", "JSON: brokers, controller, features, seeds; null if unchanged"),
)

GROUPS = _table(
    "groups",
    "a group as listed and described",
    ("group",),
    _GROUP,
    _GONE,
    Column("type", "string", "as listed; null if the broker does not report it"),
    Column("protocol", "string", "protocol type, as listed"),
    Column("state", "string", "as listed; null if the broker does not report it"),
    Column("coordinator", "int", "node id"),
    Column(
        "described_at", "long", "when this description was first read, in ms since the epoch; null if never described"
    ),
    Column("assignor", "string", "assignor or protocol name"),
    Column("group_epoch", "int", "KIP-848, KIP-932, KIP-1071; null for classic groups"),
    Column("assignment_epoch", "int", "of the target assignment; null for classic groups"),
    Column("members", "int", "number of members; null if unknown or withheld"),
    Column("description", "string", "JSON: the rest of the description; null if never described"),
)

MEMBERS = _table(
    "members",
    "a member of a group",
    ("group", "member_id"),
    _GROUP,
    Column("member_id", "string", "member id", nullable=False),
    _GONE,
    Column("client_id", "string", ""),
    Column("host", "string", "address as reported by the broker"),
    Column("instance_id", "string", "static membership (KIP-345)"),
    Column("rack", "string", ""),
    Column("epoch", "int", "member epoch; null for classic members of classic groups"),
    Column("protocol", "string", "classic, consumer, share or streams; null if the broker does not report it"),
    Column("assigned", "int", "number of assigned partitions, tasks or connectors; null if unknown"),
    Column("detail", "string", "JSON: subscription, assignment, target assignment, and details of the group kind"),
)

PARTITIONS = _table(
    "partitions",
    "position of a group in a partition",
    ("group", "topic", "partition"),
    _GROUP,
    Column("topic", "string", "", nullable=False),
    Column("partition", "int", "", nullable=False),
    _GONE,
    Column("kind", "string", "commit, share, or owned (assigned to a member, without a committed offset)"),
    Column("committed", "long", "committed offset; null if there is none"),
    Column("spso", "long", "share-partition start offset (KIP-932); null until it is initialized"),
    Column("lag", "long", "lag of a share partition as reported by the broker (KIP-1226); null if it is not"),
    Column("leader_epoch", "int", "leader epoch of the position"),
    Column("metadata", "string", "metadata of the commit"),
    Column("error", "int", "Kafka error code of the position, 0 for none"),
    Column("message", "string", "message of that error; null if there is none"),
    Column("log_start", "long", "log start offset; null if unknown"),
    Column("log_end", "long", "log end offset; null if unknown"),
    Column("log_error", "int", "Kafka error code of both log offsets, 0 for none; null if they were not read"),
    Column("owner", "string", "member id of the owner; null if unknown"),
)

FAULTS = _table(
    "faults",
    "something that could not be read, with the reason",
    ("group", "scope", "broker", "name"),
    Column("scope", "string", "cluster, broker, describe, offsets or logs", nullable=False),
    Column("broker", "int", "node id"),
    Column("group", "string", "group id, if the fault is about one group"),
    Column("name", "string", "error name of Kafka or of kgtui", nullable=False),
    _GONE,
    Column("code", "int", "Kafka error code; null for errors of kgtui"),
    Column("message", "string", ""),
    Column("advice", "string", ""),
)

TABLES = (GROUPS, MEMBERS, PARTITIONS, FAULTS, POLLS)
"""All recorded tables in the order in which a flush appends to them."""


def day_of(poll: int) -> date:
    """Return the UTC day of a poll (in milliseconds since the epoch), which is the partition of its rows."""
    return datetime.fromtimestamp(poll / 1000, UTC).date()
