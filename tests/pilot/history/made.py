"""A group's history made by hand: a session's samples, and a recording with a lively day."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.history.changes import PollResult
from kgtui.model.group import GroupDescription, Listing
from kgtui.model.members import Member
from kgtui.model.offsets import CommittedOffset, GroupOffsets, PartitionBounds
from kgtui.model.series import SeriesStore
from tests.pilot.watching import NOW
from tests.unit.history.recording_builder import START, RecordingBuilder

if TYPE_CHECKING:
    from pathlib import Path

GROUP = "payments.settle"
POLLS = 120
EVERY = 30
"""Seconds from poll to poll: an hour in all."""

REBALANCES = (40, 90)
"""Polls at which a rebalance begins; it takes two."""

GAP = 60
"""The poll before which the recorder stood still for ten minutes."""


def describe(poll: int, group: str = GROUP) -> GroupDescription:
    """The group at a poll: a member more after each rebalance."""
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
    """Written evenly, read slower between the rebalances."""
    end = 10_000 + 600 * poll
    behind = 200 + 300 * max(min(poll, REBALANCES[1]) - REBALANCES[0], 0) - 500 * max(poll - REBALANCES[1], 0)
    return GroupOffsets((CommittedOffset("t", 0, end - max(behind, 200)),), bounds={("t", 0): PartitionBounds(0, end)})


def session(samples: int = POLLS, every: float = 10.0) -> SeriesStore:
    """Samples of a session that ends now."""
    store = SeriesStore()
    for poll in range(samples):
        told, lag = describe(poll), offsets(poll)
        position = lag.committed[0].offset or 0
        end = (lag.bounds or {})["t", 0].log_end or 0
        store.add(
            GROUP, NOW - (samples - 1 - poll) * every, end - position, len(told.members or ()), description=told,
            offsets=lag,
        )  # fmt: skip
    return store


def seconds(poll: int) -> float:
    """When a poll of the recording was taken."""
    return (START + poll * EVERY * 1000 + (600_000 if poll >= GAP else 0)) / 1000


def record(path: Path) -> Path:
    """A lake of an hour with two rebalances, a gap, and groups that come and go."""
    recording = RecordingBuilder(path)
    for poll in range(POLLS):
        told = describe(poll)
        groups = {GROUP: told, "always": told, ("early" if poll < GAP else "late"): told}
        lag = offsets(poll)
        listing = Listing("consumer", "consumer", told.state, 1)
        seen = PollResult(
            dict.fromkeys(groups, listing), {group: describe(poll, group) for group in groups},
            dict.fromkeys(groups, lag.committed), bounds=dict(lag.bounds or {}),
        )  # fmt: skip
        gap = "the recording begins" if not poll else "recorder stopped" if poll == GAP else ""
        recording.poll(seen, round(seconds(poll) * 1000), keyframe=poll % 30 == 0, gap=gap)
    recording.flush()
    return path
