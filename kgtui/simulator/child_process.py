"""Run a simulated cluster in a child process that ends when its parent process ends."""

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
"""Maximum time from the start of the child process until it is ready, in seconds."""

STOP_SECONDS = 5.0
"""Maximum time from closing the child process's stdin until it exits, in seconds. A slower process is killed."""


class SimulatorError(KgtuiError):
    """Raised if a simulated cluster in a child process did not start, has ended, or did not execute a command."""


class SimulatorProcess:
    """A simulated cluster in a child process. The process is stopped at the end of a `with` block.

    Attributes:
        bootstrap: addresses of all brokers, separated by commas: `host:port,host:port`.
        ready: JSON object that the process printed when the cluster was ready, with the keys `ready`, `bootstrap`,
            `brokers`, `groups` and `cluster_id`.
    """

    def __init__(self, process: subprocess.Popen[str], timeout: float = START_SECONDS) -> None:
        self._process = process
        self._lines: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._lock = threading.Lock()
        if process.stdout is None or process.stdin is None:
            raise SimulatorError("the stdin and stdout of the simulated cluster's process must be pipes")
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
        """Process id of the cluster."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the process of the cluster is still running."""
        return self._process.poll() is None

    def control(self, do: str, timeout: float = 10.0, **parameters: Any) -> dict[str, Any]:
        """Let the child process execute the command `do`. Return the response, a JSON object.

        For example, `control("black_hole", node=2)` calls `Faults.black_hole(node=2)` in the child process.
        The commands are:
        - the methods of `Faults` whose names are in `FAULT_COMMANDS`
        - the method `advance` of `Simulator`; it always fails, because the child process has no `ManualClock`
        - the methods `remove_group` and `delete_topic` of `ClusterState`
        - `coordinator`: has the parameter `group`, a group id. The response contains `node`, the node id of the group's
          coordinator.
        - `stats`: has no parameters. The response contains `requests` (node id → number of requests that the broker has
          begun to process), `connections` (node id → number of open connections), `served` (API key → number of
          processed requests), and `time` (seconds since the start of the cluster).

        Args:
            timeout: maximum time until the response, in seconds.
            parameters: the parameters of the command.

        Raises:
            SimulatorError: the command failed or timed out, or the process has ended.
        """
        with self._lock:
            try:
                self._stdin.write(json.dumps({"do": do, **parameters}) + "\n")
                self._stdin.flush()
            except (OSError, ValueError) as err:
                raise SimulatorError("the simulated cluster has ended") from err
            result = self._line(timeout)
        if not result.get("ok"):
            raise SimulatorError(str(result.get("error")))
        return result

    def stop(self) -> None:
        """Stop the process of the cluster, if it is still running."""
        # Closing stdin also flushes it, which raises an OSError if the process has already ended. Ignore this error.
        with contextlib.suppress(OSError):
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
            raise SimulatorError(f"the simulated cluster did not respond within {timeout:g} s") from err
        if not line:
            self._lines.put("")
            raise SimulatorError("the simulated cluster has ended")
        value = json.loads(line)
        return value if isinstance(value, dict) else {}


def spawn(options: Options | None = None, *, timeout: float = START_SECONDS) -> SimulatorProcess:
    """Start a cluster in a child process and wait until it is ready.

    Raises:
        SimulatorError: the cluster did not start, or was not ready within `timeout` seconds.
    """
    command = [sys.executable, "-m", "kgtui.simulator", "--control", *(options or Options()).arguments()]
    home = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(part for part in (home, os.environ.get("PYTHONPATH", "")) if part)
    # Start the process in a new session of the operating system, so that Ctrl+C or a closed terminal does not stop it.
    # It still ends together with its parent process, because it exits when its stdin is closed.
    process = subprocess.Popen(  # noqa: S603 - this interpreter, with arguments of kgtui
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
