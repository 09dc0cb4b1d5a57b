"""Member bytes of Kafka Connect workers (protocol type `connect`).

Version 0 is the eager protocol (`default`), 1 incremental cooperative rebalancing (`compatible`, KIP-415), 2 the
same with session keys (`sessioned`, KIP-507). Field order as in ConnectProtocol and
IncrementalCooperativeConnectProtocol.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from kgtui.protocol.member import decode_fitting, version_bytes, version_of
from kgtui.protocol.schema import Message, Rows

if TYPE_CHECKING:
    from collections.abc import Iterable

Tasks: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]
"""Connectors, each with the numbers of its tasks; -1 is the connector itself."""

CONNECTOR = -1
"""The task number that stands for the connector itself."""

_SUBSCRIPTION: Rows = (
    ("Url", "string", "0+"),
    ("ConfigOffset", "int64", "0+"),
    ("Allocation", "bytes", "1+", "nullable 1+, default null"),
)

_CONNECTOR_TASKS: Rows = (
    ("Connector", "string", "0+"),
    ("Tasks", "[]int32", "0+"),
)

# The versions of this table count how many of the last three fields are there: a worker may leave them out.
_ASSIGNMENT: Rows = (
    ("Error", "int16", "0+"),
    ("Leader", "string", "0+"),
    ("LeaderUrl", "string", "0+"),
    ("ConfigOffset", "int64", "0+"),
    ("Assigned", "[]ConnectorTasks", "1+", "nullable 1+, default null, ignorable", _CONNECTOR_TASKS),
    ("Revoked", "[]ConnectorTasks", "2+", "nullable 2+, default null, ignorable", _CONNECTOR_TASKS),
    ("Delay", "int32", "3+", "ignorable"),
)

SUBSCRIPTIONS = Message("ConnectSubscription", _SUBSCRIPTION, low=0, high=1, flexible=None)
ASSIGNMENTS = Message("ConnectAssignment", _ASSIGNMENT, low=0, high=3, flexible=None)
_EAGER_FIELDS, _COOPERATIVE_FIELDS = 1, 3


@dataclass(frozen=True, slots=True)
class Assignment:
    """What the leader of a Connect cluster gave to a worker."""

    version: int
    error: int
    """0, or 1 when the workers' views of the configuration topic differ."""
    leader: str
    """Member id of the leader."""
    leader_url: str
    config_offset: int
    """Offset in the configuration topic that the assignment was made from."""
    assigned: Tasks = ()
    revoked: Tasks = ()
    delay_ms: int = 0
    """How long tasks that were lost stay unassigned, in milliseconds."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a Connect worker says of itself."""

    version: int
    url: str
    """Where its REST interface is."""
    config_offset: int
    allocation: Assignment | None = None
    """What it runs now, from version 1."""


def subscription(data: bytes) -> Subscription | None:
    """Read a worker's metadata; None when there is none or it is something else."""
    version = version_of(data)
    value = None if version is None else decode_fitting(SUBSCRIPTIONS, version, data)
    if version is None or value is None:
        return None
    allocation = value["Allocation"]
    return Subscription(
        version=version,
        url=value["Url"],
        config_offset=value["ConfigOffset"],
        allocation=None if allocation is None else assignment(allocation),
    )


def assignment(data: bytes) -> Assignment | None:
    """Read a worker's assignment; None when there is none or it is something else."""
    version = version_of(data)
    if version is None:
        return None
    fields = _COOPERATIVE_FIELDS if version else _EAGER_FIELDS
    value = decode_fitting(ASSIGNMENTS, fields, data)
    if value is None:
        return None
    return Assignment(
        version=version,
        error=value["Error"],
        leader=value["Leader"],
        leader_url=value["LeaderUrl"],
        config_offset=value["ConfigOffset"],
        assigned=_tasks(value["Assigned"]),
        revoked=_tasks(value["Revoked"]),
        delay_ms=value["Delay"],
    )


def encode_subscription(value: Subscription) -> bytes:
    """Write a worker's metadata."""
    allocation = None if value.allocation is None else encode_assignment(value.allocation)
    body = SUBSCRIPTIONS.encode(
        min(value.version, 1),
        {"Url": value.url, "ConfigOffset": value.config_offset, "Allocation": allocation},
    )
    return version_bytes(value.version) + body


def encode_assignment(value: Assignment) -> bytes:
    """Write a worker's assignment; version 0 has no revoked tasks and no delay."""
    body = ASSIGNMENTS.encode(
        _COOPERATIVE_FIELDS if value.version else _EAGER_FIELDS,
        {
            "Error": value.error,
            "Leader": value.leader,
            "LeaderUrl": value.leader_url,
            "ConfigOffset": value.config_offset,
            "Assigned": _rows(value.assigned),
            "Revoked": _rows(value.revoked),
            "Delay": value.delay_ms,
        },
    )
    return version_bytes(value.version) + body


def _tasks(rows: list[dict[str, Any]] | None) -> Tasks:
    return tuple((row["Connector"], tuple(row["Tasks"])) for row in rows or ())


def _rows(tasks: Iterable[tuple[str, tuple[int, ...]]]) -> list[dict[str, object]]:
    return [{"Connector": connector, "Tasks": numbers} for connector, numbers in tasks]
