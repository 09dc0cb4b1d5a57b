"""The silver tables: records of `__consumer_offsets` decoded.

Every row but those of `rebalances` is of one record, named by `record_partition` and `record_offset`: a record that
comes again changes nothing. All records of a group are in one partition, so `record_offset` is their order.
"""

from __future__ import annotations

from kgtui.lake.schemas.definition import PARTITION, Column, table

_RECORD = (
    Column(PARTITION, "date", "of the record's timestamp, in UTC", nullable=False),
    Column("record_partition", "int", "of __consumer_offsets", nullable=False),
    Column("record_offset", "long", "in that partition", nullable=False),
    Column("record_time", "timestamp", "when the coordinator wrote it", nullable=False),
)
_GROUP = Column("group", "string", "group id", nullable=False)
_TYPE = Column("type", "string", "classic, consumer, share or streams", nullable=False)

COMMITS = table(
    "silver",
    "commits",
    "one offset commit, or its end",
    ("record_partition", "record_offset"),
    *_RECORD,
    _GROUP,
    Column("topic", "string", "", nullable=False),
    Column("partition", "int", "", nullable=False),
    Column("offset", "long", "committed; null: a tombstone, the commit was deleted or expired"),
    Column("leader_epoch", "int", "of the position; null when the client gave none (-1)"),
    Column("metadata", "string", "of the commit; null in a tombstone"),
    Column("commit_time", "timestamp", "as the broker stamped it; null in a tombstone"),
    Column("expire_time", "timestamp", "asked for by an old client; null when it was not"),
    Column("topic_id", "string", "as Kafka prints it (value version 4); null when the record has none"),
)

GROUP_EVENTS = table(
    "silver",
    "group_events",
    "one record about a group that is no commit: what changed in it",
    ("record_partition", "record_offset"),
    *_RECORD,
    _GROUP,
    _TYPE,
    Column("record", "string", "its kind, as ConsumerGroupMemberMetadata", nullable=False),
    Column("about", "string", "group, member, target, target_member, current or other", nullable=False),
    Column("tombstone", "boolean", "true: what it names is gone", nullable=False),
    Column("created", "boolean", "the group began with it; null: not known, or not about the group"),
    Column("member_id", "string", "null when it is about the group"),
    Column("epoch", "int", "generation, group epoch, assignment epoch or member epoch; null if it has none"),
    Column("state", "string", "classic: Stable, or Empty; a member's state; null if it has none"),
    Column("state_time", "timestamp", "since when the group is in this state (classic) or has this target"),
    Column("protocol_type", "string", "classic: consumer, connect, sr …"),
    Column("protocol", "string", "classic: assignor; a member's server assignor; null if none"),
    Column("leader", "string", "classic: member id of the leader; null if none"),
    Column("members", "int", "classic: number of members; null in records of other groups"),
    Column("member_ids", "string", "JSON array, classic: members; null in records of other groups"),
    Column("client_id", "string", "of a member"),
    Column("host", "string", "of a member, as the broker sees it"),
    Column("instance_id", "string", "of a static member (KIP-345)"),
    Column("assignment", "string", "JSON object: member id -> sorted array of topic-partition; null if unknown"),
    Column("detail", "string", "JSON: the value as Kafka prints it; null in a tombstone"),
)

REBALANCES = table(
    "silver",
    "rebalances",
    "one rebalance of a group",
    ("record_partition", "record_offset"),
    Column(PARTITION, "date", "of its start, in UTC", nullable=False),
    Column("record_partition", "int", "of the record that began the epoch or generation", nullable=False),
    Column("record_offset", "long", "of that record", nullable=False),
    _GROUP,
    _TYPE,
    Column("epoch", "int", "generation or group epoch that it led to", nullable=False),
    Column("start", "timestamp", "its first known moment", nullable=False),
    Column("end", "timestamp", "when the last member had its part; null: it goes on, or another overtook it"),
    Column("cause", "string", "joined, left, joined and left, subscription, topics; null when not known"),
    Column("joined", "int", "members that came; null when not known"),
    Column("left", "int", "members that went; null when not known"),
    Column("members", "int", "members afterwards; null when not known"),
    Column("moved", "int", "partitions or tasks that changed hands; null when not known"),
)

QUARANTINE = table(
    "silver",
    "quarantine",
    "one record that could not be decoded, and why",
    ("record_partition", "record_offset"),
    *_RECORD,
    Column("fault", "string", "unknown type, unknown version, damaged key or damaged value", nullable=False),
    Column("reason", "string", "a sentence", nullable=False),
    Column("type", "int", "the number that its key begins with; null without"),
    Column("version", "int", "the number that its value begins with; null without"),
    Column("key", "binary", ""),
    Column("value", "binary", ""),
)

SILVER = (COMMITS, GROUP_EVENTS, REBALANCES, QUARANTINE)
"""The tables of this layer."""


COORDINATOR_RECORDS = table(
    "bronze",
    "coordinator_records",
    "one record of __consumer_offsets, as it was written",
    ("partition", "offset"),
    Column(PARTITION, "date", "of the record's timestamp, in UTC", nullable=False),
    Column("partition", "int", "of __consumer_offsets", nullable=False),
    Column("offset", "long", "in that partition", nullable=False),
    Column("timestamp", "timestamp", "when the coordinator wrote it", nullable=False),
    Column("key", "binary", "null only in a damaged record"),
    Column("value", "binary", "null: a tombstone"),
)

BRONZE = (COORDINATOR_RECORDS,)
"""The tables of this layer."""
