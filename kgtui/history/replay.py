"""A read-only `GroupAdmin` (access to a cluster), with which the terminal UI and the commands read a recording."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from kgtui.admin.base import DEFAULT_TIMEOUT, ListingDelta
from kgtui.errors import ClientError
from kgtui.history.recorded_access import load_access
from kgtui.history.state_times import StateChanges
from kgtui.lake.folder import LakeFolder, load_retention
from kgtui.model.answer import Answer, Coverage, Fault, Outcome
from kgtui.model.cluster import Retention
from kgtui.model.group import Listing
from kgtui.model.group_types import canonical_state, canonical_type
from kgtui.model.record_times import PRECISION

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping
    from typing import Self

    from kgtui.history.point_in_time import PointInTime
    from kgtui.history.poll_index import RecordedPoll
    from kgtui.history.recording_reader import RecordingReader
    from kgtui.history.state_times import StateTimes
    from kgtui.model.access import Access
    from kgtui.model.cluster import ClusterInfo, TopicRules
    from kgtui.model.group import GroupConfig, GroupDescription, Listing
    from kgtui.model.offsets import CommittedOffset, PartitionBounds, ShareOffset, TopicPartition
    from kgtui.model.record_times import LogPosition, RecordTime

T = TypeVar("T")

NOT_FOUND = 69

_READ_ONLY = "a recording cannot be changed"


class ReplayAdmin:
    """A `GroupAdmin` (access to a cluster) that returns the data of one recorded poll.

    A poll is one read of the cluster by the recorder. The poll whose data is returned is called the shown poll. `seek`,
    `step` and `next_change` select a different poll. For data that the recorder could not read, methods return the
    recorded fault (error). `delete_groups` refuses every group.
    """

    def __init__(self, recording: RecordingReader, point_in_time: PointInTime) -> None:
        self.recording = recording
        self._point_in_time = point_in_time
        self._since = time.monotonic()
        self._state_changes: StateChanges | None = None
        self._state_times: tuple[RecordedPoll, StateTimes] | None = None
        self._searching = asyncio.Lock()

    @classmethod
    async def open(cls, recording: RecordingReader, at: float | RecordedPoll | None = None) -> Self:
        """Return a `ReplayAdmin` that returns the data of one poll of a recording.

        Args:
            at: a poll, or seconds since the epoch (newest poll up to this time); None for the newest poll.

        Raises:
            LakeError: the recording starts after `at`, or cannot be read.
        """
        return cls(recording, await asyncio.to_thread(recording.at, at))

    @property
    def poll(self) -> RecordedPoll:
        """The recorded poll (read of the cluster) whose data is shown."""
        return self._point_in_time.poll

    @property
    def point_in_time(self) -> PointInTime:
        """The state of the cluster at the poll that is shown."""
        return self._point_in_time

    def now(self) -> float:
        """Return the current time of the replay, in seconds since the epoch.

        This is the time of the shown poll, plus the seconds for which it has been shown.
        """
        return self.poll.at + time.monotonic() - self._since

    async def seek(self, at: float | RecordedPoll | None) -> RecordedPoll:
        """Select the poll that is shown, and return it.

        Args:
            at: a poll, or seconds since the epoch (newest poll up to this time); None for the newest poll.

        Raises:
            LakeError: the recording starts after `at`, or cannot be read. The current poll stays selected.
        """
        self._point_in_time = await asyncio.to_thread(self.recording.at, at)
        self._since = time.monotonic()
        return self.poll

    async def step(self, by: int = 1) -> RecordedPoll | None:
        """Show and return the recorded poll that is `by` polls later, or earlier if `by` is negative.

        If there is no such poll, keep the current poll and return None.
        """
        return await self._go(lambda: self.recording.step(self.poll, by))

    async def next_change(self, group: str, *, back: bool = False) -> RecordedPoll | None:
        """Show and return the next poll at which the given group changed, or the previous such poll if `back` is true.

        If there is no such poll, keep the current poll and return None.
        """
        return await self._go(lambda: self.recording.next_change(group, self.poll, back=back))

    async def state_times(self) -> StateTimes:
        """Return the time at which each group entered the state that it has at the shown poll.

        Raises:
            LakeError: rows cannot be read.
        """
        async with self._searching:
            state = self._point_in_time
            if self._state_times is None or self._state_times[0] != state.poll:
                self._state_times = state.poll, await asyncio.to_thread(self._search_state_times, state)
            return self._state_times[1]

    def _search_state_times(self, state: PointInTime) -> StateTimes:
        changes = self._state_changes
        if changes is None or not changes.covers(state.poll):
            changes = self._state_changes = StateChanges(self.recording, state.poll, len(state.listings))
        return changes.at(state.poll, state.listings)

    async def _go(self, find: Callable[[], RecordedPoll | None]) -> RecordedPoll | None:
        found = await asyncio.to_thread(find)
        return None if found is None else await self.seek(found)

    async def cluster(self, *, timeout: float = DEFAULT_TIMEOUT) -> ClusterInfo:
        return self._point_in_time.cluster

    async def list_groups(
        self,
        types: Collection[str] | None = None,
        protocols: Collection[str] | None = None,
        states: Collection[str] | None = None,
        *,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> Answer[Mapping[str, Listing]]:
        state = self._point_in_time
        types = None if types is None else {canonical_type(name) for name in types}
        states = None if states is None else {canonical_state(state) for state in states}
        listings = await asyncio.to_thread(lambda: state.listings)
        found = {
            group: row
            for group, row in sorted(listings.items())
            if (types is None or row.type in types)
            and (protocols is None or row.protocol in protocols)
            and (states is None or row.state in states)
        }
        faults = tuple(fault for scope, fault in state.faults if scope in ("cluster", "broker"))
        return Answer(found, faults, Coverage((state.answered, len(state.cluster.brokers))))

    def listing_feed(self, broker: int) -> ReplayFeed:
        return ReplayFeed(self, broker)

    def share_listings(self, listings: Callable[[], Mapping[str, Listing]]) -> None:
        """Do nothing, because the listings of a recording are stored anyway."""

    async def describe_groups(
        self, groups: Iterable[str], *, timeout: float = DEFAULT_TIMEOUT
    ) -> Answer[Mapping[str, GroupDescription]]:
        return await self._each(groups, "describe", self._point_in_time.description)

    async def committed_offsets(
        self, groups: Iterable[str], *, timeout: float = DEFAULT_TIMEOUT
    ) -> Answer[Mapping[str, tuple[CommittedOffset, ...]]]:
        state = self._point_in_time
        return await self._each(groups, "offsets", lambda group: state.offsets(group).committed)

    async def share_offsets(
        self, groups: Iterable[str], *, timeout: float = DEFAULT_TIMEOUT
    ) -> Answer[Mapping[str, tuple[ShareOffset, ...]]]:
        state = self._point_in_time
        return await self._each(groups, "offsets", lambda group: state.offsets(group).share)

    async def partition_bounds(
        self, partitions: Iterable[TopicPartition], *, starts: bool = True, timeout: float = DEFAULT_TIMEOUT
    ) -> Answer[Mapping[TopicPartition, PartitionBounds]]:
        state, requested = self._point_in_time, list(partitions)
        found = await asyncio.to_thread(lambda: {tp: state.bounds(tp) for tp in requested})
        faults = tuple(fault for scope, fault in state.faults if scope == "logs")
        return Answer({tp: log for tp, log in found.items() if log is not None}, faults)

    async def record_times(
        self,
        positions: Mapping[TopicPartition, LogPosition],
        rules: Mapping[str, TopicRules] | None = None,
        *,
        precision: float = PRECISION,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> Answer[Mapping[TopicPartition, RecordTime]]:
        """Return only a fault (an error), because a recording does not contain the timestamps of records."""
        return Answer({}, (Fault("NOT_SUPPORTED", "recordings do not contain the timestamps of Kafka records"),))

    async def group_configs(
        self, groups: Iterable[str], *, timeout: float = DEFAULT_TIMEOUT
    ) -> Answer[Mapping[str, tuple[GroupConfig, ...]]]:
        missing = tuple(Fault("NOT_SUPPORTED", "group configs are not recorded", group=group) for group in groups)
        return Answer({}, missing, Coverage((0, 0), (0, len(missing))))

    async def retention(self, topics: Iterable[str], *, timeout: float = DEFAULT_TIMEOUT) -> Answer[Retention]:
        """Return the retention times of topics and committed offsets that the recorder stored last.

        They can be newer than the poll that is shown.
        """
        stored = await asyncio.to_thread(load_retention, LakeFolder.of(self.recording.path))
        if stored == Retention():
            return Answer(
                stored, (Fault("NOT_SUPPORTED", "the recording contains no retention times of topics and offsets"),)
            )
        found = {topic: stored.topics[topic] for topic in topics if topic in stored.topics}
        return Answer(Retention(found, stored.offsets))

    async def access(self, *, max_age: float = 0.0, timeout: float = DEFAULT_TIMEOUT) -> Access:
        """Return the permissions of the recorder's user that were stored last. They can be newer than the shown poll.

        However, whether the user had DESCRIBE on all topics is inferred from the shown poll, which says for which
        groups offsets may be hidden. Only in old recordings, polls do not say this, and the stored value is used.
        """
        return await asyncio.to_thread(self._access)

    def _access(self) -> Access:
        state, stored = self._point_in_time, load_access(LakeFolder.of(self.recording.path))
        if not state.hidden:  # The poll has no values in column `offsets_may_be_hidden`, as in old recordings.
            return stored
        # If offsets may be hidden in every group of the poll, the user lacked DESCRIBE on some topics at that time.
        # Otherwise, assume that the user had DESCRIBE on all topics.
        hides = all(state.hidden.values())
        if hides is stored.hides_topics:
            return stored
        return replace(stored, any_topic=not hides, denied_topics=None)

    async def _each(
        self, groups: Iterable[str], scope: str, read: Callable[[str], T | None]
    ) -> Answer[Mapping[str, T]]:
        """Call `read` for each group. Return the results, and a fault for each group without a result.

        If the recorder could not read the data of a group, of its coordinator or of the whole cluster, the recorded
        fault is returned, and `read` is not called.

        Args:
            scope: which data `read` returns: `describe` for descriptions, or `offsets`.
        """
        state, names = self._point_in_time, list(dict.fromkeys(groups))

        def every() -> tuple[dict[str, T], list[Fault], dict[str, tuple[str, ...]]]:
            state.prepare(names, offsets=scope == "offsets")
            found: dict[str, T] = {}
            faults = []
            for group in names:
                fault = state.recorded_fault(scope, group)
                value = read(group) if fault is None else None
                if value is not None and (scope == "offsets" or group in state.listings):
                    found[group] = value
                else:
                    faults.append(fault or _missing(group, exists=group in state.listings))
            hidden = [group for group in found if state.hidden.get(group)] if scope == "offsets" else []
            return found, faults, dict.fromkeys(hidden, ())

        found, faults, hidden = await asyncio.to_thread(every)
        return Answer(found, tuple(faults), Coverage((0, 0), (len(found), len(names))), hidden)

    async def delete_groups(self, groups: Iterable[str], *, timeout: float = DEFAULT_TIMEOUT) -> tuple[Outcome, ...]:
        """Refuse every group, because a recording is read-only."""
        return tuple(Outcome(group, Fault("READ_ONLY", _READ_ONLY, group=group)) for group in groups)

    async def close(self) -> None:
        """Do nothing, because a recording has no connections to close."""


class ReplayFeed:
    """Reports how one broker's list of groups changes when the replay moves to a different poll."""

    def __init__(self, admin: ReplayAdmin, broker: int) -> None:
        self._admin = admin
        self._broker = broker
        self._known: dict[str, Listing] = {}
        self._since: dict[str, float] = {}
        self._poll: RecordedPoll | None = None

    async def poll(self, *, timeout: float = DEFAULT_TIMEOUT) -> ListingDelta:
        """Compare the broker's groups at the shown poll with the broker's groups that the previous call found.

        Returns:
            The groups that were added, removed or changed since the previous call.

        Raises:
            ClientError: the recorder could not read the broker's groups at the shown poll, and no group has changed
                since the previous call.
        """
        state, began = self._admin.point_in_time, time.monotonic()
        if state.poll == self._poll:
            self._raise_fault(state)
            return ListingDelta(total=len(self._known))
        listings = await asyncio.to_thread(lambda: state.listings)
        times, search = await self._admin.state_times()
        now = {group: row for group, row in listings.items() if row.coordinator == self._broker}
        updated = {group: row for group, row in now.items() if self._known.get(group) != row}
        removed = self._known.keys() - now.keys()
        since = {group: at for group in now if (at := times.get(group)) is not None}
        changed = {group: since.get(group) for group in now if since.get(group) != self._since.get(group)}
        self._known, self._since, self._poll = now, since, state.poll
        if not updated and not removed and not changed:
            self._raise_fault(state)
        took_ms = (time.monotonic() - began) * 1000
        return ListingDelta(updated, removed, len(now), took_ms, state_since=changed, state_search=search)

    def _raise_fault(self, state: PointInTime) -> None:
        for scope, fault in state.faults:
            if scope == "broker" and fault.broker == self._broker:
                error = ClientError(fault.message, broker=fault.broker)
                error.fault_name, error.advice = fault.name, fault.advice
                raise error


def _missing(group: str, *, exists: bool) -> Fault:
    if exists:
        return Fault("NOT_RECORDED", f"group {group} had not been described yet at the selected time", group=group)
    return Fault("GROUP_ID_NOT_FOUND", f"Group {group} not found.", NOT_FOUND, group=group)
