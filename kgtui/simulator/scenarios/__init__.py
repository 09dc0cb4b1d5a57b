"""Scenarios: each TOML file in this folder defines the topics and groups of a simulated cluster.

The name of the file is the name of the scenario: `company.toml` defines the scenario `company`.

| module | contents |
|---|---|
| `file_keys` | the keys of a scenario file |
| `loader` | reads scenario files and builds their topics and groups |
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kgtui.errors import UsageError

if TYPE_CHECKING:
    from kgtui.simulator.cluster_state import ClusterState

FOLDER = Path(__file__).parent


def scenario_names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def check_scenario_name(name: str) -> None:
    """Raise UsageError if there is no scenario with this name."""
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
