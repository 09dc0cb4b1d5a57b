"""A cluster in a process of its own, which ends when the process that started it does."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kgtui.errors import KgtuiError
from kgtui.simulator.options import Options

if TYPE_CHECKING:
    from types import TracebackType
    from typing import IO, Self

START_SECONDS = 60.0
STOP_SECONDS = 5.0


class SimulatorError(KgtuiError):
    """The cluster's process did not start, ended, or refused an order."""


class SimulatorProcess:
    """A running cluster; as a context manager, it stops at the end.

    Attributes:
        bootstrap: addresses of all brokers, `host:port,host:port`.
        ready: what the process said when it was ready: brokers, number of groups, cluster id.
    """

    def __init__(self, process: subprocess.Popen[str], timeout: float = START_SECONDS) -> None:
        self._process = process
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._orders = threading.Lock()
        if process.stdout is None or process.stdin is None:
            raise SimulatorError("the cluster's process has no pipes")
        self._stdin = process.stdin
        self._reader = threading.Thread(target=self._read, args=(process.stdout,), daemon=True)
        self._reader.start()
        try:
            self.ready = self._line(timeout)
        except SimulatorError:
            self.stop()
            raise
        if not self.ready.get("ready"):
            self.stop()
            raise SimulatorError(f"the simulated cluster did not start: {self.ready.get('error')}")
        self.bootstrap: str = self.ready["bootstrap"]

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the process lives."""
        return self._process.poll() is None

    def control(self, do: str, timeout: float = 10.0, **parameters: Any) -> dict[str, Any]:
        """Give an order, such as `control("black_hole", node=2)`; returns the answer.

        The orders are the methods of `Faults`, and `advance`, `remove_group`, `delete_topic`, `coordinator`, `stats`.

        Raises:
            SimulatorError: it was refused, or the process is gone.
        """
        with self._orders:
            try:
                self._stdin.write(json.dumps({"do": do, **parameters}) + "\n")
                self._stdin.flush()
            except (OSError, ValueError) as err:
                raise SimulatorError("the simulated cluster is gone") from err
            answer = self._line(timeout)
        if not answer.get("ok"):
            raise SimulatorError(str(answer.get("error")))
        return answer

    def stop(self) -> None:
        """End the process; does nothing when it has ended."""
        with contextlib.suppress(OSError):  # what was still to be written needs no reader any more
            self._stdin.close()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(STOP_SECONDS)
        if self._process.stdout is not None:
            self._process.stdout.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _read(self, stdout: IO[str]) -> None:
        for line in stdout:
            self._lines.put(line)
        self._lines.put("")

    def _line(self, timeout: float) -> dict[str, Any]:
        try:
            line = self._lines.get(timeout=timeout)
        except queue.Empty as err:
            raise SimulatorError(f"the simulated cluster said nothing within {timeout:g} s") from err
        if not line:
            self._lines.put("")
            raise SimulatorError("the simulated cluster ended")
        answer = json.loads(line)
        return answer if isinstance(answer, dict) else {}


def spawn(options: Options | None = None, *, timeout: float = START_SECONDS) -> SimulatorProcess:
    """Start a cluster in a process of its own and wait until it is ready.

    Raises:
        SimulatorError: it did not start within `timeout` seconds, with the reason (a port that is taken).
    """
    command = [sys.executable, "-m", "kgtui.simulator", "--control", *(options or Options()).arguments()]
    home = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(part for part in (home, os.environ.get("PYTHONPATH", "")) if part)
    # A session of its own keeps the terminal's Ctrl-C and hang-up away from it: it ends when its stdin does.
    process = subprocess.Popen(  # noqa: S603 - our own interpreter and arguments
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": path},
    )
    return SimulatorProcess(process, timeout)
