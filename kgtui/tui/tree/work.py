"""Work over many groups in slices, with a real pause between them so that a key never waits for it."""

from __future__ import annotations

import asyncio
from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

T = TypeVar("T")

SLICE_SECONDS = 0.004
AWAITED_SLICE_SECONDS = 0.012
"""What the user has just asked for, such as a filter, may hold up the next key for a little longer."""
PAUSE_SECONDS = 0.002
"""A pause of 0 bounds the stall but not a key's latency: a key needs several turns of the loop."""


class Superseded(Exception):
    """The work was begun for something that the user has changed since."""


class Slices:
    """Runs generators to their end, pausing every few milliseconds."""

    def __init__(self, valid: Callable[[], bool], *, awaited: bool) -> None:
        """Work for as long as `valid()` is true; `awaited`: the user waits for it."""
        self._valid = valid
        self._slice = AWAITED_SLICE_SECONDS if awaited else SLICE_SECONDS
        self._began = perf_counter()

    async def __call__(self, steps: Generator[None, None, T]) -> T:
        """The generator's result. Raises `Superseded` once the work is not valid."""
        while True:
            try:
                next(steps)
            except StopIteration as end:
                result: T = end.value
                return result
            if perf_counter() - self._began > self._slice:
                await asyncio.sleep(PAUSE_SECONDS)
                if not self._valid():
                    raise Superseded
                self._began = perf_counter()
