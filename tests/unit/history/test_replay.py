"""Tests of `ReplayAdmin`, which returns the data of a recorded poll as a cluster would, and refuses all writes."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from kgtui.admin import connect
from kgtui.admin.deadline import Deadline
from kgtui.admin.groups_read import DESCRIBE
from kgtui.admin.reading import read_in_full
from kgtui.errors import ClientError
from kgtui.history import Recorder, RecorderOptions, RecordingReader, ReplayAdmin
from kgtui.history.changes import PollResult
from kgtui.model.answer import Fault
from kgtui.model.group import Listing
from kgtui.monitor import Monitor, MonitorOptions
from kgtui.simulator import ManualClock, Simulator
from tests.unit.history.recording_builder import START, RecordingBuilder
from tests.unit.history.test_recording_reader import STABLE, poll_of, write

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from kgtui.admin.base import GroupAdmin
    from kgtui.model.group import GroupDescription


async def until(condition: Callable[[], bool]) -> None:
    """Wait until `condition` is true. Raise TimeoutError after 60 s."""
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - the condition has no event that could be awaited
            await asyncio.sleep(0.01)


@asynccontextmanager
async def running_monitor(
    admin: GroupAdmin, recorded_at: Callable[[], float] | None = None, **options: Any
) -> AsyncIterator[Monitor]:
    """Run a monitor, which repeatedly reads the groups of `admin`, until the `async with` block ends.

    Args:
        admin: a cluster or a replay.
        recorded_at: function that returns the time of the poll that is replayed, in seconds since the Unix epoch; None
            for a cluster.
        options: attributes of `MonitorOptions`.
    """
    monitor = Monitor(admin, MonitorOptions(interval=0.5, **options), recorded_at=recorded_at)
    task = asyncio.create_task(monitor.run())
    try:
        yield monitor
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def by_member_id(description: GroupDescription) -> GroupDescription:
    """Return the description with its members sorted by id, as a replay returns them. Brokers do not sort members."""
    return replace(
        description, members=description.members and tuple(sorted(description.members, key=lambda m: m.member_id))
    )


async def test_a_replay_returns_the_same_values_as_the_recorded_cluster(tmp_path: Path) -> None:
    """The simulated cluster has groups of every type, some with invalid UTF-8 in their ids.

    The clock of the cluster stands still, so that the offsets do not change during the test.
    """
    async with (
        Simulator(seed=3, scenario="company", clock=ManualClock()) as cluster,
        connect(cluster.bootstrap.split(",")) as live,
    ):
        listed = await live.list_groups()
        groups = dict(listed.rows)
        async with running_monitor(live, sweep_rate=0.001) as monitor:
            recorder = Recorder(monitor, live, tmp_path / "lake", RecorderOptions(interval=0.2, flush=0.2))
            task = asyncio.create_task(recorder.run())
            await until(lambda: recorder.status.polls >= 2 or task.done())
            recorder.stop()
            await task
        timeline = await ReplayAdmin.open(RecordingReader(tmp_path / "lake"))
        assert (await timeline.list_groups()).rows == listed.rows
        reported, now = await timeline.cluster(), await live.cluster()
        assert (reported.cluster_id, reported.brokers, reported.features) == (now.cluster_id, now.brokers, now.features)
        recorded = await read_in_full(timeline, Deadline(30), groups)
        wanted = await read_in_full(live, Deadline(30), groups)
        assert len(groups) > 20
        assert {group: by_member_id(row) for group, row in wanted.descriptions.items()} == recorded.descriptions
        assert recorded.offsets_by_group() == wanted.offsets_by_group()
        assert recorded.group_faults(DESCRIBE).keys() == wanted.group_faults(DESCRIBE).keys()
        share = await timeline.list_groups(types=["Share"], states=["stable"])
        assert share.rows == (await live.list_groups(types=["share"], states=["Stable"])).rows
        assert share.rows


async def test_a_replay_refuses_to_delete_groups(tmp_path: Path) -> None:
    write(tmp_path, poll_of())
    admin = await ReplayAdmin.open(RecordingReader(tmp_path))
    (outcome,) = await admin.delete_groups(["pay"])
    assert not outcome.ok
    assert not outcome.uncertain
    assert outcome.fault is not None
    assert outcome.fault.name == "READ_ONLY"
    assert (await admin.list_groups()).rows


async def test_a_replay_returns_an_error_for_each_group_without_a_recorded_description(tmp_path: Path) -> None:
    write(tmp_path, PollResult({"new": STABLE}))
    admin = await ReplayAdmin.open(RecordingReader(tmp_path))
    answer = await admin.describe_groups(["new", "gone"])
    assert answer.rows == {}
    assert [(fault.group, fault.name, fault.code) for fault in answer.faults] == [
        ("new", "NOT_RECORDED", None),
        ("gone", "GROUP_ID_NOT_FOUND", 69),
    ]
    assert (await admin.group_configs(["new"])).faults[0].name == "NOT_SUPPORTED"


@pytest.mark.parametrize("scope", ["offsets", "broker", "cluster"])
@pytest.mark.parametrize("node", [1, None])
async def test_a_replay_returns_a_recorded_read_error_instead_of_earlier_offsets(
    tmp_path: Path, scope: str, node: int | None
) -> None:
    silent = Fault("NO_ANSWER", "no answer in 10 s", None, node)
    write(tmp_path, poll_of(), poll_of(faults=((scope, silent),)), poll_of())
    admin = await ReplayAdmin.open(RecordingReader(tmp_path))
    await admin.step(-1)
    offsets = await admin.committed_offsets(["pay"])
    assert (offsets.rows, offsets.faults) == ({}, (silent,))
    await admin.step(-1)
    assert list((await admin.committed_offsets(["pay"])).rows) == ["pay"]


async def test_a_replay_returns_the_recorded_errors_of_groups_and_brokers(tmp_path: Path) -> None:
    forbidden = Fault("GROUP_AUTHORIZATION_FAILED", "no", 30, 1, "pay", "ask for DESCRIBE")
    silent = Fault("NO_ANSWER", "no answer in 10 s", None, 2, None, "wait")  # Broker 1 coordinates both groups.
    write(tmp_path, poll_of(groups=("pay", "b"), faults=(("offsets", forbidden), ("broker", silent))))
    admin = await ReplayAdmin.open(RecordingReader(tmp_path))
    offsets = await admin.committed_offsets(["pay", "b"])
    assert list(offsets.rows) == ["b"]
    assert offsets.faults == (forbidden,)
    assert (await admin.list_groups()).faults == (silent,)
    feed = admin.listing_feed(2)
    with pytest.raises(ClientError) as raised:
        await feed.poll()
    assert (raised.value.fault_name, raised.value.broker, raised.value.advice) == ("NO_ANSWER", 2, "wait")


async def test_monitor_of_a_replay_shows_the_new_poll_after_each_step_or_seek(tmp_path: Path) -> None:
    """`step` moves a replay to the next recorded poll, and `seek` moves it to a given time.

    After each move, the monitor, which reads the replay repeatedly, must show the groups of the new poll.
    """
    empty = Listing("consumer", "consumer", "Empty", 2)
    write(tmp_path, poll_of(100), poll_of(120, groups=("pay", "new")), poll_of(140, listing=empty))
    admin = await ReplayAdmin.open(RecordingReader(tmp_path), START / 1000)
    async with running_monitor(admin, metadata_interval=0.1) as monitor:
        monitor.set_view("pay")
        await until(lambda: "pay" in monitor.snapshot.offsets and "pay" in monitor.snapshot.details)
        assert set(monitor.snapshot.groups) == {"pay"}
        assert monitor.snapshot.offsets["pay"].value.committed[0].offset == 100
        assert await admin.step() is not None
        monitor.refresh()
        await until(lambda: set(monitor.snapshot.groups) == {"pay", "new"})
        assert await admin.next_change("pay") == admin.recording.last
        monitor.refresh()
        await until(lambda: monitor.snapshot.state_of("pay") == "Empty" and "new" not in monitor.snapshot.groups)
        await until(lambda: monitor.snapshot.offsets["pay"].value.committed[0].offset == 140)
        assert await admin.step() is None
        await admin.seek(START / 1000)
        monitor.refresh()
        await until(lambda: monitor.snapshot.state_of("pay") == "Stable")


async def test_repeated_reads_of_the_same_replayed_poll_count_as_one_read(tmp_path: Path) -> None:
    """The monitor reads a replay again and again, and gets the same offsets until the replay moves to another poll.

    If each of these reads counted, the monitor would conclude that the group makes no progress.
    """
    write(tmp_path, poll_of(100, end=150), poll_of(120, end=170), poll_of(140, end=190))
    admin = await ReplayAdmin.open(RecordingReader(tmp_path), START / 1000)
    reads = []
    async with running_monitor(admin, lambda: admin.poll.at) as monitor:
        monitor.subscribe(
            lambda snapshot: reads.append(snapshot.offsets["pay"].at) if "pay" in snapshot.offsets else None
        )
        monitor.set_view("pay")
        await until(lambda: len(set(reads)) >= 3)
        assert not monitor.snapshot.health
        await admin.step()
        monitor.refresh()
        await until(lambda: bool(monitor.snapshot.health))
        found = monitor.snapshot.health["pay"]
    assert (found.reads, found.seconds, found.read_at) == (2, 10.0, START / 1000 + 10)
    assert found.lag is not None
    assert found.lag.lag == 50


async def test_replay_that_moved_to_another_poll_returns_only_changed_groups(tmp_path: Path) -> None:
    recording = RecordingBuilder(tmp_path)
    recording.poll(PollResult({"a": STABLE, "b": STABLE}), START)
    recording.poll(PollResult({"b": replace(STABLE, state="Empty"), "c": STABLE}), START + 1)
    recording.flush()
    admin = await ReplayAdmin.open(RecordingReader(tmp_path), START / 1000)
    feed = admin.listing_feed(1)
    assert set((await feed.poll()).updated) == {"a", "b"}
    assert not (await feed.poll()).updated
    await admin.seek(None)
    delta = await feed.poll()
    assert set(delta.updated) == {"b", "c"}
    assert set(delta.removed) == {"a"}
    assert delta.total == 2
