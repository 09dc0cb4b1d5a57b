"""Measure the time from the start of kgtui's process to the first frame of the terminal UI that shows groups."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from kgtui.simulator import Options, spawn
from tests.bench.figures import Figure
from tests.bench.terminal import BARE_APP_READY, GROUPS_SHOWN, Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator


def figures(groups: int, rounds: int) -> Iterator[Figure]:
    """Yield the time from the start of kgtui to its first frame with groups.

    The reference value is the time from the start of the minimal Textual app `bare_app` to its first frame.
    """
    with spawn(Options(groups=groups, churn=0.0)) as cluster:
        wall, cpu, bare_wall, bare_cpu = [], [], [], []
        # Do not measure the first start, because it reads the program's files from disk. Later starts read the files
        # from the page cache.
        _start("kgtui", GROUPS_SHOWN, "--bootstrap-server", cluster.bootstrap)
        for _ in range(rounds):
            wall_seconds, cpu_seconds = _start("kgtui", GROUPS_SHOWN, "--bootstrap-server", cluster.bootstrap)
            wall.append(wall_seconds)
            cpu.append(cpu_seconds)
            wall_seconds, cpu_seconds = _start("tests.bench.bare_app", BARE_APP_READY)
            bare_wall.append(wall_seconds)
            bare_cpu.append(cpu_seconds)
    name, median = f"time from start to first frame with groups, {groups} groups", statistics.median
    yield Figure(f"{name}, wall", median(wall), "s", "minimal app", median(bare_wall), 2.5, of_ratio=True)
    yield Figure(f"{name}, CPU", median(cpu), "s", "minimal app", median(bare_cpu))


def _start(module: str, ready: bytes, *arguments: str) -> tuple[float, float]:
    """Start a program; return its wall time and CPU time until its output matches the pattern `ready`, in seconds."""
    with Terminal(module, arguments, control=False) as terminal:
        seconds = terminal.wait_for(ready) - terminal.started
        return seconds, terminal.usage().cpu
