"""Fields of a group member, for all group types, and functions that format the member's assignment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kgtui.model.fields import NONE, Field, Missing, as_object

if TYPE_CHECKING:
    from kgtui.model.group import GroupDescription
    from kgtui.model.members import ConnectWorker, Member, RegistryNode, StreamsMember, Tasks, TopicPartitions

    MemberField = Field[[Member]]

_DESCRIBE = "the RPC that describes groups of this type"
_METADATA = "the member's subscription metadata"
_DECODED = "the member's metadata and assignment bytes"


def _partitions_by_topic(assignment: TopicPartitions) -> dict[str, list[int]]:
    return {topic: list(partitions) for topic, partitions in assignment}


def partitions_text(assignment: TopicPartitions) -> str:
    """Format partitions as Kafka's command-line tools do: `topicA:0,1;topicB:3`; a dash (`NONE`) for no partitions."""
    return ";".join(f"{topic}:{','.join(map(str, parts))}" for topic, parts in assignment) or NONE


def assignment_text(member: Member) -> str | None:
    """Format the assigned partitions, tasks or connectors of a member; None if the broker does not report them.

    A schema registry node has no assignment. For such a node, the text is its URL, as in
    `http://10.0.3.7:8081 (leader)`.
    """
    if member.connect is not None:
        return _worker_text(member.connect)
    if member.registry is not None:
        return f"{member.registry.url}{' (leader)' if member.registry.leader else ''}"
    if member.streams is not None:
        assigned = member.streams.assignment
        return _roles_text(assigned.active, assigned.standby, assigned.warmup)
    return None if member.assignment is None else partitions_text(member.assignment)


def target_text(member: Member) -> str | None:
    """Format the target assignment of a member (KIP-848, KIP-1071); None if the broker reports no target."""
    if member.streams is not None:
        target = member.streams.target
        return _roles_text(target.active, target.standby, target.warmup)
    return None if member.target is None else partitions_text(member.target)


def _roles_text(active: Tasks, standby: Tasks, warmup: Tasks) -> str:
    roles = (("active", active), ("standby", standby), ("warmup", warmup))
    return " ".join(f"{role} {partitions_text(tasks)}" for role, tasks in roles if tasks) or NONE


def _worker_text(worker: ConnectWorker) -> str:
    parts = [*worker.connectors, *(f"{name}:{','.join(map(str, tasks))}" for name, tasks in worker.tasks)]
    return f"{worker.url}{' (leader)' if worker.leader else ''} {';'.join(parts) or NONE}"


def _subscription_text(member: Member) -> str | None:
    if member.regex:
        return f"/{member.regex}/"
    return None if member.topics is None else ",".join(member.topics) or NONE


def _worker_object(worker: ConnectWorker) -> dict[str, Any]:
    return {
        "url": worker.url,
        "leader": worker.leader,
        "leader_url": worker.leader_url,
        "config_offset": worker.config_offset,
        "connectors": list(worker.connectors),
        "tasks": _partitions_by_topic(worker.tasks),
        "revoked": list(worker.revoked),
        "scheduled_delay_ms": worker.delay_ms,
        "error": worker.error,
    }


def _node_object(node: RegistryNode) -> dict[str, Any]:
    return {
        "url": node.url,
        "leader_eligibility": node.eligible,
        "leader": node.leader,
        "leader_url": node.leader_url,
        "error": node.error,
    }


def _streams_object(member: StreamsMember) -> dict[str, Any]:
    assigned, target = member.assignment, member.target
    return {
        "process_id": member.process,
        "topology_epoch": member.topology_epoch,
        "user_endpoint": member.endpoint,
        "client_tags": dict(member.tags),
        "assignment": _tasks_by_role(assigned.active, assigned.standby, assigned.warmup),
        "target_assignment": _tasks_by_role(target.active, target.standby, target.warmup),
        "task_offsets": [_task_offset(row) for row in member.task_offsets],
        "task_end_offsets": [_task_offset(row) for row in member.task_end_offsets],
    }


def _tasks_by_role(active: Tasks, standby: Tasks, warmup: Tasks) -> dict[str, dict[str, list[int]]]:
    roles = {"active": active, "standby": standby, "warmup": warmup}
    return {role: _partitions_by_topic(tasks) for role, tasks in roles.items()}


def _task_offset(row: tuple[str, int, int]) -> dict[str, Any]:
    subtopology, partition, offset = row
    return {"subtopology": subtopology, "partition": partition, "offset": offset}


