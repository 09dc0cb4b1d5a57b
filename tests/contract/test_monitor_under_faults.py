"""Test kgtui's `Monitor`, which polls a cluster and publishes snapshots, with simulated brokers that fail at random.

The snapshots must contain no wrong values, and the monitor must leak no memory, connections or tasks.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import tracemalloc
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kgtui.admin.kafka import connect
from kgtui.model import facts
from kgtui.monitor import Monitor, MonitorOptions
from kgtui.simulator import ManualClock, Simulator
from tests.event_loop import counting_waits

if TYPE_CHECKING:
    import random
    from collections.abc import AsyncIterator

    from kgtui.model.snapshot import Snapshot

INTERVAL = 0.05
"""Time between two polls of the monitor, in seconds."""

WARM_UP = 60
"""Number of polls before the first measurement of memory, so that caches are filled and lazy imports are done."""

ALLOWED_GROWTH = 300_000
"""Maximum growth of kgtui's memory during the faults, in bytes."""

RECOVERED_WITHIN = 10.0
"""Maximum seconds from the end of the faults until the monitor has read every group without an error.

Time in which the machine is too busy to run the test is not counted.
"""

_TIME_WAIT, _LISTEN = "06", "0A"
"""Codes of the TCP states TIME_WAIT (closed by both ends) and LISTEN in Linux's `/proc/net/tcp`."""

OPTIONS = MonitorOptions(
    interval=INTERVAL, timeout=1.0, failure_pause_max=0.5, list_load=1.0, publish_interval=0.0, sweep_rate=2_000.0,
    sweep_pause=0.2, metadata_interval=0.3,
    kept_events=50,  # Keep only a few events, because a growing list of events would look like a leak.
)  # fmt: skip


def open_connections(cluster: Simulator) -> int:
    """Return the number of open sockets between kgtui and the simulated brokers; 0 if the system is not Linux.

    The simulator runs in the same process, so both ends of each connection are counted.
    """
    if sys.platform != "linux":
        return 0
    ports = {f"{int(server.rpartition(':')[2]):04X}" for server in cluster.bootstrap.split(",")}
    rows = [line.split() for line in Path("/proc/self/net/tcp").read_text().splitlines()[1:]]
    return sum(
        1
        for _, local, remote, state, *_ in rows
        if state not in (_LISTEN, _TIME_WAIT) and ports & {local[-4:], remote[-4:]}
    )


def memory_of_kgtui() -> int:
    """Return how many bytes kgtui's code has allocated and not freed. The simulator is not counted.

    Time series, health data and the decoders that kgtui generates at their first use are not counted either, because
    they grow even without a leak.
    """
    gc.collect()
    package = str(Path(facts.__file__).parents[1])
    ignored = [
        f"{package}/{part}"
        for part in (
            "simulator/*",
            "protocol/source_builder.py",
            "model/series.py",
            "model/health/*",
            "model/burrow.py",
        )
    ]
    kept = [tracemalloc.Filter(True, f"{package}/*"), *(tracemalloc.Filter(False, name) for name in ignored)]
    return sum(trace.size for trace in tracemalloc.take_snapshot().filter_traces(kept).traces)


async def make_faults(cluster: Simulator, chance: random.Random) -> None:
    """Break a random broker in a random way and repair it, again and again, until the task is canceled.

    Then repair all brokers.
    """
    try:
        while True:
            node = chance.choice([1, 2, 3])
            kind = chance.choice(["black_hole", "kill", "cut", "damage", "latency"])
            if kind == "black_hole":
                cluster.faults.black_hole(node)
            elif kind == "kill":
                await cluster.faults.kill(node)
            elif kind == "cut":
                cluster.faults.cut(node)
            elif kind == "damage":
                cluster.faults.damage(node, chance.choice(["truncated", "cut", "length", "garbage", "correlation"]))
            else:
                cluster.faults.latency(node, 0.2)
            await asyncio.sleep(chance.uniform(0.1, 1.5))
            cluster.faults.clear()
            await cluster.faults.restart(node)
            await asyncio.sleep(chance.uniform(0.1, 0.5))
    finally:
        cluster.faults.clear()
        for node in (1, 2, 3):
            await cluster.faults.restart(node)


