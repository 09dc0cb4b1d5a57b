"""Decode the members of a classic group from its GroupMetadata record.

Clients may send any bytes as their metadata. `subscription` or `assignment` of a member is None if its bytes are empty,
malformed, or of an unknown protocol type.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from kgtui.protocol.member_data import connect, consumer, schema_registry
from kgtui.protocol.records.schemas import RecordType

if TYPE_CHECKING:
    from kgtui.protocol.records.codec import CoordinatorRecord

Subscription: TypeAlias = consumer.Subscription | connect.Subscription | schema_registry.Identity
"""The metadata that a consumer, a Connect worker or a schema registry sent when it joined."""

Assignment: TypeAlias = consumer.TopicPartitions | connect.Assignment | schema_registry.Assignment
"""The assignment of a consumer, a Connect worker or a schema registry."""

_DECODERS: dict[str, Any] = {
    "consumer": (consumer.decode_subscription, consumer.decode_assignment),
    "connect": (connect.decode_subscription, connect.decode_assignment),
    "sr": (schema_registry.decode_identity, schema_registry.decode_assignment),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassicMember:
    """One member of a classic group, as stored in its GroupMetadata record."""

    member_id: str
    instance_id: str | None
    """Group instance id of a static member (KIP-345); None for other members, and in record versions before 3."""
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    """Rebalance timeout in milliseconds; -1 in version 0 of the record, which does not have this field."""
    session_timeout_ms: int
    subscription: Subscription | None
    assignment: Assignment | None
    raw_subscription: bytes
    raw_assignment: bytes


def classic_members(record: CoordinatorRecord) -> tuple[ClassicMember, ...]:
    """Decode the members in the record of a classic group, according to the protocol type of the group.

    Returns `()` for a tombstone and for a record of another type.
    """
    if record.type is not RecordType.GROUP_METADATA or record.value is None:
        return ()
    decode_subscription, decode_assignment = _DECODERS.get(record.value["protocolType"], (_unknown, _unknown))
    return tuple(
        ClassicMember(
            member_id=member["memberId"],
            instance_id=member["groupInstanceId"],
            client_id=member["clientId"],
            client_host=member["clientHost"],
            rebalance_timeout_ms=member["rebalanceTimeout"],
            session_timeout_ms=member["sessionTimeout"],
            subscription=decode_subscription(member["subscription"]),
            assignment=decode_assignment(member["assignment"]),
            raw_subscription=member["subscription"],
            raw_assignment=member["assignment"],
        )
        for member in record.value["members"]
    )


def _unknown(_: bytes) -> None:
    return None
