"""Computes health verdicts from polled offsets: by Burrow's rules, or for share groups by a separate rule.

Burrow's rules judge commits, but kgtui only polls committed offsets. In classic, consumer and streams groups, a
committed offset that differs from the one in the previous poll counts as one commit. Polling misses some commits, which
has these consequences:

- kgtui cannot see that a group commits the same offset again and again. It therefore reports STOP instead of STALL.
- The first observed offset was committed at an unknown time. STOP therefore requires that the offset has not changed
  for as long as a full window of commits takes.
- WARN requires at least `Watching.enough` commits with a known lag. Each lag is computed from a log end offset that is
  about `Options.offset_refresh` seconds old, as in Burrow.

Share groups have no commits (KIP-932, KIP-1226). Their rule uses the share-partition start offset (SPSO) and the
reported lag. The first condition that applies decides:

1. The lag is not known, or the share partition was never initialized: OK. An unknown lag may hide a problem, so ERR can
   be in `PartitionHealth.undecided` (the worse verdicts that kgtui cannot exclude).
2. The lag is at most `allowed_lag`: OK.
3. Nothing was acknowledged for longer than `Watching.window` seconds, although the lag was above `allowed_lag`: STALL
   if the group has members, otherwise STOP.
4. The SPSO went back, and has not reached its previous value again: REWIND.
5. In the last `Watching.window` seconds, the lag was always above `allowed_lag`, has grown and never fell, and some
   records that were in the log at the start of this period are still unread: WARN.
6. Otherwise: OK.

A growing lag alone is not enough for condition 5. The lag includes the records in flight (delivered but not yet
acknowledged), whose number grows with the traffic, even if the group keeps up.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from statistics import median
from typing import TYPE_CHECKING

from kgtui.model.burrow import (
    Commit,
    CommitRing,
    PartitionVerdict,
    Status,
    Window,
    always_behind,
    ceased,
    lag_never_fell,
    lately_caught_up,
    rewind,
)
from kgtui.model.health.values import Lack, PartitionHealth, Rewind, Undecided

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kgtui.model.burrow import Options
    from kgtui.model.health.read_history import Sample
    from kgtui.model.health.values import Watching
    from kgtui.model.offsets import PartitionLag

_EARLY = 0.9
"""Factor for the minimum age of the log end offset from which the lag of a commit is computed.

At the time of the commit, kgtui must have read the log end offset at least `Options.offset_refresh` times this factor
ago. The factor is below 1, because the times between kgtui's reads vary a little.
"""

_USUAL = 12
"""Number of newest reads of a partition from which the usual time between two reads is computed, as the median."""

NO_LAG = frozenset({"no commit", "topic deleted"})
"""Harmless reasons for an unknown lag (`PartitionLag.reason`). A partition with one of these reasons is OK."""


@dataclass(frozen=True, slots=True)
class Observed:
    """The last commits of a group in one partition, derived from polled offsets.

    Attributes:
        window: input for Burrow's rules: the last commits and log end offsets. The first observed
            offset and each observed change of the offset count as a commit. The lag of the first
            observed offset is usually unknown.
        now: time of the last read of the committed offset, in epoch milliseconds.
        moves: number of observed changes of the offset.
        pace: mean milliseconds between two observed changes of the offset; None if there were fewer than two changes.
    """

    window: Window
    now: int
    moves: int
    pace: float | None

    def full_window(self, watching: Watching) -> float:
        """Return how many seconds pass from the first to the last commit of a full window.

        A full window has `Options.intervals` commits. If there are fewer commits, the time is estimated from `pace`, or
        from `Watching.commit_interval` if `pace` is None.
        """
        commits = self.window.commits
        if len(commits) >= watching.rules.intervals:
            return (commits[-1].at - commits[0].at) / 1000
        pace = watching.commit_interval if self.pace is None else self.pace / 1000
        return (watching.rules.intervals - 1) * pace


def observe(samples: Iterable[Sample], options: Options) -> Observed:
    """Derive the last commits in one partition from `samples`: kgtui's reads of the partition, oldest first."""
    rows = list(samples)
    with_end = [row for row in rows if row.log_end is not None]
    ends, times = [row.log_end or 0 for row in with_end], [row.at for row in with_end]
    moves = _moves(rows)
    ring = CommitRing(options)
    every = round(options.offset_refresh * 1000 * _EARLY)
    # Burrow's rules use only the last `intervals` commits, so normally, older changes of the offset are not needed. But
    # if `min_distance` is set, several changes may be merged into one commit, so all changes are added.
    for at, position in moves if options.min_distance else moves[-options.intervals :]:
        old = bisect_right(times, at - every)
        if old:
            ring.log_end(ends[old - 1])
        ring.commit(position, at)
    changes = len(moves) - 1
    pace = (moves[-1][0] - moves[1][0]) / (changes - 1) if changes > 1 else None
    now = next((row.at for row in reversed(rows) if row.position is not None), 0)
    # If the newest read has no log end offset, the window gets no log end offsets at all. With only older log end
    # offsets, the lag would look too small.
    kept = _recent_ends(times, ends, every, options.intervals) if rows and with_end[-1:] == rows[-1:] else ()
    return Observed(Window(ring.window().commits, kept), now, max(changes, 0), pace)


