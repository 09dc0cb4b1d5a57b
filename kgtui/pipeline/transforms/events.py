"""One decoded record about a group as a row of `group_events`: what the 20 kinds that are no commits have in common."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from kgtui.protocol.records import CoordinatorRecord, RecordType, as_json, classic_members, format_uuid

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from uuid import UUID

_ABOUT = {"METADATA": "group", "MEMBER_METADATA": "member", "TARGET_ASSIGNMENT_METADATA": "target"}
_ABOUT |= {"TARGET_ASSIGNMENT_MEMBER": "target_member", "CURRENT_MEMBER_ASSIGNMENT": "current"}

_MEMBER_STATES = {0: "STABLE", 1: "UNREVOKED", 2: "UNRELEASED"}
"""Of members of consumer and streams groups (Kafka's MemberState); share groups know only the first."""


def event_of(record: CoordinatorRecord) -> dict[str, Any]:
    """The columns of `group_events` but the record's place; times are in milliseconds. `created` is not known yet."""
    kind, about = _kind(record.type)
    row = {
        "group": record.group,
        "type": kind,
        "record": record.type.name.title().replace("_", ""),
        "about": about,
        "tombstone": record.value is None,
        "member_id": record.member,
    }
    if record.value is None:
        return row
    row["detail"] = json.dumps(as_json(record)["value"], separators=(",", ":"))
    return row | (_classic(record, record.value) if kind == "classic" else _other(record, record.value, about))


def _kind(record_type: RecordType) -> tuple[str, str]:
    """The type of the groups that have such records, and what the record is about."""
    if record_type is RecordType.GROUP_METADATA:
        return "classic", "group"
    kind, _, rest = record_type.name.partition("_GROUP_")
    return kind.lower(), _ABOUT.get(rest, "other")


def _classic(record: CoordinatorRecord, value: Mapping[str, Any]) -> dict[str, Any]:
    members = classic_members(record)
    ids = [member.member_id for member in members]
    since = value["currentStateTimestamp"]
    return {
        "epoch": value["generation"],
        "state": "Stable" if members else "Empty",
        "state_time": None if since < 0 else since,
        "protocol_type": value["protocolType"],
        "protocol": value["protocol"],
        "leader": value["leader"],
        "members": len(members),
        "member_ids": json.dumps(sorted(ids)),
        "assignment": _classic_assignment(value["protocolType"], members),
    }


def _classic_assignment(protocol_type: str, members: Sequence[Any]) -> str | None:
    """Null when the members' bytes are not those of Kafka's consumers."""
    given = {member.member_id: member.assignment for member in members}
    if protocol_type != "consumer" or any(type(assignment) is not tuple for assignment in given.values()):
        return None
    return json.dumps(
        {
            member: sorted(f"{topic}-{part}" for topic, parts in assignment for part in parts)
            for member, assignment in given.items()
        }
    )


def _other(record: CoordinatorRecord, value: Mapping[str, Any], about: str) -> dict[str, Any]:
    if about == "group":
        return {"epoch": value["Epoch"]}
    if about == "member":
        return {
            "client_id": value["ClientId"],
            "host": value["ClientHost"],
            "instance_id": value.get("InstanceId"),
            "protocol": value.get("ServerAssignor"),
        }
    if about == "target":
        at = value["AssignmentTimestamp"]
        return {"epoch": value["AssignmentEpoch"], "state_time": at if at > 0 else None}
    if about == "target_member":
        tasks = value["TopicPartitions"] if "TopicPartitions" in value else value["ActiveTasks"]
        return {"assignment": json.dumps({record.member: _names(tasks)})}
    if about == "current":
        tasks = value["AssignedPartitions"] if "AssignedPartitions" in value else value["ActiveTasks"]
        return {
            "epoch": value["MemberEpoch"],
            "state": _MEMBER_STATES.get(value["State"], "UNKNOWN"),
            "assignment": json.dumps({record.member: _names(tasks)}),
        }
    return {}


def _names(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Partitions by topic id as Kafka prints that, and active tasks by subtopology."""
    return sorted(f"{_place(row)}-{partition}" for row in rows for partition in row["Partitions"])


def _place(row: Mapping[str, Any]) -> str:
    topic: UUID | None = row.get("TopicId")
    return row["SubtopologyId"] if topic is None else format_uuid(topic)
