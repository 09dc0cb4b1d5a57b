"""The snapshot: all data about a cluster at one time, for the UI and the commands."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Generic, TypeVar

from kgtui.model.group_types import SIMPLE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from kgtui.model.access import Access
    from kgtui.model.answer import Fault
    from kgtui.model.cluster import ClusterInfo
    from kgtui.model.empty_reason import StateSearch
    from kgtui.model.event import Event
    from kgtui.model.group import GroupConfig, GroupDescription, Listing
    from kgtui.model.health import GroupHealth
    from kgtui.model.judgment import FoundProblem, Judgment
    from kgtui.model.offsets import GroupOffsets
    from kgtui.model.summary import Summary
    from kgtui.model.timeline import ObservedTimes

MOST_CHANGES = 30_000
"""Default number of changes that a `ChangeLog` remembers. With 8 bytes per change, they take up 240 kB."""


class ChangeLog:
    """The ids of the groups that changed last, in the order of the changes.

    Args:
        most: maximum number of changes that are remembered. A reader that missed more changes must visit all groups.

    Attributes:
        total: number of changes so far.
        newest: ids of the groups that changed, with the most recent change last.
    """

    def __init__(self, most: int = MOST_CHANGES) -> None:
        self.total = 0
        self.newest: deque[str] = deque(maxlen=most)
        self._last: str | None = None

    def add(self, group: str) -> None:
        """Add a change. Consecutive changes of one group count once, unless `mark` was read between them."""
        if group != self._last:
            self._last = group
            self.total += 1
            self.newest.append(group)

    @property
    def mark(self) -> ChangeMark:
        """A mark at the current end of this log. A later mark can return the groups that changed after this one."""
        self._last = None
        return ChangeMark(self, self.total)


@dataclass(frozen=True, slots=True, eq=False)
class ChangeMark:
    """A place between earlier and later changes in a change log.

    Attributes:
        number: number of changes before this place.
    """

    log: ChangeLog
    number: int

    def changed_since(self, earlier: ChangeMark | None) -> set[str] | None:
        """Return the ids of the groups that have changed since an earlier mark.

        None if `earlier` is None, from another log or too old. The caller must then visit all groups.
        """
        if earlier is None or earlier.log is not self.log:
            return None
        count = self.log.total - earlier.number
        newest = self.log.newest
        return set(islice(reversed(newest), count)) if count <= len(newest) else None


T = TypeVar("T")

FRESH_HEALTH = 60.0
"""Maximum age of a health verdict in seconds. An older verdict is outdated.

