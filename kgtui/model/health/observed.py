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

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kgtui.model.health.values import Lack, PartitionHealth, Undecided
from kgtui.model.verdict import (
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
    from collections.abc import Iterable

    from kgtui.model.health.samples import Sample
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
        span = (commits[-1].at - commits[0].at) / 1000
        if len(commits) >= watching.rules.intervals:
            return span
        pace = watching.commit_interval if self.pace is None else self.pace / 1000
        return max(span, (watching.rules.intervals - 1) * pace)


def observe(samples: Iterable[Sample], options: Options) -> Observed:
    """The observed window of one partition, from its reads, oldest first."""
    ring, ends = CommitRing(options), _LogEnds(options)
    position = first_move = None
    now = last_move = moves = 0
    for sample in samples:
        ends.add(sample.at, sample.log_end)
        if sample.position is None:
            continue
        now = sample.at
        if sample.position != position:
            if (refreshed := ends.before(sample.at)) is not None:
                ring.log_end(refreshed)
            ring.commit(sample.position, sample.at)
            if position is not None:
                moves, last_move = moves + 1, sample.at
                first_move = sample.at if first_move is None else first_move
            position = sample.position
    pace = (last_move - first_move) / (moves - 1) if first_move is not None and moves > 1 else None
    commits = ring.window().commits
    # Without the newest log end there is no current lag: an older one would make it look smaller than it is.
    return Observed(Window(commits, ends.kept() if ends.newest is not None else ()), now, moves, pace)


class _LogEnds:
    """Log ends as Burrow keeps them, one every `offset_refresh`, from reads that may come more often."""

    def __init__(self, options: Options) -> None:
        self._every = options.offset_refresh * 1000 * _EARLY
        self._kept: deque[tuple[int, int]] = deque(maxlen=options.intervals)
        self._known: deque[tuple[int, int]] = deque()
        self._old: int | None = None
        self.newest: int | None = None

    def add(self, at: int, log_end: int | None) -> None:
        """Take what was read at `at`, in milliseconds; None when it could not be read."""
        self.newest = log_end
        if log_end is None:
            return
        self._known.append((at, log_end))
        if not self._kept or at - self._kept[-1][0] >= self._every:
            self._kept.append((at, log_end))

    def before(self, at: int) -> int | None:
        """The newest log end that was `offset_refresh` old at that time; None when none was."""
        while self._known and at - self._known[0][0] >= self._every:
            self._old = self._known.popleft()[1]
        return self._old

    def kept(self) -> tuple[int, ...]:
        """Those kept and the newest, oldest first."""
        return (*(end for _, end in self._kept), *(() if self.newest is None else (self.newest,)))


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
