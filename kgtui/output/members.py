"""Members of a group of any type, as objects for JSON and as cells for tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kgtui.output import marks
from kgtui.output.table import Column

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kgtui.model.group import GroupDescription
    from kgtui.model.members import ConnectWorker, Member, RegistryNode, StreamsMember, Tasks, TopicPartitions


def member_object(member: Member) -> dict[str, Any]:
    """A member as JSON; what only some types have is there only for those."""
    found: dict[str, Any] = {
        "member_id": member.member_id,
        "instance_id": member.instance_id,
        "client_id": member.client_id,
        "host": member.host,
        "rack": member.rack,
        "protocol": member.protocol,
        "epoch": member.epoch,
        "topics": None if member.topics is None else list(member.topics),
        "regex": member.regex,
        "assignment": _assignment(member.assignment),
        "target_assignment": _assignment(member.target),
        "assigned": member.assigned_count,
    }
    if member.connect is not None:
        found["connect"] = _worker(member.connect)
    if member.registry is not None:
        found["registry"] = _node(member.registry)
    if member.streams is not None:
        found["streams"] = _streams(member.streams)
    if member.undecoded:
        found["undecoded"] = member.undecoded.hex()
    return found


def _assignment(assignment: TopicPartitions | None) -> dict[str, list[int]] | None:
    return None if assignment is None else {topic: list(partitions) for topic, partitions in assignment}


def _worker(worker: ConnectWorker) -> dict[str, Any]:
    return {
        "url": worker.url,
        "leader": worker.leader,
        "leader_url": worker.leader_url,
        "config_offset": worker.config_offset,
        "connectors": list(worker.connectors),
        "tasks": {connector: list(tasks) for connector, tasks in worker.tasks},
        "revoked": list(worker.revoked),
        "scheduled_delay_ms": worker.delay_ms,
        "error": worker.error,
    }


def _node(node: RegistryNode) -> dict[str, Any]:
    return {
        "url": node.url,
        "leader_eligibility": node.eligible,
        "leader": node.leader,
        "leader_url": node.leader_url,
        "error": node.error,
    }


def _streams(member: StreamsMember) -> dict[str, Any]:
    return {
        "process_id": member.process,
        "topology_epoch": member.topology_epoch,
        "user_endpoint": member.endpoint,
        "client_tags": dict(member.tags),
        "assignment": _tasks_by_role(member.assignment.active, member.assignment.standby, member.assignment.warmup),
        "target_assignment": _tasks_by_role(member.target.active, member.target.standby, member.target.warmup),
        "task_offsets": [_task_offset(row) for row in member.task_offsets],
        "task_end_offsets": [_task_offset(row) for row in member.task_end_offsets],
    }


def _tasks_by_role(active: Tasks, standby: Tasks, warmup: Tasks) -> dict[str, dict[str, list[int]]]:
    roles = {"active": active, "standby": standby, "warmup": warmup}
    return {role: {name: list(parts) for name, parts in tasks} for role, tasks in roles.items()}


def _task_offset(row: tuple[str, int, int]) -> dict[str, Any]:
    subtopology, partition, offset = row
    return {"subtopology": subtopology, "partition": partition, "offset": offset}


def columns(description: GroupDescription, *, wide: bool) -> list[Column]:
    """The columns of a table of these members: only those of which some member has something to say."""
    members = description.members or ()
    found = [Column("MEMBER"), Column("CLIENT"), Column("HOST")]
    if any(member.instance_id for member in members):
        found.insert(1, Column("INSTANCE"))
    if any(member.rack for member in members):
        found.append(Column("RACK"))
    if any(member.epoch is not None for member in members):
        found.append(Column("EPOCH", number=True))
    if mixed(description):
        found.append(Column("PROTOCOL"))
    found += [Column("ASSIGNED", number=True), Column("ASSIGNMENT")]
    if wide:
        found += [Column("TARGET"), Column("SUBSCRIBED")]
    return found


def mixed(description: GroupDescription) -> bool:
    """Whether some members use another protocol than the group's: they have not been upgraded yet."""
    used = {member.protocol for member in description.members or () if member.protocol is not None}
    return len(used) > 1 or bool(used and description.type not in used)


def cells(member: Member, shown: Iterable[Column]) -> list[str]:
    """The cells of one member for these columns."""
    made = {
        "MEMBER": lambda: member.member_id,
        "INSTANCE": lambda: marks.text(member.instance_id),
        "CLIENT": lambda: marks.text(member.client_id),
        "HOST": lambda: marks.text(member.host.removeprefix("/")),
        "RACK": lambda: marks.text(member.rack),
        "EPOCH": lambda: marks.count(member.epoch),
        "PROTOCOL": lambda: member.protocol or marks.NO_ANSWER,
        "ASSIGNED": lambda: marks.NO_ANSWER if member.assigned_count is None else str(member.assigned_count),
        "ASSIGNMENT": lambda: assignment_text(member),
        "TARGET": lambda: target_text(member),
        "SUBSCRIBED": lambda: _subscribed(member),
    }
    return [made[column.title]() for column in shown]


def assignment_text(member: Member) -> str:
    """What a member has: `orders:0,1;payments:3`, tasks by role, connectors, or what a registry node is."""
    if member.connect is not None:
        return _worker_text(member.connect)
    if member.registry is not None:
        return _node_text(member.registry)
    if member.streams is not None:
        held = member.streams.assignment
        return _roles_text(held.active, held.standby, held.warmup)
    return marks.NO_ANSWER if member.assignment is None else partitions_text(member.assignment)


def target_text(member: Member) -> str:
    """What a member shall have; `–` where there is no such thing."""
    if member.streams is not None:
        goal = member.streams.target
        return _roles_text(goal.active, goal.standby, goal.warmup)
    return marks.NONE if member.target is None else partitions_text(member.target)


def partitions_text(assignment: TopicPartitions) -> str:
    """`topicA:0,1;topicB:3`, as Kafka's tools write it."""
    return ";".join(f"{topic}:{','.join(map(str, parts))}" for topic, parts in assignment) or marks.NONE


def _roles_text(active: Tasks, standby: Tasks, warmup: Tasks) -> str:
    roles = (("active", active), ("standby", standby), ("warmup", warmup))
    return " ".join(f"{role} {partitions_text(tasks)}" for role, tasks in roles if tasks) or marks.NONE


def _worker_text(worker: ConnectWorker) -> str:
    parts = [*worker.connectors, *(f"{name}:{','.join(map(str, tasks))}" for name, tasks in worker.tasks)]
    leads = " (leader)" if worker.leader else ""
    return f"{worker.url}{leads} {';'.join(parts) or marks.NONE}"


def _node_text(node: RegistryNode) -> str:
    return f"{node.url}{' (leader)' if node.leader else ''}"


def _subscribed(member: Member) -> str:
    if member.regex:
        return f"/{member.regex}/"
    return marks.NO_ANSWER if member.topics is None else ",".join(member.topics) or marks.NONE
