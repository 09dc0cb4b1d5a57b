"""Tests that `Monitor` reads a cluster in several loops, continues after partial failures, and can be paused."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

import pytest

from kgtui.errors import DeadlineError, UnreachableError
from kgtui.model import facts
from kgtui.model.answer import Answer, Coverage, Fault
from kgtui.model.event import EventKind
from kgtui.model.judgment import Problem
from kgtui.model.offsets import LagTotal, PartitionBounds
from kgtui.monitor import Monitor, MonitorOptions, list_tier, missing_groups
from kgtui.monitor import monitor as module
from kgtui.monitor.gc_tuning import GcTuning
from kgtui.monitor.policy import metadata_pause
from tests.event_loop import counting_waits, longer_if_busy
from tests.scripted import ScriptedAdmin, ScriptedFeed, member

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Mapping

    from kgtui.admin.base import GroupAdmin, ListingDelta
    from kgtui.model.cluster import ClusterInfo
    from kgtui.model.group import GroupDescription
    from kgtui.model.offsets import CommittedOffset
    from kgtui.model.snapshot import Snapshot

FAST = MonitorOptions(
    interval=0.5,
    timeout=2.0,
    publish_interval=0.0,
    sweep_pause=0.05,
    sweep_rate=100_000.0,
    metadata_interval=0.05,
    describe_pause=0.05,
)


@asynccontextmanager
async def watching(admin: GroupAdmin, options: MonitorOptions = FAST) -> AsyncIterator[Monitor]:
    """Run a monitor until the `async with` block ends; yield the monitor."""
    monitor = Monitor(admin, options)
    task = asyncio.create_task(monitor.run())
    try:
        yield monitor
    finally:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def until(monitor: Monitor, holds: Callable[[Snapshot], object]) -> Snapshot:
    """Return the first snapshot for which `holds` returns true. The test fails if there is none within 60 s."""
    found: asyncio.Future[Snapshot] = asyncio.get_running_loop().create_future()

    def check(snapshot: Snapshot) -> None:
        if not found.done() and holds(snapshot):
            found.set_result(snapshot)

    stop = monitor.subscribe(check)
    check(monitor.snapshot)
    try:
        async with asyncio.timeout(60):
            return await found
    finally:
        stop()


@pytest.fixture
def admin() -> ScriptedAdmin:
    return three_groups()


def three_groups() -> ScriptedAdmin:
    """Return a cluster with three brokers and three groups. Each broker is the coordinator of one group."""
    admin = ScriptedAdmin()
    admin.add("orders", "consumer", members=(member(topics=("t-orders",)),), lag=7)
    admin.add("billing", "classic", "connect", coordinator=2)
    admin.add("tasks", "share", coordinator=3, lag=4)
    return admin


async def test_garbage_is_collected_only_after_a_snapshot_was_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """A garbage collection before the snapshot is drawn would delay the drawing."""
    monkeypatch.setattr(module, "_FIRST_DRAW", 0.0)
    events: list[str] = []
    tidied = asyncio.Event()

    def tidy(tuning: GcTuning, now: float, last_view: float) -> None:
        events.append("tidied")
        tidied.set()

    monkeypatch.setattr(GcTuning, "tidy", tidy)

    def show(snapshot: Snapshot) -> None:
        asyncio.get_running_loop().call_soon(events.append, "after the frame")

    admin = ScriptedAdmin()
    admin.add("g")
    async with watching(admin) as monitor, asyncio.timeout(60):
        monitor.subscribe(show)
        await tidied.wait()
    assert events[events.index("tidied") - 1] == "after the frame"


async def test_the_first_snapshot_is_published_as_soon_as_all_groups_are_listed(admin: ScriptedAdmin) -> None:
    """When every broker has sent its first list, the monitor publishes without waiting for `publish_interval`."""
    async with watching(admin, replace(FAST, publish_interval=3_600.0)) as monitor:
        snapshot = await until(monitor, lambda s: s.brokers)
    assert snapshot.groups.keys() == {"orders", "billing", "tasks"}


async def test_every_group_is_listed_and_then_read_in_the_background(admin: ScriptedAdmin) -> None:
    async with watching(admin) as monitor:
        snapshot = await until(monitor, lambda s: s.swept == 3)
    assert {group: row.type for group, row in snapshot.groups.items()} == {
        "orders": "consumer",
        "billing": "classic",
        "tasks": "share",
    }
    assert snapshot.summaries["orders"].lag == 7
    assert snapshot.summaries["orders"].topics == ("t-orders",)
    assert snapshot.summaries["billing"].lag is None
    assert snapshot.summaries["tasks"].lag == 4
    assert snapshot.answering == 3


async def test_selected_and_visible_groups_are_read_immediately(admin: ScriptedAdmin) -> None:
    slow = MonitorOptions(interval=300.0, publish_interval=0.0, sweep_pause=300.0, sweep_rate=100_000.0)
    async with watching(admin, slow) as monitor:
        await until(monitor, lambda s: s.swept == 3)
        monitor.set_view("orders", ["tasks"])
        snapshot = await until(monitor, lambda s: {"orders", "tasks"} <= s.offsets.keys())
    assert snapshot.details["orders"].value.member_count == 1
    assert snapshot.offsets["tasks"].value.share[0].lag == 4
    series = monitor.series.get("orders")
    assert series is not None
    assert list(series.lag) == [7.0]


async def test_an_empty_group_is_read_in_the_background_without_being_described(admin: ScriptedAdmin) -> None:
    admin.add("left", "consumer", state="Empty", lag=3)
    async with watching(admin) as monitor:
        snapshot = await until(monitor, lambda s: s.swept == 4)
    assert (snapshot.summaries["left"].members, snapshot.summaries["left"].lag) == (0, 3)
    assert not any("left" in groups for call, groups in admin.calls if call == "describe_groups")


async def test_groups_that_scroll_past_while_a_key_is_held_are_not_read(admin: ScriptedAdmin) -> None:
    slow = replace(FAST, interval=300.0, sweep_pause=300.0, sweep_batch=1, sweep_rate=0.001, settle_time=0.3)
    async with watching(admin, slow) as monitor:
        await until(monitor, lambda s: len(s.groups) == 3)
        for group in ("billing", "tasks", "orders"):
            monitor.set_view(group)
            await asyncio.sleep(0)
        snapshot = await until(monitor, lambda s: "orders" in s.details)
    assert set(snapshot.details) == {"orders"}


async def test_scrolling_reads_only_groups_that_have_become_visible(admin: ScriptedAdmin) -> None:
    slow = replace(FAST, interval=300.0, sweep_pause=300.0, sweep_batch=1, sweep_rate=0.001)
    async with watching(admin, slow) as monitor:
        await until(monitor, lambda s: len(s.groups) == 3)
        monitor.set_view(None, ["orders"])
        first = await until(monitor, lambda s: "orders" in s.offsets)
        monitor.set_view(None, ["orders", "tasks"])
        second = await until(monitor, lambda s: "tasks" in s.offsets)
        assert second.details["orders"] is first.details["orders"]
        monitor.refresh()
        await until(monitor, lambda s: s.details["orders"] is not first.details["orders"])


async def test_a_silent_broker_affects_only_reads_of_its_own_groups(admin: ScriptedAdmin) -> None:
    async with watching(admin) as monitor:
        await until(monitor, lambda s: s.swept == 3)
        admin.broken[2] = DeadlineError("no answer within 2 s", broker=2)
        admin.add("orders", "consumer", state="Empty")
        snapshot = await until(monitor, lambda s: s.brokers[2].fault and s.groups["orders"].state == "Empty")
        assert snapshot.brokers[2].failures >= 1
        assert "billing" in snapshot.groups
        assert snapshot.answering == 2
        admin.broken.clear()
        monitor.refresh()
        await until(monitor, lambda s: s.answering == 3)


@pytest.fixture
def silent_admin(admin: ScriptedAdmin, monkeypatch: pytest.MonkeyPatch) -> ScriptedAdmin:
    """Return a cluster in which broker 2 lists its groups, but never answers requests to describe groups."""
    describe = admin.describe_groups

    async def describe_groups(
        groups: Iterable[str], *, timeout: float = 30.0
    ) -> Answer[Mapping[str, GroupDescription]]:
        asked = list(groups)
        if any(admin.groups[group].coordinator == 2 for group in asked):
            await asyncio.Event().wait()
        return await describe(asked, timeout=timeout)

    monkeypatch.setattr(admin, "describe_groups", describe_groups)
    return admin


async def test_a_silent_coordinator_does_not_delay_reads_of_other_visible_groups(silent_admin: ScriptedAdmin) -> None:
    async with watching(silent_admin, replace(FAST, sweep_pause=300.0, sweep_batch=1, sweep_rate=0.001)) as monitor:
        monitor.set_view("billing", ["billing", "tasks"])
        snapshot = await until(monitor, lambda s: "tasks" in s.details)
        monitor.set_view("orders", ["billing", "tasks"])
        await until(monitor, lambda s: "orders" in s.details)
        await until(monitor, lambda s: s.details["tasks"].at > snapshot.details["tasks"].at)
    assert "billing" not in monitor.snapshot.details


async def test_a_silent_coordinator_does_not_delay_background_reads_of_other_groups(
    silent_admin: ScriptedAdmin,
) -> None:
    async with watching(silent_admin) as monitor:
        first = (await until(monitor, lambda s: s.swept == 2)).summaries["orders"].at
        await until(monitor, lambda s: s.summaries["orders"].at > first)


async def test_background_reads_of_a_few_groups_are_repeated_after_a_short_pause(admin: ScriptedAdmin) -> None:
    """The pause is 0.05 s (`sweep_pause`), so three more reads of all three groups take less than 4 s."""

    def read_after(at: float | None) -> Callable[[Snapshot], bool]:
        return lambda snapshot: (snapshot.summaries["orders"].lag_at or 0.0) > (at or 0.0)

    async with watching(admin) as monitor:
        await until(monitor, lambda s: s.swept == 3)
        async with counting_waits() as waited:
            for _ in range(3):
                await until(monitor, read_after(monitor.snapshot.summaries["orders"].lag_at))
            assert waited() < 4


async def test_a_description_is_published_before_log_offsets_are_read(
    admin: ScriptedAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def partition_bounds(partitions: object, *, starts: bool = True, timeout: float = 30.0) -> NoReturn:
        await asyncio.Event().wait()
        raise AssertionError

    monkeypatch.setattr(admin, "partition_bounds", partition_bounds)
    async with watching(admin) as monitor:
        monitor.set_view("orders")
        snapshot = await until(monitor, lambda s: "orders" in s.details)
    assert "orders" not in snapshot.offsets


async def test_a_forbidden_group_does_not_affect_reads_of_other_groups(admin: ScriptedAdmin) -> None:
    admin.broken["orders"] = Fault("GROUP_AUTHORIZATION_FAILED", "Group authorization failed.", 30, group="orders")
    async with watching(admin) as monitor:
        snapshot = await until(monitor, lambda s: s.swept == 2 and s.group_faults)
    assert snapshot.group_faults["orders"].code == 30
    assert snapshot.summaries["tasks"].lag == 4


async def test_a_deleted_group_disappears_with_the_next_group_list(admin: ScriptedAdmin) -> None:
    async with watching(admin) as monitor:
        await until(monitor, lambda s: s.swept == 3)
        monitor.set_view("orders")
        del admin.groups["orders"], admin.descriptions["orders"]
        snapshot = await until(monitor, lambda s: "orders" not in s.groups)
    assert "orders" not in snapshot.details


async def test_the_method_forget_removes_a_group_before_the_next_list(admin: ScriptedAdmin) -> None:
    async with watching(admin) as monitor:
        await until(monitor, lambda s: s.swept == 3)
        monitor.pause()
        before = set(monitor.snapshot.groups)
        monitor.forget(["orders", "never-heard-of"])
        snapshot = await until(monitor, lambda s: set(s.groups) != before)
    assert set(snapshot.groups) == before - {"orders"}
    assert "orders" not in snapshot.summaries


@longer_if_busy(module._LIST_DELAY)
async def test_group_lists_that_arrive_together_cause_one_snapshot(
    monkeypatch: pytest.MonkeyPatch, timeout: float
) -> None:
    """After a list, the monitor waits up to `timeout` seconds for the lists of other brokers."""
    admin = three_groups()
    poll = ScriptedFeed.poll

    async def late(self: ScriptedFeed, *, timeout: float = 30.0) -> ListingDelta:
        delta = await poll(self, timeout=timeout)
        await asyncio.sleep(0.01 * self.broker)
        return delta

    group_counts: list[int] = []
    with monkeypatch.context() as patch:
        patch.setattr(module, "_LIST_DELAY", timeout)
        patch.setattr(ScriptedFeed, "poll", late)
        async with watching(admin, replace(FAST, sweep_pause=3_600.0, metadata_interval=3_600.0)) as monitor:
            await until(monitor, lambda s: s.swept == 3)
            monitor.subscribe(lambda snapshot: group_counts.append(len(snapshot.groups)))
            for broker in (1, 2, 3):
                admin.add(f"new-{broker}", "consumer", coordinator=broker)
            await until(monitor, lambda s: len(s.groups) == 6)
    assert set(group_counts) <= {3, 6}


async def test_groups_of_a_removed_broker_disappear_if_no_other_broker_lists_them(
    admin: ScriptedAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_tier, "SHOWN_AFTER_LEAVING", 0.0)
    async with watching(admin) as monitor:
        await until(monitor, lambda s: s.swept == 3)
        del admin.brokers[2], admin.groups["billing"]
        await until(monitor, lambda s: "billing" not in s.groups)
        await until(monitor, lambda s: set(s.brokers) == {1, 3})


async def test_a_broker_that_left_the_cluster_counts_as_failed_for_some_time(
    admin: ScriptedAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A crashed broker loses its registration after some seconds.

    Even after that, the UI must not say that all brokers respond.
    """
    monkeypatch.setattr(list_tier, "SHOWN_AFTER_LEAVING", 60.0)
    async with watching(admin) as monitor:
        await until(monitor, lambda s: s.answering == 3)
        away = admin.brokers.pop(2)
        snapshot = await until(monitor, lambda s: s.answering == 2)
        assert set(snapshot.brokers) == {1, 2, 3}
        fault = snapshot.brokers[2].fault
        assert fault is not None
        assert (fault.name, fault.message) == ("UNREGISTERED", "the broker is no longer registered in the cluster")
        admin.brokers[2] = away
        await until(monitor, lambda s: s.answering == 3)
        admin.brokers.pop(2)
        del admin.groups["billing"]
        monkeypatch.setattr(list_tier, "SHOWN_AFTER_LEAVING", 0.5)
        await until(monitor, lambda s: set(s.brokers) == {1, 3})


