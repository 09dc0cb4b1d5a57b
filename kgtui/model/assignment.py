"""Current and target owners of the partitions of a group, and members that delay the change to the target owners.

The classes call a partition, a streams task with its role, a connector or a connector task an "item".

While a member is giving up a partition, brokers do not report that the member still owns it. (They store the partition
in `ConsumerGroupMember.partitionsPendingRevocation`.) kgtui can see only that the member is late: its epoch is below
the assignment epoch, which is the epoch of the target assignment. If the target owner does not own a partition yet,
kgtui therefore treats every late member as a possible owner of the partition.
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
    """A partition, a streams task, a connector, or a connector task.

    Attributes:
        name: name of the topic, subtopology or connector.
        number: number of the partition or task; -1 for a connector.
        role: role of a streams task (`active`, `standby` or `warmup`), or `connector` or `task` in a Connect group;
            empty for partitions.
    """

    name: str
    number: int
    role: str = ""


@dataclass(frozen=True, slots=True)
class Load:
    """Number of items (partitions, tasks or connectors) of one member, host or rack.

    Attributes:
        name: member id, host or rack; None stands for the members without a rack.
        members: number of members on the host or in the rack; 1 for a member.
        items: number of items that these members own together.
    """

    name: str | None
    members: int
    items: int


@dataclass(frozen=True, slots=True)
class Skew:
    """How unevenly partitions, tasks or connectors are distributed over members, hosts or racks.

    Attributes:
        by: what is compared: `member`, `host` or `rack`.
        loads: number of partitions, tasks or connectors of each member, host or rack, the largest number first.
        ratio: 1.0 for an even distribution, and more for an uneven one; None if nothing is assigned. The ratio is the
            largest number of partitions, tasks or connectors per member in any of the `loads`, divided by the average
            per member in the whole group. For 3 members with 4, 1 and 1 partitions, it is 4 / 2 = 2.0.
    """

    by: str
    loads: tuple[Load, ...]
    ratio: float | None


MOST_INFERRED = 20_000
"""Maximum number of partitions per topic, or tasks per subtopology, that kgtui adds to an assignment.

