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
from kgtui.monitor import Monitor, MonitorOptions
from tests.bench.figures import Figure
from tests.bench.simulated_cluster import PARTITIONS, SimulatedCluster

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgtui.admin.kafka import KafkaGroupAdmin


@dataclass(frozen=True, slots=True)
class Size:
    """Parameters of the benchmark.

    Attributes:
        groups: number of groups in the cluster.
        seconds: duration of the measurement after every group has been read once.
        sweep_pause: minimum seconds between two reads of an unchanged group with members.
    """

    groups: int = 10_000
    seconds: float = 60.0
    sweep_pause: float = 15.0


QUICK = Size(groups=3_000, seconds=20.0)
TINY = Size(groups=60, seconds=0.5, sweep_pause=0.5)


def figures(size: Size) -> Iterator[Figure]:
    """Yield the time until every group has been read, and kgtui's CPU usage during this first read and after it.

    The CPU usage is a fraction of one core.
    """
    with SimulatedCluster("active", size.groups) as cluster:
        once, first, first_cpu, later_cpu = asyncio.run(_measure(cluster.bootstrap.split(","), size))
    name = f"{size.groups:,} groups × {PARTITIONS} partitions"
    target = 10.0 if size.groups == Size().groups else None
    yield Figure(
        f"time until every group is read with lag, {name}", first, "s", "one read of all offsets", once, target
    )
    yield Figure("fraction of one core used during this first read of all groups", first_cpu, "", target=0.25)
    yield Figure("fraction of one core used after this first read of all groups", later_cpu, "", target=0.1)


async def _measure(seeds: list[str], size: Size) -> tuple[float, float, float, float]:
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
        await asyncio.sleep(size.seconds)
        later = (time.process_time() - cpu) / (time.perf_counter() - began)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    return once, first, first_cpu / first, later


async def _read_at_once(admin: KafkaGroupAdmin) -> float:
    """Read the offsets and log end offsets of all groups in one call, as `kgtui ls --lag` does.

    Return the duration in seconds.
    """
    groups = (await admin.list_groups(timeout=60.0)).rows
    began = time.perf_counter()
    await read_groups(admin, Deadline(300.0), offsets=groups, logs=Logs.COMMITTED_ENDS)
    return time.perf_counter() - began
