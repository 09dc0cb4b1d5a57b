"""The verdict on a partition that is read again and again: Burrow's rules on what a poller sees of the commits.

A change of the offset between two reads stands for a commit at the later one, and "unchanged since" for the time of the
last commit. What that cannot show is left out or left open:

- Commits of the same offset are not seen, so STALL is never found: it shows as STOP. Which of the two it is, the
  commits themselves tell.
- The first offset read was committed at some time before. STOP therefore asks that the offset has stood still for as
  long as a full window of commits takes: at the pace seen, or else at `Watching.commit_interval`.
- WARN asks for `Watching.enough` commits whose lag is known. Burrow counts the lag of a commit from a log end that is
  up to `Options.offset_refresh` old; here it is always that old. So a group is not blamed for records that came in
  while it worked, and lags are comparable from commit to commit however often the group commits.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from kgtui.model.health.values import Lack, PartitionHealth, Undecided
from kgtui.model.verdict import (
    Commit,
    CommitRing,
    PartitionVerdict,
    Status,
    Window,
    always_behind,
    ceased,
    lag_never_fell,
    lately_caught_up,
    rewound,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kgtui.model.health.read_history import Sample
    from kgtui.model.health.values import Watching
    from kgtui.model.offsets import PartitionLag
    from kgtui.model.verdict import Options

_EARLY = 0.9  # part of `offset_refresh` after which a log end is taken: reads come a little early or late

NO_LAG = frozenset({"no commit", "topic deleted"})
"""Reasons for an unknown lag that leave nothing open: there is nothing to read, or nothing was read yet."""


@dataclass(frozen=True, slots=True)
class Observed:
    """An observed window of one partition.

    Attributes:
        window: changes of the offset as commits, the first read among them, without a lag of its own.
        now: the newest read of the offset, in milliseconds.
        moves: how often the offset was seen to change.
        pace: milliseconds from one change to the next; None until two were seen.
    """

    window: Window
    now: int
    moves: int
    pace: float | None

    def full_window(self, watching: Watching) -> float:
        """Seconds that a full window of commits takes; as many without a commit are more than a pause."""
        commits = self.window.commits
        if len(commits) >= watching.rules.intervals:
            return (commits[-1].at - commits[0].at) / 1000
        pace = watching.commit_interval if self.pace is None else self.pace / 1000
        return (watching.rules.intervals - 1) * pace


def observe(samples: Iterable[Sample], options: Options) -> Observed:
    """The observed window of one partition, from its reads, oldest first."""
    rows = list(samples)
    told = [row for row in rows if row.log_end is not None]
    ends, times = [row.log_end or 0 for row in told], [row.at for row in told]
    moves = _moves(rows)
    ring = CommitRing(options)
    every = round(options.offset_refresh * 1000 * _EARLY)
    # Only the newest fit into the window, unless some take the place of others.
    for at, position in moves if options.min_distance else moves[-options.intervals :]:
        old = bisect_right(times, at - every)
        if old:
            ring.log_end(ends[old - 1])
        ring.commit(position, at)
    seen = len(moves) - 1
    pace = (moves[-1][0] - moves[1][0]) / (seen - 1) if seen > 1 else None
    now = next((row.at for row in reversed(rows) if row.position is not None), 0)
    # Without the newest log end there is no current lag: an older one would make it look smaller than it is.
    kept = (*_refreshed(times, ends, every)[-options.intervals :], ends[-1]) if rows and told[-1:] == rows[-1:] else ()
    return Observed(Window(ring.window().commits, kept), now, max(seen, 0), pace)


def _moves(rows: Iterable[Sample]) -> list[tuple[int, int]]:
    """Each offset with the time at which it was first seen; the first read is the first of them."""
    moves: list[tuple[int, int]] = []
    last = None
    for row in rows:
        if row.position is not None and row.position != last:
            last = row.position
            moves.append((row.at, last))
    return moves


def _refreshed(times: Sequence[int], ends: Sequence[int], every: int) -> list[int]:
    """Log ends as Burrow keeps them, one every `offset_refresh`, from reads that may come more often."""
    kept: list[int] = []
    index = 0
    while index < len(times):
        kept.append(ends[index])
        index = max(bisect_left(times, times[index] + every), index + 1)
    return kept


def judge_observed(
    row: PartitionLag, samples: Iterable[Sample], watching: Watching
) -> tuple[PartitionVerdict, PartitionHealth]:
    """The verdict on a partition of a classic, consumer or streams group.

    Args:
        row: the newest read.
        samples: every read kept, oldest first, the newest among them.
    """
    seen = observe(samples, watching.rules)
    commits = seen.window.commits
    complete = len(commits) / watching.rules.intervals
    status, undecided = Status.OK, unknown_lag(row)
    still = (seen.now - commits[-1].at) / 1000 if commits else 0.0
    lag = row.lag
    if lag is not None and lag > watching.rules.allowed_lag and complete >= watching.rules.minimum_complete:
        status, undecided = _of_lagging(seen, still, watching)
    first, last = (commits[0], commits[-1]) if commits else (None, None)
    health = PartitionHealth(
        row.topic, row.partition, status, lag, row.position, still, len(commits), complete, undecided
    )
    return PartitionVerdict(status, complete, lag, first, last), health


def _of_lagging(seen: Observed, still: float, watching: Watching) -> tuple[Status, tuple[Undecided, ...]]:
    window, commits = seen.window, seen.window.commits
    undecided: tuple[Undecided, ...] = ()
    if ceased(commits, seen.now) or not seen.moves:
        needed = seen.full_window(watching)
        if still <= needed:
            if not lately_caught_up(window):
                undecided = (Undecided(Status.STOP, Lack.TIME, needed, still),)
        elif not lately_caught_up(window):
            return Status.STOP, ()
        else:
            rules = watching.rules
            undecided = (Undecided(Status.STOP, Lack.TIME, rules.intervals * rules.offset_refresh, still),)
    if rewound(commits):
        return Status.REWIND, undecided
    if not undecided and always_behind(commits, watching.rules.allowed_lag) and lag_never_fell(commits):
        known = sum(1 for commit in commits if commit.lag is not None)
        if known >= watching.enough:
            return Status.WARN, ()
        undecided = (Undecided(Status.WARN, Lack.COMMITS, watching.enough, known),)
    return Status.OK, undecided


def unknown_lag(row: PartitionLag) -> tuple[Undecided, ...]:
    """What a lag that could not be learned leaves open."""
    if row.lag is not None or not row.reason or row.reason in NO_LAG:
        return ()
    return (Undecided(Status.ERR, Lack.LAG, why=row.reason),)


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
    moves = _share_moves(known)
    complete = min(len(known) / watching.rules.intervals, 1.0)
    status, undecided, still = Status.OK, unknown_lag(row), 0.0
    if known and row.lag is not None:
        still = _still(known, watching.rules.allowed_lag)
        if row.lag > watching.rules.allowed_lag:
            status, undecided = _of_lagging_share(known, moves, still, members, watching)
    first, last = (moves[0], moves[-1]) if moves else (None, None)
    health = PartitionHealth(
        row.topic, row.partition, status, row.lag, row.position, still, len(moves), complete, undecided
    )
    return PartitionVerdict(status, complete, row.lag, first, last), health


def _of_lagging_share(
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


def _share_moves(known: Sequence[Sample]) -> list[Commit]:
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
