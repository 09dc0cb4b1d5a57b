"""Read the descriptions, offsets, configs and log bounds of groups with as few requests as possible.

`read_groups` reads any number of groups at once. `read_by_coordinator` reads the groups of a whole cluster in batches
per coordinator, so that a broker that hangs delays only its own groups. Both work on every `GroupAdmin`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, TypeVar

from kgtui.admin.deadline import Deadline
from kgtui.errors import KgtuiError, UnreachableError
from kgtui.model.answer import Answer, Fault, fault_of, why_missing
from kgtui.model.error_numbers import FORBIDDEN
from kgtui.model.group_types import SHARE_OFFSET_TYPES
from kgtui.model.members import partitions_read
from kgtui.model.offsets import GroupOffsets, summed

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence

    from kgtui.admin.base import GroupAdmin
    from kgtui.model.group import GroupConfig, GroupDescription, Listing
    from kgtui.model.offsets import CommittedOffset, LagTotal, PartitionBounds, ShareOffset, TopicPartition

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
_Rows = Answer[Mapping[str, T]]

_UNANSWERED = frozenset({"NOT_CONNECTED", "NO_ANSWER", "DISCONNECTED", "UNREACHABLE"})
"""Names of the faults which mean that a coordinator did not answer at all."""

DESCRIBE, OFFSETS, CONFIGS, LOGS = "describe", "offsets", "configs", "logs"
"""The steps of a read. In a recording, each fault is stored with the name of the step in which it occurred."""


class Logs(Enum):
    """Which log bounds (log start and log end offsets) are read."""

    NONE = "none"
    COMMITTED_ENDS = "committed ends"
    """Log ends of the partitions with a committed offset. They are enough to compute the total lag, because
    brokers compute the lag of share groups themselves."""
    ENDS = "ends"
    """Log ends of every partition that has an offset or is owned by a member."""
    BOUNDS = "bounds"
    """Log starts and log ends of the same partitions as `ENDS`; takes twice as many requests."""


@dataclass(slots=True, eq=False)
class GroupsRead:
    """The results of a read. If a group could not be read, it is missing, and `faults` contains the reason.

    Rows are stored as the brokers sent them, because creating objects is slow. `offsets_of` creates the objects of one
    group. `lag_of` creates no object per partition, so that it sums the lags of 10,000 groups with 100,000 partitions
    in a tenth of a second.

    Attributes:
        committed, share: group id → its committed offsets, or its share-partition start offsets.
        bounds: the log bounds of the partitions of all groups together.
        faults: `(step, fault)` in the order in which the steps ended; `fault.group` is None where a fault concerns a
            broker or the whole cluster.
    """

    descriptions: dict[str, GroupDescription] = field(default_factory=dict)
    committed: dict[str, tuple[CommittedOffset, ...]] = field(default_factory=dict)
    share: dict[str, tuple[ShareOffset, ...]] = field(default_factory=dict)
    configs: dict[str, tuple[GroupConfig, ...]] = field(default_factory=dict)
    bounds: dict[TopicPartition, PartitionBounds] = field(default_factory=dict)
    faults: list[tuple[str, Fault]] = field(default_factory=list)
    _owned_of: dict[str, Collection[TopicPartition]] = field(default_factory=dict)

    def group_faults(self, *steps: str) -> dict[str, Fault]:
        """Return the first fault of each group, by group id.

        Args:
            steps: the steps to consider, such as `DESCRIBE`; all of them by default.
        """
        found: dict[str, Fault] = {}
        for step, fault in self.faults:
            if fault.group is not None and (not steps or step in steps):
                found.setdefault(fault.group, fault)
        return found

    def why_missing(self, group: str, step: str) -> Fault:
        """Return the fault that explains why the result of a step is missing for a group."""
        return why_missing((fault for at, fault in self.faults if at == step), group)

    @property
    def general_faults(self) -> tuple[Fault, ...]:
        """The faults that do not belong to one group, for example faults of a broker."""
        return tuple(fault for _, fault in self.faults if fault.group is None)

    def offsets_of(self, group: str) -> GroupOffsets | None:
        """Return the offsets of a group with the log bounds of the partitions, or None if no offsets were read.

        The log bounds include partitions without a committed offset that a member owns. Of these, partitions of topics
        that the user may not describe are included with their error, because the broker leaves out their offsets.
        """
        share = self.share.get(group)
        if share is not None:
            return GroupOffsets((), share, self._bounds((row.topic, row.partition) for row in share))
        committed = self.committed.get(group)
        if committed is None:
            return None
        bounds = self._bounds((row.topic, row.partition) for row in committed)
        for tp in self._owned(group):
            found = self.bounds.get(tp)
            if found is not None and (not found.error or found.error in FORBIDDEN):
                bounds[tp] = found
        return GroupOffsets(committed, (), bounds)

    def offsets_by_group(self) -> dict[str, GroupOffsets]:
        """Return the offsets of every group whose offsets were read, by group id; see `offsets_of`."""
        groups = (*self.committed, *self.share)
        return {group: rows for group in groups if (rows := self.offsets_of(group)) is not None}

    def lag_of(self, group: str) -> LagTotal:
        """Sum the lag of all partitions of a group. This requires that log ends were read (any `Logs` but `NONE`)."""
        return summed(self.committed.get(group, ()), self.share.get(group, ()), self.bounds)

    def topics_of(self, group: str) -> Iterable[str] | None:
        """Return the topics in which a group has offsets, or None if its offsets were not read.

        A topic is repeated for each of its partitions.
        """
        rows = self.share.get(group, self.committed.get(group))
        return None if rows is None else (row.topic for row in rows)

    def partitions(self) -> set[TopicPartition]:
        """Return every partition in which a group has an offset, and every partition that a described member owns."""
        rows = {(row.topic, row.partition) for offsets in self.committed.values() for row in offsets}
        rows |= {(row.topic, row.partition) for offsets in self.share.values() for row in offsets}
        return rows.union(*(self._owned(group) for group in self.committed))

    def _owned(self, group: str) -> Collection[TopicPartition]:
        owned = self._owned_of.get(group)
        if owned is None:
            row = self.descriptions.get(group)
            owned = self._owned_of[group] = () if row is None else partitions_read(row.members, row.topology)
        return owned

    def _bounds(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, PartitionBounds]:
        return {tp: self.bounds[tp] for tp in partitions if tp in self.bounds}

    def add(self, step: str, rows: dict[K, V], answer: Answer[Mapping[K, V]]) -> None:
        """Add the rows of an answer to `rows`, which is one of the mappings of this object.

        The faults of the answer are added to `faults`, each with the name of the step.
        """
        rows.update(answer.rows)
        self.faults += [(step, fault) for fault in answer.faults]

    def merge(self, other: GroupsRead) -> None:
        """Add the results of another read."""
        self.descriptions.update(other.descriptions)
        self.committed.update(other.committed)
        self.share.update(other.share)
        self.configs.update(other.configs)
        self.bounds.update(other.bounds)
        self.faults += other.faults


async def read_groups(
    admin: GroupAdmin,
    deadline: Deadline,
    *,
    describe: Collection[str] = (),
    offsets: Mapping[str, Listing] | None = None,
    configs: Collection[str] = (),
    logs: Logs = Logs.NONE,
    every_offset: bool = False,
    separately: bool = False,
    log_timeout: float | None = None,
    described: Mapping[str, GroupDescription] | None = None,
    on_described: Callable[[Answer[Mapping[str, GroupDescription]]], None] | None = None,
) -> GroupsRead:
    """Read descriptions, offsets and configs at the same time, and then the log bounds of the partitions in them.

    Args:
        deadline: this function uses one step of the deadline for descriptions, offsets and configs, and one for log
            bounds if any are read.
        describe: ids of the groups to describe.
        offsets: group id → newest listing, for the groups whose offsets are read. Groups without offsets
            (`Listing.has_offsets`) are skipped.
        configs: ids of the groups whose configs are read.
        logs: which log bounds are read.
        every_offset: whether to read the offsets even of groups for which `has_offsets` is False.
        separately: whether a failed call for descriptions, offsets or configs becomes a fault of each of its groups, so
            that the results of the other calls are kept. By default, the error of the failed call is raised.
        log_timeout: time limit for reading the log bounds, in seconds. By default, it is a step of `deadline`.
        described: descriptions that were read earlier. The log bounds of the partitions that their members own are
            read too.
        on_described: called with the descriptions as soon as they arrive. Offsets and configs may take longer, because
            a broker that is asked only for them may hang.

    Raises:
        UnreachableError: no broker could be asked for descriptions, offsets or configs. If log bounds cannot be read,
            the result contains a fault instead.
    """
    read = GroupsRead(dict(described or {}))
    listings = offsets or {}
    share = [group for group, row in listings.items() if row.type in SHARE_OFFSET_TYPES]
    committed = [
        group
        for group, row in listings.items()
        if row.type not in SHARE_OFFSET_TYPES and (every_offset or row.has_offsets)
    ]
    timeout = deadline.step()

    async def call(method: Callable[..., Awaitable[Answer[Mapping[str, T]]]], ids: Collection[str]) -> _Rows[T]:
        if not ids:
            return Answer({})
        try:
            return await method(ids, timeout=timeout)
        except KgtuiError as error:
            if not separately:
                raise
            return Answer({}, tuple(Fault("NO_ANSWER", str(error), group=group) for group in ids))

    async def call_describe() -> _Rows[GroupDescription]:
        answer = await call(admin.describe_groups, describe)
        if on_described is not None:
            on_described(answer)
        return answer

    descriptions, commits, shares, values = await asyncio.gather(
        call_describe(),
        call(admin.committed_offsets, committed),
        call(admin.share_offsets, share),
        call(admin.group_configs, configs),
    )
    read.add(DESCRIBE, read.descriptions, descriptions)
    read.add(OFFSETS, read.committed, commits)
    read.add(OFFSETS, read.share, shares)
    read.add(CONFIGS, read.configs, values)
    partitions = _partitions_to_measure(read, logs)
    if partitions:
        await _read_logs(
            admin,
            read,
            partitions,
            starts=logs is Logs.BOUNDS,
            timeout=deadline.step() if log_timeout is None else log_timeout,
            harmless=KgtuiError if separately else UnreachableError,
        )
    return read


async def read_in_full(
    admin: GroupAdmin,
    deadline: Deadline,
    groups: Mapping[str, Listing],
    *,
    on_described: Callable[[Answer[Mapping[str, GroupDescription]]], None] | None = None,
) -> GroupsRead:
    """Read descriptions, offsets and log bounds of groups; see `read_groups` for the arguments and errors.

    Args:
        groups: newest listing of each group by id.
    """
    return await read_groups(
        admin,
        deadline,
        describe=groups.keys(),
        offsets=groups,
        logs=Logs.BOUNDS,
        every_offset=True,
        on_described=on_described,
    )


def _partitions_to_measure(read: GroupsRead, logs: Logs) -> set[TopicPartition]:
    if logs is Logs.NONE:
        return set()
    if logs is Logs.COMMITTED_ENDS:
        return {
            (row.topic, row.partition) for rows in read.committed.values() for row in rows if row.offset is not None
        }
    return read.partitions()


async def read_by_coordinator(
    admin: GroupAdmin,
    deadline: Deadline,
    groups: Mapping[int, Sequence[str]],
    listings: Mapping[str, Listing],
    *,
    describe: Collection[str],
    owned: Iterable[TopicPartition],
    group_batch: int,
    log_batch: int,
) -> GroupsRead:
    """Read the offsets and log bounds of all groups, and describe some of the groups. Errors become faults.

    Each coordinator is asked independently, batch after batch, so that a coordinator that hangs delays only its own
    groups. A batch may use half of the remaining time, and the last batch of a coordinator four fifths. If a
    coordinator does not answer a batch at all, its other batches are skipped. The log bounds of all groups are read
    together at the end.

    Args:
        groups: node id of a coordinator → ids of its groups.
        listings: newest listing of each group, by group id.
        describe: ids of the groups to describe.
        owned: partitions that members own. Their log bounds are read even if no offset is committed.
        group_batch: maximum number of groups per batch.
        log_batch: maximum number of partitions per call for log bounds.
    """
    read = GroupsRead()
    async with asyncio.TaskGroup() as tasks:
        for node, ids in groups.items():
            batches = [ids[start : start + group_batch] for start in range(0, len(ids), group_batch)]
            tasks.create_task(_read_coordinator(admin, deadline, read, node, batches, listings, describe))
    # Group the partitions by topic in a thread, so that the event loop, which the terminal UI may use, is not blocked.
    chunks = await asyncio.to_thread(_partitions_by_topic, read, owned, log_batch)
    # Read the log bounds of all chunks of partitions at the same time, because a leader that does not answer delays its
    # chunk until the time limit.
    async with asyncio.TaskGroup() as tasks:
        for chunk in chunks:
            tasks.create_task(_read_logs(admin, read, chunk, timeout=max(deadline.left(), 1.0)))
    return read


async def _read_coordinator(
    admin: GroupAdmin,
    deadline: Deadline,
    read: GroupsRead,
    node: int,
    batches: Sequence[Sequence[str]],
    listings: Mapping[str, Listing],
    describe: Collection[str],
) -> None:
    for number, ids in enumerate(batches, 1):
        timeout = deadline.left() * (0.5 if number < len(batches) else 0.8)
        try:
            batch = await read_groups(
                admin,
                Deadline(timeout),
                describe=[group for group in ids if group in describe],
                offsets={group: listings[group] for group in ids},
            )
        except KgtuiError as error:
            read.faults.append((OFFSETS, fault_of(error, broker=node)))
            return
        read.merge(batch)
        answered = batch.committed or batch.share or batch.descriptions
        if not answered and any(step == OFFSETS and fault.name in _UNANSWERED for step, fault in batch.faults):
            return  # skip the other batches of this coordinator, because it does not answer


async def _read_logs(
    admin: GroupAdmin,
    read: GroupsRead,
    partitions: Collection[TopicPartition],
    *,
    timeout: float,
    starts: bool = True,
    harmless: type[KgtuiError] = KgtuiError,
) -> None:
    """Read log bounds, and add them to `read`.

    An error of the class `harmless` becomes a fault, because offsets are useful even without log bounds.
    """
    try:
        answer = await admin.partition_bounds(partitions, starts=starts, timeout=timeout)
    except harmless as error:
        read.faults.append((LOGS, fault_of(error)))
    else:
        read.add(LOGS, read.bounds, answer)


def _partitions_by_topic(read: GroupsRead, owned: Iterable[TopicPartition], size: int) -> list[list[TopicPartition]]:
    """Return the partitions whose log bounds must be read, grouped by topic, in chunks of at most `size` partitions."""
    topics: dict[str, dict[TopicPartition, None]] = {}
    for tp in owned:
        topics.setdefault(tp[0], {})[tp] = None
    for offsets in (read.committed, read.share):
        for rows in offsets.values():
            for row in rows:
                topics.setdefault(row.topic, {})[row.topic, row.partition] = None
    partitions = [tp for partitions in topics.values() for tp in partitions]
    return [partitions[start : start + size] for start in range(0, len(partitions), size)]
