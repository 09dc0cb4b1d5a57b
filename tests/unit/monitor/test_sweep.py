"""Tests of the sweep, which reads all groups in the background in batches, with pauses between the batches."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from kgtui.admin.base import ListingDelta
from kgtui.model.offsets import CommittedOffset
from kgtui.monitor.policy import QUIET_TIME
from kgtui.monitor.poll_timer import PollTimer
from kgtui.monitor.screening import Screening
from kgtui.monitor.store import Store
from kgtui.monitor.sweep import SweepTier
from tests.scripted import ScriptedAdmin
from tests.unit.monitor.watching import FAST, until, watching

if TYPE_CHECKING:
    from collections.abc import Sequence


async def test_a_batch_of_background_reads_has_limited_numbers_of_groups_and_partitions() -> None:
    """A batch has at most 25 groups and about 1,000 partitions.

    kgtui estimates the number of partitions per group: 50 at first, and then the average of the previous batch.
    """
    admin = ScriptedAdmin()
    for number in range(60):
        group = f"g-{number:02}"
        admin.add(group, "consumer")
        rows = range(100 if number < 20 else 2)
        admin.commits[group] = tuple(CommittedOffset("t", partition, 5) for partition in rows)
    async with watching(admin, replace(FAST, sweep_pause=300.0, sweep_batch=25, sweep_partitions=1_000)) as monitor:
        await until(monitor, lambda s: s.swept == 60)
    sizes = [len(ids) for method, ids in admin.calls if method == "committed_offsets"]
    assert sizes == [20, 10, 25, 5]


@pytest.mark.parametrize(
    ("seconds", "pauses"),
    [
        pytest.param((1.5, 0.25, 0.25), [-0.5, 0.25, 1.0], id="slow batch"),
        pytest.param((0.25, -3_600.0, 0.25), [0.75, 15.0, 15.0], id="clock set back"),
        pytest.param((0.25, 3_600.0, 0.25), [0.75, -3_598.25, -3_597.5], id="clock set forward"),
    ],
)
async def test_slow_batches_and_clock_changes_cause_no_long_pauses_between_batches(
    seconds: tuple[float, ...], pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a slow batch, the next pauses are shorter, until the background reads are on schedule again.

    A pause takes at most 15 s (`sweep_pause`). `seconds` contains the duration of each batch, and `pauses` the expected
    pauses after the batches, in seconds. A negative number means that there is no pause.
    """
    now = 1_000.0
    found: list[float] = []
    durations = iter(seconds)
    admin = ScriptedAdmin()
    for number in range(3):
        admin.add(f"g-{number}")
    store = Store(10, lambda: now)
    await store.take_list(1, ListingDelta(admin.groups, [], len(admin.groups), 1.0), first=True)
    timer = PollTimer(1.0, lambda: now)

    async def pause_for(pause: float) -> bool:
        found.append(pause)
        return False

    async def read(_groups: Sequence[str], _changed: set[str]) -> bool:
        nonlocal now
        now += next(durations)
        return True

    options = replace(FAST, sweep_batch=1, sweep_rate=1.0, sweep_pause=15.0, first_sweep_factor=1.0)
    tier = SweepTier(admin, store, Screening(store), options, timer, lambda: None, lambda: None)
    tier._sweeps[1] = asyncio.current_task()  # type: ignore[assignment]
    monkeypatch.setattr(timer, "pause_for", pause_for)
    monkeypatch.setattr(tier, "_read", read)
    await tier._read_round(1, ["g-0", "g-1", "g-2"], first=True, seconds=0.0)
    assert found == pauses


