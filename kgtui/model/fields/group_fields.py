"""Fields of a group. The functions that compute their values take a snapshot and a group id.

Values such as type and state come from the description of the group. If the group was not described, they come from the
list of groups, or from the summary that the sweep (a background read of all groups) stores. The number of members and
the lag come from the newest read of the group, as in `kgtui.model.facts`.
"""

from __future__ import annotations

from functools import cache, lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar

from kgtui.model.fields import NONE, Field, Missing, as_object
from kgtui.model.fields.verdict_fields import (
    FIRST_SEEN,
    LAST_PROGRESS,
    PROBLEM,
    PROBLEM_SINCE,
    STATE_SINCE,
    VERDICT,
    VERDICT_BASIS,
    VERDICT_COLUMN,
)
from kgtui.model.group_types import kind_of
from kgtui.model.marks import UNICODE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kgtui.model.fields.partition_fields import PartitionRow
    from kgtui.model.group import GroupConfig
    from kgtui.model.members import Member, Topology
    from kgtui.model.offsets import LagTotal
    from kgtui.model.snapshot import Snapshot

    GroupField = Field[[Snapshot, str]]

T = TypeVar("T")

_LIST = "ListGroups"
_DESCRIBE = "the RPC that describes groups of this type"
_AT_LEAST = UNICODE.at_least
_MOST_NAMES = 3


def _described(name: str) -> Callable[[Snapshot, str], Any]:
    """Return a function for `Field.value` that looks up the attribute `name` in the description of a group.

    The returned function returns None if the group was not described.
    """

    def value(snapshot: Snapshot, group: str) -> Any:
        reading = snapshot.details.get(group)
        return None if reading is None else getattr(reading.value, name)

    return value


def _type(snapshot: Snapshot, group: str) -> str | None:
    described = snapshot.details.get(group)
    if described is not None:
        return described.value.type
    listed = snapshot.groups[group].type
    if listed is not None:
        return listed
    read: str | None = _module("facts").type_of(snapshot, group)
    return read


def _protocol(snapshot: Snapshot, group: str) -> str:
    described = snapshot.details.get(group)
    return snapshot.groups[group].protocol if described is None else described.value.protocol


def _state(snapshot: Snapshot, group: str) -> str | None:
    described = snapshot.details.get(group)
    if described is not None:
        return described.value.state
    return snapshot.groups[group].state or snapshot.state_of(group)


def _kind(snapshot: Snapshot, group: str) -> str:
    return kind_of(_type(snapshot, group), _protocol(snapshot, group))


def _coordinator(snapshot: Snapshot, group: str) -> int:
    described = snapshot.details.get(group)
    return snapshot.groups[group].coordinator if described is None else described.value.coordinator


def _coordinator_address(snapshot: Snapshot, group: str) -> str:
    node = _coordinator(snapshot, group)
    address = snapshot.cluster.address(node)
    return f"{address} ({node})" if address else str(node)


@cache
def _module(name: str) -> Any:
    """Import a module at its first use, so that `kgtui ls` starts faster.

    The result is cached, because importing the module again for each of many groups is too slow.
    """
    return import_module(f"kgtui.model.{name}")


def _member_count(snapshot: Snapshot, group: str) -> int | None:
    count: int | None = _module("facts").member_count(snapshot, group)
    return count


def _members(snapshot: Snapshot, group: str) -> tuple[Member, ...] | None:
    reading = snapshot.details.get(group)
    return None if reading is None else reading.value.members


def _lag_total(snapshot: Snapshot, group: str) -> LagTotal | None:
    total: LagTotal | None = _module("facts").lag_total(snapshot, group)
    return total


def _lag_unknown(snapshot: Snapshot, group: str) -> int | None:
    total = _lag_total(snapshot, group)
    return None if total is None else total.unknown


def _may_be_hidden(snapshot: Snapshot, group: str) -> bool | None:
    """Return whether brokers might have hidden offsets of a group from the user.

    The result is None if the offsets or the permissions of the user were not read.
    """
    total = _lag_total(snapshot, group)
    return None if total is None or snapshot.access is None else total.hidden


def _hidden_topics(snapshot: Snapshot, group: str) -> tuple[str, ...] | None:
    reading = snapshot.offsets.get(group)
    return None if reading is None else reading.value.hidden_topics


def _topics(snapshot: Snapshot, group: str) -> tuple[str, ...] | None:
    topics: tuple[str, ...] | None = _module("facts").topics(snapshot, group)
    return topics


