"""Find events, such as joined members, in a recording, by the same rules as the monitor of a live cluster."""

from __future__ import annotations

from collections import defaultdict
from itertools import groupby
from typing import TYPE_CHECKING

from kgtui.history import rows
from kgtui.history.group_timeline import differs, previous
from kgtui.history.poll_reader import RowsByPoll
from kgtui.lake.arrow import escape_surrogates, sort_by_key, to_one_chunk, to_values
from kgtui.lake.schemas import FAULTS, GROUPS, MEMBERS, PARTITION, PARTITIONS
from kgtui.model.event_search import (
    LastDescription,
    broker_back,
    broker_lost,
    listing_events,
    offset_events,
    without_members,
)
from kgtui.model.group_types import EMPTY

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    import pyarrow as pa

    from kgtui.history.poll_index import RecordedPoll
    from kgtui.history.recording_reader import RecordingReader
    from kgtui.lake.schemas import Table
    from kgtui.lake.schemas.definition import RowValues
    from kgtui.model.answer import Fault
    from kgtui.model.event import Event
    from kgtui.model.group import GroupDescription
    from kgtui.model.offsets import TopicPartition

Positions = dict["TopicPartition", int]
PositionChanges = dict[int, dict[str, tuple[Positions, Positions]]]
"""Dict: time of a poll, in ms since the epoch → group id → pair (positions before the poll, positions at the poll).

A position is a committed offset or a share-partition start offset. Only changes that may be events are included:

- all decreases
- increases in partitions without an owner, if the group was Empty at some time. A user may have reset the offsets.
"""

_POSITION_COLUMNS = ("poll", "group", "topic", "partition", "gone", "committed", "spso", "owner")


def recorded_events(
    recording: RecordingReader,
    since: float | None = None,
    until: float | None = None,
    groups: Collection[str] | None = None,
) -> Iterator[Event]:
    """Yield the events of a recording, oldest first. Events of the same poll are sorted by group.

    Args:
        since: time, in seconds since the epoch, after which the yielded events happened; None for no limit.
        until: latest time of the yielded events, in seconds since the epoch; None for no limit.
        groups: ids of the groups whose events are yielded; None for the events of all groups and brokers.

    Raises:
        LakeError: rows cannot be read.
    """
    begin = recording.first if since is None or since < recording.first.at else recording.poll_at(since)
    tracker = _RecordedState(recording, groups)
    for keyframe, polls in groupby(recording.polls(begin.keyframe / 1000, until), lambda poll: poll.keyframe):
        for poll, events in tracker.read_keyframe(keyframe, list(polls)):
            if poll.ms > begin.ms:
                yield from events


