"""DescribeShareGroupOffsets: start offsets of share partitions (KIP-932, KIP-1226)."""

from __future__ import annotations

from kgtui.protocol.schema import Api, Rows

_REQUEST_TOPIC: Rows = (
    ("TopicName", "string", "0+"),
    ("Partitions", "[]int32", "0+"),
)

_REQUEST_GROUP: Rows = (
    ("GroupId", "string", "0+"),
    ("Topics", "[]DescribeShareGroupOffsetsRequestTopic", "0+", "nullable 0+", _REQUEST_TOPIC),
)

REQUEST: Rows = (("Groups", "[]DescribeShareGroupOffsetsRequestGroup", "0+", _REQUEST_GROUP),)

_RESPONSE_PARTITION: Rows = (
    ("PartitionIndex", "int32", "0+"),
    ("StartOffset", "int64", "0+"),
    ("LeaderEpoch", "int32", "0+"),
    ("Lag", "int64", "1+", "default -1, ignorable"),
    ("ErrorCode", "int16", "0+"),
    ("ErrorMessage", "string", "0+", "nullable 0+, default null"),
)

_RESPONSE_TOPIC: Rows = (
    ("TopicName", "string", "0+"),
    ("TopicId", "uuid", "0+"),
    ("Partitions", "[]DescribeShareGroupOffsetsResponsePartition", "0+", _RESPONSE_PARTITION),
)

_RESPONSE_GROUP: Rows = (
    ("GroupId", "string", "0+"),
    ("Topics", "[]DescribeShareGroupOffsetsResponseTopic", "0+", _RESPONSE_TOPIC),
    ("ErrorCode", "int16", "0+"),
    ("ErrorMessage", "string", "0+", "nullable 0+, default null"),
)

RESPONSE: Rows = (
    ("ThrottleTimeMs", "int32", "0+"),
    ("Groups", "[]DescribeShareGroupOffsetsResponseGroup", "0+", _RESPONSE_GROUP),
)

DESCRIBE_SHARE_GROUP_OFFSETS = Api.of(
    90, "DescribeShareGroupOffsets", versions=(0, 1), flexible=0, request=REQUEST, response=RESPONSE
)
