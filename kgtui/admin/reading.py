"""Reads groups in full over the interface: descriptions, offsets and log bounds, in as few requests as they fit in."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kgtui.admin.deadline import Deadline
from kgtui.errors import UnreachableError
from kgtui.model.answer import fault_of
from kgtui.model.group_types import PROTOCOLS_WITH_OFFSETS, SHARE_OFFSET_TYPES, TYPES_WITH_OFFSETS
from kgtui.model.members import partitions_read
from kgtui.model.offsets import GroupOffsets

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

    from kgtui.admin.base import GroupAdmin
    from kgtui.model.answer import Answer, Fault
    from kgtui.model.group import GroupDescription, Listing
    from kgtui.model.offsets import CommittedOffset, PartitionBounds, ShareOffset, TopicPartition


@dataclass(frozen=True, slots=True)
class OffsetsRead:
    """Positions of some groups, without their logs.

    Attributes:
        faults: of groups, and of brokers where they concern no one group.
    """

    committed: Mapping[str, tuple[CommittedOffset, ...]]
    share: Mapping[str, tuple[ShareOffset, ...]]
    faults: tuple[Fault, ...] = ()

    def partitions(self) -> set[TopicPartition]:
        """Every partition that some group has a position in."""
        found = {(row.topic, row.partition) for rows in self.committed.values() for row in rows}
        return found | {(row.topic, row.partition) for rows in self.share.values() for row in rows}


@dataclass(frozen=True, slots=True)
class GroupsRead:
    """What was learned of some groups.

    Attributes:
        describe_faults: group id → why it could not be described.
        offset_faults: group id → why its offsets could not be read.
        faults: those that concern no one group.
    """

    descriptions: Mapping[str, GroupDescription]
    offsets: Mapping[str, GroupOffsets]
    describe_faults: Mapping[str, Fault] = field(default_factory=dict)
    offset_faults: Mapping[str, Fault] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()

    def fault(self, group: str) -> Fault | None:
        """The fault that matters most for a group."""
        return self.describe_faults.get(group) or self.offset_faults.get(group)


def has_offsets(listing: Listing) -> bool:
    """Whether groups listed so may have offsets that say something; when the type is not told, ask."""
    return listing.type in TYPES_WITH_OFFSETS or listing.protocol in PROTOCOLS_WITH_OFFSETS


async def read_offsets(admin: GroupAdmin, groups: Mapping[str, Listing], *, timeout: float) -> OffsetsRead:
    """Committed offsets and share offsets, each of the groups that have such.

    Args:
        groups: id → newest listing, which tells where its offsets are.
        timeout: seconds for the whole.
    """
    share = [group for group, row in groups.items() if row.type in SHARE_OFFSET_TYPES]
    committed = [group for group, row in groups.items() if row.type not in SHARE_OFFSET_TYPES and has_offsets(row)]
    commits, shares = await asyncio.gather(
        admin.committed_offsets(committed, timeout=timeout), admin.share_offsets(share, timeout=timeout)
    )
    return OffsetsRead(commits.rows, shares.rows, (*commits.faults, *shares.faults))


async def with_logs(
    admin: GroupAdmin,
    read: OffsetsRead,
    described: Mapping[str, GroupDescription],
    *,
    timeout: float,
    starts: bool = True,
) -> tuple[dict[str, GroupOffsets], tuple[Fault, ...]]:
    """Offsets by group with the bounds of every log that the group has a position in, or that its members own.

    Args:
        starts: False when only log ends are needed.

    Returns:
        The offsets, and what could not be learned of the logs.
    """
    owned = {group: partitions_read(row.members, row.topology) for group, row in described.items()}
    wanted = read.partitions().union(*(owned.get(group, ()) for group in read.committed))
    known: Mapping[TopicPartition, PartitionBounds] = {}
    faults: tuple[Fault, ...] = ()
    if wanted:
        try:
            answer = await admin.partition_bounds(wanted, starts=starts, timeout=timeout)
            known, faults = answer.rows, answer.faults
        except UnreachableError as error:  # the positions are known all the same
            faults = (fault_of(error),)
    offsets: dict[str, GroupOffsets] = {}
    for group, commits in read.committed.items():
        bounds = _bounds(((row.topic, row.partition) for row in commits), known)
        # A partition that is owned without a commit has a log all the same.
        bounds |= {tp: known[tp] for tp in owned.get(group, ()) if tp in known and not known[tp].error}
        offsets[group] = GroupOffsets(commits, (), bounds)
    for group, shares in read.share.items():
        offsets[group] = GroupOffsets((), shares, _bounds(((row.topic, row.partition) for row in shares), known))
    return offsets, faults


async def read_groups(
    admin: GroupAdmin,
    groups: Mapping[str, Listing],
    *,
    timeout: float,
    undescribed: Collection[str] = (),
    starts: bool = True,
    tell: Callable[[Answer[Mapping[str, GroupDescription]]], None] | None = None,
) -> GroupsRead:
    """Describe groups and read their offsets and logs. Never raises for a group that fails.

    Args:
        groups: id → newest listing.
        timeout: seconds for the whole.
        undescribed: ids of which only offsets are read.
        starts: False when log ends are enough, as for a lag.
        tell: given the descriptions as soon as they are there: logs may be led by a broker that does not answer.
    """
    deadline = Deadline(timeout)

    async def describe() -> Answer[Mapping[str, GroupDescription]]:
        wanted = [group for group in groups if group not in undescribed]
        answer = await admin.describe_groups(wanted, timeout=timeout)
        if tell is not None:
            tell(answer)
        return answer

    described, read = await asyncio.gather(describe(), read_offsets(admin, groups, timeout=timeout))
    offsets, faults = await with_logs(admin, read, described.rows, timeout=deadline.left(), starts=starts)
    others = tuple(fault for fault in (*described.faults, *read.faults, *faults) if fault.group is None)
    return GroupsRead(described.rows, offsets, _by_group(described.faults), _by_group(read.faults), others)


def _by_group(faults: Iterable[Fault]) -> dict[str, Fault]:
    return {fault.group: fault for fault in faults if fault.group is not None}


def _bounds(
    partitions: Iterable[TopicPartition], known: Mapping[TopicPartition, PartitionBounds]
) -> dict[TopicPartition, PartitionBounds]:
    return {tp: known[tp] for tp in partitions if tp in known}
