"""Groups in full: what `kgtui show` prints, and what can be exported of a group."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kgtui.model import facts
from kgtui.model.group_types import kind_of
from kgtui.model.members import owners_of
from kgtui.model.offsets import PartitionLag, lags
from kgtui.model.text import visible
from kgtui.output import machine, marks, members
from kgtui.output.table import Column, cell_width, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgtui.model.answer import Coverage, Fault
    from kgtui.model.group import GroupConfig, GroupDescription
    from kgtui.model.members import Topology
    from kgtui.model.snapshot import Snapshot

CSV_HEADER = (
    "group", "topic", "partition", "committed", "start_offset", "log_start", "log_end", "lag", "lead", "lost",
    "leader_epoch", "metadata", "member_id", "reason",
)  # fmt: skip


def as_json(snapshot: Snapshot, groups: Sequence[str], coverage: Coverage, faults: Sequence[Fault]) -> bytes:
    """The JSON of `show`: the frame of `ls` with everything that is known of each group."""
    objects = [group_object(snapshot, group) for group in groups]
    return machine.json_bytes(machine.document(snapshot.cluster, snapshot.taken_at, coverage, objects, faults))


def as_csv(snapshot: Snapshot, groups: Sequence[str]) -> bytes:
    """CSV of every partition with an offset or an owner, one a line."""
    rows = (
        tuple(row[name] for name in CSV_HEADER)
        for group in groups
        for row in ({"group": group} | partition for partition in _partitions(snapshot, group))
    )
    return machine.csv_bytes(CSV_HEADER, rows)


def group_object(snapshot: Snapshot, group: str) -> dict[str, Any]:
    """Everything known of one group; what was not learned is null."""
    listing = snapshot.groups[group]
    reading = snapshot.details.get(group)
    found = reading.value if reading is not None else None
    group_type = found.type if found is not None else listing.type
    lag = facts.lag_total(snapshot, group)
    configs = snapshot.configs.get(group)
    read_at = facts.read_at(snapshot, group)
    operations = None if found is None or found.operations is None else sorted(found.operations)
    return {
        "group": group,
        "type": group_type,
        "protocol": found.protocol if found is not None else listing.protocol,
        "state": found.state if found is not None else listing.state,
        "kind": kind_of(group_type, listing.protocol),
        "coordinator": found.coordinator if found is not None else listing.coordinator,
        "assignor": None if found is None else found.assignor,
        "group_epoch": None if found is None else found.group_epoch,
        "assignment_epoch": None if found is None else found.assignment_epoch,
        "authorized_operations": operations,
        "members": None if found is None or found.members is None else [*map(members.member_object, found.members)],
        "topology": None if found is None or found.topology is None else _topology(found.topology),
        "topology_status": None if found is None else found.topology_status,
        "lag": None if lag is None else lag.lag,
        "lag_unknown": None if lag is None else lag.unknown,
        "partitions": None if _unread(snapshot, group) else _partitions(snapshot, group),
        "configs": None if configs is None else [_config(row) for row in configs.value],
        "described_by": None if found is None else found.source,
        "read_at": None if read_at is None else machine.rfc3339(read_at),
    }


def _unread(snapshot: Snapshot, group: str) -> bool:
    """Whether offsets are missing because they could not be read; Connect and registry groups have none."""
    return group not in snapshot.offsets and (group not in snapshot.details or group in snapshot.group_faults)


def _partitions(snapshot: Snapshot, group: str) -> list[dict[str, Any]]:
    offsets = snapshot.offsets.get(group)
    reading = snapshot.details.get(group)
    owners = owners_of(reading.value.members) if reading is not None else {}
    share = {(row.topic, row.partition) for row in offsets.value.share} if offsets is not None else set()
    rows = lags(offsets.value) if offsets is not None else []
    seen = {(row.topic, row.partition) for row in rows}
    rows += [_uncommitted(*key) for key in owners if key not in seen]
    found = []
    for row in rows:
        key = (row.topic, row.partition)
        found.append(_partition(row, key in share, owners[key].member_id if key in owners else None))
    return sorted(found, key=lambda row: (row["topic"], row["partition"]))


def _uncommitted(topic: str, partition: int) -> PartitionLag:
    return PartitionLag(topic, partition, None, None, None, None, None, None, "no commit")


def _partition(row: PartitionLag, share: bool, owner: str | None) -> dict[str, Any]:
    return {
        "topic": row.topic,
        "partition": row.partition,
        "committed": None if share else row.position,
        "start_offset": row.position if share else None,
        "log_start": row.log_start,
        "log_end": row.log_end,
        "lag": row.lag,
        "lead": row.lead,
        "lost": row.lost,
        "leader_epoch": row.leader_epoch,
        "metadata": row.metadata,
        "member_id": owner,
        "reason": row.reason or None,
    }


def _config(row: GroupConfig) -> dict[str, Any]:
    return {
        "name": row.name,
        "value": None if row.sensitive else row.value,
        "source": row.source,
        "read_only": row.read_only,
        "sensitive": row.sensitive,
        "type": row.type,
    }


def _topology(topology: Topology) -> dict[str, Any]:
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


def as_text(snapshot: Snapshot, group: str, *, wide: bool = False) -> str:
    """A group for people: what it is, its members, its partitions, and the configs that were changed (wide: all)."""
    reading = snapshot.details.get(group)
    found = reading.value if reading is not None else None
    parts = [_identity(snapshot, group, found)]
    if found is not None and found.members:
        columns = members.columns(found, wide=wide)
        parts.append(table(columns, [members.cells(member, columns) for member in found.members], indent="  "))
    parts += [_offsets_text(snapshot, group, wide=wide), _configs_text(snapshot, group, wide=wide)]
    return "\n".join(part for part in parts if part)


def _identity(snapshot: Snapshot, group: str, found: GroupDescription | None) -> str:
    listing = snapshot.groups[group]
    fault = snapshot.group_faults.get(group)
    broker = snapshot.cluster.brokers.get(listing.coordinator)
    group_type = found.type if found is not None else listing.type
    lag = facts.lag_total(snapshot, group)
    fields = {
        "type": marks.text(group_type),
        "protocol": marks.text(listing.protocol),
        "kind": kind_of(group_type, listing.protocol),
        "state": (found.state if found is not None else listing.state) or marks.NO_ANSWER,
        "coordinator": f"{broker.address} ({listing.coordinator})" if broker else str(listing.coordinator),
        "members": marks.count(None if found is None else found.member_count, fault),
        "lag": marks.lag(None, 0, fault) if lag is None else marks.lag(lag.lag, lag.unknown, fault),
    }
    if found is not None:
        fields |= _described(found)
    if fault is not None:
        fields["fault"] = f"{fault.message} [{fault.name}]" + (f": {fault.advice}" if fault.advice else "")
    width = max(cell_width(name) for name in fields)
    lines = [f"  {name:<{width}}  {visible(value)}" for name, value in fields.items()]
    return "\n".join([visible(group), *lines]) + "\n"


def _described(found: GroupDescription) -> dict[str, str]:
    fields = {}
    if found.assignor:
        fields["assignor"] = found.assignor
    if found.group_epoch is not None:
        fields["group epoch"] = str(found.group_epoch)
    if found.assignment_epoch is not None:
        fields["assignment epoch"] = str(found.assignment_epoch)
    if found.operations is not None:
        fields["you may"] = ", ".join(sorted(found.operations)) or "nothing"
    if found.source:
        fields["described by"] = found.source
    return fields


_OFFSETS = (Column("TOPIC"), Column("PARTITION", True), Column("COMMITTED", True), Column("LOG-START", True),
            Column("LOG-END", True), Column("LAG", True), Column("LEAD", True), Column("OWNER"))  # fmt: skip
_WIDE_OFFSETS = (Column("LOST", True), Column("EPOCH", True), Column("METADATA"))


def _offsets_text(snapshot: Snapshot, group: str, *, wide: bool) -> str:
    rows = _partitions(snapshot, group)
    if not rows:
        return ""
    share = any(row["start_offset"] is not None for row in rows)
    columns = [Column("START-OFFSET", True) if share and c.title == "COMMITTED" else c for c in _OFFSETS]
    if wide:
        columns += _WIDE_OFFSETS
    cells = []
    for row in rows:
        why = row["reason"]
        position = row["start_offset"] if share else row["committed"]
        line = [row["topic"], str(row["partition"]), _number(position, why), _number(row["log_start"], why)]
        line += [_number(row["log_end"], why), _number(row["lag"], why), _number(row["lead"], why)]
        line.append(marks.text(row["member_id"]))
        if wide:
            line += [_number(row["lost"], why), marks.count(row["leader_epoch"]), marks.text(row["metadata"])]
        cells.append(line)
    return table(columns, cells, indent="  ")


def _number(value: int | None, reason: str | None) -> str:
    if value is not None:
        return str(value)
    if reason in (None, "no commit"):
        return marks.NONE
    return marks.FORBIDDEN if reason == "forbidden" else marks.NO_ANSWER


def _configs_text(snapshot: Snapshot, group: str, *, wide: bool) -> str:
    configs = snapshot.configs.get(group)
    rows = [row for row in configs.value if wide or row.source == "DYNAMIC_GROUP_CONFIG"] if configs else []
    if not rows:
        return ""
    cells = [
        (row.name, marks.FORBIDDEN if row.value is None or row.sensitive else row.value, row.source) for row in rows
    ]
    return table((Column("CONFIG"), Column("VALUE"), Column("SOURCE")), cells, indent="  ")
