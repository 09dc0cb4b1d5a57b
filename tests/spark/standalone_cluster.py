"""Start a standalone Spark cluster on the loopback interface: a master process and a worker process.

PySpark's script `spark-class` starts both processes.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

import pyspark

if TYPE_CHECKING:
    from types import TracebackType

_TIMEOUT = 120.0
"""Maximum time until the master listens, in seconds. The worker has the same time to register with the master."""


class StandaloneCluster:
    """A context manager that runs a Spark master, and a worker with two executors of one core each.

    For the worker and its executors, `python3` is a script that counts its runs and then starts Python.

    Args:
        folder: folder for the script, the logs and the files of the executors.
        bare: whether this Python runs without site-packages, so that pyarrow and kgtui are missing.

    Attributes:
        url: URL of the master: `spark://127.0.0.1:PORT`.
    """

    def __init__(self, folder: Path, *, bare: bool = False) -> None:
        self._folder = folder
        self._python = f"'{sys.executable}' -S" if bare else f"'{sys.executable}'"
        self._processes: list[subprocess.Popen[bytes]] = []
        self.url = ""

    @property
    def python_starts(self) -> int:
        """How many times the script `python3` was started."""
        log = self._folder / "python-starts"
        return len(log.read_text().splitlines()) if log.exists() else 0

    @property
    def executors(self) -> int:
        """How many executors the worker has started so far, for all applications."""
        return len(list((self._folder / "work").glob("app-*/[0-9]*")))

    def kill_executor(self) -> int:
        """Kill one of the running executors, and return its process id. The worker starts another executor instead."""
        worker = self._processes[-1].pid
        for children in Path(f"/proc/{worker}/task").glob("*/children"):
            for child in children.read_text().split():
                if b"CoarseGrainedExecutorBackend" in Path(f"/proc/{child}/cmdline").read_bytes():
                    os.kill(int(child), signal.SIGKILL)
                    return int(child)
        raise ProcessLookupError("the worker runs no executor")

    def __enter__(self) -> Self:
        script = self._folder / "bin" / "python3"
        script.parent.mkdir(parents=True)
        script.write_text(f"#!/bin/sh\necho start >> '{self._folder}/python-starts'\nexec {self._python} \"$@\"\n")
        script.chmod(0o755)
        ports = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        try:
            found = self._start("master.Master", *ports, ready=r"Starting Spark master at (spark://\S+)")
            self.url = found[1]
            work = ("--cores", "2", "--memory", "2g", "--work-dir", str(self._folder / "work"))
            self._start("worker.Worker", *ports, *work, self.url, ready="Successfully registered with master")
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop the worker, and then the master. The worker also stops its executors."""
        for process in reversed(self._processes):
            process.terminate()
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._processes.clear()

    def _start(self, main: str, *words: str, ready: str) -> re.Match[str]:
        """Start a Spark master or worker, wait until its log matches `ready`, and return the match.

        Args:
            main: class of the program, without the prefix `org.apache.spark.deploy.`.
            words: arguments of the program.
            ready: regular expression for the log line that says that the program is ready.

        Raises:
            TimeoutError: the log did not match in time, or the program has exited.
        """
        log = self._folder / f"{main}.log"
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK", "PYSPARK"))}
        environment |= {
            "PATH": f"{self._folder / 'bin'}:{os.environ['PATH']}",
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        }
        spark_class = Path(pyspark.__file__).parent / "bin" / "spark-class"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [spark_class, f"org.apache.spark.deploy.{main}", *words],
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
            )
        self._processes.append(process)
        deadline = time.monotonic() + _TIMEOUT
        while time.monotonic() < deadline and process.poll() is None:
            if found := re.search(ready, log.read_text(errors="replace")):
                return found
            time.sleep(0.2)
        raise TimeoutError(f"{main} is not ready:\n{log.read_text(errors='replace')}")
