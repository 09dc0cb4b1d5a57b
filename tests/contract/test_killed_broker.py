"""After one of three real brokers is killed, the lag is complete again soon after its partitions have new leaders."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from typing import TYPE_CHECKING

from confluent_kafka.admin import NewTopic

from kgtui.admin import connect
from kgtui.admin.deadline import Deadline
from kgtui.admin.reading import Logs, read_groups
from tests.brokers.cluster import Cluster

if TYPE_CHECKING:
    from pathlib import Path

    from kgtui.admin.kafka import KafkaGroupAdmin

PARTITIONS, RECORDS, COMMITTED = 6, 10, 3
COMPLETE_WITHIN = 5.0
"""Maximum time from the election of new leaders until the lag of the group is complete, in seconds.

The group is read every second.
"""


def test_lag_is_complete_soon_after_a_killed_leader_is_replaced(tmp_path: Path) -> None:
    cluster = Cluster("4.3.1", tmp_path, nodes=3)
    cluster.start()
    try:
        (created,) = cluster.admin.create_topics([NewTopic("orders", PARTITIONS, 3)]).values()
        created.result(30)
        for partition in range(PARTITIONS):
            cluster.produce("orders", RECORDS, partition)
        cluster.commit("billing", {("orders", partition): COMMITTED for partition in range(PARTITIONS)})
        asyncio.run(_kill_a_leader(cluster))
    finally:
        cluster.stop()


async def _kill_a_leader(cluster: Cluster) -> None:
    seeds = cluster.bootstrap.split(",")
    async with connect(seeds) as admin, connect(seeds) as observer:
        assert await _lag(admin) == (PARTITIONS * (RECORDS - COMMITTED), 0)
        coordinator = (await admin.list_groups()).rows["billing"].coordinator
        leaders = set((await admin.pool.find_leaders(["orders"], timeout=5)).nodes.values())
        victim = max(leaders - {coordinator})
        os.kill(cluster.nodes[victim - 1].pid, signal.SIGKILL)
        elected_at = None
        async with asyncio.timeout(60):
            while True:
                lag, unknown = await _lag(admin)
                found = await observer.pool.find_leaders(["orders"], timeout=5, refresh=True)
                if elected_at is None and not found.errors and victim not in found.nodes.values():
                    elected_at = time.monotonic()
                if elected_at is not None and not unknown:
                    break
                await asyncio.sleep(1)
        assert lag == PARTITIONS * (RECORDS - COMMITTED)
        assert time.monotonic() - elected_at < COMPLETE_WITHIN


async def _lag(admin: KafkaGroupAdmin) -> tuple[int | None, int]:
    """Read the lag of the group in the same way as a poll of the terminal UI.

    Return the lag, and the number of partitions whose lag is unknown.
    """
    groups = (await admin.list_groups()).rows
    read = await read_groups(admin, Deadline(10), offsets={"billing": groups["billing"]}, logs=Logs.COMMITTED_ENDS)
    total = read.lag_of("billing")
    return total.lag, total.unknown