def _hosts(snapshot: Snapshot, group: str) -> tuple[str, ...] | None:
    hosts: tuple[str, ...] | None = _module("facts").hosts(snapshot, group)
    return None if hosts is None else tuple(host.removeprefix("/") for host in hosts)


def _partitions(snapshot: Snapshot, group: str) -> list[PartitionRow] | None:
    """Return the partitions in which a group has an offset, or which a member of the group owns; None if not known.

    If only the members were read, and not the offsets, the result normally contains the partitions that the members
    own; but if the newest read of the group failed, the result is None.
    """
    if group not in snapshot.offsets and (group not in snapshot.details or group in snapshot.group_faults):
        return None
    rows: list[PartitionRow] = _module("fields.partition_fields").partition_rows(snapshot, group)
    return rows


def _configs(snapshot: Snapshot, group: str) -> tuple[GroupConfig, ...] | None:
    reading = snapshot.configs.get(group)
    return None if reading is None else reading.value


def _read_at(snapshot: Snapshot, group: str) -> float | None:
    at: float | None = _module("facts").read_at(snapshot, group)
    return at


def lag_text(total: LagTotal) -> str:
    """Format a total lag: `7`; `≥ 7` for a lower bound; `?` if it is not known; empty if there are no offsets."""
    if total.lag is None:
        return "?" if total.lower_bound else ""
    return f"{_AT_LEAST}{total.lag}" if total.lower_bound else str(total.lag)


def _names_text(names: Sequence[str]) -> str:
    shown = ",".join(names[:_MOST_NAMES]) or NONE
    return f"{shown},+{len(names) - _MOST_NAMES}" if len(names) > _MOST_NAMES else shown


# A cache of 64 formatted times is enough, because groups are read in batches, and all groups of a batch are read at the
# same time.
@lru_cache(maxsize=64)
def _time(seconds: float) -> str:
    text: str = _module("rfc3339").rfc3339(seconds)
    return text


def _member_objects(members: Sequence[Member]) -> list[dict[str, Any]]:
    return [*map(_module("fields.member_fields").member_object, members)]


def _partition_objects(rows: Sequence[PartitionRow]) -> list[dict[str, Any]]:
    fields = _module("fields.partition_fields").PARTITION_OBJECT
    return [as_object(fields, row) for row in rows]


def _config_objects(configs: Sequence[GroupConfig]) -> list[dict[str, Any]]:
    return [
        {
            "name": config.name,
            "value": None if config.sensitive else config.value,
            "source": config.source,
            "read_only": config.read_only,
            "sensitive": config.sensitive,
            "type": config.type,
        }
        for config in configs
    ]


def _topology_object(topology: Topology) -> dict[str, Any]:
    parts = topology.subtopologies
    return {
        "epoch": topology.epoch,
        "subtopologies": None
        if parts is None
        else [
            {
                "subtopology": part.subtopology,
                "source_topics": list(part.source_topics),
                "repartition_sink_topics": list(part.repartition_sink_topics),
                "changelog_topics": [info.name for info in part.changelog_topics],
                "repartition_source_topics": [info.name for info in part.repartition_source_topics],
            }
            for part in parts
        ],
    }


