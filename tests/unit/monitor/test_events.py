"""Tests of the events that the monitor finds by comparing successive reads, and of the limited event log."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from kgtui.admin.base import ListingDelta
from kgtui.errors import ClientError
from kgtui.model.answer import Fault
from kgtui.model.event import Event, EventKind, EventLog, disappeared
from kgtui.model.group import GroupConfig, GroupDescription, Listing
from kgtui.model.judgment import READ_ONCE, Basis, Judgment
from kgtui.model.offsets import CommittedOffset
from kgtui.model.problem import GroupStatus, Problem
from kgtui.monitor import Monitor, MonitorOptions
from kgtui.monitor.event_tracker import EventTracker
from kgtui.monitor.policy import EVENT_MEMBERS
from kgtui.monitor.store import Store
from tests.pilot.scripted_monitor import summary
from tests.scripted import ScriptedAdmin, member

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

FAST = MonitorOptions(
    interval=0.5, timeout=2.0, publish_interval=0.0, sweep_pause=0.05, sweep_rate=100_000.0, metadata_interval=0.05,
    settle_time=0.0,
)  # fmt: skip
STABLE = Listing("consumer", "consumer", "Stable", 1)
EMPTY = Listing("consumer", "consumer", "Empty", 1)


async def until(monitor: Monitor, holds: Callable[[], bool]) -> None:
    """Make the monitor poll the cluster again and again until `holds` returns True. Fail the test after 60 s."""
    async with asyncio.timeout(60):
        while not holds():
            monitor.refresh()
            await asyncio.sleep(0.02)


@asynccontextmanager
async def watching(admin: ScriptedAdmin) -> AsyncIterator[Monitor]:
    """Run a monitor, and wait until it has listed all groups and has read each group once."""
    monitor = Monitor(admin, FAST)
    task = asyncio.create_task(monitor.run())
    try:
        await until(monitor, lambda: 0 < monitor.snapshot.swept == len(monitor.snapshot.groups))
        yield monitor
    finally:
        task.cancel()
        await asyncio.wait([task])


async def events(monitor: Monitor, *texts: str) -> None:
    """Wait until the event log of the monitor has an event with each of these texts."""
    await until(monitor, lambda: set(texts) <= {event.text for event in monitor.events.kept()})


async def test_creation_changes_and_deletion_of_a_group_each_cause_an_event() -> None:
    admin = ScriptedAdmin()
    admin.add("other")
    async with watching(admin) as monitor:
        assert monitor.events.kept() == ()
        admin.add("orders", "consumer", members=(member("m-1"),))
        await events(monitor, "group appeared: consumer, Stable, broker 1", "client at /127.0.0.1 joined")
        admin.add("orders", "consumer", state="Empty")
        await events(monitor, "state Stable → Empty", "client at /127.0.0.1 left")
        del admin.groups["orders"], admin.descriptions["orders"]
        await events(monitor, "group deleted or expired; was Empty")
        found = [event.kind for event in monitor.events.kept() if event.group == "orders"]
        assert found[:2] == [EventKind.APPEARED, EventKind.JOINED]
        assert found[-1] is EventKind.DISAPPEARED
        assert sorted(found[2:-1]) == [EventKind.LEFT, EventKind.STATE]
        assert tuple(monitor.snapshot.events) == monitor.events.kept()


async def test_rewound_offsets_and_changed_configs_of_the_selected_group_are_reported() -> None:
    admin = ScriptedAdmin()
    admin.add("orders", "consumer", members=(member("m-1"),), lag=5)
    admin.configs["orders"] = (GroupConfig("consumer.session.timeout.ms", "45000", "DEFAULT_CONFIG"),)
    async with watching(admin) as monitor:
        monitor.set_view("orders")
        monitor.want_configs("orders")
        await until(monitor, lambda: "orders" in monitor.snapshot.configs and "orders" in monitor.snapshot.offsets)
        admin.commits["orders"] = (CommittedOffset("t-orders", 0, 400),)
        admin.configs["orders"] = (GroupConfig("consumer.session.timeout.ms", "60000", "DYNAMIC_GROUP_CONFIG"),)
        await events(
            monitor, "offset of t-orders-0 went back: 1,000 → 400", "consumer.session.timeout.ms: 45000 → 60000"
        )


async def test_the_monitor_reports_when_a_broker_stops_responding_and_responds_again() -> None:
    admin = ScriptedAdmin()
    admin.add("orders", coordinator=2)
    async with watching(admin) as monitor:
        admin.broken[2] = ClientError("connection refused", broker=2)
        await events(monitor, "broker 2 (127.0.0.1:9093) does not answer: connection refused")
        del admin.broken[2]
        await events(monitor, "broker 2 (127.0.0.1:9093) answers again")
        assert [event.broker for event in monitor.events.kept()] == [2, 2]


async def test_a_replay_causes_no_events() -> None:
    """In a replay, two reads can differ because the user has moved to a different time in the recording."""
    admin = ScriptedAdmin()
    monitor = Monitor(admin, FAST, recorded_at=lambda: 1.0)
    task = asyncio.create_task(monitor.run())
    admin.add("orders")
    await until(monitor, lambda: "orders" in monitor.snapshot.groups)
    admin.add("billing")
    await until(monitor, lambda: "billing" in monitor.snapshot.groups)
    task.cancel()
    await asyncio.wait([task])
    assert (monitor.events.kept(), monitor.snapshot.events) == ((), ())


def description(*names: str) -> GroupDescription:
    """Return a description of the group `g`. `names` are the ids of its members."""
    return GroupDescription("g", "consumer", "consumer", "Stable", 1, members=tuple(map(member, names)))


def test_a_group_list_older_than_the_description_causes_no_event() -> None:
    """The list shows the state Empty, but it is older than the description, which contains a member.

    A newer list with the state Empty does cause an event: the member has left.
    """
    log = EventLog(10)
    tracker = EventTracker(log, 10)
    tracker.described(description("m-1"), STABLE, 5.0, in_full=False)
    tracker.listed_without_members("g", EMPTY, 4.0, 6.0)
    assert log.kept() == ()
    tracker.listed_without_members("g", EMPTY, 5.5, 6.0)
    assert [event.kind for event in log.kept()] == [EventKind.LEFT]


def test_members_of_groups_read_at_every_poll_are_dropped_last() -> None:
    """To notice which members join or leave, kgtui stores the members of groups, up to a limit (here, 4).

    The limit applies to the total number of stored groups, members and owned partitions. If it is exceeded, members of
    groups that kgtui reads at every poll (`in_full`) are dropped last.
    """
    log = EventLog(10)
    tracker = EventTracker(log, 4)
    for number in range(5):
        first = replace(description("m-1"), group=f"g{number}")
        tracker.described(first, STABLE, 1.0, in_full=False)
    for number in range(5):
        tracker.described(replace(description("m-2"), group=f"g{number}"), STABLE, 2.0, in_full=False)
    assert {event.group for event in log.kept()} == {"g0", "g1"}, "each group counts as two: the group and its member"
    tracker.described(replace(description("m-2"), group="g4"), STABLE, 3.0, in_full=True)
    tracker.described(replace(description("m-3"), group="g4"), STABLE, 4.0, in_full=True)
    assert log.kept()[-1].group == "g4"


def test_lowering_the_member_limit_drops_stored_members_beyond_it() -> None:
    """To notice who joins or leaves, kgtui stores the members of groups, up to a limit.

    It lowers this limit if a cluster turns out to be large.
    """
    tracker = EventTracker(log := EventLog(10), 20)
    for number in range(5):
        tracker.described(replace(description("m-1"), group=f"g{number}"), STABLE, 1.0, in_full=False)
    tracker.members = 4
    tracker.described(replace(description("m-1"), group="g4"), STABLE, 2.0, in_full=True)
    for number in range(5):
        tracker.described(replace(description("m-2"), group=f"g{number}"), STABLE, 3.0, in_full=False)
    assert {event.group for event in log.kept()} == {"g3", "g4"}


async def test_event_log_keeps_only_the_newest_10_000_events(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The log keeps 10,000 events. Removing 100,000 groups creates only 10,000 `Event` objects."""
    groups = {f"group-{number:06}": STABLE for number in range(100_000)}
    log = EventLog(10_000)
    store = Store(10, time.time, EventTracker(log, EVENT_MEMBERS))
    await store.take_list(1, ListingDelta(groups, (), len(groups)), first=True)
    assert log.total == 0
    await store.take_list(1, ListingDelta(dict.fromkeys(groups, EMPTY), (), len(groups)), first=False)
    assert (log.total, len(log.kept())) == (100_000, 10_000)
    created: list[str] = []

    def counted(group: str, at: float, last: Listing) -> Event:
        created.append(group)
        return disappeared(group, at, last)

    monkeypatch.setattr("kgtui.model.event.disappeared", counted)
    store.drop(1, groups)
    assert (log.total, len(log.kept()), len(created)) == (200_000, 10_000, 10_000)
    assert {event.kind for event in log.kept()} == {EventKind.DISAPPEARED}


