"""Share groups (KIP-932), in the layout of 4.1 and later. Their start offsets are in `__share_group_state`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.protocol.records.kind import GROUP_KEY, MEMBER_KEY, TARGET_ASSIGNMENT_METADATA, Kind, RecordType

if TYPE_CHECKING:
    from kgtui.protocol.table import Rows

_MEMBER_METADATA: Rows = (
    ("RackId", "string", "0+", "nullable 0+"),
    ("ClientId", "string", "0+"),
    ("ClientHost", "string", "0+"),
    ("SubscribedTopicNames", "[]string", "0+"),
)

_METADATA: Rows = (
    ("Epoch", "int32", "0+"),
    ("MetadataHash", "int64", "0+"),
)

_PARTITIONS: Rows = (
    ("TopicId", "uuid", "0+"),
    ("Partitions", "[]int32", "0+"),
)

_TARGET_ASSIGNMENT_MEMBER: Rows = (("TopicPartitions", "[]TopicPartition", "0+", _PARTITIONS),)

_CURRENT_MEMBER_ASSIGNMENT: Rows = (
    ("MemberEpoch", "int32", "0+"),
    ("PreviousMemberEpoch", "int32", "0+"),
    ("State", "int8", "0+"),
    ("AssignedPartitions", "[]TopicPartitions", "0+", _PARTITIONS),
)

_STATE_TOPIC: Rows = (
    ("TopicId", "uuid", "0+"),
    ("TopicName", "string", "0+"),
)

_STATE_PARTITIONS: Rows = (*_STATE_TOPIC, ("Partitions", "[]int32", "0+"))

_STATE_PARTITION_METADATA: Rows = (
    ("InitializingTopics", "[]TopicPartitionsInfo", "0+", _STATE_PARTITIONS),
    ("InitializedTopics", "[]TopicPartitionsInfo", "0+", _STATE_PARTITIONS),
    ("DeletingTopics", "[]TopicInfo", "0+", _STATE_TOPIC),
)

KINDS = (
    Kind.of(RecordType.SHARE_GROUP_MEMBER_METADATA, key=MEMBER_KEY, value=_MEMBER_METADATA),
    Kind.of(RecordType.SHARE_GROUP_METADATA, key=GROUP_KEY, value=_METADATA),
    Kind.of(RecordType.SHARE_GROUP_TARGET_ASSIGNMENT_METADATA, key=GROUP_KEY, value=TARGET_ASSIGNMENT_METADATA),
    Kind.of(RecordType.SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER, key=MEMBER_KEY, value=_TARGET_ASSIGNMENT_MEMBER),
    Kind.of(RecordType.SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT, key=MEMBER_KEY, value=_CURRENT_MEMBER_ASSIGNMENT),
    Kind.of(RecordType.SHARE_GROUP_STATE_PARTITION_METADATA, key=GROUP_KEY, value=_STATE_PARTITION_METADATA),
)
