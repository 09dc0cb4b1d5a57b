"""Tests that the README is correct: examples run, tables are up to date, commands are valid, and link targets exist."""

from __future__ import annotations

import asyncio
import inspect
import re
import shlex
import subprocess
import sys
import tomllib
from dataclasses import fields, replace
from pathlib import Path

import pytest

from kgtui.admin.base import GroupAdmin
from kgtui.commands.kafka_groups import OPTIONS
from kgtui.commands.kafka_options import read_options
from kgtui.commands.parser import parse_args
from kgtui.config import ClusterSettings, Settings, UiSettings, load
from kgtui.errors import UsageError
from kgtui.history.changes import PollResult
from kgtui.lake.schemas.gold import LAG
from kgtui.model.group import Listing
from kgtui.model.query import HELP, NOTES, parse
from tests.contract import simulated_live_groups
from tests.readme import README, ROOT, SECTIONS, between, fenced, table, with_tables
from tests.unit.history.recording_builder import START, RecordingBuilder
from tests.unit.insights import gold_rows

TEXT = README.read_text(encoding="utf-8")
LAKE = "/var/lib/kgtui/prod"
"""Path of the lake (the folder with the recorded tables) in the examples of the README."""


def commands_in_readme() -> list[list[str]]:
    """Return the arguments of every kgtui command line in the shell blocks of the README, without the word `kgtui`."""
    found = []
    for line in "\n".join(fenced(TEXT, "sh")).splitlines():
        words = shlex.split(line, comments=True)
        while words:
            end = words.index("&&") if "&&" in words else len(words)
            if Path(words[0]).name == "kgtui":
                found.append(words[1:end])
            words = words[end + 1 :]
    return found


async def test_the_python_example_in_the_readme_runs() -> None:
    """The example runs in a new process on a simulated cluster. Only the address in the example is replaced."""
    (code,) = (block for block in fenced(TEXT, "python") if LAKE not in block)
    assert code.count('"localhost:9092"') == 1
    async with simulated_live_groups.simulator("4.4") as cluster:
        program = code.replace('"localhost:9092"', ", ".join(map(repr, cluster.bootstrap.split(","))))
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-W", "error", "-c", program,
            cwd=ROOT, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )  # fmt: skip
        out, errors = await asyncio.wait_for(process.communicate(), 60)
    assert (errors.decode(), process.returncode) == ("", 0)
    expected = [
        g for g in simulated_live_groups.groups_of("4.4").values() if g.type == "consumer" and g.state == "Stable"
    ]
    printed = {name: rest for name, *rest in map(str.split, out.decode().splitlines())}
    assert {name: (state, members) for name, (state, _, members) in printed.items()} == {
        group.id: ("Stable", str(group.members)) for group in expected
    }


def test_duckdb_and_polars_examples_in_the_readme_print_the_expected_rows(tmp_path: Path) -> None:
    recording = RecordingBuilder(tmp_path)
    listings = {"pay": Listing("consumer", "consumer", "Stable", 1), "old": Listing("classic", "consumer", "Empty", 1)}
    recording.poll(PollResult(listings, {}, {}, {}, {}), START)
    recording.poll(PollResult({"pay": replace(listings["pay"], state="Empty")}, {}, {}, {}, {}), START + 10_000)
    recording.flush()
    lags = {"slow": 90.0, "pay": 7.0}
    gold_rows.write(
        tmp_path,
        {LAG: [gold_rows.row(LAG, group=group, minute=gold_rows.NOW, time_lag=lag) for group, lag in lags.items()]},
    )
    programs = [block.replace(LAKE, str(tmp_path)) for block in fenced(TEXT, "python") if LAKE in block]
    duckdb, polars = (
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True).stdout
        for program in programs
    )
    cells = [line.split() for line in re.sub("[│┆]", " ", duckdb + polars).splitlines()]
    assert [line for line in cells if line[:1] in (["slow"], ["pay"], ["consumer"], ["classic"])] == [
        ["slow", "90.0"],
        ["pay", "7.0"],
        ["consumer", "Empty", "1"],
    ]


