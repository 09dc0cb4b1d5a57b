"""Snapshots of a cluster with data about the health of some groups, for tests of the terminal UI."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from kgtui.model.group import GroupDescription
from kgtui.model.health import ReadHistory, health_of
from kgtui.model.offsets import CommittedOffset, GroupOffsets, PartitionBounds
from tests.pilot.app_driver import sample_snapshot
from tests.pilot.scripted_monitor import NOW

if TYPE_CHECKING:
    from kgtui.model.health import GroupHealth
    from kgtui.model.snapshot import Snapshot

Habit = Literal["well", "slow", "stuck", "new"]
READ_INTERVAL = 5.0
"""Time between two reads of a group, in seconds."""


def with_health(snapshot: Snapshot, group: str, habit: Habit, *, ago: float = 1.0) -> Snapshot:
    """Return a copy of a snapshot to which data about the health of one group is added.

    Args:
        habit: how the group behaves. `well`: it has no lag. `slow`: its lag grows. `stuck`: its committed offset never
            changes, and its lag grows. `new`: like `stuck`, but kgtui has read the group too few times for a verdict.
        ago: seconds since the last read of the group.
    """
    listing = snapshot.groups[group]
    description = GroupDescription(
        group, listing.type or "classic", listing.protocol, listing.state or "Stable", listing.coordinator
    )  # fmt: skip
    return replace(snapshot, health={**snapshot.health, group: _health(description, f"{group}-topic", habit, ago)})


def _health(description: GroupDescription, topic: str, habit: Habit, ago: float) -> GroupHealth:
    reads = ReadHistory()
    count = 4 if habit == "new" else 25
    for number in range(count):
        end = 5_000 + 100 * number
        position = {"well": end, "slow": end - 500 - 50 * number, "stuck": 4_200, "new": 4_200}[habit]
        offsets = GroupOffsets((CommittedOffset(topic, 0, position, 0),), bounds={(topic, 0): PartitionBounds(0, end)})
        reads.add(NOW - ago - READ_INTERVAL * (count - 1 - number), description, offsets)
    return health_of(reads)


def unhealthy_snapshot() -> Snapshot:
    """Return a snapshot whose `health` says that one group is stopped, one falls behind, and one is OK."""
    snapshot = with_health(sample_snapshot(), "payments.settle", "stuck")
    return with_health(with_health(snapshot, "orders.export", "slow"), "orders.enrich", "well")
