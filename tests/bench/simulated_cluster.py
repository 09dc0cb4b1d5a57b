"""Run a simulated cluster: `python -m tests.bench.simulated_cluster idle|active GROUPS`.

The class `SimulatedCluster` starts this command in another process. In an idle cluster, nothing changes. In an active
cluster, a tenth of the topics receive new records, and a few groups change their state.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from kgtui.simulator import Simulator
from kgtui.simulator.cluster_state import ManualClock
from tests.bench.terminal import HOME

if TYPE_CHECKING:
    from typing import Self

Activity = Literal["idle", "active"]

PARTITIONS = 10
"""Number of partitions per topic in an active cluster. An idle cluster uses the default of `Simulator`."""


class SimulatedCluster:
    """Runs a simulated cluster in another process, which is killed at the end of the `with` block."""

    def __init__(self, activity: Activity, groups: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.bench.simulated_cluster", activity, str(groups)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=HOME, start_new_session=True,
        )  # fmt: skip
        assert self._process.stdout is not None
        self.bootstrap = self._process.stdout.readline().strip()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()


def _idle(groups: int) -> Simulator:
    return Simulator(groups=groups, scenario="plain", churn=0.0, clock=ManualClock())


def _active(groups: int) -> Simulator:
    return Simulator(groups=groups, partitions=PARTITIONS, scenario="plain", churn=0.0005)


def _stop_most_topics(cluster: Simulator) -> None:
    """Set the write rate of nine tenths of the topics to zero."""
    state = cluster.state
    assert state.generated is not None
    topics = [replace(topic, rate=0.0) if n % 10 else topic for n, topic in enumerate(state.generated.topics)]
    state.generated.topics[:] = topics
    state.add_topics(topics)


async def _serve(activity: str, groups: int) -> None:
    async with _idle(groups) if activity == "idle" else _active(groups) as cluster:
        if activity == "active":
            _stop_most_topics(cluster)
        print(cluster.bootstrap, flush=True)  # noqa: T201
        await asyncio.to_thread(sys.stdin.read)  # Wait until the parent process closes the pipe or exits.


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1], int(sys.argv[2])))
