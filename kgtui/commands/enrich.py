"""Members, offsets and lag of groups, read in few requests and summed without a value per partition."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from kgtui.admin.reading import read_offsets
from kgtui.model.offsets import summed
from kgtui.model.query import Need
from kgtui.model.summary import Topics, summary_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kgtui.admin.base import GroupAdmin
    from kgtui.commands.budget import Budget
    from kgtui.model.answer import Fault
    from kgtui.model.group import GroupDescription, Listing
    from kgtui.model.offsets import CommittedOffset, PartitionBounds, ShareOffset, TopicPartition
    from kgtui.model.query import Query
    from kgtui.model.snapshot import Snapshot


@dataclass(slots=True)
class _Read:
    """What is being learned of groups, by id."""

    descriptions: dict[str, GroupDescription] = field(default_factory=dict)
    committed: dict[str, Sequence[CommittedOffset]] = field(default_factory=dict)
    share: dict[str, Sequence[ShareOffset]] = field(default_factory=dict)
    bounds: Mapping[TopicPartition, PartitionBounds] = field(default_factory=dict)
    faults: dict[str, Fault] = field(default_factory=dict)
    others: list[Fault] = field(default_factory=list)

    def blame(self, faults: Iterable[Fault]) -> None:
        """Keep faults, the first one of each group."""
        for fault in faults:
            if fault.group is None:
                self.others.append(fault)
            else:
                self.faults.setdefault(fault.group, fault)


async def enrich(
    admin: GroupAdmin, snapshot: Snapshot, query: Query, *, members: bool, lag: bool, budget: Budget
) -> tuple[Snapshot, list[Fault]]:
    """The snapshot with summaries of the groups that the filter may choose, and faults that are about no one group.

    Args:
        budget: one step of it for members, two for lag.
    """
    read = _Read()
    done: frozenset[Need] = frozenset()
    # Members first: what they rule out needs no offsets.
    if members:
        ids = query.limited(done).select(snapshot)
        await _describe(admin, read, ids, timeout=budget.step())
        done |= {Need.DESCRIPTION}
        snapshot = _enriched(snapshot, read, ids, time.time())
    if lag:
        ids = query.limited(done).select(snapshot)
        await _measure(admin, read, {group: snapshot.groups[group] for group in ids}, budget)
        snapshot = _enriched(snapshot, read, ids, time.time())
    return snapshot, read.others


async def _describe(admin: GroupAdmin, read: _Read, ids: Sequence[str], *, timeout: float) -> None:
    if not ids:
        return
    answer = await admin.describe_groups(ids, timeout=timeout)
    read.descriptions.update(answer.rows)
    read.blame(answer.faults)


async def _measure(admin: GroupAdmin, read: _Read, groups: Mapping[str, Listing], budget: Budget) -> None:
    """Offsets of all groups in as few requests as they fit in, then each log's ends once."""
    found = await read_offsets(admin, groups, timeout=budget.step())
    read.committed.update(found.committed)
    read.share.update(found.share)
    read.blame(found.faults)
    # The broker tells the lag of a share partition itself: only commits need the log's end.
    wanted = {(row.topic, row.partition) for rows in found.committed.values() for row in rows if row.offset is not None}
    if wanted:
        answer = await admin.partition_bounds(wanted, starts=False, timeout=budget.step())
        read.bounds = answer.rows
        read.blame(answer.faults)


def _enriched(snapshot: Snapshot, read: _Read, ids: Sequence[str], now: float) -> Snapshot:
    summaries, shared = dict(snapshot.summaries), Topics()
    for group in ids:
        committed, share = read.committed.get(group, ()), read.share.get(group, ())
        sums = summed(committed, share, read.bounds)
        topics = (row.topic for row in committed or share)
        fault = read.faults.get(group)
        summaries[group] = summary_of(read.descriptions.get(group), sums, topics, fault, now, shared=shared)
    return replace(snapshot, taken_at=now, summaries=summaries, group_faults=dict(read.faults))
