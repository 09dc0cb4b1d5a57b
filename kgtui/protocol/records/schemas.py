"""Tables of the fields in the key and the value of each record type in `__consumer_offsets`.

The tables correspond to the 44 schemas of the group coordinator in Kafka 4.3.1 (`common/message/*.json`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from types import MappingProxyType
from typing import TYPE_CHECKING

from kgtui.protocol.api import Message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kgtui.protocol.api import Rows

KEY_VERSION = 0
"""Version of all key schemas. Encoded keys do not contain this version; they begin with the record type instead."""


class RecordType(IntEnum):
    """Types of records in `__consumer_offsets` (Kafka's CoordinatorRecordType).

    Each encoded key begins with the number of its record type. The numbers 9 and 18 are not used.
    """

    LEGACY_OFFSET_COMMIT = 0
    OFFSET_COMMIT = 1
    GROUP_METADATA = 2
    CONSUMER_GROUP_METADATA = 3
    CONSUMER_GROUP_PARTITION_METADATA = 4
    CONSUMER_GROUP_MEMBER_METADATA = 5
    CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA = 6
    CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER = 7
    CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT = 8
    SHARE_GROUP_MEMBER_METADATA = 10
    SHARE_GROUP_METADATA = 11
    SHARE_GROUP_TARGET_ASSIGNMENT_METADATA = 12
    SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER = 13
    SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT = 14
    SHARE_GROUP_STATE_PARTITION_METADATA = 15
    CONSUMER_GROUP_REGULAR_EXPRESSION = 16
    STREAMS_GROUP_METADATA = 17
    STREAMS_GROUP_MEMBER_METADATA = 19
    STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA = 20
    STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER = 21
    STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT = 22
    STREAMS_GROUP_TOPOLOGY = 23


@dataclass(frozen=True, slots=True)
class RecordSchema:
    """The formats of the key and the value of one record type.

    Decoding rejects invalid UTF-8 and bytes after the last field, because no broker writes them (`Message.strict`).
    """

    type: RecordType
    key: Message
    value: Message

    @classmethod
    def define(
        cls, record_type: RecordType, key: Rows, value: Rows, *, newest_value: int = 0, flexible: int | None = 0
    ) -> RecordSchema:
        """Build a schema from the tables of its key and its value.

        Args:
            newest_value: newest version of the value.
            flexible: first version of the value that has tagged fields (KIP-482); None if no version has them.
        """
        name = record_type.name.title().replace("_", "")
        return cls(
            type=record_type,
            key=Message(f"{name}Key", key, low=KEY_VERSION, high=KEY_VERSION, flexible=None, strict=True),
            value=Message(f"{name}Value", value, low=0, high=newest_value, flexible=flexible, strict=True),
        )


GROUP_KEY: Rows = (("GroupId", "string", "0"),)
"""Fields of the key, for record types with one record per group."""

MEMBER_KEY: Rows = (
    ("GroupId", "string", "0"),
    ("MemberId", "string", "0"),
)
"""Fields of the key, for record types with one record per member."""

TARGET_ASSIGNMENT_METADATA: Rows = (
    ("AssignmentEpoch", "int32", "0+"),
    ("AssignmentTimestamp", "int64", "0+", "tag 0, ignorable"),
)
"""Fields of the value of `*_TARGET_ASSIGNMENT_METADATA` records. Kafka 4.3 added the timestamp (KIP-1263)."""

# Tables of the records that store the committed offsets of classic, consumer and streams groups.

_OFFSET_COMMIT_KEY: Rows = (
    ("group", "string", "0"),
    ("topic", "string", "0"),
    ("partition", "int32", "0"),
)

_OFFSET_COMMIT_LEGACY_VALUE: Rows = (
    ("offset", "int64", "0"),
    ("metadata", "string", "0"),
    ("commitTimestamp", "int64", "0"),
)

_OFFSET_COMMIT_VALUE: Rows = (
    ("offset", "int64", "0+"),
    ("leaderEpoch", "int32", "3+", "default -1, ignorable"),
    ("metadata", "string", "0+"),
    ("commitTimestamp", "int64", "0+"),
    ("expireTimestamp", "int64", "1", "default -1, ignorable"),
    ("topicId", "uuid", "4+", "tag 0, ignorable"),
)

# Field tables for decoding GroupMetadataValue, the record that stores a classic group with all its members. Brokers
# write such a record after each rebalance of the group.

_CLASSIC_KEY: Rows = (("group", "string", "0"),)

_CLASSIC_MEMBER: Rows = (
    ("memberId", "string", "0+"),
    ("groupInstanceId", "string", "3+", "nullable 3+, default null, ignorable"),
    ("clientId", "string", "0+"),
    ("clientHost", "string", "0+"),
    ("rebalanceTimeout", "int32", "1+", "default -1, ignorable"),
    ("sessionTimeout", "int32", "0+"),
    ("subscription", "bytes", "0+"),
    ("assignment", "bytes", "0+"),
)

_CLASSIC_VALUE: Rows = (
    ("protocolType", "string", "0+"),
    ("generation", "int32", "0+"),
    ("protocol", "string", "0+", "nullable 0+"),
    ("leader", "string", "0+", "nullable 0+"),
    ("currentStateTimestamp", "int64", "2+", "default -1, ignorable"),
    ("members", "[]MemberMetadata", "0+", _CLASSIC_MEMBER),
)

# Tables of the records of consumer groups (KIP-848). `ClassicMemberMetadata` is only set if the member uses the classic
# protocol; otherwise, it is null.

_CONSUMER_METADATA: Rows = (
    ("Epoch", "int32", "0+"),
    ("MetadataHash", "int64", "0+", "tag 0, default 0"),
)

_CONSUMER_PARTITION_METADATA_PARTITION: Rows = (
    ("Partition", "int32", "0+"),
    ("Racks", "[]string", "0+"),
)

_CONSUMER_PARTITION_METADATA_TOPIC: Rows = (
    ("TopicId", "uuid", "0+"),
    ("TopicName", "string", "0+"),
    ("NumPartitions", "int32", "0+"),
    ("PartitionMetadata", "[]PartitionMetadata", "0+", _CONSUMER_PARTITION_METADATA_PARTITION),
)

_CONSUMER_PARTITION_METADATA: Rows = (("Topics", "[]TopicMetadata", "0+", _CONSUMER_PARTITION_METADATA_TOPIC),)

_CONSUMER_CLASSIC_PROTOCOL: Rows = (
    ("Name", "string", "0+"),
    ("Metadata", "bytes", "0+"),
)

_CONSUMER_CLASSIC_MEMBER: Rows = (
    ("SessionTimeoutMs", "int32", "0+"),
    ("SupportedProtocols", "[]ClassicProtocol", "0+", _CONSUMER_CLASSIC_PROTOCOL),
)

_CONSUMER_MEMBER_METADATA: Rows = (
    ("InstanceId", "string", "0+", "nullable 0+"),
    ("RackId", "string", "0+", "nullable 0+"),
    ("ClientId", "string", "0+"),
    ("ClientHost", "string", "0+"),
    ("SubscribedTopicNames", "[]string", "0+"),
    ("SubscribedTopicRegex", "string", "0+", "nullable 0+"),
    ("RebalanceTimeoutMs", "int32", "0+", "default -1"),
    ("ServerAssignor", "string", "0+", "nullable 0+"),
    ("ClassicMemberMetadata", "ClassicMemberMetadata", "0+", "nullable 0+, tag 0", _CONSUMER_CLASSIC_MEMBER),
)

_CONSUMER_TARGET_PARTITIONS: Rows = (
    ("TopicId", "uuid", "0+"),
    ("Partitions", "[]int32", "0+"),
)

_CONSUMER_TARGET_ASSIGNMENT_MEMBER: Rows = (("TopicPartitions", "[]TopicPartition", "0+", _CONSUMER_TARGET_PARTITIONS),)

_CONSUMER_CURRENT_PARTITIONS: Rows = (
    ("TopicId", "uuid", "0+"),
    ("Partitions", "[]int32", "0+"),
    ("AssignmentEpochs", "[]int32", "0+", "nullable 0+, tag 0"),
)

_CONSUMER_CURRENT_MEMBER_ASSIGNMENT: Rows = (
    ("MemberEpoch", "int32", "0+"),
    ("PreviousMemberEpoch", "int32", "0+"),
    ("State", "int8", "0+"),
    ("AssignedPartitions", "[]TopicPartitions", "0+", _CONSUMER_CURRENT_PARTITIONS),
    ("PartitionsPendingRevocation", "[]TopicPartitions", "0+", _CONSUMER_CURRENT_PARTITIONS),
)

_CONSUMER_REGULAR_EXPRESSION_KEY: Rows = (
    ("GroupId", "string", "0"),
    ("RegularExpression", "string", "0"),
)

_CONSUMER_REGULAR_EXPRESSION: Rows = (
    ("Topics", "[]string", "0+"),
    ("Version", "int64", "0+"),
    ("Timestamp", "int64", "0+"),
)

# Tables of the records of share groups (KIP-932), as in Kafka 4.1 and later. Share-partition start offsets are in a
# different topic, `__share_group_state`.

_SHARE_MEMBER_METADATA: Rows = (
    ("RackId", "string", "0+", "nullable 0+"),
    ("ClientId", "string", "0+"),
    ("ClientHost", "string", "0+"),
    ("SubscribedTopicNames", "[]string", "0+"),
)

_SHARE_METADATA: Rows = (
    ("Epoch", "int32", "0+"),
    ("MetadataHash", "int64", "0+"),
)

_SHARE_PARTITIONS: Rows = (
    ("TopicId", "uuid", "0+"),
    ("Partitions", "[]int32", "0+"),
)

_SHARE_TARGET_ASSIGNMENT_MEMBER: Rows = (("TopicPartitions", "[]TopicPartition", "0+", _SHARE_PARTITIONS),)

_SHARE_CURRENT_MEMBER_ASSIGNMENT: Rows = (
    ("MemberEpoch", "int32", "0+"),
    ("PreviousMemberEpoch", "int32", "0+"),
    ("State", "int8", "0+"),
    ("AssignedPartitions", "[]TopicPartitions", "0+", _SHARE_PARTITIONS),
)

_SHARE_STATE_TOPIC: Rows = (
    ("TopicId", "uuid", "0+"),
    ("TopicName", "string", "0+"),
)

_SHARE_STATE_PARTITIONS: Rows = (*_SHARE_STATE_TOPIC, ("Partitions", "[]int32", "0+"))

_SHARE_STATE_PARTITION_METADATA: Rows = (
    ("InitializingTopics", "[]TopicPartitionsInfo", "0+", _SHARE_STATE_PARTITIONS),
    ("InitializedTopics", "[]TopicPartitionsInfo", "0+", _SHARE_STATE_PARTITIONS),
    ("DeletingTopics", "[]TopicInfo", "0+", _SHARE_STATE_TOPIC),
)

# Tables of the records of streams groups (KIP-1071), as in Kafka 4.2 and later.

_STREAMS_LAST_ASSIGNMENT_CONFIG: Rows = (
    ("Key", "string", "0+"),
    ("Value", "string", "0+"),
)

_STREAMS_METADATA: Rows = (
    ("Epoch", "int32", "0+"),
    ("MetadataHash", "int64", "0+"),
    ("ValidatedTopologyEpoch", "int32", "0+", "tag 0, default -1"),
    ("LastAssignmentConfigs", "[]LastAssignmentConfig", "0+", "nullable 0+, tag 1", _STREAMS_LAST_ASSIGNMENT_CONFIG),
)

_STREAMS_ENDPOINT: Rows = (
    ("Host", "string", "0+"),
    ("Port", "uint16", "0+"),
)

_STREAMS_KEY_VALUE: Rows = (
    ("Key", "string", "0+"),
    ("Value", "string", "0+"),
)

_STREAMS_MEMBER_METADATA: Rows = (
    ("InstanceId", "string", "0+", "nullable 0+"),
    ("RackId", "string", "0+", "nullable 0+"),
    ("ClientId", "string", "0+"),
    ("ClientHost", "string", "0+"),
    ("RebalanceTimeoutMs", "int32", "0+", "default -1"),
    ("TopologyEpoch", "int32", "0+"),
    ("ProcessId", "string", "0+"),
    ("UserEndpoint", "Endpoint", "0+", "nullable 0+, default null", _STREAMS_ENDPOINT),
    ("ClientTags", "[]KeyValue", "0+", _STREAMS_KEY_VALUE),
)

_STREAMS_TARGET_TASKS: Rows = (
    ("SubtopologyId", "string", "0+"),
    ("Partitions", "[]int32", "0+"),
)

_STREAMS_TARGET_ASSIGNMENT_MEMBER: Rows = (
    ("ActiveTasks", "[]TaskIds", "0+", _STREAMS_TARGET_TASKS),
    ("StandbyTasks", "[]TaskIds", "0+", _STREAMS_TARGET_TASKS),
    ("WarmupTasks", "[]TaskIds", "0+", _STREAMS_TARGET_TASKS),
)

_STREAMS_CURRENT_TASKS: Rows = (*_STREAMS_TARGET_TASKS, ("AssignmentEpochs", "[]int32", "0+", "nullable 0+, tag 0"))

_STREAMS_CURRENT_MEMBER_ASSIGNMENT: Rows = (
    ("MemberEpoch", "int32", "0+"),
    ("PreviousMemberEpoch", "int32", "0+"),
    ("State", "int8", "0+"),
    ("ActiveTasks", "[]TaskIds", "0+", _STREAMS_CURRENT_TASKS),
    ("StandbyTasks", "[]TaskIds", "0+", _STREAMS_CURRENT_TASKS),
    ("WarmupTasks", "[]TaskIds", "0+", _STREAMS_CURRENT_TASKS),
    ("ActiveTasksPendingRevocation", "[]TaskIds", "0+", _STREAMS_CURRENT_TASKS),
    ("StandbyTasksPendingRevocation", "[]TaskIds", "0+", _STREAMS_CURRENT_TASKS),
    ("WarmupTasksPendingRevocation", "[]TaskIds", "0+", _STREAMS_CURRENT_TASKS),
)

_STREAMS_TOPIC_CONFIG: Rows = (
    ("key", "string", "0+"),
    ("value", "string", "0+"),
)

_STREAMS_TOPIC_INFO: Rows = (
    ("Name", "string", "0+"),
    ("Partitions", "int32", "0+"),
    ("ReplicationFactor", "int16", "0+"),
    ("TopicConfigs", "[]TopicConfig", "0+", _STREAMS_TOPIC_CONFIG),
)

_STREAMS_COPARTITION_GROUP: Rows = (
    ("SourceTopics", "[]int16", "0+"),
    ("SourceTopicRegex", "[]int16", "0+"),
    ("RepartitionSourceTopics", "[]int16", "0+"),
)

_STREAMS_SUBTOPOLOGY: Rows = (
    ("SubtopologyId", "string", "0+"),
    ("SourceTopics", "[]string", "0+"),
    ("SourceTopicRegex", "[]string", "0+"),
    ("StateChangelogTopics", "[]TopicInfo", "0+", _STREAMS_TOPIC_INFO),
    ("RepartitionSinkTopics", "[]string", "0+"),
    ("RepartitionSourceTopics", "[]TopicInfo", "0+", _STREAMS_TOPIC_INFO),
    ("CopartitionGroups", "[]CopartitionGroup", "0+", _STREAMS_COPARTITION_GROUP),
)

_STREAMS_TOPOLOGY: Rows = (
    ("Epoch", "int32", "0+"),
    ("Subtopologies", "[]Subtopology", "0+", _STREAMS_SUBTOPOLOGY),
)

_schema = RecordSchema.define

_ALL = (
    _schema(RecordType.LEGACY_OFFSET_COMMIT, _OFFSET_COMMIT_KEY, _OFFSET_COMMIT_LEGACY_VALUE, flexible=None),
    _schema(RecordType.OFFSET_COMMIT, _OFFSET_COMMIT_KEY, _OFFSET_COMMIT_VALUE, newest_value=4, flexible=4),
    _schema(RecordType.GROUP_METADATA, _CLASSIC_KEY, _CLASSIC_VALUE, newest_value=4, flexible=4),
    _schema(RecordType.CONSUMER_GROUP_METADATA, GROUP_KEY, _CONSUMER_METADATA),
    # Since Kafka 4.1, brokers no longer write CONSUMER_GROUP_PARTITION_METADATA. Instead, CONSUMER_GROUP_METADATA
    # contains a hash of the metadata of all subscribed topics (KIP-1101).
    _schema(RecordType.CONSUMER_GROUP_PARTITION_METADATA, GROUP_KEY, _CONSUMER_PARTITION_METADATA),
    _schema(RecordType.CONSUMER_GROUP_MEMBER_METADATA, MEMBER_KEY, _CONSUMER_MEMBER_METADATA),
    _schema(RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA, GROUP_KEY, TARGET_ASSIGNMENT_METADATA),
    _schema(RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER, MEMBER_KEY, _CONSUMER_TARGET_ASSIGNMENT_MEMBER),
    _schema(RecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT, MEMBER_KEY, _CONSUMER_CURRENT_MEMBER_ASSIGNMENT),
    _schema(
        RecordType.CONSUMER_GROUP_REGULAR_EXPRESSION, _CONSUMER_REGULAR_EXPRESSION_KEY, _CONSUMER_REGULAR_EXPRESSION
    ),
    _schema(RecordType.SHARE_GROUP_MEMBER_METADATA, MEMBER_KEY, _SHARE_MEMBER_METADATA),
    _schema(RecordType.SHARE_GROUP_METADATA, GROUP_KEY, _SHARE_METADATA),
    _schema(RecordType.SHARE_GROUP_TARGET_ASSIGNMENT_METADATA, GROUP_KEY, TARGET_ASSIGNMENT_METADATA),
    _schema(RecordType.SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER, MEMBER_KEY, _SHARE_TARGET_ASSIGNMENT_MEMBER),
    _schema(RecordType.SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT, MEMBER_KEY, _SHARE_CURRENT_MEMBER_ASSIGNMENT),
    _schema(RecordType.SHARE_GROUP_STATE_PARTITION_METADATA, GROUP_KEY, _SHARE_STATE_PARTITION_METADATA),
    _schema(RecordType.STREAMS_GROUP_METADATA, GROUP_KEY, _STREAMS_METADATA),
    _schema(RecordType.STREAMS_GROUP_MEMBER_METADATA, MEMBER_KEY, _STREAMS_MEMBER_METADATA),
    _schema(RecordType.STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA, GROUP_KEY, TARGET_ASSIGNMENT_METADATA),
    _schema(RecordType.STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER, MEMBER_KEY, _STREAMS_TARGET_ASSIGNMENT_MEMBER),
    _schema(RecordType.STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT, MEMBER_KEY, _STREAMS_CURRENT_MEMBER_ASSIGNMENT),
    _schema(RecordType.STREAMS_GROUP_TOPOLOGY, GROUP_KEY, _STREAMS_TOPOLOGY),
)

RECORD_SCHEMAS: Mapping[int, RecordSchema] = MappingProxyType({schema.type.value: schema for schema in _ALL})
"""Number of a record type → schema of the record type."""
