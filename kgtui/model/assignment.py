"""Who has which partition or task, who shall have it, what must still move and who holds it up.

A partition of a streams group is a task (`subtopology`, partition) with a role; of a Connect group a connector or one
of its tasks. Kafka tells of a member only what it may use now: a partition that it was asked to give up and has not
yet given up is in no member's assignment (`ConsumerGroupMember.partitionsPendingRevocation`), so such a partition waits
for the members whose epoch is behind.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from kgtui.model.group_types import STREAMS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from kgtui.model.group import GroupDescription
    from kgtui.model.members import ConnectWorker, Member, StreamsAssignment, Subtopology, TopicPartitions
    from kgtui.model.offsets import GroupOffsets

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


# A damaged or hostile assignment may name partition 2³¹ − 1: no more than this are inferred from one name.
MOST_INFERRED = 20_000


class Status(Enum):
    """How an item stands."""

    SETTLED = "settled"
    """Owned as it shall be, or owned where there is no target."""
    LEAVING = "leaving"
    """Owned by a member that must give it up."""
    ARRIVING = "arriving"
    """Assigned to a member that does not have it yet, and in nobody's hands."""
    UNOWNED = "unowned"
    """Nobody has it and nobody is to have it."""
    UNSUBSCRIBED = "not subscribed"
    """Only an offset is left: no member subscribes to the topic."""
    UNKNOWN = "unknown"
    """A member whose assignment is not told may have it."""


class Placement(NamedTuple):
    """One item with its owners now and by target. A tuple, because a group may have thousands.

    Attributes:
        owners: ids of the members that have it now.
        targets: ids of the members that shall have it; None where the group has no target assignment.
        waits_for: ids of the members that must act before it is settled.
    """

    item: Item
    owners: tuple[str, ...]
    targets: tuple[str, ...] | None
    status: Status
    waits_for: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Blocker:
    """A member that holds up the reconciliation.

    Attributes:
        gives_up: how many items it has that are another's by target.
        waiting: how many unsettled items wait for it.
        behind: how many epochs it is behind the target assignment; None when it has left and its place is kept
            (a static member, epoch -2).
    """

    member_id: str
    gives_up: int
    waiting: int
    behind: int | None


@dataclass(frozen=True, slots=True)
class Assignment:
    """A group's assignment as a whole.

    Attributes:
        placements: sorted by name, number and role.
        targeted: whether the group has a target assignment (KIP-848, KIP-1071).
        blockers: members that hold up the rest, worst first.
        idle: ids of members that have nothing and are to get nothing.
        untold: ids of members whose assignment is unknown.
        skews: by member, host and, if a member tells its rack, by rack.
    """

    placements: tuple[Placement, ...]
    targeted: bool
    blockers: tuple[Blocker, ...]
    idle: tuple[str, ...]
    untold: tuple[str, ...]
    skews: tuple[Skew, ...]

    def count(self, *statuses: Status) -> int:
        """How many placements have one of these statuses."""
        return sum(1 for placement in self.placements if placement.status in statuses)


def assignment_of(description: GroupDescription, offsets: GroupOffsets | None = None) -> Assignment | None:
    """The assignment of a group; None when its members were withheld.

    `offsets` add the partitions that only an offset tells of.
    """
    members = description.members
    if members is None:
        return None
    owners = _by_item((member.member_id, items_of(member)) for member in members)
    goals = _by_item((member.member_id, targets_of(member)) for member in members)
    targeted = any(member.target is not None or member.streams is not None for member in members)
    untold = tuple(member.member_id for member in members if not has_assignment(member))
    behind = epochs_behind(description)
    subscribed = subscribed_topics(description)
    known = set(owners) | set(goals)
    known.update(_expected(description, offsets, known))
    revoked = _revoked(members)

    placements = []
    for item in sorted(known):
        now, goal = owners.get(item, ()), goals.get(item, ()) if targeted else None
        if item in revoked:
            goal = tuple(owner for owner in now if owner not in revoked[item])
        status = _status(item, now, goal, bool(untold), subscribed)
        waits = _waits(now, goal, behind) if status in (Status.LEAVING, Status.ARRIVING) else ()
        placements.append(Placement(item, now, goal, status, waits))
    return Assignment(
        tuple(placements), targeted, _blockers(placements, behind), _idle(members), untold, skews_of(members)
    )


def _by_item(held: Iterable[tuple[str, frozenset[Item]]]) -> dict[Item, tuple[str, ...]]:
    by: defaultdict[Item, list[str]] = defaultdict(list)
    for member_id, items in held:
        for item in items:
            by[item].append(member_id)
    return {item: tuple(sorted(ids)) for item, ids in by.items()}


