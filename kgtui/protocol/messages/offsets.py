"""Message fields of the APIs that read offsets.

These are committed offsets, start offsets of share partitions, and offsets in the log of a partition.
"""

from __future__ import annotations

from kgtui.protocol.api import Api, Rows

# OffsetFetch: the committed offsets of groups (KIP-447, KIP-709, KIP-848).

_OFFSET_FETCH_REQUEST_TOPIC: Rows = (
    ("Name", "string", "0-7"),
    ("PartitionIndexes", "[]int32", "0-7"),
)

_OFFSET_FETCH_REQUEST_TOPICS: Rows = (
    ("Name", "string", "8-9", "ignorable"),
    ("PartitionIndexes", "[]int32", "8+"),
)

_OFFSET_FETCH_REQUEST_GROUP: Rows = (
    ("GroupId", "string", "8+"),
    ("MemberId", "string", "9+", "nullable 9+, default null, ignorable"),
    ("MemberEpoch", "int32", "9+", "default -1, ignorable"),
    ("Topics", "[]OffsetFetchRequestTopics", "8+", "nullable 8+", _OFFSET_FETCH_REQUEST_TOPICS),
)

_OFFSET_FETCH_REQUEST: Rows = (
    ("GroupId", "string", "0-7"),
    ("Topics", "[]OffsetFetchRequestTopic", "0-7", "nullable 2-7", _OFFSET_FETCH_REQUEST_TOPIC),
    ("Groups", "[]OffsetFetchRequestGroup", "8+", _OFFSET_FETCH_REQUEST_GROUP),
    ("RequireStable", "bool", "7+"),
)

_OFFSET_FETCH_RESPONSE_PARTITION: Rows = (
    ("PartitionIndex", "int32", "0-7"),
    ("CommittedOffset", "int64", "0-7"),
    ("CommittedLeaderEpoch", "int32", "5-7", "default -1, ignorable"),
    ("Metadata", "string", "0-7", "nullable 0-7"),
    ("ErrorCode", "int16", "0-7"),
)

_OFFSET_FETCH_RESPONSE_TOPIC: Rows = (
    ("Name", "string", "0-7"),
    ("Partitions", "[]OffsetFetchResponsePartition", "0-7", _OFFSET_FETCH_RESPONSE_PARTITION),
)

_OFFSET_FETCH_RESPONSE_PARTITIONS: Rows = (
    ("PartitionIndex", "int32", "8+"),
    ("CommittedOffset", "int64", "8+"),
    ("CommittedLeaderEpoch", "int32", "8+", "default -1, ignorable"),
    ("Metadata", "string", "8+", "nullable 8+"),
    ("ErrorCode", "int16", "8+"),
)

_OFFSET_FETCH_RESPONSE_TOPICS: Rows = (
    ("Name", "string", "8-9", "ignorable"),
    ("Partitions", "[]OffsetFetchResponsePartitions", "8+", _OFFSET_FETCH_RESPONSE_PARTITIONS),
)

_OFFSET_FETCH_RESPONSE_GROUP: Rows = (
    ("GroupId", "string", "8+"),
    ("Topics", "[]OffsetFetchResponseTopics", "8+", _OFFSET_FETCH_RESPONSE_TOPICS),
    ("ErrorCode", "int16", "8+"),
)

_OFFSET_FETCH_RESPONSE: Rows = (
    ("ThrottleTimeMs", "int32", "3+", "ignorable"),
    ("Topics", "[]OffsetFetchResponseTopic", "0-7", _OFFSET_FETCH_RESPONSE_TOPIC),
    ("ErrorCode", "int16", "2-7", "ignorable"),
    ("Groups", "[]OffsetFetchResponseGroup", "8+", _OFFSET_FETCH_RESPONSE_GROUP),
)

OFFSET_FETCH = Api.define(
    9, "OffsetFetch", versions=(1, 9), flexible=6, request=_OFFSET_FETCH_REQUEST, response=_OFFSET_FETCH_RESPONSE
)

# DescribeShareGroupOffsets: the start offsets of share partitions and, since version 1, their lags (KIP-932, KIP-1226).

_SHARE_OFFSETS_REQUEST_TOPIC: Rows = (
    ("TopicName", "string", "0+"),
    ("Partitions", "[]int32", "0+"),
)

