"""Decode and encode records with the group coordinator of Kafka 4.3.1, so that tests can compare kgtui with it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.jars import classpath
from tests.java import command

if TYPE_CHECKING:
    from collections.abc import Iterable

_PROGRAM = Path(__file__).with_name("CoordinatorRecords.java")
_QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"

Record = tuple[bytes, bytes | None]
"""The key and the value of a record, as bytes."""


class KafkaResult(NamedTuple):
    """Kafka's result for one record. If Kafka decoded the record, `json` and `written` are set, otherwise `error`."""

    json: dict[str, Any] | None
    """The record as CoordinatorRecordJsonConverters prints it."""
    written: Record | None
    """The key and value that Kafka's own code produces from the decoded record; None if it cannot decode the record."""
    error: str


def types() -> dict[int, tuple[str, int]]:
    """Map the number of each of Kafka's record types to its name and to the newest version of its value."""
    lines = (line.split("\t") for line in _ask(["types"]))
    return {int(number): (name, int(newest)) for number, name, newest in lines}


def read(records: Iterable[Record]) -> list[KafkaResult]:
    """Decode each record with Kafka and encode it again; return one result per record."""
    return [_read(line) for line in _ask(f"{_hex(key)} {_hex(value)}" for key, value in records)]


def _ask(lines: Iterable[str]) -> list[str]:
    done = subprocess.run(
        command(classpath("4.3.1"), _PROGRAM, [_QUIET]),
        input="".join(f"{line}\n" for line in lines),
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


def _read(line: str) -> KafkaResult:
    if line.startswith("error "):
        return KafkaResult(None, None, line)
    printed, key, value = line.split("\t")
    return KafkaResult(json.loads(printed), (bytes.fromhex(key), None if value == "-" else bytes.fromhex(value)), "")


def _hex(data: bytes | None) -> str:
    return "-" if data is None else data.hex()
