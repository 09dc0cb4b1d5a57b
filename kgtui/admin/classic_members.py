"""From the bytes of classic members to what they mean: consumers, Connect workers, schema registry nodes.

A broker hands these bytes on as members gave them, so that any of them may be damaged or of a protocol of somebody's
own: what does not decode stays as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kgtui.model.members import ConnectWorker, Member, RegistryNode, TopicPartitions
from kgtui.protocol.member_data import connect, consumer, schema_registry

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    Row = Mapping[str, Any]


def by_topic(pairs: Iterable[tuple[str, Iterable[int]]]) -> TopicPartitions:
    """An assignment in order, each topic once."""
    merged: dict[str, set[int]] = {}
    for topic, partitions in pairs:
        merged.setdefault(topic, set()).update(partitions)
    return tuple((topic, tuple(sorted(parts))) for topic, parts in sorted(merged.items()))


def classic_member(row: Row, protocol: str, leader_url: str | None) -> Member:
    """A member of DescribeGroups, decoded by its group's protocol; the bytes are kept where they follow none.

    Args:
        leader_url: the leading worker's address, of Connect groups.
    """
    metadata, assigned = bytes(row["MemberMetadata"]), bytes(row["MemberAssignment"])
    values: dict[str, Any] = {}
    if protocol == "consumer":
        subscription = consumer.decode_subscription(metadata)
        if subscription is not None:
            values["topics"] = tuple(sorted(subscription.topics))
            values["rack"] = subscription.rack or None
        partitions = consumer.decode_assignment(assigned)
        if partitions is not None:
            values["assignment"] = by_topic(partitions)
        understood = subscription is not None
    elif protocol == "connect":
        values["connect"] = worker = _worker(metadata, assigned, leader_url)
        understood = worker is not None
    elif protocol == "sr":
        values["registry"] = node = _registry_node(metadata, assigned)
        understood = node is not None
    else:
        understood = False
    return Member(
        member_id=row["MemberId"],
        client_id=row["ClientId"],
        host=row["ClientHost"],
        instance_id=row.get("GroupInstanceId"),
        protocol="classic",
        undecoded=b"" if understood else metadata,
        **values,
    )


def connect_leader(members: Iterable[Row]) -> str | None:
    """The REST address of the leading worker, as the assignments tell it."""
    for member in members:
        assignment = connect.decode_assignment(bytes(member["MemberAssignment"]))
        if assignment is not None and assignment.leader_url:
            return assignment.leader_url
    return None


def _worker(metadata: bytes, assigned: bytes, leader_url: str | None) -> ConnectWorker | None:
    subscription = connect.decode_subscription(metadata)
    if subscription is None:
        return None
    assignment = connect.decode_assignment(assigned)
    if assignment is None:
        return ConnectWorker(url=subscription.url, config_offset=subscription.config_offset)
    # A cooperative assignment (KIP-415) is an increment on what the worker said it had when it joined.
    had = _units(subscription.allocation.assigned if subscription.allocation else ())
    revoked = _units(assignment.revoked)
    running = (had - revoked) | _units(assignment.assigned)
    return ConnectWorker(
        url=subscription.url,
        leader=None if leader_url is None else subscription.url == leader_url,
        leader_url=leader_url,
        config_offset=assignment.config_offset,
        connectors=tuple(sorted(name for name, task in running if task == connect.CONNECTOR)),
        tasks=by_topic((name, (task,)) for name, task in running if task != connect.CONNECTOR),
        revoked=tuple(name if task == connect.CONNECTOR else f"{name}-{task}" for name, task in sorted(revoked)),
        delay_ms=assignment.delay_ms,
        error=assignment.error,
    )


def _units(assigned: Iterable[tuple[str, Iterable[int]]]) -> set[tuple[str, int]]:
    """Connectors and tasks one by one: `(connector, task number)`."""
    return {(name, task) for name, tasks in assigned for task in tasks}


def _registry_node(metadata: bytes, assigned: bytes) -> RegistryNode | None:
    identity = schema_registry.decode_identity(metadata)
    if identity is None:
        return None
    assignment = schema_registry.decode_assignment(assigned)
    leader_url = assignment.master_identity.url if assignment and assignment.master_identity else None
    return RegistryNode(
        url=identity.url,
        eligible=identity.master_eligibility,
        leader=None if leader_url is None else identity.url == leader_url,
        leader_url=leader_url,
        error=(assignment.error or 0) if assignment else 0,
    )
