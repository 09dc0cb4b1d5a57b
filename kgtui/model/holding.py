"""What one member holds and shall hold, and how evenly that is spread over members, hosts and racks."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kgtui.model.members import ConnectWorker, Member, StreamsAssignment, TopicPartitions

ROLES = ("active", "standby", "warmup")


class Item(NamedTuple):
    """What is assigned: `name` is a topic, subtopology or connector.

    Attributes:
        number: partition or task; -1 for the connector itself.
        role: `` for partitions, one of `ROLES` for streams tasks, `connector` or `task` for Connect.
    """

    name: str
    number: int
    role: str = ""


@dataclass(frozen=True, slots=True)
class Load:
    """What falls to one member, host or rack. `name` is None for members without a rack."""

    name: str | None
    members: int
    items: int


@dataclass(frozen=True, slots=True)
class Skew:
    """How evenly items are spread over members, hosts or racks, heaviest first.

    Attributes:
        by: `member`, `host` or `rack`.
        ratio: the heaviest load over an even share, counted per member; None when nothing is assigned.
    """

    by: str
    loads: tuple[Load, ...]
    ratio: float | None


def items_of(member: Member) -> frozenset[Item]:
    """What a member has now; empty if unknown (see `told`)."""
    if member.streams is not None:
        return _tasks(member.streams.assignment)
    if member.connect is not None:
        return _work(member.connect)
    return _partitions(member.assignment)


def targets_of(member: Member) -> frozenset[Item]:
    """What a member shall have; empty where there is no target."""
    return _tasks(member.streams.target) if member.streams is not None else _partitions(member.target)


def told(member: Member) -> bool:
    """Whether the broker told what the member has."""
    if member.registry is not None:
        return True
    return member.streams is not None or member.connect is not None or member.assignment is not None


def _partitions(assignment: TopicPartitions | None) -> frozenset[Item]:
    return frozenset(Item(topic, part) for topic, parts in assignment or () for part in parts)


def _tasks(assignment: StreamsAssignment) -> frozenset[Item]:
    held = zip(ROLES, (assignment.active, assignment.standby, assignment.warmup), strict=True)
    return frozenset(Item(name, part, role) for role, tasks in held for name, parts in tasks for part in parts)


def _work(worker: ConnectWorker) -> frozenset[Item]:
    connectors = {Item(name, -1, "connector") for name in worker.connectors}
    return frozenset(connectors | {Item(name, task, "task") for name, tasks in worker.tasks for task in tasks})


def skews_of(members: tuple[Member, ...]) -> tuple[Skew, ...]:
    """How a group's items are spread, among the members that tell what they have; empty when none does."""
    loads = [(member, len(items_of(member))) for member in members if told(member) and member.registry is None]
    if not loads:
        return ()
    skews = [
        _skew("member", [(member.member_id, count) for member, count in loads]),
        _skew("host", [(member.host, count) for member, count in loads]),
    ]
    if any(member.rack for member, _ in loads):
        skews.append(_skew("rack", [(member.rack or None, count) for member, count in loads]))
    return tuple(skews)


def _skew(by: str, counted: list[tuple[str | None, int]]) -> Skew:
    members: defaultdict[str | None, int] = defaultdict(int)
    items: defaultdict[str | None, int] = defaultdict(int)
    for name, count in counted:
        members[name] += 1
        items[name] += count
    loads = [Load(name, members[name], items[name]) for name in members]
    loads.sort(key=lambda load: (-load.items, load.name or ""))
    whole = sum(load.items for load in loads)
    share = whole / len(counted)
    ratio = max(load.items / (share * load.members) for load in loads) if whole else None
    return Skew(by, tuple(loads), ratio)
