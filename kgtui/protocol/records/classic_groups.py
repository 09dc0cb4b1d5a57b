"""Classic groups: one record for a group with all its members, written at the end of each rebalance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.protocol.records.kind import Kind, RecordType

if TYPE_CHECKING:
    from kgtui.protocol.table import Rows

_KEY: Rows = (("group", "string", "0"),)

_MEMBER: Rows = (
    ("memberId", "string", "0+"),
    ("groupInstanceId", "string", "3+", "nullable 3+, default null, ignorable"),
    ("clientId", "string", "0+"),
    ("clientHost", "string", "0+"),
    ("rebalanceTimeout", "int32", "1+", "default -1, ignorable"),
    ("sessionTimeout", "int32", "0+"),
    ("subscription", "bytes", "0+"),
    ("assignment", "bytes", "0+"),
)

_VALUE: Rows = (
    ("protocolType", "string", "0+"),
    ("generation", "int32", "0+"),
    ("protocol", "string", "0+", "nullable 0+"),
    ("leader", "string", "0+", "nullable 0+"),
    ("currentStateTimestamp", "int64", "2+", "default -1, ignorable"),
    ("members", "[]MemberMetadata", "0+", _MEMBER),
)

KINDS = (Kind.of(RecordType.GROUP_METADATA, key=_KEY, value=_VALUE, newest=4, flexible=4),)
