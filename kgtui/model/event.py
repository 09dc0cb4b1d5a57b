"""Events: what changed in a cluster, and when. The same functions find the events of a live cluster and of a recording.

An event is found by comparing two reads, so that its time is the time of the first read that shows the change.
"""

from __future__ import annotations

from collections import deque
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from kgtui.model.group_types import DEAD, EMPTY, SIMPLE
from kgtui.model.member_names import member_labels, member_names
from kgtui.model.membership import Membership

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from kgtui.model.answer import Fault
    from kgtui.model.group import GroupConfig, GroupDescription, Listing
    from kgtui.model.members import Member
    from kgtui.model.membership import MembershipChange, OwnerMove
    from kgtui.model.offsets import GroupOffsets, TopicPartition

MOST_NAMED = 3
"""Maximum number of members or partitions that the text of one event names."""

MOST_MEMBERS = 20
"""Maximum number of members with an event of their own. If more join or leave between two reads, they share one event.
"""


class EventKind(StrEnum):
    """The kind of change that an event reports.

    The values are used in JSON and as arguments of `kgtui events --kind`.
    """

    APPEARED = "appeared"
    DISAPPEARED = "disappeared"
    STATE = "state"
    JOINED = "joined"
    LEFT = "left"
    EPOCH = "epoch"
    COORDINATOR = "coordinator"
    MOVED = "moved"
    REWOUND = "rewound"
    RESET = "reset"
    CONFIG = "config"
    VERDICT = "verdict"
    BROKER_LOST = "broker-lost"
    BROKER_BACK = "broker-back"


class Event(NamedTuple):
    """One change, as observed by reading the cluster.

    Attributes:
        at: time of the first read that shows the change, in seconds since the epoch.
        group: group id; None for events of brokers.
        listing: the listing of the group after the change, or its last listing if the group disappeared. Filters use
            it for groups that no longer exist.
        before, after: the values before and after the change; None if there is no such value. They are states, epochs,
            node ids of coordinators, member ids, sums of committed offsets, values of a config, or verdicts.
        subject: what changed: members, partitions, the name of a config, or the address of a broker; in events of
            verdicts, the reason.
        number: number of members or partitions that changed.
        broker: node id, in events of brokers.
    """

    at: float
    kind: EventKind
    group: str | None = None
    listing: Listing | None = None
    before: str | int | None = None
    after: str | int | None = None
    subject: str = ""
    number: int = 1
    broker: int | None = None

    @property
    def text(self) -> str:
        """The change in one line, without time and group. Names may contain control characters."""
        return _TEXTS[self.kind](self)


def listing_events(group: str, at: float, before: Listing | None, after: Listing | None) -> list[Event]:
    """Return the events that two successive listings of a group show. None means that the group did not exist."""
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


def disappeared(group: str, at: float, last: Listing) -> Event:
    """Return the event of a group that no longer exists. `last` is its last listing."""
    return Event(at, EventKind.DISAPPEARED, group, last, before=last.state)


class LastDescription:
    """The parts of a group's newest description that are needed to compare it with the next description.

    Args:
        appeared: whether the group has just been created, so that all members in its first description have joined
            since. Otherwise, the members are unknown until the first description.

    Attributes:
        membership: the members and the owners of partitions.
        at: time of the description, in seconds since the epoch; 0 before the first description.
    """

    __slots__ = ("_epoch", "_state", "at", "membership")

    def __init__(self, *, appeared: bool = False) -> None:
        self.membership = Membership(() if appeared else None)
        self.at = 0.0
        self._epoch: int | None = None
        self._state: str | None = None

    def update(self, description: GroupDescription, listing: Listing, at: float) -> list[Event]:
        """Store a newer description, and return the events that it shows.

        States are compared only if the broker does not list them; otherwise `listing_events` compares them. A
        description with the state Dead is ignored, because it says nothing about the members.
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
        """Store that a group has no members, as its listing shows, and return the events of members that left."""
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
    """Return the events of members that left and joined. If there are many, the members share one event.

    Args:
        earlier, later: all members before and after the change, so that the names distinguish the members.
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
    """Return one event for all partitions that have another owner; none if there are no such partitions.

    The values before and after are the names of the owners if all partitions moved from one member to one other member.

    Args:
        members: all members before and after the change, so that the names distinguish the owners.
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


def positions_of(offsets: GroupOffsets) -> dict[TopicPartition, int]:
    """Return a dict that maps each partition with a committed offset or share-partition start offset to this offset."""
    found = {(row.topic, row.partition): row.offset for row in offsets.committed if row.offset is not None}
    found |= {(row.topic, row.partition): row.start_offset for row in offsets.share if row.start_offset is not None}
    return found


def offset_events(
    group: str,
    at: float,
    listing: Listing,
    before: Mapping[TopicPartition, int],
    after: Mapping[TopicPartition, int],
    *,
    memberless: bool,
) -> list[Event]:
    """Return events for positions of a group that were reset or went back between two reads.

    Partitions that only one of the reads contains are ignored.

    If the group had no members at both reads, every change of an offset is a reset. Simple groups are an exception,
    because their consumers commit offsets without being members. In all other cases, only positions that went back are
    reported.

    Args:
        before, after: partition → committed offset or share-partition start offset.
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
    """Return whether a listing shows that its group has no members."""
    return listing.state == EMPTY