kgtui adds the partitions and tasks that must exist although no member owns them. For example, if partition 7 is
assigned, partitions 0 to 6 must exist, too. Without the limit, a damaged assignment with partition 2³¹ − 1 would fill
the memory.
"""


class PlacementStatus(Enum):
    """Whether a partition, task or connector ("item") has reached its target owner."""

    SETTLED = "settled"
    """The target owner owns the partition, task or connector.

    In a group without a target assignment, any owner counts as the target owner.
    """
    LEAVING = "leaving"
    """A member owns the partition, task or connector, but must give it up."""
    ARRIVING = "arriving"
    """The target owner does not own the partition or task yet. Brokers report no member that must give it up first."""
    UNOWNED = "unowned"
    """No member owns the partition, task or connector, and no member is its target owner."""
    UNSUBSCRIBED = "not subscribed"
    """The group has an offset in the partition, but no member subscribes to the topic."""
    UNKNOWN = "unknown"
    """No owner is known. A member whose assignment is not known may own the partition, task or connector."""


class Placement(NamedTuple):
    """The current and target owners of one item (partition, task or connector).

    This is a named tuple, which takes less memory than a dataclass.

    Attributes:
        owners: ids of the current owners.
        targets: ids of the target owners; None if the group has no target assignment. Connect groups have none, but if
            a connector or task is revoked, `targets` contains the ids of the current owners that may keep it.
        waits_for: ids of the members that must act before the item can reach its target owners; empty unless the status
            is `LEAVING` or `ARRIVING`.
    """

    item: Item
    owners: tuple[str, ...]
    targets: tuple[str, ...] | None
    status: PlacementStatus
    waits_for: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Blocker:
    """A member that delays the change to the target assignment. An "item" is a partition, a task or a connector.

    Attributes:
        gives_up: number of items that the member owns but must give up.
        waiting: number of items that wait for this member (`Placement.waits_for`).
        behind: how many epochs the member is behind (assignment epoch minus member epoch); 0 if the member has reached
            the assignment epoch, or if the group has no epochs. None for a static member that left temporarily
            (epoch -2).
    """

    member_id: str
    gives_up: int
    waiting: int
    behind: int | None


@dataclass(frozen=True, slots=True)
class Assignment:
    """The whole assignment of a group. Items are partitions, tasks and connectors.

    Attributes:
        placements: current and target owners of each item, sorted by the item's name, number and role.
        targeted: whether the group has a target assignment (KIP-848, KIP-1071).
        blockers: members that delay the change to the target assignment. The member that must give up the most items
            comes first.
        idle: ids of members that own no items and will get none.
        unreported: ids of members whose assignment is not known.
        skews: how evenly the items are distributed over members, over hosts and, if members have racks, over racks;
            empty if no assignment is known.
    """

    placements: tuple[Placement, ...]
    targeted: bool
    blockers: tuple[Blocker, ...]
    idle: tuple[str, ...]
    unreported: tuple[str, ...]
    skews: tuple[Skew, ...]

    def count(self, *statuses: PlacementStatus) -> int:
        """Return how many partitions, tasks and connectors have one of the given statuses."""
        return sum(1 for placement in self.placements if placement.status in statuses)


def assignment_of(description: GroupDescription, offsets: GroupOffsets | None = None) -> Assignment | None:
    """Return the assignment of a group; None if the broker withheld the members of the group.

    Args:
        offsets: the offsets of the group. Partitions with an offset are included even if they have no owner.
    """
    members = description.members
    if members is None:
        return None
    owners = _by_item((member.member_id, items_of(member)) for member in members)
    goals = _by_item((member.member_id, targets_of(member)) for member in members)
    targeted = any(member.target is not None or member.streams is not None for member in members)
    unreported = tuple(member.member_id for member in members if not has_assignment(member))
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
        status = _status(item, now, goal, bool(unreported), subscribed)
        waits = _waits(now, goal, behind) if status in (PlacementStatus.LEAVING, PlacementStatus.ARRIVING) else ()
        placements.append(Placement(item, now, goal, status, waits))
    return Assignment(
        tuple(placements),
        targeted,
        _blockers(placements, behind),
        tuple(one.member_id for one in members if is_idle(one)),
        unreported,
        skews_of(members),
    )


def _by_item(held: Iterable[tuple[str, frozenset[Item]]]) -> dict[Item, tuple[str, ...]]:
    by: defaultdict[Item, list[str]] = defaultdict(list)
    for member_id, items in held:
        for item in items:
            by[item].append(member_id)
    return {item: tuple(sorted(ids)) for item, ids in by.items()}


def _revoked(members: Iterable[Member]) -> dict[Item, set[str]]:
    """Return a dictionary: revoked connector or task → ids of the Connect workers that must give it up."""
    by: defaultdict[Item, set[str]] = defaultdict(set)
    for member in members:
        names = set(member.connect.revoked) if member.connect else set()
        for item in items_of(member) if names else ():
            if (item.name if item.role == "connector" else f"{item.name}-{item.number}") in names:
                by[item].add(member.member_id)
    return by


def epochs_behind(description: GroupDescription) -> dict[str, int | None]:
    """Return a dict: id of each member whose epoch is below the assignment epoch → how many epochs it is behind.

    The value is None for a static member that left temporarily (epoch -2).
    """
    goal = description.assignment_epoch
    epochs = [(member.member_id, member.epoch) for member in description.members or () if member.epoch is not None]
    if goal is None:
        return {}
    return {member_id: goal - epoch if epoch >= 0 else None for member_id, epoch in epochs if epoch < goal}


def subscribed_topics(description: GroupDescription) -> frozenset[str] | None:
    """Return the topics to which the members of a group subscribe.

    The result is None if there are no members, if a member subscribes to a pattern, or if the topics of a member are
    not known.
    """
    topics: set[str] = set()
    if not description.members:
        return None
    for member in description.members:
        if member.regex or member.topics is None:
            return None
        topics.update(member.topics)
    return frozenset(topics)


def _expected(description: GroupDescription, offsets: GroupOffsets | None, known: set[Item]) -> Iterator[Item]:
    """Yield the partitions and tasks of a group that must exist, even if no member owns them.

    For example, if partition 7 of a topic is known, partitions 0 to 6 must exist, too. The tasks of a streams group are
    derived from its topology.
    """
    partitions = offsets.partitions if offsets else ()
    if description.topology is not None:
        for subtopology in description.topology.subtopologies or ():
            count = min(_number_of_tasks(subtopology, partitions), MOST_INFERRED)
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


def _number_of_tasks(subtopology: Subtopology, partitions: Iterable[tuple[str, int]]) -> int:
    """Return the number of tasks of a subtopology: the largest number of partitions of a source or internal topic."""
    topics = set(subtopology.source_topics)
    widths = [part + 1 for topic, part in partitions if topic in topics]
    widths += [info.partitions for info in (*subtopology.changelog_topics, *subtopology.repartition_source_topics)]
    return max(widths, default=0)


def _status(
    item: Item,
    owners: tuple[str, ...],
    goal: tuple[str, ...] | None,
    incomplete: bool,
    subscribed: frozenset[str] | None,
) -> PlacementStatus:
    if goal is not None and set(owners) - set(goal):
        return PlacementStatus.LEAVING
    if goal is not None and set(goal) - set(owners):
        return PlacementStatus.ARRIVING
    if owners:
        return PlacementStatus.SETTLED
    if incomplete:
        return PlacementStatus.UNKNOWN
    # Only a partition (an item without a role) has a topic to which members can subscribe.
    if not item.role and subscribed is not None and item.name not in subscribed:
        return PlacementStatus.UNSUBSCRIBED
    return PlacementStatus.UNOWNED


def _waits(owners: tuple[str, ...], goal: tuple[str, ...] | None, behind: dict[str, int | None]) -> tuple[str, ...]:
    # An item is a partition, task or connector. A `LEAVING` item waits for the owners that must give it up. An
    # `ARRIVING` item waits for all members that may still own it: the members whose epoch is below the assignment
    # epoch, except the members that will take it over. If no member may still own it, it waits for the latter members.
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
            if placement.status is PlacementStatus.LEAVING and member_id in placement.owners:
                gives[member_id] += 1
    found = [Blocker(name, gives[name], waits[name], behind.get(name, 0)) for name in {*waits, *behind}]
    return tuple(sorted(found, key=lambda one: (-one.gives_up, -one.waiting, -(one.behind or 0), one.member_id)))


def is_idle(member: Member) -> bool:
    """Return whether a member owns no partition, task or connector, and will get none.

    The result is False if the assignment is not known, and for schema registry nodes.
    """
    return member.registry is None and has_assignment(member) and not items_of(member) and not targets_of(member)


def items_of(member: Member) -> frozenset[Item]:
    """Return the partitions, tasks and connectors that a member owns; an empty set if they were not reported."""
    if member.streams is not None:
        return _tasks(member.streams.assignment)
    if member.connect is not None:
        return _work(member.connect)
    return _partitions(member.assignment)


def targets_of(member: Member) -> frozenset[Item]:
    """Return the partitions and tasks in the target assignment of a member; an empty set if the member has none."""
    return _tasks(member.streams.target) if member.streams is not None else _partitions(member.target)


def has_assignment(member: Member) -> bool:
    """Return whether the assignment of a member is known.

    The result is True for a schema registry node, because such a node never has an assignment that could be missing.
    """
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
    """Return how unevenly partitions, tasks and connectors are distributed over members, hosts and racks.

    There is no `Skew` for racks if no member has a rack. Members with an unknown assignment are left out. If no
    assignment is known, the result is empty.
    """
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
