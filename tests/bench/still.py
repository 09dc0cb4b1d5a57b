"""A simulated cluster whose clock stands still, in a process of its own: `python -m tests.bench.still GROUPS`."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from typing import TYPE_CHECKING

from kgtui.simulator import Simulator
from kgtui.simulator.cluster_state import ManualClock
from tests.bench.terminal import HOME

if TYPE_CHECKING:
    from typing import Self


class Still:
    """The process; nothing in it ever changes."""

    def __init__(self, groups: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.bench.still", str(groups)],
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


async def _serve(groups: int) -> None:
    async with Simulator(groups=groups, scenario="plain", churn=0.0, clock=ManualClock()) as cluster:
        print(cluster.bootstrap, flush=True)  # noqa: T201
        # Ends with its parent: the end of stdin.
        await asyncio.to_thread(sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_serve(int(sys.argv[1])))
