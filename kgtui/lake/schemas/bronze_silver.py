"""Schemas of the bronze table (raw records of `__consumer_offsets`) and of the silver tables (decoded records).

Each row except those of `rebalances` comes from one record, which `record_partition` and `record_offset` identify, so
that reading a record twice adds nothing. All records of a group are in one partition, so `record_offset` orders them.
"""

from __future__ import annotations

from kgtui.lake.schemas.definition import PARTITION, Column, table

_RECORD = (
    Column(PARTITION, "date", "UTC day of the timestamp of the record", nullable=False),
    Column("record_partition", "int", "partition of __consumer_offsets", nullable=False),
    Column("record_offset", "long", "offset in that partition", nullable=False),
    Column("record_time", "timestamp", "when the coordinator wrote it", nullable=False),
)
_GROUP = Column("group", "string", "group id", nullable=False)
_TYPE = Column("type", "string", "classic, consumer, share or streams", nullable=False)

COMMITS = table(
    "silver",
    "commits",
    "one offset commit, or the deletion of one",
    ("record_partition", "record_offset"),
    *_RECORD,
    _GROUP,
    Column("topic", "string", "", nullable=False),
    Column("partition", "int", "", nullable=False),
    Column("offset", "long", "committed offset; null in a tombstone: the commit was deleted or expired"),
    Column("leader_epoch", "int", "leader epoch of the position; null if the client sent none (-1)"),
    Column("metadata", "string", "metadata of the commit; null in a tombstone"),
    Column("commit_time", "timestamp", "commit time set by the broker; null in a tombstone"),
    Column("expire_time", "timestamp", "expiry requested by an old client; null if it was not"),
    Column("topic_id", "string", "topic id as Kafka prints it (value version 4); null if the record has none"),
)

GROUP_EVENTS = table(
    "silver",
    "group_events",
    "one record about a change to a group, other than a commit",
    ("record_partition", "record_offset"),
    *_RECORD,
    _GROUP,
    _TYPE,
    Column("record", "string", "record type, such as ConsumerGroupMemberMetadata", nullable=False),
    Column("about", "string", "group, member, target, target_member, current or other", nullable=False),
    Column("tombstone", "boolean", "true if the record deletes what it is about", nullable=False),
    Column("created", "boolean", "whether the record created the group; null if unknown or not about the group"),
    Column("member_id", "string", "member id; null if the record is about the whole group"),
    Column("epoch", "int", "generation, group epoch, assignment epoch or member epoch; null if there is none"),
    Column("state", "string", "Stable or Empty for classic groups; state of a member; null if there is none"),
    Column("state_time", "timestamp", "since when the group has had this state (classic) or this target assignment"),
    Column("protocol_type", "string", "classic: consumer, connect, sr …"),
    Column("protocol", "string", "assignor of a classic group, server assignor of a member; null if there is none"),
    Column("leader", "string", "classic: member id of the leader; null if there is none"),
    Column("members", "int", "classic: number of members; null in records of other groups"),
    Column("member_ids", "string", "JSON array, classic: members; null in records of other groups"),
    Column("client_id", "string", "client id of a member"),
    Column("host", "string", "address of a member as reported by the broker"),
    Column("instance_id", "string", "instance id of a static member (KIP-345)"),
    Column("assignment", "string", "JSON object: member id -> sorted array of topic-partition; null if unknown"),
    Column("detail", "string", "JSON: the value as printed by Kafka; null in a tombstone"),
)

REBALANCES = table(
    "silver",
    "rebalances",
    "one rebalance of a group",
    ("record_partition", "record_offset"),
    Column(PARTITION, "date", "UTC day of the start of the rebalance", nullable=False),
    Column("record_partition", "int", "partition of the record that started the epoch or generation", nullable=False),
    Column("record_offset", "long", "offset of that record", nullable=False),
    _GROUP,
    _TYPE,
    Column("epoch", "int", "generation or group epoch after the rebalance", nullable=False),
    Column("start", "timestamp", "first known time of the rebalance", nullable=False),
    Column(
        "end",
        "timestamp",
        "when the last member had its assignment; null if it is not finished or another rebalance followed",
    ),
    Column("cause", "string", "joined, left, joined and left, subscription or topics; null if unknown"),
    Column("joined", "int", "number of members that joined; null if unknown"),
    Column("left", "int", "number of members that left; null if unknown"),
    Column("members", "int", "number of members after the rebalance; null if unknown"),
    Column("moved", "int", "number of partitions or tasks whose owner changed; null if unknown"),
)

QUARANTINE = table(
    "silver",
    "quarantine",
    "one record that could not be decoded, and why",
    ("record_partition", "record_offset"),
    *_RECORD,
    Column("fault", "string", "unknown type, unknown version, damaged key or damaged value", nullable=False),
    Column("reason", "string", "description for people", nullable=False),
    Column("type", "int", "record type number at the start of the key; null if there is none"),
    Column("version", "int", "version number at the start of the value; null if there is none"),
    Column("key", "binary", ""),
    Column("value", "binary", ""),
)

SILVER = (COMMITS, GROUP_EVENTS, REBALANCES, QUARANTINE)
"""All silver tables."""


COORDINATOR_RECORDS = table(
    "bronze",
    "coordinator_records",
    "one record of __consumer_offsets, as it was written",
    ("partition", "offset"),
    Column(PARTITION, "date", "UTC day of the timestamp of the record", nullable=False),
    Column("partition", "int", "partition of __consumer_offsets", nullable=False),
    Column("offset", "long", "offset in that partition", nullable=False),
    Column("timestamp", "timestamp", "when the coordinator wrote it", nullable=False),
    Column("key", "binary", "null only in a damaged record"),
    Column("value", "binary", "null in a tombstone"),
)

BRONZE = (COORDINATOR_RECORDS,)
"""All bronze tables."""
