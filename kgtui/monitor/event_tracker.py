"""Finds events, such as a member that joined, by comparing each read with the previous read of the same data."""

from __future__ import annotations

from collections import OrderedDict
from itertools import islice
from typing import TYPE_CHECKING

from kgtui.model.event import Event, EventKind, EventLog
from kgtui.model.event_search import (
    LastDescription,
    broker_back,
    broker_lost,
    config_events,
    listing_events,
    offset_events,
    without_members,
)
from kgtui.model.judgment import FoundProblem
from kgtui.model.problem import ONLY_COUNTED, GroupStatus, Problem

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from kgtui.model.group import GroupConfig, GroupDescription, Listing
    from kgtui.model.judgment import Judgment
    from kgtui.model.offsets import GroupOffsets, TopicPartition
    from kgtui.model.snapshot import BrokerStatus, Snapshot

_VERDICTS_AT_ONCE = 500
"""Maximum number of verdicts that one call of `compare_verdicts` compares with the previous verdicts.

A call with more verdicts would delay the reaction to key presses.
"""

_START_OFTEN_UNKNOWN = frozenset({
    Problem.DATA_LOST, Problem.LOSS_NEAR, Problem.NO_PARTITIONS, Problem.FLAPPING, Problem.BEHIND
})  # fmt: skip
"""Problems whose start is often unknown. kgtui then shows the time at which it found the problem instead."""

_OBSERVED_BEFORE = 30.0
"""A new problem counts as just begun if kgtui has read the group at short intervals for more than this many seconds.

Otherwise, the problem may have begun before kgtui read the group at short intervals.
"""

_WITHOUT_EVENT = ONLY_COUNTED | {Problem.EMPTY}
"""Problems for which normally no event is added when a group gets them.

Many groups already have these problems when kgtui starts. An event for each of them would hide the other events. But if
a problem that is not in this set turns into one of them, an event is added.
"""