async def test_a_group_that_moves_to_a_different_broker_never_disappears(
    admin: ScriptedAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_tier, "SHOWN_AFTER_LEAVING", 0.0)
    async with watching(admin) as monitor:
        await until(monitor, lambda s: s.swept == 3)
        always_there = True

        def check(snapshot: Snapshot) -> None:
            nonlocal always_there
            always_there = always_there and "billing" in snapshot.groups

        monitor.subscribe(check)
        del admin.brokers[2]
        admin.add("billing", "classic", "connect", coordinator=3)
        await until(monitor, lambda s: set(s.brokers) == {1, 3})
    assert always_there


async def test_a_group_that_no_broker_lists_is_kept_until_its_coordinator_answers(
    admin: ScriptedAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a broker has died, no list contains its groups until the new coordinator has loaded the groups."""
    monkeypatch.setattr(missing_groups, "MISSING_CHECK_PAUSE", 0.01)
    admin.add("simple", "classic", "", "Empty", coordinator=2, lag=5)
    async with watching(admin) as monitor:
        before = await until(monitor, lambda s: s.judgment("simple").kind is Problem.EMPTY)
        row = admin.groups.pop("simple")
        admin.broken["simple"] = Fault("COORDINATOR_NOT_AVAILABLE", "no coordinator", 15, group="simple")
        del admin.brokers[2], admin.groups["billing"]
        await until(monitor, lambda s: "billing" not in s.groups)
        assert ["billing", "simple"] in [sorted(groups) for call, groups in admin.calls if call == "describe_groups"]
        del admin.broken["simple"]
        admin.groups["simple"] = replace(row, coordinator=3)
        after = await until(monitor, lambda s: s.groups["simple"].coordinator == 3)
        after = await until(monitor, lambda s: s.judgment("simple").kind is Problem.EMPTY)
    assert "simple" not in after.state_since
    assert facts.first_seen(after, "simple") == facts.first_seen(before, "simple")
    found = [(event.kind, event.group) for event in after.events if event.group in ("billing", "simple")]
    assert found == [(EventKind.DISAPPEARED, "billing"), (EventKind.COORDINATOR, "simple")]


async def test_groups_that_a_restarted_broker_does_not_list_are_removed(
    admin: ScriptedAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_tier, "REMOVAL_GRACE", 0.0)
    async with watching(admin) as monitor:
        await until(monitor, lambda s: s.swept == 3)
        admin.broken[1] = DeadlineError("no answer within 2 s", broker=1)
        away = admin.brokers.pop(2)
        last_cluster = monitor.snapshot.cluster
        await until(monitor, lambda s: s.cluster is not last_cluster and 2 not in s.cluster.brokers)
        del admin.groups["billing"]
        admin.brokers[2] = away
        await until(monitor, lambda s: "billing" not in s.groups)
    assert 2 in monitor.snapshot.brokers


async def test_an_unreachable_cluster_is_reported_and_contacted_again(
    admin: ScriptedAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    reachable = admin.cluster
    down = True

    async def cluster(*, timeout: float = 30.0) -> ClusterInfo:
        if down:
            attempts = (("localhost:9092", "connection refused"), ("localhost:9093", "login refused"))
            raise UnreachableError("no broker could be reached: login refused", attempts)
        return await reachable(timeout=timeout)

    monkeypatch.setattr(admin, "cluster", cluster)
    async with watching(admin) as monitor:
        snapshot = await until(monitor, lambda s: s.faults)
        assert snapshot.faults[0].name == "UNREACHABLE"
        assert snapshot.faults[0].message == (
            "no broker could be reached: login refused\nlocalhost:9092: connection refused"
        )
        down = False
        monitor.refresh()
        snapshot = await until(monitor, lambda s: len(s.groups) == 3)
    assert snapshot.faults == ()


async def test_a_paused_monitor_reads_groups_when_the_user_requests_a_refresh(admin: ScriptedAdmin) -> None:
    async with watching(admin) as monitor:
        await until(monitor, lambda s: s.swept == 3)
        monitor.pause()
        assert monitor.paused
        admin.add("late", "consumer")
        asked = asyncio.Event()
        poll = monitor.subscribe(lambda _: asked.set())
        monitor.refresh()
        await until(monitor, lambda s: "late" in s.groups)
        poll()
        monitor.resume()
        assert not monitor.paused


async def test_the_polling_interval_cannot_be_set_beyond_its_limits(admin: ScriptedAdmin) -> None:
    monitor = Monitor(admin)
    monitor.set_interval(0.0)
    assert monitor.interval == 0.5
    monitor.set_interval(1e9)
    assert monitor.interval == 300.0


async def test_an_unexpected_exception_in_a_poll_loop_ends_the_monitor(
    admin: ScriptedAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the other loops continued, the groups of one broker would never be updated again, and nobody would notice."""

    async def fail(feed: ScriptedFeed, *, timeout: float = 30.0) -> ListingDelta:
        raise ZeroDivisionError

    monkeypatch.setattr(ScriptedFeed, "poll", fail)
    with pytest.raises(ExceptionGroup) as raised:
        async with asyncio.timeout(60):
            await Monitor(admin, FAST).run()
    assert raised.group_contains(ZeroDivisionError)


async def test_a_broker_that_responds_again_is_noticed_within_ten_seconds(admin: ScriptedAdmin) -> None:
    """The pauses between polls of a failed broker are below 10 s, so that kgtui soon shows its next response."""
    async with watching(admin, MonitorOptions()) as monitor:
        pauses = [monitor._lists._pause(1, 0.0, failures) for failures in range(1, 50)]
    assert max(pauses) < 10
    assert pauses[4] > pauses[0]


class MovingCoordinator(ScriptedAdmin):
    """A cluster in which every request for offsets returns NOT_COORDINATOR while `moves` is True."""

    moves = False

    async def committed_offsets(
        self, groups: Iterable[str], *, timeout: float = 30.0
    ) -> Answer[Mapping[str, tuple[CommittedOffset, ...]]]:
        asked = list(groups)
        if self.moves:
            faults = tuple(Fault("NOT_COORDINATOR", "This is not the coordinator.", 16, group=group) for group in asked)
            return Answer({}, faults, Coverage(groups=(0, len(asked))))
        return await super().committed_offsets(asked, timeout=timeout)


@pytest.mark.parametrize("selected", [None, "orders"])
async def test_the_last_lag_and_its_time_are_kept_while_the_coordinator_moves(selected: str | None) -> None:
    admin = MovingCoordinator()
    admin.add("orders", "consumer", members=(member(topics=("t-orders",)),), lag=7)
    async with watching(admin) as monitor:
        monitor.set_view(selected, ())
        await until(monitor, lambda s: "orders" in s.summaries and s.summaries["orders"].lag == 7)
        admin.moves = True
        snapshot = await until(
            monitor,
            lambda s: "orders" in s.group_faults and s.summaries["orders"].at > (s.summaries["orders"].lag_at or 1e12),
        )
        summary = snapshot.summaries["orders"]
        assert (summary.lag, summary.fault and summary.fault.name) == (7, "NOT_COORDINATOR")
        assert summary.lag_at is not None
        assert summary.lag_at < summary.at
        assert facts.lag_total(snapshot, "orders") == LagTotal(7, 0, 1)
        kept_at = facts.lag_read_at(snapshot, "orders")
        assert kept_at is not None
        assert kept_at < summary.at


async def test_lost_records_are_still_reported_while_offsets_cannot_be_read() -> None:
    admin = MovingCoordinator()
    admin.add("orders", "consumer", members=(member(topics=("t-orders",)),), lag=70)
    admin.bounds["t-orders", 0] = PartitionBounds(1_010, 1_070)

    def lost(snapshot: Snapshot) -> bool:
        judgment = snapshot.screened.get("orders")
        return judgment is not None and Problem.DATA_LOST in (judgment.kind, *judgment.others)

    async with watching(admin) as monitor:
        await until(monitor, lost)
        admin.moves = True
        failed = await until(monitor, lambda s: "orders" in s.group_faults)
        described = failed.summaries["orders"].at
        later = await until(monitor, lambda s: s.summaries["orders"].at > described)
    assert lost(later)


async def test_the_lag_of_a_group_is_unknown_if_its_offsets_were_never_read(admin: ScriptedAdmin) -> None:
    """A total lag over zero partitions would mean that the group has committed no offsets."""
    moving = MovingCoordinator(groups=admin.groups, descriptions=admin.descriptions)
    moving.moves = True
    async with watching(moving) as monitor:
        snapshot = await until(monitor, lambda s: "orders" in s.summaries)
    assert facts.lag_total(snapshot, "orders") is None


def test_metadata_is_read_more_often_after_a_broker_failed_or_left() -> None:
    """A restarted broker is polled again only when the metadata contains this broker."""
    options = MonitorOptions()
    assert metadata_pause(options, failures=0, left=0) == 30.0
    assert metadata_pause(options, failures=0, left=1) <= 5.0
    assert [metadata_pause(options, failures, left=0) for failures in (1, 2, 3, 4)] == [2.0, 4.0, 8.0, 8.0]


async def test_a_restarted_broker_is_polled_before_the_metadata_interval_has_passed(admin: ScriptedAdmin) -> None:
    options = replace(FAST, metadata_interval=3_600.0, failure_pause_max=0.2)
    async with watching(admin, options) as monitor:
        await until(monitor, lambda s: s.answering == 3)
        left = admin.brokers.pop(3)
        monitor._lists._wake.set()
        await until(monitor, lambda s: s.answering == 2)
        admin.brokers[3] = left
        await until(monitor, lambda s: s.answering == 3)
