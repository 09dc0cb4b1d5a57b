"""Streams groups (KIP-1071), in the layout of 4.2 and later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.protocol.records.kind import GROUP_KEY, MEMBER_KEY, TARGET_ASSIGNMENT_METADATA, Kind, RecordType

if TYPE_CHECKING:
    from kgtui.protocol.table import Rows

_LAST_ASSIGNMENT_CONFIG: Rows = (
    ("Key", "string", "0+"),
    ("Value", "string", "0+"),
)

_METADATA: Rows = (
    ("Epoch", "int32", "0+"),
    ("MetadataHash", "int64", "0+"),
    ("ValidatedTopologyEpoch", "int32", "0+", "tag 0, default -1"),
    ("LastAssignmentConfigs", "[]LastAssignmentConfig", "0+", "nullable 0+, tag 1", _LAST_ASSIGNMENT_CONFIG),
)

_ENDPOINT: Rows = (
    ("Host", "string", "0+"),
    ("Port", "uint16", "0+"),
)

_KEY_VALUE: Rows = (
    ("Key", "string", "0+"),
    ("Value", "string", "0+"),
)

_MEMBER_METADATA: Rows = (
    ("InstanceId", "string", "0+", "nullable 0+"),
    ("RackId", "string", "0+", "nullable 0+"),
    ("ClientId", "string", "0+"),
    ("ClientHost", "string", "0+"),
    ("RebalanceTimeoutMs", "int32", "0+", "default -1"),
    ("TopologyEpoch", "int32", "0+"),
    ("ProcessId", "string", "0+"),
    ("UserEndpoint", "Endpoint", "0+", "nullable 0+, default null", _ENDPOINT),
    ("ClientTags", "[]KeyValue", "0+", _KEY_VALUE),
)

_TARGET_TASKS: Rows = (
    ("SubtopologyId", "string", "0+"),
    ("Partitions", "[]int32", "0+"),
)

_TARGET_ASSIGNMENT_MEMBER: Rows = (
    ("ActiveTasks", "[]TaskIds", "0+", _TARGET_TASKS),
    ("StandbyTasks", "[]TaskIds", "0+", _TARGET_TASKS),
    ("WarmupTasks", "[]TaskIds", "0+", _TARGET_TASKS),
)

_CURRENT_TASKS: Rows = (*_TARGET_TASKS, ("AssignmentEpochs", "[]int32", "0+", "nullable 0+, tag 0"))

_CURRENT_MEMBER_ASSIGNMENT: Rows = (
    ("MemberEpoch", "int32", "0+"),
    ("PreviousMemberEpoch", "int32", "0+"),
    ("State", "int8", "0+"),
    ("ActiveTasks", "[]TaskIds", "0+", _CURRENT_TASKS),
    ("StandbyTasks", "[]TaskIds", "0+", _CURRENT_TASKS),
    ("WarmupTasks", "[]TaskIds", "0+", _CURRENT_TASKS),
    ("ActiveTasksPendingRevocation", "[]TaskIds", "0+", _CURRENT_TASKS),
    ("StandbyTasksPendingRevocation", "[]TaskIds", "0+", _CURRENT_TASKS),
    ("WarmupTasksPendingRevocation", "[]TaskIds", "0+", _CURRENT_TASKS),
)

_TOPIC_CONFIG: Rows = (
    ("key", "string", "0+"),
    ("value", "string", "0+"),
)

_TOPIC_INFO: Rows = (
    ("Name", "string", "0+"),
    ("Partitions", "int32", "0+"),
    ("ReplicationFactor", "int16", "0+"),
    ("TopicConfigs", "[]TopicConfig", "0+", _TOPIC_CONFIG),
)

_COPARTITION_GROUP: Rows = (
    ("SourceTopics", "[]int16", "0+"),
    ("SourceTopicRegex", "[]int16", "0+"),
    ("RepartitionSourceTopics", "[]int16", "0+"),
)

_SUBTOPOLOGY: Rows = (
    ("SubtopologyId", "string", "0+"),
    ("SourceTopics", "[]string", "0+"),
    ("SourceTopicRegex", "[]string", "0+"),
    ("StateChangelogTopics", "[]TopicInfo", "0+", _TOPIC_INFO),
    ("RepartitionSinkTopics", "[]string", "0+"),
    ("RepartitionSourceTopics", "[]TopicInfo", "0+", _TOPIC_INFO),
    ("CopartitionGroups", "[]CopartitionGroup", "0+", _COPARTITION_GROUP),
)

_TOPOLOGY: Rows = (
    ("Epoch", "int32", "0+"),
    ("Subtopologies", "[]Subtopology", "0+", _SUBTOPOLOGY),
)

KINDS = (
    Kind.of(RecordType.STREAMS_GROUP_METADATA, key=GROUP_KEY, value=_METADATA),
    Kind.of(RecordType.STREAMS_GROUP_MEMBER_METADATA, key=MEMBER_KEY, value=_MEMBER_METADATA),
    Kind.of(RecordType.STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA, key=GROUP_KEY, value=TARGET_ASSIGNMENT_METADATA),
    Kind.of(RecordType.STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER, key=MEMBER_KEY, value=_TARGET_ASSIGNMENT_MEMBER),
    Kind.of(RecordType.STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT, key=MEMBER_KEY, value=_CURRENT_MEMBER_ASSIGNMENT),
    Kind.of(RecordType.STREAMS_GROUP_TOPOLOGY, key=GROUP_KEY, value=_TOPOLOGY),
)
