"""DeleteGroups: deletion of groups that are empty (KIP-229)."""

from __future__ import annotations

from kgtui.protocol.schema import Api, Rows

REQUEST: Rows = (("GroupsNames", "[]string", "0+"),)

_DELETABLE_GROUP_RESULT: Rows = (
    ("GroupId", "string", "0+"),
    ("ErrorCode", "int16", "0+"),
    ("ErrorMessage", "string", "3+", "nullable 3+, default null, ignorable"),
)

RESPONSE: Rows = (
    ("ThrottleTimeMs", "int32", "0+"),
    ("Results", "[]DeletableGroupResult", "0+", _DELETABLE_GROUP_RESULT),
)

DELETE_GROUPS = Api.of(42, "DeleteGroups", versions=(0, 3), flexible=2, request=REQUEST, response=RESPONSE)
