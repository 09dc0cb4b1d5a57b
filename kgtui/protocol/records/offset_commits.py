"""Committed offsets, of groups of every type but share groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.protocol.records.kind import Kind, RecordType

if TYPE_CHECKING:
    from kgtui.protocol.table import Rows

_KEY: Rows = (
    ("group", "string", "0"),
    ("topic", "string", "0"),
    ("partition", "int32", "0"),
)

_LEGACY_VALUE: Rows = (
    ("offset", "int64", "0"),
    ("metadata", "string", "0"),
    ("commitTimestamp", "int64", "0"),
)

_VALUE: Rows = (
    ("offset", "int64", "0+"),
    ("leaderEpoch", "int32", "3+", "default -1, ignorable"),
    ("metadata", "string", "0+"),
    ("commitTimestamp", "int64", "0+"),
    ("expireTimestamp", "int64", "1", "default -1, ignorable"),
    ("topicId", "uuid", "4+", "tag 0, ignorable"),
)

KINDS = (
    Kind.of(RecordType.LEGACY_OFFSET_COMMIT, key=_KEY, value=_LEGACY_VALUE, flexible=None),
    Kind.of(RecordType.OFFSET_COMMIT, key=_KEY, value=_VALUE, newest=4, flexible=4),
)
