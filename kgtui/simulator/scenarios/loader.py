"""Read and check scenario files, and build their topics and groups.

Unknown keys, values of the wrong type and unknown topics are errors.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from kgtui.errors import PARSE_ERRORS, UsageError, parse_reason
from kgtui.private_files import read_input
from kgtui.simulator.scenarios.file_keys import AnyGroupKeys, GroupSpec, ScenarioFile, TopicSpec

if TYPE_CHECKING:
    from pathlib import Path

    from kgtui.simulator.groups.base import Group
    from kgtui.simulator.topics import Topic


@dataclass(frozen=True, slots=True)
class Scenario:
    """The topics and groups of a scenario, including those of the scenarios that it extends.

    Attributes:
        topics: all topics except deleted ones.
        configs: group id → configs that differ from the defaults.
    """

    topics: list[Topic]
    groups: list[Group]
    configs: dict[str, dict[str, str]]


def read_toml(path: Path) -> dict[str, Any]:
    """Parse a TOML file. Raises UsageError if the file cannot be read or parsed."""
    try:
        return tomllib.loads(read_input(path).decode("utf-8"))
    except OSError as err:
        raise UsageError(f"{path.name}: {err}") from err
    except PARSE_ERRORS as err:
        raise UsageError(f"{path.name}: {parse_reason(err)}") from err


def check_keys(data: dict[str, Any], keys: Any, where: str) -> Any:
    """Convert parsed TOML to an instance of the msgspec class `keys`, whose fields are the allowed TOML keys.

    Raises:
        UsageError: a key or a value is wrong. The message begins with `where`.
    """
    try:
        return msgspec.convert(data, keys)
    except msgspec.ValidationError as err:
        raise UsageError(f"{where}: {err}") from err


def group_specs(data: dict[str, Any], where: str) -> tuple[GroupSpec, ...]:
    """Convert each table in `[[groups]]` to a `GroupSpec`.

    Raises:
        UsageError: a key or value is invalid. The message begins with `where` and the group id.
    """
    groups = data.get("groups", [])
    if not isinstance(groups, list):
        raise UsageError(f"{where}: groups must be written as [[groups]]")
    return tuple(
        _group_spec(group, f"{where}, group {group.get('id', number)!r}") for number, group in enumerate(groups, 1)
    )


def _group_spec(table: dict[str, Any], where: str) -> GroupSpec:
    own = {name: table[name] for name in GroupSpec.__struct_fields__ if name in table and name != "keys"}
    keys = check_keys({name: value for name, value in table.items() if name not in own}, AnyGroupKeys, where)
    spec: GroupSpec = check_keys({**own, "keys": keys}, GroupSpec, where)
    return spec


def build_groups(specs: list[GroupSpec], topics: dict[str, Topic], seed: int, where: str) -> list[Group]:
    """Build the groups of a scenario file.

    Raises:
        UsageError: a group id is used twice, or a group is invalid. The message begins with `where`.
    """
    groups: dict[str, Group] = {}
    for spec in specs:
        if spec.id in groups:
            raise UsageError(f"{where}, group {spec.id!r}: this group id is used twice")
        try:
            groups[spec.id] = spec.build(topics, seed)
        except ValueError as err:
            raise UsageError(f"{where}, group {spec.id!r}: {err}") from err
    return list(groups.values())


def read_file(path: Path) -> ScenarioFile:
    """Read one scenario file, without the scenario that it extends. Raises UsageError if the file is invalid."""
    data = read_toml(path)
    specs = group_specs(data, path.name)
    file: ScenarioFile = check_keys({**data, "groups": []}, ScenarioFile, path.name)
    return msgspec.structs.replace(file, groups=specs)


def load_scenario(path: Path, *, seed: int) -> Scenario:
    """Read a scenario file and the files that it extends directly or indirectly, and build their topics and groups.

    Raises:
        UsageError: a file is invalid.
    """
    files = [read_file(path)]
    names = [path.stem]
    while (parent := files[-1].extends) is not None:
        if parent in names:
            raise UsageError(f"{path.name}: the scenario extends itself; remove `extends` from {names[-1]}.toml")
        names.append(parent)
        files.append(read_file(path.with_name(f"{parent}.toml")))
    topic_specs: dict[str, TopicSpec] = {}
    specs: list[GroupSpec] = []
    for file in reversed(files):
        topic_specs |= file.topics
        specs += [*file.groups, *([] if file.hostile_ids is None else file.hostile_ids.specs())]
    topics = {name: spec.build(name, seed) for name, spec in topic_specs.items()}
    if files[0].without_groups:
        specs = []
    # Derive the members' ids and hosts from the seed 1, and not from `seed`, so that every demo shows the same members.
    groups = build_groups(specs, topics, 1, path.name)
    return Scenario(
        topics=[topic for name, topic in topics.items() if not topic_specs[name].deleted],
        groups=groups,
        configs={spec.id: dict(spec.configs) for spec in specs if spec.configs},
    )
