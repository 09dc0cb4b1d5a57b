"""Kafka's own group tools, many command lines in one JVM, and their tables as rows."""

from __future__ import annotations

import base64
import re
import subprocess
from typing import TYPE_CHECKING, NamedTuple

from tests import jars
from tests.brokers.cluster import MAIN_CLASSES
from tests.brokers.process import SHORT_LIVED, SOURCES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.brokers.cluster import Cluster

Row = dict[str, str]

_QUIET = "-Dorg.slf4j.simpleLogger.defaultLogLevel=off"
_SECONDS = 240


class Printed(NamedTuple):
    """What one command line printed."""

    status: int
    out: str
    err: str


def run_tools(cluster: Cluster, command_lines: Sequence[Sequence[str]]) -> list[Printed]:
    """Run command lines, each a tool of `MAIN_CLASSES` with its options, against a cluster, by its own version."""
    full = [[MAIN_CLASSES[tool], "--bootstrap-server", cluster.bootstrap, *rest] for tool, *rest in command_lines]
    done = subprocess.run(
        ["java", *SHORT_LIVED, _QUIET, "-cp", jars.classpath(cluster.version), str(SOURCES / "Tools.java")],
        input="".join(" ".join(map(_encode, words)) + "\n" for words in full),
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == len(full), done.stderr
    return [_printed(line) for line in lines]


def _encode(word: str) -> str:
    return ":" + base64.b64encode(word.encode()).decode()


def _printed(line: str) -> Printed:
    status, out, err = line.split(" ")
    return Printed(int(status), base64.b64decode(out[1:]).decode(), base64.b64decode(err[1:]).decode())


def rows(printed: str, groups: Sequence[str] = ()) -> list[Row]:
    """The rows of every table in what a tool printed, by column.

    A column begins where its header does, counted in UTF-16 units as Java pads. Ids may hold anything, line ends too,
    and some tools do not make room for long ones: those of `groups` are recognised wherever their column ends.
    """
    text = _units(printed)
    known = sorted(map(_units, groups), key=len, reverse=True)
    headers = list(re.finditer(r"^GROUP +[A-Z#][^\n]*", text, re.MULTILINE))
    found: list[Row] = []
    for header, end in zip(headers, [*(later.start() for later in headers[1:]), len(text)], strict=True):
        found += _table(header[0], text[header.end() + 1 : end], known)
    return found


def _table(header: str, body: str, known: Sequence[str]) -> Iterator[Row]:
    """Rows up to an empty line."""
    columns = [(title[0], title.start()) for title in re.finditer(r"\S+(?: \(ID\))?", header)]
    width = columns[1][1]
    at = 0
    while at < len(body) and body[at] != "\n":
        group = next((name for name in known if body.startswith(f"{name.ljust(width - 1)} ", at)), None)
        taken = width if group is None else max(len(group) + 1, width)
        line, _, _ = body[at + taken :].partition("\n")
        row = {columns[0][0]: body[at : at + taken].rstrip(" ") if group is None else group}
        ends = [start - width for _, start in columns[2:]] + [max(len(line), columns[-1][1])]
        for (title, start), stop in zip(columns[1:], ends, strict=True):
            row[title] = line[start - width : stop].strip(" ")
        at += taken + len(line) + 1
        yield {title: _text(cell) for title, cell in row.items()}


def _units(text: str) -> str:
    """Text in which every character is one of Java's."""
    return "".join(map(chr, memoryview(text.encode("utf-16-le")).cast("H")))


def _text(units: str) -> str:
    """The text that `_units` was made of."""
    return units.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
