"""Read the descriptions and offsets of all groups for one poll of the recorder."""

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
    from kgtui.model.access import Access
    from kgtui.model.group import Listing
    from kgtui.model.offsets import TopicPartition
    from kgtui.model.snapshot import Snapshot


class Poller:
    """Reads all groups of a cluster for one poll of the recorder.

    A coordinator that does not respond delays only the groups that it coordinates.

    Args:
        describe_every: maximum time between two reads of a group's description, in seconds. Changes of members do not
            appear in the list of groups, so each group must be described from time to time.
    """

    def __init__(self, admin: GroupAdmin, *, describe_every: float) -> None:
        self._admin = admin
        self._describe_every = describe_every
        self._described: dict[str, tuple[Listing, float]] = {}

    async def read(
        self,
        snapshot: Snapshot,
        owned: Iterable[TopicPartition],
        *,
        access: Access | None,
        now: float,
        timeout: float,
    ) -> PollResult:
        """Read the offsets of all groups in a snapshot (the monitor's list of groups and brokers).

        Descriptions are read only for the groups that `kgtui.monitor.policy.groups_to_describe` selects.

        Args:
            owned: partitions that members own. Their log start and log end offsets are read, even if no group has an
                offset in them.
            access: permissions of kgtui's user; None if unknown.
            now: time in seconds, from the same clock in all calls.
            timeout: maximum total duration of all reads, in seconds.
        """
        deadline = Deadline(timeout)
        # Loop over all groups in a thread, so that a terminal UI on the same event loop is not blocked.
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
        return PollResult(
            snapshot.groups, read.descriptions, read.committed, read.share, read.bounds, tuple(faults),
            None if access is None else read.hidden.keys(),
        )  # fmt: skip

    def _plan(self, listings: Mapping[str, Listing], now: float) -> tuple[set[str], dict[int, list[str]]]:
        """Return the ids of groups to describe now, and a dict: broker id → ids of the groups that it coordinates."""
        brokers: dict[int, list[str]] = defaultdict(list)
        for group, listing in listings.items():
            brokers[listing.coordinator].append(group)
        return self._due(listings, now), brokers

    def _remember(self, listings: Mapping[str, Listing], described: Iterable[str], now: float) -> None:
        for group in described:
            self._described[group] = (listings[group], now)

    def _due(self, listings: Mapping[str, Listing], now: float) -> set[str]:
        """Return the ids of groups to describe now. Also remove groups that no longer exist from `self._described`."""
        for group in [group for group in self._described if group not in listings]:
            del self._described[group]
        return groups_to_describe(listings, self._described, now, self._describe_every)
