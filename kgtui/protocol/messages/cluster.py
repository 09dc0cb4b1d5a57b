"""Message fields of the APIs that describe a cluster: API versions, brokers, topics, coordinators and configs."""

from __future__ import annotations

from kgtui.protocol.api import Api, Rows

# ApiVersions: the API versions and features that a broker supports (KIP-35, KIP-511, KIP-584).

_API_VERSIONS_REQUEST: Rows = (
    ("ClientSoftwareName", "string", "3+", "ignorable"),
    ("ClientSoftwareVersion", "string", "3+", "ignorable"),
)

_API_VERSIONS_API_VERSION: Rows = (
    ("ApiKey", "int16", "0+"),
    ("MinVersion", "int16", "0+"),
    ("MaxVersion", "int16", "0+"),
)

_API_VERSIONS_SUPPORTED_FEATURE_KEY: Rows = (
    ("Name", "string", "3+"),
    ("MinVersion", "int16", "3+"),
    ("MaxVersion", "int16", "3+"),
)

_API_VERSIONS_FINALIZED_FEATURE_KEY: Rows = (
    ("Name", "string", "3+"),
    ("MaxVersionLevel", "int16", "3+"),
    ("MinVersionLevel", "int16", "3+"),
)

_API_VERSIONS_RESPONSE: Rows = (
    ("ErrorCode", "int16", "0+"),
    ("ApiKeys", "[]ApiVersion", "0+", _API_VERSIONS_API_VERSION),
    ("ThrottleTimeMs", "int32", "1+", "ignorable"),
    ("SupportedFeatures", "[]SupportedFeatureKey", "3+", "tag 0, ignorable", _API_VERSIONS_SUPPORTED_FEATURE_KEY),
    ("FinalizedFeaturesEpoch", "int64", "3+", "tag 1, default -1, ignorable"),
    ("FinalizedFeatures", "[]FinalizedFeatureKey", "3+", "tag 2, ignorable", _API_VERSIONS_FINALIZED_FEATURE_KEY),
    ("ZkMigrationReady", "bool", "3+", "tag 3, ignorable"),
)

API_VERSIONS = Api.define(
    18, "ApiVersions", versions=(0, 4), flexible=3, request=_API_VERSIONS_REQUEST, response=_API_VERSIONS_RESPONSE
)

# Metadata: the brokers and topics of the cluster, and the leaders of partitions (KIP-4, KIP-516).

_METADATA_REQUEST_TOPIC: Rows = (
    ("TopicId", "uuid", "10+", "ignorable"),
    ("Name", "string", "0+", "nullable 10+"),
)

_METADATA_REQUEST: Rows = (
    ("Topics", "[]MetadataRequestTopic", "0+", "nullable 1+", _METADATA_REQUEST_TOPIC),
    ("AllowAutoTopicCreation", "bool", "4+", "default true"),
    ("IncludeClusterAuthorizedOperations", "bool", "8-10"),
    ("IncludeTopicAuthorizedOperations", "bool", "8+"),
)

_METADATA_RESPONSE_BROKER: Rows = (
    ("NodeId", "int32", "0+"),
    ("Host", "string", "0+"),
    ("Port", "int32", "0+"),
    ("Rack", "string", "1+", "nullable 1+, default null, ignorable"),
)

_METADATA_RESPONSE_PARTITION: Rows = (
    ("ErrorCode", "int16", "0+"),
    ("PartitionIndex", "int32", "0+"),
    ("LeaderId", "int32", "0+"),
    ("LeaderEpoch", "int32", "7+", "default -1, ignorable"),
    ("ReplicaNodes", "[]int32", "0+"),
    ("IsrNodes", "[]int32", "0+"),
    ("OfflineReplicas", "[]int32", "5+", "ignorable"),
)

_METADATA_RESPONSE_TOPIC: Rows = (
    ("ErrorCode", "int16", "0+"),
    ("Name", "string", "0+", "nullable 12+"),
    ("TopicId", "uuid", "10+", "ignorable"),
    ("IsInternal", "bool", "1+", "ignorable"),
    ("Partitions", "[]MetadataResponsePartition", "0+", _METADATA_RESPONSE_PARTITION),
    ("TopicAuthorizedOperations", "int32", "8+", "default -2147483648"),
)

