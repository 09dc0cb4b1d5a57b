"""Reads groups in full: descriptions, offsets and log bounds together."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kgtui.model.group import CONSUMER, SHARE, STREAMS
from kgtui.model.offsets import GroupOffsets, lags, total
from kgtui.model.snapshot import Summary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kgtui.admin.base import GroupAdmin
    from kgtui.model.answer import Fault
    from kgtui.model.group import GroupDescription, Listing
    from kgtui.model.offsets import CommittedOffset, PartitionBounds, ShareOffset, TopicPartition

# Protocols of classic groups that commit offsets through their group: Connect's and the registry's members do not.
_COMMITTING = frozenset({"consumer", ""})


@dataclass(slots=True)
class GroupsRead:
    """What was learned of some groups.

    Attributes:
        faults: group id → why a part is missing; `describe_faults` for the description alone.
    """

    descriptions: Mapping[str, GroupDescription] = field(default_factory=dict)
    offsets: dict[str, GroupOffsets] = field(default_factory=dict)
    describe_faults: dict[str, Fault] = field(default_factory=dict)
    offset_faults: dict[str, Fault] = field(default_factory=dict)

    def fault(self, group: str) -> Fault | None:
        """The fault that matters most for a group."""
        return self.describe_faults.get(group) or self.offset_faults.get(group)


def has_offsets(listing: Listing) -> bool:
    """Whether groups listed so may have offsets that say something; when the type is not told, ask."""
    return listing.type in (CONSUMER, SHARE, STREAMS) or listing.protocol in _COMMITTING


async def read_groups(
    admin: GroupAdmin, groups: Mapping[str, Listing], *, timeout: float, bounds: bool = True
) -> GroupsRead:
    """Describe groups and read their offsets and logs, all at once. Never raises for a group that fails.

    Args:
        groups: id → newest listing, which tells where its offsets are.
        bounds: whether to read log bounds too; without them no lag of committed offsets is known.
    """
    shared = [group for group, row in groups.items() if row.type == SHARE]
    committed = [group for group, row in groups.items() if row.type != SHARE and has_offsets(row)]
    described, commits, shares = await asyncio.gather(
        admin.describe_groups(list(groups), timeout=timeout),
        admin.committed_offsets(committed, timeout=timeout),
        admin.share_offsets(shared, timeout=timeout),
    )
    read = GroupsRead(described.rows, {}, _by_group(described.faults))
    read.offset_faults = _by_group((*commits.faults, *shares.faults))
    known: Mapping[TopicPartition, PartitionBounds] = {}
    if bounds:
        wanted = {(c.topic, c.partition) for rows in commits.rows.values() for c in rows}
        wanted |= {(s.topic, s.partition) for rows in shares.rows.values() for s in rows}
        if wanted:
            known = (await admin.partition_bounds(wanted, timeout=timeout)).rows
    for group, commit_rows in commits.rows.items():
        read.offsets[group] = GroupOffsets(commit_rows, (), _for_rows(commit_rows, known))
    for group, share_rows in shares.rows.items():
        read.offsets[group] = GroupOffsets((), share_rows, _for_rows(share_rows, known))
    return read


def _by_group(faults: Sequence[Fault]) -> dict[str, Fault]:
    return {fault.group: fault for fault in faults if fault.group is not None}


def _for_rows(
    rows: Sequence[CommittedOffset] | Sequence[ShareOffset], known: Mapping[TopicPartition, PartitionBounds]
) -> dict[TopicPartition, PartitionBounds]:
    return {tp: known[tp] for row in rows if (tp := (row.topic, row.partition)) in known}


class Summariser:
    """Makes `Summary`s whose texts are shared between groups: 100,000 of them have few topics and hosts."""

    def __init__(self) -> None:
        self._shared: dict[tuple[str, ...], tuple[str, ...]] = {}

    def _share(self, texts: set[str]) -> tuple[str, ...]:
        row = tuple(sorted(map(sys.intern, texts)))
        return self._shared.setdefault(row, row)

    def summary(
        self, description: GroupDescription | None, offsets: GroupOffsets | None, fault: Fault | None, at: float
    ) -> Summary:
        """What is kept of a group that nobody looks at; a part that was not learned is None or empty."""
        members = description.members if description else None
        sums = total(lags(offsets)) if offsets else None
        topics = {topic for topic, _ in offsets.partitions} if offsets else set()
        for member in members or ():
            topics.update(member.topics or ())
        return Summary(
            members=description.member_count if description else None,
            lag=sums.lag if sums else None,
            lag_unknown=sums.unknown if sums else 0,
            partitions=sums.partitions if sums else 0,
            topics=self._share(topics),
            clients=self._share({member.client_id for member in members or ()}),
            hosts=self._share({member.host for member in members or ()}),
            member_ids=tuple(member.member_id for member in members or ()),
            at=at,
            state=description.state if description else None,
            type=description.type if description else None,
            fault=fault,
        )
