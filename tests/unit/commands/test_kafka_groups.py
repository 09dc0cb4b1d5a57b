"""Tests of `kgtui groups`, which behaves like Kafka's script `kafka-groups.sh`. No test starts Java."""

from __future__ import annotations

import pytest

from kgtui.commands import kafka_groups
from kgtui.commands.kafka_groups import keeps, list_all_groups, pad, utf16_length
from kgtui.commands.kafka_options import KafkaOptionError, Option, read_options, usage
from kgtui.errors import BrokerError, ClientError, DeadlineError
from kgtui.model.group import Listing
from tests.scripted import ScriptedAdmin, ScriptedFeed

OPTIONS = (
    Option("server", "where", "address", required=True),
    Option("list", "do"),
    Option("help", "?", waives_required=True),
)


def test_kgtui_groups_parses_options_like_the_kafka_script() -> None:
    found = read_options(["--server", "--list", "word", "-list=ignored", "--", "--nope"], OPTIONS)
    assert found.given == {"server": ["--list"], "list": []}
    assert read_options(["--help"], OPTIONS).given == {"help": []}
    assert read_options(["--server="], OPTIONS).value("server") == ""
    assert read_options(["--server", "x"], OPTIONS).value("other") is None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "Missing required option(s) [server]"),
        (["--server"], "Option server requires an argument"),
        (["--serv", "x"], "serv is not a recognized option"),
        (["-xyz"], "x is not a recognized option"),
    ],
)
def test_kgtui_groups_rejects_options_with_the_messages_of_the_kafka_script(words: list[str], message: str) -> None:
    with pytest.raises(KafkaOptionError) as caught:
        read_options(words, OPTIONS)
    assert (str(caught.value), caught.value.usage, caught.value.exit_code) == (message, True, 1)


@pytest.mark.parametrize("words", [["--command-config", ""], ["--command-config="], ["-command-config", " "]])
def test_kgtui_groups_rejects_an_empty_file_name_after_command_config(
    words: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert kafka_groups.main(["--bootstrap-server", "127.0.0.1:1", "--list", *words]) == 1
    assert "Option command-config: the value is empty" in capfd.readouterr().err


def test_a_repeated_option_is_rejected_only_when_its_value_is_used() -> None:
    """Parsing the options raises no error, but then `value` raises an error for the repeated option."""
    found = read_options(["--server", "a", "--server", "b"], OPTIONS)
    with pytest.raises(KafkaOptionError, match="Found multiple arguments for option server") as caught:
        found.value("server")
    assert not caught.value.usage


def test_kgtui_groups_help_wraps_long_option_descriptions() -> None:
    lines = usage((Option("server", "word " * 20, "a rather long description of what it is", required=True),)).split(
        "\n"
    )
    assert {len(line) for line in lines[:-1]} == {77}
    assert lines[2].startswith("* --server <String: a rather")


def test_kgtui_groups_counts_column_widths_in_utf_16_code_units_like_java() -> None:
    assert utf16_length("a🦄") == 3
    assert pad("a🦄", 5) == "a🦄  "
    assert pad("toolong", 3) == "toolong"


SIMPLE = Listing("classic", "", "Empty", 1)
OLD = Listing(None, "consumer", None, 1)
KIP_848 = Listing("consumer", "consumer", "Stable", 1)
SHARE = Listing("share", "share", "Stable", 1)


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        ([], "sokq"),
        (["--consumer"], "sok"),
        (["--share"], "q"),
        (["--streams"], ""),
        (["--group-type", "Consumer"], "k"),
        (["--protocol", "consumer"], "ok"),
        (["--group-type", "classic", "--protocol", ""], "s"),
    ],
)
def test_kgtui_groups_selects_the_same_groups_as_the_kafka_script(words: list[str], kept: str) -> None:
    options = read_options(["--bootstrap-server", "x:1", "--list", *words], kafka_groups.OPTIONS)
    assert (
        "".join(name for name, row in zip("sokq", (SIMPLE, OLD, KIP_848, SHARE), strict=True) if keeps(row, options))
        == kept
    )


async def test_kgtui_groups_lists_groups_of_other_brokers_if_one_broker_fails() -> None:
    admin = ScriptedAdmin()
    admin.add("a", coordinator=1)
    admin.add("b", coordinator=2)
    admin.broken[2] = DeadlineError("no answer", broker=2)
    _, rows, faults = await list_all_groups(admin)
    assert [group for group, _ in rows] == ["a"]
    assert [(fault.broker, fault.message) for fault in faults] == [(2, "no answer")]


async def test_kgtui_groups_raises_an_error_if_every_broker_fails() -> None:
    admin = ScriptedAdmin()
    for node in admin.brokers:
        admin.broken[node] = DeadlineError("no answer", broker=node)
    with pytest.raises(ClientError, match="no answer"):
        await list_all_groups(admin)


async def test_kgtui_groups_repeats_a_request_if_the_broker_is_still_loading_groups(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    admin = ScriptedAdmin()
    admin.add("a")
    asked: list[int] = []
    poll = ScriptedFeed.poll

    async def loading(feed: ScriptedFeed, *, timeout: float = 1.0) -> object:
        asked.append(feed.broker)
        if asked.count(feed.broker) < 3:
            raise BrokerError("loading", code=14, broker=feed.broker)
        return await poll(feed, timeout=timeout)

    monkeypatch.setattr(ScriptedFeed, "poll", loading)
    monkeypatch.setattr(kafka_groups, "PAUSE", 0)
    _, rows, faults = await list_all_groups(admin)
    assert ([group for group, _ in rows], faults) == (["a"], [])
    assert len(asked) == 9


def test_kgtui_groups_escapes_control_characters_only_for_a_terminal() -> None:
    row = ("x\x1b[2J", Listing("quantum", "", None, 1))
    raw = kafka_groups._text([row], harmless=False).decode().splitlines()
    assert raw == [f"{'GROUP':<20} {'TYPE':<20} {'PROTOCOL':<20}", f"{row[0]:<20} {'Unknown':<20} {'':<20} "]
    shown = kafka_groups._text([row], harmless=True).decode().splitlines()
    assert shown[1] == "x\\x1b[2J".ljust(20) + " " + "Unknown".ljust(20) + " " * 22
