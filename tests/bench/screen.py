"""Measure the CPU time, reaction time, output and memory of the terminal UI in a pseudo-terminal of 120×40 cells.

The cluster has 100,000 groups. kgtui polls it every 2 s, and 1 % of the groups change from poll to poll.
"""

from __future__ import annotations

import random
import statistics
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kgtui.simulator import Options, spawn
from tests.bench import screening_memory
from tests.bench.figures import Figure, percentile
from tests.bench.instruments import FAST_SWEEP
from tests.bench.simulated_cluster import SimulatedCluster
from tests.bench.terminal import BARE_APP_READY, GROUPS_SHOWN, Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

DOWN, PAGE_DOWN, LEFT, RIGHT, HOME, ESCAPE = b"\x1b[B", b"\x1b[6~", b"\x1b[D", b"\x1b[C", b"\x1b[H", b"\x1b"
NEXT_MATCH = b"n"
INTERVAL = 2.0
"""Time between two polls of the cluster, in seconds."""
FIRST_SWEEP_CPU, LATER_CPU = 500, 250
"""Maximum CPU time per poll, in milliseconds.

`FIRST_SWEEP_CPU` applies until all groups have been read once, because kgtui reads groups faster until then.
`LATER_CPU` applies afterward.
"""

MOST_BYTES_WHILE_STILL = 100
"""Maximum number of bytes that the app may write to the terminal per second while nothing changes."""


@dataclass(frozen=True, slots=True)
class Size:
    """Parameters of the benchmark.

    Attributes:
        large_node_groups: number of groups in a second cluster. About 7/10 of them are in one tree node, which the
            benchmark expands and collapses.
        keys: number of presses of each key.
        seconds: duration of a measurement without keys.
        soak_seconds: duration of the first memory measurement.
        later_seconds: time between the two memory measurements. In this time, kgtui reads groups `FAST_SWEEP` times as
            fast as usual, so that the second measurement shows the memory after a long run.
        settle_seconds: maximum time to wait until kgtui's verdicts on the groups (such as OK) no longer change. The
            groups themselves do not change in this measurement.
        screened_groups: number of groups in the measurement of the memory that the search for problems needs.
    """

    groups: int = 100_000
    large_node_groups: int = 130_000
    keys: int = 300
    seconds: float = 30.0
    soak_seconds: float = 300.0
    later_seconds: float = 300.0
    settle_seconds: float = 180.0
    screened_groups: int = 5_000


QUICK = Size(keys=100, seconds=10.0, soak_seconds=20.0, later_seconds=60.0, screened_groups=500)
TINY = Size(
    groups=300,
    large_node_groups=400,
    keys=3,
    seconds=0.5,
    soak_seconds=0.5,
    later_seconds=0.5,
    settle_seconds=1.0,
    screened_groups=20,
)


def figures(size: Size) -> Iterator[Figure]:
    """Yield the results for the terminal UI. The time from key to frame is compared with the minimal app `bare_app`."""
    with Terminal("tests.bench.bare_app") as bare:
        bare.wait_for(BARE_APP_READY)
        bare_keys = _Keyboard(bare)
        yield screening_memory.figure(size.screened_groups)
        yield from _with_changes(size, bare_keys, bare)
        yield from _expanding(size, bare_keys)
        yield from _without_changes(size)