MEMBER_ID: MemberField = Field("member_id", "MEMBER", "string", _DESCRIBE, lambda member: member.member_id)
INSTANCE_ID: MemberField = Field(
    "instance_id", "INSTANCE", "string", f"{_DESCRIBE}: id of a static member (KIP-345)",
    lambda member: member.instance_id, hide_empty=True,
)  # fmt: skip
CLIENT_ID: MemberField = Field("client_id", "CLIENT", "string", _DESCRIBE, lambda member: member.client_id)
HOST: MemberField = Field(
    "host", "HOST", "string", f"{_DESCRIBE}: address of the member's connection", lambda member: member.host,
    format=lambda host: host.removeprefix("/"),
)  # fmt: skip
RACK: MemberField = Field(
    "rack", "RACK", "string", f"{_DESCRIBE} or {_METADATA}", lambda member: member.rack, hide_empty=True
)
PROTOCOL: MemberField = Field(
    "protocol", "PROTOCOL", "string", f"{_DESCRIBE}: classic, consumer, share or streams protocol",
    lambda member: member.protocol, missing=Missing.UNKNOWN,
)  # fmt: skip
EPOCH: MemberField = Field(
    "epoch", "EPOCH", "int", f"{_DESCRIBE}: member epoch (KIP-848, KIP-932, KIP-1071)", lambda member: member.epoch,
    hide_empty=True,
)  # fmt: skip
TOPICS: MemberField = Field(
    "topics", "TOPICS", "array", f"{_DESCRIBE} or {_METADATA}", lambda member: member.topics,
    format=",".join, encode=list, missing=Missing.UNKNOWN,
)  # fmt: skip
REGEX: MemberField = Field("regex", "PATTERN", "string", "ConsumerGroupDescribe (RE2)", lambda member: member.regex)
SUBSCRIPTION: MemberField = Field(
    "subscription", "SUBSCRIBED", "string", "the subscribed pattern if there is one, else the subscribed topics",
    _subscription_text, missing=Missing.UNKNOWN,
)  # fmt: skip
ASSIGNMENT: MemberField = Field(
    "assignment", "ASSIGNMENT", "object", f"{_DESCRIBE}; for a classic group, only while it is Stable",
    lambda member: member.assignment, format=partitions_text, encode=_partitions_by_topic, missing=Missing.UNKNOWN,
)  # fmt: skip
ASSIGNMENT_TEXT: MemberField = Field(
    "assignment_text", "ASSIGNMENT", "string", f"{_DESCRIBE} or {_DECODED}", assignment_text, missing=Missing.UNKNOWN
)
TARGET_ASSIGNMENT: MemberField = Field(
    "target_assignment", "TARGET", "object", f"{_DESCRIBE} (KIP-848)", lambda member: member.target,
    format=partitions_text, encode=_partitions_by_topic,
)  # fmt: skip
TARGET_TEXT: MemberField = Field("target_text", "TARGET", "string", f"{_DESCRIBE} (KIP-848, KIP-1071)", target_text)
ASSIGNED: MemberField = Field(
    "assigned", "ASSIGNED", "int", "number of partitions, tasks and connectors in the assignment",
    lambda member: member.assigned_count, unit="partitions, or tasks and connectors", missing=Missing.UNKNOWN,
)  # fmt: skip
CONNECT: MemberField = Field(
    "connect", "WORKER", "object", f"{_DECODED} (Connect)", lambda member: member.connect,
    format=_worker_text, encode=_worker_object, optional=True,
)  # fmt: skip
REGISTRY: MemberField = Field(
    "registry", "NODE", "object", f"{_DECODED} (schema registry)", lambda member: member.registry,
    format=lambda node: node.url, encode=_node_object, optional=True,
)  # fmt: skip
STREAMS: MemberField = Field(
    "streams", "PROCESS", "object", "StreamsGroupDescribe (KIP-1071)", lambda member: member.streams,
    format=lambda streams: streams.process, encode=_streams_object, optional=True,
)  # fmt: skip
UNDECODED: MemberField = Field(
    "undecoded", "METADATA", "string", "metadata bytes in an unknown format, as hexadecimal digits",
    lambda member: member.undecoded.hex() or None, optional=True, hide_empty=True,
)  # fmt: skip

MEMBER_OBJECT = (
    MEMBER_ID, INSTANCE_ID, CLIENT_ID, HOST, RACK, PROTOCOL, EPOCH, TOPICS, REGEX, ASSIGNMENT, TARGET_ASSIGNMENT,
    ASSIGNED, CONNECT, REGISTRY, STREAMS, UNDECODED,
)  # fmt: skip
"""Fields of a member in the JSON of `kgtui show` and of incident reports (Export dialog)."""


_COLUMNS = (MEMBER_ID, INSTANCE_ID, CLIENT_ID, HOST, RACK, EPOCH, PROTOCOL, ASSIGNED, ASSIGNMENT_TEXT)
_WIDE_COLUMNS = (*_COLUMNS, TARGET_TEXT, SUBSCRIPTION)


MARKDOWN_COLUMNS = (MEMBER_ID, INSTANCE_ID, CLIENT_ID, HOST, RACK, EPOCH, PROTOCOL, ASSIGNED)
"""Columns of the table of members in Markdown incident reports (Export dialog)."""


def member_object(member: Member) -> dict[str, Any]:
    """Return a member as a JSON object. Optional fields that have no value are left out."""
    data = as_object(MEMBER_OBJECT, member)
    return {
        field.name: data[field.name] for field in MEMBER_OBJECT if data[field.name] is not None or not field.optional
    }


def member_columns(description: GroupDescription, *, wide: bool) -> list[MemberField]:
    """Return the columns of the member table of `kgtui show`. Columns for which `has_column` is False are left out.

    Args:
        wide: True for `--format wide`, which adds two columns: target assignment and subscription. If False, the column
            with the target assignment is added only if it differs from the current assignment for some member.
    """
    fields = list(_WIDE_COLUMNS if wide else _COLUMNS)
    if not wide and any(
        target_text(member) not in (None, assignment_text(member)) for member in description.members or ()
    ):
        fields.append(TARGET_TEXT)
    return [field for field in fields if has_column(field, description)]


def has_column(field: MemberField, description: GroupDescription) -> bool:
    """Return whether the member tables of a group have a column for a field.

    A field with `hide_empty` has a column only if some member has a value. The field `protocol` has a column only if
    some member uses a protocol that differs from the group type. All other fields always have a column.
    """
    if field is PROTOCOL:
        return has_mixed_protocols(description)
    return not field.hide_empty or any(field.text(member) for member in description.members or ())


def has_mixed_protocols(description: GroupDescription) -> bool:
    """Return whether some members use a protocol that differs from the type of their group.

    For example, a member of a `consumer` group uses the `classic` protocol until the member is upgraded.
    """
    used = {member.protocol for member in description.members or () if member.protocol is not None}
    return len(used) > 1 or bool(used and description.type not in used)