async def test_additional_reads_of_changed_groups_lengthen_the_next_pause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Groups whose state has changed are added to the next batch. They count toward the limit of groups per second."""
    admin, pauses = ScriptedAdmin(), []
    for number in range(6):
        admin.add(f"g-{number}")
    store = Store(10, lambda: 1_000.0)
    await store.take_list(1, ListingDelta(admin.groups, [], len(admin.groups), 1.0), first=True)
    timer, screening = PollTimer(1.0, lambda: 1_000.0), Screening(store)

    async def pause_for(pause: float) -> bool:
        pauses.append(pause)
        return False

    async def read(_groups: Sequence[str], _changed: set[str]) -> bool:
        return True

    options = replace(FAST, sweep_batch=2, sweep_rate=1.0, sweep_pause=15.0)
    tier = SweepTier(admin, store, screening, options, timer, lambda: None, lambda: None)
    tier._sweeps[1] = asyncio.current_task()  # type: ignore[assignment]
    monkeypatch.setattr(timer, "pause_for", pause_for)
    monkeypatch.setattr(tier, "_read", read)
    screening.changed["g-5"] = None
    await tier._read_round(1, ["g-0", "g-1", "g-2", "g-3"], first=False, seconds=0.0)
    assert pauses == [3.0, 5.0]


async def test_snapshot_is_published_when_all_groups_of_a_broker_were_read_once() -> None:
    """A snapshot is published after the first background read of all groups, but not after each later read."""
    admin = ScriptedAdmin()
    for number in range(5):
        admin.add(f"g-{number}", "consumer", lag=1)
    store = Store(10)
    await store.take_list(1, ListingDelta(admin.groups, [], len(admin.groups), 1.0), first=True)
    sizes: list[int] = []
    rounds = asyncio.Event()

    def changed() -> None:
        if sum(method == "committed_offsets" for method, _ in admin.calls) >= 9:
            rounds.set()

    options = replace(FAST, sweep_batch=2)
    tier = SweepTier(
        admin,
        store,
        Screening(store),
        options,
        PollTimer(1.0),
        changed,
        lambda: sizes.append(len(store.summaries)),
    )
    sweep = asyncio.create_task(tier.run())
    async with asyncio.timeout(60):
        await rounds.wait()
    sweep.cancel()
    assert sizes == [5]


@pytest.mark.parametrize(("groups", "batches_read"), [(3, 3), (3_000, 1)])
async def test_background_reads_of_many_groups_wait_while_the_user_presses_keys(
    groups: int, batches_read: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a small cluster, background reads do not wait, because they hardly delay the reaction to keys."""
    for name in ("QUIET_TIME", "QUIET_WAIT_MAX"):
        monkeypatch.setattr(f"kgtui.monitor.poll_timer.{name}", 60.0)
    admin, batches = ScriptedAdmin(), 0
    for number in range(groups):
        admin.add(f"g-{number}")
    store = Store(10)
    await store.take_list(1, ListingDelta(admin.groups, [], len(admin.groups), 1.0), first=True)
    timer = PollTimer(1.0)

    async def read(_groups: Sequence[str], _changed: set[str]) -> bool:
        nonlocal batches
        batches += 1
        timer.note_input()
        return True

    tier = SweepTier(admin, store, Screening(store), replace(FAST, sweep_batch=1), timer, lambda: None, lambda: None)
    tier._sweeps[1] = asyncio.current_task()  # type: ignore[assignment]
    monkeypatch.setattr(tier, "_read", read)
    reading = asyncio.create_task(tier._read_round(1, [f"g-{number}" for number in range(3)], first=True, seconds=0.0))
    await asyncio.wait((reading,), timeout=5.0 if batches_read == 3 else 0.2)
    assert batches == batches_read
    reading.cancel()


async def test_background_read_waits_limited_time_for_typing_to_stop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kgtui.monitor.poll_timer.QUIET_WAIT_MAX", 0.05)
    timer = PollTimer(1.0)
    await asyncio.wait_for(timer.wait_for_quiet(3_000), 0.01)
    timer.note_input()
    began = time.monotonic()
    await timer.wait_for_quiet(3_000)
    assert 0.05 <= time.monotonic() - began < QUIET_TIME


async def test_empty_group_with_new_commits_is_read_more_often_than_idle_empty_groups() -> None:
    admin = ScriptedAdmin()
    for group in ("commits", *(f"idle-{number}" for number in range(10))):
        admin.add(group, "consumer", state="Empty", lag=5)
    options = replace(FAST, empty_pause=3_600.0)
    reads: dict[str, int] = dict.fromkeys(admin.groups, 0)
    async with watching(admin, options) as monitor:
        position = 1_000
        while reads["commits"] < 8:
            read = reads["commits"]
            await until(monitor, lambda _: _reads(admin, "commits") > read)  # noqa: B023 - called in this iteration
            position += 1
            admin.commits["commits"] = (CommittedOffset("t-commits", 0, position),)
            reads = {group: _reads(admin, group) for group in admin.groups}
    assert reads["idle-9"] <= 4


async def test_empty_groups_are_read_in_equal_portions() -> None:
    """Every 15 s, kgtui reads an eighth of the Empty groups, so that each of them is read every 2 min."""
    admin = ScriptedAdmin()
    for number in range(20):
        admin.add(f"g-{number:02}", "consumer", state="Empty", lag=5)
    options = replace(FAST, sweep_pause=0.03, empty_pause=0.08)
    async with watching(admin, options) as monitor:
        await until(monitor, lambda _: len(_offset_reads(admin)) >= 12)
    assert [len(groups) for groups in _offset_reads(admin)[2:12]] == [8] * 10
    read = [group for groups in _offset_reads(admin)[2:12] for group in groups]
    assert read == [f"g-{number % 20:02}" for number in range(80)]


def _offset_reads(admin: ScriptedAdmin) -> list[Sequence[str]]:
    return [ids for method, ids in admin.calls if method == "committed_offsets"]


def _reads(admin: ScriptedAdmin, group: str) -> int:
    return sum(group in ids for method, ids in admin.calls if method == "committed_offsets")