def _moves(rows: Iterable[Sample]) -> list[tuple[int, int]]:
    """Return `(time, offset)` for the first known offset, and for each later read with a changed offset.

    Times are in milliseconds since the epoch.
    """
    moves: list[tuple[int, int]] = []
    last = None
    for row in rows:
        if row.position is not None and row.position != last:
            last = row.position
            moves.append((row.at, last))
    return moves


def _recent_ends(times: Sequence[int], ends: Sequence[int], every: int, intervals: int) -> tuple[int, ...]:
    """Return the last log end offsets for a window, oldest first. The newest one is always included.

    Log end offsets from long ago are left out. Otherwise, a group that stopped hours ago would seem to have caught up
    recently, because its offset is not below these old log end offsets.

    Args:
        times: times of the reads in milliseconds, ascending.
        ends: log end offset at each of these times.
        every: minimum milliseconds between two of the returned offsets.
        intervals: maximum number of returned offsets, besides the newest one.
    """
    kept: list[int] = []
    index = 0
    while index < len(times):
        kept.append(index)
        index = max(bisect_left(times, times[index] + every), index + 1)
    usual = max(median(after - before for before, after in pairwise(times[-_USUAL:])) if len(times) > 1 else every, 1)
    oldest = times[-1] - intervals * usual * ceil(every / usual) - usual
    return (*(ends[index] for index in kept[-intervals:] if times[index] >= oldest), ends[-1])


def judge_observed(
    row: PartitionLag, samples: Iterable[Sample], watching: Watching
) -> tuple[PartitionVerdict, PartitionHealth]:
    """Return the verdict on a partition of a classic, consumer or streams group, and the health of the partition.

    Args:
        row: newest offsets and lag of the partition.
        samples: one sample per read of the partition, oldest first, including the newest.
    """
    observed = observe(samples, watching.rules)
    commits = observed.window.commits
    complete = len(commits) / watching.rules.intervals
    status, undecided = Status.OK, unknown_lag(row)
    still = (observed.now - commits[-1].at) / 1000 if commits else 0.0
    lag = row.lag
    # Without observed commits, the status is OK even if a lag is known. This happens when a group of another type has
    # just replaced a share group with the same id: the known lag is still that of the share group.
    if commits and lag is not None and lag > watching.rules.allowed_lag and complete >= watching.rules.minimum_complete:
        status, undecided = _of_lagging(observed, still, watching)
    first, last = (commits[0], commits[-1]) if commits else (None, None)
    health = PartitionHealth(
        row.topic, row.partition, status, lag, row.position, still, len(commits), complete, undecided,
        rate=_rate(commits, observed.now), rewind=_rewind(status, commits),
    )  # fmt: skip
    return PartitionVerdict(status, complete, lag, first, last), health


def _rate(commits: Sequence[Commit], now: int) -> float | None:
    """Return how many records per second the group has read on average since the first commit in `commits`.

    The result is None if there are no commits, or if no time has passed since the first one.

    Args:
        now: time of the newest read, in epoch milliseconds.
    """
    seconds = (now - commits[0].at) / 1000 if commits else 0.0
    return max(commits[-1].offset - commits[0].offset, 0) / seconds if seconds > 0 else None


def _rewind(status: Status, commits: Sequence[Commit]) -> Rewind | None:
    found = rewind(commits) if status is Status.REWIND else None
    return None if found is None else Rewind(found[1].at / 1000, found[0].offset, found[1].offset)


