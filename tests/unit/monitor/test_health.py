"""Tests of `HealthTier` (computes health verdicts on groups) and `RetentionTier` (reads topic retention times)."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from kgtui.errors import ConnectError
from kgtui.model.answer import Answer, Fault
from kgtui.model.burrow import Status
from kgtui.model.cluster import Retention
from kgtui.model.group import GroupDescription, Listing
from kgtui.model.health import health_steps
from kgtui.model.offsets import CommittedOffset, GroupOffsets, PartitionBounds
from kgtui.model.slices import Slices, run_at_once
from kgtui.monitor import Monitor, MonitorOptions, health
from kgtui.monitor.health import HealthTier, ReadResult, RetentionTier
from kgtui.monitor.poll_timer import PollTimer
from kgtui.monitor.store import Store
from tests.event_loop import counting_sleeps
from tests.scripted import ScriptedAdmin

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Generator

    from kgtui.model.health import GroupHealth

LISTING = Listing("consumer", "consumer", "Stable", 1)
T0 = 1_000_000.0


class HealthSetup:
    """A `HealthTier` (computes verdicts) and a `RetentionTier` (reads retention times), with a clock that tests set."""

    def __init__(self, groups: tuple[str, ...] = ("g",), *, keep: int = 200) -> None:
        self.now = T0
        self.store = Store(keep, lambda: self.now)
        self.store.groups.update(dict.fromkeys(groups, LISTING))
        self.changes = 0
        self.clock = PollTimer(2.0, lambda: self.now)
        options = MonitorOptions(kept_groups=keep)
        self.admin = ScriptedAdmin()
        self.retention = RetentionTier(self.admin, options, self.clock)
        self.tier = HealthTier(self.store, options, self.clock, self._changed, self.retention)

    def _changed(self) -> None:
        self.changes += 1

    def take(
        self, position: int, end: int, group: str = "g", *, state: str = "Stable", partitions: int = 1
    ) -> None:  # fmt: skip
        """Pass the result of reading a group to `HealthTier`.

        Each partition has the committed offset `position` and the log end offset `end`.
        """
        description = GroupDescription(group, "consumer", "consumer", state, 1, members=())
        offsets = GroupOffsets(
            tuple(CommittedOffset("t", number, position, 0) for number in range(partitions)),
            bounds={("t", number): PartitionBounds(0, end) for number in range(partitions)},
        )
        self.tier.take(ReadResult(group, self.now, description, offsets, fault=False))

    async def watch(self, seconds: float, *, rate: int = 10, position: int | None = None, group: str = "g") -> None:
        """Simulate a read of a group every 2 s.

        Args:
            seconds: duration of the simulation.
            rate: records written per second.
            position: committed offset at every read; None if the group has consumed all records at every read.
        """
        end = self.now + seconds
        while self.now < end:
            log_end = round((self.now - T0) * rate) + 1_000
            self.take(log_end if position is None else position, log_end, group)
            await self.tier.process_reads()
            self.now += 2.0

    def health(self, group: str = "g") -> GroupHealth:
        found = self.store.snapshot().health[group]
        assert found.read_at is not None
        return found


async def test_the_first_verdict_on_a_group_needs_two_reads() -> None:
    setup = HealthSetup()
    setup.take(10, 10)
    await setup.tier.process_reads()
    assert not setup.store.health
    setup.now += 2
    setup.take(10, 10)
    await setup.tier.process_reads()
    assert setup.health().status is Status.OK
    assert setup.changes == 1


async def test_a_group_that_stopped_committing_has_the_status_stop() -> None:
    setup = HealthSetup()
    await setup.watch(90, position=500)
    assert setup.health().kind is Status.STOP
    assert setup.health().seconds >= 60


async def test_the_verdict_on_a_group_is_not_computed_again_within_ten_seconds() -> None:
    setup = HealthSetup()
    await setup.watch(4)
    first = setup.health()
    await setup.watch(8)
    assert setup.health() is first
    await setup.watch(4)
    assert setup.health() is not first


async def test_lag_trend_is_unknown_after_two_minutes_without_a_read() -> None:
    """The trend (change of the lag per second) is computed only from reads after the gap of two minutes."""
    setup = HealthSetup()
    await setup.watch(60, position=500)
    assert setup.health().trend == pytest.approx(10, abs=0.1)
    setup.now += 120
    await setup.watch(4, position=500)
    assert setup.health().trend is None
    assert setup.health().kind is Status.STOP


async def test_the_lag_trend_is_known_with_a_polling_interval_of_60_s() -> None:
    """The trend ignores reads before a gap: a time of more than three polling intervals (here 180 s) without a read."""
    setup = HealthSetup()
    setup.clock.set_interval(60)
    for number in range(6):
        setup.take(500, 1_000 + 600 * number)
        await setup.tier.process_reads()
        setup.now += 60
    assert setup.health().trend == pytest.approx(10)


async def test_verdicts_are_kept_only_for_the_most_recently_read_groups() -> None:
    names = tuple(f"g{number}" for number in range(6))
    setup = HealthSetup(names, keep=4)
    for group in (*names, *names):
        setup.take(10, 10, group)
        await setup.tier.process_reads()
        setup.now += 2
    for group in names[2:]:
        setup.take(10, 10, group)
        await setup.tier.process_reads()
        setup.now += 2
    assert setup.store.health.keys() == set(names[2:])


async def test_the_verdict_on_a_group_with_many_partitions_does_not_block_other_tasks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Other tasks run while the verdict is computed.

    The test also checks that at most 34 reads of each partition are stored.
    """
    monkeypatch.setattr(health, "_SLICE_SECONDS", 0.0)
    monkeypatch.setattr(health, "_READS_PER_GROUP", 40_000)
    setup = HealthSetup()
    for number in range(40):
        setup.take(500, 1_000 + number, partitions=1_200)
        await setup.tier._store_reads(Slices(asyncio.sleep, 0.0))
        setup.now += 2
    history = setup.tier._histories["g"]
    assert {len(samples) <= 34 for samples in history.samples.values()} == {True}
    async with counting_sleeps(0) as turns:
        await setup.tier.process_reads()
        assert turns() > 1_000
    assert setup.health().kind is Status.STOP


