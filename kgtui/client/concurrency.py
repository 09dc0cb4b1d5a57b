"""Run several coroutines at the same time, and blocking functions in a thread."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

from kgtui.errors import KgtuiError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence

T = TypeVar("T")


class DaemonThread:
    """Runs blocking functions one after the other in a daemon thread.

    The thread ends when no function is waiting, and the next call of `run` starts a new thread. Unlike the threads of
    `asyncio.to_thread`, a daemon thread does not delay the exit of the process.

    Args:
        name: name of the thread, for debuggers.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._lock = threading.Lock()
        self._is_running = False

    async def run(self, work: Callable[[], T]) -> T:
        """Run the function `work` in the daemon thread, and return its result.

        If the caller is canceled before `work` has started, `work` does not run.
        """
        future: Future[T] = Future()
        with self._lock:
            self._jobs.append((future, work))
            start, self._is_running = not self._is_running, True
        if start:
            threading.Thread(target=self._run_jobs, daemon=True, name=self._name).start()
        return await asyncio.wrap_future(future)

    def _run_jobs(self) -> None:
        while True:
            with self._lock:
                if not self._jobs:
                    self._is_running = False
                    return
                future, work = self._jobs.popleft()
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(work())
                except BaseException as error:  # noqa: BLE001 - the caller receives the error
                    future.set_exception(error)


class AllFailedError(Exception):
    """Raised by `first_success` if all functions have failed.

    Attributes:
        errors: one error per function, in the order of the functions.
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
    """Run several async functions. Return the result of the first one that succeeds, and cancel the others.

    Args:
        runners: the functions, in the order in which they are started.
        head_start: seconds from the start of one function to the start of the next; 0 starts all functions at the same
            time. If a function fails, the next function starts immediately.
        expected: types of errors after which the other functions continue. Any other error is raised immediately.
        discard: function that is called with each result that is not returned, for example to close a connection. There
            can be such results, because a second function can succeed before it is canceled.

    Raises:
        AllFailedError: all functions failed with errors of the types in `expected`.
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
    """Run coroutines (`calls`) at the same time, and return their results in the same order.

    If a coroutine raises a KgtuiError, the other coroutines are canceled, and this error is raised.
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
