"""Committed offsets, log bounds and lag. Offsets and lag count records; -1 on the wire is `None` here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

TopicPartition = tuple[str, int]


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """A committed offset of one partition (OffsetFetch).

    Attributes:
        offset: None when nothing is committed, or `error` says why it could not be read.
        error: Kafka's error code, 0 when fine.
    """

    topic: str
    partition: int
    offset: int | None
    leader_epoch: int | None = None
    metadata: str = ""
    error: int = 0


@dataclass(frozen=True, slots=True)
class ShareOffset:
    """The share-partition start offset (SPSO) and lag of one partition (DescribeShareGroupOffsets, KIP-932, KIP-1226).

    Attributes:
        start_offset: None while the share partition was never initialised.
        lag: None when the broker does not know or does not tell (before v1).
    """

    topic: str
    partition: int
    start_offset: int | None
    leader_epoch: int | None = None
    lag: int | None = None
    error: int = 0
    message: str = ""


@dataclass(frozen=True, slots=True)
class PartitionBounds:
    """First and next offset of a partition's log (ListOffsets -2 and -1, read_uncommitted as Kafka's tools use).

    Attributes:
        error: Kafka's error code of the first of the two that failed, 0 when fine.
    """

    log_start: int | None
    log_end: int | None
    error: int = 0


@dataclass(frozen=True, slots=True)
class GroupOffsets:
    """All that a group has committed, or its share offsets, with what is known of the logs.

    Attributes:
        committed: for classic, consumer and streams groups.
        share: for share groups.
        bounds: for every partition above of which something is known, and for partitions that members own without
            a commit.
    """

    committed: tuple[CommittedOffset, ...] = ()
    share: tuple[ShareOffset, ...] = ()
    bounds: Mapping[TopicPartition, PartitionBounds] | None = None

    @property
    def partitions(self) -> tuple[TopicPartition, ...]:
        """Every `(topic, partition)` named by either list."""
        return tuple((row.topic, row.partition) for rows in (self.committed, self.share) for row in rows)


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """One partition as the Offsets pane shows it.

    Attributes:
        position: committed offset, or the share-partition start offset; None when there is none.
        lag: records between position and log end; None when unknown, and `reason` says why.
        lead: records between log start and position (distance to data loss); None when unknown.
        lost: records that expired before they were read (position < log start), 0 when none, None when unknown.
        reason: `` or why the lag is unknown: `no commit`, `forbidden`, `topic deleted`, `no leader`, `not told`,
            `pending`. Commits on a deleted topic are rare: a coordinator that learns of the deletion drops them
            (seen on 4.3.1 and 3.9.2).
        error: Kafka's error code behind the reason, 0 when there is none.
    """

    topic: str
    partition: int
    position: int | None
    log_start: int | None
    log_end: int | None
    lag: int | None
    lead: int | None
    lost: int | None
    reason: str = ""
    leader_epoch: int | None = None
    metadata: str = ""
    error: int = 0


@dataclass(frozen=True, slots=True)
class LagTotal:
    """Summed lag: `at least` lag when `unknown` partitions could not be counted.

    Attributes:
        lag: sum over the partitions whose lag is known; None when none is.
        unknown: number of partitions whose lag is not known. A partition without a commit does not count here.
        partitions: number of partitions looked at.
    """

    lag: int | None
    unknown: int = 0
    partitions: int = 0


_FORBIDDEN = frozenset({29, 30, 31})
_GONE = frozenset({3, 100})
_LEADERLESS = frozenset({5, 6, 72, 74, 75, 76})


def reason_of(error: int) -> str:
    """In a word or two, why an offset is unknown, from Kafka's error code."""
    if error in _FORBIDDEN:
        return "forbidden"
    if error in _GONE:
        return "topic deleted"
    if error in _LEADERLESS:
        return "no leader"
    return f"error {error}"