GROUP: GroupField = Field("group", "GROUP", "string", _LIST, lambda _, group: group)
TYPE: GroupField = Field(
    "type", "TYPE", "string", f"{_LIST} from v5 on, or the describe RPC that found the group", _type,
    missing=Missing.UNKNOWN, by_listing=True,
)  # fmt: skip
PROTOCOL: GroupField = Field("protocol", "PROTOCOL", "string", f"{_LIST}: protocol type", _protocol, by_listing=True)
STATE: GroupField = Field(
    "state", "STATE", "string", f"{_LIST} from v4 on, or {_DESCRIBE}", _state, missing=Missing.UNKNOWN, by_listing=True
)
KIND: GroupField = Field("kind", "KIND", "string", "type and protocol", _kind, by_listing=True)
COORDINATOR: GroupField = Field(
    "coordinator", "COORDINATOR", "int", f"the broker that answered {_LIST}", _coordinator, by_listing=True
)
COORDINATOR_ADDRESS: GroupField = Field(
    "coordinator_address", "COORDINATOR", "string", "Metadata: host, port and id of the coordinator",
    _coordinator_address, by_listing=True,
)  # fmt: skip
ASSIGNOR: GroupField = Field(
    "assignor", "ASSIGNOR", "string", f"{_DESCRIBE}: assignor or protocol name", _described("assignor"), optional=True
)
GROUP_EPOCH: GroupField = Field(
    "group_epoch", "GROUP EPOCH", "int", f"{_DESCRIBE}: group epoch (KIP-848, KIP-932, KIP-1071)",
    _described("group_epoch"), optional=True,
)  # fmt: skip
ASSIGNMENT_EPOCH: GroupField = Field(
    "assignment_epoch", "ASSIGNMENT EPOCH", "int", f"{_DESCRIBE}: epoch of the target assignment",
    _described("assignment_epoch"), optional=True,
)  # fmt: skip
OPERATIONS: GroupField = Field(
    "authorized_operations", "PERMISSIONS", "array", f"{_DESCRIBE}: operations that the user is authorized for",
    _described("operations"), format=lambda names: ", ".join(sorted(names)) or "none", encode=sorted, optional=True,
)  # fmt: skip
MEMBER_COUNT: GroupField = Field(
    "members", "MEMBERS", "int", _DESCRIBE, _member_count, unit="members", missing=Missing.UNREAD, needs="members"
)
MEMBERS: GroupField = Field(
    "members", "MEMBERS", "array", _DESCRIBE, _members, format=lambda members: str(len(members)),
    encode=_member_objects, missing=Missing.UNREAD,
)  # fmt: skip
TOPOLOGY: GroupField = Field(
    "topology", "TOPOLOGY", "object", "StreamsGroupDescribe (KIP-1071)", _described("topology"),
    encode=_topology_object,
)  # fmt: skip
TOPOLOGY_STATUS: GroupField = Field(
    "topology_status", "TOPOLOGY STATUS", "string", "StreamsGroupDescribe of Kafka 4.4 and later",
    _described("topology_status"),
)  # fmt: skip
LAG: GroupField = Field(
    "lag", "LAG", "long", "OffsetFetch and ListOffsets, or DescribeShareGroupOffsets: sum of the lag of all partitions",
    _lag_total, unit="records", format=lag_text, encode=lambda total: total.lag, missing=Missing.UNREAD, needs="lag",
)  # fmt: skip
LAG_UNKNOWN: GroupField = Field(
    "lag_unknown", "LAG UNKNOWN", "int", "number of partitions whose lag could not be computed", _lag_unknown,
    unit="partitions", missing=Missing.UNREAD, needs="lag",
)  # fmt: skip
OFFSETS_MAY_BE_HIDDEN: GroupField = Field(
    "offsets_may_be_hidden", "MAY BE HIDDEN", "boolean",
    "Metadata: whether brokers may have left out offsets because of missing permissions; the lag is then a lower bound",
    _may_be_hidden, needs="lag",
)  # fmt: skip
HIDDEN_TOPICS: GroupField = Field(
    "hidden_topics", "HIDDEN TOPICS", "array",
    "topics that members read and on which the user has no DESCRIBE permission", _hidden_topics, format=_names_text,
    encode=list,
)  # fmt: skip
PARTITION_COUNT: GroupField = Field(
    "partition_count", "PARTITIONS", "int", "OffsetFetch or DescribeShareGroupOffsets", _lag_total,
    unit="partitions", format=lambda total: f"{_AT_LEAST * total.hidden}{total.partitions}",
    encode=lambda total: total.partitions, missing=Missing.UNREAD, needs="lag",
)  # fmt: skip
PARTITIONS: GroupField = Field(
    "partitions", "PARTITIONS", "array", "see `partition_fields`", _partitions, format=lambda rows: str(len(rows)),
    encode=_partition_objects, missing=Missing.UNREAD,
)  # fmt: skip
TOPICS: GroupField = Field(
    "topics", "TOPICS", "array", "topics that appear in subscriptions, assignments or offsets", _topics,
    format=_names_text, encode=list, missing=Missing.UNREAD,
)  # fmt: skip
HOSTS: GroupField = Field(
    "hosts", "HOSTS", "array", f"{_DESCRIBE}: hosts of the members", _hosts, format=_names_text, encode=list,
    missing=Missing.UNREAD,
)  # fmt: skip
CONFIGS: GroupField = Field(
    "configs", "CONFIGS", "array", "DescribeConfigs for the group", _configs, format=lambda rows: str(len(rows)),
    encode=_config_objects, missing=Missing.UNREAD,
)  # fmt: skip
DESCRIBED_BY: GroupField = Field(
    "described_by", "DESCRIBED BY", "string", "the RPC that described the group, with its version",
    _described("source"), optional=True,
)  # fmt: skip
READ_AT: GroupField = Field(
    "read_at", "READ AT", "timestamp", "when members or offsets were last read", _read_at, format=_time, encode=_time
)

