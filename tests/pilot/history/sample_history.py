"""The history of an example group, both as time series in the app's memory and as a recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.history.changes import PollResult
from kgtui.model.group import GroupDescription, Listing
from kgtui.model.members import Member
from kgtui.model.offsets import CommittedOffset, GroupOffsets, PartitionBounds
from kgtui.model.series import SeriesStore
from tests.pilot.scripted_monitor import NOW
from tests.unit.history.recording_builder import START, RecordingBuilder

if TYPE_CHECKING:
    from pathlib import Path

GROUP = "payments.settle"
POLLS = 120
"""Number of polls in the recording."""
POLL_INTERVAL = 30
"""Time between two polls of the recording, in seconds. With a gap of ten minutes, the recording covers 70 minutes."""

REBALANCES = (40, 90)
"""Indexes of the polls at which a rebalance begins. Each rebalance lasts for two polls."""

GAP = 60
"""Index of the first poll after a gap of ten minutes, during which the recorder was stopped."""


def describe(poll: int, group: str = GROUP) -> GroupDescription:
    """Return the group's description at the poll with index `poll`.

    The group starts with two members, and each rebalance adds one member.
    """
    done = sum(1 for begin in REBALANCES if poll >= begin + 2)
    busy = any(begin <= poll < begin + 2 for begin in REBALANCES)
    count = 2 + done
    members = tuple(
        Member(
            f"settle-{number}",
            f"client-{number}",
            f"/10.0.0.{number}",
            assignment=(("t", tuple(range(number, 6, count))),),
        )
        for number in range(count)
    )
    epoch = 41 + sum(1 for begin in REBALANCES if poll >= begin)
    return GroupDescription(
        group, "consumer", "consumer", "Reconciling" if busy else "Stable", 1, "uniform", epoch, epoch - busy, members,
        source="ConsumerGroupDescribe v1",
    )  # fmt: skip


def offsets(poll: int) -> GroupOffsets:
    """Return the offsets of the example group at the poll with index `poll`.

    The lag grows from the first rebalance until the second rebalance, and then shrinks.
    """
    end = 10_000 + 600 * poll
    behind = 200 + 300 * max(min(poll, REBALANCES[1]) - REBALANCES[0], 0) - 500 * max(poll - REBALANCES[1], 0)
    return GroupOffsets((CommittedOffset("t", 0, end - max(behind, 200)),), bounds={("t", 0): PartitionBounds(0, end)})


def live_samples(samples: int = POLLS, every: float = 10.0) -> SeriesStore:
    """Return the time series that the app keeps in memory, filled with samples of the example group.

    There are `samples` samples, one every `every` seconds. The last one is at the time `NOW`.
    """
    store = SeriesStore()
    for poll in range(samples):
        description, group_offsets = describe(poll), offsets(poll)
        position = group_offsets.committed[0].offset or 0
        end = (group_offsets.bounds or {})["t", 0].log_end or 0
        store.add(
            GROUP, NOW - (samples - 1 - poll) * every, end - position, len(description.members or ()),
            description=description, offsets=group_offsets,
        )  # fmt: skip
    return store


def time_of_poll(poll: int) -> float:
    """Return the time of the poll with index `poll` in the recording, in seconds since the epoch."""
    return (START + poll * POLL_INTERVAL * 1000 + (600_000 if poll >= GAP else 0)) / 1000


def record(path: Path) -> Path:
    """Write a lake (folder with recorded tables) with all polls, and return its path.

    The group `early` exists only before the gap in the recording, and the group `late` only after the gap.
    """
    recording = RecordingBuilder(path)
    for poll in range(POLLS):
        description, group_offsets = describe(poll), offsets(poll)
        groups = (GROUP, "always", "early" if poll < GAP else "late")
        listing = Listing("consumer", "consumer", description.state, 1)
        result = PollResult(
            dict.fromkeys(groups, listing), {group: describe(poll, group) for group in groups},
            dict.fromkeys(groups, group_offsets.committed), bounds=dict(group_offsets.bounds or {}),
        )  # fmt: skip
        gap = "the recording begins" if not poll else "recorder stopped" if poll == GAP else ""
        recording.poll(result, round(time_of_poll(poll) * 1000), keyframe=poll % 30 == 0, gap=gap)
    recording.flush()
    return path
