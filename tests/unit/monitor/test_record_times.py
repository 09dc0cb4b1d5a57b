"""Tests of `RecordTimeTier`: for which groups, and how often, it searches for the times of their unread records."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from kgtui.errors import ClientError
from kgtui.model.burrow import Status
from kgtui.model.cluster import Retention, TopicRules
from kgtui.model.group import GroupDescription, Listing
from kgtui.model.offsets import CommittedOffset, GroupOffsets, PartitionBounds
from kgtui.model.record_times import NO_ANSWER, PRECISION, RecordTime, TimeRange
from kgtui.monitor import MonitorOptions
from kgtui.monitor.health import HealthTier, ReadResult, RetentionTier
from kgtui.monitor.poll_timer import PollTimer
from kgtui.monitor.record_times import RecordTimeTier
from kgtui.monitor.store import Store
from tests.scripted import ScriptedAdmin

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from kgtui.model.answer import Answer
    from kgtui.model.offsets import TopicPartition
    from kgtui.model.record_times import LogPosition

T0 = 1_000_000.0
PART = ("t", 0)


def offsets(position: int, end: int = 500) -> GroupOffsets:
    return GroupOffsets((CommittedOffset("t", 0, position),), bounds={PART: PartitionBounds(0, end)})


class Setup:
    """A `RecordTimeTier`, a `HealthTier` and a fake cluster, with a clock that the test sets.

    The `RecordTimeTier` searches for the times of records, and the `HealthTier` computes verdicts.
    """

    def __init__(self, *, recorded: bool = False) -> None:
        self.now = T0
        self.precisions: list[float] = []
        self.changes = 0
        self.admin = admin = ScriptedAdmin()
        admin.topic_retention = Retention({"t": 3600.0}, None, {"t": TopicRules(3600.0)})
        options = MonitorOptions(kept_groups=3)
        self.store = store = Store(3, lambda: self.now)
        store.groups.update(dict.fromkeys("abcdef", Listing("consumer", "consumer", "Stable", 1)))
        timer = PollTimer(2.0, lambda: self.now, (lambda: 5.0) if recorded else None)
        retention = RetentionTier(admin, options, timer)
        self.health = HealthTier(store, options, timer, lambda: None, retention)
        self.tier = RecordTimeTier(admin, store, options, timer, retention, self.health, self._changed)
        self.tier.set_selected("a")

    def _changed(self) -> None:
        self.changes += 1

    def find(self, position: int, written: float = T0 - 900) -> None:
        """Set the first unread record in the fake cluster.

        Args:
            position: offset of the record.
            written: timestamp of the record, in seconds since the epoch.
        """
        self.admin.times[PART] = RecordTime(position, TimeRange(written, written), TimeRange(written, written))

    async def read(self, position: int, group: str = "a") -> GroupOffsets:
        """Simulate that kgtui has read a group with the committed offset `position`. Wait until the search has ended.

        Return the stored offsets. They include the timestamps of records that the search found.
        """
        found = self.tier.add(group, offsets(position))
        self.store.put_offsets(group, found)
        await self.searched()
        return self.store.offsets[group].value

    async def searched(self) -> None:
        """Wait until no search is requested or running."""
        for _ in range(10_000):
            if self.tier.idle:
                return
            await asyncio.sleep(0.001)
        raise TimeoutError("the search has not ended")

    @property
    def searches(self) -> int:
        return sum(1 for call, _ in self.admin.calls if call == "record_times")


@pytest.fixture
async def setup(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Setup]:
    setup = Setup()
    original = setup.admin.record_times

    async def record_times(
        positions: Mapping[TopicPartition, LogPosition],
        rules: Mapping[str, TopicRules],
        *,
        precision: float,
        timeout: float,
    ) -> Answer[Mapping[TopicPartition, RecordTime]]:
        setup.precisions.append(precision)
        return await original(positions, rules, precision=precision, timeout=timeout)

    monkeypatch.setattr(setup.admin, "record_times", record_times)
    task = asyncio.create_task(setup.tier.run())
    yield setup
    task.cancel()


async def test_search_returns_time_and_expiry_of_the_first_unread_record(setup: Setup) -> None:
    setup.find(100)
    shown = (await setup.read(100)).record_times[PART]
    assert shown.unread == TimeRange(T0 - 900, T0 - 900)
    assert shown.expires_at == T0 - 900 + 3600
    assert setup.admin.calls == [("retention", ("t",)), ("record_times", ("t-0",))]
    assert (setup.precisions, setup.changes) == ([0.0], 1)


async def test_record_times_are_searched_again_only_after_progress_and_pause(setup: Setup) -> None:
    """Progress means a new committed offset. Two searches for a group are at least 30 s apart."""
    setup.find(100)
    await setup.read(100)
    setup.now += 3600
    assert PART in (await setup.read(100)).record_times
    assert setup.searches == 1
    setup.find(200)
    assert (await setup.read(200)).record_times[PART].offset == 200
    setup.find(300)
    setup.now += 29
    assert (await setup.read(300)).record_times[PART].offset == 200
    setup.now += 1
    assert (await setup.read(300)).record_times[PART].offset == 300
    assert setup.searches == 3


async def test_a_group_without_unread_records_causes_no_search_for_record_times(setup: Setup) -> None:
    await setup.read(500)
    assert setup.admin.calls == []


async def test_record_times_are_searched_only_for_selected_and_suspected_groups(setup: Setup) -> None:
    """A group is suspected if the background reads show a possible problem."""
    setup.find(100)
    await setup.read(100, "b")
    assert setup.searches == 0
    setup.tier.set_suspects(["b"])
    assert PART in (await setup.read(100, "b")).record_times
    assert setup.precisions == [PRECISION]


async def test_selecting_a_suspected_group_starts_an_exact_search_for_record_times(setup: Setup) -> None:
    """If a suspected group is not selected, the search ends when the error is at most 1% of the record's age."""
    setup.admin.times[PART] = RecordTime(100, TimeRange(T0 - 900, T0 - 895), rounds=3)
    setup.tier.set_suspects(["b"])
    await setup.read(100, "b")
    await setup.read(100, "b")
    assert setup.precisions == [PRECISION]
    setup.tier.set_selected("b")
    setup.find(100)
    assert (await setup.read(100, "b")).record_times[PART].unread == TimeRange(T0 - 900, T0 - 900)
    assert setup.precisions == [PRECISION, 0.0]


