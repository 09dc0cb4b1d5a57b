"""Selects groups by a filter. Only the data that the filter and the command need is read into a `Snapshot`."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kgtui.model.answer import Coverage
from kgtui.model.snapshot import BrokerStatus, Snapshot

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kgtui.admin.base import GroupAdmin
    from kgtui.admin.deadline import Deadline
    from kgtui.admin.reading import GroupsRead
    from kgtui.model.answer import Fault
    from kgtui.model.group import Listing
    from kgtui.model.query import Query


@dataclass(frozen=True, slots=True)
class Selection:
    """The groups that a filter selects, and the data that was read to select them.

    Attributes:
        snapshot: all data that was read, including data of groups that were not selected.
        ids: ids of the selected groups, in the order of the filter.
        coverage: how many brokers answered, and how many selected groups could be read completely.
        faults: why some data could not be read.
        members: whether members were read.
        lag: whether offsets and log end offsets were read.
        searched: pair of counts: groups that the filter could test, and groups that it had to test because the list of
            groups alone did not exclude them.
    """

    snapshot: Snapshot
    ids: list[str]
    coverage: Coverage
    faults: tuple[Fault, ...]
    members: bool = False
    lag: bool = False
    searched: tuple[int, int] = (0, 0)


async def select_groups(
    admin: GroupAdmin, query: Query | None = None, *, members: bool = False, lag: bool = False, timeout: float
) -> Selection:
    """List all groups, read what the filter and the caller need, and select groups by the filter.

    Args:
        admin: the cluster, or a recording.
        query: the filter; None selects every group.
        members: whether to read the members of the selected groups.
        lag: whether to read the offsets and log end offsets of the selected groups.
        timeout: time for everything, in seconds. Each step may take an equal part of the time that is left, so that a
            broker that does not answer the first request leaves time for the others.

    Raises:
        UnreachableError: no broker answered.
    """
    if query is None and not members and not lag:
        # Return early without a filter. This is the most frequent case, and the imports below would slow it down.
        snapshot, faults = await list_groups(admin, timeout=timeout)
        return Selection(snapshot, sorted(snapshot.groups), _coverage(snapshot, len(snapshot.groups)), faults)
    from kgtui.admin.deadline import Deadline
    from kgtui.model.query import Need, Query

    query = query or Query()
    members, lag = members or Need.DESCRIPTION in query.needs, lag or Need.OFFSETS in query.needs
    deadline = Deadline(timeout, steps=1 + members + 2 * lag)
    snapshot, faults = await list_groups(admin, timeout=deadline.step())
    snapshot, others = await _enrich(admin, snapshot, query, members=members, lag=lag, deadline=deadline)
    ids = query.select(snapshot)
    # Faults of groups outside the result are reported too, because such a group might match if it could be read.
    concerned = set(snapshot.group_faults) if query.needs else set(ids)
    faults += others + tuple(f for group, f in sorted(snapshot.group_faults.items()) if group in concerned)
    return Selection(
        snapshot, ids, _coverage(snapshot, len(ids), sum(1 for group in ids if group in snapshot.group_faults)),
        faults, members, lag, query.searched(snapshot),
    )  # fmt: skip


async def _enrich(
    admin: GroupAdmin, snapshot: Snapshot, query: Query, *, members: bool, lag: bool, deadline: Deadline
) -> tuple[Snapshot, tuple[Fault, ...]]:
    """Read members and lag, and return the snapshot with them, and the faults that concern no single group.

    Args:
        deadline: time limit. Reading members takes one of its steps, and reading lag takes two.
    """
    from kgtui.admin.reading import GroupsRead, Logs, read_groups
    from kgtui.model.query import Need

    read, needs = GroupsRead(), frozenset[Need]()
    # Members are read before offsets, because groups that do not match by their members need no offsets.
    if members:
        ids = query.limited(needs).select(snapshot)
        if ids:
            read = await read_groups(admin, deadline, describe=ids)
        needs |= {Need.DESCRIPTION}
        snapshot = _enriched(snapshot, read, ids, lag=False)
    if lag:
        ids = query.limited(needs).select(snapshot)
        listings = {group: snapshot.groups[group] for group in ids}
        read.merge(await read_groups(admin, deadline, offsets=listings, logs=Logs.COMMITTED_ENDS))
        snapshot = _enriched(snapshot, read, ids, lag=True)
    return snapshot, read.general_faults


def _enriched(snapshot: Snapshot, read: GroupsRead, ids: Sequence[str], *, lag: bool) -> Snapshot:
    from kgtui.model.summary import Topics, summary_of

    now, summaries, topics, faults = time.time(), dict(snapshot.summaries), Topics(), read.group_faults()
    for group in ids:
        with_offset = read.topics_of(group)
        if with_offset is None and not (lag and snapshot.groups[group].has_offsets):
            # The group has no offsets, or they were not requested, so only the topics that it subscribes to are known.
            with_offset = ()
        summaries[group] = summary_of(
            read.descriptions.get(group),
            read.lag_of(group),
            with_offset,
            faults.get(group),
            now,
            shared=topics,
        )
    return replace(snapshot, taken_at=now, summaries=summaries, group_faults=faults)


def undecided_text(searched: int, every: int) -> str:
    """Return a sentence on the groups for which the filter lacked data. Both counts are from `Selection.searched`."""
    return f"the filter could not be applied to {every - searched} of {every} groups, because their data is unknown"


def _coverage(snapshot: Snapshot, groups: int, failed: int = 0) -> Coverage:
    return Coverage((snapshot.answering, len(snapshot.brokers)), (groups - failed, groups))


async def list_groups(admin: GroupAdmin, *, timeout: float) -> tuple[Snapshot, tuple[Fault, ...]]:
    """List all groups. Returns a snapshot and the faults of brokers that did not answer. Raises `UnreachableError`."""
    # Send both requests at once, because a broker that does not answer the first could otherwise use up the time.
    answer, cluster = await asyncio.gather(admin.list_groups(timeout=timeout), admin.cluster(timeout=timeout))
    now = time.time()
    failed = {fault.broker: fault for fault in answer.faults if fault.broker is not None and fault.group is None}
    brokers = {
        node: BrokerStatus(node, broker.address, None if node in failed else now, None, failed.get(node))
        for node, broker in cluster.brokers.items()
    }
    snapshot = Snapshot(1, now, cluster, answer.rows, _by_listing(answer.rows), brokers=brokers, faults=answer.faults)
    return snapshot, answer.faults


def _by_listing(rows: Mapping[str, Listing]) -> dict[Listing, list[str]]:
    by_listing: dict[Listing, list[str]] = {}
    for group, listing in rows.items():
        by_listing.setdefault(listing, []).append(group)
    return by_listing
