"""Run Kafka's own GroupsCommand, so that tests can compare its output with that of `kgtui groups` byte by byte."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tests.brokers.tools import run_tool

if TYPE_CHECKING:
    from collections.abc import Sequence


class Result(NamedTuple):
    status: int
    out: bytes
    err: bytes

    @property
    def first_error_line(self) -> str:
        return self.err.decode().partition("\n")[0]


def run_java(words: Sequence[str]) -> Result:
    """Run GroupsCommand of Kafka 4.3.1 with the arguments `words` and with logging turned off."""
    status, out, err = run_tool("4.3.1", "GroupsCommand", words, log_level="off")
    return Result(status, out.encode(), err.encode())
