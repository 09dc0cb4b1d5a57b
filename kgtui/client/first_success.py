"""Asking several for the same, and taking the first good answer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

from kgtui.errors import KgtuiError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence

T = TypeVar("T")


class AllFailedError(Exception):
    """None succeeded; `errors` are in the order in which they were to be asked."""

    def __init__(self, errors: list[KgtuiError]) -> None:
        super().__init__("; ".join(map(str, errors)))
        self.errors = errors


async def first_success(
    runners: Sequence[Callable[[], Awaitable[T]]],
    *,
    head_start: float,
    losing: tuple[type[KgtuiError], ...],
    discard: Callable[[T], None] = lambda result: None,
) -> T:
    """Run until one succeeds and return its result.

    Each runner starts `head_start` seconds after the one before it, or at once when one has failed: a silent one
    delays the next by no more than that. Results that come too late go to `discard`.

    Raises AllFailedError with the errors of all; an error that is not in `losing` at once.
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
                if not isinstance(error, losing):
                    raise error
                del running[task]
                errors[place] = error
    finally:
        await _dismiss(list(running), discard)
    raise AllFailedError([errors[place] for place in sorted(errors)])


async def all_of(calls: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Run all at once and return their results in order; when one fails, end the others and raise its error."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(call) for call in calls]
    except* KgtuiError as errors:
        failed: list[BaseException] = [*errors.exceptions]
    else:
        return [task.result() for task in tasks]
    raise failed[0]


async def _dismiss(tasks: list[asyncio.Task[T]], discard: Callable[[T], None]) -> None:
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled() and task.exception() is None:
            discard(task.result())
