"""Consumer groups of the new protocol (KIP-848), and their subscriptions by regular expression.

A member that joined by the classic protocol carries what it sent then in `ClassicMemberMetadata`; where there is
none, brokers write the tagged field with null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.protocol.records.kind import GROUP_KEY, MEMBER_KEY, TARGET_ASSIGNMENT_METADATA, Kind, RecordType

if TYPE_CHECKING:
    from kgtui.protocol.table import Rows

_METADATA: Rows = (
    ("Epoch", "int32", "0+"),
    ("MetadataHash", "int64", "0+", "tag 0, default 0"),
)

_PARTITION_METADATA_PARTITION: Rows = (
    ("Partition", "int32", "0+"),
    ("Racks", "[]string", "0+"),
)

_PARTITION_METADATA_TOPIC: Rows = (
    ("TopicId", "uuid", "0+"),
    ("TopicName", "string", "0+"),
    ("NumPartitions", "int32", "0+"),
    ("PartitionMetadata", "[]PartitionMetadata", "0+", _PARTITION_METADATA_PARTITION),
)

_PARTITION_METADATA: Rows = (("Topics", "[]TopicMetadata", "0+", _PARTITION_METADATA_TOPIC),)

_CLASSIC_PROTOCOL: Rows = (
    ("Name", "string", "0+"),
    ("Metadata", "bytes", "0+"),
)

_CLASSIC_MEMBER: Rows = (
    ("SessionTimeoutMs", "int32", "0+"),
    ("SupportedProtocols", "[]ClassicProtocol", "0+", _CLASSIC_PROTOCOL),
)

_MEMBER_METADATA: Rows = (
    ("InstanceId", "string", "0+", "nullable 0+"),
    ("RackId", "string", "0+", "nullable 0+"),
    ("ClientId", "string", "0+"),
    ("ClientHost", "string", "0+"),
    ("SubscribedTopicNames", "[]string", "0+"),
    ("SubscribedTopicRegex", "string", "0+", "nullable 0+"),
    ("RebalanceTimeoutMs", "int32", "0+", "default -1"),
    ("ServerAssignor", "string", "0+", "nullable 0+"),
    ("ClassicMemberMetadata", "ClassicMemberMetadata", "0+", "nullable 0+, tag 0", _CLASSIC_MEMBER),
)

_TARGET_PARTITIONS: Rows = (
    ("TopicId", "uuid", "0+"),
    ("Partitions", "[]int32", "0+"),
)

_TARGET_ASSIGNMENT_MEMBER: Rows = (("TopicPartitions", "[]TopicPartition", "0+", _TARGET_PARTITIONS),)

_CURRENT_PARTITIONS: Rows = (
    ("TopicId", "uuid", "0+"),
    ("Partitions", "[]int32", "0+"),
    ("AssignmentEpochs", "[]int32", "0+", "nullable 0+, tag 0"),
)

_CURRENT_MEMBER_ASSIGNMENT: Rows = (
    ("MemberEpoch", "int32", "0+"),
    ("PreviousMemberEpoch", "int32", "0+"),
    ("State", "int8", "0+"),
    ("AssignedPartitions", "[]TopicPartitions", "0+", _CURRENT_PARTITIONS),
    ("PartitionsPendingRevocation", "[]TopicPartitions", "0+", _CURRENT_PARTITIONS),
)

_REGULAR_EXPRESSION_KEY: Rows = (
    ("GroupId", "string", "0"),
    ("RegularExpression", "string", "0"),
)

_REGULAR_EXPRESSION: Rows = (
    ("Topics", "[]string", "0+"),
    ("Version", "int64", "0+"),
    ("Timestamp", "int64", "0+"),
)

KINDS = (
    Kind.of(RecordType.CONSUMER_GROUP_METADATA, key=GROUP_KEY, value=_METADATA),
    # Replaced in 4.1 by the hash in ConsumerGroupMetadata (KIP-1101).
    Kind.of(RecordType.CONSUMER_GROUP_PARTITION_METADATA, key=GROUP_KEY, value=_PARTITION_METADATA),
    Kind.of(RecordType.CONSUMER_GROUP_MEMBER_METADATA, key=MEMBER_KEY, value=_MEMBER_METADATA),
    Kind.of(RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA, key=GROUP_KEY, value=TARGET_ASSIGNMENT_METADATA),
    Kind.of(RecordType.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER, key=MEMBER_KEY, value=_TARGET_ASSIGNMENT_MEMBER),
    Kind.of(RecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT, key=MEMBER_KEY, value=_CURRENT_MEMBER_ASSIGNMENT),
    Kind.of(RecordType.CONSUMER_GROUP_REGULAR_EXPRESSION, key=_REGULAR_EXPRESSION_KEY, value=_REGULAR_EXPRESSION),
)
