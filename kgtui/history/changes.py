"""Find the rows that changed between two polls (reads of the cluster by the recorder).

Groups, members and partitions are stored as rows (see `kgtui.history.rows`). Rows are tuples, because Python compares
tuples fast.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kgtui.history import rows
from kgtui.lake.schemas import FAULTS, GROUPS, MEMBERS, PARTITIONS
from kgtui.model.error_numbers import FORBIDDEN, TOPIC_AUTHORIZATION_FAILED
from kgtui.model.members import owners_of, partitions_read

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Set

    from kgtui.lake.schemas import Table
    from kgtui.lake.schemas.definition import RowsByTable, RowValues
    from kgtui.model.answer import Fault
    from kgtui.model.group import GroupDescription, Listing
    from kgtui.model.members import Member
    from kgtui.model.offsets import CommittedOffset, PartitionBounds, ShareOffset, TopicPartition

FaultKey = tuple[str, int | None, str | None, str]
"""Key of a fault (a failed read): (scope, broker id, group id, error name).

The scope names the data that could not be read, such as `offsets`.

The broker id is None if the fault does not concern a single broker. The group id is None if the fault does not concern
a single group.
"""


@dataclass(frozen=True, slots=True)
class PollResult:
    """The values that one poll read from the cluster.

    Attributes:
        listings: group → type, protocol, state and coordinator. If a broker did not respond, the groups from its most
            recent list are used.
        descriptions: group → description, for the groups that this poll described.
        committed: group → committed offsets. Share groups are left out.
        share: share group → share-partition start offsets.
        bounds: partition → log start and log end offset.
        hidden: groups whose offsets may be incomplete because of missing permissions; None if permissions are unknown.
        faults: pairs (scope, fault). The scope names the data that could not be read, such as `offsets`.
    """

    listings: Mapping[str, Listing]
    descriptions: Mapping[str, GroupDescription] = field(default_factory=dict)
    committed: Mapping[str, tuple[CommittedOffset, ...]] = field(default_factory=dict)
    share: Mapping[str, tuple[ShareOffset, ...]] = field(default_factory=dict)
    bounds: Mapping[TopicPartition, PartitionBounds] = field(default_factory=dict)
    faults: tuple[tuple[str, Fault], ...] = ()
    hidden: Set[str] | None = None

    def release(self) -> None:
        """Free the memory of this result in many small steps.

        Freeing all objects in one step would hold Python's GIL and block all other threads.
        """
        _release(self.committed, self.share, self.descriptions, self.bounds)


class ChangeTracker:
    """Keeps the state of all groups at the latest poll in memory, and finds the rows that differ at the next poll."""

    def __init__(self) -> None:
        self._groups: dict[str, RowValues] = {}
        self._described: dict[str, RowValues] = {}
        self._members: dict[str, dict[str, RowValues]] = {}
        self._owners: dict[str, dict[TopicPartition, str]] = {}
        self._partitions: dict[str, dict[TopicPartition, RowValues]] = {}
        self._faults: dict[FaultKey, RowValues] = {}

    def release(self) -> None:
        """Free the memory of all stored groups in small steps, so that other threads are not blocked for long."""
        _release(self._partitions, self._members, self._owners, self._groups, self._described)

    @property
    def groups(self) -> int:
        """Number of groups that existed at the latest poll."""
        return len(self._groups)

    def owned(self) -> Iterator[TopicPartition]:
        """Yield the partitions that members own. A partition with owners in several groups is yielded several times."""
        for owned in self._owners.values():
            yield from owned

    def add(self, result: PollResult, groups: Iterable[str], at: int, out: RowsByTable) -> None:
        """Update the stored state of the given groups from a poll, and append the changed rows to the lists in `out`.

        Args:
            result: what the poll has read.
            groups: ids of the groups to update.
            at: time of the poll, in milliseconds since the epoch.
            out: table name → list of rows to store.
        """
        refused = {tp for tp, log in result.bounds.items() if log.error in FORBIDDEN}
        withheld = {fault.group for _, fault in result.faults if fault.code == TOPIC_AUTHORIZATION_FAILED}
        for group in groups:
            description = result.descriptions.get(group)
            if description is not None:
                self._describe(group, description, at, out)
            hidden = True if group in withheld else self._may_lack_topics(group, result, refused)
            described = self._described.get(group, rows.undescribed())
            row = (*rows.listing_row(result.listings[group]), *described, hidden)
            if self._groups.get(group) != row:
                self._groups[group] = row
                out["groups"].append((group, False, *row))
            if group in result.committed:
                self._partition_rows(group, self._commits(group, result.committed[group], result.bounds), out)
            elif group in result.share:
                self._partition_rows(group, self._shares(group, result.share[group], result.bounds), out)

    def finish(self, result: PollResult, out: RowsByTable) -> None:
        """Append rows to `out` for groups that disappeared, and for faults (failed reads) that began, changed or ended.

        Call this once per poll, after calling `add` for all groups.
        """
        for group in [group for group in self._groups if group not in result.listings]:
            self._forget(group, out)
        faults = {
            (scope, fault.broker, fault.group, fault.name): rows.fault_row(fault) for scope, fault in result.faults
        }
        for key, row in faults.items():
            old = self._faults.get(key)
            # Compare only the error codes, because an error message might contain a time that differs in each poll.
            if old is None or old[0] != row[0]:
                self._faults[key] = row
                out["faults"].append((*key, False, *row))
        for key in self._faults.keys() - faults.keys():
            del self._faults[key]
            out["faults"].append((*key, True, *_NO_FAULT))

    def all_rows(self) -> RowsByTable:
        """Return the rows of all groups, members, partitions and faults at the latest poll: table name → rows.

        The rows are sorted by key, except in table `faults`.
        """
        out = new_rows()
        for group in sorted(self._groups):
            out["groups"].append((group, False, *self._groups[group]))
            members, partitions = self._members.get(group, {}), self._partitions.get(group, {})
            out["members"] += [(group, name, False, *members[name]) for name in sorted(members)]
            out["partitions"] += [(group, *tp, False, *partitions[tp]) for tp in sorted(partitions)]
        out["faults"] += [(*key, False, *row) for key, row in self._faults.items()]
        return out

    def _may_lack_topics(self, group: str, result: PollResult, refused: Set[TopicPartition]) -> bool | None:
        """Return whether a group's offsets may be incomplete because of missing permissions; None if unknown.

        If this poll did not read the group's offsets, return the result of the previous poll.

        Args:
            refused: partitions whose log start and log end offsets the user is not allowed to read.
        """
        offsets = result.committed.get(group, result.share.get(group))
        if offsets is None:
            old = self._groups.get(group)
            return None if old is None else rows.hidden_of_row(old)
        if refused and not refused.isdisjoint(self._owners.get(group, ())):
            return True
        return None if result.hidden is None else group in result.hidden

    def _describe(self, group: str, description: GroupDescription, at: int, out: RowsByTable) -> None:
        row = rows.description_row(description, at)
        known = self._described.get(group)
        if known is None or known[1:] != row[1:]:
            self._described[group] = row
        members = description.members or ()
        self._owners[group] = _owners(description, members)
        old, now = self._members.get(group, {}), {member.member_id: rows.member_row(member) for member in members}
        out["members"] += [(group, name, False, *now[name]) for name in sorted(now) if old.get(name) != now[name]]
        out["members"] += [(group, name, True, *_NO_MEMBER) for name in sorted(old.keys() - now.keys())]
        self._members[group] = now

    def _commits(
        self, group: str, commits: Iterable[CommittedOffset], bounds: Mapping[TopicPartition, PartitionBounds]
    ) -> dict[TopicPartition, RowValues]:
        owners, log = self._owners.get(group, {}), bounds.get
        found: dict[TopicPartition, RowValues] = {}
        for commit in commits:
            tp = (commit.topic, commit.partition)
            found[tp] = rows.commit_row(commit, log(tp), owners.get(tp))
        for tp, owner in owners.items():
            if tp not in found and (known := log(tp)) is not None and not known.error:
                found[tp] = rows.owned_row(known, owner)
        return found

    def _shares(
        self, group: str, shares: Iterable[ShareOffset], bounds: Mapping[TopicPartition, PartitionBounds]
    ) -> dict[TopicPartition, RowValues]:
        owners = self._owners.get(group, {})
        return {
            (row.topic, row.partition): rows.share_row(
                row, bounds.get((row.topic, row.partition)), owners.get((row.topic, row.partition))
            )
            for row in shares
        }

    def _partition_rows(self, group: str, now: dict[TopicPartition, RowValues], out: RowsByTable) -> None:
        old = self._partitions.get(group)
        if old == now:
            return
        old = old or {}
        changed = sorted(tp for tp, row in now.items() if old.get(tp) != row)
        out["partitions"] += [(group, *tp, False, *now[tp]) for tp in changed]
        out["partitions"] += [(group, *tp, True, *_NO_PARTITION) for tp in sorted(old.keys() - now.keys())]
        self._partitions[group] = now

    def _forget(self, group: str, out: RowsByTable) -> None:
        del self._groups[group]
        self._described.pop(group, None)
        self._owners.pop(group, None)
        out["groups"].append((group, True, *_NO_GROUP))
        out["members"] += [(group, name, True, *_NO_MEMBER) for name in sorted(self._members.pop(group, {}))]
        out["partitions"] += [(group, *tp, True, *_NO_PARTITION) for tp in sorted(self._partitions.pop(group, {}))]


def _nulls(table: Table) -> RowValues:
    return (None,) * (len(table.names) - table.names.index("gone") - 1)


_NO_GROUP, _NO_MEMBER, _NO_PARTITION, _NO_FAULT = map(_nulls, (GROUPS, MEMBERS, PARTITIONS, FAULTS))


def new_rows() -> RowsByTable:
    """Return a dictionary that maps each table name to an empty list of rows."""
    return defaultdict(list)


def _release(*parts: Mapping[Any, Any]) -> None:
    for part in parts:
        if isinstance(part, dict):
            while part:
                part.popitem()


def _owners(description: GroupDescription, members: Iterable[Member]) -> dict[TopicPartition, str]:
    """Return a dict: partition → id of the member that owns the partition.

    In a streams group, a member also owns the partitions that are the input of its active tasks.
    """
    found = {tp: member.member_id for tp, member in owners_of(tuple(members)).items()}
    if description.topology is not None:
        for member in members:
            for tp in partitions_read((member,), description.topology):
                found.setdefault(tp, member.member_id)
    return found
