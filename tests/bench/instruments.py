"""Code that runs inside the measured programs: it measures CPU times, and responds to requests of the benchmark."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable

LONG_MS = 20.0
"""Maximum CPU time of a callback in milliseconds. Users can notice the delay if a callback uses more CPU time."""


FAST_SWEEP = 10
"""Factor by which kgtui reads groups faster in the background after the request `hurry`.

At the normal speed, the first read of 100,000 groups takes at least 100 s.
"""


class Callbacks:
    """CPU times of the event loop's callbacks since the last `reset`.

    Attributes:
        worst: CPU milliseconds of the longest callback.
        count: number of callback calls.
        long: callback name → number of calls that used more CPU milliseconds than `LONG_MS`.
    """

    def __init__(self) -> None:
        self.worst = 0.0
        self.worst_name = ""
        self.count = 0
        self.long: Counter[str] = Counter()

    def reset(self) -> None:
        """Set all counts and times to zero."""
        self.worst, self.worst_name, self.count = 0.0, "", 0
        self.long.clear()

    def install(self) -> None:
        """Start to measure all callbacks of this process."""
        run = asyncio.Handle._run
        clock = time.thread_time_ns

        def measured(handle: asyncio.Handle) -> None:
            started = clock()
            run(handle)
            milliseconds = (clock() - started) / 1e6
            self.count += 1
            if milliseconds > self.worst:
                self.worst, self.worst_name = milliseconds, _name(handle)
            if milliseconds > LONG_MS:
                self.long[_name(handle)] += 1

        asyncio.Handle._run = measured  # type: ignore[method-assign, assignment]


def _name(handle: asyncio.Handle) -> str:
    """Return the name of a callback's function.

    If the callback resumes a coroutine, return the name of the coroutine and the line at which it is suspended.
    """
    callback: Any = getattr(handle, "_callback", None)
    task = getattr(callback, "__self__", None)
    if isinstance(task, asyncio.Task):
        coroutine: Any = task.get_coro()
        frame = getattr(coroutine, "cr_frame", None)
        line = f":{frame.f_lineno}" if frame is not None else ""
        return f"{getattr(coroutine, '__qualname__', coroutine)}{line}"
    return str(getattr(callback, "__qualname__", callback))


def listen(respond: Callable[[str, dict[str, Any]], dict[str, Any]]) -> None:
    """Respond to requests that the benchmark sends through a socket.

    The environment variable `KGTUI_BENCH_CONTROL` contains the number of the socket's file descriptor. If the variable
    is not set, do nothing.

    Args:
        respond: takes the name and parameters of a request, and returns the response.
    """
    number = os.environ.get("KGTUI_BENCH_CONTROL")
    if number is None:
        return
    control = socket.socket(fileno=int(number))
    control.setblocking(False)
    loop = asyncio.get_running_loop()
    buffered = bytearray()

    def readable() -> None:
        with contextlib.suppress(BlockingIOError):
            data = control.recv(1 << 16)
            if not data:
                loop.remove_reader(control)
                return
            buffered.extend(data)
        while (end := buffered.find(b"\n")) >= 0:
            request = msgspec.json.decode(bytes(buffered[:end]))
            del buffered[: end + 1]
            name = request.pop("name")
            control.send(msgspec.json.encode(respond(name, request)) + b"\n")

    loop.add_reader(control, readable)
