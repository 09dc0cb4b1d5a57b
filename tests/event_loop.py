"""Measure times in the event loop of a test, in a way that does not depend on how busy the machine is."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

_STEP = 0.02


@asynccontextmanager
async def counting_waits() -> AsyncIterator[Callable[[], float]]:
    """Yield a function that returns how long the event loop has waited since the start of the block, in seconds.

    It counts sleeps of 20 ms. On a busy machine, a sleep takes longer, so the result is never greater than the elapsed
    time, and is less if the process had to wait for the CPU.
    """
    steps = 0

    async def count() -> None:
        nonlocal steps
        while True:
            await asyncio.sleep(_STEP)
            steps += 1

    counting = asyncio.create_task(count())
    try:
        yield lambda: steps * _STEP
    finally:
        counting.cancel()
        await asyncio.gather(counting, return_exceptions=True)
