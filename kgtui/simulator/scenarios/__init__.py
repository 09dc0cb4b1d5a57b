"""Scenarios: TOML files that say which topics and groups a simulated cluster has at the start.

A scenario is a file in this folder, and its file name is its name. `file_keys` documents the keys of a file, and
`loader` reads it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kgtui.errors import UsageError

if TYPE_CHECKING:
    from kgtui.simulator.cluster_state import ClusterState

FOLDER = Path(__file__).parent


def scenario_names() -> list[str]:
    """Return the names of all scenarios in ascending order."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def check_scenario_name(name: str) -> None:
    """Check that a scenario exists.

    Raises:
        UsageError: there is no scenario with this name.
    """
    if name not in scenario_names():
        raise UsageError(f"there is no scenario {name!r}; use one of {', '.join(scenario_names())}")


def add_scenario(name: str, state: ClusterState) -> None:
    """Add the topics and groups of a scenario to a new cluster.

    Raises:
        UsageError: there is no scenario with this name, or its file is invalid.
    """
    from kgtui.simulator.scenarios.loader import load_scenario

    check_scenario_name(name)
    scenario = load_scenario(FOLDER / f"{name}.toml", seed=state.seed)
    state.add_topics(scenario.topics)
    state.add_groups(scenario.groups)
    state.configs.update({group: configs for group, configs in scenario.configs.items() if group in state.groups})


def hostile_group_ids() -> list[str]:
    """Return the hostile group ids of the `company` scenario in the order of the file; the last two are the longest."""
    from kgtui.simulator.scenarios.loader import read_file

    hostile_ids = read_file(FOLDER / "company.toml").hostile_ids
    return [] if hostile_ids is None else hostile_ids.all()
