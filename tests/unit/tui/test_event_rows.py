"""Tests of the rows that list the newest events of groups and brokers."""

from __future__ import annotations

from kgtui.model.answer import Fault
from kgtui.model.event import Event, EventKind
from kgtui.model.event_search import broker_lost
from kgtui.tui.event_rows import EventRow, event_rows


def joined(group: str, at: float) -> Event:
    return Event(at, EventKind.JOINED, group, subject="client-1")


def test_newest_events_of_a_group_are_listed_and_older_events_are_counted() -> None:
    """At most two events per group are listed. One row counts the three older events of group `a`."""
    left = Event(1.0, EventKind.LEFT, "a", subject="client-1")
    events = [joined("a", 9.0), joined("a", 8.0), joined("b", 7.0), joined("a", 6.0), left, joined("a", 0.0)]
    rows = event_rows(events, 2)
    assert rows == [*map(EventRow, events[:3]), EventRow(events[3], (("joined", 2), ("left", 1)))]
    assert (rows[3].kind, rows[3].text) == ("more", "3 more: 2 joined, 1 left")
    assert EventRow(events[3], (("state", 4), ("verdict", 1))).text == "5 more: 4 state changes, 1 verdict"
    state = Event(1.0, EventKind.STATE, "a", None, "Stable", "Empty")
    assert (EventRow(state).text, EventRow(state).detail) == ("state Stable → Empty", "Stable → Empty")


def test_single_older_event_is_listed_instead_of_counted() -> None:
    events = [joined("a", 3.0), joined("a", 2.0), joined("a", 1.0)]
    assert [row.event for row in event_rows(events, 2)] == events
    assert [row.folded for row in event_rows(events, 2)] == [()] * 3


def test_limit_of_listed_events_per_group_does_not_apply_to_broker_events() -> None:
    events = [broker_lost(2, "b:9092", at, Fault("TIMEOUT", "no response")) for at in (5.0, 4.0, 3.0, 2.0)]
    assert [row.event for row in event_rows(events, 1)] == events
