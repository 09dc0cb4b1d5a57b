"""Reads groups repeatedly for `kgtui check`, and stores the results in one `ReadHistory` per group."""

from __future__ import annotations

import asyncio
import math
import time
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kgtui.admin.deadline import Deadline
from kgtui.admin.reading import access_of, read_in_full
from kgtui.errors import KgtuiError
from kgtui.model.access import hidden_fault, hidden_topics_fault
from kgtui.model.answer import fault_of
from kgtui.model.error_numbers import GROUP_ID_NOT_FOUND
from kgtui.model.group_types import DEAD
from kgtui.model.health import ReadHistory
from kgtui.monitor.policy import ACCESS_MAX_AGE, CHECK_GAPS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from kgtui.admin.base import GroupAdmin
    from kgtui.history.poll_index import RecordedPoll
    from kgtui.history.poll_reader import PollRead
    from kgtui.history.replay import ReplayAdmin
    from kgtui.model.access import Access
    from kgtui.model.answer import Fault
    from kgtui.model.group import GroupDescription, Listing
    from kgtui.model.health import Watching
    from kgtui.model.offsets import GroupOffsets

_OVERTIME = 1.0
"""Seconds for which the last read may continue after its timeout has expired.

In this extra second, the read can report the timeout as an error. Otherwise, it would be canceled without an error.
"""


class Clock:
    """A clock that never goes backwards. Tests replace it with a simulated clock."""

    def __init__(self) -> None:
        self._offset = time.time() - time.monotonic()

    def now(self) -> float:
        """Return the time in seconds since the epoch."""
        return self._offset + time.monotonic()

    async def sleep_until(self, at: float) -> None:
        """Wait until the time `at`, in seconds since the epoch. If this time has passed, return immediately."""
        await asyncio.sleep(max(at - self.now(), 0.0))


@dataclass(frozen=True, slots=True)
class Schedule:
    """Times at which `kgtui check` reads the groups.

    Attributes:
        seconds: time from the first to the last read, in seconds.
        interval: time between the starts of two reads, in seconds. Brokers that need longer for a read are read less
            often.
        timeout: maximum duration of one read, in seconds.
    """

    seconds: float
    interval: float
    timeout: float


class _Watch:
    """The results of reading groups repeatedly.

    Attributes:
        histories: group id → results of all reads.
        group_faults: group id → error of the last read. Groups without an error are not in this dict.
        without_offsets: groups without offsets in the last read.
        hidden: groups that may have more offsets than the user is allowed to see. Empty until `mark_hidden` is called.
    """

    def __init__(self, groups: Iterable[str], watching: Watching) -> None:
        self.histories = {group: ReadHistory(watching) for group in groups}
        self.group_faults: dict[str, Fault] = {}
        self.without_offsets: set[str] = set()
        self.hidden: set[str] = set()
        self._offsets_read: set[str] = set()  # Groups for which the last read of offsets succeeded.
        self._incomplete: set[str] = set()  # Groups whose last read may lack offsets, because permissions are missing.
        self._hidden_topics: dict[str, tuple[str, ...]] = {}

    def mark_hidden(self, access: Access) -> None:
        """Find the groups for which brokers possibly hide offsets from the user, and store the ids in `hidden`.

        If such a group has no visible offsets, or if kgtui knows the name of a topic whose offsets are hidden, also add
        an error to `group_faults`. Call this method after the last read.

        Args:
            access: the user's permissions, read after the groups.
        """
        self.hidden = set(self._offsets_read if access.hides_topics else self._incomplete)
        for group in self.hidden - self.group_faults.keys():
            topics = self._hidden_topics.get(group)
            if topics:
                self.group_faults[group] = hidden_topics_fault(group, topics)
            elif group in self.without_offsets:
                self.group_faults[group] = hidden_fault(group, access)

    def _add(
        self,
        group: str,
        at: float,
        description: GroupDescription | None,
        offsets: GroupOffsets | None,
        fault: Fault | None,
        *,
        complete: bool = True,
    ) -> None:
        """Add the results of one read to the history of a group.

        Args:
            at: time of the read, in seconds since the epoch.
            description, offsets: the results; None if they could not be read.
            fault: error of the read; None if it succeeded.
            complete: whether the offsets were read, or groups of this type have no offsets.
        """
        history = self.histories[group]
        self.group_faults.pop(group, None)
        self.without_offsets.discard(group)
        self._offsets_read.discard(group)
        self._incomplete.discard(group)
        self._hidden_topics.pop(group, None)
        gone = fault is not None and fault.code == GROUP_ID_NOT_FOUND
        if gone or (description is not None and description.state == DEAD):
            history.mark_gone()
            return
        history.add(at, description, offsets, fault=fault is not None or description is None or not complete)
        if fault is not None and fault.group is not None:
            self.group_faults[group] = fault
        if offsets is None:
            return
        self._offsets_read.add(group)
        if not offsets.partitions:
            self.without_offsets.add(group)
        if offsets.hidden:
            self._incomplete.add(group)
        if offsets.hidden_topics:
            self._hidden_topics[group] = offsets.hidden_topics


