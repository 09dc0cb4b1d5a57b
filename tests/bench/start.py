"""From the start of the UI's process to its first useful frame, beside a bare Textual app."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING

from kgtui.simulator import Options, spawn
from tests.bench.figures import Figure
from tests.bench.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

FIRST_LIST = rb"Stable"
"""The first node of the tree that has groups: nothing before it says anything about a group."""
BARE_READY = rb"<000000>"


def figures(groups: int, rounds: int) -> Iterator[Figure]:
    """Start both in turn, on a cluster that is there already."""
    with spawn(Options(groups=groups, churn=0.0)) as cluster:
        ours, theirs, cpu, bare_cpu = [], [], [], []
        _start("kgtui", FIRST_LIST, "--bootstrap-server", cluster.bootstrap)  # warm files
        for _ in range(rounds):
            wall, used = _start("kgtui", FIRST_LIST, "--bootstrap-server", cluster.bootstrap)
            ours.append(wall)
            cpu.append(used)
            wall, used = _start("tests.bench.bare", BARE_READY)
            theirs.append(wall)
            bare_cpu.append(used)
    name = f"start to first useful frame, {groups} groups"
    yield Figure(
        f"{name}, wall", statistics.median(ours), "s", "bare app", statistics.median(theirs), 2.5, of_ratio=True
    )
    yield Figure(f"{name}, CPU", statistics.median(cpu), "s", "bare app", statistics.median(bare_cpu))


def _start(module: str, ready: bytes, *arguments: str) -> tuple[float, float]:
    """Seconds to the frame, and seconds of CPU until then."""
    with Terminal(module, arguments, control=False) as terminal:
        took = terminal.wait_for(ready) - terminal.began
        return took, terminal.usage().cpu
