"""Data classes for committed offsets, log offsets and lag.

For unknown offsets and lags, the Kafka protocol uses the value -1, and these classes use None.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from kgtui.model.error_numbers import FORBIDDEN, TOPIC_GONE
from kgtui.model.record_times import LogPosition

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kgtui.model.record_times import RecordTime

TopicPartition = tuple[str, int]


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """The committed offset of a group in one partition (OffsetFetch).

    Attributes:
        offset: the committed offset; None if the group has not committed one, or if it could not be read.
        error: Kafka's error code if the offset could not be read, otherwise 0.
    """

    topic: str
    partition: int
    offset: int | None
    leader_epoch: int | None = None
    metadata: str = ""
    error: int = 0


@dataclass(frozen=True, slots=True)
class ShareOffset:
    """The start offset (SPSO) and lag of a share partition (DescribeShareGroupOffsets, KIP-932, KIP-1226).

    Attributes:
        start_offset: share-partition start offset; None if the share partition was never initialized.
        lag: lag in records; None if unknown. Version 0 of DescribeShareGroupOffsets does not report the lag.
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
    """Log start offset and log end offset of a partition. An offset is None if it could not be read.

    As in Kafka's tools, the offsets come from ListOffsets with the timestamps -2 (earliest) and -1 (latest), and with
    the isolation level `read_uncommitted`.

    Attributes:
        error: Kafka's error code if one of the two offsets could not be read, otherwise 0.
    """

    log_start: int | None
    log_end: int | None
    error: int = 0


@dataclass(frozen=True, slots=True)
class GroupOffsets:
    """The offsets of a group, with the log offsets of its partitions.

    Attributes:
        committed: committed offsets of a classic, consumer or streams group.
        share: share-partition start offsets of a share group.
        bounds: `(topic, partition)` → log start and log end offset; None if they were not read. Partitions that have an
            owner but no committed offset are included.
        hidden_topics: sorted topics that members consume, but that the user is not allowed to describe. The offsets in
            these topics are missing.
        may_lack_topics: whether brokers might also hide offsets in topics whose names kgtui does not know.
        record_times: `(topic, partition)` → when the last consumed and the first unread record were written. kgtui
            searches for these times only in some partitions, and not in every poll. The times may therefore be for an
            earlier offset of the group.
    """

    committed: tuple[CommittedOffset, ...] = ()
    share: tuple[ShareOffset, ...] = ()
    bounds: Mapping[TopicPartition, PartitionBounds] | None = None
    hidden_topics: tuple[str, ...] = ()
    may_lack_topics: bool = False
    record_times: Mapping[TopicPartition, RecordTime] = field(default_factory=dict)

    @property
    def hidden(self) -> bool:
        """Whether offsets are missing or might be missing, because the user lacks DESCRIBE on their topics."""
        return self.may_lack_topics or bool(self.hidden_topics)

    @property
    def partitions(self) -> tuple[TopicPartition, ...]:
        """Every `(topic, partition)` in `committed` or `share`."""
        return tuple((row.topic, row.partition) for rows in (self.committed, self.share) for row in rows)

    def by_partition(self) -> dict[TopicPartition, int]:
        """Return a dict: partition → committed offset or share-partition start offset. Unknown offsets are left out."""
        committed = {(row.topic, row.partition): row.offset for row in self.committed}
        share = {(row.topic, row.partition): row.start_offset for row in self.share}
        return {partition: offset for partition, offset in (committed | share).items() if offset is not None}


