"""Message fields of the APIs that list, describe and delete groups."""

from __future__ import annotations

from kgtui.protocol.api import Api, Rows

# ListGroups: all groups that a broker coordinates (KIP-518, KIP-848).

_LIST_REQUEST: Rows = (
    ("StatesFilter", "[]string", "4+"),
    ("TypesFilter", "[]string", "5+"),
)

_LISTED_GROUP: Rows = (
    ("GroupId", "string", "0+"),
    ("ProtocolType", "string", "0+"),
    ("GroupState", "string", "4+", "ignorable"),
    ("GroupType", "string", "5+", "ignorable"),
)

_LIST_RESPONSE: Rows = (
    ("ThrottleTimeMs", "int32", "1+", "ignorable"),
    ("ErrorCode", "int16", "0+"),
    ("Groups", "[]ListedGroup", "0+", _LISTED_GROUP),
)

LIST_GROUPS = Api.define(16, "ListGroups", versions=(0, 5), flexible=3, request=_LIST_REQUEST, response=_LIST_RESPONSE)

# DescribeGroups: classic groups and their members (KIP-345, KIP-430, KIP-1043).

_CLASSIC_REQUEST: Rows = (
    ("Groups", "[]string", "0+"),
    ("IncludeAuthorizedOperations", "bool", "3+"),
)

_CLASSIC_MEMBER: Rows = (
    ("MemberId", "string", "0+"),
    ("GroupInstanceId", "string", "4+", "nullable 4+, default null, ignorable"),
    ("ClientId", "string", "0+"),
    ("ClientHost", "string", "0+"),
    ("MemberMetadata", "bytes", "0+"),
    ("MemberAssignment", "bytes", "0+"),
)

_CLASSIC_GROUP: Rows = (
    ("ErrorCode", "int16", "0+"),
    ("ErrorMessage", "string", "6+", "nullable 6+, default null"),
    ("GroupId", "string", "0+"),
    ("GroupState", "string", "0+"),
    ("ProtocolType", "string", "0+"),
    ("ProtocolData", "string", "0+"),
    ("Members", "[]DescribedGroupMember", "0+", _CLASSIC_MEMBER),
    ("AuthorizedOperations", "int32", "3+", "default -2147483648"),
)

_CLASSIC_RESPONSE: Rows = (
    ("ThrottleTimeMs", "int32", "1+", "ignorable"),
    ("Groups", "[]DescribedGroup", "0+", _CLASSIC_GROUP),
)

DESCRIBE_GROUPS = Api.define(
    15, "DescribeGroups", versions=(0, 6), flexible=5, request=_CLASSIC_REQUEST, response=_CLASSIC_RESPONSE
)

# ConsumerGroupDescribe: consumer groups and their members (KIP-848, KIP-1099).

_CONSUMER_REQUEST: Rows = (
    ("GroupIds", "[]string", "0+"),
    ("IncludeAuthorizedOperations", "bool", "0+"),
)

_CONSUMER_TOPIC_PARTITIONS: Rows = (
    ("TopicId", "uuid", "0+"),
    ("TopicName", "string", "0+"),
    ("Partitions", "[]int32", "0+"),
)

_CONSUMER_ASSIGNMENT: Rows = (("TopicPartitions", "[]TopicPartitions", "0+", _CONSUMER_TOPIC_PARTITIONS),)

_CONSUMER_MEMBER: Rows = (
    ("MemberId", "string", "0+"),
    ("InstanceId", "string", "0+", "nullable 0+, default null"),
    ("RackId", "string", "0+", "nullable 0+, default null"),
    ("MemberEpoch", "int32", "0+"),
    ("ClientId", "string", "0+"),
    ("ClientHost", "string", "0+"),
    ("SubscribedTopicNames", "[]string", "0+"),
    ("SubscribedTopicRegex", "string", "0+", "nullable 0+, default null"),
    ("Assignment", "Assignment", "0+", _CONSUMER_ASSIGNMENT),
    ("TargetAssignment", "Assignment", "0+", _CONSUMER_ASSIGNMENT),
    ("MemberType", "int8", "1+", "default -1, ignorable"),
)

_CONSUMER_GROUP: Rows = (
    ("ErrorCode", "int16", "0+"),
    ("ErrorMessage", "string", "0+", "nullable 0+, default null"),
    ("GroupId", "string", "0+"),
    ("GroupState", "string", "0+"),
    ("GroupEpoch", "int32", "0+"),
    ("AssignmentEpoch", "int32", "0+"),
    ("AssignorName", "string", "0+"),
    ("Members", "[]Member", "0+", _CONSUMER_MEMBER),
    ("AuthorizedOperations", "int32", "0+", "default -2147483648"),
)

