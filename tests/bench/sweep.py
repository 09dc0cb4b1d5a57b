"""Measure how fast the monitor reads every group with its lag, and how much CPU time this takes.

The cluster is simulated.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.admin.deadline import Deadline
from kgtui.admin.kafka import connect
from kgtui.admin.reading import Logs, read_groups
from kgtui.model.group_types import EMPTY
from kgtui.monitor import Monitor, MonitorOptions
from tests.bench.figures import Figure
from tests.bench.simulated_cluster import PARTITIONS, SimulatedCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgtui.admin.kafka import KafkaGroupAdmin
    from kgtui.model.snapshot import Snapshot


@dataclass(frozen=True, slots=True)
class Size:
    """Parameters of the benchmark.

    Attributes:
        groups: number of groups in the cluster.
        large_groups: number of groups in a second cluster, in which only the first read of all groups is measured.
        seconds: duration of the measurement after every group has been read once.
        sweep_pause: minimum seconds between two reads of an unchanged group with members.
    """

    groups: int = 10_000
    large_groups: int = 100_000
    seconds: float = 180.0
    sweep_pause: float = 15.0


QUICK = Size(groups=3_000, large_groups=25_000, seconds=20.0)
TINY = Size(groups=60, large_groups=90, seconds=0.5, sweep_pause=0.5)

MEMBERS_AGE, EMPTY_AGE = 20.0, 140.0
"""Maximum age of the newest read of a group with members, and of an Empty group, in seconds.

kgtui reads these groups every 15 s and every 2 min. The rest of the limit is the time that such a round takes.
"""


@dataclass(frozen=True, slots=True)
class _Result:
    """The result of a measurement. CPU usage is a fraction of one core.

    Attributes:
        once: seconds for reading all offsets in one call.
        first: seconds until every group has been read.
        ages: at the end of the measurement, the age of the oldest newest read, in seconds: of groups with members, and
            of Empty groups.
    """

    once: float
    first: float
    first_cpu: float
    later_cpu: float
    ages: tuple[float, float]


def figures(size: Size) -> Iterator[Figure]:
    """Yield the time until every group has been read, and kgtui's CPU usage during this first read and after it.

    The CPU usage is a fraction of one core.
    """
    full = size.groups == Size().groups
    with SimulatedCluster("active", size.groups) as cluster:
        result = asyncio.run(_measure(cluster.bootstrap.split(","), size, size.seconds))
    yield _first_read(result, size.groups, 10.0 if full else None)
    yield Figure("fraction of one core used during this first read of all groups", result.first_cpu, "", target=0.25)
    yield Figure("fraction of one core used after this first read of all groups", result.later_cpu, "", target=0.1)
    for name, age, limit in zip(
        ("groups with members", "Empty groups"), result.ages, (MEMBERS_AGE, EMPTY_AGE), strict=True
    ):
        yield Figure(f"longest time since the newest read of {name}", age, "s", target=limit if full else None)
    with SimulatedCluster("active", size.large_groups) as cluster:
        result = asyncio.run(_measure(cluster.bootstrap.split(","), size, 0.0))
    yield _first_read(result, size.large_groups, 120.0 if full else None)
    yield Figure("fraction of one core used during this first read of all groups", result.first_cpu, "")


def _first_read(result: _Result, groups: int, target: float | None) -> Figure:
    name = f"time until every group is read with lag, {groups:,} groups × {PARTITIONS} partitions"
    return Figure(name, result.first, "s", "one read of all offsets", result.once, target)


async def _measure(seeds: list[str], size: Size, seconds: float) -> _Result:
    async with connect(seeds) as admin:
        once = await _read_at_once(admin)
        monitor = Monitor(admin, MonitorOptions(sweep_pause=size.sweep_pause))
        began, cpu = time.perf_counter(), time.process_time()
        task = asyncio.create_task(monitor.run())
        monitor.set_view(None)
        done = asyncio.Event()
        monitor.subscribe(lambda snapshot: done.set() if 0 < len(snapshot.groups) <= snapshot.swept * 1.01 else None)
        await done.wait()
        first, first_cpu = time.perf_counter() - began, time.process_time() - cpu
        began, cpu = time.perf_counter(), time.process_time()
        await asyncio.sleep(seconds)
        later = (time.process_time() - cpu) / (time.perf_counter() - began)
        ages = _ages(monitor.snapshot)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    return _Result(once, first, first_cpu / first, later, ages)


def _ages(snapshot: Snapshot) -> tuple[float, float]:
    """Return the age of the oldest newest read, in seconds: of groups with members, and of Empty groups.

    Connect and schema registry groups are left out, because they have no offsets.
    """
    ages = {True: 0.0, False: 0.0}
    for group, summary in snapshot.summaries.items():
        listing = snapshot.groups.get(group)
        if listing is not None and listing.has_offsets and summary.lag_at is not None:
            empty = listing.state == EMPTY
            ages[empty] = max(ages[empty], snapshot.taken_at - summary.lag_at)
    return ages[False], ages[True]


async def _read_at_once(admin: KafkaGroupAdmin) -> float:
    """Read the offsets and log end offsets of all groups in one call, as `kgtui ls --lag` does.

    Return the duration in seconds.
    """
    groups = (await admin.list_groups(timeout=60.0)).rows
    began = time.perf_counter()
    await read_groups(admin, Deadline(300.0), offsets=groups, logs=Logs.COMMITTED_ENDS)
    return time.perf_counter() - began
