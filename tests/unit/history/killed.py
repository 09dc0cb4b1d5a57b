"""A program that records a cluster until it is killed. Run it as `python -m tests.unit.history.killed HOST:PORT LAKE`.

LAKE is the folder for the recording. The program compacts the files in this folder every second, so that a kill
sometimes interrupts a compaction.
"""

from __future__ import annotations

import asyncio
import sys

from kgtui.admin import connect
from kgtui.history import Recorder, RecorderOptions
from kgtui.monitor import Monitor, MonitorOptions

FLUSH = 0.3
"""Time between two flushes, in seconds. A flush writes to disk all polls that are still only in memory."""


async def _record(bootstrap: str, lake: str) -> None:
    """Record a cluster into the folder `lake` until this process is killed. `bootstrap` is a list of broker addresses.

    The addresses are separated by commas.
    """
    async with connect(bootstrap.split(",")) as admin:
        monitor = Monitor(admin, MonitorOptions(interval=0.5, sweep_rate=0.001))
        watching = asyncio.create_task(monitor.run())
        options = RecorderOptions(interval=0.1, flush=FLUSH, keyframe=1.0, describe=0.5)
        try:
            await Recorder(monitor, admin, lake, options, notify=lambda line: print(line, flush=True)).run()  # noqa: T201
        finally:
            watching.cancel()


if __name__ == "__main__":
    asyncio.run(_record(*sys.argv[1:]))
