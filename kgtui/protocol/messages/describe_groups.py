"""DescribeGroups: classic groups and their members (KIP-345, KIP-430, KIP-1043)."""

from __future__ import annotations

from kgtui.protocol.schema import Api, Rows

REQUEST: Rows = (
    ("Groups", "[]string", "0+"),
    ("IncludeAuthorizedOperations", "bool", "3+"),
)

_DESCRIBED_GROUP_MEMBER: Rows = (
    ("MemberId", "string", "0+"),
    ("GroupInstanceId", "string", "4+", "nullable 4+, default null, ignorable"),
    ("ClientId", "string", "0+"),
    ("ClientHost", "string", "0+"),
    ("MemberMetadata", "bytes", "0+"),
    ("MemberAssignment", "bytes", "0+"),
)

_DESCRIBED_GROUP: Rows = (
    ("ErrorCode", "int16", "0+"),
    ("ErrorMessage", "string", "6+", "nullable 6+, default null"),
    ("GroupId", "string", "0+"),
    ("GroupState", "string", "0+"),
    ("ProtocolType", "string", "0+"),
    ("ProtocolData", "string", "0+"),
    ("Members", "[]DescribedGroupMember", "0+", _DESCRIBED_GROUP_MEMBER),
    ("AuthorizedOperations", "int32", "3+", "default -2147483648"),
)

RESPONSE: Rows = (
    ("ThrottleTimeMs", "int32", "1+", "ignorable"),
    ("Groups", "[]DescribedGroup", "0+", _DESCRIBED_GROUP),
)

DESCRIBE_GROUPS = Api.of(15, "DescribeGroups", versions=(0, 6), flexible=5, request=REQUEST, response=RESPONSE)
