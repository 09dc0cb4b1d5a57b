"""What the programs under measurement carry inside: CPU of every callback, and a socket to be asked through."""

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
"""CPU of one callback from which a key would notice."""


class Callbacks:
    """CPU time of every callback of the event loop.

    Attributes:
        worst: milliseconds of the longest one.
        long: name of the callback → how often it took longer than `LONG_MS`.
    """

    def __init__(self) -> None:
        self.worst = 0.0
        self.worst_name = ""
        self.count = 0
        self.long: Counter[str] = Counter()

    def reset(self) -> None:
        """Begin anew."""
        self.worst, self.worst_name, self.count = 0.0, "", 0
        self.long.clear()

    def install(self) -> None:
        """From now on, in this process."""
        run = asyncio.Handle._run
        clock = time.thread_time_ns

        def measured(handle: asyncio.Handle) -> None:
            began = clock()
            run(handle)
            took = (clock() - began) / 1e6
            self.count += 1
            if took > self.worst:
                self.worst, self.worst_name = took, _name(handle)
            if took > LONG_MS:
                self.long[_name(handle)] += 1

        asyncio.Handle._run = measured  # type: ignore[method-assign, assignment]


def _name(handle: asyncio.Handle) -> str:
    """The coroutine that a callback resumed, or the function."""
    callback: Any = getattr(handle, "_callback", None)
    task = getattr(callback, "__self__", None)
    if isinstance(task, asyncio.Task):
        coroutine: Any = task.get_coro()
        frame = getattr(coroutine, "cr_frame", None)
        line = f":{frame.f_lineno}" if frame is not None else ""
        return f"{getattr(coroutine, '__qualname__', coroutine)}{line}"
    return str(getattr(callback, "__qualname__", callback))


def listen(answer: Callable[[str, dict[str, Any]], dict[str, Any]]) -> None:
    """Answer questions that come through the socket of `KGTUI_BENCH_CONTROL`, on the running loop."""
    number = os.environ.get("KGTUI_BENCH_CONTROL")
    if number is None:
        return
    control = socket.socket(fileno=int(number))
    control.setblocking(False)
    loop = asyncio.get_running_loop()
    buffered = bytearray()

    def readable() -> None:
        with contextlib.suppress(BlockingIOError):
            some = control.recv(1 << 16)
            if not some:
                loop.remove_reader(control)
                return
            buffered.extend(some)
        while (end := buffered.find(b"\n")) >= 0:
            question = msgspec.json.decode(bytes(buffered[:end]))
            del buffered[: end + 1]
            name = question.pop("ask")
            control.send(msgspec.json.encode(answer(name, question)) + b"\n")

    loop.add_reader(control, readable)
