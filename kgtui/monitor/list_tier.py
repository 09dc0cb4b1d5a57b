"""Tier 0: polls the group list of every broker, each on its own schedule, so that a slow broker delays no other."""

from __future__ import annotations

import asyncio
import random
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kgtui.errors import KgtuiError, UnreachableError
from kgtui.model.answer import Fault, fault_of
from kgtui.monitor.policy import REMOVAL_GRACE, SHOWN_AFTER_LEAVING, metadata_pause

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from kgtui.admin.base import GroupAdmin, ListingDelta
    from kgtui.monitor.gc_tuning import GcTuning
    from kgtui.monitor.policy import MonitorOptions
    from kgtui.monitor.poll_timer import PollTimer
    from kgtui.monitor.store import Store


@dataclass(slots=True, eq=False)
class PendingRemoval:
    """Groups that are missing in the newest list of a broker. They were deleted, or have moved to another broker.

    Attributes:
        node: id of the broker that listed the groups before.
        groups: ids of the missing groups that no broker has listed since `since`.
        unlisted: ids of the brokers that may coordinate the groups now, and have not sent a list since `since`.
        broker_left: whether the groups are missing because their broker has left the cluster.
        since: time at which the groups were first missing, in seconds since the epoch.
    """

    node: int
    groups: set[str]
    unlisted: set[int]
    broker_left: bool
    since: float


class PendingRemovals:
    """Removes a missing group from the store only after every broker that may coordinate it now has sent its list.

    When a coordinator moves, the old broker drops its groups before the new broker has loaded them. The groups stay in
    the store meanwhile, so that they do not disappear and come back whenever a broker restarts.
    """

    def __init__(self, store: Store, now: Callable[[], float]) -> None:
        self._store = store
        self._now = now
        self._silent: set[int] = set()
        self._pending: list[PendingRemoval] = []

    def add(self, node: int, groups: Collection[str], others: Iterable[int], *, broker_left: bool = False) -> None:
        """Add groups that a broker no longer lists, or all groups of a broker that has left the cluster.

        Args:
            others: ids of all brokers that may coordinate the groups now.
        """
        if groups or broker_left:
            self._pending.append(PendingRemoval(node, set(groups), set(others) - {node}, broker_left, self._now()))
            self._settle()

    def broker_joined(self, node: int) -> None:
        """Update the pending removals after a broker has joined the cluster or has come back.

        All removals then also wait for its list, because it may coordinate the missing groups. If groups were to be
        removed because this broker had left the cluster, they are kept.
        """
        self._pending = [one for one in self._pending if not (one.broker_left and one.node == node)]
        for one in self._pending:
            one.unlisted.add(node)

    def pending(self) -> tuple[PendingRemoval, ...]:
        """Return the pending removals. Call this before a list is requested, and pass the result to `broker_listed`."""
        return tuple(self._pending)

    def broker_listed(self, node: int, groups: Collection[str], asked_about: Iterable[PendingRemoval]) -> None:
        """Update the pending removals after a broker has sent its list.

        Args:
            groups: ids of the groups that are new or changed in the list.
            asked_about: result of `pending` just before the list was requested. The list says nothing about groups
                that went missing after the request.
        """
        self._silent.discard(node)
        for one in self._pending:
            one.groups.difference_update(groups)
        for one in asked_about:
            one.unlisted.discard(node)
        self._settle()

    def broker_silent(self, node: int) -> None:
        """Note that a broker did not answer. The removals wait for its list only until `REMOVAL_GRACE` is over.

        Groups of a broker that has left the cluster are an exception: they are kept until all brokers have sent lists.
        """
        self._silent.add(node)
        self._settle()

    def broker_left(self, node: int) -> None:
        """Stop waiting for the list of a broker that has left the cluster, because it coordinates no groups."""
        self._silent.discard(node)
        for one in self._pending:
            one.unlisted.discard(node)
        self._settle()

    def _settle(self) -> None:
        settled = [one for one in self._pending if self._decided(one)]
        self._pending = [one for one in self._pending if one not in settled]
        for one in settled:
            self._store.drop(one.node, one.groups)

    def _decided(self, one: PendingRemoval) -> bool:
        """Return whether to remove the groups now, because the removal need not wait for any more lists."""
        if one.broker_left or not one.unlisted <= self._silent:
            return not one.unlisted
        return not one.unlisted or self._now() - one.since >= REMOVAL_GRACE


