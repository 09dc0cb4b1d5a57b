"""Work over many groups in slices, with a real pause between them so that a key never waits for it."""

from __future__ import annotations

import asyncio
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

T = TypeVar("T")

SLICE_SECONDS = 0.004
PAUSE_SECONDS = 0.002
"""A pause of 0 bounds the stall but not a key's latency: a key needs several turns of the loop."""


class Superseded(Exception):
    """The work was begun for something that the user has changed since."""


async def sliced(steps: Generator[None, None, T], valid: Callable[[], bool]) -> T:
    """Run a generator to its end, pausing every few milliseconds. Raises `Superseded` once `valid()` is false."""
    began = perf_counter()
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
        if perf_counter() - began > SLICE_SECONDS:
            await asyncio.sleep(PAUSE_SECONDS)
            if not valid():
                raise Superseded
            began = perf_counter()


def drained(steps: Generator[None, None, T]) -> T:
    """Run a generator to its end at once; for few groups."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result
