"""Read the descriptions, offsets, configs and log bounds of groups with few requests.

Log bounds are the log start and log end offsets of the groups' partitions.

`read_groups` reads some groups. `read_by_coordinator` reads all groups of a cluster, so that a broker that hangs delays
only the groups that it coordinates. Both functions work with every implementation of `GroupAdmin`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from kgtui.admin.deadline import Deadline
from kgtui.admin.groups_read import CONFIGS, DESCRIBE, LOGS, OFFSETS, GroupsRead
from kgtui.errors import KgtuiError, UnreachableError
from kgtui.model.access import Access
from kgtui.model.answer import Answer, Fault, fault_of
from kgtui.model.group_types import SHARE_OFFSET_TYPES
from kgtui.model.offsets import searchable
from kgtui.model.record_times import with_expiry

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence

    from kgtui.admin.base import GroupAdmin
    from kgtui.model.cluster import TopicRules
    from kgtui.model.group import GroupDescription, Listing
    from kgtui.model.offsets import PartitionLag, TopicPartition
    from kgtui.model.record_times import LogPosition, RecordTime

T = TypeVar("T")
_Rows = Answer[Mapping[str, T]]

_UNANSWERED = frozenset({"NOT_CONNECTED", "NO_ANSWER", "DISCONNECTED", "UNREACHABLE"})
"""Names of the errors that mean that a coordinator does not answer. kgtui then skips the coordinator's other groups."""

_GROUPS_PER_SLICE = 50
"""Number of groups that are processed before the event loop can run other tasks.

For each of these groups, kgtui finds out which partitions and topics the group's members consume.
"""

_CONCURRENT_SEARCHES = 8
"""Maximum number of concurrent calls of `GroupAdmin.record_times` that `read_record_times` makes."""


class Logs(Enum):
    """Which log start and log end offsets `read_groups` reads."""

    NONE = "none"
    COMMITTED_ENDS = "committed ends"
    """Log end offsets of partitions with a committed offset, and of the partitions in `GroupsRead.permission_checks`.

    The permission checks show whether brokers hide offsets from the user. Together, these log end offsets are enough to
    compute the total lag of every group. Share groups need no log offsets, because brokers report their lag.
    """
    ENDS = "ends"
    """Log end offset of every partition in which a group has an offset, or that a member owns."""
    BOUNDS = "bounds"
    """Log start and log end offset of every partition in which a group has an offset, or that a member owns."""


async def access_of(admin: GroupAdmin, *, max_age: float = 0.0, timeout: float) -> Access:
    """Return the permissions of the Kafka user that kgtui logs in as.

    If the permissions cannot be read, return `Access()`, which stands for no permissions.

    Args:
        max_age: maximum age of cached permissions, in seconds.
    """
    try:
        return await admin.access(max_age=max_age, timeout=timeout)
    except KgtuiError:
        return Access()


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
    """Read descriptions, offsets and configs of groups at the same time, and then the log bounds of their partitions.

    Args:
        deadline: time limit. Its first step is for all data except log bounds (log start and log end offsets). Its
            second step is for the log bounds, unless `log_timeout` is set.
        describe: ids of the groups to describe.
        offsets: group id → newest `Listing` (type, protocol, state and coordinator), for the groups whose offsets are
            read.
        configs: ids of the groups whose configs are read.
        logs: which log bounds are read.
        every_offset: whether to read offsets even of groups that usually have none (`Listing.has_offsets` is False).
        separately: whether a failed call adds one `Fault` (error) per group to the result, instead of raising the
            error.
        log_timeout: time limit for log bounds, in seconds; None for the second step of `deadline`.
        described: group id → description that is already known. The log bounds of the partitions that the members of
            these groups own are read too.
        on_described: called with the new descriptions as soon as they arrive.

    Raises:
        UnreachableError: no broker was reachable. If this happens only while log bounds are read, a `Fault` is added to
            the result instead.
    """
    read = GroupsRead(dict(described or {}))
    committed, share = _by_kind_of_offsets(offsets or {}, every_offset=every_offset)
    call = partial(_call, timeout=deadline.step(), separately=separately)

    descriptions, commits, shares, values = await asyncio.gather(
        call(admin.describe_groups, describe, on_answer=on_described),
        call(admin.committed_offsets, committed),
        call(admin.share_offsets, share),
        call(admin.group_configs, configs),
    )
    read.add(DESCRIBE, read.descriptions, descriptions)
    read.add(OFFSETS, read.committed, commits)
    read.add(OFFSETS, read.share, shares)
    read.add(CONFIGS, read.configs, values)
    if partitions := await _partitions_to_measure(read, logs):
        await _read_logs(
            admin, read, partitions, starts=logs is Logs.BOUNDS,
            timeout=deadline.step() if log_timeout is None else log_timeout,
            harmless=KgtuiError if separately else UnreachableError,
        )  # fmt: skip
    return read