If the group has been read in the background at least twice, the judgment from these reads replaces an outdated verdict.
Otherwise, the outdated verdict is drawn in another color.
"""


@dataclass(frozen=True, slots=True)
class Reading(Generic[T]):
    """A value with the time at which it was read.

    Attributes:
        at: seconds since the epoch.
        fault: why the newest read failed, or None. `value` and `at` then come from the last successful read.
    """

    value: T
    at: float
    fault: Fault | None = None


@dataclass(frozen=True, slots=True)
class BrokerStatus:
    """How one broker responds when kgtui polls its list of groups.

    Attributes:
        answered_at: time of the last successful response, in seconds since the epoch, or None.
        answered_since: time since which the broker has responded without a long gap, in seconds since the epoch, or
            None. kgtui has observed the groups of the broker since this time.
        took_ms: duration of the last successful poll in milliseconds; None if there was none.
        fault: why the newest poll failed; None if it succeeded or is still in flight.
        groups: number of groups that the broker listed last (the groups that it coordinates), or None.
        interval: current number of seconds between polls. It grows while polls are slow.
        failures: number of consecutive polls that failed.
        asked_at: time at which the poll in flight was sent, in seconds since the epoch; None if no poll is in flight.
        throttle_ms: how long a quota throttled the last list, in milliseconds; 0 if it did not.
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
    throttle_ms: int = 0
    answered_since: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """Every group of a cluster with all its data.

    Snapshots are compared by identity, because comparing 100,000 groups is slow. All snapshots of a monitor share the
    mappings that are marked "Shared", so in these mappings, an older snapshot contains newer values, too.

    The sweep is a background task that reads all groups in turn.

    Attributes:
        serial: consecutive number of the snapshot.
        taken_at: seconds since the epoch.
        groups: group id → row in the newest list of its coordinator, in no particular order. Equal rows share one
            `Listing`.
        by_listing: listing → sorted ids of the groups with this listing. If groups change, the sequence of ids is
            replaced, and the old sequence is not modified.
        summaries: group id → summary, which the sweep stores. Shared.
        details: group id → newest description, for selected or visible groups.
        offsets: group id → newest offsets, for selected or visible groups.
        configs: group id → newest configs, for groups whose configs were requested while they were selected.
        health: group id → newest health (verdict, lag trend, data loss), for groups that are read at every poll.
        screened: group id → judgment from the reads of the sweep, only for groups with a problem. The method `judgment`
            returns the judgment on any group. Shared.
        unobserved: number of groups with a possible problem that are not read at every poll, because there are too
            many of them.
        state_since: group id → when the current state was first observed, in seconds since the epoch. It lacks groups
            whose state has not changed since kgtui started, or since the beginning of `state_search`. Shared.
        state_search: the part of a recording that `state_since` was computed from; None for a live cluster.
        appeared: group id → None, for groups that appeared while kgtui was running, and whose state has not changed
            since they appeared. Their `state_since` is the time of the first list that contains them.
        brokers: node id → how the broker responds.
        group_faults: group id → why its newest description or offsets could not be read.
        faults: faults that concern the whole cluster.
        swept: number of groups that the sweep has read at least once.
        access: the permissions of the user; None if they were not needed or not read yet.
        events: the newest observed events, oldest first. Their number is limited.
        events_since: time since which events have been observed, in seconds since the epoch; None in a replay.
        recorded_times: group id → observed times of the group in the recording; empty for a live cluster.
        found_problems: group id → when its problem was found, for judgments that do not say when it began. Shared.
        changes: the place of this snapshot in the log of changed groups; None if there is no such log.
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
    state_search: StateSearch | None = None
    appeared: Mapping[str, None] = field(default_factory=dict)
    brokers: Mapping[int, BrokerStatus] = field(default_factory=dict)
    group_faults: Mapping[str, Fault] = field(default_factory=dict)
    faults: tuple[Fault, ...] = ()
    swept: int = 0
    health: Mapping[str, GroupHealth] = field(default_factory=dict)
    screened: Mapping[str, Judgment] = field(default_factory=dict)
    unobserved: int = 0
    access: Access | None = None
    events: Sequence[Event] = ()
    events_since: float | None = None
    recorded_times: Mapping[str, ObservedTimes] = field(default_factory=dict)
    found_problems: Mapping[str, FoundProblem] = field(default_factory=dict)
    changes: ChangeMark | None = None

    @property
    def hides_topics(self) -> bool:
        """Whether brokers may leave out topics. False while the permissions are unknown."""
        return self.access is not None and self.access.hides_topics

    @property
    def answering(self) -> int:
        """Number of brokers whose newest completed poll succeeded."""
        return sum(1 for status in self.brokers.values() if status.answered_at is not None and status.fault is None)

    def state_of(self, group: str) -> str | None:
        """Return the newest known state of a group, from the list of groups.

        If the brokers are too old to list states, it is the state in the summary of the group.
        """
        listing = self.groups.get(group)
        if listing is None or listing.state is not None:
            return listing.state if listing else None
        summary = self.summaries.get(group)
        return summary.state if summary else None

    def judgment(self, group: str) -> Judgment:
        """Return the judgment on a group, from its health verdict, its background reads and its failed reads.

        If the group is not listed, the status of the judgment is `NOT_FOUND`.
        """
        # `kgtui.model.judgment` is imported here, because commands that judge no group should not load it.
        from kgtui.model.judgment import NOT_FOUND, SCREENED_OK, judgment_of_summary, unreadable

        listing = self.groups.get(group)
        if listing is None:
            return NOT_FOUND
        fault, broker = self.group_faults.get(group), self.brokers.get(listing.coordinator)
        if fault is None and broker is not None:
            fault = broker.fault
        judgment, health, summary = self.screened.get(group), self.health.get(group), self.summaries.get(group)
        screened = summary is not None and summary.screened
        if screened and judgment is None and health is None and fault is None:
            return SCREENED_OK
        if judgment is None:
            judgment = judgment_of_summary(
                summary, self.state_of(group), self.state_since.get(group), appeared=group in self.appeared
            )
        if health is not None and not (screened and self.taken_at - (health.read_at or 0.0) > FRESH_HEALTH):
            from kgtui.model.health.judged import judgment_of_health

            judgment = judgment_of_health(health, judgment, state=self.state_of(group), group_type=listing.type)
        if judgment.kind is not None:
            judgment = self._completed(group, listing, judgment)
        if fault is None:
            return judgment
        read_at = None if summary is None else summary.lag_at
        if read_at is None and broker is not None and broker.fault is not None:
            read_at = broker.answered_at
        return unreadable(fault, judgment, read_at)

    def _completed(self, group: str, listing: Listing, judgment: Judgment) -> Judgment:
        """Add the time at which the problem was found, and change the reason for a recording or a simple group."""
        if judgment.since is None:
            found = self.found_problems.get(group)
            if found is not None and found.kind is judgment.kind:
                judgment = replace(judgment, since=found.at, since_seen=found.seen)
        if self.state_search is None and listing.kind != SIMPLE:
            return judgment
        from kgtui.model.empty_reason import reason_of

        reason = reason_of(judgment, listing, self.state_of(group), self.state_search)
        return judgment if reason == judgment.reason else replace(judgment, reason=reason)

    def candidates(self) -> set[str]:
        """Return the ids of the groups that may have a problem. All other groups have no problem."""
        groups = {*self.screened, *self.health, *self.group_faults}
        silent = {node for node, broker in self.brokers.items() if broker.fault is not None}
        for listing, ids in self.by_listing.items() if silent else ():
            if listing.coordinator in silent:
                groups.update(ids)
        return groups

    def problems(self) -> Iterator[tuple[str, Judgment]]:
        """Yield the id and the judgment of every group that has a problem, in no particular order."""
        for group in self.candidates():
            judgment = self.judgment(group)
            if judgment.kind is not None:
                yield group, judgment
