"""The state of a cluster at one recorded poll (read of the cluster), and the comparison of two such states."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from kgtui.history import rows
from kgtui.model.member_names import names_of_ids
from kgtui.model.offsets import lag_of_group

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from kgtui.history.keyframe import Keyframe, TableState
    from kgtui.history.poll_index import RecordedPoll
    from kgtui.lake.schemas.definition import RowValues
    from kgtui.model.answer import Fault
    from kgtui.model.cluster import ClusterInfo
    from kgtui.model.group import GroupDescription, Listing
    from kgtui.model.members import Member
    from kgtui.model.offsets import GroupOffsets, LagTotal, PartitionBounds, TopicPartition


class PointInTime:
    """The state of a cluster at one recorded poll.

    Attributes:
        answered: number of brokers that returned their list of groups.
        interval: configured time between two polls, in seconds.
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
    def _groups(self) -> TableState:
        return self._keyframe.at("groups", self.poll.ms)

    @cached_property
    def _members(self) -> TableState:
        return self._keyframe.at("members", self.poll.ms)

    @cached_property
    def _partitions(self) -> TableState:
        return self._keyframe.at("partitions", self.poll.ms)

    @cached_property
    def listings(self) -> Mapping[str, Listing]:
        """Group id → `Listing` (type, protocol, state and coordinator), for all groups that existed at this poll."""
        # To save memory, groups with equal values in these four columns share one `Listing`.
        seen_rows: dict[RowValues, Listing] = {}
        result: dict[str, Listing] = {}
        for group, row in self._groups.all("type", "protocol", "state", "coordinator"):
            result[group] = seen_rows.get(row) or seen_rows.setdefault(row, rows.listing_of_row(row))
        return result

    @cached_property
    def hidden(self) -> Mapping[str, bool]:
        """Group id → whether the recorded offsets may be incomplete, because the recorder's user lacked permissions.

        Groups for which this is unknown are left out.
        """
        found = self._groups.all("offsets_may_be_hidden")
        return {group: hidden is True for group, (hidden,) in found if hidden is not None}

    @cached_property
    def faults(self) -> tuple[tuple[str, Fault], ...]:
        """Failed reads at this poll: pairs (scope, fault). The scope, such as `offsets`, is what could not be read."""
        state = self._keyframe.at("faults", self.poll.ms)
        return tuple(
            (scope, rows.fault_of_row(broker, group or None, name, tuple(rest)))
            for group in state.groups()
            for scope, broker, name, *rest in state.of(group)
        )

    @cached_property
    def _faults_by_subject(self) -> Mapping[tuple[str, str | int | None], Fault]:
        """Dict: (scope, id) → fault (failed read). The scope, such as `offsets`, is the data that could not be read.

        The id is a group id, or a broker's node id, or None for the whole cluster.
        """
        return {(scope, fault.broker if fault.group is None else fault.group): fault for scope, fault in self.faults}

    def recorded_fault(self, scope: str, group: str) -> Fault | None:
        """Return the error because of which data of a group could not be read at this poll; None if the data were read.

        The error can concern the group, its coordinator, or the whole cluster.

        Args:
            scope: which data: `describe` (description and members of the group) or `offsets`.
        """
        fault = self._faults_by_subject.get((scope, group))
        listing = self.listings.get(group)
        for node in (None, *(() if listing is None else (listing.coordinator,))):
            for cause in ("cluster", "broker", scope):
                fault = fault or self._faults_by_subject.get((cause, node))
        return fault

    def prepare(self, groups: Collection[str], *, offsets: bool) -> None:
        """Read the data of several groups from disk in one step.

        If this method is not called, each group is read from disk separately.

        Args:
            offsets: True to read the offsets; False to read the descriptions and members.
        """
        for state in (self._partitions,) if offsets else (self._groups, self._members):
            state.prepare(groups)

    def members(self, group: str) -> dict[str, Member]:
        """Return a dict: member id → member, for all members of a group."""
        return {row[0]: rows.member_of_row(row[0], row[1:]) for row in self._members.of(group)}

    def member_ids(self, group: str) -> set[str]:
        return {row[0] for row in self._members.of(group)}

    def owners(self, group: str) -> dict[TopicPartition, str | None]:
        """Return a dict: partition → id of the member that owns it, or None if the owner is unknown."""
        return {tp: rows.owner_of_row(row) for tp, row in self.positions(group).items()}

    def description(self, group: str) -> GroupDescription | None:
        """Return a group's description.

        None if the group did not exist at this poll, or had not been described by then.
        """
        for row in self._groups.of(group):
            return rows.description_of_row(group, row, self.members(group).values())
        return None

    def described_at(self, group: str) -> float | None:
        """Return the time at which the group's current description was first read, in seconds since the epoch.

        None if the group did not exist at this poll, or had not been described by then.
        """
        for row in self._groups.of(group):
            return None if row[4] is None else row[4] / 1000
        return None

    def positions(self, group: str) -> dict[TopicPartition, RowValues]:
        """Return a dict: partition → the group's row in table `partitions`, from column `kind` to the last column."""
        return {(topic, partition): tuple(row) for topic, partition, *row in self._partitions.of(group)}

    def offsets(self, group: str) -> GroupOffsets:
        """Return a group's committed offsets or share-partition start offsets, with log start and log end offsets."""
        result = rows.offsets_of_rows(self.positions(group), hidden=self.hidden.get(group))
        self._logs.update(result.bounds or {})
        return result

    def lag(self, group: str) -> LagTotal:
        """Return the lag of a group in records, summed over its partitions."""
        return lag_of_group(self.offsets(group))

    def bounds(self, tp: TopicPartition) -> PartitionBounds | None:
        """Return the log start and log end offset of a partition; None if they were not recorded.

        The recorder reads these offsets only for partitions in which a group has an offset, or which a member owns.
        """
        return self._logs.get(tp) or self._every_log.get(tp)

    @cached_property
    def _every_log(self) -> Mapping[TopicPartition, PartitionBounds]:
        result: dict[TopicPartition, PartitionBounds] = {}
        for group in self._partitions.groups():
            for topic, partition, *row in self._partitions.of(group):
                log = rows.bounds_of_row(tuple(row))
                if log is not None:
                    other = result.get((topic, partition))
                    # Several groups can have rows for the same partition. Some rows are outdated if a group's offsets
                    # could not be read. Take the row with the highest log end offset, because it is the newest.
                    if other is None or _log_end(log) > _log_end(other):
                        result[topic, partition] = log
        return result


