"""The sweep (tier 2 of the polling loops), which reads all groups again and again in the background.

The sweep stores a summary of each group, and checks the group for possible problems (`kgtui.monitor.screening`).
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING

from kgtui.admin.deadline import Deadline
from kgtui.admin.reading import Logs, read_groups
from kgtui.errors import KgtuiError
from kgtui.model.answer import fault_of
from kgtui.model.offsets import positions_of
from kgtui.model.slices import PAUSE
from kgtui.model.summary import summary_of, with_newer_offsets
from kgtui.monitor.lost_records import compare_with_log_starts
from kgtui.monitor.policy import listed_without_members, sweep_groups, sweep_rate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kgtui.admin.base import GroupAdmin
    from kgtui.admin.groups_read import GroupsRead
    from kgtui.model.answer import Fault
    from kgtui.model.offsets import Position
    from kgtui.model.summary import Summary
    from kgtui.model.trail import Trail
    from kgtui.monitor.policy import MonitorOptions
    from kgtui.monitor.poll_timer import PollTimer
    from kgtui.monitor.screening import Screening
    from kgtui.monitor.store import Store

_GROUPS_PER_SLICE = 40
"""Number of groups whose data the sweep stores in one step. Between two steps, other tasks can run."""

_SCREENING_INTERVAL = 1.0
"""Maximum time, in seconds, between two checks for groups that have been in a rebalance for too long."""

_EXPECTED_PARTITIONS = 50.0
"""Assumed number of partitions per group, from which the sweep computes the size of its first batch of groups."""

_COMMITTING_SECONDS = 600.0
"""For this many seconds after a commit, a group without members is read as often as a group with members."""

_CHANGED_PER_BATCH = 0.5
"""Groups whose state has changed are added to a batch, but at most this fraction of the number of its other groups.

