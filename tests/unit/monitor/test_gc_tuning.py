"""Tests that `GcTuning` delays Python's garbage collections if there are many groups, and can undo its changes."""

from __future__ import annotations

import gc
import subprocess
import sys
import weakref
from typing import TYPE_CHECKING

import pytest

from kgtui.model.summary import Summary
from kgtui.monitor import gc_tuning
from kgtui.monitor.gc_tuning import GcTuning, untrack

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def tuning() -> Iterator[GcTuning]:
    gc.unfreeze()  # Python 3.12 starts with some frozen objects, but the tests expect `gc.get_freeze_count()` to be 0.
    before = gc.isenabled(), gc.get_freeze_count()
    tuning = GcTuning()
    yield tuning
    tuning.release()
    gc_tuning._untrack = None
    assert (gc.isenabled(), gc.get_freeze_count()) == before


@pytest.fixture
def collections() -> Iterator[list[int]]:
    """Yield a list to which each garbage collection during the test adds its generation (0, 1 or 2)."""
    generations: list[int] = []

    def collected(phase: str, info: dict[str, int]) -> None:
        if phase == "stop":
            generations.append(info["generation"])

    gc.callbacks.append(collected)
    yield generations
    gc.callbacks.remove(collected)


def test_garbage_collection_stays_off_until_all_nested_pauses_have_ended(tuning: GcTuning) -> None:
    with tuning.paused():
        with tuning.paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_garbage_is_collected_only_after_many_new_objects_were_created(
    tuning: GcTuning, collections: list[int]
) -> None:
    tuning.freeze_once(10_000)
    few = [[number] for number in range(1_000)]
    tuning.tidy(now=1_000.0, last_view=990.0)
    assert len(few) == 1_000
    assert collections == []
    frozen = gc.get_freeze_count()
    many = [[number] for number in range(8_000)]
    assert len(many) == 8_000
    tuning.tidy(now=1_000.0, last_view=990.0)
    assert collections == [1]
    assert not gc.isenabled()
    assert gc.get_freeze_count() <= frozen
    tuning.tidy(now=1_010.0, last_view=990.0)
    assert collections == [1]


def test_objects_that_survive_several_garbage_collections_are_frozen(tuning: GcTuning, collections: list[int]) -> None:
    tuning.freeze_once(10_000)
    frozen, kept = gc.get_freeze_count(), []
    for _ in range(3):
        kept.append([[number] for number in range(8_000)])
        tuning.tidy(now=1_000.0, last_view=990.0)
    assert collections == [1, 1, 1]
    assert gc.get_freeze_count() >= frozen + 24_000
    assert len(gc.get_objects()) < 10_000
    assert len(kept) == 3


def test_untracked_objects_are_freed_when_they_are_deleted(tuning: GcTuning) -> None:
    """The garbage collector does not visit untracked objects. Deleting such an object must still release its items."""
    few = [object()]
    assert gc.is_tracked(untrack(few)), "in a small cluster, the collector must still track the data"
    tuning.freeze_once(10_000)
    reference = weakref.ref(cycle := Cycle())
    groups = {f"group-{number}": cycle for number in range(1_000)}
    names = untrack(sorted(groups))
    copied = untrack(groups.copy())
    summary = untrack(Summary(1, 2, 0, 1, ("orders",), "", 0.0))
    assert not any(gc.is_tracked(data) for data in (names, copied, summary))
    gc.collect()
    assert (len(names), copied["group-7"], summary.lag) == (1_000, cycle, 2)
    del groups, copied, cycle, names, summary
    gc.collect()
    assert reference() is None


def test_reference_cycles_are_freed_after_many_objects_were_created(tuning: GcTuning) -> None:
    tuning.freeze_once(10_000)
    reference = weakref.ref(Cycle())
    tuning.tidy(now=1_000.0, last_view=990.0)
    assert reference() is not None
    kept = [[number] for number in range(8_000)]
    tuning.tidy(now=1_000.0, last_view=990.0)
    assert len(kept) == 8_000
    assert reference() is None