class ListTier:
    """Reads the brokers of the cluster from its metadata at an interval, and polls the group list of each broker.

    Args:
        timer: the timer that all polling loops share.
        gc: keeps the garbage collector off while a list is stored.
        changed: called after every change to the store.
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
        self._removals = PendingRemovals(store, timer.now)
        self._wake = asyncio.Event()
        # A list of groups is stored in slices, and key presses are handled between the slices. If several lists were
        # stored at the same time, a key press would wait for a slice of each. This lock prevents that.
        self._storing = asyncio.Lock()

    async def run(self) -> None:
        """Read the metadata and poll all brokers until cancelled."""
        failures = 0
        options = self._options
        try:
            while True:
                self._wake.clear()
                failures = 0 if await self._follow_cluster() else failures + 1
                await self._timer.pause_for(metadata_pause(options, failures, len(self._left_at)), wake=self._wake)
                for task in self._polls.values():
                    # A poll loop never returns, so only a bug can have ended it; `result` raises its exception.
                    if task.done():
                        task.result()
        finally:
            for task in self._polls.values():
                task.cancel()
            await asyncio.gather(*self._polls.values(), return_exceptions=True)

    async def _follow_cluster(self) -> bool:
        """Read the metadata, start polling new brokers, and stop polling brokers that have left the cluster.

        Returns False if the metadata could not be read.
        """
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
            self._removals.add(node, self._store.coordinated_by(node), cluster.brokers, broker_left=True)
            gone = Fault("UNREGISTERED", "no longer registered in the cluster", broker=node)
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
        """Remove brokers that left the cluster some time ago, and whose groups are all listed by other brokers now."""
        for node, left_at in list(self._left_at.items()):
            if self._timer.now() - left_at >= SHOWN_AFTER_LEAVING and not self._store.coordinated_by(node):
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
                    # Read the cluster metadata at once, because the broker may have left the cluster.
                    self._wake.set()
            else:
                failures = 0
                async with self._storing:
                    with self._gc.paused():
                        await self._take(node, delta)
                self._store.set_broker(
                    node,
                    asked_at=None,
                    answered_at=self._timer.now(),
                    took_ms=delta.took_ms,
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
        self._listed.add(node)
        # Groups that the broker no longer lists. The first list of a broker has no predecessor, so it is compared with
        # the groups in the store, which may be from the time before the broker left the cluster and came back.
        missing = self._store.coordinated_by(node) - delta.updated.keys() if first else delta.removed
        self._removals.add(node, missing, self._polls)
        if missing:
            # Read the cluster metadata at once, because a new broker may coordinate the missing groups now.
            self._wake.set()

    def _pause(self, node: int, took: float, failures: int) -> float:
        """Return the pause before the next poll of a broker, in seconds.

        The pause is longer if the last response was slow, and becomes longer with each consecutive failure.

        Args:
            took: duration of the last poll in seconds.
            failures: number of consecutive polls that failed.
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
        """Whether any list request is running."""
        return any(status.asked_at is not None for status in self._store.brokers.values())

    @property
    def complete(self) -> bool:
        """Whether every broker of the cluster has sent at least one list."""
        return bool(self._polls) and self._listed >= self._polls.keys()


def _unreachable(error: KgtuiError) -> Fault:
    if not isinstance(error, UnreachableError):
        return fault_of(error)
    return replace(fault_of(error), message="\n".join((str(error), *error.other_reasons())))