def _log_end(log: PartitionBounds) -> int:
    return -1 if log.log_end is None else log.log_end


class OwnerChange(NamedTuple):
    """A partition whose owner differs between two polls.

    Attributes:
        before: member id of the owner at the earlier poll; None if unknown.
        after: member id of the owner at the later poll; None if unknown.
    """

    group: str
    topic: str
    partition: int
    before: str | None
    after: str | None


class LagChange(NamedTuple):
    """The lag of one group at two polls.

    Attributes:
        before: lag at the earlier poll, in records; None if unknown.
        after: lag at the later poll, in records; None if unknown.
        hidden_before: whether some of the group's offsets may be missing at the earlier poll, because the recorder's
            user lacked permissions. If so, the real lag may be higher.
        hidden_after: whether some offsets may be missing at the later poll, for the same reason.
    """

    group: str
    before: int | None
    after: int | None
    hidden_before: bool = False
    hidden_after: bool = False

    @property
    def by(self) -> int:
        """Increase of the lag in records; negative if the lag decreased; 0 if one of the two lags is unknown.

        The result is also 0 if offsets may be missing at only one of the two polls, because the two lags are then not
        comparable.
        """
        if self.before is None or self.after is None or self.hidden_before is not self.hidden_after:
            return 0
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class Comparison:
    """The differences between the states of a cluster at two polls.

    Members, owners and lags are compared only in groups that exist at both polls. All tuples except `lags` are sorted
    by group.

    Attributes:
        joined: groups that exist only at the later poll.
        left: groups that exist only at the earlier poll.
        relisted: groups whose type, protocol, state or coordinator differs, as tuples (group id, earlier `Listing`,
            later `Listing`). A `Listing` contains these four values.
        members_joined, members_left: pairs (group id, member id).
        member_names: (group id, member id) → shortest name that is unique in the group. Only groups with changed
            members or partition owners are included.
        moved: partitions with a different owner.
        lags: groups with a different lag, largest increase first.
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
    member_names: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def name_of(self, group: str, member: str) -> str:
        """Return the name of a member: its entry in `member_names`; the member id if there is no entry."""
        return self.member_names.get((group, member), member)


def compare(a: PointInTime, b: PointInTime) -> Comparison:
    """Return the differences between the states at two polls. The order of the arguments does not matter."""
    if a.poll.ms > b.poll.ms:
        a, b = b, a
    old, new = a.listings, b.listings
    both = sorted(old.keys() & new.keys())
    members_joined: list[tuple[str, str]] = []
    members_left: list[tuple[str, str]] = []
    moved: list[OwnerChange] = []
    member_names: dict[tuple[str, str], str] = {}
    lags: list[LagChange] = []
    for state in (a, b):
        state.prepare(both, offsets=True)
        state.prepare(both, offsets=False)
    for group in both:
        before, after = a.member_ids(group), b.member_ids(group)
        members_joined += [(group, name) for name in sorted(after - before)]
        members_left += [(group, name) for name in sorted(before - after)]
        owner_changes = _moved(group, a.owners(group), b.owners(group))
        moved += owner_changes
        if owner_changes or before != after:
            owners = {owner for change in owner_changes for owner in (change.before, change.after)}
            ids = before | after | {owner for owner in owners if owner is not None}
            names = names_of_ids(ids, [*a.members(group).values(), *b.members(group).values()])
            member_names |= {(group, member): name for member, name in names.items()}
        lag_before, lag_after = a.lag(group), b.lag(group)
        grown = LagChange(group, lag_before.lag, lag_after.lag, lag_before.hidden, lag_after.hidden)
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
        member_names,
    )


def _moved(
    group: str, before: dict[TopicPartition, str | None], after: dict[TopicPartition, str | None]
) -> list[OwnerChange]:
    return [
        OwnerChange(group, *tp, before.get(tp), after.get(tp))
        for tp in sorted(before.keys() | after.keys())
        if before.get(tp) != after.get(tp)
    ]
