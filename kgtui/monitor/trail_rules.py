"""The rules of screening that need only the trail of a group, which contains its last reads.

Screening is the quick background check of all groups. Each rule is about one problem, and yields a judgment if the
group may have this problem. A position is a committed offset or a share-partition start offset.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from kgtui.model.encoded_trail import REBALANCES_KEPT, SAMPLES
from kgtui.model.health.values import DEFAULT_WATCHING, GroupHealth
from kgtui.model.judgment import Basis, Judgment
from kgtui.model.number_format import counted
from kgtui.model.problem import GroupStatus, Problem
from kgtui.model.trail import WAITED_MAX

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kgtui.model.trail import Trail

FLAPPING_SECONDS = 1_200
"""A group is flapping if its last 3 rebalances (`REBALANCES_KEPT`) began within this many seconds.

The exact verdict requires 6 rebalances per hour, which would be 3 rebalances in 1,800 s. `FLAPPING_SECONDS` is shorter,
so that the few rebalances of a deployment do not count as flapping.
"""

CALM_AFTER = 600
"""If no rebalance happens for this many seconds, a group no longer counts as flapping."""

_WAITED = round(DEFAULT_WATCHING.window)
_PACES = 3
"""A partition with unread records counts as stopped if its offset does not change for `_PACES * Trail.pace` seconds.

`Trail.pace` is the longest recent time, in seconds, between two reads that found progress. A partition never counts as
stopped before `_WAITED` seconds, the length of the time window in Burrow's rules.
"""


def not_moving(trail: Trail) -> Iterator[Judgment]:
    """Yield `Problem.STOP` if the committed offset in a partition with unread records has not moved for too long."""
    # `Trail.waited` has one number per partition: 0 if the partition has no unread records; otherwise 1 + the seconds
    # for which it has had unread records, and its committed offset has not changed.
    # The limit is below the longest time that a trail can store, so that a group can always count as stopped.
    longest, limit = max(trail.waited, default=0) - 1, max(_WAITED, min(_PACES * trail.pace, WAITED_MAX - 2))
    if longest <= limit:
        return
    stuck = [number for number, waited in enumerate(trail.waited) if waited - 1 > limit]
    every = len(trail.waited)
    partitions = f"{len(stuck):,} of {counted(every, 'partition')}" if every > 1 else "the partition"
    why = f"no progress on {partitions}, {trail.samples[-1].lag:,} unread"
    began = trail.at - longest
    seen = longest < WAITED_MAX - 1 and began > trail.first_at
    if len(stuck) == every and trail.progress_at:
        began, seen = trail.progress_at, True
    yield judgment_of_screening(GroupStatus.ERR, Problem.STOP, why, began, seen=seen)


def moved_backward(trail: Trail) -> Iterator[Judgment]:
    """Yield `Problem.REWIND` if a committed offset moved backward and has not reached its previous value again."""
    if trail.rewound_at:
        why = "the offset of the group in a partition went back"
        yield judgment_of_screening(GroupStatus.ERR, Problem.REWIND, why, trail.rewound_at)


def flapping(trail: Trail, now: float) -> Iterator[Judgment]:
    """Yield `Problem.FLAPPING` if the last `REBALANCES_KEPT` rebalances began within `FLAPPING_SECONDS`.

    Yield nothing if the last rebalance began more than `CALM_AFTER` seconds ago.

    Args:
        now: current time, in seconds since the epoch.
    """
    first, last = trail.rebalanced_at[0], trail.rebalanced_at[-1]
    if first and last - first <= FLAPPING_SECONDS and now - last <= CALM_AFTER:
        why = f"at least {REBALANCES_KEPT} rebalances within {FLAPPING_SECONDS // 60} min"
        yield judgment_of_screening(GroupStatus.WARN, Problem.FLAPPING, why, first)


def growing(trail: Trail) -> Iterator[Judgment]:
    """Yield `Problem.BEHIND` if the lag grew in each of the last `SAMPLES` reads, and older records are still unread.

    Older records are those that were written before these reads. Like the exact verdict, the rule ignores a lag that
    has grown by only a small fraction of the records that were written between the first and the last of these reads.
    """
    samples = trail.samples
    if len(samples) < SAMPLES or any(sample.unknown for sample in samples):
        return
    first, last = samples[0], samples[-1]
    grown, written = last.lag - first.lag, last.log_ends - first.log_ends
    if grown <= GroupHealth.GROWS_BY * written:
        return
    if last.positions < first.log_ends and all(after.lag > before.lag for before, after in pairwise(samples)):
        why = f"the lag grew by {grown:,} in {last.at - first.at} s, {last.lag:,} unread"
        yield judgment_of_screening(GroupStatus.WARN, Problem.BEHIND, why, first.at, seen=False)


def without_partitions(trail: Trail) -> Iterator[Judgment]:
    """Yield `Problem.NO_PARTITIONS` if the last two descriptions have members, but no member has a partition."""
    if trail.idle > 1:
        yield judgment_of_screening(GroupStatus.WARN, Problem.NO_PARTITIONS, "no member has a partition")


def judgment_of_screening(
    status: GroupStatus, kind: Problem, reason: str, since: float | None = None, *, seen: bool = True
) -> Judgment:
    """Return a judgment with `Basis.SCREENED` for a group that may have a problem.

    Args:
        kind: the problem.
        since: when the problem began, in seconds since the epoch, or None.
        seen: whether kgtui observed the start of the problem. If not, the problem may have begun before `since`.
    """
    return Judgment(status, kind, Basis.SCREENED, 0.0, since, seen and since is not None, reason)
