"""Tests of counting lost records: records that were deleted from the log before the group had read them.

Their number in a partition is the log start offset minus the committed offset.
"""

from __future__ import annotations

import pytest

from kgtui.admin.groups_read import GroupsRead
from kgtui.model.offsets import CommittedOffset, PartitionBounds, positions_of
from kgtui.model.trail import Trail
from kgtui.monitor.lost_records import LogStartCheck, compare_with_log_starts
from tests.scripted import ScriptedAdmin
from tests.unit.monitor.watching import until, watching

T0 = 1_700_000_000


async def checks(reads: list[tuple[int, int]], log_start: int = 0, log_end: int = 1_000) -> list[LogStartCheck | None]:
    """Read a group several times. At each read, compare the group's committed offset with the log start offset.

    Return one result per read. A result is None if kgtui did not request the log start offset.

    Args:
        reads: `(seconds since the first read, committed offset)`.
    """
    admin, trail, found = ScriptedAdmin(), Trail(), []
    admin.bounds["t", 0] = PartitionBounds(log_start, log_end)
    for seconds, offset in reads:
        read = GroupsRead(committed={"g": (CommittedOffset("t", 0, offset),)})
        read.bounds["t", 0] = PartitionBounds(None, log_end)
        trail.add(T0 + seconds, positions_of(read.committed["g"], (), read.bounds))
        before = len(admin.calls)
        compared = await compare_with_log_starts(admin, {"g": trail}, read, timeout=5)
        found.append(compared["g"] if len(admin.calls) > before else None)
    return found


@pytest.mark.parametrize(
    ("position", "log_start", "near"), [(499, 0, True), (500, 0, False), (740, 500, True), (1_000, 500, None)]
)
async def test_older_half_of_log_counts_as_near_log_start(position: int, log_start: int, near: bool | None) -> None:
    """If `near` is None, the group has no unread records, so kgtui does not read the log start offset."""
    first, second = await checks([(0, position - 1), (15, position)], log_start)
    assert first is None
    assert second == (None if near is None else LogStartCheck(0, near))


async def test_log_start_offsets_of_groups_with_progress_are_read_every_two_minutes() -> None:
    """kgtui reads the group 20 times, every 15 s, and finds progress each time.

    It requests the log start offset at the second read, and then 120 s and 240 s after the first read.
    """
    found = await checks([(15 * number, 10 + number) for number in range(20)])
    assert [number for number, row in enumerate(found) if row is not None] == [1, 8, 16]


async def test_lost_records_are_counted_at_each_read_without_progress() -> None:
    """The committed offset stays at 10, and the log start offset is 14, so four records are lost."""
    found = await checks([(0, 10), (15, 10), (30, 10)], log_start=14)
    assert [row.lost if row is not None else None for row in found] == [None, 4, 4]


async def test_group_with_offset_near_the_log_start_gets_a_health_verdict() -> None:
    """Retention could soon delete the group's unread records, so kgtui reads the group at every poll.

    After a few of these reads, kgtui computes a health verdict.
    """
    admin = ScriptedAdmin()
    admin.add("g", "consumer")
    admin.commits["g"] = (CommittedOffset("t-g", 0, 10),)
    admin.bounds["t-g", 0] = PartitionBounds(0, 1_000)
    async with watching(admin) as monitor:
        snapshot = await until(monitor, lambda s: "g" in s.health)
    assert snapshot.judgment("g").kind is None


async def test_read_without_some_partitions_is_not_compared_with_log_starts() -> None:
    """The broker may have left out a partition by mistake, so kgtui ignores the first read with fewer partitions."""
    admin, trail = ScriptedAdmin(), Trail()
    for partition in (0, 1):
        admin.bounds["t", partition] = PartitionBounds(0, 1_000)
    results = []
    for number, partitions in enumerate([2, 2, 2, 1]):
        commits = tuple(CommittedOffset("t", partition, 10) for partition in range(partitions))
        read = GroupsRead(committed={"g": commits})
        read.bounds.update({("t", partition): PartitionBounds(None, 1_000) for partition in range(partitions)})
        trail.add(T0 + 15 * number, positions_of(commits, (), read.bounds))
        results.append(await compare_with_log_starts(admin, {"g": trail}, read, timeout=5))
    assert "g" in results[2]
    assert results[3] == {}
