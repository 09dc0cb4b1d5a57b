"""Tests of events and of their one-line texts. kgtui creates events by comparing two reads of a group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kgtui.model.answer import Fault
from kgtui.model.event import EVENT_KINDS, Event, EventKind, EventLog
from kgtui.model.event_search import (
    MOST_MEMBERS,
    LastDescription,
    broker_back,
    broker_lost,
    config_events,
    listing_events,
    offset_events,
)
from kgtui.model.group import GroupConfig, GroupDescription, Listing
from tests.scripted import member

if TYPE_CHECKING:
    from kgtui.model.members import Member

STABLE = Listing("consumer", "consumer", "Stable", 1)
EMPTY = Listing("consumer", "consumer", "Empty", 1)
MOVED = Listing("consumer", "consumer", "Stable", 2)
SIMPLE = Listing("classic", "", "Empty", 1)


def test_every_kind_of_event_has_a_text_and_a_meaning() -> None:
    assert EVENT_KINDS.keys() == set(EventKind)
    assert [kind for kind, shown in EVENT_KINDS.items() if not (shown.meaning and shown.about)] == []
    assert [kind for kind in EventKind if not Event(0.0, kind, "g", before=1, after=2, broker=3).text] == []


def texts(events: list[Event]) -> list[str]:
    return [event.text for event in events]


def owner(name: str, *partitions: int, client: str = "client") -> Member:
    """Return a member that owns partitions of topic `orders`."""
    return member(name, client_id=client, assignment=(("orders", partitions),))


def described(*members: Member, listing: Listing = STABLE, **fields: object) -> GroupDescription:
    state = str(fields.pop("state", listing.state))
    return GroupDescription("g", "consumer", "consumer", state, 1, members=members, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (None, EMPTY, ["group appeared: consumer, Empty, broker 1"]),
        (EMPTY, None, ["group deleted or expired; was Empty"]),
        (STABLE, EMPTY, ["state Stable → Empty"]),
        (STABLE, MOVED, ["coordinator: broker 1 → 2"]),
        (EMPTY, MOVED, ["coordinator: broker 1 → 2", "state Empty → Stable"]),
        (STABLE, STABLE, []),
        (None, None, []),
    ],
)
def test_differences_of_a_group_between_two_group_lists_become_events(
    before: Listing | None, after: Listing | None, expected: list[str]
) -> None:
    assert texts(listing_events("g", 1.0, before, after)) == expected


def test_events_of_joining_and_leaving_members_contain_client_and_host() -> None:
    last = LastDescription()
    assert last.update(described(owner("m-1", 0), group_epoch=4), STABLE, 1.0) == []
    found = last.update(described(owner("m-2", 0, client="other"), group_epoch=5), STABLE, 2.0)
    assert texts(found) == [
        "client at /127.0.0.1 left",
        "other at /127.0.0.1 joined",
        "group epoch 4 → 5",
        "orders-0 moved from client to other",
    ]
    assert (found[0].before, found[1].after, found[0].at) == ("m-1", "m-2", 2.0)


def test_all_members_of_a_new_group_are_reported_as_joined() -> None:
    last = LastDescription(appeared=True)
    found = last.update(described(owner("m-1", 0, 1)), STABLE, 1.0)
    assert texts(found) == ["client at /127.0.0.1 joined", "2 partitions assigned to client: orders-0, orders-1"]


def test_many_members_that_join_together_are_reported_in_one_event() -> None:
    last = LastDescription(appeared=True)
    members = [member(f"m-{number:02}", client_id=f"c-{number:02}") for number in range(MOST_MEMBERS + 1)]
    (found,) = last.update(described(*members), STABLE, 1.0)
    assert (found.kind, found.number) == (EventKind.JOINED, MOST_MEMBERS + 1)
    assert found.text == "21 members joined: c-00 at /127.0.0.1, c-01 at /127.0.0.1, c-02 at /127.0.0.1 and 18 more"


def test_partitions_temporarily_without_owner_do_not_count_as_moved() -> None:
    last = LastDescription()
    last.update(described(owner("m-1", 0), owner("m-2", 1)), STABLE, 1.0)
    assert last.update(described(member("m-1"), member("m-2")), STABLE, 2.0) == []
    assert last.update(described(owner("m-1", 0), owner("m-2", 1)), STABLE, 3.0) == []
    found = last.update(described(owner("m-1", 1), owner("m-2", 0)), STABLE, 4.0)
    assert texts(found) == ["2 partitions moved: orders-0, orders-1"]


@pytest.mark.parametrize(
    "description", [described(state="Dead"), GroupDescription("g", "", "", "Stable", 1, members=None)]
)
def test_description_in_state_dead_or_without_member_list_causes_no_events(description: GroupDescription) -> None:
    """Such a description contains no members. kgtui must not report that the previous members have left."""
    last = LastDescription()
    last.update(described(owner("m-1", 0)), STABLE, 1.0)
    assert last.update(description, STABLE, 2.0) == []
    assert texts(last.update_without_members("g", EMPTY, 3.0)) == ["client at /127.0.0.1 left"]


def test_state_changes_are_found_in_descriptions_if_group_lists_lack_states() -> None:
    old_broker = Listing(None, "consumer", None, 1)
    for listing, expected in ((old_broker, ["state Stable → Empty"]), (EMPTY, [])):
        last = LastDescription()
        last.update(described(state="Stable"), listing, 1.0)
        assert texts(last.update(described(state="Empty"), listing, 2.0)) == expected


def test_offsets_that_decrease_cause_an_event_but_progress_does_not() -> None:
    before = {("orders", 0): 500, ("orders", 1): 700, ("orders", 2): 100}
    after = {("orders", 0): 300, ("orders", 1): 900, ("audit", 0): 1}
    assert texts(offset_events("g", 1.0, STABLE, before, after, memberless=False)) == [
        "offset of orders-0 went back: 500 → 300"
    ]
    after[("orders", 2)] = 40
    assert texts(offset_events("g", 1.0, STABLE, before, after, memberless=False)) == [
        "offsets of 2 partitions went back, -260 records: orders-0, orders-2"
    ]


def test_offset_increase_in_an_empty_group_is_reported_as_reset() -> None:
    """A group without members cannot make progress itself, so a user must have reset its offset.

    In a simple group, which never has members, an offset increase is normal progress.
    """
    before, after = {("orders", 0): 500}, {("orders", 0): 2_500}
    assert texts(offset_events("g", 1.0, EMPTY, before, after, memberless=True)) == [
        "offset of orders-0 reset while the group had no members: 500 → 2,500"
    ]
    assert offset_events("g", 1.0, SIMPLE, before, after, memberless=True) == []
    assert [e.kind for e in offset_events("g", 1.0, SIMPLE, after, before, memberless=True)] == [EventKind.REWOUND]


def test_changed_configs_cause_events_unless_the_configs_are_sensitive() -> None:
    def configs(reset: str, secret: str) -> list[GroupConfig]:
        return [
            GroupConfig("share.auto.offset.reset", reset, "DYNAMIC_GROUP_CONFIG"),
            GroupConfig("x.password", secret, "DYNAMIC_GROUP_CONFIG", sensitive=True),
        ]

    found = config_events("g", 1.0, STABLE, configs("latest", "a"), configs("earliest", "b"))
    assert texts(found) == ["share.auto.offset.reset: latest → earliest"]


def test_texts_of_broker_events_contain_the_broker_address_and_the_error() -> None:
    assert broker_lost(2, "b:9092", 1.0, Fault("TIMEOUT", "no response within 10 s")).text == (
        "broker 2 (b:9092) does not answer: no response within 10 s"
    )
    assert broker_back(2, "b:9092", 1.0).text == "broker 2 (b:9092) answers again"


def test_full_event_log_removes_the_oldest_events_and_counts_them() -> None:
    log = EventLog(3)
    log.add([Event(float(number), EventKind.APPEARED, f"g{number}") for number in range(2)])
    seen = log.total
    assert log.kept() is log.kept()
    log.add_disappeared([(f"g{number}", EMPTY) for number in range(5)], 9.0)
    assert [event.group for event in log.kept()] == ["g2", "g3", "g4"]
    assert (log.total, log.since(seen)) == (7, (list(log.kept()), 2))
    assert log.since(log.total) == ([], 0)
