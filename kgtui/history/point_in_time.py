"""A cluster at one recorded moment."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from kgtui.history import rows
from kgtui.model.offsets import lag_of_group

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from kgtui.history.keyframe import Keyframe, State
    from kgtui.history.poll_index import RecordedPoll
    from kgtui.lake.schemas.definition import RowValues
    from kgtui.model.answer import Fault
    from kgtui.model.cluster import ClusterInfo
    from kgtui.model.group import GroupDescription, Listing
    from kgtui.model.members import Member
    from kgtui.model.offsets import GroupOffsets, LagTotal, PartitionBounds, TopicPartition


class PointInTime:
    """Everything that was known at a moment; parts are unpacked when they are asked for.

    Attributes:
        moment: when.
        cluster: brokers as they were.
        answered: of how many brokers the list was fresh.
        interval: seconds from poll to poll, as the recorder was set.
    """

    def __init__(
        self, poll: RecordedPoll, keyframe: Keyframe, cluster: ClusterInfo, answered: int, interval: float
    ) -> None:
        self.poll = poll
        self.cluster = cluster
        self.answered = answered
        self.interval = interval
        self._keyframe = keyframe
        self._logs: dict[TopicPartition, PartitionBounds] = {}

    @cached_property
    def _groups(self) -> State:
        return self._keyframe.at("groups", self.poll.ms)

    @cached_property
    def _members(self) -> State:
        return self._keyframe.at("members", self.poll.ms)

    @cached_property
    def _partitions(self) -> State:
        return self._keyframe.at("partitions", self.poll.ms)

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
        state = self._keyframe.at("faults", self.poll.ms)
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


class OwnerChange(NamedTuple):
    """A partition that has another owner; None when nobody was known to have it."""

    group: str
    topic: str
    partition: int
    before: str | None
    after: str | None


class LagChange(NamedTuple):
    """A group's lag at both moments, in records; None when unknown."""

    group: str
    before: int | None
    after: int | None

    @property
    def by(self) -> int:
        """How many records it grew by; negative when it shrank, 0 when one of them is unknown."""
        return 0 if self.before is None or self.after is None else self.after - self.before


@dataclass(frozen=True, slots=True)
class Comparison:
    """What differs from one moment to another. Everything is sorted by group but `lags`.

    Attributes:
        joined, left: groups that are only at the later, only at the earlier.
        relisted: group → listing at both, where type, protocol, state or coordinator differ.
        members_joined, members_left: (group, member id), of groups that are at both.
        moved: partitions with another owner, of groups that are at both.
        lags: groups whose summed lag differs, the one that grew most first.
    """

    earlier: RecordedPoll
    later: RecordedPoll
    joined: tuple[str, ...]
    left: tuple[str, ...]
    relisted: tuple[tuple[str, Listing, Listing], ...]
    members_joined: tuple[tuple[str, str], ...]
    members_left: tuple[tuple[str, str], ...]
    moved: tuple[OwnerChange, ...]
    lags: tuple[LagChange, ...]


def compare(a: PointInTime, b: PointInTime) -> Comparison:
    """Whichever is the later is taken as such."""
    if a.poll.ms > b.poll.ms:
        a, b = b, a
    old, new = a.listings, b.listings
    both = sorted(old.keys() & new.keys())
    members_joined: list[tuple[str, str]] = []
    members_left: list[tuple[str, str]] = []
    moved: list[OwnerChange] = []
    lags: list[LagChange] = []
    for frame in (a, b):
        frame.prepare(both, offsets=True)
        frame.prepare(both, offsets=False)
    for group in both:
        before, after = a.member_ids(group), b.member_ids(group)
        members_joined += [(group, name) for name in sorted(after - before)]
        members_left += [(group, name) for name in sorted(before - after)]
        moved += _moved(group, a.owners(group), b.owners(group))
        grown = LagChange(group, a.lag(group).lag, b.lag(group).lag)
        if grown.before != grown.after:
            lags.append(grown)
    return Comparison(
        a.poll,
        b.poll,
        tuple(sorted(new.keys() - old.keys())),
        tuple(sorted(old.keys() - new.keys())),
        tuple((group, old[group], new[group]) for group in both if old[group] != new[group]),
        tuple(members_joined),
        tuple(members_left),
        tuple(moved),
        tuple(sorted(lags, key=lambda grown: (-grown.by, grown.group))),
    )


def _moved(
    group: str, before: dict[TopicPartition, str | None], after: dict[TopicPartition, str | None]
) -> list[OwnerChange]:
    return [
        OwnerChange(group, *tp, before.get(tp), after.get(tp))
        for tp in sorted(before.keys() | after.keys())
        if before.get(tp) != after.get(tp)
    ]
