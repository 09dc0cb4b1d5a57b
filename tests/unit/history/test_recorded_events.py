"""Tests of `recorded_events`, which finds the same events in a recording as the monitor finds in a running cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kgtui.history.changes import PollResult
from kgtui.history.recorded_events import recorded_events
from kgtui.history.recording_reader import RecordingReader
from kgtui.model.answer import Fault
from kgtui.model.event import Event, EventKind, EventLog
from kgtui.model.group import GroupDescription, Listing
from kgtui.model.offsets import CommittedOffset, GroupOffsets, PartitionBounds
from kgtui.monitor.event_tracker import EventTracker
from tests.scripted import member
from tests.unit.history import values
from tests.unit.history.recording_builder import START, RecordingBuilder
from tests.unit.history.test_recording_reader import write

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from kgtui.model.members import Member

STABLE = Listing("consumer", "consumer", "Stable", 1)
EMPTY = replace(STABLE, state="Empty")
ON_BROKER_2 = replace(EMPTY, coordinator=2)


def owner(name: str, *partitions: int) -> Member:
    """Return a member that owns `partitions` of the topic `t`. Its member id and its client id are `name`."""
    return member(name, client_id=name, assignment=(("t", partitions),))


def poll(
    listing: Listing | None, *members: Member, commits: dict[int, int] | None = None, faults: Sequence[Fault] = ()
) -> PollResult:
    """Return a poll with the group `other`, which never changes, and the group `pay`.

    Args:
        listing: row of `pay` in the list of groups; None if `pay` does not exist.
        members: members of `pay`.
        commits: committed offsets of `pay`, as a dict: partition of the topic `t` → offset.
        faults: errors of brokers.
    """
    listings = {"other": STABLE} | ({} if listing is None else {"pay": listing})
    described = {"other": GroupDescription("other", "consumer", "consumer", "Stable", 1, members=(owner("o"),))}
    offsets: dict[str, tuple[CommittedOffset, ...]] = {"other": (CommittedOffset("t", 0, 7, 1),)}
    if listing is not None:
        state = listing.state or "?"
        described["pay"] = GroupDescription("pay", "consumer", "consumer", state, 1, group_epoch=3, members=members)
        offsets["pay"] = tuple(CommittedOffset("t", part, at, 1) for part, at in sorted((commits or {}).items()))
    bounds = {("t", part): PartitionBounds(0, 9_000) for part in range(4)}
    return PollResult(listings, described, offsets, {}, bounds, tuple(("broker", fault) for fault in faults))


SILENT = Fault("NO_ANSWER", "no response within 10 s", broker=2)
LIFE = [
    poll(None),
    poll(STABLE, owner("m-1", 0, 1), commits={0: 100, 1: 100}),
    poll(STABLE, owner("m-1", 0), owner("m-2", 1), commits={0: 150, 1: 120}, faults=[SILENT]),
    poll(STABLE, owner("m-1", 0), owner("m-2", 1), commits={0: 160, 1: 60}, faults=[SILENT]),
    poll(EMPTY, commits={0: 160, 1: 60}),
    poll(EMPTY, commits={0: 3_000, 1: 60}),
    poll(ON_BROKER_2, commits={0: 3_000, 1: 60}),
    poll(None),
    poll(STABLE, owner("m-3", 0), commits={0: 5}),
]
"""Nine successive polls, in which the group `pay` is created, changed, deleted, and created again."""

EXPECTED = [
    ["group appeared: consumer, Stable, broker 1", "m-1 at /127.0.0.1 joined",
     "2 partitions assigned to m-1: t-0, t-1"],
    ["broker 2 (127.0.0.1:9093) does not answer: no response within 10 s", "m-2 at /127.0.0.1 joined",
     "t-1 moved from m-1 to m-2"],
    ["offset of t-1 went back: 120 → 60"],
    ["broker 2 (127.0.0.1:9093) answers again", "state Stable → Empty", "m-1 at /127.0.0.1 left",
     "m-2 at /127.0.0.1 left"],
    ["offset of t-0 reset while the group had no members: 160 → 3,000"],
    ["coordinator: broker 1 → 2"],
    ["group deleted or expired; was Empty"],
    ["group appeared: consumer, Stable, broker 1", "m-3 at /127.0.0.1 joined", "t-0 assigned to m-3"],
]  # fmt: skip
"""The texts of the expected events: a list for each poll in `LIFE`, without the first poll, which has no events."""


def texts_by_poll(events: Sequence[Event]) -> list[list[str]]:
    """Return the texts of the events, grouped by poll as in `EXPECTED`.

    Raise AssertionError if an event does not have the time of a poll in `LIFE` after the first poll.
    """
    times = [(START + number * 10_000) / 1000 for number in range(1, len(LIFE))]
    assert {event.at for event in events} <= set(times)
    return [[event.text for event in events if event.at == at] for at in times]


@pytest.mark.parametrize("keyframes", [(), (4,), (2, 7), tuple(range(9))])
def test_recorded_events_do_not_depend_on_how_polls_are_stored(tmp_path: Path, keyframes: tuple[int, ...]) -> None:
    """A keyframe is a poll that stores all groups. Other polls store only changes.

    `keyframes` are the indices of the polls that are recorded as keyframes. The first poll always is a keyframe.
    """
    write(tmp_path, *LIFE, keyframes=keyframes)
    assert texts_by_poll(list(recorded_events(RecordingReader(tmp_path)))) == EXPECTED


def test_monitor_and_recording_report_the_same_group_events() -> None:
    """The test gives polls to `EventTracker`, as the monitor does, which polls a running cluster.

    The test does not compare events about brokers, because it gives no data of brokers to `EventTracker`.
    """
    log = EventLog(100)
    tracker = EventTracker(log, 100)
    before: PollResult | None = None
    for number, now in enumerate(LIFE):
        at = (START + number * 10_000) / 1000
        for group in sorted(now.listings.keys() | (before.listings.keys() if before else set())):
            old, new = before.listings.get(group) if before else None, now.listings.get(group)
            if new is None:
                tracker.gone([(group, old)] if old is not None else [], at)
                continue
            if before is not None and old != new:
                tracker.listed(group, old, new, at)
            tracker.described(now.descriptions[group], new, at, in_full=True)
            earlier = None if before is None else before.committed.get(group)
            last = None if earlier is None else GroupOffsets(earlier)
            tracker.offsets_read(group, new, last, GroupOffsets(now.committed[group]), at)
        before = now
    groups_only = [[text for text in texts if not text.startswith("broker 2")] for texts in EXPECTED]
    assert texts_by_poll(log.kept()) == groups_only


def test_event_search_for_one_group_returns_no_events_of_other_groups(tmp_path: Path) -> None:
    write(tmp_path, *LIFE, keyframes=(4,))
    reader = RecordingReader(tmp_path)
    everything = list(recorded_events(reader))
    assert list(recorded_events(reader, groups=["pay"])) == [event for event in everything if event.group == "pay"]
    assert list(recorded_events(reader, groups=["other"])) == list(recorded_events(reader, groups=["nobody"])) == []


def test_group_created_again_with_lower_offsets_causes_no_rewind_event(tmp_path: Path) -> None:
    """The new group has a lower committed offset than the deleted group with the same id.

    kgtui must not report that the offset went back, because these are two different groups.
    """
    write(tmp_path, LIFE[1], LIFE[0], poll(STABLE, commits={0: 1}), keyframes=(1,))
    kinds = [event.kind for event in recorded_events(RecordingReader(tmp_path))]
    assert kinds == [EventKind.DISAPPEARED, EventKind.APPEARED]


def test_event_search_from_a_later_poll_finds_the_same_events_after_this_poll(tmp_path: Path) -> None:
    """The search begins at the second poll, a keyframe (a poll that stores all groups).

    The members of the group `pay` could not be read at this poll. Nevertheless, the search must find the same later
    events as a search from the first poll.
    """
    without = poll(STABLE)
    pay = replace(without.descriptions["pay"], members=None)
    withheld = replace(without, descriptions={**without.descriptions, "pay": pay})
    write(tmp_path, LIFE[1], withheld, LIFE[2], LIFE[4], keyframes=(1,))
    reader = RecordingReader(tmp_path)
    begin = START / 1000 + 10
    expected = [event for event in recorded_events(reader) if event.at > begin]
    assert list(recorded_events(reader, begin)) == expected
    kinds = [event.kind for event in expected]
    assert EventKind.JOINED not in kinds
    assert kinds.count(EventKind.LEFT) == 2


@settings(max_examples=10, suppress_health_check=list(HealthCheck))
@given(
    polls=st.lists(
        st.tuples(values.polls(), st.booleans(), st.sampled_from(["flush", "compact"])), min_size=2, max_size=7
    ),
    since=st.integers(0, 6),
    until=st.integers(0, 6),
)
def test_event_search_finds_all_events_in_the_time_range(
    tmp_path_factory: pytest.TempPathFactory, polls: list[tuple[PollResult, bool, str]], since: int, until: int
) -> None:
    path = tmp_path_factory.mktemp("lake")
    recording = RecordingBuilder(path)
    for number, (result, keyframe, then) in enumerate(polls):
        recording.poll(result, START + number * 10_000, keyframe=keyframe)
        recording.flush()
        if then == "compact":
            recording.compact()
    reader = RecordingReader(path)
    begin, end = (START / 1000 + min(number, len(polls) - 1) * 10 for number in (since, until))
    expected = [event for event in recorded_events(reader) if begin < event.at <= end]
    assert list(recorded_events(reader, begin, end)) == expected
