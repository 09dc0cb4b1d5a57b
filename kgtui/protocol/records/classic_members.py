"""What the members of a classic group said and got, from the bytes inside its record.

The bytes are whatever members gave: a reading is None when there are none or they follow no protocol known here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from kgtui.protocol import connect, consumer, registry
from kgtui.protocol.records.kind import RecordType

if TYPE_CHECKING:
    from kgtui.protocol.records.decoding import CoordinatorRecord

Subscription: TypeAlias = consumer.Subscription | connect.Subscription | registry.Identity
"""What a member of a consumer group, a Connect cluster, a set of schema registries said when it joined."""

Assignment: TypeAlias = consumer.TopicPartitions | connect.Assignment | registry.Assignment
"""What it was given."""

_READERS: dict[str, Any] = {
    "consumer": (consumer.subscription, consumer.assignment),
    "connect": (connect.subscription, connect.assignment),
    "sr": (registry.identity, registry.assignment),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicMember:
    """One member of a classic group, as its GroupMetadata record has it."""

    member_id: str
    instance_id: str | None
    """Of a static member (KIP-345), from version 3."""
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    """-1 in version 0, which lacks it."""
    session_timeout_ms: int
    subscription: Subscription | None
    assignment: Assignment | None
    raw_subscription: bytes
    raw_assignment: bytes


def classic_members(record: CoordinatorRecord) -> tuple[ClassicMember, ...]:
    """Read the members of a classic group by its protocol type; none for tombstones and other kinds of records."""
    if record.type is not RecordType.GROUP_METADATA or record.value is None:
        return ()
    subscription, assignment = _READERS.get(record.value["protocolType"], (_unknown, _unknown))
    return tuple(
        ClassicMember(
            member_id=member["memberId"],
            instance_id=member["groupInstanceId"],
            client_id=member["clientId"],
            client_host=member["clientHost"],
            rebalance_timeout_ms=member["rebalanceTimeout"],
            session_timeout_ms=member["sessionTimeout"],
            subscription=subscription(member["subscription"]),
            assignment=assignment(member["assignment"]),
            raw_subscription=member["subscription"],
            raw_assignment=member["assignment"],
        )
        for member in record.value["members"]
    )


def _unknown(_: bytes) -> None:
    return None
