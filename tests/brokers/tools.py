"""Run Kafka's command line tools.

All tools of one Kafka version run in the same JVM if they have the same log level, because starting a JVM takes long.
"""

from __future__ import annotations

import base64
import subprocess
import threading
from typing import TYPE_CHECKING, NamedTuple

from tests import jars, java
from tests.brokers.process import SOURCES

if TYPE_CHECKING:
    from collections.abc import Sequence

MAIN_CLASSES = {
    "GroupsCommand": "org.apache.kafka.tools.GroupsCommand",
    "ConsumerGroupCommand": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "ShareGroupCommand": "org.apache.kafka.tools.consumer.group.ShareGroupCommand",
    "StreamsGroupCommand": "org.apache.kafka.tools.streams.StreamsGroupCommand",
    "DelegationTokenCommand": "org.apache.kafka.tools.DelegationTokenCommand",
}
"""Maps the name of each tool to its main class."""


class Result(NamedTuple):
    """Exit status, standard output and standard error of one run of a tool."""

    status: int
    out: str
    err: str


class _ToolsJvm:
    """A JVM in which the program `Tools.java` runs the tools of one Kafka version, one after another."""

    def __init__(self, version: str, log_level: str) -> None:
        self._lock = threading.Lock()
        level = f"-Dorg.slf4j.simpleLogger.defaultLogLevel={log_level}"
        self._process = subprocess.Popen(
            java.command(jars.classpath(version), SOURCES / "Tools.java", [level]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            encoding="ascii",
        )

    def run(self, words: Sequence[str], timeout: float) -> Result:
        """Run a tool. `words` are the tool's main class and arguments.

        Kill the JVM if the tool runs longer than `timeout` seconds.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock:
            killer = threading.Timer(timeout, self._process.kill)
            killer.start()
            try:
                self._process.stdin.write(" ".join(map(_encode, words)) + "\n")
                self._process.stdin.flush()
                line = self._process.stdout.readline()
            finally:
                killer.cancel()
        assert line, f"{words} did not end within {timeout:.0f} s, or its JVM has exited"
        status, out, err = line.split()
        return Result(int(status), _decode(out), _decode(err))

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def stop(self) -> None:
        """Kill the JVM."""
        self._process.kill()
        self._process.communicate()


_running: dict[tuple[str, str], _ToolsJvm] = {}
"""(Kafka version, log level) → JVM that runs the tools of this version with this log level."""

_starting = threading.Lock()


def run_tool(
    version: str, tool: str, arguments: Sequence[str], *, log_level: str = "error", timeout: float = 120.0
) -> Result:
    """Run one of Kafka's command line tools; return its exit status and output, even if it fails.

    Args:
        tool: key in `MAIN_CLASSES`.
        log_level: minimum level of log messages on stderr, such as `error` or `off`.
    """
    if tool.endswith("GroupCommand") and "--timeout" not in arguments:
        # Set a timeout of 60 s. The default of tools such as ConsumerGroupCommand is 5 s, which is too short on a busy
        # machine.
        arguments = [*arguments, "--timeout", "60000"]
    key = (version, log_level)
    with _starting:
        if key not in _running or not _running[key].running:
            _running[key] = _ToolsJvm(version, log_level)
    return _running[key].run([MAIN_CLASSES[tool], *arguments], timeout)


def stop() -> None:
    """Stop the JVMs of all versions."""
    with _starting:
        while _running:
            _running.popitem()[1].stop()


def _encode(word: str) -> str:
    return ":" + base64.b64encode(word.encode()).decode()


def _decode(word: str) -> str:
    return base64.b64decode(word[1:]).decode()
