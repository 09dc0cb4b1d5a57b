"""`kgtui groups` against Kafka's own GroupsCommand: on the same brokers, every filter and every bad option."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.contract.groups_oracle import Ran, run_java

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pytest

    from tests.brokers.cluster import Cluster
    from tests.brokers.live import Live

FILTERS: tuple[tuple[str, ...], ...] = (
    (),
    *(("--group-type", kind) for kind in ("classic", "consumer", "share", "streams", "CONSUMER", "Share")),
    *(("--protocol", protocol) for protocol in ("consumer", "connect", "sr", "share", "streams", "", "nope")),
    ("--group-type", "classic", "--protocol", "consumer"),
    ("--group-type=classic", "--protocol="),
    ("--protocol", "share", "--group-type", "consumer"),
    ("--consumer",),
    ("--share",),
    ("--streams",),
    ("-list",),
    ("not", "an", "option"),
    ("--", "--nope"),
)

BAD: tuple[tuple[str, ...], ...] = (
    (),
    ("--list",),
    ("--bootstrap-server", "localhost:1"),
    ("--bootstrap-server",),
    ("--bootstrap-server", "--list"),
    ("--help",),
    ("--", "--help"),
    ("--bootstrap-server=", "--nope"),
    ("--list", "--help", "--version"),
    ("--version", "--help"),
    ("--version",),
    ("--list", "--version", "--share", "--streams"),
    *(
        ("--bootstrap-server", "localhost:1", *more)
        for more in (
            ("--list", "--nope"),
            ("--list", "--lis"),
            ("--list", "--c"),
            ("--list", "-x"),
            ("--list", "-nope"),
            ("--list", "--group=x"),
            ("--list", "--help", "--bad"),
            ("--list", "--group-type"),
            ("--list", "--group-type="),
            ("--list", "--group-type", "nope"),
            ("--list", "--group-type", "unknown"),
            ("--list", "--group-type", " consumer"),
            ("--list", "--group-type", "consumer", "--group-type", "share"),
            ("--list", "--group-type", "--protocol"),
            ("--list", "--group-type", "--nope"),
            ("--list", "--=x"),
            ("--list", "---list"),
            ("-list", "word", "-y"),
            ("--", "--list"),
            ("--list", "--protocol"),
            ("--consumer",),
            ("--consumer", "--share"),
            ("--list", "--consumer", "--share"),
            ("--list", "--consumer", "--streams"),
            ("--list", "--consumer", "--group-type", "share"),
            ("--list", "--consumer", "--protocol", "x"),
            ("--list", "--consumer", "--protocol", "x", "--group-type", "share"),
            ("--list", "--share", "--streams"),
            ("--list", "--share", "--streams", "--consumer"),
            ("--list", "--share", "--group-type", "share"),
            ("--list", "--share", "--protocol", "share"),
            ("--list", "--streams", "--group-type", "streams"),
            ("--list", "--streams", "--protocol", "x"),
            ("--list", "--streams", "--group-type", "nope"),
            ("--list", "--bootstrap-server", "localhost:2"),
            ("--list", "--command-config"),
            ("--list", "--command-config", "/does/not/exist", "--bootstrap-server", "localhost:2"),
            ("--list", "--command-config", "a", "--command-config", "b"),
        )
    ),
)


NOWHERE = "no-such-host.invalid:1"
"""A server whose name cannot be resolved: Kafka's tool gives up at once."""

ODD: tuple[tuple[str, ...], ...] = (
    ("--list=yes",),
    ("--list", "--list"),
    ("--list", "--protocol", "--list"),
    ("--list", "--protocol="),
    ("--list", "--protocol=a=b"),
    ("-list", "-protocol=a"),
    ("--list", "--share=", "x"),
    ("--list", "-"),
    ("-", "word", "--list", "--", "--nope"),
)
"""Odd, and taken nevertheless."""


