"""Tests that `Monitor` continues after partial failures, such as a broker that does not respond, leaves or restarts."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from kgtui.errors import DeadlineError, UnreachableError
from kgtui.model import facts
from kgtui.model.answer import Answer, Coverage, Fault
from kgtui.model.event import EventKind
from kgtui.model.offsets import LagTotal, PartitionBounds
from kgtui.model.problem import Problem
from kgtui.monitor import Monitor, MonitorOptions, list_tier, missing_groups
from kgtui.monitor.policy import metadata_pause
from tests.scripted import ScriptedAdmin, ScriptedFeed, member
from tests.unit.monitor.watching import FAST, three_groups, until, watching

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kgtui.admin.base import ListingDelta
    from kgtui.model.cluster import ClusterInfo
    from kgtui.model.group import GroupDescription
    from kgtui.model.offsets import CommittedOffset
    from kgtui.model.snapshot import Snapshot


@pytest.fixture
def admin() -> ScriptedAdmin:
    return three_groups()


async def test_a_broker_that_does_not_respond_affects_only_reads_of_its_own_groups(admin: ScriptedAdmin) -> None:
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
    """Return a cluster in which broker 2 lists its groups, but never responds to requests to describe groups."""
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


async def test_silent_coordinator_does_not_delay_visible_groups_on_other_brokers(
    silent_admin: ScriptedAdmin,
) -> None:
    async with watching(silent_admin, replace(FAST, sweep_pause=300.0, sweep_batch=1, sweep_rate=0.001)) as monitor:
        monitor.set_view("billing", ["billing", "tasks"])
        snapshot = await until(monitor, lambda s: "tasks" in s.details)
        monitor.set_view("orders", ["billing", "tasks"])
        await until(monitor, lambda s: "orders" in s.details)
        await until(monitor, lambda s: s.details["tasks"].at > snapshot.details["tasks"].at)
    assert "billing" not in monitor.snapshot.details


async def test_a_silent_coordinator_does_not_delay_background_reads_on_other_brokers(
    silent_admin: ScriptedAdmin,
) -> None:
    async with watching(silent_admin) as monitor:
        first = (await until(monitor, lambda s: s.swept == 2)).summaries["orders"].at
        await until(monitor, lambda s: s.summaries["orders"].at > first)


async def test_missing_permission_on_one_group_does_not_affect_reads_of_other_groups(admin: ScriptedAdmin) -> None:
    admin.broken["orders"] = Fault("GROUP_AUTHORIZATION_FAILED", "Group authorization failed.", 30, group="orders")
    async with watching(admin) as monitor:
        snapshot = await until(monitor, lambda s: s.swept == 2 and s.group_faults)
    assert snapshot.group_faults["orders"].code == 30
    assert snapshot.summaries["tasks"].lag == 4


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
    """A crashed broker soon disappears from the cluster metadata. kgtui still shows it as failed for some time."""
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


async def test_an_unlisted_group_is_kept_until_its_coordinator_responds(
    admin: ScriptedAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No broker lists the groups of a crashed broker until the new coordinators have loaded these groups."""
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


async def test_kgtui_reports_an_unreachable_cluster_and_connects_again(
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


async def test_an_unexpected_exception_in_a_poll_loop_ends_the_monitor(
    admin: ScriptedAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each broker has its own poll loop.

    If only the failed loop ended, kgtui would show outdated groups of that broker without a warning.
    """

    async def fail(feed: ScriptedFeed, *, timeout: float = 30.0) -> ListingDelta:
        raise ZeroDivisionError

    monkeypatch.setattr(ScriptedFeed, "poll", fail)
    with pytest.raises(ExceptionGroup) as raised:
        async with asyncio.timeout(60):
            await Monitor(admin, FAST).run()
    assert raised.group_contains(ZeroDivisionError)


async def test_a_broker_that_responds_again_is_noticed_within_ten_seconds(admin: ScriptedAdmin) -> None:
    """The pauses between two polls of a failed broker are shorter than 10 s."""
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
async def test_last_known_lag_is_kept_while_the_coordinator_changes(selected: str | None) -> None:
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
    """The total lag is None. A lag of 0 in zero partitions would mean that the group has committed no offsets."""
    moving = MovingCoordinator(groups=admin.groups, descriptions=admin.descriptions)
    moving.moves = True
    async with watching(moving) as monitor:
        snapshot = await until(monitor, lambda s: "orders" in s.summaries)
    assert facts.lag_total(snapshot, "orders") is None


def test_cluster_metadata_is_reread_sooner_after_failure_or_lost_broker() -> None:
    """kgtui does not poll a broker that has left until the cluster metadata contains this broker again."""
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
