"""Runs long computations in short slices, so that the event loop can handle key presses.

A computation is a generator. It yields wherever it can be interrupted, and returns its result at the end.
"""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

T = TypeVar("T")

SLICE = 1_000
"""Number of groups or table rows that a computation handles before it yields."""
PAUSE = 0.002
"""Pause between two slices of a computation, in seconds.

A pause of 0 would last only one iteration of the event loop, but handling a key press takes several iterations.
"""


class SupersededError(Exception):
    """A computation was stopped because its result is not needed any more."""


def run_at_once(steps: Generator[None, None, T]) -> T:
    """Run a computation to its end without a pause, and return its result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            result: T = end.value
            return result


class Slices:
    """Runs computations in slices of limited duration. Between two slices, other tasks can run."""

    def __init__(
        self,
        sleep: Callable[[float], Awaitable[None]],
        seconds: float,
        still_needed: Callable[[], bool] = lambda: True,
    ) -> None:
        """Begin the first slice, so that its duration counts from now, even if `run` is called later.

        Args:
            sleep: the function `asyncio.sleep`. It is an argument, because modules in `kgtui.model` must not import
                asyncio, so that they work without an event loop.
            seconds: maximum duration of a slice.
            still_needed: called after every pause. If it returns False, the computation ends with `SupersededError`.
        """
        self._sleep = sleep
        self._seconds = seconds
        self._still_needed = still_needed
        self._began = perf_counter()
        self._spent = 0.0

    async def run(self, steps: Generator[None, None, T]) -> T:
        """Run a computation and return its result. Raises `SupersededError` if the result is not needed any more."""
        while True:
            try:
                next(steps)
            except StopIteration as end:
                result: T = end.value
                return result
            if perf_counter() - self._began > self._seconds:
                await self.pause()

    async def pause_if_due(self) -> None:
        """Call `pause` if the current slice has reached its maximum duration."""
        if perf_counter() - self._began > self._seconds:
            await self.pause()

    async def pause(self) -> None:
        """End the current slice, let other tasks run, and begin the next slice.

        Raises:
            SupersededError: the result of the computation is not needed any more.
        """
        self._spent += perf_counter() - self._began
        await self._sleep(PAUSE)
        if not self._still_needed():
            raise SupersededError
        self._began = perf_counter()

    @property
    def spent(self) -> float:
        """Total duration of all slices until now, in seconds, without the pauses between them."""
        return self._spent + perf_counter() - self._began
