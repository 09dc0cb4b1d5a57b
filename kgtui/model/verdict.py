"""Verdicts on commits: Burrow's sliding window, as pure functions.

A window holds the last commits of a group in one partition, each with the lag it had when it arrived, and the last log
ends of that partition. The rules are those of LinkedIn's Burrow (its `CachingEvaluator`), exact on a given window.
Where the commits come from is not asked here: `kgtui.model.health` makes windows from what a poller sees.

Times are milliseconds since the epoch, as Kafka writes them into commits; offsets and lag count records.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from enum import IntEnum
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from kgtui.model.offsets import TopicPartition

_UNKNOWN = -1  # in arrays, where no offset and no lag is negative


class Status(IntEnum):
    """How a partition or a group does; the numbers are Burrow's. A group is never more than `ERR`."""

    NOT_FOUND = 0
    """The group does not exist."""
    OK = 1
    WARN = 2
    """It commits, and its lag does not fall."""
    ERR = 3
    """A group with a partition that is `STOP`, `STALL` or `REWIND`."""
    STOP = 4
    """Commits have ceased while records wait."""
    STALL = 5
    """The same offset is committed again and again while records wait."""
    REWIND = 6
    """A commit lies before the one before it, and the group has not come back since."""


@dataclass(frozen=True, slots=True)
class Options:
    """Burrow's settings, by its names and with its defaults.

    Attributes:
        intervals: commits, and log ends, that a window holds at most.
        minimum_complete: with less than this part of a window (0 to 1) a partition is OK.
        allowed_lag: records; a partition with no more lag than this is OK.
        min_distance: seconds; a commit that follows the one before it sooner takes its place.
        offset_refresh: seconds between two log ends.
        expire_cache: seconds for which a verdict may be kept.
    """

    intervals: int = 10
    minimum_complete: float = 0.0
    allowed_lag: int = 0
    min_distance: float = 0.0
    offset_refresh: float = 10.0
    expire_cache: float = 10.0

    def __post_init__(self) -> None:
        if self.intervals < 1 or self.allowed_lag < 0 or not 0 <= self.minimum_complete <= 1:
            raise ValueError("intervals is at least 1, allowed_lag at least 0, minimum_complete from 0 to 1")
        if min(self.min_distance, self.offset_refresh, self.expire_cache) < 0:
            raise ValueError("no time is negative")


DEFAULTS = Options()


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit in one partition.

    Attributes:
        offset: the next record to be read.
        at: when it was made, in milliseconds.
        lag: records between it and the log end known when it arrived, never negative; None when none was known.
    """

    offset: int
    at: int
    lag: int | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """What is known of a group in one partition.

    Attributes:
        commits: oldest first, `Options.intervals` at most.
        log_ends: oldest first; the last is the newest known. Empty when none is known.
    """

    commits: tuple[Commit, ...] = ()
    log_ends: tuple[int, ...] = ()

    @property
    def current_lag(self) -> int | None:
        """Records from the last commit to the newest log end, never negative; None when either is not known."""
        if not self.commits or not self.log_ends:
            return None
        return max(self.log_ends[-1] - self.commits[-1].offset, 0)


@dataclass(frozen=True, slots=True)
class PartitionVerdict:
    """The verdict on one partition.

    Attributes:
        status: never `ERR`, which is for groups.
        complete: how full the window is, 0 to 1.
        current_lag: see `Window.current_lag`.
        first: the oldest commit of the window, or None.
        last: the newest, or None.
    """

    status: Status
    complete: float = 0.0
    current_lag: int | None = None
    first: Commit | None = None
    last: Commit | None = None


@dataclass(frozen=True, slots=True)
class GroupVerdict:
    """The verdict on a group.

    Attributes:
        status: the worst of its partitions, `ERR` at most.
        complete: the part of the partitions whose window is full, 0 to 1; 0 without partitions.
        total_lag: summed over partitions whose lag is known; None when none is.
        max_lag: the partition with the largest lag, the first of several; None when no lag is known.
        unknown: partitions whose lag is not known.
        partitions: every partition's verdict.
    """

    status: Status
    complete: float
    total_lag: int | None
    max_lag: TopicPartition | None
    unknown: int
    partitions: Mapping[TopicPartition, PartitionVerdict]

    @property
    def worst(self) -> Status:
        """The worst status of a partition, which says more than the group's `ERR`."""
        return max((row.status for row in self.partitions.values()), default=self.status)