class ClusterWatch(_Watch):
    """Reads groups of a cluster on a schedule.

    The groups of each coordinator are read in a separate task, so that a slow broker does not delay other brokers.
    """

    def __init__(
        self,
        admin: GroupAdmin,
        groups: Mapping[str, Listing],
        schedule: Schedule,
        watching: Watching,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(groups, watching)
        self._admin = admin
        self._groups = groups
        self._schedule = schedule
        self.seconds, self.interval = schedule.seconds, schedule.interval
        self._clock = clock or Clock()
        self._groups_by_broker: defaultdict[int, dict[str, Listing]] = defaultdict(dict)
        for group, listing in groups.items():
            self._groups_by_broker[listing.coordinator][group] = listing
        self._reads: dict[int, asyncio.Task[None]] = {}
        self._faults_by_broker: dict[int, tuple[Fault, ...]] = {}

    @property
    def faults(self) -> tuple[Fault, ...]:
        """Errors that affected a whole broker or the cluster in the last read from each coordinator.

        The tuple has no duplicates. Errors of single groups are in `group_faults`.
        """
        return tuple(dict.fromkeys(fault for faults in self._faults_by_broker.values() for fault in faults))

    async def run(self) -> None:
        """Read the groups at the start, after every interval, and at the end of the watch.

        A failed read raises no exception. It adds a fault to `faults` or `group_faults` instead.
        """
        start = self._clock.now()
        # Round the quotient before `ceil`. Otherwise, a rounding error such as 3.0000000000000004 would give 4 steps.
        steps = math.ceil(round(self._schedule.seconds / self._schedule.interval, 6))
        try:
            for step in range(1, steps + 1):
                due = start + min(step * self._schedule.interval, self._schedule.seconds)
                await self._read_all(due - self._clock.now())
                await self._clock.sleep_until(due)
            await self._read_all(self._schedule.timeout + _OVERTIME)
        finally:
            for task in self._reads.values():
                task.cancel()
            await asyncio.gather(*self._reads.values(), return_exceptions=True)

    async def _read_all(self, seconds: float) -> None:
        """Start a read from each coordinator whose previous read has ended, and wait up to `seconds` for all reads."""
        for node, groups in self._groups_by_broker.items():
            if node not in self._reads:
                task = asyncio.create_task(self._read(node, groups), name=f"watch the groups of broker {node}")
                self._reads[node] = task
        await asyncio.wait(self._reads.values(), timeout=max(seconds, 0.0))
        for node in [node for node, task in self._reads.items() if task.done()]:
            self._reads.pop(node).result()

    async def _read(self, node: int, groups: Mapping[str, Listing]) -> None:
        at = self._clock.now()
        try:
            # Update the permissions in `admin`, because they can change during the watch. `read_in_full` uses them to
            # find groups whose offsets are hidden.
            read, _ = await asyncio.gather(
                read_in_full(self._admin, Deadline(self._schedule.timeout), groups),
                access_of(self._admin, max_age=ACCESS_MAX_AGE, timeout=self._schedule.timeout),
            )
        except KgtuiError as error:
            fault = fault_of(error, broker=node)
            self._faults_by_broker[node] = (fault,)
            for group in groups:
                self.histories[group].add(at, None, None, fault=True)
            return
        self._faults_by_broker[node] = read.general_faults
        faults = read.group_faults()
        for group in groups:
            offsets = read.offsets_of(group)
            complete = offsets is not None or not self._groups[group].has_offsets
            self._add(group, at, read.descriptions.get(group), offsets, faults.get(group), complete=complete)


class RecordedWatch(_Watch):
    """Reads groups from the polls of a recording. A poll is one read of the cluster by the recorder.

    Attributes:
        polls: the recorded polls to read, oldest first.
        faults: errors at the last poll that was read, except errors of single groups, which are in `group_faults`.
    """

    def __init__(self, admin: ReplayAdmin, groups: Mapping[str, Listing], seconds: float, watching: Watching) -> None:
        self._admin = admin
        self.polls = polls_before(admin, seconds)
        self.seconds = round(self.polls[-1].at - self.polls[0].at, 3)
        self.interval = admin.point_in_time.interval
        super().__init__(groups, replace(watching, gap_after=CHECK_GAPS.limit(self.interval)))
        self.faults: tuple[Fault, ...] = ()

    async def run(self) -> None:
        """Read all polls. Raises `LakeError` if the recording cannot be read."""
        from kgtui.history.poll_reader import read_polls

        reads = read_polls(self._admin.recording, self.histories, self.polls)
        while await asyncio.to_thread(self._add_next, reads):
            pass

    def notes(self, seconds: float) -> Iterator[str]:
        """Yield notes about missing polls, such as `only 5 min of the requested 10 min were recorded`.

        Args:
            seconds: length of the time that the user wants to check, in seconds.
        """
        from kgtui.model.health.wording import duration

        if self.seconds < seconds - self.interval:
            yield f"only {duration(self.seconds)} of the requested {duration(seconds)} were recorded"
        for poll in self.polls[1:]:
            if poll.gap:
                yield f"the recording has a gap: {poll.gap}"

    def _add_next(self, reads: Iterator[PollRead]) -> bool:
        read = next(reads, None)
        if read is None:
            return False
        self.faults = read.faults
        for group, history in self.histories.items():
            if read.poll.gap:
                history.begin_gap()
            recorded = read.groups.get(group)
            if recorded is None:
                history.mark_gone()
                self.group_faults.pop(group, None)
            else:
                self._add(group, read.poll.at, *recorded)
        return True


def polls_before(admin: ReplayAdmin, seconds: float) -> Sequence[RecordedPoll]:
    """Return the selected poll `admin.poll` and the polls in the `seconds` seconds before it, oldest first.

    If these polls cover less than `seconds` seconds, also return the last poll before them, unless the recording has a
    gap between this poll and the others.
    """
    end = admin.poll
    polls = admin.recording.polls(end.at - seconds, end.at)
    before = admin.recording.step(polls[0], -1)
    # Do not add the previous poll if polls are missing between it and `polls[0]`, because nothing is known about the
    # time between these two polls.
    if before is not None and not polls[0].gap and polls[0].at > end.at - seconds:
        polls.insert(0, before)
    return polls
