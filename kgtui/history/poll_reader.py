"""Read the recorded descriptions and offsets of some groups at consecutive polls, as input for the health rules."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from kgtui.history import rows
from kgtui.lake.arrow import escape_surrogates, to_one_chunk, to_values
from kgtui.lake.schemas import FAULTS, GROUPS, MEMBERS, PARTITIONS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    import pyarrow as pa

    from kgtui.history.poll_index import RecordedPoll
    from kgtui.history.recording_reader import RecordingReader
    from kgtui.lake.schemas import Table
    from kgtui.lake.schemas.definition import RowValues
    from kgtui.model.answer import Fault
    from kgtui.model.group import GroupDescription
    from kgtui.model.members import Member
    from kgtui.model.offsets import GroupOffsets, TopicPartition

_BROKER_WIDE_SCOPES = frozenset({"cluster", "broker", "offsets"})
"""Scopes of faults that can concern several groups. A fault is a failed read; its scope is what could not be read.

A fault without a group id concerns all groups that its broker coordinates. If the fault has no broker id either, it
concerns all groups of the cluster.
"""


class GroupRead(NamedTuple):
    """The description and the offsets of one group at one poll.

    Attributes:
        description: the last recorded description; None if the group had not been described by then, or if its
            description could not be read at this poll.
        offsets: the last recorded offsets; None if they could not be read at this poll, or if groups of this type have
            no offsets.
        fault: why data of the group could not be read; None if all data could be read.
    """

    description: GroupDescription | None
    offsets: GroupOffsets | None
    fault: Fault | None = None


@dataclass(frozen=True, slots=True)
class PollRead:
    """The recorded data of some groups at one poll.

    Attributes:
        groups: group id → description and offsets. Groups that did not exist are left out.
        faults: faults (failed reads) that concern a whole broker or the whole cluster.
    """

    poll: RecordedPoll
    groups: Mapping[str, GroupRead]
    faults: tuple[Fault, ...] = ()


def read_polls(
    recording: RecordingReader, groups: Collection[str], polls: Sequence[RecordedPoll]
) -> Iterator[PollRead]:
    """Yield the descriptions and offsets of the given groups at each of the given polls, oldest first.

    Args:
        polls: consecutive polls, oldest first.

    Raises:
        LakeError: rows cannot be read.
    """
    # To save memory, load only one keyframe (a poll with the complete state) at a time, with the polls before the next
    # keyframe.
    for keyframe, polls_ in groupby(polls, lambda poll: poll.keyframe):
        polls_of_keyframe = list(polls_)
        states = _GroupStates(recording, groups, keyframe, polls_of_keyframe[-1].ms)
        for poll in recording.polls(keyframe / 1000, polls_of_keyframe[-1].at):
            states.go_to(poll)
            if poll.ms >= polls_of_keyframe[0].ms:
                yield states.read_at(poll)


class _GroupStates:
    """The recorded state of some groups at one poll.

    To select the poll, first call `go_to` for its keyframe (the last poll with the complete state). Then call `go_to`
    for each poll after the keyframe, up to the wanted poll.
    """

    def __init__(self, recording: RecordingReader, groups: Collection[str], keyframe: int, until: int) -> None:
        names = [escape_surrogates(group) for group in groups]
        self._tables = {
            table.name: RowsByPoll(
                recording.rows_of(table, _columns(table), keyframe, until), None if all_groups else names
            )
            for table, all_groups in ((GROUPS, False), (MEMBERS, False), (PARTITIONS, False), (FAULTS, True))
        }
        self._listed: dict[str, RowValues] = {}
        self._members: defaultdict[str, dict[str, Member]] = defaultdict(dict)
        self._positions: defaultdict[str, dict[TopicPartition, RowValues]] = defaultdict(dict)
        self._faults: dict[tuple[object, ...], tuple[str, Fault]] = {}
        self._reads: dict[str, GroupRead] = {}

    def go_to(self, poll: RecordedPoll) -> None:
        """Advance the state to a poll.

        The first call must be for a keyframe (a poll with the complete state). Each further call must be for the next
        poll, because the recording contains only the rows that changed since the previous poll.
        """
        changed, moved = self._apply_group_changes(poll.ms), set[str]()
        for group, topic, partition, gone, *row in self._tables["partitions"].at(poll.ms):
            moved.add(group)
            if gone:
                self._positions[group].pop((topic, partition), None)
            else:
                self._positions[group][topic, partition] = tuple(row)
        for group in changed | moved:
            listed, old = self._listed.get(group), self._reads.get(group)
            if listed is None:
                self._reads.pop(group, None)
                continue
            self._reads[group] = GroupRead(
                old.description if old is not None and group not in changed
                else rows.description_of_row(group, listed, self._members[group].values()),
                old.offsets if old is not None and group not in changed | moved else self._offsets(group),
            )  # fmt: skip
        for scope, broker, group, name, gone, *row in self._tables["faults"].at(poll.ms):
            key = (scope, broker, group, name)
            self._faults.pop(key, None)
            if not gone:
                self._faults[key] = (scope, rows.fault_of_row(broker, group, name, tuple(row)))

    def _apply_group_changes(self, poll: int) -> set[str]:
        """Advance the state of groups and members to a poll. Return the ids of groups whose row or members changed."""
        changed: set[str] = set()
        for group, gone, *row in self._tables["groups"].at(poll):
            changed.add(group)
            if gone:
                self._listed.pop(group, None)
            else:
                self._listed[group] = tuple(row)
        for group, member, gone, *row in self._tables["members"].at(poll):
            changed.add(group)
            if gone:
                self._members[group].pop(member, None)
            else:
                self._members[group][member] = rows.member_of_row(member, tuple(row))
        return changed

    def _offsets(self, group: str) -> GroupOffsets | None:
        positions = self._positions[group]
        if not positions and not rows.listing_of_row(self._listed[group]).has_offsets:
            return None
        return rows.offsets_of_rows(positions, hidden=rows.hidden_of_row(self._listed[group]))

    def read_at(self, poll: RecordedPoll) -> PollRead:
        """Return the descriptions and offsets of the groups at a poll.

        The result contains the last recorded values, but None for data that could not be read at this poll.

        Args:
            poll: the poll that was passed to the last call of `go_to`.
        """
        reads = dict(self._reads)
        for scope, fault in self._faults.values():
            if fault.group is None and scope in _BROKER_WIDE_SCOPES:
                for group in reads:
                    if fault.broker in (None, self._listed[group][3]):
                        reads[group] = GroupRead(None, None, fault)
            elif fault.group in reads:
                read = reads[fault.group]
                reads[fault.group] = GroupRead(
                    None if scope == "describe" else read.description,
                    None if scope == "offsets" else read.offsets,
                    read.fault or fault,
                )
        without_group = tuple(fault for _, fault in self._faults.values() if fault.group is None)
        return PollRead(poll, reads, without_group)


class RowsByPoll:
    """The rows of one table, grouped by poll. To save memory, rows are converted to Python one poll at a time.

    Args:
        table: rows of all polls, with column `poll`.
        groups: ids of the groups to keep, with lone surrogates escaped; None for all groups.
    """

    def __init__(self, table: pa.Table, groups: Sequence[str] | None) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        table = to_one_chunk(table)
        if groups is not None and table.num_rows:
            names = table["group"].chunk(0)
            matches = pc.is_in(names.dictionary, pa.array(groups, pa.string()))
            table = table.filter(matches.take(names.indices))
        self._rows = table.take(pc.sort_indices(table["poll"])).combine_chunks()
        self._spans: dict[int, tuple[int, int]] = {}
        start = 0
        for chunk in self._rows["poll"].chunks:
            runs = pc.run_end_encode(chunk)
            for poll, stop in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
                self._spans[poll] = (start, stop)
                start = stop
        self._rows = self._rows.drop_columns(["poll"])

    def at(self, poll: int) -> Iterator[RowValues]:
        """Yield the rows of a poll, without column `poll`."""
        start, stop = self._spans.get(poll, (0, 0))
        if start < stop:
            rows_ = self._rows.slice(start, stop - start)
            yield from zip(*(to_values(column) for column in rows_.columns), strict=True)


def _columns(table: Table) -> list[str]:
    return [name for name in table.names if name not in ("day", "keyframe")]
