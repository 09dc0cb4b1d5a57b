"""ShareGroupDescribe: share groups (KIP-932)."""

from __future__ import annotations

from kgtui.protocol.schema import Api, Rows

REQUEST: Rows = (
    ("GroupIds", "[]string", "0+"),
    ("IncludeAuthorizedOperations", "bool", "0+"),
)

_TOPIC_PARTITIONS: Rows = (
    ("TopicId", "uuid", "0+"),
    ("TopicName", "string", "0+"),
    ("Partitions", "[]int32", "0+"),
)

_ASSIGNMENT: Rows = (("TopicPartitions", "[]TopicPartitions", "0+", _TOPIC_PARTITIONS),)

_MEMBER: Rows = (
    ("MemberId", "string", "0+"),
    ("RackId", "string", "0+", "nullable 0+, default null"),
    ("MemberEpoch", "int32", "0+"),
    ("ClientId", "string", "0+"),
    ("ClientHost", "string", "0+"),
    ("SubscribedTopicNames", "[]string", "0+"),
    ("Assignment", "Assignment", "0+", _ASSIGNMENT),
)

_DESCRIBED_GROUP: Rows = (
    ("ErrorCode", "int16", "0+"),
    ("ErrorMessage", "string", "0+", "nullable 0+, default null"),
    ("GroupId", "string", "0+"),
    ("GroupState", "string", "0+"),
    ("GroupEpoch", "int32", "0+"),
    ("AssignmentEpoch", "int32", "0+"),
    ("AssignorName", "string", "0+"),
    ("Members", "[]Member", "0+", _MEMBER),
    ("AuthorizedOperations", "int32", "0+", "default -2147483648"),
)

RESPONSE: Rows = (
    ("ThrottleTimeMs", "int32", "0+"),
    ("Groups", "[]DescribedGroup", "0+", _DESCRIBED_GROUP),
)

SHARE_GROUP_DESCRIBE = Api.of(77, "ShareGroupDescribe", versions=(1, 1), flexible=0, request=REQUEST, response=RESPONSE)
