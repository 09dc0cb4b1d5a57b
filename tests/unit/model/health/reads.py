"""Helpers for tests of group health. They create descriptions, offsets, samples and read histories of a group `g`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kgtui.model.group import GroupDescription
from kgtui.model.health import ReadHistory
from kgtui.model.health.read_history import Sample
from kgtui.model.health.values import DEFAULT_WATCHING
from kgtui.model.offsets import CommittedOffset, GroupOffsets, PartitionBounds, ShareOffset
from tests.scripted import member

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kgtui.model.health import GroupHealth, Watching
    from kgtui.model.members import Member

T0 = 1_000_000.0
"""Time of the first read in every test, in seconds since the epoch."""


def described(
    state: str = "Stable",
    group_type: str = "consumer",
    *,
    members: tuple[Member, ...] | None = (member(topics=("t",)),),
    epoch: int | None = None,
    assignment_epoch: int | None = None,
) -> GroupDescription:
    return GroupDescription(
        "g", group_type, "consumer", state, 1, group_epoch=epoch, assignment_epoch=assignment_epoch, members=members
    )


def offsets(
    *partitions: tuple[int | None, int | None], starts: Sequence[int | None] = (), topic: str = "t"
) -> GroupOffsets:
    """Return the offsets of a group in one topic. None stands for an unknown offset.

    Args:
        partitions: `(committed offset, log end offset)` of each partition.
        starts: log start offset of each partition, by default 0.
    """
    commits, bounds = [], {}
    for number, (committed, log_end) in enumerate(partitions):
        commits.append(CommittedOffset(topic, number, committed))
        start = starts[number] if number < len(starts) else 0
        bounds[topic, number] = PartitionBounds(start, log_end)
    return GroupOffsets(tuple(commits), (), bounds)


def shares(*partitions: tuple[int | None, int | None, int | None], topic: str = "t") -> GroupOffsets:
    """Return the share offsets of a group.

    Each argument is `(start offset, lag, log end offset)` of one partition. An unknown value is None.
    """
    rows = tuple(ShareOffset(topic, number, start, 0, lag) for number, (start, lag, _) in enumerate(partitions))
    return GroupOffsets((), rows, {(topic, n): PartitionBounds(0, end) for n, (_, _, end) in enumerate(partitions)})


def watch(
    reads: Iterable[GroupOffsets | None],
    every: float = 5.0,
    *,
    description: GroupDescription | None = None,
    watching: Watching = DEFAULT_WATCHING,
) -> ReadHistory:
    """Return the history of a group that was read every `every` seconds, beginning at `T0`.

    If an item of `reads` is None, this read failed. By default, the group is a Stable consumer group with one member.
    """
    history = ReadHistory(watching)
    for number, read in enumerate(reads):
        description_read = None if read is None else description or described()
        history.add(T0 + number * every, description_read, read, fault=read is None)
    return history


def samples(*rows: tuple[float, int | None, int | None, int | None]) -> list[Sample]:
    """Return samples (the offsets of one partition at several reads).

    Each row is `(seconds after T0, committed offset, log end offset, log start offset)`.
    """
    return [
        Sample(
            round((T0 + at) * 1000),
            position,
            log_end,
            log_start,
            None if position is None or log_end is None else max(log_end - position, 0),
        )
        for at, position, log_end, log_start in rows
    ]


def kinds(health: GroupHealth) -> list[tuple[str, str]]:
    """Return `(status, missing data)` for each status that cannot be decided yet.

    `("STOP", "time")` means that the group was watched too briefly to decide whether it has stopped.
    """
    return [(one.status.name, one.lack.value) for one in health.undecided]
