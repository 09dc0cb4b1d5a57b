"""One look at a cluster: as much of it as a filter and a format need, as the same `Snapshot` that the UI draws."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from kgtui.model import facts
from kgtui.model.answer import Coverage
from kgtui.model.group import SHARE, Listing
from kgtui.model.query import Need
from kgtui.model.snapshot import BrokerStatus, Snapshot, Summary

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kgtui.admin.base import GroupAdmin
    from kgtui.model.answer import Fault
    from kgtui.model.group import GroupDescription, GroupListing
    from kgtui.model.offsets import CommittedOffset, PartitionBounds, ShareOffset, TopicPartition
    from kgtui.model.query import Query


@dataclass(frozen=True, slots=True)
class Gathered:
    """What was found.

    Attributes:
        ids: groups that the filter chooses, in its order.
        coverage: brokers that answered; groups of which all that was asked for could be read.
        searched: of how many groups the filter's data was there, of how many in question.
    """

    snapshot: Snapshot
    ids: list[str]
    coverage: Coverage
    faults: tuple[Fault, ...]
    searched: tuple[int, int]


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


async def gather(
    admin: GroupAdmin, query: Query, *, members: bool = False, lag: bool = False, timeout: float
) -> Gathered:
    """List every group, choose by the filter, and read what the filter or the caller needs of those in question.

    Args:
        members: read members of the groups chosen.
        lag: read offsets and log ends of the groups chosen.
        timeout: seconds for the whole.

    Raises:
        UnreachableError: nothing could be learned.
    """
    end = time.monotonic() + timeout
    snapshot, faults = await list_all(admin, timeout=timeout)
    needs = query.needs
    read = _Read()
    done: frozenset[Need] = frozenset()
    # Members first: what they rule out needs no offsets.
    if members or Need.DESCRIPTION in needs:
        ids = query.limited(done).select(snapshot)
        await _describe(admin, read, ids, timeout=_left(end))
        done |= {Need.DESCRIPTION}
        snapshot = _enriched(snapshot, read, ids, time.time())
    if lag or Need.OFFSETS in needs:
        ids = query.limited(done).select(snapshot)
        await _measure(admin, read, {group: snapshot.groups[group] for group in ids}, end)
        snapshot = _enriched(snapshot, read, ids, time.time())
    ids = query.select(snapshot)
    chosen = set(ids)
    lacking = [fault for group, fault in sorted(read.faults.items()) if group in chosen or needs]
    coverage = Coverage(
        (snapshot.answering, len(snapshot.brokers)),
        (sum(1 for group in ids if group not in read.faults), len(ids)),
    )
    return Gathered(snapshot, ids, coverage, (*faults, *read.others, *lacking), query.searched(snapshot))


def _left(end: float) -> float:
    return max(end - time.monotonic(), 0.001)


async def list_all(admin: GroupAdmin, *, timeout: float) -> tuple[Snapshot, tuple[Fault, ...]]:
    """Every group as listed, and the brokers that did not answer. Raises `UnreachableError`."""
    end = time.monotonic() + timeout
    answer = await admin.list_groups(timeout=timeout)
    cluster = await admin.cluster(timeout=_left(end))
    now = time.time()
    groups, by_listing = _listings(answer.rows)
    failed = {fault.broker: fault for fault in answer.faults if fault.broker is not None and fault.group is None}
    brokers = {
        node: BrokerStatus(node, broker.address, None if node in failed else now, None, failed.get(node))
        for node, broker in cluster.brokers.items()
    }
    snapshot = Snapshot(1, now, cluster, groups, by_listing, brokers=brokers, faults=answer.faults)
    return snapshot, answer.faults


def _listings(rows: Iterable[GroupListing]) -> tuple[dict[str, Listing], dict[Listing, list[str]]]:
    known: dict[tuple[str | None, str, str | None, int], Listing] = {}
    groups: dict[str, Listing] = {}
    by_listing: dict[Listing, list[str]] = {}
    for row in rows:
        key = (row.type, row.protocol, row.state, row.coordinator)
        listing = known.get(key)
        if listing is None:
            listing = known[key] = Listing(*key)
            by_listing[listing] = []
        groups[row.group] = listing
        by_listing[listing].append(row.group)
    return groups, by_listing


async def _describe(admin: GroupAdmin, read: _Read, ids: Sequence[str], *, timeout: float) -> None:
    if not ids:
        return
    answer = await admin.describe_groups(ids, timeout=timeout)
    read.descriptions.update(answer.rows)
    read.blame(answer.faults)


async def _measure(admin: GroupAdmin, read: _Read, groups: Mapping[str, Listing], end: float) -> None:
    """Offsets of all groups in as few requests as they fit in, then each log's ends once."""
    share = [group for group, listing in groups.items() if listing.type == SHARE]
    others = [group for group, listing in groups.items() if listing.type != SHARE and _commits(listing)]
    commits, shares = await asyncio.gather(
        admin.committed_offsets(others, timeout=_left(end)), admin.share_offsets(share, timeout=_left(end))
    )
    read.committed.update(commits.rows)
    read.share.update(shares.rows)
    read.blame(commits.faults)
    read.blame(shares.faults)
    # The broker tells the lag of a share partition itself: only commits need the log's end.
    wanted = {(row.topic, row.partition) for rows in commits.rows.values() for row in rows if row.offset is not None}
    if wanted:
        answer = await admin.partition_bounds(wanted, timeout=_left(end))
        read.bounds = answer.rows
        read.blame(answer.faults)


