"""The interface `GroupAdmin`: async methods to list, describe, read and delete the groups of one cluster.

- Methods that read return an `Answer`: the rows, and one `Fault` (error) per broker or group that could not be read.
  They raise `UnreachableError` if nothing could be read.
- Methods that write return one `Outcome` per group.
- `timeout` is the time limit of the whole call, in seconds. For a broker that does not answer in time, the `Answer`
  contains a `Fault`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from kgtui.model import defaults
from kgtui.model.record_times import PRECISION

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

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
    """The changes between two successive lists of groups from one broker.

    Attributes:
        updated: group id → type, protocol, state and coordinator, for new and changed groups.
        removed: ids of groups that the broker no longer lists.
        total: number of groups that the broker lists now.
        took_ms: duration of the poll in milliseconds, including the time to decode the response.
        states_listed: whether the response contains states (since ListGroups v4, Kafka 2.6).
        throttle_ms: how long the broker throttles kgtui because of a quota, in milliseconds.
        state_since: group id → when the group's current state began, in seconds since the epoch; None if unknown. The
            dict is empty for a live broker, because only recordings contain these times.
        state_search: the part of the recording that was searched for the times in `state_since`; None for a live
            broker.
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
        """List the groups again, and return the changes since the last call. In the first call, every group is new.

        Raises:
            ClientError: the broker did not answer. The next successful call returns all changes since the last
                successful call.
        """
        ...


class GroupAdmin(Protocol):
    """Administration of the groups of one cluster.

    An `Answer[X]` has rows of the type `X`. For example, the rows of `list_groups` map group ids to `Listing`s.

    Implementations: `KafkaGroupAdmin` for a live cluster, and `ReplayAdmin` for a recording.
    """

    async def cluster(self, *, timeout: float = DEFAULT_TIMEOUT) -> ClusterInfo:
        """Return the cluster id, the brokers, the controller and the finalized features.

        Raises:
            UnreachableError: no broker answered. The error contains every address, and why there was no answer.
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
            types: group types in upper or lower case; None for all.
            protocols: protocol types, such as `consumer` or `connect`; None for all.
            states: states in upper or lower case; None for all.
        """
        ...

    def listing_feed(self, broker: int) -> ListingFeed:
        """Return a `ListingFeed` for the broker with this node id. Each call of `poll` lists the broker's groups."""
        ...

    def share_listings(self, listings: Callable[[], Mapping[str, Listing]]) -> None:
        """Let this object use the `Listing`s (values from ListGroups) that the caller stores.

        Then this object need not store them too, which saves memory in a cluster with many groups.

        Args:
            listings: returns a dict: group id → its newest `Listing` from the feeds of all brokers.
        """
        ...

    async def describe_groups(
        self, groups: Iterable[str], *, timeout: float = DEFAULT_TIMEOUT
    ) -> Answer[Mapping[str, GroupDescription]]:
        """Describe each group with the RPC of its type. The types can be mixed (KIP-848, KIP-932, KIP-1071).

        A group that does not exist has the fault `GROUP_ID_NOT_FOUND` instead of a row.
        """
        ...

    async def committed_offsets(
        self, groups: Iterable[str], *, timeout: float = DEFAULT_TIMEOUT
    ) -> Answer[Mapping[str, tuple[CommittedOffset, ...]]]:
        """Return all committed offsets of each group, sorted by topic and partition (KIP-709, KIP-699).

        The tuple is empty for a group without offsets, and for a group that does not exist.
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
        """Read the log start and log end offset of each partition from its leader.

        If a leader does not answer, the `Answer` lacks the partitions of this leader, and contains a `Fault` that names
        the broker.

        Args:
            starts: whether to read log start offsets too. Without them, half as many requests are needed.
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
        """Find out when the last consumed and the first unread record of each partition were written.

        kgtui usually sends at most 20 ListOffsets requests to each leader. For these requests, the user needs DESCRIBE
        on the topics, and no other permission. The times are correct only if timestamps never decrease within a
        partition. `RecordTime.reason` says why a time is unknown.

        Args:
            positions: partition → committed offset, log start and log end, for partitions with unread records.
            rules: topic → retention rules, from `GroupAdmin.retention`. Compacted topics are not searched. On brokers
                before Kafka 4.0, topics with tiered storage are not searched either.
            precision: accepted uncertainty of a time, as a fraction of the record's age. For example, with 0.1, the
                time of a record that is 60 min old is accurate to 6 min. An uncertainty of 1 s is always accepted.
        """
        ...

    async def group_configs(
        self, groups: Iterable[str], *, timeout: float = DEFAULT_TIMEOUT
    ) -> Answer[Mapping[str, tuple[GroupConfig, ...]]]:
        """Return the configs of each group, sorted by the name of the config (KIP-848, KIP-1226).

        Brokers before Kafka 4.0 do not return group configs. The `Answer` then contains the `Fault` NOT_SUPPORTED for
        each group.
        """
        ...

    async def retention(self, topics: Iterable[str], *, timeout: float = DEFAULT_TIMEOUT) -> Answer[Retention]:
        """Return the retention times of topics, and the retention time of committed offsets in groups without members.

        If the configs of a topic cannot be read, the `Answer` lacks the retention time of the topic, and contains a
        `Fault` that says why.
        """
        ...

    async def access(self, *, max_age: float = 0.0, timeout: float = DEFAULT_TIMEOUT) -> Access:
        """Return the permissions of the Kafka user that kgtui logs in as (KIP-430).

        Brokers silently leave out groups and topics that this user is not allowed to describe. The permissions show
        whether an answer is complete.

        Args:
            max_age: maximum age of cached permissions, in seconds. If a broker has refused a request after the
                permissions were read, kgtui reads them again, whatever their age is.

        Raises:
            UnreachableError: no broker answered.
        """
        ...

    async def delete_groups(self, groups: Iterable[str], *, timeout: float = DEFAULT_TIMEOUT) -> tuple[Outcome, ...]:
        """Delete groups with DeleteGroups (KIP-229), and return one outcome per group in the given order.

        A request that a broker might have executed is never repeated. This method does not check the groups and writes
        no backup, because `kgtui.actions` does both.
        """
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...
