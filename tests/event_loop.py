"""Helpers for tests of timing in an event loop, so that these tests do not fail only because the machine is busy."""

from __future__ import annotations

import asyncio
import functools
import inspect
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

_STEP = 0.02

_FACTORS = (1, 6, 36)


def longer_if_busy(timeout: float) -> Callable[[Callable[..., Awaitable[None]]], Callable[..., Awaitable[None]]]:
    """Return a decorator that repeats a failed test with a longer timeout: 6 × `timeout`, then 36 × `timeout`.

    The decorator is for tests whose timeout is so short that they can fail on a busy machine. The test gets the timeout
    of the current run as its argument `timeout`, in seconds.
    """

    def decorate(test: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
        @functools.wraps(test)
        async def run(*arguments: Any, **fixtures: Any) -> None:
            for factor in _FACTORS[:-1]:
                try:
                    return await test(*arguments, **fixtures, timeout=timeout * factor)
                except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001 - the test is run again
                    print(f"failed with a timeout of {timeout * factor:g} s: {error!r}")  # noqa: T201
            return await test(*arguments, **fixtures, timeout=timeout * _FACTORS[-1])

        # Remove `timeout` from the signature. Otherwise, pytest would look for a fixture with this name.
        signature = inspect.signature(test)
        others = [parameter for name, parameter in signature.parameters.items() if name != "timeout"]
        run.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return run

    return decorate


@asynccontextmanager
async def counting_sleeps(seconds: float) -> AsyncIterator[Callable[[], int]]:
    """Yield a function that returns how many sleeps of `seconds` seconds a background task has completed."""
    number = 0

    async def count() -> None:
        nonlocal number
        while True:
            await asyncio.sleep(seconds)
            number += 1

    counting = asyncio.create_task(count())
    try:
        yield lambda: number
    finally:
        counting.cancel()
        await asyncio.gather(counting, return_exceptions=True)


@asynccontextmanager
async def counting_waits() -> AsyncIterator[Callable[[], float]]:
    """Yield a function that estimates how many seconds have passed since the `with` block began.

    The function counts completed sleeps of 20 ms. On a busy machine, the estimate is lower than the real time.
    """
    async with counting_sleeps(_STEP) as steps:
        yield lambda: steps() * _STEP
