"""The collector stays out of the way of a large cluster, and is left as it was found."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from typing import TYPE_CHECKING

import pytest

from kgtui.model.snapshot import Summary
from kgtui.monitor import gc_tuning
from kgtui.monitor.gc_tuning import GcTuning, untrack

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def collector() -> Iterator[GcTuning]:
    gc.unfreeze()  # Python 3.12 starts with a few hundred objects frozen
    before = gc.isenabled(), gc.get_freeze_count()
    collector = GcTuning()
    yield collector
    collector.release()
    gc_tuning._untrack = None
    assert (gc.isenabled(), gc.get_freeze_count()) == before


@pytest.fixture
def passes() -> Iterator[list[int]]:
    """The generations collected."""
    seen: list[int] = []

    def collected(phase: str, info: dict[str, int]) -> None:
        if phase == "stop":
            seen.append(info["generation"])

    gc.callbacks.append(collected)
    yield seen
    gc.callbacks.remove(collected)


def test_the_collector_is_off_until_the_last_holder_leaves(collector: GcTuning) -> None:
    with collector.paused():
        with collector.paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_with_many_groups_it_waits_until_much_more_is_allocated(collector: GcTuning, passes: list[int]) -> None:
    collector.freeze_once(10_000)
    few = [[number] for number in range(1_000)]
    collector.tidy(now=1_000.0, last_view=990.0)
    assert len(few) == 1_000
    assert passes == []
    frozen = gc.get_freeze_count()
    many = [[number] for number in range(12_000)]
    assert len(many) == 12_000
    collector.tidy(now=1_000.0, last_view=990.0)
    assert passes == [2]
    assert not gc.isenabled()
    assert gc.get_freeze_count() >= frozen + 13_000, "they are not looked at again"
    collector.tidy(now=1_010.0, last_view=990.0)
    assert passes == [2]


def test_what_is_set_apart_is_not_looked_at_and_lives_and_dies_as_ever(collector: GcTuning) -> None:
    few = [object()]
    assert gc.is_tracked(untrack(few)), "nothing happens before there were many groups"
    collector.freeze_once(10_000)
    seen = weakref.ref(knot := Knot())
    groups = {f"group-{number}": knot for number in range(1_000)}
    names = untrack(sorted(groups))
    copied = untrack(groups.copy())
    summary = untrack(Summary(1, 2, 0, 1, ("orders",), "", 0.0))
    assert not any(gc.is_tracked(data) for data in (names, copied, summary))
    gc.collect()
    assert (len(names), copied["group-7"], summary.lag) == (1_000, knot, 2)
    del groups, copied, knot, names, summary
    gc.collect()
    assert seen() is None


def test_cycles_are_freed_once_memory_has_grown(collector: GcTuning) -> None:
    collector.freeze_once(10_000)
    seen = weakref.ref(Knot())
    collector.tidy(now=1_000.0, last_view=990.0)
    assert seen() is not None
    kept = [[number] for number in range(80_000)]
    collector.tidy(now=1_000.0, last_view=990.0)
    assert len(kept) == 80_000
    assert seen() is None


def test_who_turns_it_on_meanwhile_does_not_turn_it_on_for_good(collector: GcTuning) -> None:
    """As the program does when its screen stands."""
    gc.disable()
    collector.freeze_once(10_000)
    gc.enable()
    with collector.paused():
        pass
    assert not gc.isenabled()


def test_a_small_cluster_changes_nothing(collector: GcTuning) -> None:
    collector.freeze_once(9_999)
    with collector.paused():
        pass
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_a_pass_over_everything_waits_until_nobody_looks(collector: GcTuning, passes: list[int]) -> None:
    passes.clear()
    collector.freeze_once(10_000)
    assert gc.get_freeze_count() > 0
    collector.tidy(now=1_000.0, last_view=990.0)
    assert passes == []
    collector.tidy(now=1_000.0, last_view=900.0)
    assert passes == [2]
    collector.tidy(now=1_100.0, last_view=900.0)
    assert passes == [2]


class Knot:
    """Garbage that reference counts alone do not free."""

    def __init__(self) -> None:
        self.itself = self


def test_garbage_of_the_first_load_is_freed_once_nobody_looks(collector: GcTuning) -> None:
    gc.disable()
    try:
        seen = weakref.ref(Knot())
        collector.freeze_once(10_000)
    finally:
        gc.enable()
    gc.collect()
    assert seen() is not None
    collector.tidy(now=1_000.0, last_view=900.0)
    assert seen() is None
    assert gc.get_freeze_count() > 0


RESIDENT = """
from pathlib import Path
from kgtui.monitor.gc_tuning import GcTuning

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
"""
FREED = """
bytes(8_000_000)  # from now on glibc would keep blocks of this size in its heap
GcTuning().freeze_once(10_000)
blocks = [b"x" * 1_000_000 for _ in range(60)]
before = resident()
del blocks[::2]
print(before - resident())
"""


def test_large_blocks_are_given_back_at_once() -> None:
    freed = subprocess.run([sys.executable, "-c", RESIDENT + FREED], check=True, capture_output=True, text=True)
    assert int(freed.stdout) > 25_000_000


TRIMMED = """
import threading
collector = GcTuning()
collector.freeze_once(10_000)
blocks = [b"x" * 100_000 for _ in range(600)]
before = resident()
del blocks[:-1]  # the last one keeps the heap as long as it is
kept = [[number] for number in range(80_000)]
stayed = before - resident()
collector.tidy(now=1_000.0, last_view=999.0)
for thread in threading.enumerate():
    if thread is not threading.current_thread():
        thread.join()
print(stayed, before - resident())
"""


def test_small_blocks_are_given_back_with_a_pass() -> None:
    done = subprocess.run([sys.executable, "-c", RESIDENT + TRIMMED], check=True, capture_output=True, text=True)
    stayed, freed = map(int, done.stdout.split())
    assert stayed < 20_000_000
    assert freed > 30_000_000
