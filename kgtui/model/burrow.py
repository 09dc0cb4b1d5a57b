"""Health verdicts on partitions and groups by the rules of LinkedIn's Burrow (`CachingEvaluator`).

The verdict on a partition is computed from a `Window`: the group's last commits in the partition, and the last log end
offsets of the partition. Times are epoch milliseconds. Lag is a number of records.
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

# `_UNKNOWN` stands for an unknown lag in arrays of integers. A known lag is never negative.
_UNKNOWN = -1


class Status(IntEnum):
    """The status of a partition or group, with the same numbers as in Burrow. From `OK` on, a larger number is worse.

    `STOP`, `STALL` and `REWIND` are for partitions only. The status of a group with such a partition is `ERR`.
    """

    NOT_FOUND = 0
    """The group does not exist."""
    OK = 1
    WARN = 2
    """The group commits, but over its last commits, its lag never fell and was always above `Options.allowed_lag`."""
    ERR = 3
    """A partition of the group is `STOP`, `STALL` or `REWIND`."""
    STOP = 4
    """The group has stopped committing in the partition, although the partition has unread records."""
    STALL = 5
    """The group commits the same offset again and again, although the partition has unread records."""
    REWIND = 6
    """The committed offset went back, and is still below its earlier value."""


@dataclass(frozen=True, slots=True)
class Options:
    """Burrow's settings, with Burrow's names and default values.

    Attributes:
        intervals: maximum number of commits from which a verdict on a partition is computed. For the log end offsets,
            the maximum is larger by one.
        minimum_complete: minimum number of commits, as a fraction (0 to 1) of `intervals`. With fewer commits, the
            status is OK.
        allowed_lag: largest lag, in records, with which a partition is always OK.
        min_distance: minimum seconds between two commits. A commit that comes sooner is merged with the previous one.
        offset_refresh: seconds between two reads of the log end offset.
        expire_cache: maximum age of a verdict in seconds. An older verdict is computed again.
    """

    intervals: int = 10
    minimum_complete: float = 0.0
    allowed_lag: int = 0
    min_distance: float = 0.0
    offset_refresh: float = 10.0
    expire_cache: float = 10.0

    def __post_init__(self) -> None:
        if self.intervals < 1 or self.allowed_lag < 0 or not 0 <= self.minimum_complete <= 1:
            raise ValueError("intervals must be at least 1, allowed_lag at least 0, minimum_complete from 0 to 1")
        if min(self.min_distance, self.offset_refresh, self.expire_cache) < 0:
            raise ValueError("min_distance, offset_refresh and expire_cache must be at least 0 seconds")


DEFAULTS = Options()


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit in one partition.

    Attributes:
        offset: offset of the next record to read.
        at: time in epoch milliseconds.
        lag: records between `offset` and the newest log end offset known at the time of the commit; None if unknown.
    """

    offset: int
    at: int
    lag: int | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """The last commits of a group in one partition, and the last log end offsets of this partition.

    Attributes:
        commits: the commits, oldest first, at most `Options.intervals`.
        log_ends: the log end offsets, oldest first; may be empty.
    """

    commits: tuple[Commit, ...] = ()
    log_ends: tuple[int, ...] = ()

    @property
    def current_lag(self) -> int | None:
        """Number of records from the last committed offset to the newest log end offset; None if either is unknown."""
        if not self.commits or not self.log_ends:
            return None
        return max(self.log_ends[-1] - self.commits[-1].offset, 0)


@dataclass(frozen=True, slots=True)
class PartitionVerdict:
    """Burrow's verdict on a group in one partition.

    Attributes:
        status: any status except `ERR`, which is only for groups.
        complete: number of commits from which the verdict was computed, as a fraction (0 to 1) of `Options.intervals`.
        current_lag: records from the last committed offset to the log end offset; None if unknown.
        first, last: oldest and newest of these commits; None if there are none.
    """

    status: Status
    complete: float = 0.0
    current_lag: int | None = None
    first: Commit | None = None
    last: Commit | None = None


@dataclass(frozen=True, slots=True)
class GroupVerdict:
    """Burrow's verdict on a group, combined from the verdicts on its partitions.

    Attributes:
        status: worst status of a partition. `STOP`, `STALL` and `REWIND` become `ERR`.
        complete: fraction (0 to 1) of the partitions that have at least `Options.intervals` commits.
        total_lag: sum of the known lags; None if no lag is known.
        max_lag: the partition with the largest lag, as `(topic, partition)`; None if no lag is known.
        unknown: number of partitions with unknown lag.
        partitions: `(topic, partition)` → verdict.
    """

    status: Status
    complete: float
    total_lag: int | None
    max_lag: TopicPartition | None
    unknown: int
    partitions: Mapping[TopicPartition, PartitionVerdict]

    @property
    def worst(self) -> Status:
        """The worst status of a partition. Unlike the attribute `status`, it can be `STOP`, `STALL` or `REWIND`."""
        return max((row.status for row in self.partitions.values()), default=self.status)


