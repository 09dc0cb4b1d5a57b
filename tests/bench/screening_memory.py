"""Measure the memory that screening needs. Screening is the monitor's search for problems in all groups."""

from __future__ import annotations

import asyncio
import tracemalloc

from kgtui.admin.base import ListingDelta
from kgtui.model.group import Listing
from kgtui.model.offsets import Position
from kgtui.model.summary import Summary
from kgtui.monitor.screening import Screening
from kgtui.monitor.store import Store
from tests.bench.figures import Figure

PARTITIONS = 10
READS, INTERVAL = 12, 120
"""Number of reads per group, and seconds between two reads. Twelve reads suffice to find all stopped groups."""


def figure(groups: int) -> Figure:
    """Measure how much memory the monitor needs for screening (the search for problems), in bytes per group.

    Each group has 10 partitions.
    """
    added = (_memory(groups, screened=True) - _memory(groups, screened=False)) / groups
    return Figure(f"memory that screening adds per group of {PARTITIONS} partitions", added, "B", target=300)


def _memory(groups: int, *, screened: bool) -> int:
    """Return the memory that the monitor needs to store a `Summary` of each of `groups` groups, in bytes.

    If `screened` is true, the result includes the data of screening (the search for problems).
    """
    store = asyncio.run(_store(groups))
    tracemalloc.start()
    screening = Screening(store)
    for number, group in enumerate(store.groups):
        for read in range(READS):
            at = 1_700_000_000.0 + read * INTERVAL
            if not screened:
                _put(store, group, at, b"")
                continue
            rows = [_position(partition, read, stopped=number % 10 == 0) for partition in range(PARTITIONS)]
            trail = screening.add(group, at, rows, None)
            _put(store, group, at, trail.encode())
            screening.judge(group, trail)
    used = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    if screened and len(store.screened) != len(range(0, groups, 10)):
        raise RuntimeError(f"{len(store.screened)} stopped groups were found instead of {len(range(0, groups, 10))}")
    return used


async def _store(groups: int) -> Store:
    """Return a store (the monitor's data about groups) that contains `groups` groups of one broker."""
    listing = Listing("consumer", "consumer", "Stable", 1)
    ids = [f"team-{number:06}" for number in range(groups)]
    store = Store(10)
    await store.take_list(1, ListingDelta(dict.fromkeys(ids, listing), [], groups, 1.0), first=True)
    return store


def _put(store: Store, group: str, at: float, trail: bytes) -> None:
    store.store_summary(group, Summary(1, 10, 0, PARTITIONS, ("topic",), "", at, at, screened=bool(trail), trail=trail))


def _position(partition: int, read: int, *, stopped: bool) -> Position:
    end = 1_000 * (read + 1)
    position = 1_000 if stopped else end
    return Position(("topic", partition), position, end, end - position)
