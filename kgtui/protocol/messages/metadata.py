"""Metadata: brokers of the cluster, topics, partitions and their leaders (KIP-4, KIP-516)."""

from __future__ import annotations

from kgtui.protocol.schema import Api, Rows

_REQUEST_TOPIC: Rows = (
    ("TopicId", "uuid", "10+", "ignorable"),
    ("Name", "string", "0+", "nullable 10+"),
)

REQUEST: Rows = (
    ("Topics", "[]MetadataRequestTopic", "0+", "nullable 1+", _REQUEST_TOPIC),
    ("AllowAutoTopicCreation", "bool", "4+", "default true"),
    ("IncludeClusterAuthorizedOperations", "bool", "8-10"),
    ("IncludeTopicAuthorizedOperations", "bool", "8+"),
)

_RESPONSE_BROKER: Rows = (
    ("NodeId", "int32", "0+"),
    ("Host", "string", "0+"),
    ("Port", "int32", "0+"),
    ("Rack", "string", "1+", "nullable 1+, default null, ignorable"),
)

_RESPONSE_PARTITION: Rows = (
    ("ErrorCode", "int16", "0+"),
    ("PartitionIndex", "int32", "0+"),
    ("LeaderId", "int32", "0+"),
    ("LeaderEpoch", "int32", "7+", "default -1, ignorable"),
    ("ReplicaNodes", "[]int32", "0+"),
    ("IsrNodes", "[]int32", "0+"),
    ("OfflineReplicas", "[]int32", "5+", "ignorable"),
)

_RESPONSE_TOPIC: Rows = (
    ("ErrorCode", "int16", "0+"),
    ("Name", "string", "0+", "nullable 12+"),
    ("TopicId", "uuid", "10+", "ignorable"),
    ("IsInternal", "bool", "1+", "ignorable"),
    ("Partitions", "[]MetadataResponsePartition", "0+", _RESPONSE_PARTITION),
    ("TopicAuthorizedOperations", "int32", "8+", "default -2147483648"),
)

RESPONSE: Rows = (
    ("ThrottleTimeMs", "int32", "3+", "ignorable"),
    ("Brokers", "[]MetadataResponseBroker", "0+", _RESPONSE_BROKER),
    ("ClusterId", "string", "2+", "nullable 2+, default null, ignorable"),
    ("ControllerId", "int32", "1+", "default -1, ignorable"),
    ("Topics", "[]MetadataResponseTopic", "0+", _RESPONSE_TOPIC),
    ("ClusterAuthorizedOperations", "int32", "8-10", "default -2147483648"),
)

METADATA = Api.of(3, "Metadata", versions=(1, 12), flexible=9, request=REQUEST, response=RESPONSE)
