"""Tests that committed offsets of simulated groups never decrease, and cause the intended health verdicts in kgtui."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kgtui.model.burrow import Status
from kgtui.model.group import GroupDescription
from kgtui.model.group_types import SHARE
from kgtui.model.health import ReadHistory, health_of
from kgtui.model.members import Member
from kgtui.model.offsets import CommittedOffset, GroupOffsets, PartitionBounds, ShareOffset
from kgtui.simulator.commit_patterns import Batch, BelowLogStart, Halted, Lagging, Steady, Stuck
from kgtui.simulator.generated_groups import DELETED, GeneratedGroups
from kgtui.simulator.groups.base import ConsumedTopic, Group
from kgtui.simulator.groups.classic import ClassicGroup
from kgtui.simulator.groups.share import ShareGroup
from kgtui.simulator.membership import ConstantMembership
from kgtui.simulator.topics import Topic

if TYPE_CHECKING:
    from kgtui.simulator.commit_patterns import CommitPattern

TYPES = ("classic", "consumer", "share", "streams")


def offsets(group: Group, t: float) -> GroupOffsets:
    bounds = {
        (read.topic.name, partition): PartitionBounds(start, end)
        for read in group.topics_read
        for partition, (start, end) in enumerate(
            zip(read.topic.log_starts(t), read.topic.log_ends(t), strict=True)
        )
    }  # fmt: skip
    if isinstance(group, ShareGroup):
        return GroupOffsets(share=tuple(_shared(group, t)), bounds=bounds)
    committed = tuple(
        CommittedOffset(read.topic.name, partition, offset, 0)
        for read, pairs in group.commits(t)
        for partition, offset in pairs
    )
    return GroupOffsets(committed, bounds=bounds)


def _shared(group: ShareGroup, t: float) -> list[ShareOffset]:
    return [
        ShareOffset(read.topic.name, partition, start, 0, max(end - start, 0))
        for read in group.topics_read
        for partition, (start, end) in enumerate(
            zip(read.commits.committed_offsets(read.topic, t), read.topic.log_ends(t), strict=True)
        )
        if start is not None
    ]


def described(group: Group, t: float) -> GroupDescription:
    members = tuple(Member(str(slot.number), "client", "host") for slot in group.membership(t).slots)
    return GroupDescription(group.name, group.type, group.protocol, group.state(t), 1, members=members, source="")


def test_committed_offsets_of_generated_groups_never_decrease() -> None:
    """The offsets do not decrease during a rebalance, while a group has no members, or when members return."""
    generated = GeneratedGroups(150, seed=3, partitions=2, churn=0.05, types=TYPES)
    newest: dict[tuple[str, str, int], int] = {}
    states: set[str] = set()
    for step in range(150):
        t = step * 2.0
        generated.advance_to(t)
        for name, index in generated.index.items():
            assert generated.states[index] != DELETED
            group = generated.group(index)
            states.add(group.state(t))
            group_offsets = offsets(group, t)
            for topic, partition, position in [
                *((row.topic, row.partition, row.offset) for row in group_offsets.committed),
                *((row.topic, row.partition, row.start_offset) for row in group_offsets.share),
            ]:
                assert position is not None
                assert position >= newest.get((name, topic, partition), 0), (name, t, group.state(t))
                newest[name, topic, partition] = position
    assert {"Empty", "Stable", "PreparingRebalance"} <= states


def test_a_halted_group_keeps_the_offsets_that_it_committed_before_the_halt() -> None:
    topic = Topic("t", partitions=2)
    halted = Halted(Steady(), 100.0)
    assert halted.committed_offsets(topic, 500.0) == Steady().committed_offsets(topic, 100.0)
    offsets_then = Steady().committed_offsets(topic, 100.0)
    assert all(
        later > before for later, before in zip(Steady().committed_offsets(topic, 500.0), offsets_then, strict=True)
    )


@pytest.mark.parametrize(
    ("commits", "members", "verdict"),
    [
        (Steady(), 2, Status.OK),
        (Steady(30.0), 2, Status.OK),
        (Batch(), 2, Status.OK),
        (Lagging(4_000, 0.7), 2, Status.WARN),
        (Stuck(12_000), 2, Status.STOP),
        (BelowLogStart(2_000), 2, Status.STOP),
        (Halted(Steady(), 0.0), 0, Status.STOP),
    ],
)
def test_groups_get_the_health_verdict_that_fits_their_commit_pattern(
    commits: CommitPattern, members: int, verdict: Status
) -> None:
    topic = Topic("t", partitions=2, rate=6.0, kept=60_000)
    group = ClassicGroup("g", ConstantMembership(members), (ConsumedTopic(topic, commits),))
    assert _verdict(group) is verdict


def test_share_group_that_keeps_up_has_the_verdict_ok() -> None:
    group = ShareGroup("g", ConstantMembership(2), (ConsumedTopic(Topic("t", partitions=2)),))
    assert group.type == SHARE
    assert _verdict(group) is Status.OK


def _verdict(group: Group) -> Status:
    history = ReadHistory()
    for step in range(80):
        t = 600.0 + step * 2.0
        history.add(1e9 + t, described(group, t), offsets(group, t))
    return health_of(history).kind
