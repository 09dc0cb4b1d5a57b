"""Fields of one partition of a group: its offsets, its lag and its owner."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kgtui.model.fields import Field, Missing
from kgtui.model.rfc3339 import rfc3339

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kgtui.model.offsets import PartitionLag
    from kgtui.model.record_times import RecordTime
    from kgtui.model.snapshot import Snapshot

    PartitionField = Field[["PartitionRow"]]

_LIST_OFFSETS = "ListOffsets"
_TIMES = "ListOffsets by timestamp"
_POSITION = "OffsetFetch, or DescribeShareGroupOffsets for a share group"


class PartitionRow(NamedTuple):
    """One partition of a group.

    Attributes:
        lag: the group's offset in the partition, the log start and end offsets, and the lag.
        share: True if the group's offset is a share-partition start offset (SPSO, KIP-932), False if it is a committed
            offset.
        member_id: member id of the owner, or of one of several owners; None if there is no owner.
        owner: short name of the owner, or a text such as `3 members`; None if there is no owner.
    """

    lag: PartitionLag
    share: bool
    member_id: str | None
    owner: str | None = None


def _times(row: PartitionRow) -> RecordTime | None:
    return row.lag.exact_times


def _times_reason(row: PartitionRow) -> str | None:
    found = row.lag.exact_times
    if found is None:
        return None
    return found.reason or (f"expiry not known: {found.expiry_reason}" if found.expiry_reason else None)


def _time_text(at: float) -> str:
    return rfc3339(at, "seconds")


TOPIC: PartitionField = Field("topic", "TOPIC", "string", _POSITION, lambda row: row.lag.topic)
PARTITION: PartitionField = Field("partition", "PARTITION", "int", _POSITION, lambda row: row.lag.partition)
COMMITTED: PartitionField = Field(
    "committed", "COMMITTED", "long", "OffsetFetch", lambda row: None if row.share else row.lag.position,
    unit="offset", missing=Missing.UNREAD,
)  # fmt: skip
START_OFFSET: PartitionField = Field(
    "start_offset", "START-OFFSET", "long", "DescribeShareGroupOffsets (KIP-932)",
    lambda row: row.lag.position if row.share else None, unit="offset", missing=Missing.UNREAD,
)  # fmt: skip
LOG_START: PartitionField = Field(
    "log_start", "LOG-START", "long", _LIST_OFFSETS, lambda row: row.lag.log_start,
    unit="offset", missing=Missing.UNREAD,
)  # fmt: skip
LOG_END: PartitionField = Field(
    "log_end", "LOG-END", "long", _LIST_OFFSETS, lambda row: row.lag.log_end, unit="offset", missing=Missing.UNREAD
)
LAG: PartitionField = Field(
    "lag", "LAG", "long", "log end offset − committed offset; in share groups, reported by the broker (KIP-1226)",
    lambda row: row.lag.lag, unit="records", missing=Missing.UNREAD,
)  # fmt: skip
LEAD: PartitionField = Field(
    "lead", "LEAD", "long",
    "committed or share-partition start offset − log start offset; 0 if the group has lost records",
    lambda row: row.lag.lead, unit="records", missing=Missing.UNREAD,
)  # fmt: skip
LOST: PartitionField = Field(
    "lost", "LOST", "long",
    "log start offset − committed or share-partition start offset: records that expired before they were read",
    lambda row: row.lag.lost, unit="records", missing=Missing.UNREAD,
)  # fmt: skip
UNREAD_SINCE: PartitionField = Field(
    "unread_since", "UNREAD-SINCE", "timestamp",
    f"{_TIMES}: when the first unread record was written, or the earliest possible time",
    lambda row: None if (found := _times(row)) is None or found.unread is None else found.unread.earliest,
    format=_time_text, encode=rfc3339, hide_empty=True,
)  # fmt: skip
UNREAD_SINCE_LATEST: PartitionField = Field(
    "unread_since_latest", "UNREAD-SINCE-LATEST", "timestamp",
    f"{_TIMES}: latest time at which the first unread record might have been written; equal to unread_since if the "
    "time is known exactly",
    lambda row: None if (found := _times(row)) is None or found.unread is None else found.unread.latest,
    format=_time_text, encode=rfc3339, hide_empty=True,
)  # fmt: skip
CONSUMED_AT: PartitionField = Field(
    "consumed_at", "LAST-CONSUMED", "timestamp",
    f"{_TIMES}: when the last consumed record was written; if the group has stopped, it stopped at this time or later",
    lambda row: None if (found := _times(row)) is None or found.consumed is None else found.consumed.earliest,
    format=_time_text, encode=rfc3339, hide_empty=True,
)  # fmt: skip
EXPIRES_FROM: PartitionField = Field(
    "expires_from", "EXPIRES-FROM", "timestamp",
    "unread_since + retention.ms of the topic: time from which the first unread record may be deleted",
    lambda row: None if (found := _times(row)) is None else found.expires_at,
    format=_time_text, encode=rfc3339, hide_empty=True,
)  # fmt: skip
TIMES_REASON: PartitionField = Field(
    "times_reason", "TIMES", "string", "why unread_since or expires_from is not known", lambda row: _times_reason(row),
    hide_empty=True,
)  # fmt: skip
LEADER_EPOCH: PartitionField = Field("leader_epoch", "EPOCH", "int", _POSITION, lambda row: row.lag.leader_epoch)
METADATA: PartitionField = Field(
    "metadata", "METADATA", "string", "OffsetFetch: text that the client added to its commit",
    lambda row: row.lag.metadata,
)  # fmt: skip
MEMBER_ID: PartitionField = Field(
    "member_id", "OWNER-ID", "string", "member to which the partition or its active task is assigned",
    lambda row: row.member_id,
)  # fmt: skip
OWNER: PartitionField = Field(
    "owner", "OWNER", "string", "shortest name that distinguishes the owner from the other members",
    lambda row: row.owner,
)  # fmt: skip
REASON: PartitionField = Field(
    "reason", "REASON", "string", "why the lag is unknown, from the errors of the RPCs that read offsets",
    lambda row: row.lag.reason or None,
)  # fmt: skip

PARTITION_OBJECT = (
    TOPIC, PARTITION, COMMITTED, START_OFFSET, LOG_START, LOG_END, LAG, LEAD, LOST, UNREAD_SINCE,
    UNREAD_SINCE_LATEST, CONSUMED_AT, EXPIRES_FROM, TIMES_REASON, LEADER_EPOCH, METADATA, MEMBER_ID, REASON, OWNER,
)  # fmt: skip
"""Fields of a partition in JSON, CSV and incident reports."""

_COLUMNS = (TOPIC, PARTITION, COMMITTED, LOG_START, LOG_END, LAG, LEAD, UNREAD_SINCE, OWNER)
_WIDE_COLUMNS = (*_COLUMNS, LOST, MEMBER_ID, CONSUMED_AT, EXPIRES_FROM, TIMES_REASON, LEADER_EPOCH, METADATA)


def partition_columns(rows: Sequence[PartitionRow], *, wide: bool) -> list[PartitionField]:
    """Return the columns of the partition table of `kgtui show`.

    For a share group, the column `START_OFFSET` replaces the column `COMMITTED`. A column with `hide_empty` is left out
    if all its values are empty.

    Args:
        wide: True for `--format wide`, which has more columns, and always has `LOST`. If False, `LOST` is included only
            if the group has lost records.
    """
    share = any(row.share and row.lag.position is not None for row in rows)
    fields = [
        START_OFFSET if share and field is COMMITTED else field for field in (_WIDE_COLUMNS if wide else _COLUMNS)
    ]
    if not wide and any(row.lag.lost for row in rows):
        fields.insert(fields.index(LEAD) + 1, LOST)
    return [field for field in fields if not field.hide_empty or any(field.text(row) for row in rows)]


def partition_rows(snapshot: Snapshot, group: str) -> list[PartitionRow]:
    """Return one row per partition, sorted by topic and partition.

    The rows cover all partitions in which the group has an offset, or which a member of the group owns.
    """
    from kgtui.model.facts import members_of
    from kgtui.model.member_names import member_names, owners_by_partition
    from kgtui.model.offsets import PartitionLag, lags

    offsets, description = snapshot.offsets.get(group), snapshot.details.get(group)
    owners = owners_by_partition(None if description is None else description.value)
    names = member_names(members_of(snapshot, group))
    share = {(row.topic, row.partition) for row in offsets.value.share} if offsets is not None else set()
    rows = lags(offsets.value) if offsets is not None else []
    with_offset = {(row.topic, row.partition) for row in rows}
    rows += [
        PartitionLag(topic, partition, None, None, None, None, None, None, "no commit")
        for topic, partition in owners
        if (topic, partition) not in with_offset
    ]
    rows.sort(key=lambda row: (row.topic, row.partition))
    found = []
    for row in rows:
        members = owners.get((row.topic, row.partition), ())
        member_id = members[-1].member_id if members else None
        owner = f"{len(members)} members" if len(members) > 1 else names[member_id] if member_id is not None else None
        found.append(PartitionRow(row, (row.topic, row.partition) in share, member_id, owner))
    return found