@dataclass(frozen=True, slots=True)
class PartitionLag:
    """The offset, log offsets and lag of a group in one partition.

    Attributes:
        position: committed offset or share-partition start offset, or None.
        lag: records from the position to the log end, or None.
        lead: records from the log start to the position, or None; 0 if records are lost.
        lost: records that expired before they were read (position < log start), or None.
        reason: why the lag is not known; empty if it is known. One of `no commit`, `forbidden`, `topic deleted`,
            `no leader`, `not told` (not reported), `pending` (log offsets not read yet), or `error` with a code.
            `topic deleted` is rare, because coordinators delete the offsets of deleted topics (observed in Kafka 4.3.1
            and 3.9.2).
        error: the Kafka error code from which `reason` was derived, or 0.
        times: when the last consumed and the first unread record were written; None if kgtui has not searched for these
            times. They may be for an earlier position, because kgtui does not search for them at every poll.
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
    times: RecordTime | None = None

    @property
    def exact_times(self) -> RecordTime | None:
        """The attribute `times`, but None if these times are for an earlier position than the current one."""
        return self.times if self.times is not None and self.times.offset == self.position else None


class Position(NamedTuple):
    """The offsets of a group in one partition, from a background read.

    The background read uses `Position` instead of `PartitionLag`, because a `Position` is faster to create.

    Attributes:
        key: topic and partition.
        position: committed offset or share-partition start offset, or None.
        log_end: log end offset, or None.
        lag: lag in records, or None.
    """

    key: TopicPartition
    position: int | None
    log_end: int | None
    lag: int | None


@dataclass(frozen=True, slots=True)
class LagTotal:
    """The total lag of a group.

    Attributes:
        lag: sum of the known lags; None if no lag is known.
        unknown: number of partitions with unknown lag. Partitions in which the group has not committed do not count.
        partitions: number of partitions, without those that brokers hide from the user.
        hidden: whether brokers may hide further partitions from the user.
    """

    lag: int | None
    unknown: int = 0
    partitions: int = 0
    hidden: bool = False

    @property
    def lower_bound(self) -> bool:
        """Whether the true lag of the group might be larger than `lag`."""
        return self.hidden or self.unknown > 0


_LEADERLESS = frozenset({5, 6, 72, 74, 75, 78})
"""Kafka error codes of a partition that has no leader, or whose new leader cannot report offsets yet."""


def reason_for_code(error: int) -> str:
    """Convert the Kafka error code of a failed read to a value of `PartitionLag.reason`."""
    if error in FORBIDDEN:
        return "forbidden"
    if error in TOPIC_GONE:
        return "topic deleted"
    if error in _LEADERLESS:
        return "no leader"
    return f"error {error}"


def lag_of_commit(commit: CommittedOffset, bounds: PartitionBounds | None) -> PartitionLag:
    """Compute the lag as Kafka's ConsumerGroupCommand does: log end − committed offset, but never less than 0."""
    start, end = (bounds.log_start, bounds.log_end) if bounds else (None, None)
    lag = lead = lost = None
    error, reason = commit.error, ""
    if commit.error:
        reason = reason_for_code(commit.error)
    elif commit.offset is None and bounds is not None and bounds.error in FORBIDDEN:
        # The user lacks DESCRIBE on the topic. The group may have a committed offset that brokers hide from the user.
        # Therefore, the reason is not `no commit`.
        error, reason = bounds.error, reason_for_code(bounds.error)
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
            error, reason = bounds.error, reason_for_code(bounds.error) if bounds.error else "not told"
    return PartitionLag(
        commit.topic, commit.partition, commit.offset, start, end, lag, lead, lost, reason,
        commit.leader_epoch, commit.metadata, error,
    )  # fmt: skip


def lag_of_share(share: ShareOffset, bounds: PartitionBounds | None) -> PartitionLag:
    """Return the lag of a share partition as the broker reports it.

    kgtui cannot compute this lag, because records after the start offset may already be acknowledged.
    """
    start, end = (bounds.log_start, bounds.log_end) if bounds else (None, None)
    lead = lost = None
    if share.start_offset is not None and start is not None:
        lead, lost = max(share.start_offset - start, 0), max(start - share.start_offset, 0)
    reason = ""
    if share.error:
        reason = reason_for_code(share.error)
    elif share.start_offset is None:
        reason = "no commit"
    elif share.lag is None:
        reason = "not told"
    return PartitionLag(
        share.topic, share.partition, share.start_offset, start, end, share.lag, lead, lost, reason,
        share.leader_epoch, "", share.error,
    )  # fmt: skip


def lags(offsets: GroupOffsets) -> list[PartitionLag]:
    """Return the lag of every partition of a group, sorted by topic and partition.

    Partitions that have an owner but no committed offset are included.
    """
    bounds = offsets.bounds or {}
    rows = [lag_of_commit(row, bounds.get((row.topic, row.partition))) for row in offsets.committed]
    rows += [lag_of_share(row, bounds.get((row.topic, row.partition))) for row in offsets.share]
    with_offset = set(offsets.partitions)
    rows += [
        lag_of_commit(CommittedOffset(topic, partition, None), found)
        for (topic, partition), found in bounds.items()
        if (topic, partition) not in with_offset
    ]
    if times := offsets.record_times:
        rows = [_with_times(row, times) for row in rows]
    rows.sort(key=lambda row: (row.topic, row.partition))
    return rows


