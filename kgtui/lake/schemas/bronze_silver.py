"""Schemas of the bronze table (raw records of `__consumer_offsets`) and of the silver tables (decoded records).

Each row is one record of `__consumer_offsets`, except in table `rebalances`, where a row is one rebalance of a group. A
record is identified by the columns `record_partition` and `record_offset`, or in the bronze table by `partition` and
`offset`. All records of a group are in the same partition of `__consumer_offsets`.
"""

from __future__ import annotations

from kgtui.lake.schemas.definition import PARTITION, Column, table

_RECORD = (
    Column(PARTITION, "date", "UTC day of the timestamp of the record", nullable=False),
    Column("record_partition", "int", "partition of __consumer_offsets", nullable=False),
    Column("record_offset", "long", "offset of the record in the partition `record_partition`", nullable=False),
    Column("record_time", "timestamp", "time at which the coordinator wrote the record", nullable=False),
)
_GROUP = Column("group", "string", "group id", nullable=False)
_TYPE = Column("type", "string", "group type: classic, consumer, share or streams", nullable=False)

COMMITS = table(
    "silver",
    "commits",
    "one committed offset, or the deletion of a committed offset by a tombstone",
    ("record_partition", "record_offset"),
    *_RECORD,
    _GROUP,
    Column("topic", "string", "topic of the committed offset", nullable=False),
    Column("partition", "int", "partition of the committed offset", nullable=False),
    Column("offset", "long", "committed offset; null in a tombstone, because the offset was deleted or expired"),
    Column(
        "leader_epoch",
        "int",
        "leader epoch of the committed offset; null in a tombstone, or if the client sent no leader epoch",
    ),
    Column("metadata", "string", "metadata of the commit; null in a tombstone"),
    Column("commit_time", "timestamp", "commit time set by the broker; null in a tombstone"),
    Column(
        "expire_time",
        "timestamp",
        "expiry time that an old client requested; null in a tombstone, or if the client requested no expiry time",
    ),
    Column("topic_id", "string", "topic id as Kafka prints it; null in a tombstone, and in values of versions below 4"),
    Column(
        "unknown_fields",
        "string",
        "JSON object with the tagged fields that this kgtui does not know: tag number -> content in base64; null if "
        "there are none, and in rows that an older kgtui wrote",
    ),
)

GROUP_EVENTS = table(
    "silver",
    "group_events",
    "one record about a group or its members, but not about a committed offset",
    ("record_partition", "record_offset"),
    *_RECORD,
    _GROUP,
    _TYPE,
    Column("record", "string", "record type, such as ConsumerGroupMemberMetadata", nullable=False),
    Column(
        "about",
        "string",
        "what the record describes: group, member, target (target assignment of the group), target_member (target "
        "assignment of a member), current (current assignment of a member) or other",
        nullable=False,
    ),
    Column("tombstone", "boolean", "whether the record deletes the object that it describes", nullable=False),
    Column(
        "created",
        "boolean",
        "whether the record is the first one of a newly created group; null if unknown, or if the record does not "
        "describe the group itself",
    ),
    Column("member_id", "string", "member id; null if the record describes the whole group"),
    Column(
        "epoch",
        "int",
        "generation, group epoch, assignment epoch or member epoch; null if the record has no epoch",
    ),
    Column(
        "state",
        "string",
        "state of a classic group (Stable or Empty), or state of a member; null if the record has no state",
    ),
    Column(
        "state_time",
        "timestamp",
        "`currentStateTimestamp` of a classic group, or `AssignmentTimestamp` of a target assignment; null if the "
        "record has neither",
    ),
    Column(
        "protocol_type",
        "string",
        "protocol type of a classic group, such as consumer, connect or sr; null in records of other group types",
    ),
    Column(
        "protocol",
        "string",
        "assignor of a classic group or server assignor of a member; null if the record has no assignor",
    ),
    Column(
        "leader",
        "string",
        "member id of the leader of a classic group; null without a leader, and in records of other group types",
    ),
    Column("members", "int", "number of members of a classic group; null in records of other group types"),
    Column(
        "member_ids", "string", "JSON array of the member ids of a classic group; null in records of other group types"
    ),
    Column("client_id", "string", "client id of a member; null if the record does not describe a member"),
    Column(
        "host", "string", "address of a member as reported by the broker; null if the record does not describe a member"
    ),
    Column(
        "instance_id",
        "string",
        "instance id of a static member (KIP-345); null if the record does not describe a static member",
    ),
    Column(
        "assignment",
        "string",
        "JSON object: member id -> sorted array of partitions, written as TOPIC-PARTITION (classic groups), "
        "SUBTOPOLOGY-PARTITION (streams groups) or TOPIC_ID-PARTITION (other groups); null without an assignment, or "
        "if it cannot be decoded",
    ),
    Column("detail", "string", "value of the record as JSON, as Kafka prints it; null in a tombstone"),
)