def config_events(
    group: str, at: float, listing: Listing, before: Iterable[GroupConfig], after: Iterable[GroupConfig]
) -> list[Event]:
    """Return one event per config of a group that changed between two reads. Hidden values are not compared."""
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
    """Join up to `MOST_NAMED` names with commas, and count the others: `a, b, c and 4 more`."""
    every = list(names)
    more = len(every) - MOST_NAMED
    return ", ".join(every[:MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _value(value: str | int | None) -> str:
    return "?" if value is None else str(value)


def _change(event: Event) -> str:
    return f"{_value(event.before)} → {_value(event.after)}"


def _appeared(event: Event) -> str:
    listing = event.listing
    if listing is None:
        return "group appeared"
    parts = [listing.type or listing.kind, listing.state, f"broker {listing.coordinator}"]
    return f"group appeared: {', '.join(part for part in parts if part)}"


def _many(event: Event, noun: str) -> str:
    return event.subject if event.number == 1 else f"{event.number:,} {noun}s"


def _list(event: Event) -> str:
    return "" if event.number == 1 else f": {event.subject}"


def _moved(event: Event) -> str:
    if event.after is None:
        what = "moved"
    elif event.before is None:
        what = f"assigned to {event.after}"
    else:
        what = f"moved from {event.before} to {event.after}"
    return f"{_many(event, 'partition')} {what}{_list(event)}"


def _offsets(event: Event, what: str) -> str:
    before, after = int(event.before or 0), int(event.after or 0)
    if event.number == 1:
        return f"offset of {event.subject} {what}: {before:,} → {after:,}"
    by = f"{after - before:+,} records"
    return f"offsets of {event.number:,} partitions {what}, {by}: {event.subject}"


def _verdict(event: Event) -> str:
    verdict = _value(event.after) if event.before is None else _change(event)
    return f"verdict {verdict}: {event.subject}" if event.subject else f"verdict {verdict}"


_TEXTS: dict[EventKind, Callable[[Event], str]] = {
    EventKind.APPEARED: _appeared,
    EventKind.DISAPPEARED: lambda event: f"group deleted or expired; it was {_value(event.before)}",
    EventKind.STATE: lambda event: f"state {_change(event)}",
    EventKind.JOINED: lambda event: f"{_many(event, 'member')} joined{_list(event)}",
    EventKind.LEFT: lambda event: f"{_many(event, 'member')} left{_list(event)}",
    EventKind.EPOCH: lambda event: f"group epoch {_change(event)}",
    EventKind.COORDINATOR: lambda event: f"coordinator: broker {_change(event)}",
    EventKind.MOVED: _moved,
    EventKind.REWOUND: lambda event: _offsets(event, "went back"),
    EventKind.RESET: lambda event: _offsets(event, "reset while the group had no members"),
    EventKind.CONFIG: lambda event: f"{event.subject}: {_change(event)}",
    EventKind.VERDICT: _verdict,
    EventKind.BROKER_LOST: lambda event: f"broker {event.broker} ({event.subject}) does not answer: {event.after}",
    EventKind.BROKER_BACK: lambda event: f"broker {event.broker} ({event.subject}) answers again",
}
"""Maps each kind to the function that returns the text of an event of this kind."""


class EventLog:
    """The newest events of a cluster, oldest first. When the log is full, the oldest events are dropped.

    Args:
        keep: maximum number of events.

    Attributes:
        total: number of all events so far, including those that were dropped.
    """

    def __init__(self, keep: int) -> None:
        self._events: deque[Event] = deque(maxlen=keep)
        self._kept: tuple[int, tuple[Event, ...]] = (0, ())
        self.total = 0

    def add(self, events: Collection[Event]) -> None:
        if events:
            self._events.extend(events)
            self.total += len(events)

    def add_disappeared(self, groups: Sequence[tuple[str, Listing]], at: float) -> None:
        """Append the events of groups that no longer exist, given as pairs (group id, last listing).

        If there are more groups than the log can hold, no event is created for the first ones, which would be dropped.
        """
        keep = self._events.maxlen or 0
        self._events.extend(disappeared(group, at, last) for group, last in groups[max(len(groups) - keep, 0) :])
        self.total += len(groups)

    def kept(self) -> tuple[Event, ...]:
        """Return all events in the log. The same tuple is returned until another event is added."""
        if self._kept[0] != self.total:
            self._kept = (self.total, tuple(self._events))
        return self._kept[1]

    def since(self, total: int) -> tuple[list[Event], int]:
        """Return the events after the first `total` ones, and how many of these later events the log has dropped."""
        new = self.total - total
        found = list(islice(self._events, max(len(self._events) - new, 0), None))
        return found, new - len(found)
