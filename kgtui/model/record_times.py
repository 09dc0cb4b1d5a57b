"""Data types that say when the last consumed and the first unread record of a partition were written.

These are the records directly before and after the committed offset. Their times are record timestamps, set by the
producer (`message.timestamp.type=CreateTime`) or the broker (`LogAppendTime`). If the time of the first unread record
is unknown, the data contains the reason.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kgtui.model.cluster import TopicRules

FORBIDDEN_TOPIC = "you are not allowed to describe the topic; grant DESCRIBE on the topic to this user"
OLD_FORMAT = "the message format of the topic is too old for timestamps"
NO_TIMESTAMPS = "the records of the partition have no timestamps"
COMPACTED = "the topic is compacted, so some unread records may have been removed"
TIERED = "the topic uses tiered storage, which brokers before Kafka 4.0 search too slowly"
FUTURE = "the partition has records with timestamps in the future"
UNORDERED = "the timestamps in the partition are not in ascending order"
NO_ANSWER = "the leader of the partition did not answer"

NEVER_DELETES = "the topic is compacted and keeps the newest record of each key"
BY_SIZE = "retention.bytes is set for the topic"
UNLIMITED = "retention.ms of the topic is unlimited"

PRECISION = 0.01
"""Largest accepted error of the time at which a record was written, as a fraction of the record's age.

kgtui searches for this time with several ListOffsets requests, and stops as soon as the error is small enough.
With 0.01, the time of a record that is 100 minutes old may be wrong by 1 minute.
"""


class TimeRange(NamedTuple):
    """The earliest and the latest time at which a record might have been written, in seconds since the epoch.

    Both times are equal if the time of the record is known exactly.
    """

    earliest: float
    latest: float


class LogPosition(NamedTuple):
    """A committed offset or share-partition start offset, with the log start and log end offset of its partition."""

    offset: int
    log_start: int
    log_end: int


@dataclass(frozen=True, slots=True)
class RecordTime:
    """When the records directly before and after a committed offset were written.

    Attributes:
        offset: the committed offset; for share groups, the share-partition start offset.
        unread: when the first unread record was written; None if unknown.
        consumed: when the last consumed record was written; None if unknown.
        reason: why `unread` is not known, or empty.
        rounds: number of ListOffsets responses that the search for `unread` and `consumed` has used.
        expires_at: when retention can delete the first unread record (epoch seconds); None if unknown or never.
        any_time: whether the first unread record can be deleted at any time, because `retention.bytes` is set.
        expiry_reason: why `expires_at` is None. Empty if `expires_at` is known, or if `with_expiry` was not called.
    """

    offset: int
    unread: TimeRange | None = None
    consumed: TimeRange | None = None
    reason: str = ""
    rounds: int = 0
    expires_at: float | None = None
    any_time: bool = False
    expiry_reason: str = ""


def with_expiry(found: RecordTime, rules: TopicRules | None) -> RecordTime:
    """Return a copy of `found` with the time at which retention can delete the first unread record.

    If this time is unknown, or if there is no such time, `expiry_reason` of the copy contains the reason.

    Args:
        rules: retention configs of the topic; None if not read.
    """
    if rules is None or rules.fault:
        why = "the configs of the topic were not read" if rules is None else rules.fault
        return replace(found, expiry_reason=why)
    if not rules.deletes:
        return replace(found, expiry_reason=NEVER_DELETES)
    if rules.by_size:
        return replace(found, any_time=True, expiry_reason=BY_SIZE)
    if rules.seconds is None:
        return replace(found, expiry_reason=UNLIMITED)
    if found.unread is None:
        return replace(found, expiry_reason=found.reason)
    return replace(found, expires_at=found.unread.earliest + rules.seconds)
