"""A cluster at one recorded moment."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from kgtui.history import rows
from kgtui.model.offsets import lag_of_group

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from kgtui.history.moments import Moment
    from kgtui.history.segment import Segment, State
    from kgtui.lake.schemas.definition import RowValues
    from kgtui.model.answer import Fault
    from kgtui.model.cluster import ClusterInfo
    from kgtui.model.group import GroupDescription, Listing
    from kgtui.model.members import Member
    from kgtui.model.offsets import GroupOffsets, LagTotal, PartitionBounds, TopicPartition


class Frame:
    """Everything that was known at a moment; parts are unpacked when they are asked for.

    Attributes:
        moment: when.
        cluster: brokers as they were.
        answered: of how many brokers the list was fresh.
        interval: seconds from poll to poll, as the recorder was set.
    """

    def __init__(self, moment: Moment, segment: Segment, cluster: ClusterInfo, answered: int, interval: float) -> None:
        self.moment = moment
        self.cluster = cluster
        self.answered = answered
        self.interval = interval
        self._segment = segment
        self._logs: dict[TopicPartition, PartitionBounds] = {}

    @cached_property
    def _groups(self) -> State:
        return self._segment.at("groups", self.moment.poll)

    @cached_property
    def _members(self) -> State:
        return self._segment.at("members", self.moment.poll)

    @cached_property
    def _partitions(self) -> State:
        return self._segment.at("partitions", self.moment.poll)

    @cached_property
    def listings(self) -> Mapping[str, Listing]:
        """Every group as it was listed; equal listings are one object."""
        known: dict[RowValues, Listing] = {}
        found: dict[str, Listing] = {}
        for group, row in self._groups.all("type", "protocol", "state", "coordinator"):
            found[group] = known.get(row) or known.setdefault(row, rows.listing_of_row(row))
        return found

    @cached_property
    def faults(self) -> tuple[tuple[str, Fault], ...]:
        """What could not be learned, by scope (see `schemas.FAULTS`)."""
        state = self._segment.at("faults", self.moment.poll)
        return tuple(
            (scope, rows.fault_of_row(broker, group or None, name, tuple(rest)))
            for group in state.groups()
            for scope, broker, name, *rest in state.of(group)
        )

    @cached_property
    def group_faults(self) -> Mapping[tuple[str, str], Fault]:
        """(scope, group) → why it could not be read."""
        return {(scope, fault.group): fault for scope, fault in self.faults if fault.group is not None}

    def prepare(self, groups: Collection[str], *, offsets: bool) -> None:
        """Read what will be asked of these groups in one go: their descriptions, or their offsets."""
        for state in (self._partitions,) if offsets else (self._groups, self._members):
            state.prepare(groups)

    def members(self, group: str) -> dict[str, Member]:
        """Member id → member."""
        return {row[0]: rows.member_of_row(row[0], row[1:]) for row in self._members.of(group)}

    def member_ids(self, group: str) -> set[str]:
        """Ids of its members."""
        return {row[0] for row in self._members.of(group)}

    def owners(self, group: str) -> dict[TopicPartition, str | None]:
        """Partition → member id; None when nobody was known to have it."""
        return {(row[0], row[1]): row[-1] for row in self._partitions.of(group)}

    def description(self, group: str) -> GroupDescription | None:
        """None when there was no such group, or it had never been described."""
        for row in self._groups.of(group):
            return rows.description_of_row(group, row, self.members(group).values())
        return None

    def described_at(self, group: str) -> float | None:
        """Seconds since the epoch when it was first described as it is; None if never."""
        for row in self._groups.of(group):
            return None if row[4] is None else row[4] / 1000
        return None

    def positions(self, group: str) -> dict[TopicPartition, RowValues]:
        """Partition → row of `partitions`, from `kind` on."""
        return {(topic, partition): tuple(row) for topic, partition, *row in self._partitions.of(group)}

    def offsets(self, group: str) -> GroupOffsets:
        """All that the group had committed, or its share offsets, with the logs."""
        found = rows.offsets_of_rows(self.positions(group))
        self._logs.update(found.bounds or {})
        return found

    def lag(self, group: str) -> LagTotal:
        """Summed over its partitions."""
        return lag_of_group(self.offsets(group))

    def bounds(self, tp: TopicPartition) -> PartitionBounds | None:
        """The log of a partition, as the group that was asked for last saw it; None when it was not read."""
        return self._logs.get(tp) or self._every_log.get(tp)

    @cached_property
    def _every_log(self) -> Mapping[TopicPartition, PartitionBounds]:
        found: dict[TopicPartition, PartitionBounds] = {}
        for group in self._partitions.groups():
            for topic, partition, *row in self._partitions.of(group):
                log = rows.bounds_of_row(tuple(row))
                if log is not None:
                    known = found.get((topic, partition))
                    # A group that could not be read keeps what was seen before: the log has grown since.
                    if known is None or (log.log_end or -1) > (known.log_end or -1):
                        found[topic, partition] = log
        return found