class CommitRing:
    """Collects the window of one partition as commits and log ends arrive; arrays of bounded length.

    A commit is taken in the order of its arrival; one that is older than the last is dropped.
    """

    __slots__ = ("_at", "_ends", "_lags", "_offsets", "_options")

    def __init__(self, options: Options = DEFAULTS) -> None:
        self._options = options
        self._offsets: array[int] = array("q")
        self._at: array[int] = array("q")
        self._lags: array[int] = array("q")
        self._ends: array[int] = array("q")

    def log_end(self, offset: int) -> None:
        """Take the log end as refreshed, every `Options.offset_refresh`."""
        self._ends.append(offset)
        del self._ends[: -self._options.intervals]

    def commit(self, offset: int, at: int) -> None:
        """Take a commit made at `at` milliseconds; its lag is counted from the newest log end taken so far.

        One that comes sooner than `min_distance` after the one before takes its place and keeps that one's time, as in
        Burrow: with a time of its own it would never let a frequent committer fill a window.
        """
        lag = max(self._ends[-1] - offset, 0) if self._ends else _UNKNOWN
        if self._at and at < self._at[-1]:
            return
        if self._at and at - self._at[-1] < self._options.min_distance * 1000:
            self._offsets[-1], self._lags[-1] = offset, lag
            return
        for column, value in ((self._offsets, offset), (self._at, at), (self._lags, lag)):
            column.append(value)
            del column[: -self._options.intervals]

    def window(self, log_end: int | None = None) -> Window:
        """The window so far.

        Args:
            log_end: a newer log end than the last refreshed one; None when there is none.
        """
        rows = zip(self._offsets, self._at, self._lags, strict=True)
        commits = tuple(Commit(offset, at, None if lag == _UNKNOWN else lag) for offset, at, lag in rows)
        return Window(commits, (*self._ends, *(() if log_end is None else (log_end,))))


def judge_partition(window: Window, now: int, options: Options = DEFAULTS) -> PartitionVerdict:
    """Burrow's verdict on one partition, from its window alone.

    The rules, in this order: nothing or too little is known: OK; no more lag than allowed: OK; commits ceased: STOP;
    rewound: REWIND; behind at every commit and the offset never moved: STALL; behind at every commit and the lag never
    fell: WARN; else OK. Without a log end there is no current lag, and it is OK with `current_lag` None.

    Args:
        now: milliseconds since the epoch.
    """
    commits, lag = window.commits, window.current_lag
    if not commits:
        return PartitionVerdict(Status.OK)
    complete = len(commits) / options.intervals
    status = Status.OK
    if complete >= options.minimum_complete and lag is not None and lag > options.allowed_lag:
        status = _of_lagging(window, now, options.allowed_lag)
    return PartitionVerdict(status, complete, lag, commits[0], commits[-1])


def _of_lagging(window: Window, now: int, allowed_lag: int) -> Status:
    commits = window.commits
    if ceased(commits, now) and not lately_caught_up(window):
        return Status.STOP
    if rewound(commits):
        return Status.REWIND
    if always_behind(commits, allowed_lag):
        if unmoved(commits):
            return Status.STALL
        if lag_never_fell(commits):
            return Status.WARN
    return Status.OK


def ceased(commits: Sequence[Commit], now: int) -> bool:
    """Whether the last commit is longer ago than the whole window is long."""
    return now - commits[-1].at > commits[-1].at - commits[0].at


def lately_caught_up(window: Window) -> bool:
    """Whether one of the log ends kept was not beyond the last commit: the lag was zero not long ago."""
    return any(end <= window.commits[-1].offset for end in window.log_ends)


def rewound(commits: Sequence[Commit]) -> bool:
    """Whether the first step back was never made good: no later commit reached the offset before it."""
    for i in range(1, len(commits)):
        if commits[i].offset < commits[i - 1].offset:
            return all(later.offset < commits[i - 1].offset for later in commits[i:])
    return False


def always_behind(commits: Iterable[Commit], allowed_lag: int = 0) -> bool:
    """Whether every lag known was more than allowed; true when none is known."""
    return all(commit.lag > allowed_lag for commit in commits if commit.lag is not None)


def unmoved(commits: Sequence[Commit]) -> bool:
    """Whether all commits are of the same offset."""
    return all(commit.offset == commits[0].offset for commit in commits)


def lag_never_fell(commits: Iterable[Commit]) -> bool:
    """Whether no known lag is less than the known one before it."""
    lags = [commit.lag for commit in commits if commit.lag is not None]
    return all(later >= earlier for earlier, later in pairwise(lags))


def roll_up(partitions: Mapping[TopicPartition, PartitionVerdict]) -> GroupVerdict:
    """The verdict on a group from those on its partitions; without any it is OK and complete to 0, as in Burrow."""
    status, total, full, unknown = Status.OK, 0, 0, 0
    largest: tuple[int, TopicPartition] | None = None
    for key, row in partitions.items():
        status = max(status, min(row.status, Status.ERR))
        full += row.complete >= 1.0
        if row.current_lag is None:
            unknown += 1
            continue
        total += row.current_lag
        if largest is None or row.current_lag > largest[0]:
            largest = (row.current_lag, key)
    return GroupVerdict(
        status,
        full / len(partitions) if partitions else 0.0,
        total if largest is not None else None,
        largest[1] if largest is not None else None,
        unknown,
        partitions,
    )
