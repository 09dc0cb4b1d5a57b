"""StreamsGroupDescribe: streams groups and their topologies (KIP-1071, KIP-1331, KIP-1357)."""

from __future__ import annotations

from kgtui.protocol.schema import Api, Rows

REQUEST: Rows = (
    ("GroupIds", "[]string", "0+"),
    ("IncludeAuthorizedOperations", "bool", "0+"),
    ("IncludeTopologyDescription", "bool", "1+"),
)

_KEY_VALUE: Rows = (
    ("Key", "string", "0+"),
    ("Value", "string", "0+"),
)

_TOPIC_INFO: Rows = (
    ("Name", "string", "0+"),
    ("Partitions", "int32", "0+"),
    ("ReplicationFactor", "int16", "0+"),
    ("TopicConfigs", "[]KeyValue", "0+", _KEY_VALUE),
)

_SUBTOPOLOGY: Rows = (
    ("SubtopologyId", "string", "0+"),
    ("SourceTopics", "[]string", "0+"),
    ("RepartitionSinkTopics", "[]string", "0+"),
    ("StateChangelogTopics", "[]TopicInfo", "0+", _TOPIC_INFO),
    ("RepartitionSourceTopics", "[]TopicInfo", "0+", _TOPIC_INFO),
)

_TOPOLOGY: Rows = (
    ("Epoch", "int32", "0+"),
    ("Subtopologies", "[]Subtopology", "0+", "nullable 0+, default null", _SUBTOPOLOGY),
)

_ENDPOINT: Rows = (
    ("Host", "string", "0+"),
    ("Port", "uint16", "0+"),
)

_TASK_OFFSET: Rows = (
    ("SubtopologyId", "string", "0+"),
    ("Partition", "int32", "0+"),
    ("Offset", "int64", "0+"),
)

_TASK_IDS: Rows = (
    ("SubtopologyId", "string", "0+"),
    ("Partitions", "[]int32", "0+"),
)

_ASSIGNMENT: Rows = (
    ("ActiveTasks", "[]TaskIds", "0+", _TASK_IDS),
    ("StandbyTasks", "[]TaskIds", "0+", _TASK_IDS),
    ("WarmupTasks", "[]TaskIds", "0+", _TASK_IDS),
)

_MEMBER: Rows = (
    ("MemberId", "string", "0+"),
    ("MemberEpoch", "int32", "0+"),
    ("InstanceId", "string", "0+", "nullable 0+, default null"),
    ("RackId", "string", "0+", "nullable 0+, default null"),
    ("ClientId", "string", "0+"),
    ("ClientHost", "string", "0+"),
    ("TopologyEpoch", "int32", "0+"),
    ("ProcessId", "string", "0+"),
    ("UserEndpoint", "Endpoint", "0+", "nullable 0+, default null", _ENDPOINT),
    ("ClientTags", "[]KeyValue", "0+", _KEY_VALUE),
    ("TaskOffsets", "[]TaskOffset", "0+", _TASK_OFFSET),
    ("TaskEndOffsets", "[]TaskOffset", "0+", _TASK_OFFSET),
    ("Assignment", "Assignment", "0+", _ASSIGNMENT),
    ("TargetAssignment", "Assignment", "0+", _ASSIGNMENT),
    ("IsClassic", "bool", "0+"),
)

_TOPOLOGY_DESCRIPTION_NODE: Rows = (
    ("Name", "string", "1+"),
    ("NodeType", "int8", "1+"),
    ("SourceTopics", "[]string", "1+"),
    ("SinkTopic", "string", "1+", "nullable 1+, default null"),
    ("Stores", "[]string", "1+"),
    ("Successors", "[]string", "1+"),
)

_TOPOLOGY_DESCRIPTION_SUBTOPOLOGY: Rows = (
    ("SubtopologyId", "string", "1+"),
    ("Nodes", "[]TopologyDescriptionNode", "1+", _TOPOLOGY_DESCRIPTION_NODE),
)

_TOPOLOGY_DESCRIPTION_GLOBAL_STORE: Rows = (
    ("Source", "TopologyDescriptionNode", "1+", _TOPOLOGY_DESCRIPTION_NODE),
    ("Processor", "TopologyDescriptionNode", "1+", _TOPOLOGY_DESCRIPTION_NODE),
)

_TOPOLOGY_DESCRIPTION: Rows = (
    ("Subtopologies", "[]TopologyDescriptionSubtopology", "1+", _TOPOLOGY_DESCRIPTION_SUBTOPOLOGY),
    ("GlobalStores", "[]TopologyDescriptionGlobalStore", "1+", _TOPOLOGY_DESCRIPTION_GLOBAL_STORE),
)

_DESCRIBED_GROUP: Rows = (
    ("ErrorCode", "int16", "0+"),
    ("ErrorMessage", "string", "0+", "nullable 0+, default null"),
    ("GroupId", "string", "0+"),
    ("GroupState", "string", "0+"),
    ("GroupEpoch", "int32", "0+"),
    ("AssignmentEpoch", "int32", "0+"),
    ("Topology", "Topology", "0+", "nullable 0+, default null", _TOPOLOGY),
    ("Members", "[]Member", "0+", _MEMBER),
    ("AuthorizedOperations", "int32", "0+", "default -2147483648"),
    ("TopologyDescription", "TopologyDescription", "1+", "nullable 1+, default null", _TOPOLOGY_DESCRIPTION),
    ("TopologyDescriptionStatus", "int8", "1+"),
    ("AssignorName", "string", "1+", "nullable 1+, default null, ignorable"),
)

RESPONSE: Rows = (
    ("ThrottleTimeMs", "int32", "0+"),
    ("Groups", "[]DescribedGroup", "0+", _DESCRIBED_GROUP),
)

STREAMS_GROUP_DESCRIBE = Api.of(
    89, "StreamsGroupDescribe", versions=(0, 1), flexible=0, request=REQUEST, response=RESPONSE
)
