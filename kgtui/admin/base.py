"""The interface `GroupAdmin`: asynchronous methods to list, describe, read and delete the groups of one cluster.

Methods that read return an `Answer`, which contains rows, and a fault for everything that could not be read. They raise
`UnreachableError` only if nothing at all could be read. Methods that write return one `Outcome` per group. Every method
takes `timeout`, the time limit for the whole call in seconds. For a broker that has not answered by then, the `Answer`
contains a fault.
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

    The `Listing` of a group is its row in the broker's list, without the group id.

    Attributes:
        updated: group id → listing, for groups that are new or whose listing has changed.
        removed: ids of groups that the broker no longer lists.
        total: number of groups that the broker lists now.
        took_ms: time from sending the request until the response was decoded, in milliseconds.
        states_listed: whether the broker lists states (ListGroups v4, Kafka 2.6).
        throttle_ms: time for which the broker throttles kgtui because of a quota, in milliseconds; 0 if it does not.
        state_since: group id → time at which the group's state began, in seconds since the epoch, or None if that is
            not known, for all groups for which it has changed. It is empty for a live broker, because brokers do not
            report such times.
        state_search: the part of a recording that `state_since` was computed from; None for a live broker.
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
    """Lists the groups of one broker repeatedly, and returns only what has changed since the last list."""

    async def poll(self, *, timeout: float = DEFAULT_TIMEOUT) -> ListingDelta:
        """List the groups again, and return the differences from the last list. In the first call, every group is new.

        Raises:
            ClientError: the broker did not answer. The next call returns the differences from the last list that was
                received.
        """
        ...


class GroupAdmin(Protocol):
    """Administration of the groups of one cluster.

    The rows of an `Answer` have the type in brackets: `Answer[Mapping[str, Listing]]` maps each group id to a
    `Listing`, for example. If some data could not be read, the rows lack it, and the answer has a fault that says why.

    Three classes implement this interface: `KafkaGroupAdmin` for a running cluster, `ReplayAdmin` for a recording, and
    a test double with scripted answers.
    """

    async def cluster(self, *, timeout: float = DEFAULT_TIMEOUT) -> ClusterInfo:
        """Return the cluster id, the brokers, the controller and the finalized features.

        Raises:
            UnreachableError: no broker answered. The error lists every address that was tried, and why it failed.
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
            types: group types to include, in upper or lower case. None includes all types.
            protocols: protocol types to include, such as `consumer` or `connect`. None includes all protocol types.
            states: states to include, in upper or lower case. None includes all states.
        """
        ...

    def listing_feed(self, broker: int) -> ListingFeed:
        """Return a feed that lists the groups of one broker, given by its node id."""
        ...

    async def describe_groups(
        self, groups: Iterable[str], *, timeout: float = DEFAULT_TIMEOUT
    ) -> Answer[Mapping[str, GroupDescription]]:
        """Describe groups of any mix of types, each with the RPC of its type (KIP-848, KIP-932, KIP-1071).

        Descriptions are not cached: every call asks the coordinators again, so that a group which was created again
        with another type is described with its new type. For a group that does not exist, the answer contains the
        fault `GROUP_ID_NOT_FOUND`.
        """
        ...

    async def committed_offsets(
        self, groups: Iterable[str], *, timeout: float = DEFAULT_TIMEOUT
    ) -> Answer[Mapping[str, tuple[CommittedOffset, ...]]]:
        """Return all committed offsets of each group, sorted by topic and partition (KIP-709, KIP-699).

        The tuple of offsets is empty for a group without offsets, and also for a group that does not exist.
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
        """Return the log start and log end offset of each partition.

        The offsets are requested in batches from the leaders of the partitions.

        Args:
            starts: whether log starts are read too. If False, every `log_start` is None, and half as many requests are
                needed. Log ends alone are enough to compute the lag.
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
        """Return when the records on both sides of each committed offset were written.

        ListOffsets with timestamps is sent to the leaders of the partitions, up to 20 times each. The result assumes
        that the timestamps in a partition do not decrease. If a time is not known, `RecordTime.reason` says why. Only
        the permission DESCRIBE on the topics is needed.

        Args:
            positions: partition → committed offset and log bounds, for partitions with unread records.
            rules: topic → its configs, from `retention`. Compacted topics are not searched, and topics with tiered
                storage are only searched on brokers from Kafka 4.0 on.
            precision: accepted uncertainty of a time, as a fraction of the age of the record. An uncertainty below one
                second is always accepted.
        """
        ...

    async def group_configs(
        self, groups: Iterable[str], *, timeout: float = DEFAULT_TIMEOUT
    ) -> Answer[Mapping[str, tuple[GroupConfig, ...]]]:
        """Return the configs of each group with their sources, sorted by name (KIP-848, KIP-1226).

        Brokers before Kafka 4.0 have no group configs; the answer then contains the fault `NOT_SUPPORTED` for every
        group.
        """
        ...

    async def retention(self, topics: Iterable[str], *, timeout: float = DEFAULT_TIMEOUT) -> Answer[Retention]:
        """Return the retention time of these topics, and the retention time of the offsets of Empty groups.

        If the user may not read the configs of a topic, the topic is missing in the result, and the answer contains a
        fault.
        """
        ...

    async def access(self, *, max_age: float = 0.0, timeout: float = DEFAULT_TIMEOUT) -> Access:
        """Return the user's permissions, without which brokers leave data out of their responses (KIP-430).

        Args:
            max_age: if the result of an earlier call is not older than this many seconds, it is returned again, unless
                a broker has begun or stopped refusing requests since then.

        Raises:
            UnreachableError: no broker answered.
        """
        ...

    async def delete_groups(self, groups: Iterable[str], *, timeout: float = DEFAULT_TIMEOUT) -> tuple[Outcome, ...]:
        """Delete groups with DeleteGroups (KIP-229), and return one outcome per group in the given order.

        This method only sends the RPC. It does not include the checks, the backup and the audit log of `kgtui.actions`.
        A request is never repeated if a broker may already have executed it.
        """
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...
