"""Tests of the search for unused groups, which are probably abandoned.

An unused group was Empty when kgtui started, and all its unread records are more than a day old.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from kgtui.model.cluster import Retention, TopicRules
from kgtui.model.offsets import CommittedOffset, PartitionBounds
from kgtui.model.problem import GroupStatus, Problem
from kgtui.model.record_times import RecordTime, TimeRange
from tests.scripted import ScriptedAdmin
from tests.unit.monitor.watching import until, watching

if TYPE_CHECKING:
    from kgtui.model.judgment import Judgment
    from kgtui.model.snapshot import Snapshot

DAY = 86_400.0


@pytest.fixture(autouse=True)
def searching_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reduce the pauses between searches for record times to 0.02 s, so that the tests with Empty groups are fast."""
    monkeypatch.setattr("kgtui.monitor.empty_groups.EMPTY_SEARCH_PAUSE", 0.02)
    monkeypatch.setattr("kgtui.monitor.empty_groups.EMPTY_SEARCH_LOAD", 1.0)


def cluster(ages: dict[str, tuple[float | None, ...]]) -> ScriptedAdmin:
    """Return a cluster with Empty groups.

    Args:
        ages: group id → age of the first unread record in each partition, in days. The age is None if it is unknown,
            and negative if the partition has no unread records.
    """
    admin = ScriptedAdmin(topic_retention=Retention(rules={f"t-{group}": TopicRules(9e9) for group in ages}))
    for group, partitions in ages.items():
        admin.add(group, "consumer", state="Empty")
        admin.commits[group] = tuple(CommittedOffset(f"t-{group}", number, 5) for number in range(len(partitions)))
        for number, age in enumerate(partitions):
            tp = (f"t-{group}", number)
            admin.bounds[tp] = PartitionBounds(0, 5 if age is not None and age < 0 else 9)
            if age is not None and age >= 0:
                written = time.time() - age * DAY
                admin.times[tp] = RecordTime(5, TimeRange(written - 60, written))
    return admin


async def judgments(admin: ScriptedAdmin, partitions: int) -> dict[str, Judgment]:
    """Run a monitor until it has searched for record times in `partitions` partitions and found an unused group.

    Returns:
        Group id → judgment on the group (its status and problem).
    """

    def searched(snapshot: Snapshot) -> bool:
        calls = [ids for method, ids in admin.calls if method == "record_times"]
        return snapshot.swept == len(admin.groups) and sum(map(len, calls)) >= partitions

    async with watching(admin) as monitor:
        await until(monitor, searched)
        snapshot = await until(monitor, lambda s: any(s.judgment(g).kind is Problem.UNUSED for g in s.groups))
    return {group: snapshot.judgment(group) for group in admin.groups}


async def test_group_is_unused_only_if_all_unread_records_are_old() -> None:
    admin = cluster({
        "old": (3.0, 2.0, -1.0), "recent": (0.5,), "partly-recent": (3.0, 0.5), "partly-unknown": (3.0, None),
    })  # fmt: skip
    found = await judgments(admin, 7)
    assert {group: judgment.kind for group, judgment in found.items()} == {
        "old": Problem.UNUSED,
        "recent": Problem.EMPTY,
        "partly-recent": Problem.EMPTY,
        "partly-unknown": Problem.EMPTY,
    }
    assert {judgment.status for judgment in found.values()} == {GroupStatus.WARN}
    assert {judgment.reason.partition(",")[0] for judgment in found.values()} == {"Empty since before kgtui started"}


async def test_a_search_for_times_of_unread_records_is_not_repeated_soon() -> None:
    """One search finds a time for the group `old`. Another search finds no time for the group `unknown`.

    kgtui then reads the groups many more times, but does not repeat either search.
    """
    admin = cluster({"old": (3.0,), "unknown": (None,)})
    async with watching(admin) as monitor:
        await until(monitor, lambda s: s.judgment("old").kind is Problem.UNUSED)
        reads = len(admin.calls)
        await until(monitor, lambda _: len(admin.calls) > reads + 40)
    searched = [ids for method, ids in admin.calls if method == "record_times"]
    assert sorted(partition for ids in searched for partition in ids) == ["t-old-0", "t-unknown-0"]


async def test_an_unused_group_is_still_reported_as_unused_after_it_was_selected() -> None:
    admin = cluster({"old": (3.0,)})
    async with watching(admin) as monitor:
        monitor.set_view("old")
        await until(monitor, lambda s: s.judgment("old").kind is Problem.UNUSED)
        snapshot = await until(monitor, lambda s: "old" in s.health)
    assert snapshot.judgment("old").kind is Problem.UNUSED


async def test_the_monitor_stores_the_time_of_a_brokers_first_response() -> None:
    admin = cluster({"old": (3.0,)})
    async with watching(admin) as monitor:
        first = await until(monitor, lambda s: any(one.answered_at is not None for one in s.brokers.values()))
        node = next(node for node, one in first.brokers.items() if one.answered_at is not None)
        since = first.brokers[node].answered_since
        last = await until(monitor, lambda s: (s.brokers[node].answered_at or 0.0) > (since or 0.0))
    assert since == first.brokers[node].answered_at
    assert last.brokers[node].answered_since == since
