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
"""The key and the value of a record, as bytes. The value of a tombstone is None."""


class KafkaResult(NamedTuple):
    """The result of decoding one record with Kafka's classes.

    If Kafka decoded the record, `json` and `written` are set, and `error` is empty. Otherwise, only `error` is set.
    """

    json: dict[str, Any] | None
    """The record in the format of Kafka's class CoordinatorRecordJsonConverters; None if Kafka cannot decode it."""
    written: Record | None
    """Key and value of the decoded record after Kafka has encoded it again; None if Kafka cannot decode the record."""
    error: str
    """The word `error` and the Java exception; an empty string if Kafka decoded the record."""


def types() -> dict[int, tuple[str, int]]:
    """Return the record types in Kafka: number of a record type → `(name of the type, newest version of its value)`."""
    lines = (line.split("\t") for line in _ask(["types"]))
    return {int(number): (name, int(newest)) for number, name, newest in lines}


def read(records: Iterable[Record]) -> list[KafkaResult]:
    """Decode each record with Kafka's classes and encode it again. Return one result per record, in order."""
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
