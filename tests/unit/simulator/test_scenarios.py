"""Tests of scenario files, which define simulated clusters: kgtui's own files are valid, and errors are reported."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kgtui.errors import UsageError
from kgtui.simulator import ManualClock, Simulator
from kgtui.simulator.scenarios import FOLDER, scenario_names
from kgtui.simulator.scenarios.loader import load_scenario, read_file
from tests.hostile_ids import hostile_group_ids

if TYPE_CHECKING:
    from pathlib import Path

GROUP = '[topics]\n"t" = { partitions = 2 }\n[[groups]]\nid = "g"\ntype = "consumer"\n'


def write(folder: Path, text: str, name: str = "bad") -> Path:
    path = folder / f"{name}.toml"
    path.write_text('description = "a test"\n' + text)
    return path


@pytest.mark.parametrize("name", scenario_names())
def test_every_scenario_has_a_description_and_builds_a_cluster(name: str) -> None:
    assert read_file(FOLDER / f"{name}.toml").description
    Simulator(scenario=name, clock=ManualClock())


def test_an_unknown_scenario_is_rejected() -> None:
    with pytest.raises(UsageError, match="there is no scenario 'none'; use one of company, empty, plain, wild"):
        Simulator(scenario="none")


def test_the_scenario_named_company_contains_every_hostile_group_id() -> None:
    """Hostile group ids could harm a program that prints them unescaped.

    For example, they contain terminal escape sequences, markup or CSV formulas.
    """
    ids = hostile_group_ids()
    assert set(ids) <= Simulator(clock=ManualClock()).state.groups.keys()
    assert [len(name) for name in ids[-2:]] == [249, 32_000]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("topics = 7", "Expected `object`, got `int` - at `\\$.topics`"),
        ("colour = 1", "unknown field `colour`"),
        ("groups = 7", r"groups must be written as \[\[groups\]\]"),
        ("[[groups]]\nid = 'g'\ntype = 'new'\nmembers = 1", "group 'g': Invalid value 'new' - at `\\$.type`"),
        ("[[groups]]\ntype = 'share'", "group 1: Object missing required field `id`"),
        (GROUP + "members = 1\nspeed = 3", "group 'g': Object contains unknown field `speed`"),
        (GROUP + "members = 1\nkeys = { type = 'share' }", "group 'g': Object contains unknown field `keys`"),
        (GROUP + "members = 'many'", "group 'g': Expected `int | null`, got `str` - at `\\$.members`"),
        (GROUP, "group 'g': use exactly one of the keys members, constant, rotation and schedule"),
        (GROUP + "members = 1\nrotation = { period = 1, turns = [[0]] }", "group 'g': use exactly one of the keys"),
        (GROUP + "members = 1\nreads = [{ topic = 'u' }]", r"group 'g': topic 'u' is not in \[topics\]"),
        (
            GROUP + "members = 1\nreads = [{ topic = 't', commits = { pattern = 'fast' } }]",
            r"group 'g': Invalid value 'fast' - at `\$.reads\[0\].commits.pattern`",
        ),
        (GROUP + "members = 1\n[[groups]]\nid = 'g'\ntype = 'share'\nmembers = 1", "group 'g': .* used twice"),
        ("extends = 'bad'", "the scenario extends itself; remove `extends` from bad.toml"),
        ("extends = 'missing'", "missing.toml"),
        ("[topics", "Expected"),
    ],
)
def test_an_invalid_scenario_file_raises_a_usage_error(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load_scenario(write(tmp_path, text), seed=1)


def test_a_scenario_contains_the_groups_of_the_scenario_that_it_extends(tmp_path: Path) -> None:
    write(tmp_path, GROUP + "members = 1", "base")
    extended = write(tmp_path, "extends = 'base'\n[[groups]]\nid = 'h'\ntype = 'share'\nmembers = 2", "more")
    scenario = load_scenario(extended, seed=1)
    assert [group.name for group in scenario.groups] == ["g", "h"]
    assert [topic.name for topic in scenario.topics] == ["t"]