_CONSUMER_RESPONSE: Rows = (
    ("ThrottleTimeMs", "int32", "0+"),
    ("Groups", "[]DescribedGroup", "0+", _CONSUMER_GROUP),
)

CONSUMER_GROUP_DESCRIBE = Api.define(
    69, "ConsumerGroupDescribe", versions=(0, 1), flexible=0, request=_CONSUMER_REQUEST, response=_CONSUMER_RESPONSE
)

# ShareGroupDescribe: share groups and their members (KIP-932).

_SHARE_REQUEST: Rows = (
    ("GroupIds", "[]string", "0+"),
    ("IncludeAuthorizedOperations", "bool", "0+"),
)

_SHARE_TOPIC_PARTITIONS: Rows = (
    ("TopicId", "uuid", "0+"),
    ("TopicName", "string", "0+"),
    ("Partitions", "[]int32", "0+"),
)

_SHARE_ASSIGNMENT: Rows = (("TopicPartitions", "[]TopicPartitions", "0+", _SHARE_TOPIC_PARTITIONS),)

_SHARE_MEMBER: Rows = (
    ("MemberId", "string", "0+"),
    ("RackId", "string", "0+", "nullable 0+, default null"),
    ("MemberEpoch", "int32", "0+"),
    ("ClientId", "string", "0+"),
    ("ClientHost", "string", "0+"),
    ("SubscribedTopicNames", "[]string", "0+"),
    ("Assignment", "Assignment", "0+", _SHARE_ASSIGNMENT),
)

_SHARE_GROUP: Rows = (
    ("ErrorCode", "int16", "0+"),
    ("ErrorMessage", "string", "0+", "nullable 0+, default null"),
    ("GroupId", "string", "0+"),
    ("GroupState", "string", "0+"),
    ("GroupEpoch", "int32", "0+"),
    ("AssignmentEpoch", "int32", "0+"),
    ("AssignorName", "string", "0+"),
    ("Members", "[]Member", "0+", _SHARE_MEMBER),
    ("AuthorizedOperations", "int32", "0+", "default -2147483648"),
)

_SHARE_RESPONSE: Rows = (
    ("ThrottleTimeMs", "int32", "0+"),
    ("Groups", "[]DescribedGroup", "0+", _SHARE_GROUP),
)

SHARE_GROUP_DESCRIBE = Api.define(
    77, "ShareGroupDescribe", versions=(1, 1), flexible=0, request=_SHARE_REQUEST, response=_SHARE_RESPONSE
)

# StreamsGroupDescribe: streams groups, their members and topologies (KIP-1071, KIP-1331, KIP-1357).

_STREAMS_REQUEST: Rows = (
    ("GroupIds", "[]string", "0+"),
    ("IncludeAuthorizedOperations", "bool", "0+"),
    ("IncludeTopologyDescription", "bool", "1+"),
)

_STREAMS_KEY_VALUE: Rows = (
    ("Key", "string", "0+"),
    ("Value", "string", "0+"),
)

_STREAMS_TOPIC_INFO: Rows = (
    ("Name", "string", "0+"),
    ("Partitions", "int32", "0+"),
    ("ReplicationFactor", "int16", "0+"),
    ("TopicConfigs", "[]KeyValue", "0+", _STREAMS_KEY_VALUE),
)

_STREAMS_SUBTOPOLOGY: Rows = (
    ("SubtopologyId", "string", "0+"),
    ("SourceTopics", "[]string", "0+"),
    ("RepartitionSinkTopics", "[]string", "0+"),
    ("StateChangelogTopics", "[]TopicInfo", "0+", _STREAMS_TOPIC_INFO),
    ("RepartitionSourceTopics", "[]TopicInfo", "0+", _STREAMS_TOPIC_INFO),
)

_STREAMS_TOPOLOGY: Rows = (
    ("Epoch", "int32", "0+"),
    ("Subtopologies", "[]Subtopology", "0+", "nullable 0+, default null", _STREAMS_SUBTOPOLOGY),
)

_STREAMS_ENDPOINT: Rows = (
    ("Host", "string", "0+"),
    ("Port", "uint16", "0+"),
)

_STREAMS_TASK_OFFSET: Rows = (
    ("SubtopologyId", "string", "0+"),
    ("Partition", "int32", "0+"),
    ("Offset", "int64", "0+"),
)

_STREAMS_TASK_IDS: Rows = (
    ("SubtopologyId", "string", "0+"),
    ("Partitions", "[]int32", "0+"),
)

_STREAMS_ASSIGNMENT: Rows = (
    ("ActiveTasks", "[]TaskIds", "0+", _STREAMS_TASK_IDS),
    ("StandbyTasks", "[]TaskIds", "0+", _STREAMS_TASK_IDS),
    ("WarmupTasks", "[]TaskIds", "0+", _STREAMS_TASK_IDS),
)

