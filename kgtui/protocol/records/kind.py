"""The kinds of records in `__consumer_offsets`, each a number, a table of its key and a table of its value."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from kgtui.protocol.schema import Message

if TYPE_CHECKING:
    from kgtui.protocol.table import Rows

KEY_VERSION = 0
"""Keys have one version, and in front of their fields the type stands where values have their version."""


class RecordType(IntEnum):
    """The number that a key begins with (Kafka's CoordinatorRecordType).

    9 was given up before share groups were released, 18 is not in use.
    """

    LEGACY_OFFSET_COMMIT = 0
    OFFSET_COMMIT = 1
    GROUP_METADATA = 2
    CONSUMER_GROUP_METADATA = 3
    CONSUMER_GROUP_PARTITION_METADATA = 4
    CONSUMER_GROUP_MEMBER_METADATA = 5
    CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA = 6
    CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER = 7
    CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT = 8
    SHARE_GROUP_MEMBER_METADATA = 10
    SHARE_GROUP_METADATA = 11
    SHARE_GROUP_TARGET_ASSIGNMENT_METADATA = 12
    SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER = 13
    SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT = 14
    SHARE_GROUP_STATE_PARTITION_METADATA = 15
    CONSUMER_GROUP_REGULAR_EXPRESSION = 16
    STREAMS_GROUP_METADATA = 17
    STREAMS_GROUP_MEMBER_METADATA = 19
    STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA = 20
    STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER = 21
    STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT = 22
    STREAMS_GROUP_TOPOLOGY = 23


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of record; its messages are strict, since a broker writes whole records and valid text."""

    type: RecordType
    key: Message
    value: Message

    @classmethod
    def of(cls, record_type: RecordType, *, key: Rows, value: Rows, newest: int = 0, flexible: int | None = 0) -> Kind:
        """Build a kind from its tables; `newest` and `flexible` are versions of the value."""
        name = record_type.name.title().replace("_", "")
        return cls(
            type=record_type,
            key=Message(f"{name}Key", key, low=KEY_VERSION, high=KEY_VERSION, flexible=None, strict=True),
            value=Message(f"{name}Value", value, low=0, high=newest, flexible=flexible, strict=True),
        )


GROUP_KEY: Rows = (("GroupId", "string", "0"),)
"""The key of what there is once in a group."""

MEMBER_KEY: Rows = (
    ("GroupId", "string", "0"),
    ("MemberId", "string", "0"),
)
"""The key of what each member of a group has."""

TARGET_ASSIGNMENT_METADATA: Rows = (
    ("AssignmentEpoch", "int32", "0+"),
    ("AssignmentTimestamp", "int64", "0+", "tag 0, ignorable"),
)
"""The epoch of a target assignment, and in milliseconds when it was made (4.3, KIP-1263)."""
