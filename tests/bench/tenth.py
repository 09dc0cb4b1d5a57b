"""A simulated cluster in which every tenth group moves, in a process of its own: `-m tests.bench.tenth GROUPS`."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace

from kgtui.simulator import Simulator

PARTITIONS = 10


async def _serve(groups: int) -> None:
    async with Simulator(groups=groups, partitions=PARTITIONS, scenario="plain", churn=0.0005) as cluster:
        world = cluster.state
        assert world.generated is not None
        still = [replace(topic, rate=0.0) if n % 10 else topic for n, topic in enumerate(world.generated.topics)]
        world.generated.topics[:] = still
        world.add_topics(still)
        print(cluster.bootstrap, flush=True)  # noqa: T201
        # Ends with its parent: the end of stdin.
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1])))