def judged(store: Store, tracker: EventTracker, judgment: Judgment | None) -> list[str]:
    """Store a judgment (status and problem) on the group `g`, and log an event if the verdict on the group changed.

    Return the texts of all events.
    """
    store.put_screened("g", judgment)
    tracker.compare_verdicts(store.snapshot())
    return [event.text for event in tracker.log.kept()]


async def test_a_changed_verdict_causes_an_event_with_the_reason() -> None:
    """If a group cannot be read, or was read only once, its previous verdict remains, and there is no event."""
    tracker = EventTracker(EventLog(10), 0)
    store = Store(10, time.time, tracker)
    await store.take_list(1, ListingDelta({"g": STABLE}, (), 1), first=True)
    store.store_summary("g", replace(summary(lag=5), screened=True))
    stopped = Judgment(GroupStatus.ERR, Problem.STOP, Basis.SCREENED, since_seen=True, message="no progress, 5 unread")
    assert judged(store, tracker, READ_ONCE) == []
    expected = ["verdict OK → stopped: no progress, 5 unread"]
    assert judged(store, tracker, stopped) == expected
    assert judged(store, tracker, replace(stopped, message="no progress, 6 unread")) == expected
    store.put_fault("g", Fault("NO_ANSWER", "no answer"))
    assert judged(store, tracker, None) == expected
    store.clear_fault("g")
    assert judged(store, tracker, READ_ONCE) == expected
    behind = Judgment(GroupStatus.WARN, Problem.BEHIND, Basis.SCREENED, message="the lag grew")
    expected.append("verdict stopped → falling behind: the lag grew")
    assert judged(store, tracker, behind) == expected
    expected.append("verdict falling behind → OK")
    assert judged(store, tracker, None) == expected
    expected.append("verdict stopped: no progress, 5 unread")
    assert judged(store, tracker, replace(stopped, since_seen=False)) == expected, (
        "the group may have stopped before kgtui read it"
    )


