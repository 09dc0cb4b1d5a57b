"""Finds events by comparing two reads of a group. The reads come from a live cluster or from a recording.

The time of an event is the time at which kgtui first read the new value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.model.event import Event, EventKind, disappeared
from kgtui.model.group_types import DEAD, EMPTY, SIMPLE
from kgtui.model.member_names import member_labels, member_names
from kgtui.model.series import Membership

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kgtui.model.answer import Fault
    from kgtui.model.group import GroupConfig, GroupDescription, Listing
    from kgtui.model.members import Member
    from kgtui.model.offsets import TopicPartition
    from kgtui.model.series import MembershipChange, OwnerMove

MOST_NAMED = 3
"""Maximum number of members or partitions that the text of one event names."""

MOST_MEMBERS = 20
"""If more members than this join between two reads, they share one event. The same applies to members that leave."""


def listing_events(group: str, at: float, before: Listing | None, after: Listing | None) -> list[Event]:
    """Compare the entries of a group in two lists of groups, and return the differences as events.

    Args:
        before: the group in the earlier list; None if it was not listed.
        after: the group in the newer list; None if it is not listed.
    """
    if before is None or after is None:
        if after is not None:
            return [Event(at, EventKind.APPEARED, group, after, after=after.state)]
        return [] if before is None else [disappeared(group, at, before)]
    found = []
    if before.coordinator != after.coordinator:
        found.append(Event(at, EventKind.COORDINATOR, group, after, before.coordinator, after.coordinator))
    if before.state != after.state:
        found.append(Event(at, EventKind.STATE, group, after, before.state, after.state))
    return found


class LastDescription:
    """The parts of a group's newest description that are compared with the next description.

    Args:
        appeared: whether the group was just created. If so, its first members count as members that joined.

    Attributes:
        membership: the members, and the owners of partitions.
        at: time of the description in epoch seconds; 0 before the first description.
    """

    __slots__ = ("_epoch", "_state", "at", "membership")

    def __init__(self, *, appeared: bool = False) -> None:
        self.membership = Membership(() if appeared else None)
        self.at = 0.0
        self._epoch: int | None = None
        self._state: str | None = None

    def update(self, description: GroupDescription, listing: Listing, at: float) -> list[Event]:
        """Store a newer description, and return the changes since the previous one as events.

        State changes are included only if the brokers are so old that their lists of groups contain no states.
        Otherwise, `listing_events` returns the state changes. A description with the state Dead is ignored.
        """
        if description.state == DEAD:
            return []
        group, found = description.group, []
        if listing.state is None and self._state not in (None, description.state):
            found.append(Event(at, EventKind.STATE, group, listing, self._state, description.state))
        earlier = self.membership.members or ()
        change = self.membership.update(description.members)
        found += member_events(group, at, listing, change, earlier, description.members or ())
        if None not in (self._epoch, description.group_epoch) and self._epoch != description.group_epoch:
            found.append(Event(at, EventKind.EPOCH, group, listing, self._epoch, description.group_epoch))
        found += _moves(group, at, listing, change.moved, (*earlier, *(description.members or ())))
        self._epoch, self._state, self.at = description.group_epoch, description.state, at
        return found

    def update_without_members(self, group: str, listing: Listing, at: float) -> list[Event]:
        """Store that a group no longer has members, and return the events for the members that have left."""
        self.at = at
        earlier = self.membership.members or ()
        return member_events(group, at, listing, self.membership.update(()), earlier, ())


def member_events(
    group: str,
    at: float,
    listing: Listing,
    change: MembershipChange,
    earlier: Iterable[Member],
    later: Iterable[Member],
) -> list[Event]:
    """Return one event for each member that left or joined.

    But if more than `MOST_MEMBERS` members left, they share one event. The same applies to members that joined.

    Args:
        earlier, later: all members of the group before and after the change. The events contain short names of members,
            so kgtui needs all members to make the names unique.
    """
    found: list[Event] = []
    changes = ((EventKind.LEFT, change.left, earlier), (EventKind.JOINED, change.joined, later))
    for kind, members, every in changes:
        labels = member_labels(every) if members else {}
        if len(members) > MOST_MEMBERS:
            subject = _named(labels[member.member_id] for member in members)
            found.append(Event(at, kind, group, listing, subject=subject, number=len(members)))
            continue
        for member in members:
            before, after = (member.member_id, None) if kind is EventKind.LEFT else (None, member.member_id)
            found.append(Event(at, kind, group, listing, before, after, labels[member.member_id]))
    return found


def _moves(
    group: str, at: float, listing: Listing, moved: Sequence[OwnerMove], members: Iterable[Member]
) -> list[Event]:
    """Return one event for all partitions whose owner changed; an empty list if there are none.

    `Event.before` and `Event.after` name the old and the new owner. They are set only if all these
    partitions have the same old owner and the same new owner. `Event.before` is also None if no old
    owner is known.

    Args:
        members: all members of the group before and after the change. The event contains short names of members, so
            kgtui needs all members to make the names unique.
    """
    if not moved:
        return []
    befores = {move.before.member_id if move.before else None: move.before for move in moved}
    afters = {move.after.member_id: move.after for move in moved}
    before = after = None
    if len(befores) == len(afters) == 1:
        (old,), (new,) = befores.values(), afters.values()
        names = member_names({member.member_id: member for member in (*members, old, new) if member}.values())
        before, after = None if old is None else names[old.member_id], names[new.member_id]
    subject = _named(_partition(move.partition) for move in moved)
    return [Event(at, EventKind.MOVED, group, listing, before, after, subject, len(moved))]


def offset_events(
    group: str,
    at: float,
    listing: Listing,
    before: Mapping[TopicPartition, int],
    after: Mapping[TopicPartition, int],
    *,
    memberless: bool,
) -> list[Event]:
    """Return one event if offsets were reset or went back between two reads; otherwise an empty list.

    If a group has no members, every changed offset counts as reset. If a group has members, only offsets that went back
    are reported, because offsets normally move forward. Simple groups are treated like groups with members, because the
    offsets of simple groups are always committed without members.

    Args:
        before, after: partition → committed offset or share-partition start offset. Only partitions that are in both
            are compared.
        memberless: whether the group had no members at both reads.
    """
    reset = memberless and listing.kind != SIMPLE
    changed = sorted(
        tp for tp, now in after.items() if (old := before.get(tp)) is not None and (now < old or (reset and now != old))
    )
    if not changed:
        return []
    kind = EventKind.RESET if reset else EventKind.REWOUND
    old_sum, new_sum = (sum(read[tp] for tp in changed) for read in (before, after))
    return [Event(at, kind, group, listing, old_sum, new_sum, _named(map(_partition, changed)), len(changed))]


def without_members(listing: Listing) -> bool:
    """Return whether a group has no members, which is so if the list of groups shows the state Empty."""
    return listing.state == EMPTY


def config_events(
    group: str, at: float, listing: Listing, before: Iterable[GroupConfig], after: Iterable[GroupConfig]
) -> list[Event]:
    """Return one event per group config whose value changed between two reads.

    Configs with a secret value, and configs that only one of the two reads contains, are ignored.
    """
    old = {config.name: config for config in before}
    return [
        Event(at, EventKind.CONFIG, group, listing, old[config.name].value, config.value, config.name)
        for config in after
        if config.name in old and not config.sensitive and old[config.name].value != config.value
    ]


def broker_lost(node: int, address: str, at: float, fault: Fault) -> Event:
    """Return the event of a broker that no longer answers. `fault` says why."""
    return Event(at, EventKind.BROKER_LOST, after=fault.message or fault.name, subject=address, broker=node)


def broker_back(node: int, address: str, at: float) -> Event:
    """Return the event of a broker that answers again."""
    return Event(at, EventKind.BROKER_BACK, subject=address, broker=node)


def _partition(partition: TopicPartition) -> str:
    return f"{partition[0]}-{partition[1]}"


def _named(names: Iterable[str]) -> str:
    """Join the names with commas. If there are more than `MOST_NAMED`, count the others: `a, b, c and 4 more`."""
    every = list(names)
    more = len(every) - MOST_NAMED
    return ", ".join(every[:MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")
