"""The verdict on a share partition: a rule of its own, because share groups commit nothing (KIP-932, KIP-1226).

It goes by the share-partition start offset (SPSO) and the lag that the broker tells, over the reads kept, in order:

1. The lag is not known, or the share partition was never initialised: OK, and the former is left open.
2. The lag is no more than allowed: OK.
3. For longer than a full window of commits would take (`Watching.window`) the SPSO has not moved and the lag has never
   fallen and never been allowed: nothing was acknowledged. STALL if the group has members, else STOP.
4. The SPSO went back and has not come back since (Burrow's REWIND, on the last `intervals` SPSOs seen): REWIND.
5. Over that same time the lag was always more than allowed, never fell and grew, and the SPSO is still before where the
   log ended when that time began: the group has not got through what was waiting then: WARN.
6. Else OK.

The last condition of 5 is there because a share group is always a little behind, by what is in flight: when traffic
swells its lag grows, and all is well.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from kgtui.model.health.observed import unknown_lag
from kgtui.model.health.values import Lack, PartitionHealth, Undecided
from kgtui.model.verdict import Commit, PartitionVerdict, Status, rewound

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgtui.model.health.samples import Sample
    from kgtui.model.health.values import Watching
    from kgtui.model.offsets import PartitionLag


def judge_share(
    row: PartitionLag, samples: Sequence[Sample], members: int | None, watching: Watching
) -> tuple[PartitionVerdict, PartitionHealth]:
    """The verdict on one share partition.

    Args:
        row: the newest read.
        samples: every read kept, oldest first, the newest among them.
        members: how many members the group has; None when not known, which counts as some.
    """
    known = [sample for sample in samples if sample.position is not None and sample.lag is not None]
    moves = _moves(known)
    complete = min(len(known) / watching.rules.intervals, 1.0)
    status, undecided, still = Status.OK, unknown_lag(row), 0.0
    if known and row.lag is not None:
        still = _still(known, watching.rules.allowed_lag)
        if row.lag > watching.rules.allowed_lag:
            status, undecided = _of_lagging(known, moves, still, members, watching)
    first, last = (moves[0], moves[-1]) if moves else (None, None)
    health = PartitionHealth(
        row.topic, row.partition, status, row.lag, row.position, still, len(moves), complete, undecided
    )
    return PartitionVerdict(status, complete, row.lag, first, last), health


def _of_lagging(
    known: Sequence[Sample], moves: Sequence[Commit], still: float, members: int | None, watching: Watching
) -> tuple[Status, tuple[Undecided, ...]]:
    standstill = Status.STOP if members == 0 else Status.STALL
    if still > watching.window:
        return standstill, ()
    undecided: tuple[Undecided, ...] = ()
    seen = (known[-1].at - known[0].at) / 1000
    if still >= seen:  # it never moved, as far as was seen
        undecided = (Undecided(standstill, Lack.TIME, watching.window, still),)
    if rewound(moves[-watching.rules.intervals :]):
        return Status.REWIND, undecided
    if not undecided and _falls_behind(known, watching):
        if seen >= watching.window:
            return Status.WARN, ()
        undecided = (Undecided(Status.WARN, Lack.TIME, watching.window, seen),)
    return Status.OK, undecided


def _moves(known: Sequence[Sample]) -> list[Commit]:
    """Each SPSO with the time at which it was first seen."""
    moves: list[Commit] = []
    for sample in known:
        if sample.position is not None and (not moves or sample.position != moves[-1].offset):
            moves.append(Commit(sample.position, sample.at, sample.lag))
    return moves


def _still(known: Sequence[Sample], allowed_lag: int) -> float:
    """Seconds for which nothing was acknowledged."""
    since = known[-1].at
    for before, after in reversed(list(pairwise(known))):
        if before.position != after.position or _lag(after) < _lag(before) or _lag(before) <= allowed_lag:
            break
        since = before.at
    return (known[-1].at - since) / 1000


def _falls_behind(known: Sequence[Sample], watching: Watching) -> bool:
    """Whether the lag grew and never fell over a full window, and what waited at its start still waits."""
    start = known[-1].at - watching.window * 1000
    older = [number for number, sample in enumerate(known) if sample.at <= start]
    recent = known[older[-1] :] if older else known
    first, last = recent[0], recent[-1]
    return (
        first.log_end is not None
        and last.position is not None
        and last.position < first.log_end
        and _lag(last) > _lag(first)
        and all(_lag(sample) > watching.rules.allowed_lag for sample in recent)
        and all(_lag(after) >= _lag(before) for before, after in pairwise(recent))
    )


def _lag(sample: Sample) -> int:
    return sample.lag or 0
