"""The interface `GroupAdmin`: async methods to list, describe, read and delete the groups of one cluster.

- Methods that read return an `Answer`. It contains the rows that could be read, and one fault per broker or group that
  could not be read. They raise `UnreachableError` only if nothing could be read.
- Methods that write return one `Outcome` per group.
- `timeout` is the time limit of the whole call, in seconds. If a broker has not answered when it is over, the result
  contains a fault for this broker.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from kgtui.model import defaults
from kgtui.model.record_times import PRECISION

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from kgtui.model.access import Access
    from kgtui.model.answer import Answer, Outcome
    from kgtui.model.cluster import ClusterInfo, Retention, TopicRules
    from kgtui.model.empty_reason import StateSearch
    from kgtui.model.group import GroupConfig, GroupDescription, Listing
    from kgtui.model.offsets import CommittedOffset, PartitionBounds, ShareOffset, TopicPartition
    from kgtui.model.record_times import LogPosition, RecordTime

DEFAULT_TIMEOUT = defaults.TIMEOUT
"""Default time limit of a call, in seconds."""


@dataclass(frozen=True, slots=True, eq=False)
class ListingDelta:
    """The differences between two successive lists of groups from one broker.

    Attributes:
        updated: group id → listing, for new and changed groups.
        removed: ids of groups that the broker no longer lists.
        total: number of groups that the broker lists now.
        took_ms: time from the beginning of the poll until the response was decoded, in milliseconds.
        states_listed: whether the response contains states (since ListGroups v4, Kafka 2.6).
        throttle_ms: how long the broker throttles kgtui because of a quota, in milliseconds.
        state_since: group id → time at which the group's current state began, in seconds since the epoch, or None if
            unknown. Contains only groups for which this time has changed since the last poll. Empty for a live broker,
            because brokers do not report the time.
        state_search: the part of a recording from which `state_since` was computed; None for a live broker.
    """

    updated: Mapping[str, Listing] = field(default_factory=dict)
    removed: Collection[str] = ()
    total: int = 0
    took_ms: float = 0.0
    states_listed: bool = True
    throttle_ms: int = 0
    state_since: Mapping[str, float | None] = field(default_factory=dict)
    state_search: StateSearch | None = None


class ListingFeed(Protocol):
    """Lists the groups of one broker repeatedly, and returns only the changes."""

    async def poll(self, *, timeout: float = DEFAULT_TIMEOUT) -> ListingDelta:
        """List the groups again, and return the changes. In the first call, every group is new.

        Raises:
            ClientError: the broker did not answer. The next call compares with the last list that was received.
        """
        ...


class GroupAdmin(Protocol):
    """Administration of the groups of one cluster.

    The type in brackets after `Answer` is the type of `Answer.rows`. For example, the rows of an
    `Answer[Mapping[str, Listing]]` map each group id to a `Listing`.

    Implementations are `KafkaGroupAdmin` for a live cluster, `ReplayAdmin` for a recording, and a test double.
    """

    async def cluster(self, *, timeout: float = DEFAULT_TIMEOUT) -> ClusterInfo:
        """Return the cluster id, the brokers, the controller and the finalized features.

        Raises:
            UnreachableError: no broker answered. The error contains each address that was tried, with the reason.
        """
        ...

    async def list_groups(
        self,
        types: Collection[str] | None = None,
        protocols: Collection[str] | None = None,
        states: Collection[str] | None = None,
        *,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> Answer[Mapping[str, Listing]]:
        """List the groups of all brokers, sorted by group id (KIP-40, KIP-518, KIP-1043).

        Args:
            types: group types in upper or lower case. None means all types.
            protocols: protocol types, such as `consumer` or `connect`. None means all protocol types.
            states: states in upper or lower case. None means all states.
        """
        ...

    def listing_feed(self, broker: int) -> ListingFeed:
        """Return a feed that lists the groups of one broker, given by its node id."""
        ...

    async def describe_groups(
        self, groups: Iterable[str], *, timeout: float = DEFAULT_TIMEOUT
    ) -> Answer[Mapping[str, GroupDescription]]:
        """Describe groups of any mix of types, each with the RPC of its type (KIP-848, KIP-932, KIP-1071).

        Descriptions are not cached, because a group can be deleted and created again with a different type. A group
        that does not exist has no row, but the fault `GROUP_ID_NOT_FOUND`.
        """
        ...

    async def committed_offsets(
        self, groups: Iterable[str], *, timeout: float = DEFAULT_TIMEOUT
    ) -> Answer[Mapping[str, tuple[CommittedOffset, ...]]]:
        """Return all committed offsets of each group, sorted by topic and partition (KIP-709, KIP-699).

        A group that has no offsets, or does not exist, has an empty tuple.
        """
        ...

    async def share_offsets(
        self, groups: Iterable[str], *, timeout: float = DEFAULT_TIMEOUT
    ) -> Answer[Mapping[str, tuple[ShareOffset, ...]]]:
        """Return the share-partition start offsets and lags of each share group (KIP-932, KIP-1226)."""
        ...

    async def partition_bounds(
        self, partitions: Iterable[TopicPartition], *, starts: bool = True, timeout: float = DEFAULT_TIMEOUT
    ) -> Answer[Mapping[TopicPartition, PartitionBounds]]:
        """Read the log start and log end offset of each partition from the leader of the partition.

        If a leader did not answer, its partitions are missing, and a fault names the broker.

        Args:
            starts: whether log start offsets are read too. If False, `PartitionBounds.log_start` is None for every
                partition, and half as many requests are needed.
        """
        ...

    async def record_times(
        self,
        positions: Mapping[TopicPartition, LogPosition],
        rules: Mapping[str, TopicRules] | None = None,
        *,
        precision: float = PRECISION,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> Answer[Mapping[TopicPartition, RecordTime]]:
        """Return the times at which the last consumed and the first unread record of each partition were written.

        The last consumed record is the one just before the committed offset; the first unread record is the one at the
        committed offset. Their times are found with up to 20 ListOffsets requests to each leader, and a few more after
        errors. The requests need only DESCRIBE on the topics. The times are correct only if the timestamps in a
        partition never decrease from one record to the next. If a time is unknown, `RecordTime.reason` says why.

        Args:
            positions: partition → committed offset and log bounds, for partitions with unread records.
            rules: topic → how the topic keeps records, as returned by `retention`. Compacted topics are not searched.
                Topics with tiered storage are searched only on Kafka 4.0 and newer.
            precision: accepted uncertainty of a time, as a fraction of the record's age: 0.1 accepts 6 minutes for a
                record that is one hour old. An uncertainty of less than one second is always accepted.
        """
        ...

    async def group_configs(
        self, groups: Iterable[str], *, timeout: float = DEFAULT_TIMEOUT
    ) -> Answer[Mapping[str, tuple[GroupConfig, ...]]]:
        """Return the configs of each group, sorted by the name of the config (KIP-848, KIP-1226).

        Before Kafka 4.0, each group has the fault `NOT_SUPPORTED`.
        """
        ...

    async def retention(self, topics: Iterable[str], *, timeout: float = DEFAULT_TIMEOUT) -> Answer[Retention]:
        """Return how long brokers keep the records of these topics and the committed offsets of groups without members.

        If the configs of a topic cannot be read, its retention time is missing, and a fault contains the reason.
        """
        ...

    async def access(self, *, max_age: float = 0.0, timeout: float = DEFAULT_TIMEOUT) -> Access:
        """Return the permissions of the Kafka user as which kgtui logs in (KIP-430).

        Callers need them to know whether an answer is complete, because brokers silently leave out groups and topics on
        which the user lacks DESCRIBE.

        Args:
            max_age: maximum age of a cached result, in seconds. A cached result is not used at all if brokers have
                refused new requests, or answered requests that they had refused, since the permissions were read.

        Raises:
            UnreachableError: no broker answered.
        """
        ...

    async def delete_groups(self, groups: Iterable[str], *, timeout: float = DEFAULT_TIMEOUT) -> tuple[Outcome, ...]:
        """Delete groups with DeleteGroups (KIP-229), and return one outcome per group in the given order.

        This method only sends the RPC; the code in `kgtui.actions` that calls it adds checks, backup and audit log. If
        a broker might have executed a request, the request is never repeated.
        """
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...