def lag_of_commit(commit: CommittedOffset, bounds: PartitionBounds | None) -> PartitionLag:
    """The lag of a commit as Kafka's ConsumerGroupCommand counts it, log end − committed, but never negative."""
    start, end = (bounds.log_start, bounds.log_end) if bounds else (None, None)
    lag = lead = lost = None
    error, reason = commit.error, ""
    if commit.error:
        reason = reason_of(commit.error)
    elif commit.offset is None:
        reason = "no commit"
    else:
        if start is not None:
            lead, lost = max(commit.offset - start, 0), max(start - commit.offset, 0)
        if end is not None:
            lag = max(end - commit.offset, 0)
        elif bounds is None:
            reason = "pending"
        else:
            error, reason = bounds.error, reason_of(bounds.error) if bounds.error else "not told"
    return PartitionLag(
        commit.topic, commit.partition, commit.offset, start, end, lag, lead, lost, reason,
        commit.leader_epoch, commit.metadata, error,
    )  # fmt: skip


def lag_of_share(share: ShareOffset, bounds: PartitionBounds | None) -> PartitionLag:
    """The lag of a share partition as the broker tells it: records in flight lie beyond the SPSO."""
    start, end = (bounds.log_start, bounds.log_end) if bounds else (None, None)
    lead = lost = None
    if share.start_offset is not None and start is not None:
        lead, lost = max(share.start_offset - start, 0), max(start - share.start_offset, 0)
    reason = ""
    if share.error:
        reason = reason_of(share.error)
    elif share.start_offset is None:
        reason = "no commit"
    elif share.lag is None:
        reason = "not told"
    return PartitionLag(
        share.topic, share.partition, share.start_offset, start, end, share.lag, lead, lost, reason,
        share.leader_epoch, "", share.error,
    )  # fmt: skip


def lags(offsets: GroupOffsets) -> list[PartitionLag]:
    """Every partition of a group with its lag, those that are owned without a commit too, by topic and partition."""
    bounds = offsets.bounds or {}
    rows = [lag_of_commit(row, bounds.get((row.topic, row.partition))) for row in offsets.committed]
    rows += [lag_of_share(row, bounds.get((row.topic, row.partition))) for row in offsets.share]
    seen = set(offsets.partitions)
    rows += [
        lag_of_commit(CommittedOffset(topic, partition, None), found)
        for (topic, partition), found in bounds.items()
        if (topic, partition) not in seen
    ]
    rows.sort(key=lambda row: (row.topic, row.partition))
    return rows


def total(rows: Iterable[PartitionLag]) -> LagTotal:
    """The sum over partitions, with how many could not be counted."""
    known = unknown = count = 0
    some = False
    for row in rows:
        count += 1
        if row.lag is not None:
            known, some = known + row.lag, True
        elif row.reason != "no commit":
            unknown += 1
    return LagTotal(known if some else None, unknown, count)


def summed(
    committed: Iterable[CommittedOffset], share: Iterable[ShareOffset], bounds: Mapping[TopicPartition, PartitionBounds]
) -> LagTotal:
    """The sum over commits and share offsets without a value per partition, for a hundred thousand groups."""
    known = unknown = count = 0
    some = False
    for commit in committed:
        count += 1
        found = bounds.get((commit.topic, commit.partition))
        if commit.error or (commit.offset is not None and (found is None or found.log_end is None)):
            unknown += 1
        elif commit.offset is not None and found is not None and found.log_end is not None:
            known, some = known + max(found.log_end - commit.offset, 0), True
    for row in share:
        count += 1
        if row.lag is not None:
            known, some = known + row.lag, True
        elif row.error or row.start_offset is not None:
            unknown += 1
    return LagTotal(known if some else None, unknown, count)


def lag_of_group(offsets: GroupOffsets) -> LagTotal:
    """`total(lags(offsets))` without a value per partition."""
    bounds = offsets.bounds or {}
    sums = summed(offsets.committed, offsets.share, bounds)
    # Partitions that are owned without a commit count too.
    owned = len(bounds.keys() - set(offsets.partitions))
    return LagTotal(sums.lag, sums.unknown, sums.partitions + owned)
