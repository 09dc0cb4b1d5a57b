"""Run Java processes with Kafka's jars, and stop the processes when the tests end."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from pathlib import Path
from typing import TYPE_CHECKING

from tests import jars, java

if TYPE_CHECKING:
    from collections.abc import Sequence

SOURCES = Path(__file__).parents[1] / "kafka"
LOG_TIMES = ("-Dorg.slf4j.simpleLogger.showDateTime=true",)


class JavaFailedError(Exception):
    """Raised if a Java process ends too early or is not ready in time.

    The message contains the end of the process's log.
    """


class Java:
    """A Java process that runs in the background until `stop` is called or the Python process ends.

    Attributes:
        log: file with the standard error of the process.
    """

    def __init__(
        self,
        version: str,
        source: str,
        arguments: Sequence[str],
        log: Path,
        heap: str = "384m",
        jvm: Sequence[str] = (),
    ) -> None:
        self.log = log
        self._command = [
            *java.command(jars.classpath(version), SOURCES / source, [f"-Xmx{heap}", *jvm, *LOG_TIMES]),
            *arguments,
        ]
        self._said: set[str] = set()
        self._ended = False
        self._heard = threading.Condition()
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, cwd=log.parent
            )
        self._listener = threading.Thread(target=self._listen, name=f"listen to {log.name}", daemon=True)
        self._listener.start()

    @property
    def pid(self) -> int:
        """Id of the process, with which tests pause or kill the process."""
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def wait_for(self, line: str, timeout: float) -> None:
        """Wait until the process has written `line` to its standard output.

        Raises `JavaFailedError` if the process ends first, or if it does not write the line within `timeout` seconds.
        """
        with self._heard:
            self._heard.wait_for(lambda: line in self._said or self._ended, timeout)
            if line not in self._said:
                raise self.failed(f"the process did not print {line!r} within {timeout:.0f} s")

    def failed(self, what: str) -> JavaFailedError:
        """Return an error with the message `what`, the state of the process and the end of the process's log."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.2)
        state = "running" if self.running else f"ended with {self._process.returncode}"
        tail = self.log.read_text(encoding="utf-8", errors="replace")[-4000:]
        return JavaFailedError(f"{self.log.name} ({state}): {what}; end of {self.log}:\n{tail}")

    def end(self, timeout: float) -> None:
        """Close the standard input of the process, so that it exits, and wait until it has ended."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout)

    def stop(self) -> None:
        """Kill the process immediately, without a clean shutdown, and wait until it has ended."""
        self._process.kill()
        self._process.wait()
        self._listener.join(5)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        try:
            for raw in self._process.stdout:
                with self._heard:
                    self._said.add(os.fsdecode(raw).strip())
                    self._heard.notify_all()
        finally:
            with self._heard:
                self._ended = True
                self._heard.notify_all()