REBALANCES = table(
    "silver",
    "rebalances",
    "one rebalance of a group",
    ("record_partition", "record_offset"),
    Column(PARTITION, "date", "UTC day of the start of the rebalance", nullable=False),
    Column(
        "record_partition",
        "int",
        "partition of __consumer_offsets that contains the first record with the new epoch or generation",
        nullable=False,
    ),
    Column(
        "record_offset",
        "long",
        "offset of the first record with the new epoch or generation, in the partition `record_partition`",
        nullable=False,
    ),
    _GROUP,
    _TYPE,
    Column("epoch", "int", "generation or group epoch after the rebalance", nullable=False),
    Column(
        "start", "timestamp", "earliest time at which the rebalance is known to have been in progress", nullable=False
    ),
    Column(
        "end",
        "timestamp",
        "time at which the last member got its assignment; null if the rebalance is not finished, or if it was not "
        "finished when the next rebalance began",
    ),
    Column(
        "cause",
        "string",
        "`joined` (members joined), `left` (members left), `joined and left`, `subscription` (a member changed its "
        "subscription) or `topics` (the subscribed topics or their partitions changed); null if unknown",
    ),
    Column("joined", "int", "number of members that joined in the rebalance; null if unknown"),
    Column("left", "int", "number of members that left in the rebalance; null if unknown"),
    Column("members", "int", "number of members after the rebalance; null if unknown"),
    Column("moved", "int", "number of partitions or tasks whose owner changed in the rebalance; null if unknown"),
)

QUARANTINE = table(
    "silver",
    "quarantine",
    "one record that could not be decoded, and the reason",
    ("record_partition", "record_offset"),
    *_RECORD,
    Column(
        "fault",
        "string",
        "why the record could not be decoded: unknown type, unknown version, damaged key or damaged value",
        nullable=False,
    ),
    Column("reason", "string", "message with details about the fault", nullable=False),
    Column("type", "int", "id of the record type, read from the start of the key; null if the key is too short"),
    Column(
        "version",
        "int",
        "version number at the start of the record's value; null if the value is missing or too short",
    ),
    Column("key", "binary", "key of the record; null if the record has no key"),
    Column("value", "binary", "value of the record; null in a tombstone"),
)

SILVER = (COMMITS, GROUP_EVENTS, REBALANCES, QUARANTINE)
"""All silver tables of a lake."""


COORDINATOR_RECORDS = table(
    "bronze",
    "coordinator_records",
    "one undecoded record of __consumer_offsets",
    ("partition", "offset"),
    Column(PARTITION, "date", "UTC day of the timestamp of the record", nullable=False),
    Column("partition", "int", "partition of __consumer_offsets", nullable=False),
    Column("offset", "long", "offset of the record in the partition of __consumer_offsets", nullable=False),
    Column("timestamp", "timestamp", "time at which the coordinator wrote the record", nullable=False),
    Column("key", "binary", "key of the record; null only in a damaged record"),
    Column("value", "binary", "value of the record; null in a tombstone"),
)

BRONZE = (COORDINATOR_RECORDS,)
"""All bronze tables of a lake; there is only one."""
