"""Computes health verdicts from polled offsets: by Burrow's rules, or for share groups by a separate rule.

In classic, consumer and streams groups, a change of the committed offset between two polls of kgtui counts as one
commit, at the time of the second poll. Polling misses some commits. This has these consequences:

- Repeated commits of the same offset are invisible, so STALL is reported as STOP.
- The first observed offset was committed at an unknown time. STOP therefore requires that the offset has not changed
  for as long as a full window of commits takes. This time is computed from the observed time between commits or, if
  that is not known, from `Watching.commit_interval`.
- WARN requires at least `Watching.enough` commits with a known lag. Burrow computes the lag of a commit from a log end
  offset that is up to `Options.offset_refresh` seconds old. kgtui uses a log end offset of about this age for every
  commit, so that the lags of all commits can be compared, no matter how often the group commits.

Share groups have no commits (KIP-932, KIP-1226). Their rule uses the share-partition start offset (SPSO) and the lag
that the broker reports. The first condition that applies decides:

1. The lag is not known, or the share partition was never initialized. The verdict is OK. If the lag is not known,
   worse verdicts stay undecided.
2. The lag is not above `allowed_lag`. The verdict is OK.
3. Nothing was acknowledged for longer than `Watching.window` seconds: the SPSO did not move, and the lag did not fall
   and was always above `allowed_lag`. The verdict is STALL if the group has members, else STOP.
4. Among the last `intervals` different SPSOs, the SPSO went back, and has not reached its previous value again. The
   verdict is REWIND.
5. During the last `Watching.window` seconds, the lag was always above `allowed_lag`, has grown and never fell. In
   addition, some records that were in the log at the start of this time span are still unread. The verdict is WARN.
6. None of these conditions applies. The verdict is OK.

Condition 5 requires that old records are still unread, because the lag includes records in flight, which were delivered
but not yet acknowledged. Their number grows with the traffic, even if the group keeps up.
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
"""Minimum age of the log end offset from which a commit's lag is computed, as a fraction of `Options.offset_refresh`.

The fraction is below 1, because the reads of kgtui are not exactly periodic.
"""

_USUAL = 12
"""Number of newest reads of a partition from which the usual time between two reads is computed."""

NO_LAG = frozenset({"no commit", "topic deleted"})
"""Values of `PartitionLag.reason` with which a partition is OK although its lag is unknown.

They mean that the group has not read from the partition, or that the topic no longer exists.
"""


@dataclass(frozen=True, slots=True)
class Observed:
    """The last commits of a group in one partition, derived from polled offsets.

    Attributes:
        window: the last commits and log end offsets. The first observed committed offset counts as a commit without a
            lag, and each later change of the offset counts as a commit.
        now: time at which kgtui last read the committed offset, in milliseconds since the epoch.
        moves: number of observed changes of the committed offset.
        pace: average number of milliseconds between two changes; None if there were fewer than two changes.
    """

    window: Window
    now: int
    moves: int
    pace: float | None

    def full_window(self, watching: Watching) -> float:
        """Return the time that a full window of `Options.intervals` commits takes, in seconds.

        Until the window is full, the time is estimated from the observed pace or from `Watching.commit_interval`.
        """
        commits = self.window.commits
        if len(commits) >= watching.rules.intervals:
            return (commits[-1].at - commits[0].at) / 1000
        pace = watching.commit_interval if self.pace is None else self.pace / 1000
        return (watching.rules.intervals - 1) * pace


def observe(samples: Iterable[Sample], options: Options) -> Observed:
    """Derive the last commits in one partition from kgtui's reads of it (`samples`), which are sorted by time."""
    rows = list(samples)
    with_end = [row for row in rows if row.log_end is not None]
    ends, times = [row.log_end or 0 for row in with_end], [row.at for row in with_end]
    moves = _moves(rows)
    ring = CommitRing(options)
    every = round(options.offset_refresh * 1000 * _EARLY)
    # The window holds at most `intervals` commits, so older changes of the committed offset are skipped. With
    # `min_distance`, no change is skipped, because a change can then replace the previous commit.
    for at, position in moves if options.min_distance else moves[-options.intervals :]:
        old = bisect_right(times, at - every)
        if old:
            ring.log_end(ends[old - 1])
        ring.commit(position, at)
    changes = len(moves) - 1
    pace = (moves[-1][0] - moves[1][0]) / (changes - 1) if changes > 1 else None
    now = next((row.at for row in reversed(rows) if row.position is not None), 0)
    # If the newest read lacks the log end offset, the window gets no log end offsets at all, because the lag would be
    # too small if it were computed from an older one.
    kept = _recent_ends(times, ends, every, options.intervals) if rows and with_end[-1:] == rows[-1:] else ()
    return Observed(Window(ring.window().commits, kept), now, max(changes, 0), pace)


