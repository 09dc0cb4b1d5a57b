"""Convert kgtui's data about groups to rows like those that Kafka's tools print. Unknown values are `-`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kgtui.model.members import owners_of, partitions_of
from kgtui.model.offsets import lags

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kgtui.admin.groups_read import GroupsRead
    from kgtui.model.cluster import ClusterInfo
    from kgtui.model.group import GroupDescription
    from kgtui.model.members import Member, StreamsMember
    from tests.contract.kafka_tools import Row

Roles = dict[str, dict[str, list[int]]]


@dataclass(slots=True)
class ToolRows:
    """kgtui's data as rows of the tables that Kafka's tools print with `--state`, `--members` and `--offsets`.

    Attributes:
        states: group id → row.
        members: (group id, member id) → row.
        offsets: (group id, topic, partition) → row.
    """

    states: dict[str, Row] = field(default_factory=dict)
    members: dict[tuple[str, str], Row] = field(default_factory=dict)
    offsets: dict[tuple[str, str, str], Row] = field(default_factory=dict)


def from_python(read: GroupsRead, cluster: ClusterInfo) -> ToolRows:
    """Return the rows for the groups in `read`, the result of kgtui's function `read_in_full`."""
    tool_rows = ToolRows()
    for group, found in read.descriptions.items():
        address = cluster.brokers[found.coordinator].address
        coordinator = f"{address} ({found.coordinator})"
        epochs = (found.group_epoch, found.assignment_epoch)
        tool_rows.states[group] = _state(group, coordinator, found.assignor, found.state, epochs, found.member_count)
        for member in found.members or ():
            tool_rows.members[group, member.member_id] = _member_of_python(found, member)
        owners = owners_of(found.members)
        offsets = read.offsets_of(group)
        for row in lags(offsets) if offsets is not None else ():
            owner = owners.get((row.topic, row.partition))
            tool_rows.offsets[group, row.topic, str(row.partition)] = _offset(
                group,
                {"topic": row.topic, "partition": row.partition, "leader_epoch": row.leader_epoch, "lag": row.lag},
                position=row.position,
                log=(row.log_start, row.log_end),
                owner=(owner.member_id, owner.host, owner.client_id) if owner else None,
            )
    return tool_rows


def from_json(groups: Iterable[Mapping[str, Any]], cluster: Mapping[str, Any]) -> ToolRows:
    """Return the rows for the groups in the output of `kgtui show --format json`.

    The arguments are the values of the keys `groups` and `cluster` in this output.
    """
    tool_rows = ToolRows()
    addresses = {broker["id"]: f"{broker['host']}:{broker['port']}" for broker in cluster["brokers"]}
    for found in groups:
        group, members = found["group"], {member["member_id"]: member for member in found["members"]}
        coordinator = f"{addresses[found['coordinator']]} ({found['coordinator']})"
        epochs = (found["group_epoch"], found["assignment_epoch"])
        tool_rows.states[group] = _state(group, coordinator, found["assignor"], found["state"], epochs, len(members))
        for name, member in members.items():
            tool_rows.members[group, name] = _member_of_json(found, member)
        for row in found["partitions"] or ():
            # For streams groups, Kafka's tools do not print the owner of a partition, so the owner is left out.
            owner = None if found["type"] == "streams" else members.get(row["member_id"])
            tool_rows.offsets[group, row["topic"], str(row["partition"])] = _offset(
                group,
                row,
                position=row["start_offset"] if found["type"] == "share" else row["committed"],
                log=(row["log_start"], row["log_end"]),
                owner=(owner["member_id"], owner["host"], owner["client_id"]) if owner else None,
            )
    return tool_rows


def _state(
    group: str, coordinator: str, assignor: str | None, state: str, epochs: tuple[int | None, int | None], count: Any
) -> Row:
    return {
        "GROUP": group,
        "COORDINATOR (ID)": coordinator,
        "ASSIGNMENT-STRATEGY": _cell(assignor),
        "STATE": state,
        "GROUP-EPOCH": _cell(epochs[0]),
        "TARGET-ASSIGNMENT-EPOCH": _cell(epochs[1]),
        "ASSIGNMENT-EPOCH": _cell(epochs[1]),
        "#MEMBERS": _cell(count),
    }


