"""Run a program in a pseudo-terminal, send keys to it, and record the times at which its output arrives."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import socket
import struct
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any, Self

COLUMNS, ROWS = 120, 40
HOME = Path(__file__).parents[2]
"""Root folder of the repository."""

SYNCHRONIZED_QUERY, SYNCHRONIZED_RESPONSE = b"\x1b[?2026$p", b"\x1b[?2026;2$y"
"""Bytes with which a program asks whether the terminal supports synchronized output, and the response "yes"."""

GROUPS_SHOWN = rb"classic|consumer"
"""Regular expression that kgtui's output matches as soon as its tree shows groups: names of nodes in this tree."""

BARE_APP_READY = rb"<000000>"
"""Regular expression for the first frame of `bare_app`, in which the number of pressed keys is 0."""


class Usage(NamedTuple):
    """Resource usage of a process: CPU seconds since its start, and resident memory in bytes."""

    cpu: float
    resident: int


class Terminal:
    """A program that runs in a pseudo-terminal of 120×40 cells.

    Args:
        module: module to run with `python -m`.
        control: whether the program gets a socket, through which the method `ask` sends requests. The environment
            variable `KGTUI_BENCH_CONTROL` contains the number of the socket's file descriptor.
    """

    def __init__(
        self,
        module: str,
        arguments: Sequence[str] = (),
        *,
        environment: Mapping[str, str] | None = None,
        control: bool = True,
    ) -> None:
        here, there = pty.openpty()
        fcntl.ioctl(there, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self._control, far = socket.socketpair()
        self._control.settimeout(120)
        self._pty = here
        self._output = bytearray()
        self._marks: list[tuple[int, float]] = []
        self._arrived = threading.Condition()
        self._ended = False
        env = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor", **(environment or {})}
        env.pop("PYTHONDONTWRITEBYTECODE", None)  # Let Python cache byte code, as it does on a user's machine.
        if control:
            env["KGTUI_BENCH_CONTROL"] = str(far.fileno())
        self.started = time.perf_counter()
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdin=there,
            stdout=there,
            stderr=there,
            cwd=HOME,
            env=env,
            start_new_session=True,
            pass_fds=(far.fileno(),) if control else (),
        )
        os.close(there)
        far.close()
        self._lines = self._control.makefile("rb")
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def press(self, keys: bytes) -> float:
        """Send keys; return the time at which they were sent, as a value of `time.perf_counter`."""
        pressed = time.perf_counter()
        os.write(self._pty, keys)
        return pressed

    @property
    def written(self) -> int:
        """Number of bytes that the program has written."""
        return len(self._output)

    def wait_for(self, pattern: bytes, *, since: int = 0, timeout: float = 60.0) -> float:
        """Wait until the output matches `pattern`. Ignore the first `since` bytes of the output.

        Returns:
            Time when the last byte of the match arrived, as a value of `time.perf_counter`.

        Raises:
            TimeoutError: the output did not match within `timeout` seconds, or before the program ended.
        """
        expression = re.compile(pattern)
        end = time.perf_counter() + timeout
        with self._arrived:
            while True:
                found = expression.search(self._output, since)
                if found is not None:
                    return next(at for length, at in reversed(self._marks_until(found.end())) if length >= found.end())
                left = end - time.perf_counter()
                if left <= 0 or self._ended:
                    state = "has ended" if self._ended else "is still running"
                    output = bytes(self._output[-3000:])
                    raise TimeoutError(
                        f"the output did not match {pattern!r}; the program {state}; end of its output: {output!r}"
                    )
                self._arrived.wait(left)

    def _marks_until(self, position: int) -> list[tuple[int, float]]:
        """Return the chunks of output that end at or after byte `position`, newest first.

        Each chunk is `(position of its end in the output, time of arrival)`.
        """
        found: list[tuple[int, float]] = []
        for mark in reversed(self._marks):
            if mark[0] < position:
                break
            found.append(mark)
        return found

    def _read(self) -> None:
        seen = 0
        while True:
            try:
                data = os.read(self._pty, 1 << 16)
            except OSError:
                data = b""
            now = time.perf_counter()
            with self._arrived:
                if not data:
                    self._ended = True
                    self._arrived.notify_all()
                    return
                self._output += data
                self._marks.append((len(self._output), now))
                self._arrived.notify_all()
            asked = self._output.find(SYNCHRONIZED_QUERY, seen)
            if asked >= 0:
                seen = asked + len(SYNCHRONIZED_QUERY)
                os.write(self._pty, SYNCHRONIZED_RESPONSE)

    def ask(self, request: str, **parameters: Any) -> dict[str, Any]:
        """Send a request to the program through the socket, and return the response."""
        self._control.sendall(msgspec.json.encode({"name": request, **parameters}) + b"\n")
        line = self._lines.readline()
        if not line:
            raise TimeoutError(f"the program has exited; end of its output: {bytes(self._output[-3000:])!r}")
        response: dict[str, Any] = msgspec.json.decode(line)
        return response

    def usage(self) -> Usage:
        """Return the CPU time and the memory of the program."""
        return usage(self._process.pid)

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(5)
        self._lines.close()
        self._control.close()
        os.close(self._pty)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


def usage(pid: int) -> Usage:
    """Return the CPU time and the memory of process `pid`."""
    ticks = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="utf-8").split()[1])
    return Usage((int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK"), pages * os.sysconf("SC_PAGE_SIZE"))
