"""Tier 0: every broker's list, each on its own clock, so that a broker that hangs ages only its own groups."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace
from typing import TYPE_CHECKING

from kgtui.errors import KgtuiError, UnreachableError
from kgtui.model.answer import Fault, fault_of
from kgtui.monitor.departures import Departures

if TYPE_CHECKING:
    from collections.abc import Callable

    from kgtui.admin.base import GroupAdmin, ListingDelta
    from kgtui.monitor.clockwork import Clockwork
    from kgtui.monitor.collector import Collector
    from kgtui.monitor.options import MonitorOptions
    from kgtui.monitor.store import Store


class ListingTier:
    """Follows the cluster's brokers and polls each one's list.

    Args:
        changed: called after every change to the store.
        clockwork: pauses, refreshes and the interval, shared by the tiers.
    """

    def __init__(
        self,
        admin: GroupAdmin,
        store: Store,
        options: MonitorOptions,
        clockwork: Clockwork,
        collector: Collector,
        changed: Callable[[], None],
    ) -> None:
        self._admin = admin
        self._store = store
        self._options = options
        self._clock = clockwork
        self._collector = collector
        self._changed = changed
        self._polls: dict[int, asyncio.Task[None]] = {}
        self._listed: set[int] = set()
        self._departures = Departures(store, clockwork.now)
        self._look = asyncio.Event()
        self._taking = asyncio.Lock()  # of several lists at once, a key would wait for a slice each

    async def run(self) -> None:
        """Until cancelled."""
        failures = 0
        try:
            while True:
                self._look.clear()
                failures = 0 if await self._follow_cluster() else failures + 1
                every = self._options.cluster_every if not failures else min(2.0**failures, self._options.backoff_most)
                await self._clock.pause_for(every, wake=self._look)
        finally:
            for task in self._polls.values():
                task.cancel()
            await asyncio.gather(*self._polls.values(), return_exceptions=True)

    async def _follow_cluster(self) -> bool:
        """Look at the metadata: start polling brokers that are new, stop with those that left."""
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
            self._departures.gone(node)
            self._departures.missed(node, self._store.coordinated_by(node), cluster.brokers, left=True)
        for node in cluster.brokers.keys() - self._polls.keys():
            self._departures.joined(node)
            self._polls[node] = asyncio.create_task(self._poll_forever(node), name=f"list groups of broker {node}")
        self._changed()
        return True

    async def _poll_forever(self, node: int) -> None:
        feed = self._admin.listing_feed(node)
        failures = 0
        while True:
            started = self._clock.now()
            about = self._departures.open()
            self._store.set_broker(node, asked_at=started)
            try:
                delta = await feed.poll(timeout=self._options.timeout)
            except KgtuiError as error:
                failures += 1
                fault = fault_of(error, broker=node)
                self._store.set_broker(node, asked_at=None, fault=fault, failures=failures)
                self._departures.silent(node)
                if failures == 1:
                    self._look.set()  # perhaps it left the cluster, and its groups have moved
            else:
                failures = 0
                async with self._taking:
                    with self._collector.held():
                        await self._take(node, delta)
                self._store.set_broker(
                    node,
                    asked_at=None,
                    answered_at=self._clock.now(),
                    took_ms=delta.took_ms,
                    fault=None,
                    groups=delta.total,
                    failures=0,
                )
                self._departures.listed(node, delta.updated.keys(), about)
            self._changed()
            await self._clock.pause_for(self._pause(node, self._clock.now() - started, failures))

    async def _take(self, node: int, delta: ListingDelta) -> None:
        first = node not in self._listed
        await self._store.take_list(node, delta, first=first)
        self._listed.add(node)
        # A broker that was away has a first list again, which cannot say what left it.
        missing = self._store.coordinated_by(node) - delta.updated.keys() if first else delta.removed
        self._departures.missed(node, missing, self._polls)
        if missing:
            self._look.set()  # perhaps a broker that is not known yet has taken them over

    def _pause(self, node: int, took: float, failures: int) -> float:
        """Seconds to the next poll: stretched by slow answers, backed off after failures."""
        options = self._options
        if failures:
            pause = min(self._clock.interval * 2.0 ** min(failures - 1, 8), options.backoff_most)
            return pause * random.uniform(0.8, 1.2)  # noqa: S311 - jitter
        pause = max(self._clock.interval - took, took * (1 / options.share - 1), 0.0)
        self._store.set_broker(node, interval=round(pause + took, 1))
        return pause

    @property
    def under_way(self) -> bool:
        """Whether a broker is being asked for its list."""
        return any(status.asked_at is not None for status in self._store.brokers.values())

    @property
    def complete(self) -> bool:
        """Whether every broker of the cluster has been listed at least once."""
        return bool(self._polls) and self._listed >= self._polls.keys()


def _unreachable(error: KgtuiError) -> Fault:
    if not isinstance(error, UnreachableError):
        return fault_of(error)
    tried = "\n".join(f"{address}: {reason}" for address, reason in error.attempts)
    return replace(fault_of(error), message=f"{error}\n{tried}" if tried else str(error))
