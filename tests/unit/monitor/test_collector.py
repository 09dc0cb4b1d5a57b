"""The collector stays out of the way of a large cluster, and is left as it was found."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import weakref
from typing import TYPE_CHECKING

import pytest

from kgtui.monitor.collector import Collector

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def collector() -> Iterator[Collector]:
    gc.unfreeze()  # Python 3.12 starts with a few hundred objects frozen
    before = gc.get_threshold(), gc.isenabled(), gc.get_freeze_count()
    collector = Collector()
    yield collector
    collector.release()
    assert (gc.get_threshold(), gc.isenabled(), gc.get_freeze_count()) == before


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


def test_the_collector_is_off_until_the_last_holder_leaves(collector: Collector) -> None:
    with collector.held():
        with collector.held():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


async def test_with_many_groups_it_looks_through_what_was_made_in_a_turn_of_its_own(
    collector: Collector, passes: list[int]
) -> None:
    collector.freeze_once(10_000)
    with collector.held():
        kept = [[number] for number in range(30_000)]
    del passes[:]
    assert len(kept) == 30_000
    assert not gc.isenabled()
    await asyncio.sleep(0)
    assert passes == [1]
    assert gc.isenabled()


async def test_who_holds_it_next_needs_not_wait(collector: Collector, passes: list[int]) -> None:
    collector.freeze_once(10_000)
    with collector.held():
        pass
    with collector.held():
        del passes[:]
        await asyncio.sleep(0)
        assert passes == []
        assert not gc.isenabled()


async def test_it_is_on_when_the_end_comes_before_its_turn(collector: Collector) -> None:
    collector.freeze_once(10_000)
    with collector.held():
        pass
    collector.release()
    assert gc.isenabled()


def test_a_small_cluster_changes_nothing(collector: Collector) -> None:
    before = gc.get_threshold()
    collector.freeze_once(9_999)
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0


def test_many_groups_are_frozen_once_and_full_passes_wait_until_nobody_looks(
    collector: Collector, passes: list[int]
) -> None:
    passes.clear()
    collector.freeze_once(10_000)
    assert gc.get_freeze_count() > 0
    assert 2 not in passes
    kept = [[number] for number in range(300_000)]
    assert len(kept) == 300_000
    assert 2 not in passes
    collector.tidy(now=1_000.0, looked=990.0)
    assert 2 not in passes
    collector.tidy(now=1_000.0, looked=900.0)
    assert passes.count(2) == 1
    collector.tidy(now=1_100.0, looked=900.0)
    assert passes.count(2) == 1


class Knot:
    """Garbage that reference counts alone do not free."""

    def __init__(self) -> None:
        self.itself = self


def test_garbage_of_the_first_load_is_freed_once_nobody_looks(collector: Collector) -> None:
    gc.disable()
    try:
        seen = weakref.ref(Knot())
        collector.freeze_once(10_000)
    finally:
        gc.enable()
    gc.collect()
    assert seen() is not None
    collector.tidy(now=1_000.0, looked=900.0)
    assert seen() is None
    assert gc.get_freeze_count() > 0


FREED = """
from pathlib import Path
from kgtui.monitor.collector import Collector

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

bytes(8_000_000)  # from now on glibc would keep blocks of this size in its heap
Collector().freeze_once(10_000)
blocks = [b"x" * 1_000_000 for _ in range(60)]
before = resident()
del blocks[::2]
print(before - resident())
"""


def test_large_blocks_are_given_back_at_once() -> None:
    freed = subprocess.run([sys.executable, "-c", FREED], check=True, capture_output=True, text=True).stdout
    assert int(freed) > 25_000_000