def run_ours(words: Sequence[str]) -> Ran:
    """Run `kgtui groups` in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "kgtui", "groups", *words], capture_output=True, timeout=60, check=False
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def run_here(words: Sequence[str], capfdbinary: pytest.CaptureFixture[bytes]) -> Ran:
    """Run `kgtui groups` in this process, for the many command lines that end before anything is connected."""
    from kgtui.cli import main

    capfdbinary.readouterr()
    status = main(["groups", *words])
    return Ran(status, *capfdbinary.readouterr())


def same_lines(ours: bytes, theirs: bytes) -> None:
    """The same header and, sorted, the same rows to the byte. A row may hold line ends of an id."""
    head, _, rows = theirs.partition(b"\n")
    assert ours.partition(b"\n")[0] == head
    assert sorted(ours.partition(b"\n")[2].split(b"\n")) == sorted(rows.split(b"\n"))


def test_every_filter_prints_what_kafkas_tool_prints(live: Live, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """On live groups of every type, with hostile ids among them: the same bytes, but for the order."""
    command_lines = [("--bootstrap-server", live.bootstrap, "--list", *words) for words in FILTERS]
    theirs = run_java(command_lines)
    assert theirs[0].out.count(b"\n") > 10
    for words, expected in zip(command_lines, theirs, strict=True):
        ours = run_here(words, capfdbinary)
        assert (ours.status, ours.err) == (expected.status, b""), words
        same_lines(ours.out, expected.out)


def test_bad_options_end_as_theirs_do(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """The exit status and the first line are Kafka's; then the usage follows where theirs does, and no stack trace."""
    for words, expected in zip(BAD, run_java(BAD), strict=True):
        ours = run_here(words, capfdbinary)
        assert ours.status == expected.status, words
        assert ours.out == expected.out, words
        if expected.complaint.startswith("This tool"):
            assert ours.complaint.startswith("This tool"), words
        elif "/does/not/exist" in words:
            # The reason, which theirs has in the stack trace only.
            assert ours.complaint.startswith(expected.complaint), words
        else:
            assert ours.complaint == expected.complaint, words
        assert (b"Option (* = required)" in ours.err) == (b"Option (* = required)" in expected.err), words
        assert b"\tat " not in ours.err


def test_odd_options_are_taken_where_theirs_are(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """With a server that does not exist both come as far as connecting, and say so."""
    command_lines = [("--bootstrap-server", NOWHERE, *words) for words in ODD]
    for words, expected in zip(command_lines, run_java(command_lines), strict=True):
        ours = run_here(words, capfdbinary)
        assert (ours.status, ours.err) == (expected.status, expected.err) == (1, b""), words
        for out in (ours.out, expected.out):
            assert out.startswith(b"Error while executing groups command : "), words


def test_the_usage_has_the_layout_and_the_options_of_kafkas(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    def options(text: bytes) -> list[str]:
        return [line.split()[0] for line in text.decode().replace("* --", "--").splitlines() if line.startswith("--")]

    (theirs,) = run_java([("--help",)])
    ours = run_here(("--help",), capfdbinary)
    assert [name for name in options(ours.err) if name != "--format"] == options(theirs.err)
    tables = [ran.err.decode()[ran.err.decode().index("Option (") :].splitlines() for ran in (ours, theirs)]
    assert {len(line) for line in tables[0]} == {len(line) for line in tables[1]}
    assert tables[0][:2] == tables[1][:2]


def test_json_holds_every_group_exactly(live: Live) -> None:
    ours = run_ours(("--bootstrap-server", live.bootstrap, "--list", "--format", "json"))
    found = json.loads(ours.out)
    assert found["version"] == 1
    assert found["coverage"]["brokers"] == [1, 1]
    listed = {row["group"]: row["type"] for row in found["groups"]}
    for group_type in ("classic", "consumer"):
        for group in live.of_type(group_type):
            assert listed[group.id] == group_type


def test_protocols_given_twice_fail_only_when_the_groups_are_there(broker_431: Cluster) -> None:
    """Kafka's tool looks at this option last, and so do we."""
    words = ("--bootstrap-server", broker_431.bootstrap, "--list", "--protocol", "a", "--protocol", "b")
    (theirs,) = run_java([words])
    ours = run_ours(words)
    assert (ours.status, ours.out) == (theirs.status, theirs.out)


def test_nothing_listens(tmp_path: Path) -> None:
    """One line with the reason, on stdout behind the same words as theirs, and no stack trace."""
    config = tmp_path / "client.properties"
    config.write_text("client.id=x\n")
    ours = run_ours(("--bootstrap-server", "127.0.0.1:1", "--list", "--command-config", str(config)))
    assert ours.status == 1
    assert ours.out.startswith(b"Error while executing groups command : ")
    assert b"127.0.0.1:1" in ours.out
    assert ours.out.count(b"\n") == 1
    assert ours.err == b""
