"""Member bytes of classic groups with protocol type `consumer` (ConsumerProtocolSubscription and -Assignment 0-3).

Also what Kafka Streams writes in its classic groups; the user data of its assignor stays opaque.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from kgtui.protocol.member import decode_fitting, version_bytes, version_of
from kgtui.protocol.schema import Message, Rows

if TYPE_CHECKING:
    from collections.abc import Iterable

TopicPartitions: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]
"""Topics, each with its partitions, in the order of the wire."""

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
    """What a member of a consumer group wants."""

    version: int
    """As written; may be newer than what is understood here."""
    topics: tuple[str, ...]
    user_data: bytes | None = None
    owned: TopicPartitions = ()
    """What the member had before the rebalance, from version 1."""
    generation: int = -1
    """The generation of `owned`, from version 2; -1 is unknown."""
    rack: str | None = None
    """From version 3."""


def subscription(data: bytes) -> Subscription | None:
    """Read a member's metadata; None when there is none or it is something else."""
    version = version_of(data)
    value = None if version is None else decode_fitting(SUBSCRIPTION, version, data)
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


def assignment(data: bytes) -> TopicPartitions | None:
    """Read a member's assignment; None when there is none or it is something else, `()` when it is empty."""
    version = version_of(data)
    value = None if version is None else decode_fitting(ASSIGNMENT, version, data)
    return None if value is None else _partitions(value["AssignedPartitions"])


def encode_subscription(value: Subscription) -> bytes:
    """Write a member's metadata; raises EncodeError for a version that is not 0 to 3."""
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
    """Write a member's assignment; raises EncodeError for a version that is not 0 to 3."""
    rows = [{"Topic": topic, "Partitions": tuple(partitions)} for topic, partitions in assigned]
    body = ASSIGNMENT.encode(version, {"AssignedPartitions": rows, "UserData": user_data})
    return version_bytes(version) + body


def _partitions(rows: list[dict[str, Any]]) -> TopicPartitions:
    return tuple((row["Topic"], tuple(row["Partitions"])) for row in rows)