def _by_kind_of_offsets(listings: Mapping[str, Listing], *, every_offset: bool) -> tuple[list[str], list[str]]:
    """Return `(committed, share)`: ids of the groups whose committed offsets to read, and ids of the share groups.

    Args:
        every_offset: whether `committed` contains even groups that usually have no committed offsets.
    """
    share = [group for group, row in listings.items() if row.type in SHARE_OFFSET_TYPES]
    committed = [
        group
        for group, row in listings.items()
        if row.type not in SHARE_OFFSET_TYPES and (every_offset or row.has_offsets)
    ]
    return committed, share


async def _call(
    method: Callable[..., Awaitable[_Rows[T]]],
    ids: Collection[str],
    *,
    timeout: float,
    separately: bool,
    on_answer: Callable[[_Rows[T]], None] | None = None,
) -> _Rows[T]:
    """Call a method of `GroupAdmin` with group ids. If there are no ids, return an empty answer.

    Args:
        separately: whether to return one `Fault` (error) per group if the call fails, instead of raising the error.
        on_answer: called with the answer.
    """
    try:
        answer: _Rows[T] = await method(ids, timeout=timeout) if ids else Answer({})
    except KgtuiError as error:
        if not separately:
            raise
        answer = Answer({}, tuple(Fault("NO_ANSWER", str(error), group=group) for group in ids))
    if on_answer is not None:
        on_answer(answer)
    return answer


