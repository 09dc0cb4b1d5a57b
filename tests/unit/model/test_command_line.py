"""Tests of the Kafka command lines that kgtui shows: the script, its options, and safe quoting of ids."""

from __future__ import annotations

import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgtui.model import command_line

SEEDS = ("b1:9092", "b2:9092")


@pytest.mark.parametrize(
    ("kind", "view", "expected"),
    [
        ("consumer", "offsets", "kafka-consumer-groups.sh --bootstrap-server b1:9092,b2:9092 --describe --group g"),
        ("simple", "offsets", "kafka-consumer-groups.sh --bootstrap-server b1:9092,b2:9092 --describe --group g"),
        (
            "share",
            "members",
            "kafka-share-groups.sh --bootstrap-server b1:9092,b2:9092 --describe --group g --members --verbose",
        ),
        (
            "streams",
            "state",
            "kafka-streams-groups.sh --bootstrap-server b1:9092,b2:9092 --describe --group g --state --verbose",
        ),
        ("connect", "members", "kafka-groups.sh --bootstrap-server b1:9092,b2:9092 --list --protocol connect"),
        ("other", "state", "kafka-groups.sh --bootstrap-server b1:9092,b2:9092 --list"),
        (
            "share",
            "configs",
            "kafka-configs.sh --bootstrap-server b1:9092,b2:9092 --describe --entity-type groups --entity-name g",
        ),
    ],
)
def test_describe_command_uses_the_kafka_script_for_the_kind_of_group(
    kind: str, view: command_line.View, expected: str
) -> None:
    assert command_line.describe("g", kind, SEEDS, view=view).text == expected


def test_note_on_the_describe_command_says_that_connect_groups_cannot_be_described() -> None:
    assert "cannot describe" in command_line.describe("c", "connect", SEEDS).note
    assert command_line.describe("c", "consumer", SEEDS).note == ""


def test_the_delete_command_contains_every_group_and_the_properties_file() -> None:
    line = command_line.delete(["a", "b c"], "share", SEEDS, command_config="/etc/my kafka/admin.properties")
    assert shlex.split(line.text) == [
        *("kafka-share-groups.sh", "--bootstrap-server", "b1:9092,b2:9092"),
        *("--command-config", "/etc/my kafka/admin.properties", "--delete", "--group", "a", "--group", "b c"),
    ]


def test_note_on_the_delete_command_says_that_the_kafka_script_ignores_group_types() -> None:
    assert "share" in command_line.delete(["a"], "consumer", SEEDS).note
    assert command_line.delete(["a"], "streams", SEEDS).note == ""


@pytest.mark.parametrize(
    ("word", "quoted"),
    [
        ("plain", "plain"),
        ("", "''"),
        ("$(rm -rf /)", "'$(rm -rf /)'"),
        ("a\x1b[31mb", "$'a\\x1b[31mb'"),
        ("it's\n", "$'it\\'s\\x0a'"),
        ("a\u202eb", "$'a\\u202eb'"),
        ("naïve 😀", "'naïve 😀'"),
    ],
)
def test_word_with_unsafe_characters_is_quoted_and_escaped_for_bash(word: str, quoted: str) -> None:
    assert command_line.quote(word) == quoted


def test_bash_reads_each_quoted_word_as_the_original_word() -> None:
    words = ["a b", "it's", "x\x1b[0m\ny\\z'", "`id`", "\u202eabc\u2066", "[/red]", "-x", "!!", "tab\tend"]
    script = "printf '%s\\0' " + command_line.join(words)
    done = subprocess.run(
        ["bash", "-c", script],
        capture_output=True,
        check=True,
        timeout=20,
        env={"LC_ALL": "C.UTF-8", "PATH": "/bin:/usr/bin"},
    )
    assert done.stdout.decode().split("\0")[:-1] == words


@given(st.text())
def test_word_quoted_for_bash_contains_no_control_characters(word: str) -> None:
    quoted = command_line.quote(word)
    assert quoted.isprintable() or all(c.isprintable() or c.isspace() for c in quoted)
    assert not any(ord(c) < 0x20 or ord(c) == 0x7F for c in quoted)
