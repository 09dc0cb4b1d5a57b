"""Groups that were watched for a while, for tests of what the UI makes of their health."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from kgtui.model.group import GroupDescription
from kgtui.model.health import ReadHistory, health_of
from kgtui.model.offsets import CommittedOffset, GroupOffsets, PartitionBounds
from tests.pilot.shell import company
from tests.pilot.watching import NOW

if TYPE_CHECKING:
    from kgtui.model.health import GroupHealth
    from kgtui.model.snapshot import Snapshot

Habit = Literal["well", "slow", "stuck", "new"]
EVERY = 5.0


def judged(snapshot: Snapshot, group: str, habit: Habit, *, ago: float = 1.0) -> Snapshot:
    """The snapshot with the health of a group that was read every 5 s, until `ago` seconds before it."""
    listing = snapshot.groups[group]
    description = GroupDescription(
        group, listing.type or "classic", listing.protocol, listing.state or "Stable", listing.coordinator
    )  # fmt: skip
    return replace(snapshot, health={**snapshot.health, group: _health(description, f"{group}-topic", habit, ago)})


def _health(description: GroupDescription, topic: str, habit: Habit, ago: float) -> GroupHealth:
    seen = ReadHistory()
    count = 4 if habit == "new" else 25
    for number in range(count):
        end = 5_000 + 100 * number
        position = {"well": end, "slow": end - 500 - 50 * number, "stuck": 4_200, "new": 4_200}[habit]
        offsets = GroupOffsets((CommittedOffset(topic, 0, position, 0),), bounds={(topic, 0): PartitionBounds(0, end)})
        seen.add(NOW - ago - EVERY * (count - 1 - number), description, offsets)
    return health_of(seen)


def hard_times() -> Snapshot:
    """One group is stuck, one too slow, one well; of the others nobody knows."""
    snapshot = judged(company(), "payments.settle", "stuck")
    return judged(judged(snapshot, "orders.export", "slow"), "orders.enrich", "well")