async def test_other_asyncio_tasks_run_between_the_computations_of_verdicts(monkeypatch: pytest.MonkeyPatch) -> None:
    names = tuple(f"g{number}" for number in range(5))
    setup = HealthSetup(names)
    for _ in range(2):
        for group in names:
            setup.take(10, 10, group)
        setup.now += 2
    turns_at_verdict: list[int] = []
    compute = health_steps

    def at_once(*arguments: Any) -> Generator[None, None, GroupHealth]:
        """Compute a verdict without pauses, so that no other task can run during the computation."""
        return run_at_once(compute(*arguments))
        yield

    monkeypatch.setattr(health, "health_steps", at_once)
    monkeypatch.setattr(health, "_SLICE_SECONDS", 0.0)
    async with counting_sleeps(0) as turns:
        monkeypatch.setattr(setup.store, "put_health", lambda *_: turns_at_verdict.append(turns()))
        await setup.tier.process_reads()
    assert len(set(turns_at_verdict)) == len(names)


async def test_the_verdict_on_the_selected_group_is_computed_first(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("a", "b", "c")
    setup = HealthSetup(names)
    setup.tier.set_view("c")
    judged: list[str] = []
    monkeypatch.setattr(setup.store, "put_health", lambda group, _: judged.append(group))
    for _ in range(2):
        for group in names:
            setup.take(10, 10, group)
        setup.now += 2
        for group in names:
            setup.take(10, 10, group)
    await setup.tier.process_reads()
    assert judged[0] == "c"
    assert set(judged) == set(names)


async def test_only_the_selected_group_gets_a_verdict_without_cpu_budget() -> None:
    """Computing verdicts on groups may use 1% of one CPU. This budget is used up at first, but not 1,000 s later."""
    names = ("a", "b", "selected")
    setup = HealthSetup(names)
    setup.tier.set_view("selected")
    setup.tier._cpu_credit = -1.0
    for _ in range(2):
        for group in names:
            setup.take(10, 10, group)
        await setup.tier.process_reads()
        setup.now += 2
    assert set(setup.store.health) == {"selected"}
    setup.now += 1_000
    for group in names:
        setup.take(10, 10, group)
    await setup.tier.process_reads()
    assert set(setup.store.health) == set(names)


async def test_a_removed_or_dead_group_has_no_verdict() -> None:
    setup = HealthSetup(("g", "h"))
    for group in ("g", "h"):
        await setup.watch(6, group=group)
    assert setup.store.health.keys() == {"g", "h"}
    setup.take(10, 10, "g", state="Dead")
    await setup.tier.process_reads()
    assert setup.store.health.keys() == {"h"}
    setup.store.drop(1, ["h"])
    assert "h" not in setup.store.snapshot().health


async def _empty_after_two_reads(setup: HealthSetup) -> tuple[float, bool]:
    """Read an Empty group twice. Return `(seconds in the state Empty, whether this time is only a lower bound)`."""
    for _ in range(2):
        setup.take(5, 9, state="Empty")
        await setup.tier.process_reads()
        setup.now += 2.0
    empty = setup.health().empty
    assert empty is not None
    return empty.seconds, empty.at_least


async def test_duration_of_the_state_empty_is_counted_from_the_observed_state_change() -> None:
    setup = HealthSetup()
    setup.store.groups["g"] = replace(LISTING, state="Empty")
    setup.store.state_since["g"] = T0 - 240
    assert await _empty_after_two_reads(setup) == (242.0, False)


async def test_duration_of_the_state_empty_can_be_a_lower_bound() -> None:
    """The group was already Empty in the broker's first response to kgtui, 240 s before the first read of the group.

    kgtui does not know how long the group had been Empty before this response.
    """
    setup = HealthSetup()
    setup.store.groups["g"] = replace(LISTING, state="Empty")
    setup.store.set_broker(LISTING.coordinator, answered_since=T0 - 240)
    assert await _empty_after_two_reads(setup) == (242.0, True)


async def test_failed_read_keeps_the_verdict_but_discards_the_lag_trend() -> None:
    setup = HealthSetup()
    await setup.watch(30, position=500)
    before = setup.health()
    setup.tier.take(ReadResult("g", setup.now, None, None, fault=True))
    await setup.tier.process_reads()
    assert setup.health() is before
    setup.now += 10
    await setup.watch(2, position=500)
    assert setup.health().trend is None
    assert setup.health().failed == 1


async def test_going_back_in_a_replay_discards_all_stored_reads() -> None:
    """The new verdict is based only on reads after the jump to an earlier time."""
    setup = HealthSetup()
    await setup.watch(60, position=500)
    assert setup.health().status is Status.ERR
    setup.now = T0 - 100
    setup.take(500, 900)
    await setup.tier.process_reads()
    assert not setup.store.snapshot().health
    setup.now += 10
    setup.take(500, 900)
    await setup.tier.process_reads()
    assert (setup.health().reads, setup.health().seconds, setup.health().status) == (2, 10.0, Status.OK)


async def run_other_tasks() -> None:
    """Let all other tasks run until each of them waits for something."""
    for _ in range(100):
        await asyncio.sleep(0)


@pytest.fixture
async def setup_with_retention(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[HealthSetup]:
    """Yield a `HealthSetup` whose background task reads retention times as soon as they are requested."""
    monkeypatch.setattr("kgtui.monitor.health.RETENTION_PAUSE", 0.0)
    setup = HealthSetup()
    task = asyncio.create_task(setup.retention.run())
    yield setup
    task.cancel()


async def test_record_loss_is_predicted_from_the_topic_retention_time(
    setup_with_retention: HealthSetup,
) -> None:
    setup_with_retention.admin.topic_retention = Retention({"t": 3600.0}, 86_400.0)
    await setup_with_retention.watch(20, position=1_000)
    assert setup_with_retention.health().loss is None
    await run_other_tasks()
    await setup_with_retention.watch(100, position=1_000)
    loss = setup_with_retention.health().loss
    assert loss is not None
    assert (loss.basis, loss.at_most) == ("retention", False)
    assert 3450 < loss.seconds < 3600
    assert setup_with_retention.admin.calls == [("retention", ("t",))]


async def test_known_retention_times_are_kept_after_an_empty_response(setup_with_retention: HealthSetup) -> None:
    known = Retention({"t": 3600.0}, 86_400.0)
    for kept in (known, Retention()):
        setup_with_retention.admin.topic_retention = kept
        setup_with_retention.retention.want(["t"])
        await run_other_tasks()
        setup_with_retention.now += 700
    assert len(setup_with_retention.admin.calls) == 2
    assert setup_with_retention.retention.known == known


async def test_retention_times_are_kept_if_the_response_contains_an_error(
    setup_with_retention: HealthSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """kgtui drops the stored retention time of a topic only if a nonempty response without errors lacks the topic."""
    answers = [
        Answer(Retention({"t": 3600.0, "u": 60.0}, 86_400.0)),
        Answer(Retention({"u": 120.0}), (Fault("REQUEST_TIMED_OUT", "no answer", broker=2),)),
        Answer(Retention({"u": 180.0})),
    ]

    async def retention(topics: object, *, timeout: float) -> Answer[Retention]:
        return answers.pop(0)

    monkeypatch.setattr(setup_with_retention.admin, "retention", retention)
    for known in ({"t": 3600.0, "u": 60.0}, {"t": 3600.0, "u": 120.0}, {"u": 180.0}):
        setup_with_retention.retention.want(["t", "u"])
        await run_other_tasks()
        setup_with_retention.now += 700
        assert setup_with_retention.retention.known == Retention(known, 86_400.0)


async def test_the_number_of_cached_retention_times_is_limited(
    setup_with_retention: HealthSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kgtui.monitor.health._RETENTION_TOPICS", 2)
    setup_with_retention.admin.topic_retention = Retention({"a": 1.0, "b": 2.0, "c": 3.0}, None)
    for topic in "abc":
        setup_with_retention.retention.want([topic])
        await run_other_tasks()
    assert setup_with_retention.retention.known == Retention({"b": 2.0, "c": 3.0})


async def test_failed_request_for_retention_times_is_repeated_after_ten_minutes(
    setup_with_retention: HealthSetup, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(topics: object, *, timeout: float) -> Answer[Retention]:
        setup_with_retention.admin.calls.append(("refused", ()))
        raise ConnectError("refused", broker=1)

    monkeypatch.setattr(setup_with_retention.admin, "retention", refused)
    for seconds in (0, 300, 301):
        setup_with_retention.now += seconds
        setup_with_retention.retention.want(["t", "u"])
        await run_other_tasks()
    assert len(setup_with_retention.admin.calls) == 2
    assert setup_with_retention.retention.known == Retention()


async def test_only_selected_and_visible_groups_get_a_verdict_from_the_monitor() -> None:
    admin = ScriptedAdmin()
    for group in ("selected", "in-view", "elsewhere"):
        admin.add(group, "consumer", lag=7)
    monitor = Monitor(admin, MonitorOptions(interval=0.5, timeout=2.0, publish_interval=0.0))
    judged = asyncio.Event()
    monitor.subscribe(lambda snapshot: judged.set() if len(snapshot.health) == 2 else None)
    running = asyncio.create_task(monitor.run())
    monitor.set_view("selected", ["selected", "in-view"])
    async with asyncio.timeout(60):
        await judged.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert set(monitor.snapshot.health) == {"selected", "in-view"}
    found = monitor.snapshot.health["selected"]
    assert found.lag is not None
    assert found.lag.lag == 7
    assert found.undecided
