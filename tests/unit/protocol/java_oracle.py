"""Run Kafka's own Java classes (kafka-clients 4.4.0, Connect 4.3.1), so that tests can compare kgtui with them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from tests.jars import classpath, clients_jar
from tests.java import command

if TYPE_CHECKING:
    from collections.abc import Iterable

_PROGRAM = Path(__file__).parent / "Oracle.java"
_QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"


def ask(questions: Iterable[str]) -> list[str]:
    """Send questions to the program `Oracle.java`, which calls Kafka's classes, and return the lines of its answers.

    The comment in `Oracle.java` describes the format of the questions and the answers.
    """
    path = f"{clients_jar('4.4.0')}:{classpath('4.3.1')}"
    done = subprocess.run(
        command(path, _PROGRAM, [_QUIET]),
        input="".join(f"{question}\n" for question in questions),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()
