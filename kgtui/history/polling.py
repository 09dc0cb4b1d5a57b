"""One look at every group: offsets of all, descriptions of those that may have changed, logs once for all.

Each coordinator is asked for itself, a batch at a time, so that one that hangs costs only its own groups. The monitor
keeps the lists; its sweep is made for screens and drops what it has summed up, so the recorder reads for itself.

A screen may be drawn on the loop: what goes over all groups does so in a thread, and logs are asked for some at a time.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING

from kgtui.admin.deadline import Deadline
from kgtui.admin.reading import read_offsets
from kgtui.errors import KgtuiError
from kgtui.history.changes import Seen
from kgtui.model.answer import fault_of
from kgtui.model.group_types import EMPTY, STABLE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kgtui.admin.base import GroupAdmin
    from kgtui.model.answer import Fault
    from kgtui.model.group import GroupDescription, Listing
    from kgtui.model.offsets import CommittedOffset, PartitionBounds, ShareOffset, TopicPartition
    from kgtui.model.snapshot import Snapshot

BATCH = 400
"""Groups that are read from one coordinator at once."""

LOGS = 4_000
"""Partitions whose logs are asked for at once."""

_SETTLED = frozenset({STABLE, EMPTY, None})  # None: brokers before 2.6 do not list states
_SILENT = frozenset({"NOT_CONNECTED", "NO_ANSWER", "DISCONNECTED", "UNREACHABLE"})


class _Found:
    """What is being learned."""

    def __init__(self) -> None:
        self.descriptions: dict[str, GroupDescription] = {}
        self.committed: dict[str, tuple[CommittedOffset, ...]] = {}
        self.share: dict[str, tuple[ShareOffset, ...]] = {}
        self.bounds: dict[TopicPartition, PartitionBounds] = {}
        self.faults: list[tuple[str, Fault]] = []

    def blame(self, scope: str, faults: Iterable[Fault]) -> None:
        """Keep faults."""
        self.faults += [(scope, fault) for fault in faults]


class Poller:
    """Reads what a poll records.

    Args:
        describe_every: seconds within which every group is described again, also where its listing stays the same:
            a list does not tell who is in a group.
    """

    def __init__(self, admin: GroupAdmin, *, describe_every: float) -> None:
        self._admin = admin
        self._describe_every = describe_every
        self._described: dict[str, tuple[Listing, float]] = {}

    async def look(self, snapshot: Snapshot, owned: Iterable[TopicPartition], *, now: float, timeout: float) -> Seen:
        """Read every group of a snapshot.

        Args:
            owned: partitions that members are known to own, whose logs are read too.
            now: seconds of any clock.
            timeout: seconds for the whole.
        """
        deadline, found = Deadline(timeout), _Found()
        found.blame("cluster", snapshot.faults)
        found.blame("broker", (status.fault for status in snapshot.brokers.values() if status.fault is not None))
        due, brokers = await asyncio.to_thread(self._plan, snapshot.groups, now)
        async with asyncio.TaskGroup() as tasks:
            for groups in brokers.values():
                tasks.create_task(self._read_broker(snapshot.groups, groups, due, deadline, found))
        await self._read_logs(found, owned, deadline)
        await asyncio.to_thread(self._remember, snapshot.groups, found.descriptions, now)
        return Seen(
            snapshot.groups, found.descriptions, found.committed, found.share, found.bounds, tuple(found.faults)
        )

    def _plan(self, listings: Mapping[str, Listing], now: float) -> tuple[set[str], dict[int, list[str]]]:
        """Groups to describe, and all groups by coordinator."""
        brokers: dict[int, list[str]] = defaultdict(list)
        for group, listing in listings.items():
            brokers[listing.coordinator].append(group)
        return self._due(listings, now), brokers

    def _remember(self, listings: Mapping[str, Listing], described: Iterable[str], now: float) -> None:
        for group in described:
            self._described[group] = (listings[group], now)

    def _due(self, listings: Mapping[str, Listing], now: float) -> set[str]:
        """Groups whose description may be another than the last, and the ones that were described longest ago."""
        for group in [group for group in self._described if group not in listings]:
            del self._described[group]
        due: set[str] = set()
        for group, listing in listings.items():
            last = self._described.get(group)
            if last is None or last[0] != listing or listing.state not in _SETTLED:
                due.add(group)
            elif now - last[1] >= self._describe_every * (0.5 + 0.5 * (hash(group) % 64) / 64):
                due.add(group)  # spread, so that not all are due in the same poll
        return due

    async def _read_broker(
        self,
        listings: Mapping[str, Listing],
        groups: Sequence[str],
        due: set[str],
        deadline: Deadline,
        found: _Found,
    ) -> None:
        for start in range(0, len(groups), BATCH):
            some = groups[start : start + BATCH]
            timeout = deadline.left() / 2 if start + BATCH < len(groups) else deadline.left() * 0.8
            if not await self._read_batch({group: listings[group] for group in some}, due, timeout, found):
                return  # the faults name this batch; the others keep what was last known, as their broker's fault says

    async def _read_batch(self, listings: Mapping[str, Listing], due: set[str], timeout: float, found: _Found) -> bool:
        """False when the coordinator does not answer at all."""
        wanted = [group for group in listings if group in due]
        try:
            read, described = await asyncio.gather(
                read_offsets(self._admin, listings, timeout=timeout),
                self._admin.describe_groups(wanted, timeout=timeout) if wanted else asyncio.sleep(0),
            )
        except KgtuiError as error:
            found.blame("offsets", [fault_of(error, broker=next(iter(listings.values())).coordinator)])
            return False
        found.committed.update(read.committed)
        found.share.update(read.share)
        found.blame("offsets", read.faults)
        if described is not None:
            found.descriptions.update(described.rows)
            found.blame("describe", described.faults)
        answered = bool(read.committed or read.share or (described is not None and described.rows))
        return answered or not any(fault.name in _SILENT for fault in read.faults)

    async def _read_logs(self, found: _Found, owned: Iterable[TopicPartition], deadline: Deadline) -> None:
        # Side by side: a leader that does not answer takes all the time there is of each call.
        async with asyncio.TaskGroup() as tasks:
            for some in await asyncio.to_thread(_places, found, owned):
                tasks.create_task(self._read_some_logs(found, some, deadline))

    async def _read_some_logs(self, found: _Found, some: Sequence[TopicPartition], deadline: Deadline) -> None:
        try:
            answer = await self._admin.partition_bounds(some, timeout=max(deadline.left(), 1.0))
        except KgtuiError as error:
            found.blame("logs", [fault_of(error)])
            return
        found.bounds.update(answer.rows)
        found.blame("logs", answer.faults)


def _places(found: _Found, owned: Iterable[TopicPartition]) -> list[list[TopicPartition]]:
    """Every partition whose log is wanted, by topic and some at a time."""
    topics: dict[str, dict[TopicPartition, None]] = {}
    for tp in owned:
        topics.setdefault(tp[0], {})[tp] = None
    for rows in (found.committed, found.share):
        for positions in rows.values():
            for row in positions:
                topics.setdefault(row.topic, {})[row.topic, row.partition] = None
    parts: list[list[TopicPartition]] = [[]]
    for places in topics.values():
        for tp in places:
            if len(parts[-1]) >= LOGS:
                parts.append([])
            parts[-1].append(tp)
    return parts if parts[0] else []
