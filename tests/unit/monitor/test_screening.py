"""Tests of screening: simple rules check each background read of a group for possible problems.

A healthy group must match no rule.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from kgtui.admin.base import ListingDelta
from kgtui.model.event import EventKind, EventLog
from kgtui.model.group import Listing
from kgtui.model.health import health_of
from kgtui.model.health.values import Loss
from kgtui.model.judgment import Basis
from kgtui.model.offsets import GroupOffsets
from kgtui.model.problem import GroupStatus, Problem
from kgtui.model.summary import Summary
from kgtui.monitor import trail_rules
from kgtui.monitor.event_tracker import EventTracker
from kgtui.monitor.lost_records import LogStartCheck
from kgtui.monitor.screening import Screening
from kgtui.monitor.store import Store
from tests.unit.model.health.reads import described, offsets, watch
from tests.unit.model.test_trail import rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgtui.model.group import GroupDescription
    from kgtui.model.judgment import Judgment
    from kgtui.model.offsets import Position

T0 = 1_700_000_000.0
STABLE, EMPTY = Listing("consumer", "consumer", "Stable", 1), Listing("consumer", "consumer", "Empty", 1)
REBALANCING = Listing("classic", "consumer", "PreparingRebalance", 1)
RECONCILING = Listing("consumer", "consumer", "Reconciling", 1)


class Sweep:
    """Simulates the sweep (background read of all groups). Its only group is `g`. A `Screening` checks each read."""

    def __init__(self) -> None:
        self.now = T0
        self.events = EventLog(10)
        self.store = Store(10, lambda: self.now, EventTracker(self.events, 10))
        self.screening = Screening(self.store)
        self._first = True

    async def list(self, listing: Listing) -> None:
        """Simulate that broker 1 has sent its list of groups, which contains only `g`, with the values in `listing`."""
        await self.store.take_list(1, ListingDelta({"g": listing}, [], 1, 1.0), first=self._first)
        self._first = False
        while self.screening.apply_changes(1):
            pass

    def read(self, offsets: Sequence[Position] | None, *, description: GroupDescription | None = None,
             lost: int | None = 0, after: float = 15.0) -> Judgment:  # fmt: skip
        """Pass the result of reading `g` to the screening. Return the new judgment (status and problem of the group).

        Args:
            offsets: offsets of `g` in each partition; None if they could not be read.
            description: description of `g`, if it was read.
            lost: number of lost records; None if kgtui did not count them.
            after: seconds since the previous read.
        """
        self.now += after
        trail = self.screening.add("g", self.now, offsets, description)
        lag = sum(row.lag or 0 for row in offsets or ())
        summary = Summary(
            1, lag, 0, 1, ("t",), "", self.now, self.now, screened=trail.shows_progress, trail=trail.encode()
        )
        self.store.store_summary("g", summary)
        self.screening.judge("g", trail, None if lost is None else LogStartCheck(lost, None))
        return self.judgment()

    def judgment(self) -> Judgment:
        return self.store.snapshot().judgment("g")


@pytest.fixture
async def sweep() -> Sweep:
    sweep = Sweep()
    await sweep.list(STABLE)
    return sweep


async def test_a_group_that_keeps_up_gets_the_status_ok_at_its_second_read(sweep: Sweep) -> None:
    assert sweep.read(rows((100, 105))).status is GroupStatus.UNKNOWN
    found = [sweep.read(rows((100 + 50 * n, 105 + 50 * n))) for n in range(1, 12)]
    assert {one.status for one in found} == {GroupStatus.OK}


async def test_no_judgment_is_stored_for_a_group_that_was_read_once(sweep: Sweep) -> None:
    """After one read, the judgment follows from the stored `Summary`.

    Storing the judgment as well would take megabytes for 100,000 groups.
    """
    found = sweep.read(rows((100, 105)))
    assert (found.status, found.basis, found.kind) == (GroupStatus.UNKNOWN, Basis.READ_ONCE, None)
    assert sweep.store.screened == {}


async def test_a_group_counts_as_stopped_if_one_partition_makes_no_progress(sweep: Sweep) -> None:
    found = [sweep.read(rows((100, 105), (50 * n, 50 * n))) for n in range(6)]
    assert [one.kind for one in found] == [None, None, None, None, Problem.STOP, Problem.STOP]
    assert (found[-1].status, found[-1].basis_text) == (GroupStatus.ERR, "screened")
    assert "1 of 2 partitions" in found[-1].reason


async def test_a_group_without_observed_progress_is_not_called_ok(sweep: Sweep) -> None:
    """One of its partitions may be dead, until a read shows progress there, or the rule for stopped groups applies."""
    found = [sweep.read(rows((100, 105), (50 * n, 50 * n))) for n in range(4)]
    assert {one.status for one in found} == {GroupStatus.UNKNOWN}
    assert [one.basis_text for one in found] == ["read once"] + ["no progress seen yet"] * 3
    assert sweep.read(rows((102, 105), (500, 500))).status is GroupStatus.OK


async def test_a_stop_begins_at_the_last_read_with_progress(sweep: Sweep) -> None:
    """The committed offset rises for the last time at the third read, so the stop began then."""
    for position in (90, 95, 100):
        sweep.read(rows((position, 105)))
    stopped_at = sweep.now
    found = [sweep.read(rows((100, 105 + n))) for n in range(6)][-1]
    assert (found.kind, found.since, found.since_seen) == (Problem.STOP, stopped_at, True)


async def test_after_two_hourly_commits_a_group_is_not_reported_as_stopped(sweep: Sweep) -> None:
    """In the first hour, kgtui wrongly reports a stop. After two commits, it knows how often the group commits."""
    found = []
    for minute in range(200):
        hour = minute // 60
        found.append(sweep.read(rows((1_000 * hour, 1_000 * (hour + 1))), after=60).kind)
    assert Problem.STOP in found[:60]
    assert set(found[125:]) == {None}


@pytest.mark.parametrize("outage", [4 * 3_600, 30 * 3_600])
async def test_a_long_outage_is_soon_forgotten(sweep: Sweep, outage: float) -> None:
    """The group makes progress again after the outage, and then stops for good."""
    for position in (10, 20):
        sweep.read(rows((position, 1_000)))
    positions = [30, 40, 50, 60, 70, 80, 90, 100, 110]
    assert sweep.read(rows((20, 1_000)), after=outage).kind is Problem.STOP
    assert {sweep.read(rows((position, 1_000))).kind for position in positions} == {None}
    assert Problem.STOP in [sweep.read(rows((110, 1_000))).kind for _ in range(6)]


async def test_a_group_with_a_very_long_pause_can_still_count_as_stopped(sweep: Sweep) -> None:
    """A trail stores times of up to 18 hours. Three times the pause would be longer."""
    sweep.read(rows((10, 1_000)))
    sweep.read(rows((20, 1_000)))
    assert sweep.read(rows((30, 1_000)), after=12 * 3_600).kind is None
    assert [sweep.read(rows((30, 1_000)), after=3_600).kind for _ in range(20)][-1] is Problem.STOP


@pytest.mark.parametrize(
    ("listing", "position", "in_view", "expected"),
    [
        (EMPTY, 10, False, [EventKind.RESET]),
        (EMPTY, 90, False, [EventKind.RESET]),
        (STABLE, 10, False, [EventKind.REWOUND]),
        (STABLE, 90, False, []),
        (EMPTY, 90, True, []),
    ],
)
async def test_background_reads_show_that_offsets_were_reset(
    listing: Listing, position: int, in_view: bool, expected: list[EventKind]
) -> None:
    """Offsets of an Empty group change only if somebody resets them. Groups in view are compared elsewhere."""
    sweep = Sweep()
    await sweep.list(listing)
    for _ in range(2):
        sweep.read(rows((50, 100), (7, 7)))
    if in_view:
        sweep.store.put_offsets("g", GroupOffsets())
    sweep.read(rows((position, 100), (7, 7)))
    sweep.read(rows((position, 100), (7, 7)))
    assert [event.kind for event in sweep.events.kept()] == expected


async def test_a_read_without_some_partitions_is_not_compared_with_the_read_in_the_same_second() -> None:
    sweep = Sweep()
    await sweep.list(EMPTY)
    for position in (50, 60):
        sweep.read(rows((position, 100), (7, 7)))
    sweep.read(rows((60, 100)), after=0.0)
    assert [event.kind for event in sweep.events.kept()] == [EventKind.RESET]


async def test_no_reset_is_reported_if_the_group_had_members_at_the_earlier_read(sweep: Sweep) -> None:
    for _ in range(2):
        sweep.read(rows((50, 100)))
    sweep.now += 5
    await sweep.list(EMPTY)
    sweep.read(rows((90, 100)))
    assert [event.kind for event in sweep.events.kept()] == [EventKind.STATE]


async def test_a_rewind_is_reported_until_the_previous_offset_is_reached_again(sweep: Sweep) -> None:
    positions = [500, 400, 450, 500]
    kinds = [sweep.read(rows((position, 500))).kind for position in positions]
    assert kinds == [None, Problem.REWIND, Problem.REWIND, None]


async def test_lower_offsets_in_a_recreated_topic_are_not_reported_as_a_rewind(sweep: Sweep) -> None:
    sweep.read(rows((500, 500)))
    found = [sweep.read(rows((position, position + 1))).kind for position in (3, 5, 9)]
    assert found == [None] * 3


async def test_a_growing_lag_is_a_problem_unless_the_unread_records_are_recent(sweep: Sweep) -> None:
    found = [sweep.read(rows((1_000 * n, 20_000 + 1_100 * n))) for n in range(6)][-1]
    assert (found.kind, found.status) == (Problem.BEHIND, GroupStatus.WARN)
    other = Sweep()
    await other.list(STABLE)
    assert [other.read(rows((1_000 * n, 1_010 * n))).kind for n in range(8)][-1] is None


async def test_lag_that_grows_much_slower_than_traffic_is_no_problem(sweep: Sweep) -> None:
    found = [sweep.read(rows((960 * n, 20_000 + 1_000 * n))) for n in range(8)]
    assert {one.kind for one in found} == {None}


async def test_lost_records_are_reported_until_a_read_finds_no_lost_records(sweep: Sweep) -> None:
    sweep.read(rows((5, 90)))
    assert sweep.read(rows((5, 90)), lost=20).kind is Problem.DATA_LOST
    sweep.screening.judge("g")
    assert sweep.judgment().kind is Problem.DATA_LOST
    assert sweep.read(rows((25, 90))).kind is None


async def test_members_without_partitions_are_reported_only_after_two_descriptions(sweep: Sweep) -> None:
    found = [sweep.read([], description=described()).kind for _ in range(2)]
    assert found == [None, Problem.NO_PARTITIONS]


@pytest.mark.parametrize(("listing", "limit"), [(REBALANCING, 15), (RECONCILING, 60)])
async def test_a_rebalance_is_reported_as_a_problem_only_after_a_time_limit(
    sweep: Sweep, listing: Listing, limit: float
) -> None:
    """The limit is 15 s for classic groups and 60 s for consumer groups."""
    sweep.read(rows((5, 5)))
    await sweep.list(listing)
    began = sweep.now
    sweep.now += limit - 1
    sweep.screening.judge_unsettled()
    assert sweep.judgment().kind is None
    sweep.now += 1
    sweep.screening.judge_unsettled()
    found = sweep.judgment()
    assert (found.kind, found.status, found.since, found.since_seen) == (
        Problem.REBALANCING, GroupStatus.WARN, began, True,
    )  # fmt: skip
    await sweep.list(STABLE)
    assert sweep.judgment().kind is None


async def test_a_rebalance_in_the_first_list_of_a_late_broker_is_reported(sweep: Sweep) -> None:
    """Screening starts as soon as the first broker has listed its groups."""
    late = replace(REBALANCING, coordinator=2)
    await sweep.store.take_list(2, ListingDelta({"late": late}, [], 1, 1.0), first=True)
    sweep.store.store_summary("late", Summary(1, 0, 0, 1, ("t",), "", sweep.now, sweep.now))
    sweep.now += 16
    sweep.screening.judge_unsettled()
    assert sweep.store.snapshot().judgment("late").kind is Problem.REBALANCING


async def test_start_time_of_a_rebalance_that_began_before_kgtui_started_is_unknown() -> None:
    sweep = Sweep()
    await sweep.list(REBALANCING)
    sweep.screening = Screening(sweep.store)
    sweep.read(rows((5, 5)))
    sweep.screening.judge_unsettled()
    assert (sweep.judgment().kind, sweep.judgment().since_seen) == (Problem.REBALANCING, False)


async def test_flapping_is_reported_until_the_group_no_longer_rebalances(sweep: Sweep) -> None:
    """Flapping means that a group rebalances frequently. Here, it rebalances three times within 30 s."""
    sweep.read(rows((5, 5)))
    for _ in range(3):
        sweep.now += 5
        await sweep.list(REBALANCING)
        sweep.now += 5
        await sweep.list(STABLE)
    found = sweep.judgment()
    assert (found.kind, found.status) == (Problem.FLAPPING, GroupStatus.WARN)
    assert "at least 3" in found.reason
    assert sweep.read(rows((5, 5)), after=trail_rules.CALM_AFTER + 20).kind is None


async def test_the_start_time_of_flapping_does_not_change_with_more_rebalances(sweep: Sweep) -> None:
    """Flapping (frequent rebalances) starts with the first rebalance, although the rule checks only the last three."""
    sweep.read(rows((5, 5)))
    since = []
    for _ in range(8):
        await sweep.list(REBALANCING)
        sweep.now += 20
        await sweep.list(STABLE)
        sweep.now += 20
        since.append(sweep.judgment().since)
    assert since == [None, None, *[T0 + 15] * 6]


async def test_a_group_is_read_at_every_poll_after_a_rebalance(sweep: Sweep) -> None:
    """For a minute, kgtui reads the group at every poll, because background reads would miss most new rebalances."""
    sweep.read(rows((100, 105)))
    assert sweep.screening.without_problem_to_observe() == set()
    await sweep.list(REBALANCING)
    assert sweep.screening.without_problem_to_observe() == {"g"}
    sweep.now += 61
    assert sweep.screening.without_problem_to_observe() == set()


async def test_a_higher_group_epoch_counts_as_a_rebalance(sweep: Sweep) -> None:
    """All lists show the state Stable. The group epoch shows that the group rebalanced between two lists."""
    kinds = [sweep.read(rows((5, 5)), description=described(epoch=epoch)).kind for epoch in (1, 2, 3, 4)]
    assert kinds[-1] is Problem.FLAPPING


async def test_group_becomes_abandoned_a_day_after_its_last_member_left(sweep: Sweep) -> None:
    sweep.store.set_broker(1, answered_since=T0)
    sweep.read(rows((5, 9)))
    await sweep.list(EMPTY)
    found = sweep.judgment()
    assert (found.kind, found.status, found.since, found.since_seen) == (Problem.STOP, GroupStatus.ERR, sweep.now, True)
    assert "all members left" in found.reason
    assert sweep.read(rows((5, 9)), after=86_000).kind is Problem.STOP
    found = sweep.read(rows((5, 9)), after=400)
    assert (found.kind, found.status) == (Problem.ABANDONED, GroupStatus.ABANDONED)
    assert "all members left" not in found.reason


async def test_group_that_was_empty_when_kgtui_started_has_the_status_warn() -> None:
    sweep = Sweep()
    await sweep.list(EMPTY)
    found = [sweep.read(rows((5, 9))) for _ in range(3)][-1]
    assert (found.kind, found.status, found.since) == (Problem.EMPTY, GroupStatus.WARN, None)


@pytest.mark.parametrize(("observed", "expected"), [(86_399, Problem.UNUSED), (86_400, Problem.ABANDONED)])
async def test_unused_group_becomes_abandoned_after_one_day_of_observation(observed: int, expected: Problem) -> None:
    """The unread records are a day old when kgtui starts, but the last member could have left just before the start.

    Therefore, kgtui calls the group abandoned only after it has seen the group without members for a day.
    """
    sweep = Sweep()
    await sweep.list(EMPTY)
    sweep.store.set_broker(1, answered_since=T0)
    sweep.store.unread_since["g"] = T0 - 86_400
    found = sweep.read(rows((5, 9)), after=observed)
    assert (found.kind, found.since) == (expected, None)
    assert found.status is (GroupStatus.WARN if expected is Problem.UNUSED else GroupStatus.ABANDONED)


async def test_group_with_offset_near_the_log_start_is_read_at_every_poll(sweep: Sweep) -> None:
    """`near_log_start` contains the ids of groups whose unread records could soon be deleted from the log."""
    sweep.read(rows((5, 9)))
    sweep.screening.judge("g", compared=LogStartCheck(0, near=True))
    assert sweep.screening.near_log_start == {"g"}
    assert sweep.judgment().kind is None
    loss = Loss("t", 0, 3_600.0, "retention", 5)
    health = health_of(watch([offsets((100 + 100 * n, 105 + 100 * n)) for n in range(12)]))
    for found, expected in ((loss, {"g"}), (None, set())):
        sweep.store.put_health("g", replace(health, loss=found))
        sweep.screening.clear_suspicion("g")
        assert sweep.screening.near_log_start == expected


async def test_unused_group_with_lost_records_is_reported_as_unused() -> None:
    """An unused group is an Empty group whose unread records are old.

    As long as kgtui does not know the age of the unread records, it reports the lost records as the group's problem.
    """
    sweep = Sweep()
    await sweep.list(EMPTY)
    assert sweep.read(rows((5, 9)), lost=3).kind is Problem.DATA_LOST
    sweep.store.unread_since["g"] = T0 - 86_400
    found = sweep.read(rows((5, 9)), lost=3)
    assert (found.kind, found.others) == (Problem.UNUSED, (Problem.DATA_LOST,))


async def test_empty_group_with_growing_lag_is_reported_only_as_empty() -> None:
    sweep = Sweep()
    await sweep.list(EMPTY)
    found = [sweep.read(rows((5, 9 + n))) for n in range(8)][-1]
    assert (found.kind, found.others) == (Problem.EMPTY, ())


async def test_a_group_that_commits_without_members_has_the_status_ok() -> None:
    sweep = Sweep()
    await sweep.list(Listing("classic", "", "Empty", 1))
    found = [sweep.read(rows((5 + n, 9 + n))) for n in range(5)]
    assert {one.status for one in found[1:]} == {GroupStatus.OK}


async def test_refuted_stop_is_reported_again_after_five_reads_without_progress(sweep: Sweep) -> None:
    """After six background reads without progress, kgtui reports a stop.

    `clear_suspicion` then refutes this stop. kgtui calls this method if reads at every poll show no problem by Burrow's
    rules.
    """
    for _ in range(6):
        sweep.read(rows((100, 105)))
    assert sweep.judgment().kind is Problem.STOP
    sweep.screening.clear_suspicion("g")
    assert sweep.judgment().status is GroupStatus.OK
    assert [sweep.read(rows((100, 105))).kind for _ in range(5)] == [None] * 4 + [Problem.STOP]


async def test_setting_the_clock_forward_causes_no_problem(sweep: Sweep, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = {"wall": T0, "steady": 0.0}
    monkeypatch.setattr("kgtui.monitor.screening.time.time", lambda: clock["wall"])
    monkeypatch.setattr("kgtui.monitor.screening.time.monotonic", lambda: clock["steady"])
    sweep.screening = Screening(sweep.store)
    for _ in range(2):
        sweep.read(rows((100, 105)))
    await sweep.list(REBALANCING)
    clock["wall"] = sweep.now + 3_600
    clock["steady"] = sweep.now - T0
    sweep.screening.check_clock()
    found = sweep.read(rows((100, 105)), after=3_605)
    sweep.screening.judge_unsettled()
    assert (found.kind, sweep.judgment().kind) == (None, None)


async def test_a_group_with_a_changed_state_is_queued_for_a_background_read(sweep: Sweep) -> None:
    await sweep.list(replace(STABLE, state="Reconciling"))
    assert list(sweep.screening.changed) == ["g"]


async def test_1_000_groups_with_a_changed_state_are_judged_in_20_calls(sweep: Sweep) -> None:
    """One call of `apply_changes` judges at most 50 groups, so that it does not block the event loop for long."""
    rows_of_list = {f"g-{n}": REBALANCING for n in range(1_000)}
    await sweep.store.take_list(1, ListingDelta(rows_of_list, [], 1_001, 1.0), first=False)
    assert [sweep.screening.apply_changes() for _ in range(20)] == [True] * 19 + [False]


async def test_a_stop_is_recognized_even_if_reads_are_200_seconds_apart(sweep: Sweep) -> None:
    moving = [sweep.read(rows((100 + 50 * n, 105 + 50 * n)), after=200) for n in range(8)]
    assert {one.status for one in moving[1:]} == {GroupStatus.OK}
    stopped = [sweep.read(rows((450, 505)), after=200) for _ in range(4)]
    assert [one.kind for one in stopped] == [None] * 3 + [Problem.STOP]
    assert stopped[-1].since == sweep.now - 800


async def test_setting_the_clock_back_causes_no_problem(sweep: Sweep) -> None:
    for n in range(4):
        sweep.read(rows((100 + n, 105 + n)))
    assert sweep.read(rows((104, 109)), after=-3_600).kind is None
    assert [sweep.read(rows((104, 109))).kind for _ in range(4)] == [None] * 3 + [Problem.STOP]


async def test_a_change_from_empty_to_stable_counts_as_a_rebalance(sweep: Sweep) -> None:
    sweep.read(rows((100, 100)))
    for _ in range(3):
        await sweep.list(EMPTY)
        await sweep.list(STABLE)
        sweep.read(rows((100, 100)), after=5)
    assert sweep.judgment().kind is Problem.FLAPPING
