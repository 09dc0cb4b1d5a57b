"""The snapshot: all data that kgtui has about a cluster at one time, for the terminal UI and the commands."""

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
"""Default maximum number of changes in a `ChangeLog`, which stores the ids of the groups that have changed.

A full log takes up 240 kB (8 bytes per change).
"""


class ChangeLog:
    """A log of the groups whose data has changed most recently.

    Args:
        most: maximum number of changes in the log. When it is full, the oldest change is dropped.

    Attributes:
        total: number of changes that were ever added.
        newest: ids of the groups that changed, one for each of the last `most` changes, oldest change first.
    """

    def __init__(self, most: int = MOST_CHANGES) -> None:
        self.total = 0
        self.newest: deque[str] = deque(maxlen=most)
        self._last: str | None = None

    def add(self, group: str) -> None:
        """Record that a group has changed.

        If the newest change in the log is already one of this group, the log stays the same. But if a `ChangeMark` was
        made after that change, the new change is added, so that it comes after the mark.
        """
        if group != self._last:
            self._last = group
            self.total += 1
            self.newest.append(group)

    @property
    def mark(self) -> ChangeMark:
        """A new mark, which stores the current end of this log.

        `later_mark.changed_since(earlier_mark)` returns the groups that have changed since the earlier mark.
        """
        self._last = None
        return ChangeMark(self, self.total)


@dataclass(frozen=True, slots=True, eq=False)
class ChangeMark:
    """A mark in a change log: the end of the log at the time when the mark was made.

    Attributes:
        number: number of changes that were added to the log before the mark was made.
    """

    log: ChangeLog
    number: int

    def changed_since(self, earlier: ChangeMark | None) -> set[str] | None:
        """Return the ids of the groups that have changed since an earlier mark of the same log.

        Changes after this mark are included, too. The result is None if any group may have changed: the log no longer
        has all changes since the earlier mark, `earlier` is a mark of another log, or `earlier` is None.
        """
        if earlier is None or earlier.log is not self.log:
            return None
        count = self.log.total - earlier.number
        newest = self.log.newest
        return set(islice(reversed(newest), count)) if count <= len(newest) else None


T = TypeVar("T")

FRESH_HEALTH = 60.0
"""Maximum age of a health verdict in seconds. An older verdict is outdated.

If the verdict on a group is outdated, and there were at least two background reads of the group, kgtui judges the group
by these reads instead. With fewer reads, the terminal UI shows the outdated verdict in the color of old data.
"""


@dataclass(frozen=True, slots=True)
class Reading(Generic[T]):
    """A value, such as the offsets of a group, with the time at which it was read.

    Attributes:
        at: time of the read, in epoch seconds.
        fault: why a newer read of the value failed, or None.
    """

    value: T
    at: float
    fault: Fault | None = None