def test_garbage_collection_is_postponed_until_few_new_objects_remain(tuning: GcTuning, collections: list[int]) -> None:
    """A collection that visits 60,000 new objects would take long. It starts after 52,000 of them have been freed."""
    tuning.freeze_once(10_000)
    responses = [[number] for number in range(60_000)]
    tuning.tidy(now=1_000.0, last_view=990.0)
    assert collections == []
    del responses[8_000:]
    tuning.tidy(now=1_000.0, last_view=990.0)
    assert collections == [1]


def test_many_new_objects_are_frozen_after_30_postponed_collections(tuning: GcTuning, collections: list[int]) -> None:
    """A collection that visits 60,000 new objects would take long. Collections do not visit frozen objects."""
    tuning.freeze_once(10_000)
    frozen, groups = gc.get_freeze_count(), [[number] for number in range(60_000)]
    for _ in range(30):
        tuning.tidy(now=1_000.0, last_view=900.0)
    assert gc.get_freeze_count() <= frozen
    tuning.tidy(now=1_000.0, last_view=900.0)
    assert gc.get_freeze_count() >= frozen + 60_000
    assert (collections, len(groups)) == ([], 60_000)


def test_a_pause_turns_garbage_collection_off_again_after_gc_enable(tuning: GcTuning) -> None:
    """kgtui calls `gc.enable` shortly after its start, possibly after `freeze_once` has called `gc.disable`.

    Then the next pause (`GcTuning.paused`) must disable garbage collection, and leave it disabled when the pause ends.
    """
    gc.disable()
    tuning.freeze_once(10_000)
    gc.enable()
    with tuning.paused():
        pass
    assert not gc.isenabled()


def test_automatic_garbage_collection_stays_on_below_10_000_groups(tuning: GcTuning) -> None:
    tuning.freeze_once(9_999)
    with tuning.paused():
        pass
    assert gc.isenabled()
    assert gc.get_freeze_count() == 0


def test_old_objects_are_collected_only_while_the_user_is_away(tuning: GcTuning, collections: list[int]) -> None:
    """The user counts as away if the selected and visible groups have not changed for 60 s."""
    tuning.freeze_once(10_000)
    frozen = gc.get_freeze_count()
    tuning.tidy(now=1_000.0, last_view=990.0)
    assert collections == []
    tuning.tidy(now=1_000.0, last_view=900.0)
    assert collections == [2]
    tuning.tidy(now=1_100.0, last_view=900.0)
    assert collections == [2]
    assert gc.get_freeze_count() >= frozen - 100, "frozen objects must stay frozen"


class Cycle:
    """An object in a reference cycle, which only the garbage collector frees."""

    def __init__(self) -> None:
        self.itself = self


def test_old_reference_cycles_are_freed_while_the_user_is_away(tuning: GcTuning) -> None:
    tuning.freeze_once(10_000)
    cycle = Cycle()
    reference, kept = weakref.ref(cycle), [[number] for number in range(8_000)]
    tuning.tidy(now=1_000.0, last_view=990.0)
    del cycle
    kept.extend([number] for number in range(8_000))
    tuning.tidy(now=1_000.0, last_view=990.0)
    assert reference() is not None, "the second collection must visit only new objects"
    tuning.tidy(now=1_000.0, last_view=900.0)
    assert reference() is None
    assert len(kept) == 16_000


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


def test_large_memory_blocks_are_returned_to_the_system_when_freed() -> None:
    freed = subprocess.run([sys.executable, "-c", RESIDENT + FREED], check=True, capture_output=True, text=True)
    assert int(freed.stdout) > 25_000_000


TRIMMED = """
import threading
tuning = GcTuning()
tuning.freeze_once(10_000)
blocks = [b"x" * 100_000 for _ in range(600)]
before = resident()
del blocks[:-1]  # the last one keeps the heap as long as it is
stayed = before - resident()
tuning.tidy(now=1_000.0, last_view=999.0)
for thread in threading.enumerate():
    if thread is not threading.current_thread():
        thread.join()
print(stayed, before - resident())
"""


def test_small_free_memory_blocks_are_returned_to_the_system_regularly() -> None:
    done = subprocess.run([sys.executable, "-c", RESIDENT + TRIMMED], check=True, capture_output=True, text=True)
    stayed, freed = map(int, done.stdout.split())
    assert stayed < 20_000_000
    assert freed > 30_000_000
