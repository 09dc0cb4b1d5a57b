"""What is known of a cluster's groups at one moment: one frozen value that views draw and commands print."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kgtui.model.answer import Fault
    from kgtui.model.cluster import ClusterInfo
    from kgtui.model.group import GroupConfig, GroupDescription, Listing
    from kgtui.model.health import GroupHealth
    from kgtui.model.offsets import GroupOffsets

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reading(Generic[T]):
    """A value with the time it was read.

    Attributes:
        at: seconds since the epoch.
        fault: why it could not be renewed since; the value is then the last good one. None when it is fresh.
    """

    value: T
    at: float
    fault: Fault | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """What the background sweep keeps of a group that nobody looks at.

    Attributes:
        members: number of members; None if unknown.
        lag: summed over the partitions whose lag is known, in records; None when none is known.
        lag_unknown: partitions whose lag could not be told.
        partitions: partitions with an offset.
        topics: topics subscribed to or with an offset, sorted.
        roster: client ids, hosts and member ids, as `kgtui.model.member_index` writes and reads them.
        state: state that the describe gave (for brokers that do not list states), or None.
        type: type that the describe gave (for brokers that do not list types), or None.
        at: seconds since the epoch when it was read.
        fault: why a part is unknown, or None.
    """

    members: int | None
    lag: int | None
    lag_unknown: int
    partitions: int
    topics: tuple[str, ...]
    member_index: str
    at: float
    state: str | None = None
    type: str | None = None
    fault: Fault | None = None


@dataclass(frozen=True, slots=True)
class BrokerStatus:
    """How one broker answers the polls.

    Attributes:
        answered_at: seconds since the epoch of the last good answer; None if there was none yet.
        took_ms: how long that answer took.
        fault: why the newest poll failed; None when it was good, or is still under way.
        groups: how many groups it coordinates, as last listed; None if never.
        interval: seconds between its polls as stretched now.
        failures: polls that failed in a row.
        asked_at: seconds since the epoch when the poll under way was sent; None when none is.
    """

    node: int
    address: str
    answered_at: float | None = None
    took_ms: float | None = None
    fault: Fault | None = None
    groups: int | None = None
    interval: float = 2.0
    failures: int = 0
    asked_at: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """Every group, and all that is known of each so far. Compared by identity: comparing 100,000 rows costs too much.

    Attributes:
        serial: grows by one with each snapshot of a monitor.
        taken_at: seconds since the epoch.
        groups: group id → what the newest list of its coordinator says. Insertion order means nothing.
        by_listing: listing → its group ids, sorted; replaced when they change and never mutated.
        summaries: group id → what the sweep found. All snapshots of a monitor share them: what it finds later is in
            them at once, since a copy of 100,000 for each snapshot would cost too much.
        details: group id → newest description, for groups looked at.
        offsets: group id → newest offsets, for groups looked at.
        configs: group id → newest configs, for groups looked at.
        health: group id → how it does, for groups that were watched (`kgtui.model.health`).
        state_since: group id → time its state was first seen, in seconds; only for states that began while watching.
            Shared by all snapshots, as `summaries` are.
        brokers: node id → how it answers.
        group_faults: group id → why its newest describe or offsets failed.
        faults: what concerns the cluster as a whole.
        swept: how many groups the sweep has read at least once.
    """

    serial: int
    taken_at: float
    cluster: ClusterInfo
    groups: Mapping[str, Listing] = field(default_factory=dict)
    by_listing: Mapping[Listing, Sequence[str]] = field(default_factory=dict)
    summaries: Mapping[str, Summary] = field(default_factory=dict)
    details: Mapping[str, Reading[GroupDescription]] = field(default_factory=dict)
    offsets: Mapping[str, Reading[GroupOffsets]] = field(default_factory=dict)
    configs: Mapping[str, Reading[tuple[GroupConfig, ...]]] = field(default_factory=dict)
    state_since: Mapping[str, float] = field(default_factory=dict)
    brokers: Mapping[int, BrokerStatus] = field(default_factory=dict)
    group_faults: Mapping[str, Fault] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
    swept: int = 0
    health: Mapping[str, GroupHealth] = field(default_factory=dict)

    @property
    def answering(self) -> int:
        """How many brokers answered their newest poll."""
        return sum(1 for status in self.brokers.values() if status.answered_at is not None and status.fault is None)

    def state_of(self, group: str) -> str | None:
        """The newest state known, from the list, or where brokers do not list states from the sweep."""
        listing = self.groups.get(group)
        if listing is None or listing.state is not None:
            return listing.state if listing else None
        summary = self.summaries.get(group)
        return summary.state if summary else None
