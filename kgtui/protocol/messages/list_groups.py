"""ListGroups: every group that a broker coordinates (KIP-518, KIP-848)."""

from __future__ import annotations

from kgtui.protocol.schema import Api, Rows

REQUEST: Rows = (
    ("StatesFilter", "[]string", "4+"),
    ("TypesFilter", "[]string", "5+"),
)

_LISTED_GROUP: Rows = (
    ("GroupId", "string", "0+"),
    ("ProtocolType", "string", "0+"),
    ("GroupState", "string", "4+", "ignorable"),
    ("GroupType", "string", "5+", "ignorable"),
)

RESPONSE: Rows = (
    ("ThrottleTimeMs", "int32", "1+", "ignorable"),
    ("ErrorCode", "int16", "0+"),
    ("Groups", "[]ListedGroup", "0+", _LISTED_GROUP),
)

LIST_GROUPS = Api.of(16, "ListGroups", versions=(0, 5), flexible=3, request=REQUEST, response=RESPONSE)