@pytest.mark.parametrize("mark", SECTIONS)
def test_generated_tables_in_the_readme_are_current(mark: str) -> None:
    """If this test fails, run `python -m tests.readme`, which updates the tables in the README."""
    assert between(TEXT, mark) == table(mark)
    assert with_tables(TEXT) == TEXT


def test_the_readme_has_a_valid_example_for_every_filter_term() -> None:
    rows = [line for line in between(TEXT, "filter").splitlines() if line.startswith("| `")]
    examples = [re.findall(r"`([^`]*)`", line) for line in rows]
    assert examples == [[row.term, row.example] for row in HELP]
    for _, example in examples:
        parse(example)
    assert all(note.split("(")[0][:20] in between(TEXT, "filter") for note in NOTES)
    assert len({line.count(" | ") for line in rows}) == 1


@pytest.mark.parametrize("words", commands_in_readme(), ids=" ".join)
def test_kgtui_accepts_the_options_and_filters_of_commands_in_the_readme(words: list[str]) -> None:
    """Each command line is only parsed. No command is run."""
    if words[:1] == ["groups"]:
        assert "list" in read_options(words[1:], OPTIONS)
        return
    args = parse_args(words)
    for text in (getattr(args, "filter", None), " ".join(getattr(args, "expr", None) or [])):
        if text:
            parse(text)


def test_the_readme_check_finds_commands_and_rejects_unknown_options() -> None:
    """The check of the commands in the README would always pass if it found no command, or accepted any option."""
    assert {"demo", "ls", "show", "delete", "backups", "audit", "doctor", "groups"} <= {
        w[0] for w in commands_in_readme()
    }
    with pytest.raises(UsageError):
        parse_args(["ls", "--no-such-option"])


def test_configuration_examples_in_the_readme_are_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keys, config = fenced(TEXT, "toml")
    (tmp_path / "config.toml").write_text(config + keys, encoding="utf-8")
    monkeypatch.setenv("KGTUI_CONFIG_DIR", str(tmp_path))
    settings = load()
    assert settings.default == "prod"
    assert settings.clusters["prod"].read_only is True
    assert settings.keys == {"refresh": "f5"}


def test_the_readme_mentions_every_configuration_key_and_variable() -> None:
    """The configuration example must contain all keys of kgtui.

    The test ignores keys with a dot, because they are client properties of Kafka.
    """
    keys, config = fenced(TEXT, "toml")
    example = tomllib.loads(config + keys)
    clusters = {key for cluster in example["clusters"].values() for key in cluster if "." not in key}
    assert clusters == {item.name for item in fields(ClusterSettings)} - {"properties"}
    assert set(example["ui"]) == {item.name for item in fields(UiSettings)}
    assert set(example) - {"version"} == {item.name for item in fields(Settings)} - {"path"}
    sources = [path.read_text(encoding="utf-8") for path in (ROOT / "kgtui/config").glob("*.py")]
    variables = {name for source in sources for name in re.findall(r"KGTUI_[A-Z_]*[A-Z]", source)}
    assert {"KGTUI_INTERVAL", "KGTUI_STATE_DIR"} < variables
    assert {name for name in variables if f"`{name}`" not in TEXT} == set()


def test_links_in_the_readme_have_existing_targets() -> None:
    links = [link for link in re.findall(r"\]\(([^)#\s]+)", TEXT) if "://" not in link]
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_api_table_in_the_readme_has_every_groupadmin_method() -> None:
    rows = re.findall(r"^\| `[^|]*\| (`[^|]*)\|$", TEXT[TEXT.index("| Java's Admin |") :], re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    calls = {name for name, _ in inspect.getmembers(GroupAdmin, inspect.isfunction) if not name.startswith("_")}
    assert named == calls - {"close"}


def test_the_readme_mentions_every_package() -> None:
    named = set(re.findall(r"^\| `kgtui/(\w+)` \|", TEXT, re.MULTILINE))
    assert named == {path.parent.name for path in (ROOT / "kgtui").glob("*/__init__.py")}