_STREAMS_MEMBER: Rows = (
    ("MemberId", "string", "0+"),
    ("MemberEpoch", "int32", "0+"),
    ("InstanceId", "string", "0+", "nullable 0+, default null"),
    ("RackId", "string", "0+", "nullable 0+, default null"),
    ("ClientId", "string", "0+"),
    ("ClientHost", "string", "0+"),
    ("TopologyEpoch", "int32", "0+"),
    ("ProcessId", "string", "0+"),
    ("UserEndpoint", "Endpoint", "0+", "nullable 0+, default null", _STREAMS_ENDPOINT),
    ("ClientTags", "[]KeyValue", "0+", _STREAMS_KEY_VALUE),
    ("TaskOffsets", "[]TaskOffset", "0+", _STREAMS_TASK_OFFSET),
    ("TaskEndOffsets", "[]TaskOffset", "0+", _STREAMS_TASK_OFFSET),
    ("Assignment", "Assignment", "0+", _STREAMS_ASSIGNMENT),
    ("TargetAssignment", "Assignment", "0+", _STREAMS_ASSIGNMENT),
    ("IsClassic", "bool", "0+"),
)

_STREAMS_TOPOLOGY_DESCRIPTION_NODE: Rows = (
    ("Name", "string", "1+"),
    ("NodeType", "int8", "1+"),
    ("SourceTopics", "[]string", "1+"),
    ("SinkTopic", "string", "1+", "nullable 1+, default null"),
    ("Stores", "[]string", "1+"),
    ("Successors", "[]string", "1+"),
)

_STREAMS_TOPOLOGY_DESCRIPTION_SUBTOPOLOGY: Rows = (
    ("SubtopologyId", "string", "1+"),
    ("Nodes", "[]TopologyDescriptionNode", "1+", _STREAMS_TOPOLOGY_DESCRIPTION_NODE),
)

_STREAMS_TOPOLOGY_DESCRIPTION_GLOBAL_STORE: Rows = (
    ("Source", "TopologyDescriptionNode", "1+", _STREAMS_TOPOLOGY_DESCRIPTION_NODE),
    ("Processor", "TopologyDescriptionNode", "1+", _STREAMS_TOPOLOGY_DESCRIPTION_NODE),
)

_STREAMS_TOPOLOGY_DESCRIPTION: Rows = (
    ("Subtopologies", "[]TopologyDescriptionSubtopology", "1+", _STREAMS_TOPOLOGY_DESCRIPTION_SUBTOPOLOGY),
    ("GlobalStores", "[]TopologyDescriptionGlobalStore", "1+", _STREAMS_TOPOLOGY_DESCRIPTION_GLOBAL_STORE),
)

_STREAMS_GROUP: Rows = (
    ("ErrorCode", "int16", "0+"),
    ("ErrorMessage", "string", "0+", "nullable 0+, default null"),
    ("GroupId", "string", "0+"),
    ("GroupState", "string", "0+"),
    ("GroupEpoch", "int32", "0+"),
    ("AssignmentEpoch", "int32", "0+"),
    ("Topology", "Topology", "0+", "nullable 0+, default null", _STREAMS_TOPOLOGY),
    ("Members", "[]Member", "0+", _STREAMS_MEMBER),
    ("AuthorizedOperations", "int32", "0+", "default -2147483648"),
    ("TopologyDescription", "TopologyDescription", "1+", "nullable 1+, default null", _STREAMS_TOPOLOGY_DESCRIPTION),
    ("TopologyDescriptionStatus", "int8", "1+"),
    ("AssignorName", "string", "1+", "nullable 1+, default null, ignorable"),
)

_STREAMS_RESPONSE: Rows = (
    ("ThrottleTimeMs", "int32", "0+"),
    ("Groups", "[]DescribedGroup", "0+", _STREAMS_GROUP),
)

STREAMS_GROUP_DESCRIBE = Api.define(
    89, "StreamsGroupDescribe", versions=(0, 1), flexible=0, request=_STREAMS_REQUEST, response=_STREAMS_RESPONSE
)

# DeleteGroups: deletes groups, which must have no members (KIP-229).

_DELETE_REQUEST: Rows = (("GroupsNames", "[]string", "0+"),)

_DELETE_RESULT: Rows = (
    ("GroupId", "string", "0+"),
    ("ErrorCode", "int16", "0+"),
    ("ErrorMessage", "string", "3+", "nullable 3+, default null, ignorable"),
)

_DELETE_RESPONSE: Rows = (
    ("ThrottleTimeMs", "int32", "0+"),
    ("Results", "[]DeletableGroupResult", "0+", _DELETE_RESULT),
)

DELETE_GROUPS = Api.define(
    42, "DeleteGroups", versions=(0, 3), flexible=2, request=_DELETE_REQUEST, response=_DELETE_RESPONSE
)
