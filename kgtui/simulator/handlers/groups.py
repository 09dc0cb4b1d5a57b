"""Handlers of ListGroups, the four describe RPCs, and DeleteGroups.

The encoded ListGroups row of a generated group (a group that no scenario defines) is cached until the group changes.
"""

from __future__ import annotations

from struct import pack
from typing import TYPE_CHECKING, Any

from kgtui.model.error_numbers import (
    COORDINATOR_LOAD_IN_PROGRESS,
    GROUP_ID_NOT_FOUND,
    INVALID_GROUP_ID,
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_SERVER_ERROR,
    UNSUPPORTED_VERSION,
)
from kgtui.protocol.primitives import compact_length, compact_string
from kgtui.simulator.generated_groups import DELETED, GENERATED_KINDS
from kgtui.simulator.handlers.request_context import OPERATIONS_NOT_REQUESTED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kgtui.simulator.generated_groups import GeneratedGroups
    from kgtui.simulator.handlers.request_context import RequestContext

FIRST_FLEXIBLE = 3
FIRST_WITH_STATE = 4
FIRST_WITH_TYPE = 5
FIRST_WITH_TYPE_CHECK = 6


def list_groups(request: RequestContext, row_cache: Callable[[GeneratedGroups, int], ListGroupsRowCache]) -> bytes:
    """Return the encoded response: the groups that this broker coordinates and that match the request's filters.

    Args:
        row_cache: function that returns the encoded rows of the generated groups. Its second argument is the version of
            ListGroups.
    """
    error = request.error
    loading = request.faults.loading(request.node.id)
    if not error and loading:
        error = COORDINATOR_LOAD_IN_PROGRESS
    # While the old coordinator (written in Scala) is loading groups, it returns an error, but also lists the groups
    # that are already loaded.
    if error and not (loading and request.node.release.scala_coordinator):
        return _response_body(request.version, request.throttle_ms, error, 0, ())
    filters = _ListFilter(request)
    rows = [
        _string(name, request.version) + _row_tail(protocol, state, group_type, request.version)
        for name, protocol, state, group_type in _scenario_groups(request)
        if filters(group_type, state) and not _hidden(request, name)
    ]
    if loading:
        rows = rows[: len(rows) // 2]
    generated = request.state.generated
    count = len(rows)
    if generated is not None and not loading:
        generated.advance_to(request.state.time())
        if filters.match_all and not request.faults.forbids_groups:
            cache = row_cache(generated, request.version)
            for partition in _partitions_of(request):
                rows.append(cache.rows_of_partition(partition))
                count += generated.existing[partition]
        else:
            rows += _generated_rows(request, generated, filters)
            count = len(rows)
    return _response_body(request.version, request.throttle_ms, error, count, rows)


class _ListFilter:
    """Applies the fields StatesFilter and TypesFilter of a ListGroups request to groups (KIP-518, KIP-848).

    The names of states are case-sensitive only on brokers with the old coordinator, which is written in Scala.
    """

    def __init__(self, request: RequestContext) -> None:
        exact = request.node.release.scala_coordinator
        states = request.fields.get("StatesFilter", []) if request.version >= FIRST_WITH_STATE else []
        types = request.fields.get("TypesFilter", []) if request.version >= FIRST_WITH_TYPE else []
        self._normalize: Callable[[str], str] = str if exact else _lowercase
        self._states = {self._normalize(state) for state in states}
        self._types = {name.lower() for name in types}

    @property
    def match_all(self) -> bool:
        return not self._states and not self._types

    def __call__(self, group_type: str, state: str) -> bool:
        if self._types and group_type not in self._types:
            return False
        return not self._states or self._normalize(state) in self._states


def _lowercase(value: str) -> str:
    return value.strip().lower()


def _hidden(request: RequestContext, name: str) -> bool:
    """Return whether ListGroups omits a group, because the client lacks DESCRIBE on both the cluster and the group."""
    return request.faults.cluster_forbidden and request.faults.group_forbidden(name)


def _scenario_groups(request: RequestContext) -> Iterator[tuple[str, str, str, str]]:
    t = request.state.time()
    for name, group in request.state.groups.items():
        if request.state.coordinator(name) == request.node.id:
            yield name, group.protocol, group.state(t), group.type


def _partitions_of(request: RequestContext) -> list[int]:
    topic = request.state.offsets_topic
    return [p for p in range(topic.partitions) if request.state.leadership(topic, p).leader == request.node.id]


def _generated_rows(request: RequestContext, generated: GeneratedGroups, filters: _ListFilter) -> list[bytes]:
    led = frozenset(_partitions_of(request))
    rows = []
    for name, kind, state in generated.groups():
        group_type, protocol, states = GENERATED_KINDS[kind]
        if not filters(group_type, states[state]) or generated.partition[generated.index[name]] not in led:
            continue
        if not _hidden(request, name):
            rows.append(
                _string(name, request.version) + _row_tail(protocol, states[state], group_type, request.version)
            )
    return rows


def _in_response_order(request: RequestContext, names: Iterable[str]) -> list[str]:
    """Sort group ids as a real broker does: the empty id first, the others by partition of `__consumer_offsets`."""
    return sorted(names, key=lambda name: (name != "", request.state.offsets_partition(name), name))


def describe_groups(request: RequestContext) -> dict[str, Any]:
    """Describe classic groups.

    A missing or non-classic group has the state Dead and, since DescribeGroups v6, error 69 (GROUP_ID_NOT_FOUND).
    """
    return {
        "ThrottleTimeMs": request.throttle_ms,
        "Groups": [_classic(request, name) for name in _in_response_order(request, request.fields["Groups"])],
    }


def _classic(request: RequestContext, name: str) -> dict[str, Any]:
    error = request.group_error(name)
    if error:
        return {"GroupId": name, "ErrorCode": error}
    group = request.state.find(name) if name else None
    if group is not None and group.type == "classic":
        return {**group.describe(request.state.time(), operations=request.operations), "ErrorCode": 0}
    if request.version < FIRST_WITH_TYPE_CHECK:
        return {"GroupId": name, "ErrorCode": 0, "GroupState": "Dead", "AuthorizedOperations": request.operations}
    message = f"Group {name} not found." if group is None else f"Group {name} is not a classic group."
    return {"GroupId": name, "ErrorCode": GROUP_ID_NOT_FOUND, "ErrorMessage": message, "GroupState": "Dead"}


def describe_typed(request: RequestContext, group_type: str, feature: str) -> dict[str, Any]:
    """Describe groups of one type, which can be any type except `classic`.

    Args:
        group_type: type of the groups, such as `share`.
        feature: feature that enables this group type, such as `share.version`.
    """
    names = _in_response_order(request, request.fields["GroupIds"])
    return {
        "ThrottleTimeMs": request.throttle_ms,
        "Groups": [_newer_type(request, name, group_type, feature) for name in names],
    }


def _newer_type(request: RequestContext, name: str, group_type: str, feature: str) -> dict[str, Any]:
    blank: dict[str, Any] = {"GroupId": name, "AuthorizedOperations": OPERATIONS_NOT_REQUESTED}
    old = request.node.release.number < (4, 0)
    # Since Kafka 4.0, brokers return UNSUPPORTED_VERSION if share or streams groups are disabled (observed with 4.1.2).
    if not old and not request.feature_enabled(feature):
        return {**blank, "ErrorCode": UNSUPPORTED_VERSION}
    error = request.group_error(name)
    if error:
        return {**blank, "ErrorCode": error}
    if old and "" in request.fields["GroupIds"]:
        # Before Kafka 4.0, a single empty group id causes an error for all groups in the request (observed with Kafka
        # 3.9.2).
        return {**blank, "ErrorCode": UNKNOWN_SERVER_ERROR}
    if not name:
        return {**blank, "ErrorCode": INVALID_GROUP_ID}
    group = request.state.find(name)
    if group is None or group.type != group_type:
        message = f"Group {name} not found." if group is None else f"Group {name} is not a {group_type} group."
        return {**blank, "ErrorCode": GROUP_ID_NOT_FOUND, "ErrorMessage": None if old else message}
    if request.reads_forbidden_topic(group):
        message = "The group has described topic(s) that the client is not authorized to describe."
        return {**blank, "ErrorCode": TOPIC_AUTHORIZATION_FAILED, "ErrorMessage": message}
    return {**group.describe(request.state.time(), operations=request.operations), "ErrorCode": 0}


def delete_groups(request: RequestContext) -> dict[str, Any]:
    """Delete groups of any type that have no members. Like a real broker, do not keep the order of the request."""
    results = []
    for name in _in_response_order(request, set(request.fields["GroupsNames"])):
        error = request.group_error(name)
        if not error and not name:
            error = GROUP_ID_NOT_FOUND
        results.append({"GroupId": name, "ErrorCode": error or request.state.delete_group(name)})
    return {"ThrottleTimeMs": request.throttle_ms, "Results": results}


def _string(value: str, version: int) -> bytes:
    if version >= FIRST_FLEXIBLE:
        return compact_string(value)
    raw = value.encode("utf-8", "surrogateescape")
    return pack(">h", len(raw)) + raw


def _row_tail(protocol: str, state: str, group_type: str, version: int) -> bytes:
    """Encode the fields of a ListGroups row that follow the group id."""
    row = _string(protocol, version)
    if version >= FIRST_WITH_STATE:
        row += _string(state, version)
    if version >= FIRST_WITH_TYPE:
        row += _string(group_type, version)
    return row + (b"\0" if version >= FIRST_FLEXIBLE else b"")


def _response_body(version: int, throttle_ms: int, error: int, count: int, rows: Iterable[bytes]) -> bytes:
    """Encode a ListGroups response with `count` rows. One element of `rows` can contain several encoded rows."""
    head = pack(">i", throttle_ms) if version >= 1 else b""
    head += pack(">h", error)
    head += compact_length(count) if version >= FIRST_FLEXIBLE else pack(">i", count)
    return b"".join((head, *rows, b"\0" if version >= FIRST_FLEXIBLE else b""))


class ListGroupsRowCache:
    """Encoded rows of all generated groups, for responses of one ListGroups version.

    The rows are kept per partition of `__consumer_offsets`, because a broker lists the groups of the partitions that it
    leads.
    """

    def __init__(self, generated: GeneratedGroups, version: int) -> None:
        self._generated = generated
        self._tails = {
            (kind, state): _row_tail(protocol, states[state], group_type, version)
            for kind, (group_type, protocol, states) in enumerate(GENERATED_KINDS)
            for state in range(len(states))
        }
        self._version = version
        self._rows = [[self._row(index) for index in members] for members in generated.by_partition]
        self._joined: list[bytes | None] = [None] * len(self._rows)
        self._changed: set[int] = set()
        generated.changed.append(self._changed)

    def _row(self, index: int) -> bytes:
        generated = self._generated
        state = generated.states[index]
        if state == DELETED:
            return b""
        return _string(generated.names[index], self._version) + self._tails[generated.kinds[index], state]

    def rows_of_partition(self, partition: int) -> bytes:
        """Return the concatenated encoded rows of all groups in one partition of `__consumer_offsets`."""
        self._apply_changes()
        joined = self._joined[partition]
        if joined is None:
            joined = self._joined[partition] = b"".join(self._rows[partition])
        return joined

    def _apply_changes(self) -> None:
        generated = self._generated
        # Sort the indexes, because the rows of new groups must be appended in the order of their `position`.
        for index in sorted(self._changed):
            partition, position = generated.partition[index], generated.position[index]
            rows = self._rows[partition]
            if position == len(rows):
                rows.append(b"")
            rows[position] = self._row(index)
            self._joined[partition] = None
        self._changed.clear()