def _of_lagging(observed: Observed, still: float, watching: Watching) -> tuple[Status, tuple[Undecided, ...]]:
    window, commits = observed.window, observed.window.commits
    undecided: tuple[Undecided, ...] = ()
    if ceased(commits, observed.now) or not observed.moves:
        needed = observed.full_window(watching)
        if still <= needed:
            if not lately_caught_up(window):
                undecided = (Undecided(Status.STOP, Lack.TIME, needed, still),)
        elif not lately_caught_up(window):
            return Status.STOP, ()
        else:
            rules = watching.rules
            undecided = (Undecided(Status.STOP, Lack.TIME, rules.intervals * rules.offset_refresh, still),)
    if rewind(commits) is not None:
        return Status.REWIND, undecided
    if not undecided and always_behind(commits, watching.rules.allowed_lag) and lag_never_fell(commits):
        known = sum(1 for commit in commits if commit.lag is not None)
        if known >= watching.enough:
            return Status.WARN, ()
        undecided = (Undecided(Status.WARN, Lack.COMMITS, watching.enough, known),)
    return Status.OK, undecided


def unknown_lag(row: PartitionLag) -> tuple[Undecided, ...]:
    """Return a possible ERR if the lag of a partition is unknown, because an unknown lag may hide a problem.

    kgtui can neither confirm nor exclude this ERR. The result is an empty tuple if the lag is known, or if it is
    unknown for a harmless reason (`NO_LAG`).
    """
    if row.lag is not None or not row.reason or row.reason in NO_LAG:
        return ()
    return (Undecided(Status.ERR, Lack.LAG, why=row.reason),)


def judge_share(
    row: PartitionLag, samples: Sequence[Sample], members: int | None, watching: Watching
) -> tuple[PartitionVerdict, PartitionHealth]:
    """Return the verdict on one share partition, and the health of this partition.

    Args:
        row: newest offsets and lag of the partition.
        samples: one sample per read of the partition, oldest first, including the newest.
        members: number of members of the group; None (unknown) counts as at least one.
        watching: settings for the verdict, such as the allowed lag, and the longest acceptable time without progress.
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
        row.topic, row.partition, status, row.lag, row.position, still, len(moves), complete, undecided,
        rate=_rate(moves, known[-1].at) if known else None,
        rewind=_rewind(status, moves[-watching.rules.intervals :]),
    )  # fmt: skip
    return PartitionVerdict(status, complete, row.lag, first, last), health


def _of_lagging_share(
    known: Sequence[Sample], moves: Sequence[Commit], still: float, members: int | None, watching: Watching
) -> tuple[Status, tuple[Undecided, ...]]:
    standstill = Status.STOP if members == 0 else Status.STALL
    if still > watching.window:
        return standstill, ()
    undecided: tuple[Undecided, ...] = ()
    watched = (known[-1].at - known[0].at) / 1000
    if still >= watched:
        # kgtui has not observed any progress yet. The group may have stopped long ago, but this is not certain.
        undecided = (Undecided(standstill, Lack.TIME, watching.window, still),)
    if rewind(moves[-watching.rules.intervals :]) is not None:
        return Status.REWIND, undecided
    if not undecided and _falls_behind(known, watching):
        if watched >= watching.window:
            return Status.WARN, ()
        undecided = (Undecided(Status.WARN, Lack.TIME, watching.window, watched),)
    return Status.OK, undecided


def _share_moves(known: Sequence[Sample]) -> list[Commit]:
    """Return one `Commit` for the first share-partition start offset, and one for each observed change of this offset.

    Share groups have no real commits. The time of such a `Commit` is when kgtui first read the new start offset.
    """
    moves: list[Commit] = []
    for sample in known:
        if sample.position is not None and (not moves or sample.position != moves[-1].offset):
            moves.append(Commit(sample.position, sample.at, sample.lag))
    return moves


def _still(known: Sequence[Sample], allowed_lag: int) -> float:
    """Return for how many seconds a share group has acknowledged nothing while its lag was above `allowed_lag`."""
    since = known[-1].at
    for before, after in reversed(list(pairwise(known))):
        if before.position != after.position or _lag(after) < _lag(before) or _lag(before) <= allowed_lag:
            break
        since = before.at
    return (known[-1].at - since) / 1000


def _falls_behind(known: Sequence[Sample], watching: Watching) -> bool:
    """Return whether a share group falls behind (condition 5 in the module docstring), which is a reason for WARN.

    In the last `Watching.window` seconds, the lag must always have been above `allowed_lag`, must have grown, and must
    never have fallen. Some records that were in the log at the start of this period must still be unread. If kgtui has
    watched the group for a shorter time, the period is this time.
    """
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