def _with_changes(size: Size, bare_keys: _Keyboard, bare: Terminal) -> Iterator[Figure]:
    """Measure the terminal UI's CPU time per poll, its reaction to keys and to the filter, and its memory.

    Between two polls, 1 % of the groups in the cluster change.
    """
    with ExitStack() as stack:
        cluster = stack.enter_context(spawn(Options(groups=size.groups, churn=0.01)))
        ui = stack.enter_context(Terminal("tests.bench.instrumented_app", ["--bootstrap-server", cluster.bootstrap]))
        ui.wait_for(GROUPS_SHOWN)
        _wait_until(ui, "groups", size.groups * 0.98, 60)
        time.sleep(min(size.seconds, 5.0))  # Wait until the app has loaded all groups.
        yield from _polls(size, ui, "during the first read of all groups", FIRST_SWEEP_CPU)
        keys = _Keyboard(ui)
        few = replace(size, keys=max(size.keys // 3, 1))
        yield from _latencies(few, keys, bare_keys, " during the first read of all groups")
        ui.ask("hurry", hurried=True)
        _wait_until(ui, "swept", size.groups * 0.98, 900)
        ui.ask("hurry", hurried=False)
        ui.press(HOME)
        time.sleep(min(size.seconds, 5.0))
        yield from _polls(size, ui, "after the first read of all groups", LATER_CPU)
        yield _page(size, ui)
        yield from _latencies(size, keys, bare_keys)
        yield from _filtering(size, ui, keys, bare_keys)
        yield from _memory(size, ui, keys, bare)


def _polls(size: Size, ui: Terminal, when: str, target: float) -> Iterator[Figure]:
    """While no key is pressed, measure CPU time, callbacks that use more than 20 ms, and output to the terminal.

    Args:
        when: text in the names of the results, such as `after the first read of all groups`.
        target: maximum CPU milliseconds per poll.
    """
    ui.ask("reset")
    before, written = ui.usage(), ui.written
    time.sleep(size.seconds)
    after, stats = ui.usage(), ui.ask("stats")
    polls = size.seconds / INTERVAL
    yield Figure(f"CPU time per poll {when}", (after.cpu - before.cpu) / polls * 1000, "ms", target=target)
    name = f"CPU time of the longest callback {when} ({stats['worst_name'][:30]})"
    yield Figure(name, stats["worst"], "ms", target=20)
    number = sum(stats["long"].values())
    yield Figure(f"number of callbacks with more than 20 ms of CPU time {when}", number, "", target=0)
    rate = (ui.written - written) / size.seconds
    yield Figure(f"bytes/s to the terminal {when}, 1 % of the groups change per poll", rate, "B")


def _page(size: Size, ui: Terminal) -> Figure:
    """Measure the CPU time per poll while the page about the whole cluster is shown.

    The reference value is the CPU time while the panes of one group are shown.
    """
    cpu: dict[bytes, float] = {}
    for key in (NEXT_MATCH, HOME):
        ui.press(key)
        time.sleep(1.0)
        before = ui.usage().cpu
        time.sleep(size.seconds)
        cpu[key] = (ui.usage().cpu - before) / (size.seconds / INTERVAL) * 1000
    name = "CPU time per poll while the page about the whole cluster is shown"
    return Figure(name, cpu[HOME], "ms", "panes of one group", cpu[NEXT_MATCH])


def _latencies(size: Size, keys: _Keyboard, bare_keys: _Keyboard, when: str = "") -> Iterator[Figure]:
    """Measure the time from a key press to the frame with the result, while kgtui continues to poll the cluster.

    Args:
        bare_keys: keyboard of the minimal app, which provides the reference values.
        when: text that is added to the names of the results.
    """
    keys.expand_largest_node()
    for name, key in (("Down", DOWN), ("page down", PAGE_DOWN)):
        times, bare = [], []
        for _ in range(size.keys):
            times.append(keys.press(key))
            bare.append(bare_keys.press(key))
        p50, bare_p50 = statistics.median(times), statistics.median(bare)
        p99, bare_p99 = percentile(times, 0.99), percentile(bare, 0.99)
        yield Figure(f"{name}: time from key to frame{when}, p50", p50, "ms", "minimal app", bare_p50, 15)
        yield Figure(f"{name}: time from key to frame{when}, p99", p99, "ms", "minimal app", bare_p99, 60)
        ratio_name = f"{name}: time from key to frame{when}, p99, as a ratio"
        yield Figure(ratio_name, p99, "ms", "minimal app", bare_p99, 3, of_ratio=True)


def _filtering(size: Size, ui: Terminal, keys: _Keyboard, bare_keys: _Keyboard) -> Iterator[Figure]:
    """Measure the time from typing a letter of a filter to the frame that shows the matching groups."""
    times, bare = [], []
    for _ in range(max(size.keys // 50, 1)):
        ui.press(b"/")
        time.sleep(0.3)
        for letter in b"team-01":
            times.append(keys.press(bytes([letter])))
            bare.append(bare_keys.press(PAGE_DOWN))
        ui.press(ESCAPE)
        time.sleep(0.5)
    name, median = "substring filter: time from key to frame", statistics.median
    yield Figure(f"{name}, p50", median(times), "ms", "minimal app", median(bare), 60)
    yield Figure(f"{name}, worst", max(times), "ms", "minimal app", max(bare))


def _memory(size: Size, ui: Terminal, keys: _Keyboard, bare: Terminal) -> Iterator[Figure]:
    """Measure kgtui's resident memory while keys are pressed and kgtui polls the cluster, and again much later.

    Also measure the CPU time of the event loop's longest callback.
    """
    ui.ask("reset")
    samples = _memory_samples(ui, keys, size.soak_seconds)
    tenth = max(len(samples) // 10, 1)
    first, last = statistics.median(samples[:tenth]), statistics.median(samples[-tenth:])
    stats = ui.ask("stats")
    swept = f"{stats['swept'] / max(stats['groups'], 1):.0%} of the groups read"
    yield Figure(f"resident memory, {swept}", last, "MB", "minimal app", bare.usage().resident / 1e6, 200)
    name = f"increase of memory during {size.soak_seconds:.0f} s of keys and polls"
    yield Figure(name, last - first, "MB", "first tenth of the measurement", first, 5)
    yield Figure(
        f"CPU time of the longest callback during keys and polls ({stats['worst_name'][:30]})",
        stats["worst"],
        "ms",
        target=20,
    )
    ui.ask("hurry", hurried=True)
    time.sleep(size.later_seconds)
    ui.ask("hurry", hurried=False)
    later = statistics.median(_memory_samples(ui, keys, size.later_seconds / 10))
    name = f"resident memory after as many background reads as in {size.later_seconds * FAST_SWEEP / 60:.0f} min"
    yield Figure(name, later, "MB", "minimal app", bare.usage().resident / 1e6, 200)


def _memory_samples(ui: Terminal, keys: _Keyboard, seconds: float) -> list[float]:
    """Press keys for some seconds; return kgtui's resident memory after every few keys, in MB."""
    samples: list[float] = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        for key in (DOWN, PAGE_DOWN, DOWN, LEFT, RIGHT):
            keys.press_without_waiting(key)
        time.sleep(0.2)
        samples.append(ui.usage().resident / 1e6)
    return samples


def _expanding(size: Size, bare_keys: _Keyboard) -> Iterator[Figure]:
    """Measure how fast the largest node of the tree is expanded and collapsed.

    The cluster has only one broker, so that the largest node contains all Stable groups.
    """
    with ExitStack() as stack:
        options = Options(groups=size.large_node_groups, churn=0.01, brokers=1, scenario="plain")
        cluster = stack.enter_context(spawn(options))
        ui = stack.enter_context(Terminal("tests.bench.instrumented_app", ["--bootstrap-server", cluster.bootstrap]))
        ui.wait_for(GROUPS_SHOWN)
        _wait_until(ui, "groups", size.large_node_groups * 0.98, 60)
        time.sleep(min(size.seconds, 3.0))
        for _ in range(2):
            ui.press(b"b")
            time.sleep(0.5)
        keys = _Keyboard(ui)
        groups = keys.select_largest_node()
        expand, collapse, bare = [], [], []
        for _ in range(max(size.keys // 10, 2)):
            expand.append(keys.press(RIGHT))
            collapse.append(keys.press(LEFT))
            bare.append(bare_keys.press(PAGE_DOWN))
        for action, times in (("expand", expand), ("collapse", collapse)):
            name = f"{action} a node with {groups} groups: time from key to frame, p50"
            yield Figure(name, statistics.median(times), "ms", "minimal app", statistics.median(bare), 40)


def _without_changes(size: Size) -> Iterator[Figure]:
    """Measure the output to the terminal and the CPU time on a cluster in which no group changes.

    kgtui then redraws only the time of the latest poll.
    """
    groups = min(size.groups, 10_000)
    with SimulatedCluster("idle", groups) as cluster:
        ui = Terminal("tests.bench.instrumented_app", ["--bootstrap-server", cluster.bootstrap])
        with ui:
            ui.wait_for(GROUPS_SHOWN)
            _wait_until(ui, "swept", groups, 240)
            _wait_until_still(ui, size.settle_seconds)
            before, written = ui.usage(), ui.written
            time.sleep(size.seconds)
            rate = (ui.written - written) / size.seconds
            yield Figure("bytes/s to the terminal while nothing changes", rate, "B", target=MOST_BYTES_WHILE_STILL)
            cpu = (ui.usage().cpu - before.cpu) / (size.seconds / INTERVAL) * 1000
            yield Figure(f"CPU time per poll of {groups:,} groups while nothing changes", cpu, "ms")


def _wait_until(ui: Terminal, statistic: str, least: float, timeout: float) -> None:
    """Wait until a statistic of the instrumented app, such as the number of groups, is at least `least`."""
    end = time.monotonic() + timeout
    while (value := ui.ask("stats")[statistic]) < least:
        if time.monotonic() > end:
            raise TimeoutError(f"{statistic} is still {value}; at least {least:.0f} was expected")
        time.sleep(0.25)


def _wait_until_still(ui: Terminal, timeout: float) -> None:
    """Wait until kgtui has drawn almost nothing for 5 s, but return after `timeout` seconds in any case.

    kgtui draws until the verdict on each group (such as OK or STOP) no longer changes.
    """
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        written = ui.written
        time.sleep(min(5.0, timeout))
        if ui.written - written < 5 * MOST_BYTES_WHILE_STILL:
            return


class _Keyboard:
    """Presses keys at random intervals. Measures the time until a frame shows that the program has counted the key."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._random = random.Random(7)

    def press(self, key: bytes) -> float:
        """Press a key; return the time until the frame that shows the key's result, in milliseconds."""
        time.sleep(self._random.uniform(0.02, 0.08))
        count = self._terminal.ask("stats")["count"]
        since = self._terminal.written
        pressed = self._terminal.press(key)
        # Wait for any other count, not only for `count` + 1. The count can increase by more than 1, because the app
        # also counts each new layout of the tree after a change of the filter.
        other_count = rb"<(?!%06d>)\d{6}>" % count
        return (self._terminal.wait_for(other_count, since=since) - pressed) * 1000

    def press_without_waiting(self, key: bytes) -> None:
        self._terminal.press(key)
        time.sleep(0.03)

    def select_largest_node(self) -> int:
        """Move the cursor to the largest tree node without child nodes; return the number of groups in this node."""
        return int(self._terminal.ask("largest")["groups"])

    def expand_largest_node(self) -> None:
        """Expand the largest node of the tree, and move the cursor to the first row in this node."""
        self.select_largest_node()
        self.press(RIGHT)
        self.press(DOWN)
