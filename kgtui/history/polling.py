"""Read all groups of a cluster for one poll of the recorder.

A poll reads the offsets of all groups, the descriptions of groups that may have changed, and the log bounds of all
partitions, each only once. It reads each coordinator separately and in batches, so that a coordinator that hangs
affects only its own groups. The list of groups comes from the monitor. The monitor also reads offsets, but keeps only a
summary of most groups, so the recorder reads all offsets itself.

A screen may be drawn on the same event loop, so loops over all groups run in threads.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import TYPE_CHECKING

from kgtui.admin.deadline import Deadline
from kgtui.admin.reading import read_by_coordinator
from kgtui.history.changes import PollResult
from kgtui.monitor.policy import RECORD_GROUP_BATCH, RECORD_LOG_BATCH, groups_to_describe

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kgtui.admin.base import GroupAdmin
    from kgtui.model.group import Listing
    from kgtui.model.offsets import TopicPartition
    from kgtui.model.snapshot import Snapshot


class Poller:
    """Reads from the cluster what a poll records.

    Args:
        describe_every: maximum time between two descriptions of the same group, in seconds. Groups are described again
            even if their listing stays the same, because a listing does not show the members.
    """

    def __init__(self, admin: GroupAdmin, *, describe_every: float) -> None:
        self._admin = admin
        self._describe_every = describe_every
        self._described: dict[str, tuple[Listing, float]] = {}

    async def read(
        self, snapshot: Snapshot, owned: Iterable[TopicPartition], *, now: float, timeout: float
    ) -> PollResult:
        """Read every group of a snapshot.

        Args:
            owned: partitions that are owned by a member. Their log bounds are read even if they have no offset.
            now: current time in seconds, of any clock that the caller uses for all calls.
            timeout: maximum time for all reads together, in seconds.
        """
        deadline = Deadline(timeout)
        due, brokers = await asyncio.to_thread(self._plan, snapshot.groups, now)
        read = await read_by_coordinator(
            self._admin,
            deadline,
            brokers,
            snapshot.groups,
            describe=due,
            owned=owned,
            group_batch=RECORD_GROUP_BATCH,
            log_batch=RECORD_LOG_BATCH,
        )
        await asyncio.to_thread(self._remember, snapshot.groups, read.descriptions, now)
        faults = [("cluster", fault) for fault in snapshot.faults]
        faults += [("broker", status.fault) for status in snapshot.brokers.values() if status.fault is not None]
        faults += read.faults
        return PollResult(snapshot.groups, read.descriptions, read.committed, read.share, read.bounds, tuple(faults))

    def _plan(self, listings: Mapping[str, Listing], now: float) -> tuple[set[str], dict[int, list[str]]]:
        """Return the groups that this poll describes, and coordinator → groups for all groups."""
        brokers: dict[int, list[str]] = defaultdict(list)
        for group, listing in listings.items():
            brokers[listing.coordinator].append(group)
        return self._due(listings, now), brokers

    def _remember(self, listings: Mapping[str, Listing], described: Iterable[str], now: float) -> None:
        for group in described:
            self._described[group] = (listings[group], now)

    def _due(self, listings: Mapping[str, Listing], now: float) -> set[str]:
        """Return the groups that this poll describes (see `groups_to_describe`), and forget groups that disappeared."""
        for group in [group for group in self._described if group not in listings]:
            del self._described[group]
        return groups_to_describe(listings, self._described, now, self._describe_every)
