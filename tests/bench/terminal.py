"""A program on a pseudo-terminal: keys go in, and it is told when which bytes came out."""

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
SYNCHRONIZED_QUERY, SYNCHRONIZED_ANSWER = b"\x1b[?2026$p", b"\x1b[?2026;2$y"
"""Whether the terminal can hold a frame back until it is whole; one that cannot is not ours to measure."""


class Usage(NamedTuple):
    """What a process has used, by the kernel's books.

    Attributes:
        cpu: seconds of CPU since it began.
        resident: bytes in memory now.
    """

    cpu: float
    resident: int


class Terminal:
    """A program in a pseudo-terminal of 120×40 that answers what a terminal must answer.

    Args:
        module: run as `python -m module`.
        control: give it a socket, whose number is in `KGTUI_BENCH_CONTROL`, to be asked through `ask`.
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
        env.pop("PYTHONDONTWRITEBYTECODE", None)  # what is installed was compiled once; so is what is measured
        if control:
            env["KGTUI_BENCH_CONTROL"] = str(far.fileno())
        self.began = time.perf_counter()
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

    # Keys and bytes

    def press(self, keys: bytes) -> float:
        """Send keys; when that was."""
        pressed = time.perf_counter()
        os.write(self._pty, keys)
        return pressed

    @property
    def written(self) -> int:
        """How many bytes the program wrote so far."""
        return len(self._output)

    def wait_for(self, pattern: bytes, *, since: int = 0, timeout: float = 60.0) -> float:
        """When the last byte of a pattern arrived that came after `since` bytes.

        Raises:
            TimeoutError: it did not come in time, or the program ended; carries the end of what it wrote.
        """
        wanted = re.compile(pattern)
        end = time.perf_counter() + timeout
        with self._arrived:
            while True:
                found = wanted.search(self._output, since)
                if found is not None:
                    return next(at for length, at in reversed(self._marks_until(found.end())) if length >= found.end())
                left = end - time.perf_counter()
                if left <= 0 or self._ended:
                    state = "ended" if self._ended else "still runs"
                    raise TimeoutError(f"no {pattern!r}; the program {state}; its end: {bytes(self._output[-3000:])!r}")
                self._arrived.wait(left)

    def _marks_until(self, position: int) -> list[tuple[int, float]]:
        """The arrivals from the newest back to the one that brought `position`."""
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
                some = os.read(self._pty, 1 << 16)
            except OSError:
                some = b""
            now = time.perf_counter()
            with self._arrived:
                if not some:
                    self._ended = True
                    self._arrived.notify_all()
                    return
                self._output += some
                self._marks.append((len(self._output), now))
                self._arrived.notify_all()
            asked = self._output.find(SYNCHRONIZED_QUERY, seen)
            if asked >= 0:
                seen = asked + len(SYNCHRONIZED_QUERY)
                os.write(self._pty, SYNCHRONIZED_ANSWER)

    # The process

    def ask(self, question: str, **parameters: Any) -> dict[str, Any]:
        """Ask the program through its socket."""
        self._control.sendall(msgspec.json.encode({"ask": question, **parameters}) + b"\n")
        line = self._lines.readline()
        if not line:
            raise TimeoutError(f"the program is gone; its end: {bytes(self._output[-3000:])!r}")
        answer: dict[str, Any] = msgspec.json.decode(line)
        return answer

    def usage(self) -> Usage:
        """What the process has used so far."""
        return usage(self._process.pid)

    def stop(self) -> None:
        """End the program."""
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
    """What a process has used so far."""
    ticks = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="utf-8").split()[1])
    return Usage((int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK"), pages * os.sysconf("SC_PAGE_SIZE"))