_METADATA_RESPONSE: Rows = (
    ("ThrottleTimeMs", "int32", "3+", "ignorable"),
    ("Brokers", "[]MetadataResponseBroker", "0+", _METADATA_RESPONSE_BROKER),
    ("ClusterId", "string", "2+", "nullable 2+, default null, ignorable"),
    ("ControllerId", "int32", "1+", "default -1, ignorable"),
    ("Topics", "[]MetadataResponseTopic", "0+", _METADATA_RESPONSE_TOPIC),
    ("ClusterAuthorizedOperations", "int32", "8-10", "default -2147483648"),
)

METADATA = Api.define(
    3, "Metadata", versions=(1, 12), flexible=9, request=_METADATA_REQUEST, response=_METADATA_RESPONSE
)

# FindCoordinator: the broker that coordinates a group; since version 4, also for several groups at once (KIP-699).

_COORDINATOR_REQUEST: Rows = (
    ("Key", "string", "0-3"),
    ("KeyType", "int8", "1+"),
    ("CoordinatorKeys", "[]string", "4+"),
)

_COORDINATOR_COORDINATOR: Rows = (
    ("Key", "string", "4+"),
    ("NodeId", "int32", "4+"),
    ("Host", "string", "4+"),
    ("Port", "int32", "4+"),
    ("ErrorCode", "int16", "4+"),
    ("ErrorMessage", "string", "4+", "nullable 4+, ignorable"),
)

_COORDINATOR_RESPONSE: Rows = (
    ("ThrottleTimeMs", "int32", "1+", "ignorable"),
    ("ErrorCode", "int16", "0-3"),
    ("ErrorMessage", "string", "1-3", "nullable 1-3, ignorable"),
    ("NodeId", "int32", "0-3"),
    ("Host", "string", "0-3"),
    ("Port", "int32", "0-3"),
    ("Coordinators", "[]Coordinator", "4+", _COORDINATOR_COORDINATOR),
)

FIND_COORDINATOR = Api.define(
    10, "FindCoordinator", versions=(0, 6), flexible=3, request=_COORDINATOR_REQUEST, response=_COORDINATOR_RESPONSE
)

# DescribeConfigs: the configs of brokers, topics and groups (KIP-133, KIP-569, KIP-848).

_CONFIGS_RESOURCE: Rows = (
    ("ResourceType", "int8", "0+"),
    ("ResourceName", "string", "0+"),
    ("ConfigurationKeys", "[]string", "0+", "nullable 0+"),
)

_CONFIGS_REQUEST: Rows = (
    ("Resources", "[]DescribeConfigsResource", "0+", _CONFIGS_RESOURCE),
    ("IncludeSynonyms", "bool", "1+"),
    ("IncludeDocumentation", "bool", "3+"),
)

_CONFIGS_SYNONYM: Rows = (
    ("Name", "string", "1+"),
    ("Value", "string", "1+", "nullable 0+"),
    ("Source", "int8", "1+"),
)

_CONFIGS_RESOURCE_RESULT: Rows = (
    ("Name", "string", "0+"),
    ("Value", "string", "0+", "nullable 0+"),
    ("ReadOnly", "bool", "0+"),
    ("ConfigSource", "int8", "1+", "default -1, ignorable"),
    ("IsSensitive", "bool", "0+"),
    ("Synonyms", "[]DescribeConfigsSynonym", "1+", "ignorable", _CONFIGS_SYNONYM),
    ("ConfigType", "int8", "3+", "ignorable"),
    ("Documentation", "string", "3+", "nullable 0+, ignorable"),
)

_CONFIGS_RESULT: Rows = (
    ("ErrorCode", "int16", "0+"),
    ("ErrorMessage", "string", "0+", "nullable 0+"),
    ("ResourceType", "int8", "0+"),
    ("ResourceName", "string", "0+"),
    ("Configs", "[]DescribeConfigsResourceResult", "0+", _CONFIGS_RESOURCE_RESULT),
)

_CONFIGS_RESPONSE: Rows = (
    ("ThrottleTimeMs", "int32", "0+"),
    ("Results", "[]DescribeConfigsResult", "0+", _CONFIGS_RESULT),
)

DESCRIBE_CONFIGS = Api.define(
    32, "DescribeConfigs", versions=(1, 4), flexible=4, request=_CONFIGS_REQUEST, response=_CONFIGS_RESPONSE
)
