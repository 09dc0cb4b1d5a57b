"""Run Kafka's own GroupsCommand with many command lines in one JVM."""

from __future__ import annotations

import base64
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests import jars
from tests.brokers.process import SHORT_LIVED

if TYPE_CHECKING:
    from collections.abc import Sequence

_PROGRAM = Path(__file__).with_name("GroupsOracle.java")
_QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"


class Result(NamedTuple):
    """The exit status and the output of one run of GroupsCommand."""

    status: int
    out: bytes
    err: bytes

    @property
    def first_error_line(self) -> str:
        """The first line of standard error."""
        return self.err.decode().partition("\n")[0]


def run_java(command_lines: Sequence[Sequence[str]]) -> list[Result]:
    """Run GroupsCommand of Kafka 4.3.1 with each list of arguments; return one result per list."""
    lines = [" ".join(":" + base64.b64encode(word.encode()).decode() for word in words) for words in command_lines]
    done = subprocess.run(
        ["java", *SHORT_LIVED, _QUIET, "-cp", jars.classpath("4.3.1"), str(_PROGRAM)],
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [_result(line) for line in done.stdout.splitlines()]


def _result(line: str) -> Result:
    status, out, err = line.split(" ")
    return Result(int(status), base64.b64decode(out[1:]), base64.b64decode(err[1:]))
