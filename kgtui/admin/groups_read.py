"""`GroupsRead`: the data that `kgtui.admin.reading` has read about groups, and the errors that occurred."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from kgtui.model.answer import Answer, Fault, why_missing
from kgtui.model.error_numbers import FORBIDDEN
from kgtui.model.group import topics_of
from kgtui.model.members import partitions_read
from kgtui.model.offsets import GroupOffsets, LagTotal, summed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from kgtui.model.group import GroupConfig, GroupDescription
    from kgtui.model.offsets import CommittedOffset, PartitionBounds, ShareOffset, TopicPartition

K = TypeVar("K")
V = TypeVar("V")

DESCRIBE, OFFSETS, CONFIGS, LOGS = "describe", "offsets", "configs", "logs"
"""Names of the four steps in which `kgtui.admin.reading` reads the data of groups.

Recordings store each error together with the name of the step in which the error occurred.
"""


@dataclass(slots=True, eq=False)
class GroupsRead:
    """The data that was read about some groups.

    If a group or partition is missing in a dict other than `hidden`, its data could not be read (see `faults`), or was
    not requested.

    Attributes:
        descriptions: group id → description.
        committed: group id → committed offsets.
        share: group id → share-partition start offsets.
        configs: group id → configs.
        bounds: partition → log start and log end offset.
        hidden: group id → topics whose offsets are missing, because the user is not allowed to describe the topics.
            The tuple is empty if the names of the topics are unknown. Groups with complete offsets are left out.
        faults: pairs `(step, fault)`, one per error. The step is the kind of data that was read, such as `OFFSETS`.
            `fault.group` is None if a whole broker or the cluster could not be read.
    """

    descriptions: dict[str, GroupDescription] = field(default_factory=dict)
    committed: dict[str, tuple[CommittedOffset, ...]] = field(default_factory=dict)
    share: dict[str, tuple[ShareOffset, ...]] = field(default_factory=dict)
    configs: dict[str, tuple[GroupConfig, ...]] = field(default_factory=dict)
    bounds: dict[TopicPartition, PartitionBounds] = field(default_factory=dict)
    hidden: dict[str, tuple[str, ...]] = field(default_factory=dict)
    faults: list[tuple[str, Fault]] = field(default_factory=list)
    _owned_of: dict[str, frozenset[TopicPartition]] = field(default_factory=dict)
    _without_offsets_of: dict[str, Collection[str]] = field(default_factory=dict)

    def group_faults(self, *steps: str) -> dict[str, Fault]:
        """Return a dict: group id → the first error that occurred when the data of this group was read.

        Args:
            steps: steps, such as `DESCRIBE`, whose errors are returned. By default, the errors of all steps.
        """
        found: dict[str, Fault] = {}
        for step, fault in self.faults:
            if fault.group is not None and (not steps or step in steps):
                found.setdefault(fault.group, fault)
        return found

    def why_missing(self, group: str, step: str) -> Fault:
        """Return the error that explains why a step, such as `OFFSETS`, has no result for a group."""
        return why_missing((fault for at, fault in self.faults if at == step), group)

    @property
    def general_faults(self) -> tuple[Fault, ...]:
        """The errors that concern a whole broker or the whole cluster, instead of a single group."""
        return tuple(fault for _, fault in self.faults if fault.group is None)

    def offsets_of(self, group: str) -> GroupOffsets | None:
        """Return the offsets and log bounds of a group; None if its offsets were not read.

        The log bounds (log start and log end offsets) include partitions that members own, but in which the group has
        no committed offset. `PartitionBounds.error` is set for a partition whose topic the user is not allowed to
        describe.
        """
        share = self.share.get(group)
        if share is not None:
            bounds = self._bounds((row.topic, row.partition) for row in share)
            return GroupOffsets((), share, bounds, self.hidden_topics(group), group in self.hidden)
        committed = self.committed.get(group)
        if committed is None:
            return None
        bounds = self._bounds((row.topic, row.partition) for row in committed)
        for tp in self._owned(group):
            found = self.bounds.get(tp)
            if found is not None and (not found.error or found.error in FORBIDDEN):
                bounds[tp] = found
        return GroupOffsets(committed, (), bounds, self.hidden_topics(group), group in self.hidden)

    def offsets_by_group(self) -> dict[str, GroupOffsets]:
        """Return a dict: group id → result of `offsets_of`, for the groups whose offsets were read."""
        groups = (*self.committed, *self.share)
        return {group: rows for group in groups if (rows := self.offsets_of(group)) is not None}

    def lag_of(self, group: str) -> LagTotal:
        """Return the total lag of a group in the partitions in which it has an offset.

        For share groups, brokers report the lag. For other groups, the lag of a partition is unknown if `bounds` lacks
        the log end offset of the partition.
        """
        sums = summed(self.committed.get(group, ()), self.share.get(group, ()), self.bounds)
        return replace(sums, hidden=True) if group in self.hidden or self.hidden_topics(group) else sums

    def lag_with_owned_partitions(self, group: str) -> LagTotal | None:
        """Return the total lag of a group; None if its offsets were not read.

        Unlike `lag_of`, this includes partitions that members own, but in which the group has no offset. The lag of
        such a partition is unknown if the user is not allowed to describe its topic.
        """
        committed = self.committed.get(group)
        if group in self.share:
            return self.lag_of(group)
        if committed is None:
            return None
        # This is a faster way to compute `lag_of_group(self.offsets_of(group))`.
        sums = self.lag_of(group)
        owned = self._owned(group)
        if not owned:
            return sums
        found = [self.bounds.get(tp) for tp in owned.difference((row.topic, row.partition) for row in committed)]
        forbidden = sum(1 for row in found if row is not None and row.error in FORBIDDEN)
        readable = sum(1 for row in found if row is not None and not row.error)
        if not forbidden and not readable:
            return sums
        return LagTotal(sums.lag, sums.unknown + forbidden, sums.partitions + forbidden + readable, sums.hidden)

    def hidden_topics(self, group: str) -> tuple[str, ...]:
        """Return the names of topics in which brokers hide the group's offsets from the user, sorted.

        Brokers can hide offsets in more topics, whose names kgtui does not know.
        """
        known, topics = self.hidden.get(group, ()), self._without_offsets(group)
        if not topics:
            return known
        found = ((topic, self.bounds.get((topic, 0))) for topic in topics)
        refused = {topic for topic, bounds in found if bounds is not None and bounds.error in FORBIDDEN}
        return tuple(sorted(refused.union(known)))

    def topics_of(self, group: str) -> Iterable[str] | None:
        """Return the topics in which a group has offsets; None if the offsets were not read.

        If the group has offsets in several partitions of a topic, the result contains this topic several times.
        """
        rows = self.share.get(group, self.committed.get(group))
        return None if rows is None else (row.topic for row in rows)

    def partitions(self) -> set[TopicPartition]:
        """Return the partitions whose log start and log end offsets must be read.

        These are the partitions in which a group has an offset, the partitions that members own, and the partitions in
        `permission_checks`.
        """
        rows = {(row.topic, row.partition) for offsets in self.committed.values() for row in offsets}
        rows |= {(row.topic, row.partition) for offsets in self.share.values() for row in offsets}
        return rows.union(self.permission_checks(), *(self._owned(group) for group in self.committed))

    def permission_checks(self) -> set[TopicPartition]:
        """Return partition 0 of each topic that members of a group consume, but in which this group has no offset.

        If a broker refuses to return the log bounds of this partition, the user is not allowed to describe the topic.
        In this case, the group can have offsets in the topic that brokers hide from the user.
        """
        return {(topic, 0) for group in self.committed for topic in self._without_offsets(group)}

    def note_members(self, group: str) -> None:
        """Find out which partitions and topics a group's members consume, and cache the result.

        The method `partitions` uses this cache. Without the cache, it would examine the members of all groups at once,
        and block the event loop for too long.
        """
        if group in self.committed:
            self._owned(group)
            self._without_offsets(group)

    def _owned(self, group: str) -> frozenset[TopicPartition]:
        owned = self._owned_of.get(group)
        if owned is None:
            row = self.descriptions.get(group)
            owned = self._owned_of[group] = frozenset() if row is None else partitions_read(row.members, row.topology)
        return owned

    def _without_offsets(self, group: str) -> Collection[str]:
        """Return the topics that the group's members consume, but in which the group has no offset."""
        description = self.descriptions.get(group)
        committed = None if description is None else self.committed.get(group)
        if description is None or committed is None:
            return ()
        found = self._without_offsets_of.get(group)
        if found is None:
            named = topics_of(description) or set()
            found = self._without_offsets_of[group] = named.difference(row.topic for row in committed)
        return found

    def _bounds(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, PartitionBounds]:
        return {tp: self.bounds[tp] for tp in partitions if tp in self.bounds}

    def add(self, step: str, rows: dict[K, V], answer: Answer[Mapping[K, V]]) -> None:
        """Add the rows and faults of an answer.

        Args:
            step: what was read: `DESCRIBE`, `OFFSETS`, `CONFIGS` or `LOGS`.
            rows: where to add the rows, such as `self.committed`.
        """
        rows.update(answer.rows)
        self.hidden.update(answer.hidden)
        self.faults += [(step, fault) for fault in answer.faults]

    def merge(self, other: GroupsRead) -> None:
        """Add all data and faults of `other`."""
        self.descriptions.update(other.descriptions)
        self.committed.update(other.committed)
        self.share.update(other.share)
        self.configs.update(other.configs)
        self.bounds.update(other.bounds)
        self.hidden.update(other.hidden)
        self.faults += other.faults
