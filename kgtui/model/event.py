"""Events, which are changes in a cluster: their kinds, texts and colors, and the log of the newest events."""

from __future__ import annotations

from collections import deque
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from kgtui.model.marks import ERROR, OK, WARN
from kgtui.model.number_format import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from kgtui.model.group import Listing


class EventKind(StrEnum):
    """The kinds of events. Their values are used in JSON output and in the option `kgtui events --kind`."""

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
    """One change in a cluster, found by comparing two reads.

    Attributes:
        at: when kgtui first read the new value, in epoch seconds.
        group: group id; None for events of brokers.
        listing: type, state and coordinator of the group after the change; None for events of brokers. If the group has
            disappeared, these are its last known values.
        before, after: old and new value, such as two states; None if there is no such value. If offsets have changed,
            the values are sums over the changed partitions. If a broker was lost, `after` is the error message.
        subject: what has changed, such as the names of members or partitions. If a verdict has changed, this is the
            reason for the new verdict; for events of brokers, it is the address of the broker.
        number: number of changed members or partitions.
        broker: node id of the broker; None for events of groups.
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
        """The change in one line, without time and group. Names are not escaped, and may contain control characters."""
        return EVENT_KINDS[self.kind].text(self)

    @property
    def detail(self) -> str:
        """The change without the name of its kind: `Stable → Empty` instead of `state Stable → Empty`.

        This text is for tables that show the kind in a column of its own.
        """
        kind, content = self.kind.value, self.text
        start = next((start for start in (f"{kind}: ", f"{kind} ", f"group {kind} ") if content.startswith(start)), "")
        return content.removeprefix(start)


def disappeared(group: str, at: float, last: Listing) -> Event:
    """Return the event for a group that has disappeared.

    Args:
        last: type, state and coordinator of the group in the last list that contained the group.
    """
    return Event(at, EventKind.DISAPPEARED, group, last, before=last.state)


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
    return event.subject if event.number == 1 else counted(event.number, noun)


def _list(event: Event) -> str:
    return "" if event.number == 1 else f": {event.subject}"


def _moved(event: Event) -> str:
    if event.after is None:
        move = "moved"
    elif event.before is None:
        move = f"assigned to {event.after}"
    else:
        move = f"moved from {event.before} to {event.after}"
    return f"{_many(event, 'partition')} {move}{_list(event)}"


def _offsets(event: Event, change: str) -> str:
    before, after = int(event.before or 0), int(event.after or 0)
    if event.number == 1:
        return f"offset of {event.subject} {change}: {before:,} → {after:,}"
    return f"offsets of {event.number:,} partitions {change}, {after - before:+,} records: {event.subject}"


def _verdict(event: Event) -> str:
    verdict = _value(event.after) if event.before is None else _change(event)
    return f"verdict {verdict}: {event.subject}" if event.subject else f"verdict {verdict}"


class KindOfEvent(NamedTuple):
    """What kgtui shows about one kind of events.

    Attributes:
        meaning: what has happened, as `kgtui events --help` shows it.
        about: name of the filter on the Events screen (key `o`) that shows events of this kind.
        text: returns the text of an event in one line.
        role: color, one of `kgtui.model.marks.ROLES`; empty for the normal text color.
        noun: singular noun for counting the events, such as `move` for the text `2 moves`. If empty, the name of the
            kind is used, as in `2 joined`.
    """

    meaning: str
    about: str
    text: Callable[[Event], str]
    role: str = ""
    noun: str = ""


EVENT_KINDS: dict[EventKind, KindOfEvent] = {
    EventKind.APPEARED: KindOfEvent(
        "a group was created", "groups",
        _appeared, OK,
    ),
    EventKind.DISAPPEARED: KindOfEvent(
        "a group was deleted or expired", "groups",
        lambda event: f"group deleted or expired; was {_value(event.before)}", ERROR,
    ),
    EventKind.STATE: KindOfEvent(
        "the state of a group changed", "groups",
        lambda event: f"state {_change(event)}", noun="state change",
    ),
    EventKind.COORDINATOR: KindOfEvent(
        "the coordinator of a group changed", "groups",
        lambda event: f"coordinator: broker {_change(event)}", noun="coordinator change",
    ),
    EventKind.JOINED: KindOfEvent(
        "a member joined; the line names its client and host", "members",
        lambda event: f"{_many(event, 'member')} joined{_list(event)}", OK,
    ),
    EventKind.LEFT: KindOfEvent(
        "a member left; the line names its client and host", "members",
        lambda event: f"{_many(event, 'member')} left{_list(event)}", WARN,
    ),
    EventKind.EPOCH: KindOfEvent(
        "the group epoch of a group changed", "members",
        lambda event: f"group epoch {_change(event)}", noun="new epoch",
    ),
    EventKind.MOVED: KindOfEvent(
        "the owner of partitions changed", "members",
        _moved, WARN, noun="move",
    ),
    EventKind.REWOUND: KindOfEvent(
        "committed offsets went back while the group had members", "offsets",
        lambda event: _offsets(event, "went back"), ERROR,
    ),
    EventKind.RESET: KindOfEvent(
        "committed offsets changed while the group had no members", "offsets",
        lambda event: _offsets(event, "reset while the group had no members"), WARN, noun="reset",
    ),
    EventKind.VERDICT: KindOfEvent(
        "the verdict on a group changed; the line has the reason", "verdicts and configs",
        _verdict, WARN, noun="verdict",
    ),
    EventKind.CONFIG: KindOfEvent(
        "a config changed; kgtui reads configs only if the filter matches a single group", "verdicts and configs",
        lambda event: f"{event.subject}: {_change(event)}", noun="config change",
    ),
    EventKind.BROKER_LOST: KindOfEvent(
        "a broker no longer answers", "brokers",
        lambda event: f"broker {event.broker} ({event.subject}) does not answer: {event.after}", ERROR,
    ),
    EventKind.BROKER_BACK: KindOfEvent(
        "a broker answers again", "brokers",
        lambda event: f"broker {event.broker} ({event.subject}) answers again", OK,
    ),
}  # fmt: skip
"""Maps each kind of event to its texts and color, in the order in which the help and the Events screen list them."""


class EventLog:
    """The newest events of a cluster, oldest first. If the log is full, each new event replaces the oldest one.

    Args:
        keep: maximum number of events.

    Attributes:
        total: number of events that were ever added, including events that are no longer in the log.
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
        """Append an event for each group that has disappeared.

        If the log is too small for all of these events, only the last ones are added, but `total` counts all.

        Args:
            groups: pairs (group id, its last `Listing`).
            at: time of the events, in epoch seconds.
        """
        keep = self._events.maxlen or 0
        self._events.extend(disappeared(group, at, last) for group, last in groups[max(len(groups) - keep, 0) :])
        self.total += len(groups)

    def kept(self) -> tuple[Event, ...]:
        """Return all events in the log. Until an event is added, each call returns the same tuple object."""
        if self._kept[0] != self.total:
            self._kept = (self.total, tuple(self._events))
        return self._kept[1]

    def since(self, total: int) -> tuple[list[Event], int]:
        """Return the events that were added after a given point in time.

        Args:
            total: the value of the attribute `total` at this point in time.

        Returns:
            Pair `(events, dropped)`: the added events that are still in the log, oldest first, and the number of added
            events that are no longer in the log, because the log was full.
        """
        new = self.total - total
        found = list(islice(self._events, max(len(self._events) - new, 0), None))
        return found, new - len(found)
