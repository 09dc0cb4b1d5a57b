"""Member metadata and assignments of protocol type `consumer`, which Kafka Streams also uses in classic groups.

The formats are Kafka's ConsumerProtocolSubscription and ConsumerProtocolAssignment, versions 0 to 3. The user data that
Kafka Streams adds is not decoded.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

from kgtui.protocol.api import Message, Rows
from kgtui.protocol.member_data import decode_versioned, version_bytes, version_of

if TYPE_CHECKING:
    from collections.abc import Iterable

TopicPartitions: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]
"""Pairs `(topic, partitions)`, in the order in which they were encoded."""

_SUBSCRIPTION_PARTITIONS: Rows = (
    ("Topic", "string", "1+"),
    ("Partitions", "[]int32", "1+"),
)

_SUBSCRIPTION: Rows = (
    ("Topics", "[]string", "0+"),
    ("UserData", "bytes", "0+", "nullable 0+, default null"),
    ("OwnedPartitions", "[]TopicPartition", "1+", "ignorable", _SUBSCRIPTION_PARTITIONS),
    ("GenerationId", "int32", "2+", "default -1, ignorable"),
    ("RackId", "string", "3+", "nullable 3+, default null, ignorable"),
)

_ASSIGNMENT_PARTITIONS: Rows = (
    ("Topic", "string", "0+"),
    ("Partitions", "[]int32", "0+"),
)

_ASSIGNMENT: Rows = (
    ("AssignedPartitions", "[]TopicPartition", "0+", _ASSIGNMENT_PARTITIONS),
    ("UserData", "bytes", "0+", "nullable 0+, default null"),
)

SUBSCRIPTION = Message("ConsumerProtocolSubscription", _SUBSCRIPTION, low=0, high=3, flexible=None)
ASSIGNMENT = Message("ConsumerProtocolAssignment", _ASSIGNMENT, low=0, high=3, flexible=None)


@dataclass(frozen=True, slots=True)
class Subscription:
    """The subscription of a member that joins a group."""

    version: int
    """Version number in the member's metadata. It can be higher than 3, the highest version that kgtui knows."""
    topics: tuple[str, ...]
    user_data: bytes | None = None
    owned: TopicPartitions = ()
    """The partitions that the member owned before the rebalance; empty in version 0."""
    generation: int = -1
    """The group generation in which the partitions in `owned` were assigned; -1 if unknown."""
    rack: str | None = None
    """Rack of the member; None if the member has no rack, or in versions before 3."""


@lru_cache(maxsize=200)
def decode_subscription(data: bytes) -> Subscription | None:
    """Decode the metadata of a member. Return None for empty or malformed bytes.

    The most recent results are cached, because the members of a group often have the same metadata.
    """
    version = version_of(data)
    value = None if version is None else decode_versioned(SUBSCRIPTION, version, data)
    if version is None or value is None:
        return None
    return Subscription(
        version=version,
        topics=tuple(value["Topics"]),
        user_data=value["UserData"],
        owned=_partitions(value["OwnedPartitions"]),
        generation=value["GenerationId"],
        rack=value["RackId"],
    )


def decode_assignment(data: bytes) -> TopicPartitions | None:
    """Decode the assignment of a member.

    Returns:
        `()` if the assignment contains no partitions; None if `data` is empty or malformed.
    """
    version = version_of(data)
    value = None if version is None else decode_versioned(ASSIGNMENT, version, data)
    return None if value is None else _partitions(value["AssignedPartitions"])


def encode_subscription(value: Subscription) -> bytes:
    """Encode the metadata of a member. Raises EncodeError for versions above 3."""
    body = SUBSCRIPTION.encode(
        value.version,
        {
            "Topics": value.topics,
            "UserData": value.user_data,
            "OwnedPartitions": [{"Topic": t, "Partitions": p} for t, p in value.owned],
            "GenerationId": value.generation,
            "RackId": value.rack,
        },
    )
    return version_bytes(value.version) + body


def encode_assignment(
    assigned: Iterable[tuple[str, Iterable[int]]], *, version: int = 3, user_data: bytes | None = None
) -> bytes:
    """Encode the assignment of a member. Raises EncodeError for versions above 3.

    Args:
        assigned: pairs `(topic, partitions)`.
        user_data: bytes that the group's assignor adds to the assignment, or None.
    """
    rows = [{"Topic": topic, "Partitions": tuple(partitions)} for topic, partitions in assigned]
    body = ASSIGNMENT.encode(version, {"AssignedPartitions": rows, "UserData": user_data})
    return version_bytes(version) + body


def _partitions(rows: list[dict[str, Any]]) -> TopicPartitions:
    return tuple((row["Topic"], tuple(row["Partitions"])) for row in rows)
