"""Tests of cooperative slicing: long computations pause regularly, so that other asyncio tasks can run."""

from __future__ import annotations

import asyncio
from time import sleep
from typing import TYPE_CHECKING

import pytest

from kgtui.model.slices import PAUSE, Slices, SupersededError, run_at_once

if TYPE_CHECKING:
    from collections.abc import Generator


def count_to(number: int, *, seconds: float = 0.0) -> Generator[None, None, int]:
    for _ in range(number):
        sleep(seconds)
        yield
    return number


def test_computation_that_runs_without_pauses_returns_its_result() -> None:
    assert run_at_once(count_to(3)) == 3


async def test_long_computation_pauses_so_that_other_asyncio_tasks_run() -> None:
    pauses: list[float] = []

    async def record_pause(seconds: float) -> None:
        pauses.append(seconds)
        await asyncio.sleep(0)

    slices = Slices(record_pause, 0.001)
    assert await slices.run(count_to(3, seconds=0.002)) == 3
    assert pauses == [PAUSE] * 3
    assert slices.spent >= 0.006


async def test_short_computation_does_not_pause_for_other_tasks() -> None:
    async def fail(_: float) -> None:
        pytest.fail("a short computation paused")

    slices = Slices(fail, 60.0)
    assert await slices.run(count_to(1_000)) == 1_000
    await slices.pause_if_due()


async def test_a_computation_stops_when_its_result_is_no_longer_needed() -> None:
    with pytest.raises(SupersededError):
        await Slices(asyncio.sleep, 0.0, lambda: False).run(count_to(3))
