"""Cooperative slicing: run long computations in short slices, so that the event loop can handle keys in between.

A computation is a generator that yields wherever it may be interrupted, and returns its result.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

T = TypeVar("T")

SLICE = 1_000
"""Groups or rows that a computation handles before it yields."""
PAUSE = 0.002
"""Pause between two slices, in seconds. Zero would not do, because a key needs several turns of the event loop."""


class SupersededError(Exception):
    """The computation was stopped because its result is not needed any more."""


def run_at_once(steps: Generator[None, None, T]) -> T:
    """Run a computation to its end without a pause, and return its result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result


class Slices:
    """Runs computations on the event loop, with a pause whenever a slice has taken its time."""

    def __init__(
        self,
        sleep: Callable[[float], Awaitable[None]],
        seconds: float,
        still_needed: Callable[[], bool] = lambda: True,
    ) -> None:
        """Begin the first slice.

        Args:
            sleep: `asyncio.sleep`, which this package may not import.
            seconds: length of a slice.
            still_needed: asked after every pause; once it returns False, the computation is stopped.
        """
        self._sleep = sleep
        self._seconds = seconds
        self._still_needed = still_needed
        self._began = perf_counter()
        self._spent = 0.0

    async def run(self, steps: Generator[None, None, T]) -> T:
        """Run a computation and return its result. Raises `SupersededError` once it is not needed any more."""
        while True:
            try:
                next(steps)
            except StopIteration as end:
                result: T = end.value
                return result
            if perf_counter() - self._began > self._seconds:
                await self.pause()

    async def pause_if_due(self) -> None:
        """Pause if the current slice has taken its time."""
        if perf_counter() - self._began > self._seconds:
            await self.pause()

    async def pause(self) -> None:
        """End the current slice, let other tasks run, and begin the next slice."""
        self._spent += perf_counter() - self._began
        await self._sleep(PAUSE)
        if not self._still_needed():
            raise SupersededError
        self._began = perf_counter()

    @property
    def spent(self) -> float:
        """Seconds of all slices until now, without the pauses."""
        return self._spent + perf_counter() - self._began
