"""One look at a cluster: as much of it as a filter and a format need, as the same `Snapshot` that the UI draws."""

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
class Gathered:
    """What was found.

    Attributes:
        ids: groups that the filter chooses, in its order.
        coverage: brokers that answered; groups of which all that was asked for could be read.
        members, lag: whether they were read.
        searched: of how many groups the filter's data was there, of how many in question.
    """

    snapshot: Snapshot
    ids: list[str]
    coverage: Coverage
    faults: tuple[Fault, ...]
    members: bool = False
    lag: bool = False
    searched: tuple[int, int] = (0, 0)


async def gather(
    admin: GroupAdmin, query: Query | None = None, *, members: bool = False, lag: bool = False, timeout: float
) -> Gathered:
    """List every group, choose by the filter, and read what the filter or the caller needs of those in question.

    Args:
        query: None for every group.
        members: read members of the groups chosen.
        lag: read offsets and log ends of the groups chosen.
        timeout: seconds for the whole. Each step may take an even share of what is left, so that a broker that does
            not answer the first leaves time for the others.

    Raises:
        UnreachableError: nothing could be learned.
    """
    if query is None and not members and not lag:
        # The commonest case loads nothing of what follows.
        snapshot, faults = await list_all(admin, timeout=timeout)
        return Gathered(snapshot, sorted(snapshot.groups), _coverage(snapshot, len(snapshot.groups)), faults)
    from kgtui.admin.deadline import Deadline
    from kgtui.model.query import Need, Query

    query = query or Query()
    members, lag = members or Need.DESCRIPTION in query.needs, lag or Need.OFFSETS in query.needs
    deadline = Deadline(timeout, steps=1 + members + 2 * lag)
    snapshot, faults = await list_all(admin, timeout=deadline.step())
    snapshot, others = await _enrich(admin, snapshot, query, members=members, lag=lag, deadline=deadline)
    ids = query.select(snapshot)
    # A fault of a group that was only looked at to decide on it matters too: it may be missing because of that.
    concerned = set(snapshot.group_faults) if query.needs else set(ids)
    faults += others + tuple(f for group, f in sorted(snapshot.group_faults.items()) if group in concerned)
    return Gathered(
        snapshot, ids, _coverage(snapshot, len(ids), sum(1 for group in ids if group in snapshot.group_faults)),
        faults, members, lag, query.searched(snapshot),
    )  # fmt: skip


async def _enrich(
    admin: GroupAdmin, snapshot: Snapshot, query: Query, *, members: bool, lag: bool, deadline: Deadline
) -> tuple[Snapshot, tuple[Fault, ...]]:
    """Return the snapshot with summaries of the groups that the filter may choose, and the faults of no one group.

    Args:
        deadline: one step of it is taken for members, and two for lag.
    """
    from kgtui.admin.reading import GroupsRead, Logs, read_groups
    from kgtui.model.query import Need

    read, needs = GroupsRead(), frozenset[Need]()
    # Members first, because a group that they rule out needs no offsets.
    if members:
        ids = query.limited(needs).select(snapshot)
        if ids:
            read = await read_groups(admin, deadline, describe=ids)
        needs |= {Need.DESCRIPTION}
        snapshot = _enriched(snapshot, read, ids)
    if lag:
        ids = query.limited(needs).select(snapshot)
        listings = {group: snapshot.groups[group] for group in ids}
        read.merge(await read_groups(admin, deadline, offsets=listings, logs=Logs.COMMITTED_ENDS))
        snapshot = _enriched(snapshot, read, ids)
    return snapshot, read.general_faults


def _enriched(snapshot: Snapshot, read: GroupsRead, ids: Sequence[str]) -> Snapshot:
    from kgtui.model.summary import Topics, summary_of

    now, summaries, topics, faults = time.time(), dict(snapshot.summaries), Topics(), read.group_faults()
    for group in ids:
        summaries[group] = summary_of(
            read.descriptions.get(group),
            read.lag_of(group),
            read.topics_of(group),
            faults.get(group),
            now,
            shared=topics,
        )
    return replace(snapshot, taken_at=now, summaries=summaries, group_faults=faults)


def _coverage(snapshot: Snapshot, groups: int, failed: int = 0) -> Coverage:
    return Coverage((snapshot.answering, len(snapshot.brokers)), (groups - failed, groups))


async def list_all(admin: GroupAdmin, *, timeout: float) -> tuple[Snapshot, tuple[Fault, ...]]:
    """Every group as listed, and the brokers that did not answer. Raises `UnreachableError`."""
    # Side by side: a silent broker takes all the time that its list has, and would leave none.
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