def _commits(listing: Listing) -> bool:
    """Whether groups listed so commit offsets: members of Connect and of registries do not."""
    return listing.protocol not in ("connect", "sr")


def _enriched(snapshot: Snapshot, read: _Read, ids: Sequence[str], now: float) -> Snapshot:
    summaries = dict(snapshot.summaries)
    for group in ids:
        summaries[group] = _summary(group, read, now)
    return replace(snapshot, taken_at=now, summaries=summaries, group_faults=dict(read.faults))


def _summary(group: str, read: _Read, now: float) -> Summary:
    description = read.descriptions.get(group)
    members = description.members if description is not None else None
    committed, share = read.committed.get(group, ()), read.share.get(group, ())
    lag, uncounted = _lag_of_commits(committed, read.bounds) if committed else _lag_of_shares(share)
    topics = {row.topic for row in committed} | {row.topic for row in share}
    if description is not None:
        topics |= facts.topics_of(description)
    return Summary(
        None if members is None else len(members),
        lag,
        uncounted,
        len(committed) + len(share),
        tuple(sorted(topics)),
        tuple(sorted({member.client_id for member in members or ()})),
        tuple(sorted({member.host for member in members or ()})),
        tuple(member.member_id for member in members or ()),
        now,
        description.state if description is not None else None,
        description.type if description is not None else None,
        read.faults.get(group),
    )


def _lag_of_commits(
    rows: Sequence[CommittedOffset], bounds: Mapping[TopicPartition, PartitionBounds]
) -> tuple[int | None, int]:
    """The same sum as `kgtui.model.offsets.total`, without a value per partition."""
    lag = uncounted = 0
    some = False
    for row in rows:
        if row.offset is None:
            uncounted += row.error != 0
            continue
        found = bounds.get((row.topic, row.partition))
        if found is None or found.log_end is None:
            uncounted += 1
            continue
        some = True
        if found.log_end > row.offset:
            lag += found.log_end - row.offset
    return (lag if some else None), uncounted


def _lag_of_shares(rows: Sequence[ShareOffset]) -> tuple[int | None, int]:
    lag = uncounted = 0
    some = False
    for row in rows:
        if row.lag is not None:
            lag, some = lag + row.lag, True
        elif row.start_offset is not None or row.error:
            uncounted += 1
    return (lag if some else None), uncounted
