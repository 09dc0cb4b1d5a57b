"""Convert objects, such as members and offsets, to rows of the recorded tables, and back.

A row is a tuple of column values, without the key columns and the columns `day`, `keyframe`, `poll` and `gone`.
"""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeVar

from kgtui.lake.schemas import GROUPS
from kgtui.model.answer import Fault
from kgtui.model.cluster import Broker, ClusterInfo
from kgtui.model.group import GroupDescription, Listing
from kgtui.model.members import Member, Topology
from kgtui.model.offsets import CommittedOffset, GroupOffsets, PartitionBounds, ShareOffset

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kgtui.model.offsets import TopicPartition

T = TypeVar("T")
RowValues = tuple[Any, ...]

COMMIT, SHARE, OWNED = "commit", "share", "owned"
"""Values of column `kind` of table `partitions`.

- `COMMIT`: the group has a committed offset in the partition.
- `SHARE`: the group has a share-partition start offset.
- `OWNED`: a member owns the partition, but the group has no offset in it.
"""

_MEMBER_COLUMNS = ("client_id", "host", "instance_id", "rack", "epoch", "protocol")
_DETAILS = tuple(one.name for one in fields(Member) if one.name not in ("member_id", *_MEMBER_COLUMNS))
"""Attributes of `Member` that have no column of their own. They are stored as JSON in column `detail`."""

_member_columns = attrgetter(*_MEMBER_COLUMNS)

_GROUP_COLUMNS = ("group", "assignor", "group_epoch", "assignment_epoch", "members", "operations")
_GROUP_DETAILS = tuple(one.name for one in fields(GroupDescription) if one.name not in _GROUP_COLUMNS)
"""Attributes of `GroupDescription` without a column of their own. They are stored as JSON in column `description`."""

_UNDESCRIBED: RowValues = (None,) * (GROUPS.names.index("offsets_may_be_hidden") - GROUPS.names.index("described_at"))


def _text(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))


def _plain(value: object) -> Any:
    import msgspec

    return msgspec.to_builtins(value)


def _typed(value: object, kind: type[T]) -> T:
    import msgspec

    return msgspec.convert(value, kind)


def listing_row(listing: Listing) -> RowValues:
    """Return the values of the columns `type`, `protocol`, `state` and `coordinator` of table `groups`."""
    return (listing.type, listing.protocol, listing.state, listing.coordinator)


def description_row(description: GroupDescription, at: int) -> RowValues:
    """Return the values of the columns `described_at` to `description` of table `groups`.

    Args:
        at: time when the description was read, in milliseconds since the epoch.
    """
    rest: dict[str, object] = {name: _plain(getattr(description, name)) for name in _GROUP_DETAILS}
    rest["operations"] = None if description.operations is None else sorted(description.operations)
    return (
        at,
        description.assignor,
        description.group_epoch,
        description.assignment_epoch,
        description.member_count,
        _text({name: value for name, value in rest.items() if value is not None}),
    )


def listing_of_row(row: RowValues) -> Listing:
    """Convert a row of table `groups` to a `Listing` (type, protocol, state and coordinator)."""
    return Listing(*row[:4])


def description_of_row(group: str, row: RowValues, members: Iterable[Member]) -> GroupDescription | None:
    """Convert a row of table `groups` to a description, with the members sorted by id.

    Return None if the group had not been described yet.
    """
    at, assignor, group_epoch, assignment_epoch, count, text = row[4:10]
    if at is None:
        return None
    rest = json.loads(text)
    operations, topology = rest.pop("operations", None), rest.pop("topology", None)
    return GroupDescription(
        group,
        assignor=assignor,
        group_epoch=group_epoch,
        assignment_epoch=assignment_epoch,
        members=None if count is None else tuple(sorted(members, key=lambda member: member.member_id)),
        operations=None if operations is None else frozenset(operations),
        topology=None if topology is None else _typed(topology, Topology),
        **rest,
    )


def hidden_of_row(row: RowValues) -> bool | None:
    """Return the value of column `offsets_may_be_hidden` in a row of table `groups`; None if unknown."""
    hidden: bool | None = row[10]
    return hidden


def undescribed() -> RowValues:
    """Return the values of the columns `described_at` to `description` for a group without a description: all None."""
    return _UNDESCRIBED


def member_row(member: Member) -> RowValues:
    """Convert a member to a row of table `members`."""
    detail = {name: value for name in _DETAILS if (value := getattr(member, name)) is not None and value != b""}
    return (*_member_columns(member), member.assigned_count, _text(_plain(detail)))


def member_of_row(member_id: str, row: RowValues) -> Member:
    """Convert a row of table `members` to a member."""
    *values, _, text = row
    columns = dict(zip(_MEMBER_COLUMNS, values, strict=True))
    return _typed({"member_id": member_id, **columns, **json.loads(text)}, Member)


# The following functions create and convert rows of table `partitions`. A row has these values: kind, committed, spso
# (share-partition start offset), lag, leader_epoch, metadata, error, message, log_start, log_end, log_error, owner.