class CommitRing:
    """Stores the last commits and log end offsets of one partition, and returns them as a `Window`.

    A commit that is older than the newest stored commit is ignored.
    """

    __slots__ = ("_at", "_ends", "_lags", "_offsets", "_options")

    def __init__(self, options: Options = DEFAULTS) -> None:
        self._options = options
        self._offsets: array[int] = array("q")
        self._at: array[int] = array("q")
        self._lags: array[int] = array("q")
        self._ends: array[int] = array("q")

    def log_end(self, offset: int) -> None:
        """Store the newest log end offset. The caller must call this method every `Options.offset_refresh` seconds."""
        self._ends.append(offset)
        del self._ends[: -self._options.intervals]

    def commit(self, offset: int, at: int) -> None:
        """Add a commit. The lag of the commit is computed from the newest stored log end offset.

        As in Burrow, two commits less than `min_distance` seconds apart become one commit, with the time of the
        first, and the offset and lag of the second.

        Args:
            at: time of the commit, in epoch milliseconds.
        """
        lag = max(self._ends[-1] - offset, 0) if self._ends else _UNKNOWN
        if self._at and at < self._at[-1]:
            return
        # Keep the time of the first of two merged commits. If merging replaced it with the later time, a group that
        # always commits again within `min_distance` seconds would only ever have one stored commit.
        if self._at and at - self._at[-1] < self._options.min_distance * 1000:
            self._offsets[-1], self._lags[-1] = offset, lag
            return
        for column, value in ((self._offsets, offset), (self._at, at), (self._lags, lag)):
            column.append(value)
            del column[: -self._options.intervals]

    def window(self, log_end: int | None = None) -> Window:
        """Return the window with the last commits and log end offsets.

        Args:
            log_end: a newer log end offset, or None. It is added to the returned window, but not stored.
        """
        rows = zip(self._offsets, self._at, self._lags, strict=True)
        commits = tuple(Commit(offset, at, None if lag == _UNKNOWN else lag) for offset, at, lag in rows)
        return Window(commits, (*self._ends, *(() if log_end is None else (log_end,))))


def ceased(commits: Sequence[Commit], now: int) -> bool:
    """Return whether the group has stopped committing, by Burrow's rule.

    The group has stopped if more time has passed since the last commit than between the first and the last commit in
    `commits`.

    Args:
        commits: oldest first, at least one.
        now: epoch milliseconds.
    """
    return now - commits[-1].at > commits[-1].at - commits[0].at


def lately_caught_up(window: Window) -> bool:
    """Return whether the group has caught up recently, by Burrow's rule.

    The group has caught up if its last committed offset is equal to or above one of the last log end offsets
    (`Window.log_ends`). It has then read all records that the log contained when this log end offset was read.
    """
    return any(end <= window.commits[-1].offset for end in window.log_ends)


def rewind(commits: Sequence[Commit]) -> tuple[Commit, Commit] | None:
    """Return the commits `(before, after)` between which the committed offset went back for the first time.

    The result is None if the offset did not go back, or if a later commit has reached the offset of `before` again.
    """
    for number, (before, after) in enumerate(pairwise(commits), 1):
        if after.offset < before.offset:
            lasts = all(later.offset < before.offset for later in commits[number:])
            return (before, after) if lasts else None
    return None


def always_behind(commits: Iterable[Commit], allowed_lag: int = 0) -> bool:
    """Return whether the lag of every commit is above `allowed_lag`.

    Commits with an unknown lag are ignored. The result is True if no lag is known.
    """
    return all(commit.lag > allowed_lag for commit in commits if commit.lag is not None)


def unmoved(commits: Sequence[Commit]) -> bool:
    """Return whether all commits in a partition have the same offset, so that the group makes no progress."""
    return all(commit.offset == commits[0].offset for commit in commits)


def lag_never_fell(commits: Iterable[Commit]) -> bool:
    """Return whether the known lags of these commits never decrease."""
    lags = [commit.lag for commit in commits if commit.lag is not None]
    return all(later >= earlier for earlier, later in pairwise(lags))


def roll_up(partitions: Mapping[TopicPartition, PartitionVerdict]) -> GroupVerdict:
    """Combine verdicts on partitions into a verdict on the group. A group without partitions is OK, as in Burrow."""
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
