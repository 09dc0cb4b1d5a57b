"""Member metadata and assignments of Kafka Connect workers (protocol type `connect`).

Version 0 is the protocol with eager rebalancing, and version 1 the protocol with incremental cooperative rebalancing
(KIP-415). Version 2 adds session keys (KIP-507). Kafka's names for versions 0, 1 and 2 are `default`, `compatible` and
`sessioned`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from kgtui.protocol.api import Message, Rows
from kgtui.protocol.member_data import decode_versioned, version_bytes, version_of

if TYPE_CHECKING:
    from collections.abc import Iterable

Tasks: TypeAlias = tuple[tuple[str, tuple[int, ...]], ...]
"""Pairs `(connector name, task numbers)`. The task number -1 stands for the connector itself."""

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

# The version numbers in this table are not Kafka's. Connect workers can omit some of the last three fields (Assigned,
# Revoked and Delay), so the version in this table is the number of these fields that an assignment contains.
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
    """The connectors and tasks that the leader of a Connect group assigned to a worker."""

    version: int
    error: int
    """0 for success, 1 if a worker has read further in Connect's configuration topic than the leader."""
    leader: str
    """Member id of the leader."""
    leader_url: str
    config_offset: int
    """Offset up to which the leader has read the configuration topic."""
    assigned: Tasks = ()
    revoked: Tasks = ()
    delay_ms: int = 0
    """Time until the tasks of workers that have left the group are assigned again, in milliseconds; 0 for no delay."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """The metadata of a Connect worker that joins its group."""

    version: int
    url: str
    """URL of the worker's REST interface."""
    config_offset: int
    allocation: Assignment | None = None
    """The assignment that the worker already has when it joins again; None in version 0, or if it has none."""


def decode_subscription(data: bytes) -> Subscription | None:
    """Decode the metadata of a Connect worker. Return None for empty or malformed bytes."""
    version = version_of(data)
    value = None if version is None else decode_versioned(SUBSCRIPTIONS, version, data)
    if version is None or value is None:
        return None
    allocation = value["Allocation"]
    return Subscription(
        version=version,
        url=value["Url"],
        config_offset=value["ConfigOffset"],
        allocation=None if allocation is None else decode_assignment(allocation),
    )


def decode_assignment(data: bytes) -> Assignment | None:
    """Decode the assignment of a Connect worker. Return None for empty or malformed bytes."""
    version = version_of(data)
    if version is None:
        return None
    fields = _COOPERATIVE_FIELDS if version else _EAGER_FIELDS
    value = decode_versioned(ASSIGNMENTS, fields, data)
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
    """Encode the metadata of a Connect worker. In version 0, `value.allocation` is left out."""
    allocation = None if value.allocation is None else encode_assignment(value.allocation)
    body = SUBSCRIPTIONS.encode(
        min(value.version, 1),
        {"Url": value.url, "ConfigOffset": value.config_offset, "Allocation": allocation},
    )
    return version_bytes(value.version) + body


def encode_assignment(value: Assignment) -> bytes:
    """Encode the assignment of a Connect worker. In version 0, the revoked tasks and the delay are left out."""
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