def commit_row(commit: CommittedOffset, bounds: PartitionBounds | None, owner: str | None) -> RowValues:
    """Return a row of table `partitions` for a committed offset.

    Args:
        bounds: log start and log end offset; None if unknown.
        owner: id of the member that owns the partition; None if unknown.
    """
    start, end, error = (bounds.log_start, bounds.log_end, bounds.error) if bounds else (None, None, None)
    return (
        COMMIT, commit.offset, None, None, commit.leader_epoch, commit.metadata, commit.error, None,
        start, end, error, owner,
    )  # fmt: skip


def share_row(share: ShareOffset, bounds: PartitionBounds | None, owner: str | None) -> RowValues:
    """Return a row of table `partitions` for the share-partition start offset of a share group.

    Args:
        bounds: log start and log end offset; None if unknown.
        owner: id of a member that reads the partition; None if unknown.
    """
    start, end, error = (bounds.log_start, bounds.log_end, bounds.error) if bounds else (None, None, None)
    return (
        SHARE, None, share.start_offset, share.lag, share.leader_epoch, None, share.error, share.message or None,
        start, end, error, owner,
    )  # fmt: skip


def owned_row(bounds: PartitionBounds, owner: str | None) -> RowValues:
    """Return a row of table `partitions` for a partition that a member owns, but in which the group has no offset."""
    return (
        OWNED, None, None, None, None, None, None, None, bounds.log_start, bounds.log_end, bounds.error, owner
    )  # fmt: skip


def commit_of_row(topic: str, partition: int, row: RowValues) -> CommittedOffset:
    """Convert a row of table `partitions` to a `CommittedOffset`. The row's column `kind` must be `commit`."""
    return CommittedOffset(topic, partition, row[1], row[4], row[5], row[6])


def share_of_row(topic: str, partition: int, row: RowValues) -> ShareOffset:
    """Convert a row of table `partitions` to a `ShareOffset`. The row's column `kind` must be `share`."""
    return ShareOffset(topic, partition, row[2], row[4], row[3], row[6], row[7] or "")


def bounds_of_row(row: RowValues) -> PartitionBounds | None:
    """Return the log start and log end offset, or the error of reading them; None if there was no response.

    Args:
        row: row of table `partitions`.
    """
    return None if row[10] is None else PartitionBounds(row[8], row[9], row[10])


def owner_of_row(row: RowValues) -> str | None:
    """Return the id of the partition's owner in a row of table `partitions`; None if unknown."""
    owner: str | None = row[11]
    return owner


def offsets_of_rows(positions: Mapping[TopicPartition, RowValues], *, hidden: bool | None) -> GroupOffsets:
    """Convert one group's rows of table `partitions` to the group's offsets.

    Args:
        positions: partition → row of table `partitions`.
        hidden: whether offsets may be missing, because the recorder's user lacked permissions; None if unknown.
    """
    committed: list[CommittedOffset] = []
    share: list[ShareOffset] = []
    bounds: dict[TopicPartition, PartitionBounds] = {}
    for tp, row in sorted(positions.items()):
        if row[0] == COMMIT:
            committed.append(commit_of_row(*tp, row))
        elif row[0] == SHARE:
            share.append(share_of_row(*tp, row))
        log = bounds_of_row(row)
        if log is not None:
            bounds[tp] = log
    return GroupOffsets(tuple(committed), tuple(share), bounds, may_lack_topics=hidden is True)


def fault_row(fault: Fault) -> RowValues:
    """Return the error code, the message and the advice of a fault (a failed read) as a row of table `faults`."""
    return (fault.code, fault.message, fault.advice)


def fault_of_row(broker: int | None, group: str | None, name: str, row: RowValues) -> Fault:
    """Convert a row of table `faults` to a `Fault` (a failed read).

    Args:
        broker: node id of the broker; None if the fault does not concern a single broker.
        group: group id; None if the fault does not concern a single group.
        name: name of the error.
    """
    code, message, advice = row
    return Fault(name, message or "", code, broker, group, advice or "")


def cluster_text(cluster: ClusterInfo) -> str:
    """Convert a cluster to JSON for column `cluster` of table `polls`. The cluster id has a column of its own."""
    return _text(
        {
            "controller": cluster.controller,
            "brokers": [asdict(cluster.brokers[node]) for node in sorted(cluster.brokers)],
            "features": dict(sorted(cluster.features.items())) if cluster.features is not None else None,
            "seeds": cluster.seeds,
        }
    )


def cluster_of_text(cluster_id: str | None, text: str | None) -> ClusterInfo:
    """Convert columns `cluster_id` and `cluster` of table `polls` to a cluster.

    Args:
        text: value of column `cluster`, which `cluster_text` created; None if only the cluster id is known.
    """
    cluster = json.loads(text or "{}")
    brokers = {row["node"]: Broker(**row) for row in cluster.get("brokers", ())}
    return ClusterInfo(
        cluster_id, brokers, cluster.get("controller"), cluster.get("features"), tuple(cluster.get("seeds", ()))
    )
