"""ListOffsets: offsets at the start, the end or a time of a partition (KIP-79, KIP-98, KIP-734)."""

from __future__ import annotations

from kgtui.protocol.schema import Api, Rows

_PARTITION: Rows = (
    ("PartitionIndex", "int32", "0+"),
    ("CurrentLeaderEpoch", "int32", "4+", "default -1, ignorable"),
    ("Timestamp", "int64", "0+"),
)

_TOPIC: Rows = (
    ("Name", "string", "0+"),
    ("Partitions", "[]ListOffsetsPartition", "0+", _PARTITION),
)

REQUEST: Rows = (
    ("ReplicaId", "int32", "0+"),
    ("IsolationLevel", "int8", "2+"),
    ("Topics", "[]ListOffsetsTopic", "0+", _TOPIC),
)

_PARTITION_RESPONSE: Rows = (
    ("PartitionIndex", "int32", "0+"),
    ("ErrorCode", "int16", "0+"),
    ("Timestamp", "int64", "1+", "default -1"),
    ("Offset", "int64", "1+", "default -1"),
    ("LeaderEpoch", "int32", "4+", "default -1"),
)

_TOPIC_RESPONSE: Rows = (
    ("Name", "string", "0+"),
    ("Partitions", "[]ListOffsetsPartitionResponse", "0+", _PARTITION_RESPONSE),
)

RESPONSE: Rows = (
    ("ThrottleTimeMs", "int32", "2+", "ignorable"),
    ("Topics", "[]ListOffsetsTopicResponse", "0+", _TOPIC_RESPONSE),
)

LIST_OFFSETS = Api.of(2, "ListOffsets", versions=(1, 7), flexible=6, request=REQUEST, response=RESPONSE)
