"""Table of the API that describes access control lists (ACLs)."""

from __future__ import annotations

from kgtui.protocol.api import Api, Rows

# Request and response of DescribeAcls, which returns the ACLs that match a filter (KIP-140, KIP-290).

_REQUEST: Rows = (
    ("ResourceTypeFilter", "int8", "0+"),
    ("ResourceNameFilter", "string", "0+", "nullable 0+"),
    ("PatternTypeFilter", "int8", "1+", "default 3"),
    ("PrincipalFilter", "string", "0+", "nullable 0+"),
    ("HostFilter", "string", "0+", "nullable 0+"),
    ("Operation", "int8", "0+"),
    ("PermissionType", "int8", "0+"),
)

_ACL: Rows = (
    ("Principal", "string", "0+"),
    ("Host", "string", "0+"),
    ("Operation", "int8", "0+"),
    ("PermissionType", "int8", "0+"),
)

_RESOURCE: Rows = (
    ("ResourceType", "int8", "0+"),
    ("ResourceName", "string", "0+"),
    ("PatternType", "int8", "1+", "default 3"),
    ("Acls", "[]AclDescription", "0+", _ACL),
)

_RESPONSE: Rows = (
    ("ThrottleTimeMs", "int32", "0+"),
    ("ErrorCode", "int16", "0+"),
    ("ErrorMessage", "string", "0+", "nullable 0+"),
    ("Resources", "[]DescribeAclsResource", "0+", _RESOURCE),
)

DESCRIBE_ACLS = Api.define(29, "DescribeAcls", versions=(1, 3), flexible=2, request=_REQUEST, response=_RESPONSE)