@dataclass(frozen=True, slots=True)
class BrokerStatus:
    """How one broker responds when kgtui polls its list of groups. A value that is not known yet is None.

    Attributes:
        answered_at: time of the last successful response, in epoch seconds.
        answered_since: time since which the broker has responded without long gaps, in epoch seconds.
        took_ms: duration of the last successful poll in milliseconds.
        fault: why the newest completed poll failed, or None.
        groups: number of groups in the last list.
        interval: seconds between two polls. The interval is longer while the broker answers slowly.
        failures: number of failed polls since the last success.
        asked_at: when the current poll was sent, in epoch seconds; None if kgtui is not waiting for a response.
        throttle_ms: how long a quota throttled the last poll, in milliseconds.
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
    """All groups of a cluster, and all data that kgtui has read about them.

    To save time, a mapping marked "Shared" is not copied: all snapshots of one `Monitor` contain the same mapping, so
    that older snapshots also show its newer values. Snapshots are compared by identity.

    The sweep is a background task that reads all groups in turn. Times are epoch seconds.

    Attributes:
        serial: consecutive number of the snapshot.
        taken_at: time of the snapshot.
        groups: group id → newest listed type, protocol, state and coordinator. Equal values share one `Listing`.
        by_listing: `Listing` → sorted ids of its groups. If the ids change, the sequence is replaced, not modified.
        summaries: group id → summary from the sweep. Shared.
        details: group id → newest description, for selected or visible groups.
        offsets: group id → newest offsets, for selected or visible groups.
        configs: group id → newest configs, for groups whose configs were requested.
        health: group id → newest health verdict, for selected and visible groups, and groups with a possible problem.
        screened: group id → judgment from the sweep, only for groups with a problem. To get the complete judgment on
            any group, call the method `judgment`. Shared.
        unobserved: number of groups with a possible problem that only the sweep reads, because kgtui reads just a
            limited number of such groups more often.
        state_since: group id → when the current state began, only if kgtui has observed the beginning. Shared.
        state_search: the part of a recording that was searched to find `state_since`; None for a live cluster.
        appeared: ids of groups that were created while kgtui was running, and have not changed their state since. The
            mapping is used as a set, so all values are None. Shared.
        brokers: node id → how the broker responds.
        group_faults: group id → why its newest description or offsets could not be read.
        faults: errors that concern the cluster as a whole.
        swept: number of groups that the sweep has read at least once.
        access: permissions of the user; None if they were not read.
        events: the newest observed events, oldest first, limited in number.
        events_since: time since which kgtui has observed events; None in a replay.
        recorded_times: group id → times of important polls in the recording, such as the first poll that found the
            group; empty for a live cluster.
        found_problems: group id → problem and when kgtui found it, only for problems whose start is unknown. Shared.
        changes: mark in the log of changed groups. `changes.changed_since(earlier.changes)` returns the ids of the
            groups that have changed since the snapshot `earlier`. None if changes are not logged.
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
        """Whether brokers might hide topics from the user, because the user lacks permissions.

        False while the permissions of the user are unknown.
        """
        return self.access is not None and self.access.hides_topics

    @property
    def answering(self) -> int:
        """Number of brokers whose newest completed poll succeeded."""
        return sum(1 for status in self.brokers.values() if status.answered_at is not None and status.fault is None)

    def state_of(self, group: str) -> str | None:
        """Return the newest known state of a group; None if the group is not listed, or if its state is unknown.

        The state normally comes from the list of groups. But if the brokers are too old to list states, it comes from
        the newest background read of the group.
        """
        listing = self.groups.get(group)
        if listing is None or listing.state is not None:
            return listing.state if listing else None
        summary = self.summaries.get(group)
        return summary.state if summary else None

    def judgment(self, group: str) -> Judgment:
        """Return the judgment on a group: whether it has a problem, and which.

        The status is `NOT_FOUND` if the group is not listed.
        """
        # `kgtui.model.judgment` is imported here, so that commands that do not judge groups start faster.
        from kgtui.model.judgment import NOT_FOUND, SCREENED_OK, judgment_of_summary, unreadable

        listing = self.groups.get(group)
        if listing is None:
            return NOT_FOUND
        fault, broker = self.group_faults.get(group), self.brokers.get(listing.coordinator)
        if fault is None and broker is not None:
            fault = broker.fault
        judgment, health, summary = self.screened.get(group), self.health.get(group), self.summaries.get(group)
        screened = summary is not None and summary.screened
        known = summary is not None and not summary.is_lag_unknown
        if screened and known and judgment is None and health is None and fault is None:
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
        """Complete a judgment that contains a problem: add the start of the problem, and reword the reason.

        If the start of the problem is unknown, the time at which kgtui found the problem is used. If the problem is
        that the group has no members, the reason is reworded in two cases (`kgtui.model.empty_reason`): in a recording,
        and for a simple group, whose offsets are always committed without members.
        """
        if judgment.since is None:
            found = self.found_problems.get(group)
            if found is not None and found.kind is judgment.kind:
                judgment = replace(judgment, since=found.at, since_seen=found.seen)
        if self.state_search is None and listing.kind != SIMPLE:
            return judgment
        from kgtui.model.empty_reason import empty_group_reason

        reason = empty_group_reason(judgment, listing, self.state_of(group), self.state_search)
        return judgment if reason == judgment.reason else replace(judgment, message=reason)

    def candidates(self) -> set[str]:
        """Return the ids of the groups that might have a problem. All other groups have no problem."""
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
