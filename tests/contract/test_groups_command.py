"""Run `kgtui groups` and Kafka's own GroupsCommand with the same options, and compare their output."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

from tests.contract.groups_oracle import Result, run_java

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
"""Address with a host name that cannot be resolved, so that Kafka's tool fails immediately, without a timeout."""

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
"""Command lines with unusual options that both Kafka's tool and kgtui accept."""


def run_ours(words: Sequence[str]) -> Result:
    """Run `kgtui groups` with the options `words` in a child process; return its exit status and output."""
    done = subprocess.run(
        [sys.executable, "-m", "kgtui", "groups", *words], capture_output=True, timeout=60, check=False
    )
    return Result(done.returncode, done.stdout, done.stderr)


def run_here(words: Sequence[str], capfdbinary: pytest.CaptureFixture[bytes]) -> Result:
    """Run `kgtui groups` with the options `words` in this process, without the delay of starting a child process."""
    from kgtui.cli import main

    capfdbinary.readouterr()
    status = main(["groups", *words])
    return Result(status, *capfdbinary.readouterr())


def same_lines(ours: bytes, theirs: bytes) -> None:
    """Assert that two outputs have the same first line, and the same other lines in any order."""
    head, _, rows = theirs.partition(b"\n")
    assert ours.partition(b"\n")[0] == head
    assert sorted(ours.partition(b"\n")[2].split(b"\n")) == sorted(rows.split(b"\n"))


def test_kgtui_groups_prints_the_same_filtered_rows_as_the_kafka_groups_tool(
    live: Live, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    """kgtui and Kafka's tool must print exactly the same rows, but the order of the rows can differ.

    The groups have all types, and some groups have unusual ids.
    """
    command_lines = [("--bootstrap-server", live.bootstrap, "--list", *words) for words in FILTERS]
    theirs = [run_java(words) for words in command_lines]
    assert theirs[0].out.count(b"\n") > 10
    for words, expected in zip(command_lines, theirs, strict=True):
        ours = run_here(words, capfdbinary)
        assert (ours.status, ours.err) == (expected.status, b""), words
        same_lines(ours.out, expected.out)


def test_kgtui_groups_rejects_invalid_options_like_the_kafka_groups_tool(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    """Both tools must return the same exit status, standard output and first line of standard error.

    This also applies to `--help` and `--version`. Unlike Kafka's tool, kgtui never prints a stack trace.
    """
    for words in BAD:
        expected = run_java(words)
        ours = run_here(words, capfdbinary)
        assert ours.status == expected.status, words
        assert ours.out == expected.out, words
        if expected.first_error_line.startswith("This tool"):
            assert ours.first_error_line.startswith("This tool"), words
        elif "/does/not/exist" in words:
            # If a file cannot be read, kgtui adds the reason to the first line. Kafka's tool prints this reason only in
            # its stack trace.
            assert ours.first_error_line.startswith(expected.first_error_line), words
        else:
            assert ours.first_error_line == expected.first_error_line, words
        assert (b"Option (* = required)" in ours.err) == (b"Option (* = required)" in expected.err), words
        assert b"\tat " not in ours.err


def test_kgtui_groups_accepts_unusual_options_like_the_kafka_groups_tool(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    """The server does not exist. A tool that reports only this error has accepted the options."""
    for words in (("--bootstrap-server", NOWHERE, *odd) for odd in ODD):
        expected = run_java(words)
        ours = run_here(words, capfdbinary)
        assert (ours.status, ours.err) == (expected.status, expected.err) == (1, b""), words
        for out in (ours.out, expected.out):
            assert out.startswith(b"Error while executing groups command : "), words


def test_usage_text_of_kgtui_groups_has_all_kafka_options(
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    def options(text: bytes) -> list[str]:
        return [line.split()[0] for line in text.decode().replace("* --", "--").splitlines() if line.startswith("--")]

    theirs = run_java(("--help",))
    ours = run_here(("--help",), capfdbinary)
    assert [name for name in options(ours.err) if name != "--format"] == options(theirs.err)
    tables = [ran.err.decode()[ran.err.decode().index("Option (") :].splitlines() for ran in (ours, theirs)]
    assert {len(line) for line in tables[0]} == {len(line) for line in tables[1]}
    assert tables[0][:2] == tables[1][:2]


def test_the_json_output_of_kgtui_groups_contains_the_type_of_each_group(live: Live) -> None:
    ours = run_ours(("--bootstrap-server", live.bootstrap, "--list", "--format", "json"))
    found = json.loads(ours.out)
    assert found["version"] == 1
    assert found["coverage"]["brokers"] == [1, 1]
    listed = {row["group"]: row["type"] for row in found["groups"]}
    for group_type in ("classic", "consumer"):
        for group in live.of_type(group_type):
            assert listed[group.id] == group_type


def test_a_repeated_protocol_option_fails_as_in_the_kafka_groups_tool(broker_431: Cluster) -> None:
    """If `--protocol` is given twice, both tools fail only after they have read the groups. They print no group."""
    words = ("--bootstrap-server", broker_431.bootstrap, "--list", "--protocol", "a", "--protocol", "b")
    theirs = run_java(words)
    ours = run_ours(words)
    assert (ours.status, ours.out) == (theirs.status, theirs.out)


def test_kgtui_groups_reports_an_unreachable_server_in_one_line_on_stdout(tmp_path: Path) -> None:
    """The line begins with the text that Kafka's tool prints, and also names the server.

    No stack trace is printed.
    """
    config = tmp_path / "client.properties"
    config.write_text("client.id=x\n")
    ours = run_ours(("--bootstrap-server", "127.0.0.1:1", "--list", "--command-config", str(config)))
    assert ours.status == 1
    assert ours.out.startswith(b"Error while executing groups command : ")
    assert b"127.0.0.1:1" in ours.out
    assert ours.out.count(b"\n") == 1
    assert ours.err == b""
