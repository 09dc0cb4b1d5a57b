"""The UI over 100,000 simulated groups, polled every 2 s with 1 % changing, in a pseudo-terminal of 120×40."""

from __future__ import annotations

import random
import statistics
import time
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.simulator import Options, spawn
from tests.bench.figures import Figure, percentile
from tests.bench.still import Still
from tests.bench.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator

DOWN, PAGE_DOWN, LEFT, RIGHT, HOME, ESCAPE = b"\x1b[B", b"\x1b[6~", b"\x1b[D", b"\x1b[C", b"\x1b[H", b"\x1b"
INTERVAL = 2.0
FIRST_LIST = rb"Stable"
"""The first node of the tree that has groups."""
BARE_READY = rb"<000000>"


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured.

    Attributes:
        groups: of the cluster.
        leaves: groups of the cluster whose largest node is opened and closed; seven tenths of them are in it.
        keys: of each kind.
        seconds: of watching without a key.
        soak: seconds of keys and polls over which memory is watched, once every group has been read.
        sweep: whether to wait until every group has been read.
    """

    groups: int = 100_000
    leaves: int = 130_000
    keys: int = 300
    seconds: float = 30.0
    soak: float = 300.0
    sweep: bool = True


QUICK = Size(keys=100, seconds=10.0, soak=20.0, sweep=False)
TINY = Size(groups=300, leaves=400, keys=3, seconds=0.5, soak=0.5, sweep=False)


def figures(size: Size) -> Iterator[Figure]:
    """Measure one thing after the other."""
    with Terminal("tests.bench.bare") as bare:
        bare.wait_for(BARE_READY)
        yardstick = _Keys(bare)
        yield from _watching(size, yardstick, bare)
        yield from _opening(size, yardstick)
        yield from _stillness(size)


def _watching(size: Size, yardstick: _Keys, bare: Terminal) -> Iterator[Figure]:
    with ExitStack() as stack:
        cluster = stack.enter_context(spawn(Options(groups=size.groups, churn=0.01)))
        ui = stack.enter_context(Terminal("tests.bench.watched", ["--bootstrap-server", cluster.bootstrap]))
        ui.wait_for(FIRST_LIST)
        _until(ui, "groups", size.groups * 0.98, 60)
        time.sleep(min(size.seconds, 5.0))  # the first load is not what is measured
        yield from _polls(size, ui, "while the sweep reads every group")
        keys = _Keys(ui)
        yield from _latencies(size, keys, yardstick)
        yield from _filtering(size, ui, keys, yardstick)
        if size.sweep:
            ui.ask("hurry", hurried=True)
            _until(ui, "swept", size.groups * 0.98, 900)
            ui.ask("hurry", hurried=False)
        yield from _memory(size, ui, keys, bare)


def _polls(size: Size, ui: Terminal, when: str) -> Iterator[Figure]:
    """CPU, stalls and bytes while nobody presses a key."""
    ui.ask("reset")
    before, written = ui.usage(), ui.written
    time.sleep(size.seconds)
    after, told = ui.usage(), ui.ask("stats")
    polls = size.seconds / INTERVAL
    yield Figure(f"CPU a poll, {when}", (after.cpu - before.cpu) / polls * 1000, "ms", aim=250)
    yield Figure(f"longest callback, CPU ({told['worst_name'][:30]})", told["worst"], "ms", aim=20)
    yield Figure("callbacks over 20 ms of CPU", sum(told["long"].values()), "", aim=0)
    yield Figure("bytes a second to the terminal, 1 % changing", (ui.written - written) / size.seconds, "B")


def _latencies(size: Size, keys: _Keys, yardstick: _Keys) -> Iterator[Figure]:
    """Down and page down from key to frame, while polls go on."""
    keys.open_largest()
    for name, key in (("Down", DOWN), ("page down", PAGE_DOWN)):
        ours, theirs = [], []
        for _ in range(size.keys):
            ours.append(keys.press(key))
            theirs.append(yardstick.press(key))
        yield Figure(
            f"{name}, key to frame, p50", statistics.median(ours), "ms", "bare app", statistics.median(theirs), 15
        )
        yield Figure(
            f"{name}, key to frame, p99", percentile(ours, 0.99), "ms", "bare app", percentile(theirs, 0.99), 60
        )
        yield Figure(
            f"{name}, key to frame, p99 as a ratio", percentile(ours, 0.99), "ms", "bare app",
            percentile(theirs, 0.99), 3, of_ratio=True,
        )  # fmt: skip


def _filtering(size: Size, ui: Terminal, keys: _Keys, yardstick: _Keys) -> Iterator[Figure]:
    """Letters of a word typed one after the other, from key to the frame with the groups found."""
    took, bare = [], []
    for _ in range(max(size.keys // 50, 1)):
        ui.press(b"/")
        time.sleep(0.3)
        keys.settle()
        for letter in b"team-01":
            took.append(keys.press(bytes([letter])))
            bare.append(yardstick.press(PAGE_DOWN))
        ui.press(ESCAPE)
        time.sleep(0.5)
        keys.settle()
    yield Figure(
        "substring filter, key to frame, p50", statistics.median(took), "ms", "bare app", statistics.median(bare), 60
    )
    yield Figure("substring filter, key to frame, worst", max(took), "ms", "bare app", max(bare))


def _memory(size: Size, ui: Terminal, keys: _Keys, bare: Terminal) -> Iterator[Figure]:
    """Resident memory over minutes of keys and polls."""
    samples: list[float] = []
    ui.ask("reset")
    end = time.perf_counter() + size.soak
    while time.perf_counter() < end:
        for key in (DOWN, PAGE_DOWN, DOWN, LEFT, RIGHT):
            keys.press_unseen(key)
        time.sleep(0.2)
        samples.append(ui.usage().resident / 1e6)
    tenth = max(len(samples) // 10, 1)
    first, last = statistics.median(samples[:tenth]), statistics.median(samples[-tenth:])
    of = ui.ask("stats")
    swept = f"{of['swept'] / max(of['groups'], 1):.0%} read"
    yield Figure(f"resident memory, {swept}", last, "MB", "bare app", bare.usage().resident / 1e6, 150)
    yield Figure(
        f"memory gained in {size.soak:.0f} s of keys and polls", last - first, "MB", "at its beginning", first, 5
    )
    yield Figure(f"longest callback of these, CPU ({of['worst_name'][:30]})", of["worst"], "ms", aim=20)


def _opening(size: Size, yardstick: _Keys) -> Iterator[Figure]:
    """Open and close the node of one broker's Stable groups, grouped by coordinator."""
    with ExitStack() as stack:
        options = Options(groups=size.leaves, churn=0.01, brokers=1, scenario="plain")
        cluster = stack.enter_context(spawn(options))
        ui = stack.enter_context(Terminal("tests.bench.watched", ["--bootstrap-server", cluster.bootstrap]))
        ui.wait_for(FIRST_LIST)
        _until(ui, "groups", size.leaves * 0.98, 60)
        time.sleep(min(size.seconds, 3.0))
        for _ in range(2):
            ui.press(b"b")
            time.sleep(0.5)
        keys = _Keys(ui)
        leaves = keys.on_largest()
        opening, closing, bare = [], [], []
        for _ in range(max(size.keys // 10, 2)):
            opening.append(keys.press(RIGHT))
            closing.append(keys.press(LEFT))
            bare.append(yardstick.press(PAGE_DOWN))
        for name, took in (("expand", opening), ("collapse", closing)):
            yield Figure(
                f"{name} {leaves} leaves, key to frame, p50", statistics.median(took), "ms", "bare app",
                statistics.median(bare), 40,
            )  # fmt: skip


def _stillness(size: Size) -> Iterator[Figure]:
    """Bytes to the terminal when nothing changes but the time of the newest poll: every group has been read."""
    groups = min(size.groups, 10_000 if size.sweep else 2_000)
    with Still(groups) as cluster:
        ui = Terminal("tests.bench.watched", ["--bootstrap-server", cluster.bootstrap])
        with ui:
            ui.wait_for(FIRST_LIST)
            _until(ui, "swept", groups, 240)
            time.sleep(2.0)
            before, written = ui.usage(), ui.written
            time.sleep(size.seconds)
            yield Figure(
                "bytes a second to the terminal, nothing changes", (ui.written - written) / size.seconds, "B", aim=100
            )
            used = (ui.usage().cpu - before.cpu) / (size.seconds / INTERVAL) * 1000
            yield Figure(f"CPU a poll, {groups:,} groups, nothing changes", used, "ms")


def _until(ui: Terminal, what: str, least: float, timeout: float) -> None:
    end = time.monotonic() + timeout
    while (told := ui.ask("stats"))[what] < least:
        if time.monotonic() > end:
            raise TimeoutError(f"{what} stays at {told[what]}, {least:.0f} expected")
        time.sleep(0.25)


class _Keys:
    """Presses keys at odd moments and waits for the frame that shows the key's number."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._random = random.Random(7)
        self.settle()

    def settle(self) -> None:
        """Take over what was counted so far."""
        self._count: int = self._terminal.ask("stats")["count"]

    def press(self, key: bytes) -> float:
        """Milliseconds from a key to its frame."""
        time.sleep(self._random.uniform(0.02, 0.08))
        self._count += 1
        since = self._terminal.written
        pressed = self._terminal.press(key)
        return (self._terminal.wait_for(b"<%06d>" % self._count, since=since, timeout=20) - pressed) * 1000

    def press_unseen(self, key: bytes) -> None:
        """A key whose frame nobody waits for."""
        self._terminal.press(key)
        time.sleep(0.03)

    def on_largest(self) -> int:
        """Put the cursor on the node with the most groups; how many it has."""
        told = self._terminal.ask("largest")
        self._count = told["count"]
        return int(told["groups"])

    def open_largest(self) -> None:
        """Open the largest node and go into it."""
        self.on_largest()
        self.press(RIGHT)
        self.press(DOWN)
