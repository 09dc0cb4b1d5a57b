"""What one can ask of groups: the interface, all async, that every implementation keeps.

Reads return an `Answer`: they raise `UnreachableError` only when nothing at all could be learned. Writes return one
`Outcome` per group. Every call takes `timeout`, in seconds for the whole call; what has not arrived by then is a fault.
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


@dataclass(frozen=True, slots=True, eq=False)
class ListingDelta:
    """What one broker's list differs in from the list before.

    Attributes:
        updated: group id → listing, for groups that are new or listed differently.
        removed: ids that this broker no longer lists.
        total: how many groups it lists now.
        took_ms: from the request to the last byte decoded.
        states_listed: False for brokers that do not list states (ListGroups before v4, Kafka before 2.6).
    """

    updated: Mapping[str, Listing] = field(default_factory=dict)
    removed: Collection[str] = ()
    total: int = 0
    took_ms: float = 0.0
    states_listed: bool = True


class ListingFeed(Protocol):
    """The list of one broker, polled again and again; remembers what it saw, so that a poll costs what changed."""

    async def poll(self, *, timeout: float = DEFAULT_TIMEOUT) -> ListingDelta:
        """List again. Raises `ClientError` when this broker does not answer; what it knew stays."""
        ...


class GroupAdmin(Protocol):
    """Administration of groups of one cluster. Implementations: Kafka, replay, and one scripted for tests."""

    async def cluster(self, *, timeout: float = DEFAULT_TIMEOUT) -> ClusterInfo:
        """Brokers, controller and features. Raises `UnreachableError` with what was tried."""
        ...

    async def list_groups(
        self,
        types: Collection[str] | None = None,
        protocols: Collection[str] | None = None,
        states: Collection[str] | None = None,
        *,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> Answer[Mapping[str, Listing]]:
        """Group id → listing, for every group of every broker that passes the filters (None: no filter), sorted by id.

        See KIP-1043, KIP-518 and KIP-40.

        Types and states that Kafka knows are taken in any case.
        """
        ...

    def listing_feed(self, broker: int) -> ListingFeed:
        """A feed of the groups that this broker coordinates."""
        ...

    async def describe_groups(
        self, groups: Iterable[str], *, timeout: float = DEFAULT_TIMEOUT
    ) -> Answer[Mapping[str, GroupDescription]]:
        """Describe groups of any mix of types, each by the RPC of its own type (KIP-848, KIP-932, KIP-1071).

        Fresh on every call: the type is checked against the coordinator, never taken from memory alone. A group that
        does not exist is a fault `GROUP_ID_NOT_FOUND`.
        """
        ...

    async def committed_offsets(
        self, groups: Iterable[str], *, timeout: float = DEFAULT_TIMEOUT
    ) -> Answer[Mapping[str, tuple[CommittedOffset, ...]]]:
        """All committed offsets of each group, sorted by topic and partition (KIP-709, KIP-699).

        No offsets is not an error and does not prove that a group exists.
        """
        ...

    async def share_offsets(
        self, groups: Iterable[str], *, timeout: float = DEFAULT_TIMEOUT
    ) -> Answer[Mapping[str, tuple[ShareOffset, ...]]]:
        """Share-partition start offsets and lag of each share group, sorted (KIP-932, KIP-1226)."""
        ...

    async def partition_bounds(
        self, partitions: Iterable[TopicPartition], *, starts: bool = True, timeout: float = DEFAULT_TIMEOUT
    ) -> Answer[Mapping[TopicPartition, PartitionBounds]]:
        """Log start and log end of each partition, batched per leader; errors are kept per partition.

        Args:
            starts: False when log ends are enough, as for a lag: half the requests, and every `log_start` is None.
        """
        ...

    async def group_configs(
        self, groups: Iterable[str], *, timeout: float = DEFAULT_TIMEOUT
    ) -> Answer[Mapping[str, tuple[GroupConfig, ...]]]:
        """Group configs with their sources, by name (KIP-848, KIP-1226); `NOT_SUPPORTED` before 4.0."""
        ...

    async def retention(self, topics: Iterable[str], *, timeout: float = DEFAULT_TIMEOUT) -> Answer[Retention]:
        """How long these topics keep records, and the brokers the offsets of Empty groups (DescribeConfigs).

        A config that may not be read is a fault, and what it would tell is not named.
        """
        ...

    async def delete_groups(self, groups: Iterable[str], *, timeout: float = DEFAULT_TIMEOUT) -> tuple[Outcome, ...]:
        """Send DeleteGroups (KIP-229), once: never repeated after an answer that may have been lost.

        The bare RPC, which has no type check of its own: `kgtui.actions` stands before it. One outcome per group, in
        the order given.
        """
        ...

    async def close(self) -> None:
        """Close every connection."""
        ...