class EventTracker:
    """Adds an event to the log for each change that the store reports.

    It remembers the members of groups, to notice which members join or leave. If there are too many members to
    remember, it first forgets the members of groups that are read only in the background.

    Args:
        log: the log to which events are added.
        members: maximum number of groups, members and owned partitions that are remembered, in total.

    Attributes:
        members: the maximum from the argument `members`. It can be changed at any time.
        found: group id → problem, and time at which kgtui found it. Only problems whose start is unknown are included.
    """

    def __init__(self, log: EventLog, members: int) -> None:
        self.log = log
        self.members = members
        self._remembered = 0
        self._descriptions: OrderedDict[str, LastDescription] = OrderedDict()
        self._memberless: set[str] = set()
        self._judged: dict[str, None] = {}
        self._problems: dict[str, Problem] = {}
        self.found: dict[str, FoundProblem] = {}

    def listed(self, group: str, before: Listing | None, after: Listing, at: float) -> None:
        """Add the events for a group that is new in a list of groups, or whose state or coordinator has changed.

        Args:
            before: the group in the earlier list; None if it is new.
            after: the group in the newer list.
            at: time of the newer list, in seconds since the epoch.
        """
        self.log.add(listing_events(group, at, before, after))
        self._memberless.discard(group)
        if before is None and self._remembered < self.members:
            self._remember(group, LastDescription(appeared=True))

    def gone(self, groups: Sequence[tuple[str, Listing]], at: float) -> None:
        """Add the events for groups that no longer exist.

        Args:
            groups: pairs (group id, its last row in a list of groups).
            at: when kgtui noticed that they no longer exist, in seconds since the epoch.
        """
        self.log.add_disappeared(groups, at)
        self._memberless.difference_update(group for group, _ in groups)
        for group, _ in groups:
            self._problems.pop(group, None)
            self.found.pop(group, None)
            if group in self._descriptions:
                self._forget(group)

    def described(self, description: GroupDescription, listing: Listing, at: float, *, in_full: bool) -> None:
        """Add the events for the changes since the last description of a group.

        Args:
            in_full: whether the group is read often, because it is selected, visible or suspected of a problem. Other
                groups are read only in the background. If there are too many members to remember, the members of these
                other groups are forgotten first.
        """
        group = description.group
        last = self._descriptions.get(group)
        if last is None:
            if not in_full and self._remembered >= self.members:
                return
            last = LastDescription()
            self._remember(group, last)
        size = len(last.membership)
        self.log.add(last.update(description, listing, at))
        self._remembered += len(last.membership) - size
        if in_full:
            self._descriptions.move_to_end(group)
            while self._remembered > self.members and len(self._descriptions) > 1:
                self._forget(next(iter(self._descriptions)))
        elif self._remembered > self.members:
            self._forget(group)

    def listed_without_members(self, group: str, listing: Listing, listed_at: float | None, at: float) -> None:
        """Add events for the members that must have left, because a broker now lists the group without members.

        Args:
            listed_at: time of the broker's list, in seconds since the epoch. If it is None, or if the last description
                of the group is newer than the list, no event is added.
            at: time of the events, in seconds since the epoch.
        """
        last = self._descriptions.get(group)
        if last is not None and last.membership.known and listed_at is not None and last.at <= listed_at:
            size = len(last.membership)
            self.log.add(last.update_without_members(group, listing, at))
            self._remembered += len(last.membership) - size

    def offsets_read(
        self, group: str, listing: Listing, before: GroupOffsets | None, after: GroupOffsets, at: float
    ) -> None:
        """Add the events for the changes between two reads of the offsets of a group.

        Args:
            before: offsets of the previous read; None if there is no previous read.
            after: offsets of the newest read.
            at: time of the newest read, in seconds since the epoch.
        """
        memberless = without_members(listing)
        if before is not None and before is not after:
            always = memberless and group in self._memberless
            self.positions_read(group, listing, before.by_partition(), after.by_partition(), at, memberless=always)
        if memberless:
            self._memberless.add(group)

    def positions_read(
        self,
        group: str,
        listing: Listing,
        before: Mapping[TopicPartition, int],
        after: Mapping[TopicPartition, int],
        at: float,
        *,
        memberless: bool,
    ) -> None:
        """Add an event if offsets were reset or went back between two reads.

        Args:
            before, after: `(topic, partition)` → committed offset or share-partition start offset.
            at: time of the newest read, in seconds since the epoch.
            memberless: whether the group had no members at both reads.
        """
        self.log.add(offset_events(group, at, listing, before, after, memberless=memberless))

    def configs_read(
        self, group: str, listing: Listing, before: Collection[GroupConfig], after: Collection[GroupConfig], at: float
    ) -> None:
        """Add the events for the differences between two reads of the configs of a group."""
        if before != after:
            self.log.add(config_events(group, at, listing, before, after))

    def broker_polled(self, before: BrokerStatus, after: BrokerStatus, at: float) -> None:
        """Add an event if a broker has stopped responding, or if it responds again."""
        if before.fault is None and after.fault is not None and before.answered_at is not None:
            self.log.add([broker_lost(after.node, after.address, at, after.fault)])
        elif before.fault is not None and after.fault is None:
            self.log.add([broker_back(after.node, after.address, at)])

    def judged(self, group: str) -> None:
        """Note that a group has a new verdict, so that `compare_verdicts` compares it with the previous verdict."""
        self._judged[group] = None

    def compare_verdicts(self, snapshot: Snapshot) -> None:
        """Add an event for each group that was passed to `judged`, and whose problem has changed, begun or ended.

        One call compares at most `_VERDICTS_AT_ONCE` groups. A group that cannot be read or judged keeps its previous
        problem. For the problems in `_WITHOUT_EVENT`, which very many groups have, normally no event is added; but an
        event is added if the group had another problem before that is not in `_WITHOUT_EVENT`.
        """
        if not self._judged:
            self._judged = {}  # Replace the empty dict, because a dict that was large once keeps its memory.
        for group in list(islice(self._judged, _VERDICTS_AT_ONCE)):
            del self._judged[group]
            listing, judgment = snapshot.groups.get(group), snapshot.judgment(group)
            before, now = self._problems.get(group), judgment.kind
            self._note_found(group, snapshot, judgment)
            unknown = now is None and judgment.status is not GroupStatus.OK
            if listing is None or unknown or now in (before, Problem.UNREADABLE):
                continue
            old: str | None = GroupStatus.OK.value
            new: str = GroupStatus.OK.value
            if now is None:
                del self._problems[group]
            else:
                self._problems[group], new = now, now.value
            if now in _WITHOUT_EVENT and (before is None or before in _WITHOUT_EVENT):
                continue
            # If kgtui did not observe the start of the problem, it does not know whether the group was OK before the
            # problem. The event then has no previous verdict.
            if before is not None or not judgment.since_seen:
                old = None if before is None else before.value
            self.log.add([Event(snapshot.taken_at, EventKind.VERDICT, group, listing, old, new, judgment.reason)])

    def _note_found(self, group: str, snapshot: Snapshot, judgment: Judgment) -> None:
        known = self.found.get(group)
        if known is not None and known.kind is judgment.kind:
            return
        if judgment.kind not in _START_OFTEN_UNKNOWN or judgment.since is not None:
            self.found.pop(group, None)
            return
        health = snapshot.health.get(group)
        observed = health is not None and health.seconds > _OBSERVED_BEFORE
        self.found[group] = FoundProblem(judgment.kind, snapshot.taken_at, observed)

    def _remember(self, group: str, last: LastDescription) -> None:
        self._descriptions[group] = last
        self._remembered += 1 + len(last.membership)

    def _forget(self, group: str) -> None:
        last = self._descriptions.pop(group)
        self._remembered -= 1 + len(last.membership)