class _RecordedState:
    """The state of groups and brokers at one poll, which is compared with the next poll to find events.

    Args:
        groups: ids of the groups whose events are wanted; None for the events of all groups and brokers.
    """

    def __init__(self, recording: RecordingReader, groups: Collection[str] | None) -> None:
        self._recording = recording
        self._names = None if groups is None else [escape_surrogates(group) for group in groups]
        self._listed: dict[str, RowValues] = {}
        self._members: defaultdict[str, dict[str, RowValues]] = defaultdict(dict)
        self._descriptions: dict[str, LastDescription] = {}
        self._positions: pa.Table | None = None
        self._faults: dict[int, dict[str, Fault]] = {}
        self._begun = False

    def read_keyframe(self, keyframe: int, polls: Sequence[RecordedPoll]) -> Iterator[tuple[RecordedPoll, list[Event]]]:
        """Yield a pair (poll, its events) for each poll in `polls`. The first poll must be a keyframe.

        A keyframe is a poll with the complete state. The other polls have only changed rows.

        Args:
            keyframe: time of the keyframe, in milliseconds since the epoch.
            polls: the keyframe and the polls before the next keyframe, oldest first.
        """
        tables = {table.name: self._read(table, keyframe, polls[-1].ms) for table in (GROUPS, MEMBERS, FAULTS)}
        moved = self._read_positions(keyframe, polls[-1].ms, self._memberless_groups(tables[GROUPS.name]))
        by_poll = {name: RowsByPoll(rows_, None) for name, rows_ in tables.items()}
        for poll in polls:
            whole = poll.ms == keyframe
            events = self._broker_events(poll, by_poll[FAULTS.name], whole=whole) if self._names is None else []
            events += self._group_events(poll, by_poll, moved.get(poll.ms, {}), whole=whole)
            yield poll, events if self._begun else []
            self._begun = True
            if whole:
                # Discard all descriptions at each keyframe (a poll with the complete state). A search that starts at
                # this keyframe knows no earlier descriptions. It must find the same later events as a search that
                # started before this keyframe.
                self._descriptions.clear()

    def _read(self, table: Table, keyframe: int, until: int) -> pa.Table:
        columns = [name for name in table.names if name not in (PARTITION, "keyframe")]
        found = to_one_chunk(self._recording.rows_of(table, columns, keyframe, until))
        return found if table is FAULTS else self._of_groups(found)

    def _of_groups(self, table: pa.Table) -> pa.Table:
        if self._names is None or not table.num_rows:
            return table
        import pyarrow as pa
        import pyarrow.compute as pc

        names = table["group"].chunk(0)
        return table.filter(pc.is_in(names.dictionary, pa.array(self._names, pa.string())).take(names.indices))

    def _group_events(
        self,
        poll: RecordedPoll,
        tables: Mapping[str, RowsByPoll],
        moved: Mapping[str, tuple[Positions, Positions]],
        *,
        whole: bool,
    ) -> list[Event]:
        """Advance the state of all groups to a poll, and return the events of this poll about groups.

        Args:
            moved: group id → pair (offsets before the poll, offsets at the poll). Contains only changed offsets that
                may be events (see `PositionChanges`).
            whole: whether the poll is a keyframe (a poll with the complete state).
        """
        listed_before, members_before = self._advance(poll, tables, whole=whole)
        events: list[Event] = []
        for group in sorted(listed_before.keys() | members_before.keys() | moved.keys()):
            before = listed_before[group] if group in listed_before else self._listed.get(group)
            after = self._listed.get(group)
            old, new = (None if row is None else rows.listing_of_row(row) for row in (before, after))
            events += listing_events(group, poll.at, old, new)
            if after is None or new is None:
                self._descriptions.pop(group, None)
                continue
            old_members = members_before[group] if group in members_before else self._members[group]
            last = self._last_description(group, before, old_members)
            description = self._description(group, after, self._members[group])
            if description is not None:
                events += last.update(description, new, poll.at)
            if group in moved and old is not None:
                memberless = without_members(old) and without_members(new)
                events += offset_events(group, poll.at, new, *moved[group], memberless=memberless)
        return events

    def _advance(
        self, poll: RecordedPoll, tables: Mapping[str, RowsByPoll], *, whole: bool
    ) -> tuple[dict[str, RowValues | None], dict[str, dict[str, RowValues]]]:
        """Advance the state of groups and members to a poll. Return the previous rows of the groups that changed.

        Args:
            whole: whether the poll is a keyframe (a poll with the complete state).

        Returns:
            Pair of dicts:

            - for each group whose row changed: group id → previous row in table `groups`; None for a new group
            - for each group with changed members: group id → dict of all previous members (member id → row in table
              `members`)
        """
        listed, members = ({}, defaultdict(dict)) if whole else (self._listed, self._members)
        listed_before: dict[str, RowValues | None] = {}
        members_before: dict[str, dict[str, RowValues]] = {}
        for group, gone, *row in tables[GROUPS.name].at(poll.ms):
            if not whole:
                listed_before[group] = listed.get(group)
            if gone:
                listed.pop(group, None)
            else:
                listed[group] = tuple(row)
        for group, member, gone, *row in tables[MEMBERS.name].at(poll.ms):
            if not whole:
                members_before.setdefault(group, dict(members[group]))
            if gone:
                members[group].pop(member, None)
            else:
                members[group][member] = tuple(row)
        if whole:
            listed_before = {
                group: self._listed.get(group)
                for group in listed.keys() | self._listed.keys()
                if self._listed.get(group) != listed.get(group)
            }
            members_before = {
                group: self._members.get(group, {})
                for group in members.keys() | self._members.keys()
                if self._members.get(group, {}) != members.get(group, {})
            }
        self._listed, self._members = listed, members
        return listed_before, members_before

    def _last_description(
        self, group: str, before: RowValues | None, members: Mapping[str, RowValues]
    ) -> LastDescription:
        """Return the last known description of a group before the current poll.

        Args:
            before: the group's row in table `groups` before this poll; None if the group is new.
            members: member id → row in table `members` before this poll.
        """
        last = self._descriptions.get(group)
        if last is None:
            last = self._descriptions[group] = LastDescription(appeared=before is None and self._begun)
            old = None if before is None else self._description(group, before, members)
            if old is not None and before is not None:
                last.update(old, rows.listing_of_row(before), 0.0)
        return last

    def _description(self, group: str, row: RowValues, members: Mapping[str, RowValues]) -> GroupDescription | None:
        return rows.description_of_row(group, row, [rows.member_of_row(*member) for member in members.items()])

    def _broker_events(self, poll: RecordedPoll, table: RowsByPoll, *, whole: bool) -> list[Event]:
        faults: dict[int, dict[str, Fault]] = {} if whole else {node: dict(own) for node, own in self._faults.items()}
        for scope, broker, _, name, gone, *row in table.at(poll.ms):
            if scope == "broker" and broker is not None:
                own = faults.setdefault(broker, {})
                own.pop(name, None)
                if not gone:
                    own[name] = rows.fault_of_row(broker, None, name, tuple(row))
        before, self._faults = self._faults, {node: own for node, own in faults.items() if own}
        events: list[Event] = []
        changed = sorted(before.keys() ^ self._faults.keys())
        cluster = self._recording.at(poll).cluster if changed else None
        for node in changed:
            address = (cluster and cluster.address(node)) or f"broker {node}"
            if node in before:
                events.append(broker_back(node, address, poll.at))
            else:
                events.append(broker_lost(node, address, poll.at, next(iter(self._faults[node].values()))))
        return events

    def _memberless_groups(self, groups: pa.Table) -> pa.Array:
        """Return the ids of groups that are Empty in at least one row. Lone surrogates in the ids are escaped."""
        import pyarrow.compute as pc

        empty = pc.fill_null(pc.equal(groups["state"].cast("string"), EMPTY), False)
        return pc.unique(groups["group"].cast("string").filter(empty))

    def _read_positions(self, keyframe: int, until: int, memberless: pa.Array) -> PositionChanges:
        """Return the changes of committed offsets and share-partition start offsets that may be events.

        These are all decreases, and the increases that may be resets by a user (see `_changed_positions`).

        Args:
            keyframe, until: times of the first and the last poll, in milliseconds since the epoch.
            memberless: ids of groups that were Empty at some time, with lone surrogates escaped.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        table = self._of_groups(to_one_chunk(self._recording.rows_of(PARTITIONS, _POSITION_COLUMNS, keyframe, until)))
        before, self._positions = self._positions, None
        if before is not None:
            table = to_one_chunk(pa.concat_tables([before, table], promote_options="permissive"))
        if not table.num_rows:
            return {}
        table = sort_by_key(table, PARTITIONS).combine_chunks()
        found: PositionChanges = defaultdict(lambda: defaultdict(lambda: ({}, {})))
        columns = _changed_positions(table, keyframe, memberless)
        for poll, group, topic, partition, old, new in zip(*map(to_values, columns.columns), strict=True):
            olds, news = found[poll][group]
            olds[topic, partition], news[topic, partition] = old, new
        self._positions = _last_rows(table.filter(pc.greater_equal(table["poll"], keyframe)))
        return found


def _changed_positions(table: pa.Table, keyframe: int, memberless: pa.Array) -> pa.Table:
    """Return the changes of committed offsets and share-partition start offsets that may be events.

    Every decrease is included. An increase is included if the group is in `memberless`, and the partition has no owner.

    The result has the columns `poll`, `group`, `topic`, `partition`, `before` and `after`. The last two contain the
    offset before and after the change.

    Args:
        table: rows of table `partitions` in one chunk, sorted by key and poll.
        keyframe: time of the first poll to report, in milliseconds since the epoch.
        memberless: ids of groups that were Empty at some time. An increase in such a group may be a reset by a user.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    columns = {name: table[name].chunk(0) for name in table.column_names}
    keys = {name: columns[name].indices for name in ("group", "topic")} | {"partition": columns["partition"]}
    position = pc.if_else(
        columns["gone"], pa.scalar(None, pa.int64()), pc.coalesce(columns["committed"], columns["spso"])
    )
    last = previous(position)
    at_keyframe = pc.equal(columns["poll"], keyframe)
    consecutive = pc.or_(at_keyframe, pc.fill_null(pc.greater_equal(previous(columns["poll"]), keyframe), False))
    compared = pc.and_(pc.invert(differs(keys, "group", "topic", "partition")), consecutive)
    unowned = pc.is_null(columns["owner"])
    in_memberless = pc.is_in(columns["group"].dictionary, memberless).take(columns["group"].indices)
    reset = pc.and_(pc.and_(unowned, in_memberless), pc.not_equal(position, last))
    mask = pc.fill_null(pc.and_(compared, pc.or_kleene(pc.less(position, last), reset)), False)
    result = {name: columns[name] for name in ("poll", "group", "topic", "partition")}
    return pa.table(result | {"before": last, "after": position}).filter(mask)


def _last_rows(table: pa.Table) -> pa.Table:
    """Return the last row of each partition in each group. Rows must be sorted by group, topic, partition and poll."""
    import pyarrow as pa

    if not table.num_rows:
        return table
    table = table.combine_chunks()
    keys = {name: table[name].chunk(0).indices for name in ("group", "topic")}
    first = differs(keys | {"partition": table["partition"].chunk(0)}, "group", "topic", "partition")
    return table.filter(pa.concat_arrays([first[1:], pa.array([True])]))
