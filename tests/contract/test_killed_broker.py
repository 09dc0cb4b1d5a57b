"""Tests of kgtui while one of three real brokers is killed.

Soon afterwards, kgtui must know the lag of every partition again. It must never report an event that did not happen, or
a wrong verdict on the health of the group, such as `stopped`.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from typing import TYPE_CHECKING

from kgtui.admin import connect
from kgtui.admin.deadline import Deadline
from kgtui.admin.reading import Logs, read_groups
from kgtui.model.problem import Problem
from kgtui.monitor import Monitor
from tests.contract.test_rolling_restart import Watcher, check_verdicts, ls_watch
from tests.contract.three_brokers import GROUP, LAG, TOPIC, three_brokers

if TYPE_CHECKING:
    from pathlib import Path

    from kgtui.admin.kafka import KafkaGroupAdmin
    from tests.brokers.cluster import Cluster

READS_UNTIL_COMPLETE = 5
"""Maximum number of reads that kgtui needs, after the election of new leaders, to know the lag of every partition.

The test reads the lag once per second, or less often on a busy machine.
"""


def test_kgtui_knows_the_complete_lag_soon_after_a_killed_leader_is_replaced(tmp_path: Path) -> None:
    with three_brokers(tmp_path) as cluster:
        asyncio.run(_kill_a_leader(cluster))


def test_a_killed_coordinator_causes_no_wrong_health_verdict_or_event(tmp_path: Path) -> None:
    """The broker that coordinates an Empty group is killed. The only event must be the change of the coordinator."""
    extra = {"offsets.topic.replication.factor": "3", "min.insync.replicas": "1"}
    lists = tmp_path / "lists"
    with three_brokers(tmp_path / "cluster", extra) as cluster, ls_watch(cluster, lists):
        asyncio.run(_kill_the_coordinator(cluster, lists))
    check_verdicts([json.loads(line) for line in lists.read_text().splitlines()])


def _lines_in(file: Path) -> int:
    return file.read_bytes().count(b"\n")


async def _kill_the_coordinator(cluster: Cluster, lists: Path) -> None:
    async with connect(cluster.bootstrap.split(",")) as admin:
        monitor = Monitor(admin)
        running = asyncio.create_task(monitor.run())
        try:
            async with asyncio.timeout(60):
                while GROUP not in monitor.snapshot.groups or _lines_in(lists) == 0:  # noqa: ASYNC110
                    await asyncio.sleep(0.1)
            monitor.set_view(GROUP, ())
            watcher = Watcher(monitor)
            await watcher.until_fresh(30)
            victim = monitor.snapshot.groups[GROUP].coordinator
            os.kill(cluster.nodes[victim - 1].pid, signal.SIGKILL)
            async with asyncio.timeout(120):
                while monitor.snapshot.groups[GROUP].coordinator == victim:  # noqa: ASYNC110
                    await asyncio.sleep(0.2)
                while monitor.snapshot.judgment(GROUP).kind is not Problem.EMPTY:  # noqa: ASYNC110
                    await asyncio.sleep(0.2)
                written = _lines_in(lists)
                while _lines_in(lists) < written + 3:  # noqa: ASYNC110
                    await asyncio.sleep(0.2)
            assert watcher.wrong == set()
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)


async def _kill_a_leader(cluster: Cluster) -> None:
    seeds = cluster.bootstrap.split(",")
    async with connect(seeds) as admin, connect(seeds) as observer:
        assert await _lag(admin) == (LAG, 0)
        coordinator = (await admin.list_groups()).rows[GROUP].coordinator
        leaders = set((await admin.pool.find_leaders([TOPIC], timeout=30)).nodes.values())
        victim = max(leaders - {coordinator})
        os.kill(cluster.nodes[victim - 1].pid, signal.SIGKILL)
        elected, reads = False, 0
        async with asyncio.timeout(240):
            while True:
                lag, unknown = await _lag(admin)
                reads += elected
                began = time.monotonic()
                found = await observer.pool.find_leaders([TOPIC], timeout=30, refresh=True)
                elected = elected or (not found.errors and victim not in found.nodes.values())
                if elected and not unknown:
                    break
                await asyncio.sleep(max(1.0, 10 * (time.monotonic() - began)))
        assert lag == LAG
        assert reads <= READS_UNTIL_COMPLETE


async def _lag(admin: KafkaGroupAdmin) -> tuple[int | None, int]:
    """Read the group's lag with the same requests as a poll of the terminal UI.

    Return the lag in records (None if it is unknown), and the number of partitions with an unknown lag.
    """
    groups = (await admin.list_groups()).rows
    read = await read_groups(admin, Deadline(10), offsets={GROUP: groups[GROUP]}, logs=Logs.COMMITTED_ENDS)
    total = read.lag_of(GROUP)
    return total.lag, total.unknown
