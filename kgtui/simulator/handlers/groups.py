"""ListGroups, the four ways to describe a group, and DeleteGroups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kgtui.simulator.handlers.call import (
    COORDINATOR_LOAD_IN_PROGRESS,
    GROUP_ID_NOT_FOUND,
    INVALID_GROUP_ID,
    NOT_ASKED,
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_SERVER_ERROR,
    UNSUPPORTED_VERSION,
)
from kgtui.simulator.listing import FIRST_WITH_STATE, FIRST_WITH_TYPE, Rows, body, tail, text
from kgtui.simulator.population import KINDS
from kgtui.simulator.releases import DESCRIBED_BY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kgtui.simulator.handlers.call import Call
    from kgtui.simulator.population import Population

FIRST_TELLING_TYPES_APART = 6
TOPIC_CHECKED_TYPES = tuple(DESCRIBED_BY)


def list_groups(call: Call, rows_of: Callable[[Population, int], Rows]) -> bytes:
    """Every group that this broker coordinates; `rows_of` gives the rows of generated groups in a version."""
    error = call.error
    loading = call.faults.loading(call.node.id)
    if not error and loading:
        error = COORDINATOR_LOAD_IN_PROGRESS
    # The old coordinator lists what it has read so far, the new one nothing.
    if error and not (loading and call.node.release.scala_coordinator):
        return body(call.version, call.throttle_ms, error, 0, ())
    wanted = _Filter(call)
    rows = [
        text(name, call.version) + tail(protocol, state, group_type, call.version)
        for name, protocol, state, group_type in _listed_one_by_one(call)
        if wanted(group_type, state) and not _hidden(call, name)
    ]
    if loading:
        rows = rows[: len(rows) // 2]
    population = call.world.population
    count = len(rows)
    if population is not None and not loading:
        population.settle(call.world.time())
        if wanted.everything and not call.faults.forbids_groups:
            kept = rows_of(population, call.version)
            for partition in _partitions_of(call):
                rows.append(kept.chunk(partition))
                count += population.living[partition]
        else:
            rows += _generated(call, population, wanted)
            count = len(rows)
    return body(call.version, call.throttle_ms, error, count, rows)


class _Filter:
    """StatesFilter and TypesFilter (KIP-518, KIP-848): the old coordinator compares states by exact case."""

    def __init__(self, call: Call) -> None:
        exact = call.node.release.scala_coordinator
        states = call.fields.get("StatesFilter", []) if call.version >= FIRST_WITH_STATE else []
        types = call.fields.get("TypesFilter", []) if call.version >= FIRST_WITH_TYPE else []
        self._fold: Callable[[str], str] = str if exact else _folded
        self._states = {self._fold(state) for state in states}
        self._types = {name.lower() for name in types}

    @property
    def everything(self) -> bool:
        """Whether nothing is left out."""
        return not self._states and not self._types

    def __call__(self, group_type: str, state: str) -> bool:
        if self._types and group_type not in self._types:
            return False
        return not self._states or self._fold(state) in self._states


def _folded(value: str) -> str:
    return value.strip().lower()


def _hidden(call: Call, name: str) -> bool:
    """Who may describe the cluster sees all groups; others only those that they may describe."""
    return call.faults.cluster_forbidden and call.faults.group_forbidden(name)


def _listed_one_by_one(call: Call) -> Iterator[tuple[str, str, str, str]]:
    world = call.world
    t = world.time()
    for name, group in world.groups.items():
        if world.coordinator(name) == call.node.id:
            yield name, group.protocol, group.state(t), group.type


def _partitions_of(call: Call) -> list[int]:
    """Partitions of the offsets topic that this broker leads."""
    topic = call.world.offsets_topic
    return [p for p in range(topic.partitions) if call.world.leadership(topic, p).leader == call.node.id]


def _generated(call: Call, population: Population, wanted: _Filter) -> list[bytes]:
    mine = frozenset(_partitions_of(call))
    rows = []
    for name, kind, state in population.groups():
        group_type, protocol, states = KINDS[kind]
        if not wanted(group_type, states[state]) or population.home[population.index[name]] not in mine:
            continue
        if not _hidden(call, name):
            rows.append(text(name, call.version) + tail(protocol, states[state], group_type, call.version))
    return rows


def _by_home(call: Call, names: Iterable[str]) -> list[str]:
    """Names in the order in which brokers answer: by partition of the offsets topic, not as they were asked for."""
    return sorted(names, key=lambda name: (name != "", call.world.home(name), name))


def describe_groups(call: Call) -> dict[str, Any]:
    """Classic groups. Before v6 anything else reads as Dead, without an error."""
    return {
        "ThrottleTimeMs": call.throttle_ms,
        "Groups": [_classic(call, name) for name in _by_home(call, call.fields["Groups"])],
    }


def _classic(call: Call, name: str) -> dict[str, Any]:
    error = call.refusal(name)
    if error:
        return {"GroupId": name, "ErrorCode": error}
    group = call.world.find(name) if name else None
    if group is not None and group.type == "classic":
        return {**group.describe(call.world.time(), operations=call.operations), "ErrorCode": 0}
    if call.version < FIRST_TELLING_TYPES_APART:
        return {"GroupId": name, "ErrorCode": 0, "GroupState": "Dead", "AuthorizedOperations": call.operations}
    why = f"Group {name} not found." if group is None else f"Group {name} is not a classic group."
    return {"GroupId": name, "ErrorCode": GROUP_ID_NOT_FOUND, "ErrorMessage": why, "GroupState": "Dead"}


def describe_typed(call: Call, group_type: str, feature: str) -> dict[str, Any]:
    """Groups of one of the newer types."""
    names = _by_home(call, call.fields["GroupIds"])
    return {
        "ThrottleTimeMs": call.throttle_ms,
        "Groups": [_typed(call, name, group_type, feature) for name in names],
    }


def _typed(call: Call, name: str, group_type: str, feature: str) -> dict[str, Any]:
    blank: dict[str, Any] = {"GroupId": name, "AuthorizedOperations": NOT_ASKED}
    old = call.node.release.number < (4, 0)
    # A broker that offers the API may have it switched off: it answers so for each group (seen on 4.1.2).
    if not old and not call.enabled(feature):
        return {**blank, "ErrorCode": UNSUPPORTED_VERSION}
    error = call.refusal(name)
    if error:
        return {**blank, "ErrorCode": error}
    if old and "" in call.fields["GroupIds"]:
        # An empty id among them fails the whole request (seen on 3.9.2).
        return {**blank, "ErrorCode": UNKNOWN_SERVER_ERROR}
    if not name:
        return {**blank, "ErrorCode": INVALID_GROUP_ID}
    group = call.world.find(name)
    if group is None or group.type != group_type:
        why = f"Group {name} not found." if group is None else f"Group {name} is not a {group_type} group."
        return {**blank, "ErrorCode": GROUP_ID_NOT_FOUND, "ErrorMessage": None if old else why}
    if call.forbidden_topic(group):
        why = "The group has described topic(s) that the client is not authorized to describe."
        return {**blank, "ErrorCode": TOPIC_AUTHORIZATION_FAILED, "ErrorMessage": why}
    answer = group.describe(call.world.time(), operations=call.operations)
    if call.version == 0 and group_type == "consumer":
        answer["Members"] = [{k: v for k, v in row.items() if k != "MemberType"} for row in answer["Members"]]
    return {**answer, "ErrorCode": 0}


def delete_groups(call: Call) -> dict[str, Any]:
    """Delete what is Empty, of whatever type; the results come in another order than the names."""
    results = []
    for name in _by_home(call, set(call.fields["GroupsNames"])):
        error = call.refusal(name)
        if not error and not name:
            error = GROUP_ID_NOT_FOUND
        results.append({"GroupId": name, "ErrorCode": error or call.world.delete_group(name)})
    return {"ThrottleTimeMs": call.throttle_ms, "Results": results}