class Watcher:
    """Compares each group's state and total lag in every snapshot with those in the first snapshot.

    A total lag is compared only if the lag of every partition is known. Every difference is an error of kgtui, because
    the groups never change.
    """

    def __init__(self, monitor: Monitor) -> None:
        self.expected = _values(monitor.snapshot)
        self.wrong: list[str] = []
        self.snapshots = 0
        monitor.subscribe(self.check)

    def check(self, snapshot: Snapshot) -> None:
        self.snapshots += 1
        for group in snapshot.groups:
            state, lag = self.expected[group]
            found = facts.lag_total(snapshot, group)
            if snapshot.state_of(group) != state:
                self.wrong.append(f"{group}: state {snapshot.state_of(group)} instead of {state}")
            if found is not None and found.unknown == 0 and found.lag != lag:
                self.wrong.append(f"{group}: lag {found.lag} instead of {lag}")


@pytest.mark.parametrize("polls", [250, pytest.param(1_000, marks=pytest.mark.full)])
async def test_random_broker_faults_cause_no_wrong_values_and_no_leaks(polls: int, chance: random.Random) -> None:
    async with monitored() as (cluster, monitor):
        await _complete(monitor)
        watcher = Watcher(monitor)
        monitor.set_view(next(iter(watcher.expected)), tuple(watcher.expected)[:10])
        await asyncio.sleep(WARM_UP * INTERVAL)
        await _complete(monitor)
        connections, tasks, memory = open_connections(cluster), len(await long_lived_tasks()), memory_of_kgtui()
        assert connections > 0 or sys.platform != "linux"

        faults = asyncio.create_task(make_faults(cluster, chance))
        await asyncio.sleep(polls * INTERVAL)
        async with asyncio.timeout(120):
            while watcher.snapshots <= polls / 4:  # noqa: ASYNC110 - polling keeps the test simple
                await asyncio.sleep(INTERVAL)
        faults.cancel()
        await asyncio.gather(faults, return_exceptions=True)

        async with counting_waits() as waited:
            await _complete(monitor)
            assert waited() < RECOVERED_WITHIN
        assert watcher.wrong == []
        assert _values(monitor.snapshot) == watcher.expected
        await _settled(cluster, connections, tasks)
        assert memory_of_kgtui() - memory < ALLOWED_GROWTH


@asynccontextmanager
async def monitored() -> AsyncIterator[tuple[Simulator, Monitor]]:
    """Run a monitor on a simulated cluster of three brokers and 30 groups.

    The cluster's clock does not advance, so that no state and no lag changes.
    """
    tracemalloc.start()
    try:
        async with (
            Simulator(brokers=3, scenario="plain", groups=30, clock=ManualClock()) as cluster,
            connect(cluster.bootstrap.split(",")) as admin,
        ):
            monitor = Monitor(admin, OPTIONS)
            running = asyncio.create_task(monitor.run())
            yield cluster, monitor
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
    finally:
        tracemalloc.stop()


def _values(snapshot: Snapshot) -> dict[str, tuple[str | None, int | None]]:
    """Return a dict: group id → (state, total lag in records)."""
    totals = {group: facts.lag_total(snapshot, group) for group in snapshot.groups}
    return {group: (snapshot.state_of(group), None if total is None else total.lag) for group, total in totals.items()}


async def _complete(monitor: Monitor) -> None:
    """Wait until every broker responds and every group has been read without an error."""

    def complete(snapshot: Snapshot) -> bool:
        totals = [facts.lag_total(snapshot, group) for group in snapshot.groups]
        return (
            snapshot.answering == len(snapshot.cluster.brokers) == 3
            and len(totals) == 30
            and all(total is not None and total.unknown == 0 for total in totals)
            and not any(facts.has_fault(snapshot, group) for group in snapshot.groups)
        )

    async with asyncio.timeout(120):
        while not complete(monitor.snapshot):  # noqa: ASYNC110 - polling keeps the test simple
            await asyncio.sleep(INTERVAL)


async def long_lived_tasks() -> set[asyncio.Task[object]]:
    """Return the tasks that are still running after one second. Tasks that read from a broker usually end sooner."""
    running = asyncio.all_tasks()
    await asyncio.sleep(1.0)
    return running & asyncio.all_tasks()


async def _settled(cluster: Simulator, connections: int, tasks: int) -> None:
    """Wait until there are at most `connections` open sockets and at most `tasks` long-lived tasks.

    Fail the test if this takes longer than 60 s.
    """
    found: set[asyncio.Task[object]] = set()
    try:
        async with asyncio.timeout(60):
            while open_connections(cluster) > connections or len(found := await long_lived_tasks()) > tasks:  # noqa: ASYNC110
                await asyncio.sleep(INTERVAL)
    except TimeoutError:
        names = sorted(task.get_name() for task in found)
        left = open_connections(cluster)
        pytest.fail(f"{left} connections (expected: {connections}); running tasks (expected: {tasks}): {names}")
