"""Run blocking functions in a thread that does not delay the exit of the process.

`asyncio.to_thread` is not used for such functions, because `asyncio.run` waits at its end for all threads of asyncio.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


class DaemonThread:
    """Runs functions one after the other in a daemon thread, which ends when no function is left to run.

    Args:
        name: name of the thread, for debuggers.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: deque[tuple[Future[Any], Callable[[], Any]]] = deque()
        self._lock = threading.Lock()
        self._is_running = False

    async def run(self, work: Callable[[], T]) -> T:
        """Run `work` in the thread, and return its result. If this call is cancelled first, `work` does not run."""
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
