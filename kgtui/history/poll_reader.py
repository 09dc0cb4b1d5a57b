"""Some groups over an interval, poll by poll: rows are applied in the order in which they were recorded."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from kgtui.admin.reading import has_offsets
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

_OF_ALL = frozenset({"cluster", "broker", "offsets"})
"""Scopes of faults that keep all groups of a coordinator from being read, where they name no group."""


class GroupRead(NamedTuple):
    """One group at one poll.

    Attributes:
        description: None when there is none, or this poll failed to make one.
        offsets: None when this poll could not read them, and for groups that have none.
        fault: why something is missing; None when nothing is.
    """

    description: GroupDescription | None
    offsets: GroupOffsets | None
    fault: Fault | None = None


@dataclass(frozen=True, slots=True)
class PollRead:
    """One poll.

    Attributes:
        groups: those of the groups asked for that were there.
        faults: what concerned no one group.
    """

    poll: RecordedPoll
    groups: Mapping[str, GroupRead]
    faults: tuple[Fault, ...] = ()


def read_polls(lake: RecordingReader, groups: Collection[str], moments: Sequence[RecordedPoll]) -> Iterator[PollRead]:
    """The groups at each moment, oldest first; a keyframe at a time is in memory.

    Args:
        moments: in order; none is left out between two of them.

    Raises:
        LakeError: their rows cannot be read.
    """
    for keyframe, some in groupby(moments, lambda moment: moment.keyframe):
        wanted = list(some)
        walk = _GroupStates(lake, groups, keyframe, wanted[-1].ms)
        for poll in lake.polls(keyframe / 1000, wanted[-1].at):
            walk.go_to(poll)
            if poll.ms >= wanted[0].ms:
                yield walk.seen(poll)


class _GroupStates:
    """The state of some groups, from a keyframe on."""

    def __init__(self, lake: RecordingReader, groups: Collection[str], keyframe: int, until: int) -> None:
        names = [escape_surrogates(group) for group in groups]
        self._tables = {
            table.name: _RowsByPoll(lake.rows_of(table, _columns(table), keyframe, until), None if everyone else names)
            for table, everyone in ((GROUPS, False), (MEMBERS, False), (PARTITIONS, False), (FAULTS, True))
        }
        self._listed: dict[str, RowValues] = {}
        self._members: defaultdict[str, dict[str, Member]] = defaultdict(dict)
        self._positions: defaultdict[str, dict[TopicPartition, RowValues]] = defaultdict(dict)
        self._faults: dict[tuple[object, ...], tuple[str, Fault]] = {}
        self._reads: dict[str, GroupRead] = {}

    def go_to(self, moment: RecordedPoll) -> None:
        """Apply what the next poll changed."""
        told, moved = self._take_groups(moment.ms), set[str]()
        for group, topic, partition, gone, *row in self._tables["partitions"].at(moment.ms):
            moved.add(group)
            if gone:
                self._positions[group].pop((topic, partition), None)
            else:
                self._positions[group][topic, partition] = tuple(row)
        for group in told | moved:
            listed, old = self._listed.get(group), self._reads.get(group)
            if listed is None:
                self._reads.pop(group, None)
                continue
            self._reads[group] = GroupRead(
                old.description if old is not None and group not in told
                else rows.description_of_row(group, listed, self._members[group].values()),
                old.offsets if old is not None and group not in moved else self._offsets(group),
            )  # fmt: skip
        for scope, broker, group, name, gone, *row in self._tables["faults"].at(moment.ms):
            key = (scope, broker, group, name)
            self._faults.pop(key, None)
            if not gone:
                self._faults[key] = (scope, rows.fault_of_row(broker, group, name, tuple(row)))

    def _take_groups(self, poll: int) -> set[str]:
        """Groups that are listed, described or peopled otherwise than before."""
        told: set[str] = set()
        for group, gone, *row in self._tables["groups"].at(poll):
            told.add(group)
            if gone:
                self._listed.pop(group, None)
            else:
                self._listed[group] = tuple(row)
        for group, member, gone, *row in self._tables["members"].at(poll):
            told.add(group)
            if gone:
                self._members[group].pop(member, None)
            else:
                self._members[group][member] = rows.member_of_row(member, tuple(row))
        return told

    def _offsets(self, group: str) -> GroupOffsets | None:
        positions = self._positions[group]
        if not positions and not has_offsets(rows.listing_of_row(self._listed[group])):
            return None
        return rows.offsets_of_rows(positions)

    def seen(self, moment: RecordedPoll) -> PollRead:
        """What the poll told: values that it could not read are not taken for its own."""
        reads = dict(self._reads)
        for scope, fault in self._faults.values():
            if fault.group is None and scope in _OF_ALL:
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
        others = tuple(fault for _, fault in self._faults.values() if fault.group is None)
        return PollRead(moment, reads, others)


class _RowsByPoll:
    """Rows of one table, by poll; text is unpacked a poll at a time.

    Args:
        groups: the only ones of interest, named as they are stored; None for all.
    """

    def __init__(self, table: pa.Table, groups: Sequence[str] | None) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        table = to_one_chunk(table)
        if groups is not None and table.num_rows:
            names = table["group"].chunk(0)
            ours = pc.is_in(names.dictionary, pa.array(groups, pa.string()))
            table = table.filter(ours.take(names.indices))
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
        """The rows of a poll, without it."""
        start, stop = self._spans.get(poll, (0, 0))
        if start < stop:
            some = self._rows.slice(start, stop - start)
            yield from zip(*(to_values(column) for column in some.columns), strict=True)


def _columns(table: Table) -> list[str]:
    return [name for name in table.names if name not in ("day", "keyframe")]