def _revoked(members: Iterable[Member]) -> dict[Item, set[str]]:
    """Connectors and tasks that workers were asked to give up."""
    by: defaultdict[Item, set[str]] = defaultdict(set)
    for member in members:
        names = set(member.connect.revoked) if member.connect else set()
        for item in items_of(member) if names else ():
            if (item.name if item.role == "connector" else f"{item.name}-{item.number}") in names:
                by[item].add(member.member_id)
    return by


def epochs_behind(description: GroupDescription) -> dict[str, int | None]:
    """Member id → epochs it is behind the target assignment, for those that are; see `Blocker.behind`."""
    goal = description.assignment_epoch
    epochs = [(member.member_id, member.epoch) for member in description.members or () if member.epoch is not None]
    if goal is None:
        return {}
    return {member_id: goal - epoch if epoch >= 0 else None for member_id, epoch in epochs if epoch < goal}


def subscribed_topics(description: GroupDescription) -> frozenset[str] | None:
    """Topics that members subscribe to; None when there is no member, or a pattern or silence leaves it open."""
    topics: set[str] = set()
    if not description.members:
        return None
    for member in description.members:
        if member.regex or member.topics is None:
            return None
        topics.update(member.topics)
    return frozenset(topics)


def _expected(description: GroupDescription, offsets: GroupOffsets | None, known: set[Item]) -> Iterator[Item]:
    """Partitions and tasks that must exist although nobody has them: numbers are dense, and offsets name partitions."""
    partitions = offsets.partitions if offsets else ()
    if description.topology is not None:
        for subtopology in description.topology.subtopologies or ():
            count = min(_tasks_of(subtopology, partitions), MOST_INFERRED)
            yield from (Item(subtopology.subtopology, number, "active") for number in range(count))
    elif description.type == STREAMS or description.kind in ("connect", "sr"):
        return
    else:
        yield from (Item(topic, part) for topic, part in partitions)
        highest: dict[str, int] = {}
        for item in known:
            highest[item.name] = max(item.number, highest.get(item.name, -1))
        for name, last in highest.items():
            yield from (Item(name, number) for number in range(min(last, MOST_INFERRED)))


def _tasks_of(subtopology: Subtopology, partitions: Iterable[tuple[str, int]]) -> int:
    """As many tasks as the widest topic of the subtopology has partitions."""
    topics = set(subtopology.source_topics)
    widths = [part + 1 for topic, part in partitions if topic in topics]
    widths += [info.partitions for info in (*subtopology.changelog_topics, *subtopology.repartition_source_topics)]
    return max(widths, default=0)


def _status(
    item: Item, owners: tuple[str, ...], goal: tuple[str, ...] | None, untold: bool, subscribed: frozenset[str] | None
) -> Status:
    if goal is not None and set(owners) - set(goal):
        return Status.LEAVING
    if goal is not None and set(goal) - set(owners):
        return Status.ARRIVING
    if owners:
        return Status.SETTLED
    if untold:
        return Status.UNKNOWN
    # A streams task is named after its subtopology, which nobody subscribes to.
    if not item.role and subscribed is not None and item.name not in subscribed:
        return Status.UNSUBSCRIBED
    return Status.UNOWNED


def _waits(owners: tuple[str, ...], goal: tuple[str, ...] | None, behind: dict[str, int | None]) -> tuple[str, ...]:
    leaving = set(owners) - set(goal or ())
    if leaving:
        return tuple(sorted(leaving))
    takers = set(goal or ()) - set(owners)
    holding = set(behind) - takers
    return tuple(sorted(holding or takers))


def _blockers(placements: Iterable[Placement], behind: dict[str, int | None]) -> tuple[Blocker, ...]:
    gives: defaultdict[str, int] = defaultdict(int)
    waits: defaultdict[str, int] = defaultdict(int)
    for placement in placements:
        for member_id in placement.waits_for:
            waits[member_id] += 1
            if placement.status is Status.LEAVING and member_id in placement.owners:
                gives[member_id] += 1
    found = [Blocker(name, gives[name], waits[name], behind.get(name, 0)) for name in {*waits, *behind}]
    return tuple(sorted(found, key=lambda one: (-one.gives_up, -one.waiting, -(one.behind or 0), one.member_id)))


def _idle(members: Iterable[Member]) -> tuple[str, ...]:
    return tuple(
        member.member_id
        for member in members
        if member.registry is None and has_assignment(member) and not items_of(member) and not targets_of(member)
    )


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


def has_assignment(member: Member) -> bool:
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
    loads = [
        (member, len(items_of(member))) for member in members if has_assignment(member) and member.registry is None
    ]
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
