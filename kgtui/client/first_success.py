"""Run several coroutines at the same time, and return the first successful result or all results."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

from kgtui.errors import KgtuiError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence

T = TypeVar("T")


class AllFailedError(Exception):
    """Raised when all functions that `first_success` has run have failed.

    Attributes:
        errors: the error of each function, in the order of the argument `runners`.
    """

    def __init__(self, errors: list[KgtuiError]) -> None:
        super().__init__("; ".join(map(str, errors)))
        self.errors = errors


async def first_success(
    runners: Sequence[Callable[[], Awaitable[T]]],
    *,
    head_start: float,
    expected: tuple[type[KgtuiError], ...],
    discard: Callable[[T], None] = lambda result: None,
) -> T:
    """Run functions until one succeeds, and return its result.

    Args:
        runners: functions that return an awaitable.
        head_start: seconds between the starts of two runners. When a runner fails, the next one is started immediately.
        expected: types of errors after which the other runners continue. An error of any other type is raised
            immediately.
        discard: called with each successful result after the first one, for example to close a connection.

    Raises:
        AllFailedError: every runner failed with one of the `expected` errors.
    """
    waiting = list(enumerate(runners))[::-1]
    running: dict[asyncio.Task[T], int] = {}
    errors: dict[int, KgtuiError] = {}
    try:
        while waiting or running:
            if waiting:
                place, runner = waiting.pop()
                running[asyncio.ensure_future(runner())] = place
                if head_start <= 0:
                    continue
            pause = head_start if waiting else None
            done, _ = await asyncio.wait(running, timeout=pause, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                place = running[task]
                error = task.exception()
                if error is None:
                    del running[task]
                    return task.result()
                if not isinstance(error, expected):
                    raise error
                del running[task]
                errors[place] = error
    finally:
        await _cancel(list(running), discard)
    raise AllFailedError([errors[place] for place in sorted(errors)])


async def all_of(calls: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Run coroutines at the same time, and return their results in the order of the coroutines.

    If a coroutine fails, cancel all others and raise the error.
    """
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(call) for call in calls]
    except* KgtuiError as errors:
        failed: list[BaseException] = [*errors.exceptions]
    else:
        return [task.result() for task in tasks]
    raise failed[0]


async def _cancel(tasks: list[asyncio.Task[T]], discard: Callable[[T], None]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled() and task.exception() is None:
            discard(task.result())
