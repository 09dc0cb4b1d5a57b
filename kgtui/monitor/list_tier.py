"""Tier 0: the polling loops that request each broker's list of groups.

Each broker has its own loop, so that a slow broker does not delay the others.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kgtui.errors import KgtuiError, UnreachableError
from kgtui.model.answer import Fault, fault_of
from kgtui.monitor.missing_groups import MissingGroups
from kgtui.monitor.policy import REMOVAL_GRACE, SHOWN_AFTER_LEAVING, answered_since, metadata_pause

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from kgtui.admin.base import GroupAdmin, ListingDelta
    from kgtui.monitor.gc_tuning import GcTuning
    from kgtui.monitor.policy import MonitorOptions
    from kgtui.monitor.poll_timer import PollTimer
    from kgtui.monitor.store import Store


@dataclass(slots=True, eq=False)
class PendingRemoval:
    """Groups that are missing in the newest list of a broker, because they were deleted or moved to another broker.

    Attributes:
        node: broker that listed the groups before.
        groups: missing groups that no broker has listed since then.
        unlisted: brokers that may coordinate the groups now, but have not sent a new list of groups yet.
        broker_left: whether the broker `node` has left the cluster.
        since: when the groups were first missing, in seconds since the epoch.
    """

    node: int
    groups: set[str]
    unlisted: set[int]
    broker_left: bool
    since: float


class PendingRemovals:
    """Removes groups that a broker no longer lists, but first waits for new lists from the other brokers.

    When groups move, the old coordinator drops them before the new coordinator has loaded them. If kgtui removed such
    groups immediately, they would disappear from the screen while a broker restarts. Therefore, a group is removed only
    after each broker that might coordinate it now has sent a list without it. If such a broker does not respond, kgtui
    waits for its list for at most `REMOVAL_GRACE` seconds. This limit does not apply to groups of a broker that has
    left the cluster.

    Args:
        remove: called with the node id of a broker, and the groups of this broker that can be removed.
        now: returns the current time, in seconds since the epoch.
    """

    def __init__(self, remove: Callable[[int, Collection[str]], None], now: Callable[[], float]) -> None:
        self._remove = remove
        self._now = now
        self._silent: set[int] = set()
        self._pending: list[PendingRemoval] = []

    def add(self, node: int, groups: Collection[str], others: Iterable[int], *, broker_left: bool = False) -> None:
        """Add a pending removal: groups that a broker no longer lists, or all groups of a broker that left the cluster.

        Args:
            node: the broker that listed the groups before.
            others: brokers that may have taken over the groups.
        """
        if groups or broker_left:
            self._pending.append(PendingRemoval(node, set(groups), set(others) - {node}, broker_left, self._now()))
            self._settle()

    def broker_joined(self, node: int) -> None:
        """Note that a broker has joined the cluster or has come back.

        The broker may have taken over groups that other brokers no longer list. Therefore, all pending removals of
        groups wait for its list. If the broker has come back, the groups that it listed before it left are kept: its
        next list will show which of them still exist.
        """
        self._pending = [one for one in self._pending if not (one.broker_left and one.node == node)]
        for one in self._pending:
            one.unlisted.add(node)

    def pending(self) -> tuple[PendingRemoval, ...]:
        """Return the pending removals of groups that brokers no longer list.

        Call this before requesting a broker's list, and pass the result to `broker_listed`.
        """
        return tuple(self._pending)

    def broker_listed(self, node: int, groups: Collection[str], asked_about: Iterable[PendingRemoval]) -> None:
        """Update the pending removals of groups after a broker has sent its list of groups.

        Args:
            groups: new or changed groups in the list. They exist, so they are not removed.
            asked_about: result of `pending` before the list was requested. Removals that were added later wait for
                another list of this broker, because this list may have been made before they were added.
        """
        self._silent.discard(node)
        for one in self._pending:
            one.groups.difference_update(groups)
        for one in asked_about:
            one.unlisted.discard(node)
        self._settle()

    def broker_silent(self, node: int) -> None:
        """Note that a broker did not respond.

        Pending removals of groups wait for the broker's list for at most `REMOVAL_GRACE` seconds. There is no limit for
        groups of a broker that has left the cluster: their removal waits until all other brokers have sent a list.
        """
        self._silent.add(node)
        self._settle()

    def broker_left(self, node: int) -> None:
        """Stop waiting for the list of a broker that has left the cluster."""
        self._silent.discard(node)
        for one in self._pending:
            one.unlisted.discard(node)
        self._settle()

    def _settle(self) -> None:
        settled = [one for one in self._pending if self._can_be_removed(one)]
        self._pending = [one for one in self._pending if one not in settled]
        for one in settled:
            self._remove(one.node, one.groups)

    def _can_be_removed(self, one: PendingRemoval) -> bool:
        """Return whether the groups of the pending removal `one` can be removed now."""
        if one.broker_left or not one.unlisted <= self._silent:
            return not one.unlisted
        return not one.unlisted or self._now() - one.since >= REMOVAL_GRACE


class ListTier:
    """Finds the brokers of the cluster, and polls each broker for its list of groups.

    Args:
        timer: the timer that all polling loops share.
        gc: disables automatic garbage collections while a list is stored.
        changed: called after each change to the store.
    """

    def __init__(
        self,
        admin: GroupAdmin,
        store: Store,
        options: MonitorOptions,
        timer: PollTimer,
        gc: GcTuning,
        changed: Callable[[], None],
    ) -> None:
        self._admin = admin
        self._store = store
        self._options = options
        self._timer = timer
        self._gc = gc
        self._changed = changed
        self._polls: dict[int, asyncio.Task[None]] = {}
        self._listed: set[int] = set()
        self._left_at: dict[int, float] = {}
        self._missing = MissingGroups(admin, store, options.timeout)
        # In the replay of a recording, groups that no broker lists are removed without asking whether they still exist,
        # because there is no coordinator to ask.
        self._removals = PendingRemovals(store.drop if timer.recorded_at else self._check_missing, timer.now)
        self._missing_found = asyncio.Event()
        self._wake = asyncio.Event()
        # Only one broker's list is stored at a time, in short steps, so that a key press waits for at most one step.
        self._storing = asyncio.Lock()

    async def run(self) -> None:
        """Read the metadata and poll all brokers until this task is canceled."""
        failures = 0
        options = self._options
        check = asyncio.create_task(self._check_missing_forever(), name="check missing groups")
        check.add_done_callback(lambda _: self._wake.set())
        try:
            while True:
                self._wake.clear()
                failures = 0 if await self._follow_cluster() else failures + 1
                await self._timer.pause_for(metadata_pause(options, failures, len(self._left_at)), wake=self._wake)
                for task in (check, *self._polls.values()):
                    # A polling loop ends only because of a bug. `task.result` raises the exception that ended it.
                    if task.done():
                        task.result()
        finally:
            tasks = (check, *self._polls.values())
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def _check_missing(self, node: int, groups: Collection[str]) -> None:
        """Schedule a check of groups that no broker lists. The check removes the groups that no longer exist."""
        self._missing.add(node, groups)
        self._missing_found.set()

    async def _check_missing_forever(self) -> None:
        while True:
            await self._missing_found.wait()
            self._missing_found.clear()
            while self._missing:
                if await self._missing.check():
                    self._changed()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._missing.due_in):
                        await self._missing_found.wait()
                self._missing_found.clear()

    async def _follow_cluster(self) -> bool:
        """Read the cluster's metadata, and start or stop polling brokers. Return whether the read succeeded."""
        try:
            cluster = await self._admin.cluster(timeout=self._options.timeout)
        except KgtuiError as error:
            self._store.set_faults((_unreachable(error),))
            self._changed()
            return False
        self._store.set_faults(())
        self._store.set_cluster(cluster)
        for node in self._polls.keys() - cluster.brokers.keys():
            self._polls.pop(node).cancel()
            self._listed.discard(node)
            self._removals.broker_left(node)
            self._removals.add(node, self._store.listing_index.coordinated_by(node), cluster.brokers, broker_left=True)
            gone = Fault("UNREGISTERED", "the broker is no longer registered in the cluster", broker=node)
            self._store.set_broker(node, asked_at=None, fault=gone)
            self._left_at[node] = self._timer.now()
        self._drop_brokers()
        for node in cluster.brokers.keys() - self._polls.keys():
            self._left_at.pop(node, None)
            self._removals.broker_joined(node)
            poll = asyncio.create_task(self._poll_forever(node), name=f"list groups of broker {node}")
            poll.add_done_callback(lambda _: self._wake.set())
            self._polls[node] = poll
        self._changed()
        return True

    def _drop_brokers(self) -> None:
        """Remove brokers that left the cluster at least `SHOWN_AFTER_LEAVING` seconds ago and have no stored groups."""
        index = self._store.listing_index
        for node, left_at in list(self._left_at.items()):
            if self._timer.now() - left_at >= SHOWN_AFTER_LEAVING and not index.coordinated_by(node):
                del self._left_at[node]
                self._store.drop_broker(node)

    async def _poll_forever(self, node: int) -> None:
        feed = self._admin.listing_feed(node)
        failures = 0
        while True:
            started = self._timer.now()
            asked_about = self._removals.pending()
            self._store.set_broker(node, asked_at=started)
            try:
                delta = await feed.poll(timeout=self._options.timeout)
            except KgtuiError as error:
                failures += 1
                fault = fault_of(error, broker=node)
                self._store.set_broker(node, asked_at=None, fault=fault, failures=failures)
                self._removals.broker_silent(node)
                if failures == 1:
                    # A broker that does not respond may have left the cluster, so the metadata is read immediately.
                    self._wake.set()
            else:
                failures = 0
                async with self._storing:
                    with self._gc.paused():
                        await self._take(node, delta)
                now = self._timer.now()
                self._store.set_broker(
                    node,
                    asked_at=None,
                    answered_at=now,
                    answered_since=answered_since(self._store.brokers.get(node), now),
                    took_ms=delta.took_ms,
                    throttle_ms=delta.throttle_ms,
                    fault=None,
                    groups=delta.total,
                    failures=0,
                )
                self._removals.broker_listed(node, delta.updated.keys(), asked_about)
            self._changed()
            await self._timer.pause_for(self._pause(node, self._timer.now() - started, failures))

    async def _take(self, node: int, delta: ListingDelta) -> None:
        first = node not in self._listed
        await self._store.take_list(node, delta, first=first)
        self._missing.listed(delta.updated)
        self._listed.add(node)
        # The first list of a broker cannot be compared with a previous list, so it is compared with the stored groups.
        # The store contains groups of the broker if it was already in the cluster earlier, and then left the cluster.
        missing = self._store.listing_index.coordinated_by(node) - delta.updated.keys() if first else delta.removed
        self._removals.add(node, missing, self._polls)
        if missing:
            # The missing groups could be coordinated by a broker that kgtui does not know yet. To find such a broker,
            # the metadata is read immediately.
            self._wake.set()

    def _pause(self, node: int, took: float, failures: int) -> float:
        """Return the pause before the next poll of a broker, in seconds.

        The pause is longer after a slow response, and after failures.

        Args:
            took: duration of the last poll, in seconds.
            failures: number of failures of this broker in a row.
        """
        options = self._options
        if failures:
            pause = min(self._timer.interval * 2.0 ** min(failures - 1, 8), options.failure_pause_max)
            return pause * random.uniform(0.8, 1.2)  # noqa: S311 - jitter
        pause = max(self._timer.interval - took, took * (1 / options.list_load - 1), 0.0)
        self._store.set_broker(node, interval=round(pause + took, 1))
        return pause

    @property
    def polling(self) -> bool:
        """Whether kgtui is waiting for the list of at least one broker."""
        return any(status.asked_at is not None for status in self._store.brokers.values())

    @property
    def complete(self) -> bool:
        """Whether each broker of the cluster has sent at least one list of groups."""
        return bool(self._polls) and self._listed >= self._polls.keys()


def _unreachable(error: KgtuiError) -> Fault:
    if not isinstance(error, UnreachableError):
        return fault_of(error)
    return replace(fault_of(error), message="\n".join((str(error), *error.other_reasons())))