async def read_in_full(
    admin: GroupAdmin,
    deadline: Deadline,
    groups: Mapping[str, Listing],
    *,
    on_described: Callable[[Answer[Mapping[str, GroupDescription]]], None] | None = None,
) -> GroupsRead:
    """Read the descriptions and all offsets of groups, and the log start and log end offsets of their partitions.

    Args:
        groups: group id → newest `Listing` (type, protocol, state and coordinator).
        on_described: called with the descriptions as soon as they arrive.
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


async def read_record_times(
    admin: GroupAdmin,
    groups: Mapping[str, Iterable[PartitionLag]],
    *,
    rules: Mapping[str, TopicRules] | None = None,
    precision: float,
    limit: int,
    timeout: float,
) -> dict[str, dict[TopicPartition, RecordTime]]:
    """Return a dict: group id → partition → when the last consumed and the first unread record were written.

    The dict lacks groups without unread records, and groups whose partitions were not searched because of `limit` or an
    error.

    Args:
        groups: group id → offsets and lag of its partitions.
        rules: topic → configs that decide when records are deleted. If None, the configs are read first.
        precision: accepted uncertainty of a time, as a fraction of the record's age.
        limit: maximum number of partitions to search, over all groups.
        timeout: time limit for all searches, in seconds.
    """
    deadline, gate = Deadline(timeout), asyncio.Semaphore(_CONCURRENT_SEARCHES)
    positions: dict[str, dict[TopicPartition, LogPosition]] = {}
    for group, rows in groups.items():
        if limit > 0 and (lagging := searchable(rows, limit)):
            positions[group] = lagging
            limit -= len(lagging)
    known = rules or {}
    topics = {topic for lagging in positions.values() for topic, _ in lagging}
    if topics and rules is None:
        with contextlib.suppress(KgtuiError):
            known = (await admin.retention(sorted(topics), timeout=deadline.left() / 2)).rows.rules
    found: dict[tuple[TopicPartition, LogPosition], RecordTime] = {}

    async def search(lagging: Mapping[TopicPartition, LogPosition]) -> None:
        async with gate:
            with contextlib.suppress(KgtuiError):
                answer = await admin.record_times(lagging, known, precision=precision, timeout=deadline.left())
                for tp, row in answer.rows.items():
                    found[tp, lagging[tp]] = with_expiry(row, known.get(tp[0]))

    await asyncio.gather(*map(search, _without_repetition(positions.values())))
    times = {
        group: {tp: found[tp, row] for tp, row in lagging.items() if (tp, row) in found}
        for group, lagging in positions.items()
    }
    return {group: rows for group, rows in times.items() if rows}


def _without_repetition(
    groups: Iterable[Mapping[TopicPartition, LogPosition]],
) -> list[dict[TopicPartition, LogPosition]]:
    """Return the arguments for as few calls of `GroupAdmin.record_times` as possible, in a list with one dict per call.

    Each dict maps partitions to committed offsets and log bounds. If several groups have the same committed offset in a
    partition, the partition is searched only once for these groups.
    """
    searches: list[dict[TopicPartition, LogPosition]] = []
    by_partition: dict[TopicPartition, set[LogPosition]] = {}
    for lagging in groups:
        for tp, position in lagging.items():
            known = by_partition.setdefault(tp, set())
            if position not in known:
                if len(known) == len(searches):
                    searches.append({})
                searches[len(known)][tp] = position
                known.add(position)
    return searches


async def _partitions_to_measure(read: GroupsRead, logs: Logs) -> set[TopicPartition]:
    if logs is Logs.NONE:
        return set()
    for number, group in enumerate(read.descriptions, 1):
        read.note_members(group)
        if number % _GROUPS_PER_SLICE == 0:
            await asyncio.sleep(0)
    if logs is Logs.COMMITTED_ENDS:
        committed = (row for rows in read.committed.values() for row in rows)
        return {(row.topic, row.partition) for row in committed if row.offset is not None} | read.permission_checks()
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
    """Read the offsets of all groups, and the log start and end offsets of their partitions. Describe some groups.

    Errors are not raised, but added to `GroupsRead.faults`. All coordinators are asked at the same time. Each
    coordinator gets one batch of groups after the other. If a coordinator does not answer, its remaining batches are
    skipped.

    Args:
        groups: node id of a coordinator → ids of its groups.
        listings: group id → newest `Listing` (type, protocol, state and coordinator).
        describe: ids of the groups to describe.
        owned: partitions that members own. Their log start and log end offsets are read too.
        group_batch: maximum number of groups in one batch.
        log_batch: maximum number of partitions per `GroupAdmin.partition_bounds` call.
    """
    read = GroupsRead()
    async with asyncio.TaskGroup() as tasks:
        for node, ids in groups.items():
            batches = [ids[start : start + group_batch] for start in range(0, len(ids), group_batch)]
            tasks.create_task(_read_coordinator(admin, deadline, read, node, batches, listings, describe))
    # Sort the partitions in a thread, so that the event loop is not blocked.
    chunks = await asyncio.to_thread(_partitions_by_topic, read, owned, log_batch)
    # Request all chunks (lists of partitions) at the same time, so that a leader that does not answer delays only the
    # chunks with its partitions.
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
            return  # This coordinator does not answer, so do not read its other batches.


async def _read_logs(
    admin: GroupAdmin,
    read: GroupsRead,
    partitions: Collection[TopicPartition],
    *,
    timeout: float,
    starts: bool = True,
    harmless: type[KgtuiError] = KgtuiError,
) -> None:
    """Read the log bounds (log start and log end offsets) of partitions, and add them to `read`.

    Args:
        starts: whether log start offsets are read too.
        harmless: class of the errors that are added to `read.faults`. All other errors are raised.
    """
    try:
        answer = await admin.partition_bounds(partitions, starts=starts, timeout=timeout)
    except harmless as error:
        read.faults.append((LOGS, fault_of(error)))
    else:
        read.add(LOGS, read.bounds, answer)


def _partitions_by_topic(read: GroupsRead, owned: Iterable[TopicPartition], size: int) -> list[list[TopicPartition]]:
    """Return the partitions in `owned`, and those in which a group in `read` has an offset.

    The result contains lists of at most `size` partitions. The partitions of a topic are next to each other.
    """
    topics: dict[str, dict[TopicPartition, None]] = {}
    for tp in owned:
        topics.setdefault(tp[0], {})[tp] = None
    for offsets in (read.committed, read.share):
        for rows in offsets.values():
            for row in rows:
                topics.setdefault(row.topic, {})[row.topic, row.partition] = None
    partitions = [tp for partitions in topics.values() for tp in partitions]
    return [partitions[start : start + size] for start in range(0, len(partitions), size)]
