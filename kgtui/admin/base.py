"""The interface `GroupAdmin`: everything that can be asked of the groups of one cluster, as asynchronous methods.

Reads return an `Answer`, which holds rows and faults. They raise `UnreachableError` only if nothing at all could be
read. Writes return one `Outcome` per group. Every method takes `timeout`, the time limit for the whole call in seconds;
a broker that has not answered by then has a fault in the answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from kgtui.model.answer import Answer, Outcome
    from kgtui.model.cluster import ClusterInfo, Retention
    from kgtui.model.group import GroupConfig, GroupDescription, Listing
    from kgtui.model.offsets import CommittedOffset, PartitionBounds, ShareOffset, TopicPartition

DEFAULT_TIMEOUT = 30.0
"""Time limit of a call by default, in seconds."""


@dataclass(frozen=True, slots=True, eq=False)
class ListingDelta:
    """The differences between two successive lists of one broker.

    Attributes:
        updated: group id → listing, for groups that are new or have changed.
        removed: ids of groups that the broker no longer lists.
        total: number of groups that the broker lists now.
        took_ms: time from sending the request until the answer was decoded, in milliseconds.
        states_listed: whether the broker lists states (ListGroups v4, Kafka 2.6).
    """

    updated: Mapping[str, Listing] = field(default_factory=dict)
    removed: Collection[str] = ()
    total: int = 0
    took_ms: float = 0.0
    states_listed: bool = True


class ListingFeed(Protocol):
    """Lists the groups of one broker repeatedly, and returns only what has changed since the last list."""

    async def poll(self, *, timeout: float = DEFAULT_TIMEOUT) -> ListingDelta:
        """List the groups again, and return the differences; the first time, every group is new.

        Raises:
            ClientError: the broker did not answer. The next poll compares with the last list that was received.
        """
        ...


class GroupAdmin(Protocol):
    """Administration of the groups of one cluster.

    Three classes implement it: `KafkaGroupAdmin` for a running cluster, `ReplayAdmin` for a recording, and a scripted
    one for tests.
    """

    async def cluster(self, *, timeout: float = DEFAULT_TIMEOUT) -> ClusterInfo:
        """Return the cluster id, the brokers, the controller and the finalized features.

        Raises:
            UnreachableError: no broker answered. It lists the addresses that were tried, and why each failed.
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
            types: group types to include, in any case; None for all.
            protocols: protocol types to include, such as `consumer` or `connect`; None for all.
            states: states to include, in any case; None for all.
        """
        ...

    def listing_feed(self, broker: int) -> ListingFeed:
        """Return a feed that lists the groups of one broker, given by its node id."""
        ...

    async def describe_groups(
        self, groups: Iterable[str], *, timeout: float = DEFAULT_TIMEOUT
    ) -> Answer[Mapping[str, GroupDescription]]:
        """Describe groups of any mix of types, each with the RPC of its type (KIP-848, KIP-932, KIP-1071).

        Every call asks the coordinators again, and checks the type of each group with them. A group that does not exist
        has the fault `GROUP_ID_NOT_FOUND`.
        """
        ...

    async def committed_offsets(
        self, groups: Iterable[str], *, timeout: float = DEFAULT_TIMEOUT
    ) -> Answer[Mapping[str, tuple[CommittedOffset, ...]]]:
        """Return all committed offsets of each group, sorted by topic and partition (KIP-709, KIP-699).

        A group without offsets has an empty tuple, and so has a group that does not exist.
        """
        ...

    async def share_offsets(
        self, groups: Iterable[str], *, timeout: float = DEFAULT_TIMEOUT
    ) -> Answer[Mapping[str, tuple[ShareOffset, ...]]]:
        """Return the share-partition start offsets and lags of each share group, sorted (KIP-932, KIP-1226)."""
        ...

    async def partition_bounds(
        self, partitions: Iterable[TopicPartition], *, starts: bool = True, timeout: float = DEFAULT_TIMEOUT
    ) -> Answer[Mapping[TopicPartition, PartitionBounds]]:
        """Return the log start and log end of each partition, requested from its leader in batches.

        Args:
            starts: whether log starts are read. The lag needs only log ends, which take half the requests; every
                `log_start` is then None.
        """
        ...

    async def group_configs(
        self, groups: Iterable[str], *, timeout: float = DEFAULT_TIMEOUT
    ) -> Answer[Mapping[str, tuple[GroupConfig, ...]]]:
        """Return the configs of each group with their sources, sorted by name (KIP-848, KIP-1226).

        Before Kafka 4.0, every group has the fault `NOT_SUPPORTED`.
        """
        ...

    async def retention(self, topics: Iterable[str], *, timeout: float = DEFAULT_TIMEOUT) -> Answer[Retention]:
        """Return how long these topics keep records, and how long the brokers keep the offsets of Empty groups.

        A topic whose configs may not be read has a fault, and is missing in the result.
        """
        ...

    async def delete_groups(self, groups: Iterable[str], *, timeout: float = DEFAULT_TIMEOUT) -> tuple[Outcome, ...]:
        """Delete groups with DeleteGroups (KIP-229), and return one outcome per group in the given order.

        This is the bare RPC, without the checks, the backup and the audit log of `kgtui.actions`. A request is never
        repeated when it may have been carried out already.
        """
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...