def _with_times(row: PartitionLag, times: Mapping[TopicPartition, RecordTime]) -> PartitionLag:
    found = times.get((row.topic, row.partition)) if row.lag else None
    return row if found is None else replace(row, times=found)


def searchable(rows: Iterable[PartitionLag], limit: int) -> dict[TopicPartition, LogPosition]:
    """Return the partitions in which kgtui can search for the times of the last consumed and first unread record.

    These are the partitions that have unread records, and whose position (committed offset or share-partition start
    offset), log start offset and log end offset are known. If there are more than `limit`, only the `limit` partitions
    whose position is farthest from the log end are returned.

    Returns:
        `(topic, partition)` → position, log start offset and log end offset.
    """
    lagging = [
        ((row.topic, row.partition), LogPosition(row.position, row.log_start, row.log_end))
        for row in rows
        if row.lag and row.position is not None and row.log_start is not None and row.log_end is not None
    ]
    lagging = [item for item in lagging if item[1].offset < item[1].log_end]
    lagging.sort(key=lambda item: item[1].offset - item[1].log_end)
    return dict(lagging[:limit])


def total(rows: Iterable[PartitionLag]) -> LagTotal:
    """Return the sum of the known lags, the number of partitions, and the number of partitions with unknown lag.

    A partition in which the group has not committed does not count as a partition with unknown lag.
    """
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
    """Return the total lag of a group. `bounds` maps `(topic, partition)` to the log offsets.

    The function is fast enough for the background read of 100,000 groups, because it creates no `PartitionLag` objects.
    """
    known = unknown = count = 0
    some = False
    for commit in committed:
        count += 1
        found = bounds.get((commit.topic, commit.partition))
        if commit.error or (commit.offset is not None and (found is None or found.log_end is None)):
            unknown += 1
        elif commit.offset is not None and found is not None and found.log_end is not None:
            known, some = known + max(found.log_end - commit.offset, 0), True
        elif found is not None and found.error in FORBIDDEN:
            unknown += 1
    for row in share:
        count += 1
        if row.lag is not None:
            known, some = known + row.lag, True
        elif row.error or row.start_offset is not None:
            unknown += 1
    return LagTotal(known if some else None, unknown, count)


def positions_of(
    committed: Iterable[CommittedOffset], share: Iterable[ShareOffset], bounds: Mapping[TopicPartition, PartitionBounds]
) -> list[Position]:
    """Return one `Position` per partition in `committed` and `share`.

    Args:
        bounds: `(topic, partition)` → log offsets. Partitions with unknown offsets may be missing.
    """
    rows: list[Position] = []
    for commit in committed:
        key = (commit.topic, commit.partition)
        found = bounds.get(key)
        end = None if found is None else found.log_end
        offset = None if commit.error else commit.offset
        rows.append(Position(key, offset, end, None if end is None or offset is None else max(end - offset, 0)))
    for row in share:
        key = (row.topic, row.partition)
        found = bounds.get(key)
        end = None if found is None else found.log_end
        rows.append(Position(key, row.start_offset, end, row.lag))
    return rows


def lag_of_group(offsets: GroupOffsets) -> LagTotal:
    """Return the total lag of a group.

    The numbers are the same as in `total(lags(offsets))`, but this function is faster, and also sets `LagTotal.hidden`.
    """
    bounds = offsets.bounds or {}
    sums = summed(offsets.committed, offsets.share, bounds)
    # Count the partitions that have an owner but no committed offset, too. They are only in `bounds`.
    owned = bounds.keys() - set(offsets.partitions)
    forbidden = sum(1 for tp in owned if bounds[tp].error in FORBIDDEN)
    return LagTotal(sums.lag, sums.unknown + forbidden, sums.partitions + len(owned), offsets.hidden)


def consumed_until(offsets: GroupOffsets) -> float | None:
    """Return when the newest consumed record of a group was written, in epoch seconds; None if this is not known.

    The true time may be later, because kgtui knows the times of consumed records only for some partitions, and not
    always exactly.
    """
    times = [row.exact_times for row in lags(offsets)]
    return max((one.consumed.earliest for one in times if one is not None and one.consumed is not None), default=None)
