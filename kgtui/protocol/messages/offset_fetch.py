"""OffsetFetch: committed offsets of groups (KIP-447, KIP-709, KIP-848)."""

from __future__ import annotations

from kgtui.protocol.schema import Api, Rows

_REQUEST_TOPIC: Rows = (
    ("Name", "string", "0-7"),
    ("PartitionIndexes", "[]int32", "0-7"),
)

_REQUEST_TOPICS: Rows = (
    ("Name", "string", "8-9", "ignorable"),
    ("PartitionIndexes", "[]int32", "8+"),
)

_REQUEST_GROUP: Rows = (
    ("GroupId", "string", "8+"),
    ("MemberId", "string", "9+", "nullable 9+, default null, ignorable"),
    ("MemberEpoch", "int32", "9+", "default -1, ignorable"),
    ("Topics", "[]OffsetFetchRequestTopics", "8+", "nullable 8+", _REQUEST_TOPICS),
)

REQUEST: Rows = (
    ("GroupId", "string", "0-7"),
    ("Topics", "[]OffsetFetchRequestTopic", "0-7", "nullable 2-7", _REQUEST_TOPIC),
    ("Groups", "[]OffsetFetchRequestGroup", "8+", _REQUEST_GROUP),
    ("RequireStable", "bool", "7+"),
)

_RESPONSE_PARTITION: Rows = (
    ("PartitionIndex", "int32", "0-7"),
    ("CommittedOffset", "int64", "0-7"),
    ("CommittedLeaderEpoch", "int32", "5-7", "default -1, ignorable"),
    ("Metadata", "string", "0-7", "nullable 0-7"),
    ("ErrorCode", "int16", "0-7"),
)

_RESPONSE_TOPIC: Rows = (
    ("Name", "string", "0-7"),
    ("Partitions", "[]OffsetFetchResponsePartition", "0-7", _RESPONSE_PARTITION),
)

_RESPONSE_PARTITIONS: Rows = (
    ("PartitionIndex", "int32", "8+"),
    ("CommittedOffset", "int64", "8+"),
    ("CommittedLeaderEpoch", "int32", "8+", "default -1, ignorable"),
    ("Metadata", "string", "8+", "nullable 8+"),
    ("ErrorCode", "int16", "8+"),
)

_RESPONSE_TOPICS: Rows = (
    ("Name", "string", "8-9", "ignorable"),
    ("Partitions", "[]OffsetFetchResponsePartitions", "8+", _RESPONSE_PARTITIONS),
)

_RESPONSE_GROUP: Rows = (
    ("GroupId", "string", "8+"),
    ("Topics", "[]OffsetFetchResponseTopics", "8+", _RESPONSE_TOPICS),
    ("ErrorCode", "int16", "8+"),
)

RESPONSE: Rows = (
    ("ThrottleTimeMs", "int32", "3+", "ignorable"),
    ("Topics", "[]OffsetFetchResponseTopic", "0-7", _RESPONSE_TOPIC),
    ("ErrorCode", "int16", "2-7", "ignorable"),
    ("Groups", "[]OffsetFetchResponseGroup", "8+", _RESPONSE_GROUP),
)

OFFSET_FETCH = Api.of(9, "OffsetFetch", versions=(1, 9), flexible=6, request=REQUEST, response=RESPONSE)