def _member_of_python(group: GroupDescription, member: Member) -> Row:
    assigned = {topic: list(parts) for topic, parts in member.assignment or ()}
    target = None if member.target is None else {topic: list(parts) for topic, parts in member.target}
    assert sum(map(len, assigned.values())) == len(partitions_of(member.assignment))
    row = _member(group.group, group.type, group.assignment_epoch, member.member_id, member.protocol)
    row |= _owned(assigned, target, member.epoch)
    row |= {"HOST": member.host, "CLIENT-ID": member.client_id, "GROUP-INSTANCE-ID": _cell(member.instance_id)}
    if member.streams is not None:
        current, goal = _roles_of_python(member.streams)
        row |= _streams(member.streams.process, member.streams.topology_epoch, current, goal)
    return row


def _member_of_json(group: Mapping[str, Any], member: Mapping[str, Any]) -> Row:
    row = _member(group["group"], group["type"], group["assignment_epoch"], member["member_id"], member["protocol"])
    row |= _owned(member["assignment"] or {}, member["target_assignment"], member["epoch"])
    row |= {"HOST": member["host"], "CLIENT-ID": member["client_id"], "GROUP-INSTANCE-ID": _cell(member["instance_id"])}
    streams = member.get("streams")
    if streams is not None:
        row |= _streams(
            streams["process_id"], streams["topology_epoch"], streams["assignment"], streams["target_assignment"]
        )
    return row


def _member(group: str, group_type: str, epoch: int | None, name: str, protocol: str | None) -> Row:
    return {
        "GROUP": group,
        "CONSUMER-ID": name,
        "MEMBER": name,
        "MEMBER-PROTOCOL": _cell(protocol),
        "UPGRADED": str(protocol == "consumer").lower() if group_type == "consumer" else "-",
        "TARGET-EPOCH": _cell(epoch),
        "TARGET-ASSIGNMENT-EPOCH": _cell(epoch),
    }


def _owned(assigned: Mapping[str, list[int]], target: Mapping[str, list[int]] | None, epoch: int | None) -> Row:
    return {
        "#PARTITIONS": str(sum(map(len, assigned.values()))),
        "CURRENT-EPOCH": _cell(epoch),
        "MEMBER-EPOCH": _cell(epoch),
        "CURRENT-ASSIGNMENT": _partitions(assigned),
        "ASSIGNMENT": _partitions(assigned),
        "TARGET-ASSIGNMENT": _partitions(target or {}),
    }


def _partitions(assigned: Mapping[str, list[int]]) -> str:
    return ";".join(f"{topic}:{','.join(map(str, parts))}" for topic, parts in sorted(assigned.items())) or "-"


def _roles_of_python(member: StreamsMember) -> tuple[Roles, Roles]:
    current, goal = (
        {role: {name: list(parts) for name, parts in getattr(tasks, role)} for role in ("active", "standby", "warmup")}
        for tasks in (member.assignment, member.target)
    )
    return current, goal


def _streams(process: str, topology_epoch: int, current: Roles, goal: Roles) -> Row:
    def text(prefix: str, roles: Roles) -> str:
        return " ".join(
            f"{prefix}{role.upper()}: "
            + " ".join(f"{name}:[{','.join(map(str, parts))}];" for name, parts in tasks.items())
            for role, tasks in roles.items()
            if tasks
        )

    return {
        "PROCESS": process,
        "TOPOLOGY-EPOCH": str(topology_epoch),
        "ASSIGNMENTS": f"{text('', current)} {text('TARGET-', goal)}".strip(),
    }


def _offset(
    group: str,
    row: Mapping[str, Any],
    *,
    position: int | None,
    log: tuple[int | None, int | None],
    owner: tuple[str, str, str] | None,
) -> Row:
    start, end = log
    lag = row["lag"]
    if position is not None and end is not None and position > end:
        assert lag == 0
        # If the committed offset is after the log end, kgtui reports the lag 0, but Kafka's tools print a negative lag.
        lag = end - position
    streams_lag = lag
    if position is None and start is not None and end is not None:
        assert lag is None
        # If a partition has no committed offset, only Kafka's tool for streams groups prints a lag: the number of
        # records in the log, in the column OFFSET-LAG. The other tools print no lag, so `lag` remains None.
        streams_lag = end - start
    member, host, client = owner or ("-", "-", "-")
    return {
        "GROUP": group,
        "TOPIC": row["topic"],
        "PARTITION": str(row["partition"]),
        "LEADER-EPOCH": _cell(row["leader_epoch"]),
        "CURRENT-OFFSET": _cell(position),
        "START-OFFSET": _cell(position),
        "LOG-END-OFFSET": _cell(end),
        "LAG": _cell(lag),
        "OFFSET-LAG": _cell(streams_lag),
        "CONSUMER-ID": member,
        "HOST": host,
        "CLIENT-ID": client,
    }


def _cell(value: object) -> str:
    return "-" if value is None else str(value)