_SHARE_OFFSETS_REQUEST_GROUP: Rows = (
    ("GroupId", "string", "0+"),
    ("Topics", "[]DescribeShareGroupOffsetsRequestTopic", "0+", "nullable 0+", _SHARE_OFFSETS_REQUEST_TOPIC),
)

_SHARE_OFFSETS_REQUEST: Rows = (
    ("Groups", "[]DescribeShareGroupOffsetsRequestGroup", "0+", _SHARE_OFFSETS_REQUEST_GROUP),
)

_SHARE_OFFSETS_RESPONSE_PARTITION: Rows = (
    ("PartitionIndex", "int32", "0+"),
    ("StartOffset", "int64", "0+"),
    ("LeaderEpoch", "int32", "0+"),
    ("Lag", "int64", "1+", "default -1, ignorable"),
    ("ErrorCode", "int16", "0+"),
    ("ErrorMessage", "string", "0+", "nullable 0+, default null"),
)

_SHARE_OFFSETS_RESPONSE_TOPIC: Rows = (
    ("TopicName", "string", "0+"),
    ("TopicId", "uuid", "0+"),
    ("Partitions", "[]DescribeShareGroupOffsetsResponsePartition", "0+", _SHARE_OFFSETS_RESPONSE_PARTITION),
)

_SHARE_OFFSETS_RESPONSE_GROUP: Rows = (
    ("GroupId", "string", "0+"),
    ("Topics", "[]DescribeShareGroupOffsetsResponseTopic", "0+", _SHARE_OFFSETS_RESPONSE_TOPIC),
    ("ErrorCode", "int16", "0+"),
    ("ErrorMessage", "string", "0+", "nullable 0+, default null"),
)

_SHARE_OFFSETS_RESPONSE: Rows = (
    ("ThrottleTimeMs", "int32", "0+"),
    ("Groups", "[]DescribeShareGroupOffsetsResponseGroup", "0+", _SHARE_OFFSETS_RESPONSE_GROUP),
)

DESCRIBE_SHARE_GROUP_OFFSETS = Api.define(
    90,
    "DescribeShareGroupOffsets",
    versions=(0, 1),
    flexible=0,
    request=_SHARE_OFFSETS_REQUEST,
    response=_SHARE_OFFSETS_RESPONSE,
)

# ListOffsets: the log start offset or log end offset of a partition, the offset of its first record at or after a
# timestamp, or the offset of the record with the highest timestamp (KIP-79, KIP-98, KIP-734).

_LIST_OFFSETS_PARTITION: Rows = (
    ("PartitionIndex", "int32", "0+"),
    ("CurrentLeaderEpoch", "int32", "4+", "default -1, ignorable"),
    ("Timestamp", "int64", "0+"),
)

_LIST_OFFSETS_TOPIC: Rows = (
    ("Name", "string", "0+"),
    ("Partitions", "[]ListOffsetsPartition", "0+", _LIST_OFFSETS_PARTITION),
)

_LIST_OFFSETS_REQUEST: Rows = (
    ("ReplicaId", "int32", "0+"),
    ("IsolationLevel", "int8", "2+"),
    ("Topics", "[]ListOffsetsTopic", "0+", _LIST_OFFSETS_TOPIC),
    ("TimeoutMs", "int32", "10+", "ignorable"),
)

_LIST_OFFSETS_PARTITION_RESPONSE: Rows = (
    ("PartitionIndex", "int32", "0+"),
    ("ErrorCode", "int16", "0+"),
    ("Timestamp", "int64", "1+", "default -1"),
    ("Offset", "int64", "1+", "default -1"),
    ("LeaderEpoch", "int32", "4+", "default -1"),
)

_LIST_OFFSETS_TOPIC_RESPONSE: Rows = (
    ("Name", "string", "0+"),
    ("Partitions", "[]ListOffsetsPartitionResponse", "0+", _LIST_OFFSETS_PARTITION_RESPONSE),
)

_LIST_OFFSETS_RESPONSE: Rows = (
    ("ThrottleTimeMs", "int32", "2+", "ignorable"),
    ("Topics", "[]ListOffsetsTopicResponse", "0+", _LIST_OFFSETS_TOPIC_RESPONSE),
)

LIST_OFFSETS = Api.define(
    2, "ListOffsets", versions=(1, 10), flexible=6, request=_LIST_OFFSETS_REQUEST, response=_LIST_OFFSETS_RESPONSE
)
