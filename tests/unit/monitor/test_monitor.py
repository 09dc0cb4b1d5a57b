"""Tests of `Monitor`, which polls a cluster, reads its groups, and publishes snapshots."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, NoReturn

import pytest

from kgtui.monitor import Monitor, MonitorOptions
from kgtui.monitor import monitor as module
from kgtui.monitor.gc_tuning import GcTuning
from tests.event_loop import counting_waits, longer_if_busy
from tests.scripted import ScriptedAdmin, ScriptedFeed
from tests.unit.monitor.watching import FAST, three_groups, until, watching

if TYPE_CHECKING:
    from collections.abc import Callable

    from kgtui.admin.base import ListingDelta
    from kgtui.model.snapshot import Snapshot


@pytest.fixture
def admin() -> ScriptedAdmin:
    return three_groups()


async def test_garbage_is_collected_only_after_a_snapshot_was_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """If garbage were collected before the drawing, the user would see the snapshot later."""
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
    """When every broker has sent its first list, a snapshot is published at once, not only after `publish_interval`."""
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


async def test_only_the_last_of_several_quickly_selected_groups_is_read(admin: ScriptedAdmin) -> None:
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


async def test_background_reads_of_a_few_groups_are_repeated_after_a_short_pause(admin: ScriptedAdmin) -> None:
    """The pause is 0.05 s (`sweep_pause`). Reading all groups three more times must take less than 4 s."""

    def read_after(at: float | None) -> Callable[[Snapshot], bool]:
        return lambda snapshot: (snapshot.summaries["orders"].lag_at or 0.0) > (at or 0.0)

    async with watching(admin) as monitor:
        await until(monitor, lambda s: s.swept == 3)
        async with counting_waits() as waited:
            for _ in range(3):
                await until(monitor, read_after(monitor.snapshot.summaries["orders"].lag_at))
            assert waited() < 4


async def test_a_description_is_published_before_log_start_and_end_offsets_are_read(
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


async def test_a_deleted_group_disappears_with_the_next_group_list(admin: ScriptedAdmin) -> None:
    async with watching(admin) as monitor:
        await until(monitor, lambda s: s.swept == 3)
        monitor.set_view("orders")
        del admin.groups["orders"], admin.descriptions["orders"]
        snapshot = await until(monitor, lambda s: "orders" not in s.groups)
    assert "orders" not in snapshot.details


async def test_monitor_forget_removes_a_group_without_waiting_for_the_next_group_list(admin: ScriptedAdmin) -> None:
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
    """When the list of one broker has arrived, the monitor waits up to `timeout` seconds for the other lists.

    Then it publishes one snapshot with all changes.
    """
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