A batch consists of groups that the sweep reads at once. Without this limit, many state changes would stop the sweep of
all other groups.
"""


class SweepTier:
    """Polling loop of the sweep, which reads all groups again and again in the background.

    The groups of each coordinator are read in a task of their own, so that a slow broker delays only its own groups.

    The first two sweeps read all groups. Each later sweep reads all groups with members, and some of the Empty groups
    in turn.

    Args:
        changed: called after each change to the store.
        all_read: called when all groups of a coordinator have been read once.
    """

    def __init__(
        self,
        admin: GroupAdmin,
        store: Store,
        screening: Screening,
        options: MonitorOptions,
        timer: PollTimer,
        changed: Callable[[], None],
        all_read: Callable[[], None],
    ) -> None:
        self._admin = admin
        self._store = store
        self._screening = screening
        self._options = options
        self._timer = timer
        self._changed = changed
        self._all_read = all_read
        self._sweeps: dict[int, asyncio.Task[None]] = {}
        self._average_partitions = _EXPECTED_PARTITIONS
        self._committing: set[str] = set()

    async def run(self) -> None:
        """Run one task per coordinator, which reads its groups again and again, until this task is canceled."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                for node in {listing.coordinator for listing in self._store.by_listing} - self._sweeps.keys():
                    self._sweeps[node] = tasks.create_task(self._sweep_broker(node), name=f"sweep of broker {node}")
                self._screening.check_clock()
                unjudged = True
                while unjudged:
                    unjudged = self._screening.apply_changes()
                    await asyncio.sleep(PAUSE)
                self._screening.judge_unsettled()
                self._changed()
                await self._timer.pause_for(min(_SCREENING_INTERVAL, self._options.sweep_pause))

    async def _sweep_broker(self, node: int) -> None:
        """Read the groups of one coordinator again and again, until it no longer coordinates any group."""
        options, rounds, next_empty = self._options, 0, 0
        while True:
            busy, empty = sweep_groups(self._store.by_listing, node)
            if not busy and not empty:
                break
            # Some groups commit offsets without having members, and are read as often as groups with members. The first
            # two sweeps read the offsets of all groups, because only a comparison of two reads can find such groups.
            busy += [group for group in empty if rounds == 1 or group in self._committing]
            empty = [group for group in empty if rounds != 1 and group not in self._committing]
            seconds = 0.0
            if rounds:
                count = ceil(len(empty) * options.sweep_pause / options.empty_pause)
                seconds = max(options.sweep_pause, (len(busy) + count) * len(self._sweeps) / self._rate(first=False))
                portion = min(ceil(len(empty) * seconds / options.empty_pause), len(empty))
                start = next_empty % max(len(empty), 1)
                next_empty = start + portion
                empty = [*empty, *empty][start:next_empty]  # After the last Empty group, continue with the first one.
            began = self._timer.now()
            await self._read_round(node, busy + empty, first=rounds == 0, seconds=seconds)
            if rounds == 0:
                self._all_read()
            rounds += 1
            length = max(seconds, options.sweep_pause)
            await self._timer.pause_for(min(length - (self._timer.now() - began), length))
        del self._sweeps[node]

    async def _read_round(self, node: int, groups: Sequence[str], *, first: bool, seconds: float) -> None:
        """Read groups in batches. After the first sweep, other groups whose state has changed are added to each batch.

        Args:
            node: node id of the coordinator.
            groups: ids of the groups, in the order of reading.
            first: whether this is the first sweep of the coordinator's groups.
            seconds: minimum duration of the sweep, over which the batches are spread; 0 in the first sweep.
        """
        round_began, done, read, options = self._timer.now(), 0, 0, self._options
        while done < len(groups):
            await self._timer.wait_for_quiet(len(self._store.groups))
            began = self._timer.now()
            part = self._next_batch(groups, done)
            done += len(part)
            changed = [] if first else self._changed_groups(node, ceil(len(part) * _CHANGED_PER_BATCH))
            listed = [group for group in dict.fromkeys((*changed, *part)) if group in self._store.groups]
            read += len(listed)
            answered = not listed or await self._read(listed, set(changed))
            now = self._timer.now()
            # Compute the start time of the next batch from the start of the sweep, not from the end of this batch.
            # After a slow batch, the next pauses are therefore shorter.
            due = round_began + read * len(self._sweeps) / self._rate(first=first)
            if not first:
                due = max(due, began + (now - began) / options.sweep_load, round_began + seconds * done / len(groups))
            # If the coordinator did not respond, the next batch starts `sweep_pause` seconds after this batch started.
            pause = (due if answered else began + options.sweep_pause) - now
            # If the clock was set back, `pause` is far too long. Therefore, limit the pause.
            await self._timer.pause_for(min(pause, max(seconds, options.sweep_pause)))

    def _next_batch(self, groups: Sequence[str], start: int) -> Sequence[str]:
        """Return the next batch of groups to read at once. It begins at index `start` of `groups`.

        A batch has at most `sweep_batch` groups, with at most `sweep_partitions` partitions in total. A group with more
        partitions is a batch of its own. For a group that was not read yet, the number of partitions is estimated.
        """
        summaries, limit, partitions = self._store.summaries, self._options.sweep_partitions, 0.0
        for end in range(start, min(start + self._options.sweep_batch, len(groups))):
            summary = summaries.get(groups[end])
            partitions += self._average_partitions if summary is None else summary.partitions
            if partitions > limit and end > start:
                return groups[start:end]
        return groups[start : start + self._options.sweep_batch]

    def _rate(self, *, first: bool) -> float:
        """Return the maximum number of groups per second that all sweep tasks together read."""
        return sweep_rate(self._options, len(self._store.groups), first=first)

    def _changed_groups(self, node: int, most: int) -> list[str]:
        """Remove at most `most` groups of a coordinator from `Screening.changed`, and return their ids.

        `Screening.changed` contains the groups whose state has changed since they were last read.
        """
        known = self._store.groups
        found: list[str] = []
        for group in list(self._screening.changed):
            listing = known.get(group)
            if listing is None:
                del self._screening.changed[group]
            elif listing.coordinator == node:
                del self._screening.changed[group]
                found.append(group)
                if len(found) == most:
                    break
        return found

    def _must_describe(self, group: str, changed: set[str], now: float) -> bool:
        summary = self._store.summaries.get(group)
        if summary is None or summary.members is None or summary.fault is not None or group in changed:
            return True
        listing = self._store.groups[group]
        return listing.state is None or now - summary.at >= self._options.describe_pause

    async def _read(self, groups: Sequence[str], changed: set[str]) -> bool:
        """Read a batch of groups, store their summaries, and check the groups for possible problems.

        Args:
            changed: groups whose state has changed, so that a new description is needed.

        Returns:
            False if the coordinator did not respond at all, not even with an error code.
        """
        listed = {group: self._store.groups[group] for group in groups}
        memberless = {group for group, row in listed.items() if listed_without_members(row)}
        now = self._timer.now()
        describe = [group for group in listed if group not in memberless and self._must_describe(group, changed, now)]
        deadline = Deadline(self._options.timeout)
        try:
            read = await read_groups(self._admin, deadline, describe=describe, offsets=listed, logs=Logs.ENDS)
        except KgtuiError as error:
            for group in groups:
                self._store.put_fault(group, fault_of(error))
            self._changed()
            return False
        faults = read.group_faults()
        # All summaries of a batch share one float object for the time of the read. 100,000 separate objects
        # would take 2.4 MB.
        now = self._timer.now()
        trails: dict[str, Trail] = {}
        for start in range(0, len(groups), _GROUPS_PER_SLICE):
            for group in groups[start : start + _GROUPS_PER_SLICE]:
                trail = self._store_read(group, read, faults.get(group), now, memberless=group in memberless)
                if trail is not None:
                    trails[group] = trail
            await asyncio.sleep(PAUSE)
        if trails:
            self._average_partitions = sum(len(trail.positions) for trail in trails.values()) / len(trails)
        compared = await compare_with_log_starts(self._admin, trails, read, timeout=deadline.left())
        for number, (group, trail) in enumerate(trails.items(), 1):
            self._screening.judge(group, trail, compared.get(group))
            if number % _GROUPS_PER_SLICE == 0:
                await asyncio.sleep(PAUSE)
        self._changed()
        return not faults or bool(read.descriptions) or any(fault.code is not None for fault in faults.values())

    def _store_read(
        self, group: str, read: GroupsRead, fault: Fault | None, now: float, *, memberless: bool
    ) -> Trail | None:
        """Store the summary of a group, and return its trail (the data of its last reads).

        Return None if the group could not be read or no longer exists.
        """
        store = self._store
        if group not in store.groups:
            return None
        if fault is not None:
            store.put_fault(group, fault)
        else:
            store.clear_fault(group)
        description = read.descriptions.get(group)
        rows = self._positions(group, read)
        if description is None and rows is None and (fault is not None or not memberless):
            if (earlier := store.summaries.get(group)) is not None:
                store.store_summary(group, replace(earlier, fault=fault))
            return None
        at = self._timer.recorded_at() if self._timer.recorded_at is not None else now
        trail = self._screening.add(group, at, rows, description)
        if memberless and trail.progress_at and at - trail.progress_at < _COMMITTING_SECONDS:
            self._committing.add(group)
        else:
            self._committing.discard(group)
        store.store_summary(group, self._summary(group, read, trail, fault, now, memberless=memberless))
        return trail

    def _positions(self, group: str, read: GroupsRead) -> list[Position] | None:
        if group in read.committed or group in read.share:
            return positions_of(read.committed.get(group, ()), read.share.get(group, ()), read.bounds)
        return None if self._store.groups[group].has_offsets else []

    def _summary(
        self, group: str, read: GroupsRead, trail: Trail, fault: Fault | None, now: float, *, memberless: bool
    ) -> Summary:
        store, earlier = self._store, self._store.summaries.get(group)
        description, topics = read.descriptions.get(group), read.topics_of(group)
        if description is None and not memberless and earlier is not None:
            if topics is None:
                return replace(earlier, trail=trail.encode(), screened=trail.shows_progress)
            return with_newer_offsets(earlier, read.lag_of(group), topics, fault, now, shared=store.topics, trail=trail)
        store.track_members(group, now, description, memberless=memberless)
        if topics is None and not store.groups[group].has_offsets:
            topics = ()
        return summary_of(
            description,
            read.lag_with_owned_partitions(group),
            topics,
            fault,
            now,
            memberless=memberless,
            shared=store.topics,
            earlier=earlier,
            trail=trail,
        )