def _moves(rows: Iterable[Sample]) -> list[tuple[int, int]]:
    """Return `(time, offset)` for the first read with an offset, and for each read with a changed offset.

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
    """Return at most `intervals` log end offsets, about one per `every` milliseconds, and also the newest one.

    Burrow's rules expect log end offsets at this interval. Log end offsets that are too old are left out, because a
    group that stopped hours ago would otherwise look as if it had just caught up. This happens if older samples were
    dropped to save memory.

    Args:
        times: times of the reads in milliseconds, ascending.
        ends: the log end offset at each of these times.
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
        row: the newest offsets and lag of the partition.
        samples: kgtui's reads of the partition, oldest first, including the newest one.
    """
    observed = observe(samples, watching.rules)
    commits = observed.window.commits
    complete = len(commits) / watching.rules.intervals
    status, undecided = Status.OK, unknown_lag(row)
    still = (observed.now - commits[-1].at) / 1000 if commits else 0.0
    lag = row.lag
    # `commits` is empty if the group was a share group before, and a group of another type has just reused its id.
    if commits and lag is not None and lag > watching.rules.allowed_lag and complete >= watching.rules.minimum_complete:
        status, undecided = _of_lagging(observed, still, watching)
    first, last = (commits[0], commits[-1]) if commits else (None, None)
    health = PartitionHealth(
        row.topic, row.partition, status, lag, row.position, still, len(commits), complete, undecided,
        rate=_rate(commits, observed.now), rewind=_rewind(status, commits),
    )  # fmt: skip
    return PartitionVerdict(status, complete, lag, first, last), health


def _rate(commits: Sequence[Commit], now: int) -> float | None:
    """Return how many records per second the group read from its first commit in `commits` until `now`.

    Times are in milliseconds since the epoch. None without commits, or if no time has passed.
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
    """Return an undecided ERR if the lag of a partition is not known, because the partition might be in a bad state.

    The result is empty if the lag is known, or unknown for a reason in `NO_LAG`, because the partition is then OK.
    """
    if row.lag is not None or not row.reason or row.reason in NO_LAG:
        return ()
    return (Undecided(Status.ERR, Lack.LAG, why=row.reason),)


def judge_share(
    row: PartitionLag, samples: Sequence[Sample], members: int | None, watching: Watching
) -> tuple[PartitionVerdict, PartitionHealth]:
    """Return the verdict on one share partition, and the health of the share partition.

    Args:
        row: the newest offsets and lag of the partition.
        samples: kgtui's reads of the partition, oldest first, including the newest one.
        members: number of members; None if unknown. The group then counts as having members.
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
        # The group may have stopped before kgtui first read it, so that STOP or STALL stays undecided.
        undecided = (Undecided(standstill, Lack.TIME, watching.window, still),)
    if rewind(moves[-watching.rules.intervals :]) is not None:
        return Status.REWIND, undecided
    if not undecided and _falls_behind(known, watching):
        if watched >= watching.window:
            return Status.WARN, ()
        undecided = (Undecided(Status.WARN, Lack.TIME, watching.window, watched),)
    return Status.OK, undecided


def _share_moves(known: Sequence[Sample]) -> list[Commit]:
    """Return the first observed share-partition start offset (SPSO) and each changed SPSO, in the form of commits.

    The time of such a commit is the time at which kgtui first read this SPSO.
    """
    moves: list[Commit] = []
    for sample in known:
        if sample.position is not None and (not moves or sample.position != moves[-1].offset):
            moves.append(Commit(sample.position, sample.at, sample.lag))
    return moves


def _still(known: Sequence[Sample], allowed_lag: int) -> float:
    """Return for how many seconds nothing has been acknowledged while the lag was above `allowed_lag`."""
    since = known[-1].at
    for before, after in reversed(list(pairwise(known))):
        if before.position != after.position or _lag(after) < _lag(before) or _lag(before) <= allowed_lag:
            break
        since = before.at
    return (known[-1].at - since) / 1000


def _falls_behind(known: Sequence[Sample], watching: Watching) -> bool:
    """Return whether the lag has grown and never fallen during the last `Watching.window` seconds.

    In addition, some records that were already in the log at the start of this time span must be unread. This is
    condition 5 (WARN) in the docstring of this module. If the first read is not as old as that, all reads are tested.
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
