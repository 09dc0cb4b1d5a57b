"""Definitions of the Kafka APIs for SASL logins (KIP-43, KIP-152, KIP-368) and ACLs.

`kgtui.protocol.messages.APIS` does not contain these APIs, because it lists only the APIs that kgtui's simulated
cluster (`kgtui.simulator`) supports.
"""

from __future__ import annotations

from kgtui.protocol.api import Api, Rows

_HANDSHAKE_REQUEST: Rows = (("Mechanism", "string", "0+"),)

_HANDSHAKE_RESPONSE: Rows = (
    ("ErrorCode", "int16", "0+"),
    ("Mechanisms", "[]string", "0+"),
)

SASL_HANDSHAKE = Api.define(
    17, "SaslHandshake", versions=(0, 1), flexible=2, request=_HANDSHAKE_REQUEST, response=_HANDSHAKE_RESPONSE
)

_AUTHENTICATE_REQUEST: Rows = (("AuthBytes", "bytes", "0+"),)

_AUTHENTICATE_RESPONSE: Rows = (
    ("ErrorCode", "int16", "0+"),
    ("ErrorMessage", "string", "0+", "nullable 0+"),
    ("AuthBytes", "bytes", "0+"),
    ("SessionLifetimeMs", "int64", "1+", "ignorable"),
)

SASL_AUTHENTICATE = Api.define(
    36,
    "SaslAuthenticate",
    versions=(0, 2),
    flexible=2,
    request=_AUTHENTICATE_REQUEST,
    response=_AUTHENTICATE_RESPONSE,
)

LOGIN_APIS = (SASL_HANDSHAKE, SASL_AUTHENTICATE)


# DescribeAcls: the ACLs that match a filter (KIP-140, KIP-290).

_ACLS_REQUEST: Rows = (
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

_ACLS_RESOURCE: Rows = (
    ("ResourceType", "int8", "0+"),
    ("ResourceName", "string", "0+"),
    ("PatternType", "int8", "1+", "default 3"),
    ("Acls", "[]AclDescription", "0+", _ACL),
)

_ACLS_RESPONSE: Rows = (
    ("ThrottleTimeMs", "int32", "0+"),
    ("ErrorCode", "int16", "0+"),
    ("ErrorMessage", "string", "0+", "nullable 0+"),
    ("Resources", "[]DescribeAclsResource", "0+", _ACLS_RESOURCE),
)

DESCRIBE_ACLS = Api.define(
    29, "DescribeAcls", versions=(1, 3), flexible=2, request=_ACLS_REQUEST, response=_ACLS_RESPONSE
)