async def test_more_lost_records_do_not_change_the_start_time_of_the_problem() -> None:
    """The start time is the time at which kgtui first found lost records.

    It changes only if the problem ends and kgtui finds lost records again.
    """
    now = 100.0
    tracker = EventTracker(EventLog(10), 0)
    store = Store(10, lambda: now, tracker)
    await store.take_list(1, ListingDelta({"g": STABLE}, (), 1), first=True)
    store.store_summary("g", replace(summary(lag=5), screened=True))
    lost = Judgment(GroupStatus.ERR, Problem.DATA_LOST, Basis.SCREENED, message="5 records expired")
    since = []
    for now in (100.0, 160.0, 220.0):
        judged(store, tracker, replace(lost, message=f"{now:.0f} records expired"))
        since.append(store.snapshot().judgment("g").since)
    assert since == [100.0] * 3
    judged(store, tracker, None)
    now = 280.0
    judged(store, tracker, lost)
    assert store.snapshot().judgment("g").since_text(str) == "since before 280.0"


async def test_problem_of_an_unreadable_group_began_after_its_last_successful_read() -> None:
    tracker = EventTracker(EventLog(10), 0)
    store = Store(10, time.time, tracker)
    await store.take_list(1, ListingDelta({"g": STABLE}, (), 1), first=True)
    store.store_summary("g", replace(summary(lag=5), lag_at=70.0, screened=True))
    store.put_fault("g", Fault("NO_ANSWER", "no answer"))
    assert store.snapshot().judgment("g").since_text(str) == "since after 70.0"


@pytest.mark.parametrize("problem", [Problem.EMPTY, Problem.UNUSED, Problem.ABANDONED])
async def test_group_that_was_empty_when_kgtui_started_causes_no_event(problem: Problem) -> None:
    """The problems EMPTY, UNUSED and ABANDONED cause no event if the group was already Empty when kgtui started.

    A different problem that begins later does cause an event.
    """
    tracker = EventTracker(EventLog(10), 0)
    store = Store(10, time.time, tracker)
    await store.take_list(1, ListingDelta({"g": EMPTY}, (), 1), first=True)
    store.store_summary("g", replace(summary(lag=5), screened=True))
    without_members = Judgment(GroupStatus.WARN, problem, Basis.SCREENED, message="5 unread")
    assert judged(store, tracker, replace(without_members, kind=Problem.EMPTY)) == []
    assert judged(store, tracker, without_members) == [], "a later search has found how old the unread records are"
    behind = Judgment(GroupStatus.WARN, Problem.BEHIND, Basis.SCREENED, message="the lag grew")
    assert judged(store, tracker, behind) == [f"verdict {problem.value} → falling behind: the lag grew"]


async def test_one_call_compares_the_verdicts_of_at_most_500_groups() -> None:
    """`compare_verdicts` logs an event for each changed verdict.

    In the test, 1,200 verdicts have changed. Comparing all 1,200 in one call would delay the reaction to key presses.
    """
    tracker = EventTracker(EventLog(2_000), 0)
    store = Store(10, time.time, tracker)
    groups = [f"g-{number}" for number in range(1_200)]
    await store.take_list(1, ListingDelta(dict.fromkeys(groups, STABLE), (), len(groups)), first=True)
    for group in groups:
        store.put_screened(group, Judgment(GroupStatus.ERR, Problem.STOP, Basis.SCREENED))
    counts = []
    for _ in range(4):
        tracker.compare_verdicts(store.snapshot())
        counts.append(len(tracker.log.kept()))
    assert counts == [500, 1_000, 1_200, 1_200]