LISTED = (
    GROUP, TYPE, PROTOCOL, STATE, KIND, COORDINATOR, MEMBER_COUNT, LAG, LAG_UNKNOWN, READ_AT,
    OFFSETS_MAY_BE_HIDDEN, VERDICT, PROBLEM, PROBLEM_SINCE, VERDICT_BASIS, FIRST_SEEN, STATE_SINCE, LAST_PROGRESS,
)  # fmt: skip
"""Fields of a group in the JSON and CSV of `kgtui ls`."""

LIST_COLUMNS = (GROUP, TYPE, PROTOCOL, STATE, COORDINATOR, MEMBER_COUNT, VERDICT_COLUMN, LAG)
"""Columns of the table that `kgtui ls` prints.

In this table, as in that of `kgtui ls --format wide`, a column is left out if the data that it needs (`Field.needs`)
was not read.
"""

WIDE_LIST_COLUMNS = (
    GROUP, KIND, TYPE, PROTOCOL, STATE, COORDINATOR_ADDRESS, MEMBER_COUNT, VERDICT_COLUMN, LAG, PARTITION_COUNT,
    TOPICS, HOSTS
)  # fmt: skip
"""Columns of the table that `kgtui ls --format wide` prints."""

DETAILED = (
    GROUP, TYPE, PROTOCOL, STATE, KIND, COORDINATOR, ASSIGNOR, GROUP_EPOCH, ASSIGNMENT_EPOCH, OPERATIONS, MEMBERS,
    TOPOLOGY, TOPOLOGY_STATUS, LAG, LAG_UNKNOWN, PARTITIONS, CONFIGS, DESCRIBED_BY, READ_AT,
    OFFSETS_MAY_BE_HIDDEN, HIDDEN_TOPICS, FIRST_SEEN, STATE_SINCE, LAST_PROGRESS,
)  # fmt: skip
"""Fields of a group in the JSON of `kgtui show` and of incident reports (Export dialog)."""

HEADER_LINES = (
    TYPE, PROTOCOL, KIND, STATE, COORDINATOR_ADDRESS, MEMBER_COUNT, LAG, ASSIGNOR, GROUP_EPOCH, ASSIGNMENT_EPOCH,
    OPERATIONS, DESCRIBED_BY, FIRST_SEEN, STATE_SINCE, LAST_PROGRESS,
)  # fmt: skip
"""Fields of a group that `kgtui show` prints, one per line, above the tables of members and partitions."""


def group_object(snapshot: Snapshot, group: str) -> dict[str, Any]:
    """Return a dictionary for JSON: name of each field in `DETAILED` → value of the field, None if it is unknown."""
    return as_object(DETAILED, snapshot, group)


class GroupColumns:
    """Gets the values of a field for many groups in one call, which is faster than one call per group.

    Many groups share one `Listing` (type, protocol, state and coordinator). A field that depends
    only on these values (`Field.by_listing`) is computed only once per `Listing`, unless a broker
    does not list types or states, or the snapshot contains descriptions of groups.
    """

    def __init__(self, snapshot: Snapshot, groups: Sequence[str]) -> None:
        self._snapshot = snapshot
        self._groups = groups
        self._keys = [*map(id, map(snapshot.groups.__getitem__, groups))]
        self._one_of_each = dict(zip(self._keys, groups, strict=True))
        listings = [snapshot.groups[group] for group in self._one_of_each.values()]
        # Groups with the same `Listing` can still differ in type and state: old brokers do not list types and states,
        # and the description of a group can be newer than the list of groups.
        complete = all(listing.type is not None and listing.state is not None for listing in listings)
        self._shared = complete and not snapshot.details

    def column(self, field: GroupField, convert: Callable[[Any, str], T]) -> Sequence[T]:
        """Return the value of a field for each group, converted by `convert`.

        Args:
            convert: takes the value and the group id. For a field with `by_listing`, its result must not depend on the
                group id, because it may be called only once for all groups with the same `Listing`.
        """
        snapshot, value_of = self._snapshot, field.value
        if field.by_listing and self._shared:
            converted = {key: convert(value_of(snapshot, group), group) for key, group in self._one_of_each.items()}
            return [*map(converted.__getitem__, self._keys)]
        return [convert(value_of(snapshot, group), group) for group in self._groups]

    def data(self, field: GroupField) -> Sequence[Any]:
        """Return the value of a field for each group, encoded for JSON and CSV as `Field.data` does it."""
        encode = field.encode
        if field is GROUP:
            return self._groups
        if encode is None:
            return self.column(field, lambda value, _: value)
        return self.column(field, lambda value, _: None if value is None else encode(value))