async def test_a_failed_search_for_record_times_is_repeated_after_30_seconds(
    setup: Setup, monkeypatch: pytest.MonkeyPatch
) -> None:
    setup.admin.times[PART] = RecordTime(100, reason=NO_ANSWER)
    await setup.read(100)
    await setup.read(100)
    setup.now += 30
    await setup.read(100)
    assert setup.searches == 2

    async def refuse(*_: object, **__: object) -> None:
        setup.admin.calls.append(("record_times", ()))
        raise ClientError("refused")

    monkeypatch.setattr(setup.admin, "record_times", refuse)
    for _ in range(3):
        setup.now += 30
        await setup.read(100)
    assert setup.searches == 5


async def test_record_times_are_not_searched_in_a_replay() -> None:
    setup = Setup(recorded=True)
    task = asyncio.create_task(setup.tier.run())
    assert (await setup.read(100)).record_times == {}
    assert setup.admin.calls == []
    task.cancel()


async def test_record_times_are_kept_for_the_most_recently_searched_groups(setup: Setup) -> None:
    setup.find(100)
    for group in "abcd":
        setup.tier.set_selected(group)
        await setup.read(100, group)
    assert setup.tier.add("a", offsets(100)).record_times == {}
    assert PART in setup.tier.add("d", offsets(100)).record_times


async def test_found_record_times_are_used_in_the_next_health_verdict(setup: Setup) -> None:
    description = GroupDescription("a", "consumer", "consumer", "Stable", 1, members=())
    for _ in range(2):
        setup.now += 2
        setup.health.take(ReadResult("a", setup.now, description, offsets(100), fault=False))
        await setup.health.process_reads()
    assert setup.store.health["a"].status is Status.OK
    setup.find(100)
    await setup.read(100)
    await setup.health.process_reads()
    found = setup.store.health["a"].time_lag
    assert found is not None
    assert (found.exact, found.seconds) == (True, 904.0)
