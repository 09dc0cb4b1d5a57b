"""The recorder: polls all groups of a cluster at regular intervals, and writes the changes to a lake."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from contextlib import nullcontext
from typing import TYPE_CHECKING, Protocol

from kgtui.errors import KgtuiError
from kgtui.history.changes import ChangeTracker, new_rows
from kgtui.history.flushing import Flusher
from kgtui.history.options import RecorderOptions
from kgtui.history.poller import Poller
from kgtui.history.recorded_access import AccessRecorder
from kgtui.history.rows import cluster_text
from kgtui.lake.folder import LakeFolder, update_retention
from kgtui.lake.schemas.recorded import day_of
from kgtui.model.access import recording_warning
from kgtui.model.health.wording import duration
from kgtui.model.rfc3339 import rfc3339, utc_datetime
from kgtui.model.text import visible
from kgtui.monitor.gc_tuning import GcTuning
from kgtui.monitor.policy import (
    RECORD_FIRST_LISTS,
    RECORD_GAPS,
    RECORD_MIN_TIMEOUT,
    RETENTION_MAX_AGE,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection

    from kgtui.admin.base import GroupAdmin
    from kgtui.history.changes import PollResult
    from kgtui.history.options import RecorderStatus
    from kgtui.lake.schemas.definition import RowsByTable, RowValues
    from kgtui.lake.store import LakePath
    from kgtui.model.snapshot import Snapshot


_CLOCK_TOLERANCE = 1.0
"""The clock counts as set back if it is at least this many seconds behind the time of the previous poll."""

_log = logging.getLogger(__name__)


class SnapshotSource(Protocol):
    """The part of `kgtui.monitor.Monitor` that the recorder uses."""

    @property
    def snapshot(self) -> Snapshot: ...


class Recorder:
    """Records one cluster into one lake. Create a `Recorder` inside a running event loop, and start `run` as a task.

    Args:
        watch: the monitor, which provides the groups and the state of the brokers.
        admin: client that reads all other data, such as offsets. The recorder does not close the client.
        path: path or URI of the lake, which is created if it does not exist.
        notify: function that is called with a message for the user when a problem begins or ends.
        elapsed: function that returns the time of a monotonic clock, in seconds.
        wait: function that simulations use to wait between polls. Its argument is the number of seconds. None to sleep.
        alone: whether the recorder runs without a terminal UI. If so, the recorder disables Python's garbage collector
            during each poll. In the terminal UI, the monitor does this.
    """

    def __init__(
        self,
        watch: SnapshotSource,
        admin: GroupAdmin,
        path: LakePath | str,
        options: RecorderOptions | None = None,
        *,
        notify: Callable[[str], None] | None = None,
        now: Callable[[], float] = time.time,
        elapsed: Callable[[], float] = time.monotonic,
        wait: Callable[[float], Awaitable[None]] | None = None,
        alone: bool = True,
    ) -> None:
        self._watch = watch
        self._options = options or RecorderOptions()
        self._poller = Poller(admin, describe_every=self._options.describe)
        self._notify = notify or (lambda message: None)
        self._now, self._elapsed, self._wait = now, elapsed, wait
        self._retention = RetentionRefresher(admin, LakeFolder.of(path))
        self._access = AccessRecorder(admin, LakeFolder.of(path))
        self._lake = Flusher(LakeFolder.of(path), self._options, self._notify, now=now, elapsed=elapsed)
        self._changes = ChangeTracker()
        self._gc = GcTuning() if alone else None
        self._run = uuid.uuid4().hex
        self._stopping = asyncio.Event()
        self._previous: int | None = None
        self._last = 0
        self._previous_moment = elapsed()
        self._clock_is_behind = False
        self._keyframe: int | None = None
        self._gap = self._lost = self._lacks = ""
        self._cluster = ""
        self._cluster_id: str | None = None

    @property
    def status(self) -> RecorderStatus:
        return self._lake.status

    def stop(self) -> None:
        """Make `run` write all rows that wait in memory, and then return."""
        self._stopping.set()

    async def run(self) -> None:
        """Record until `stop` is called or the task is canceled, and write all waiting rows at the end.

        Raises:
            LakeError: the folder cannot be written, is not a lake, or belongs to a different cluster.
            RefusedError: another process is recording into this lake.
        """
        try:
            before = await self._lake.begin()
            await self._wait_for_first_lists(before)
            while not self._stopping.is_set():
                began = self._elapsed()
                await self._poll_once()
                self._lake.write_if_due()
                left = max(self._options.interval - (self._elapsed() - began), 0.0)
                await (self._pause(left) if self._wait is None else self._wait(left))
        finally:
            await self._lake.end()

    async def _wait_for_first_lists(self, before: int | None) -> None:
        """Wait until each broker has returned its list of groups or an error. Then store the cluster id in the lake.

        The wait ends after `RECORD_FIRST_LISTS` seconds at the latest.

        Args:
            before: time of the newest poll in the lake, in ms since the epoch; None if there are no polls.
        """
        end = time.monotonic() + RECORD_FIRST_LISTS
        while not self._stopping.is_set() and time.monotonic() < end and not _all_brokers_listed(self._watch.snapshot):
            await self._pause(0.05)
        self._gap = self._gap_after_restart(before)
        await self._claim(self._watch.snapshot)

    async def _claim(self, snapshot: Snapshot) -> None:
        """Store the cluster id in the lake. Raises `LakeError` if the lake belongs to a different cluster."""
        await self._lake.claim(snapshot.cluster.cluster_id)
        self._cluster_id = snapshot.cluster.cluster_id

    def _gap_after_restart(self, before: int | None) -> str:
        """Return why polls are missing before the first poll of this recorder, such as `recorder stopped`.

        If the previous recorder crashed, notify the user.

        Args:
            before: time of the newest poll in the lake, in ms since the epoch; None if there are no polls.
        """
        if before is None:
            return "the recording begins"
        self._last = before
        holder = self._lake.crashed_holder
        if holder is None:
            return "recorder stopped"
        last_poll = rfc3339(before / 1000, "seconds")
        self._notify(
            f"the previous recorder ({holder}) crashed. The lake contains all polls until {last_poll}. Later polls, at "
            "most those of one flush interval, are lost."
        )
        return "recorder killed"

    async def _poll_once(self) -> None:
        snapshot = self._watch.snapshot
        if self._lost or self._lake.lost:
            await self._start_keyframe(self._lost or "polls could not be written")
        if not snapshot.cluster.brokers:
            self._lake.report_error("the cluster cannot be reached")
            return
        if snapshot.cluster.cluster_id not in (None, self._cluster_id):
            # The bootstrap addresses may now lead to a different cluster. If so, `_claim` raises `LakeError`.
            await self._claim(snapshot)
        at = self._time_of_poll()
        try:
            # Disable Python's garbage collector during the poll. It would find almost nothing to free, because
            # `_record` itself releases the objects of the poll.
            with self._gc.paused() if self._gc is not None else nullcontext():
                await self._record(snapshot, at)
        except Exception as error:  # noqa: BLE001 - the poll loop: the error is reported, and the next poll is a keyframe
            _log.exception("a poll failed")
            self._lake.report_error(f"a poll failed: {visible(str(error))}")
            self._lost = "a poll failed"

    def _time_of_poll(self) -> int:
        """Return the time of a new poll, in milliseconds since the epoch; always later than the previous poll.

        If the clock was set back, the result is the time of the previous poll plus the time that has passed since then.
        The time differences between polls are therefore still right.
        """
        now, moment = int(self._now() * 1000), self._elapsed()
        passed, self._previous_moment = moment - self._previous_moment, moment
        behind = (self._last - now) / 1000
        if behind < _CLOCK_TOLERANCE:
            self._clock_is_behind = False
            return max(now, self._last + 1)
        if not self._clock_is_behind:
            self._clock_is_behind = True
            self._notify(
                f"the clock is {duration(behind)} behind the newest poll that is recorded in the lake. New polls "
                "get later times than that poll. If the clock is right, record into another lake"
            )
        return self._last + max(int(passed * 1000), 1)

    async def _start_keyframe(self, gap: str) -> None:
        """Make the next poll a keyframe (a poll with the complete state). Call this if the lake may lack changes.

        Args:
            gap: text that says why changes may be missing. It is stored in the column `gap` of table `polls`.
        """
        old, self._changes = self._changes, ChangeTracker()
        self._keyframe = None
        self._gap, self._lost, self._lake.lost = gap, "", False
        await asyncio.to_thread(old.release)

    async def _record(self, snapshot: Snapshot, at: int) -> None:
        began = time.monotonic()
        timeout = max(self._options.interval, RECORD_MIN_TIMEOUT)
        access = await self._access.record(timeout=timeout)
        lacks = "" if access is None else recording_warning(access)
        if lacks not in ("", self._lacks):
            self._notify(lacks)
        self._lacks = lacks
        result = await self._poller.read(
            snapshot, self._changes.owned(), access=access, now=self._elapsed(), timeout=timeout
        )
        rows, keyframe = await self._compare(result, at)
        # This poll's rows contain only the changes since the previous poll. If the previous poll was dropped before it
        # was written, drop this poll too.
        if not self._lake.lost:
            report = self._poll_row(snapshot, result, rows, at, int((time.monotonic() - began) * 1000))
            self._lake.add(at, keyframe, rows, report)
            self._previous = self._last = at
        if self._retention.due(self._elapsed()):
            topics = {topic for topic, _ in result.bounds}
            await self._retention.refresh(topics, now=self._elapsed(), timeout=timeout)
        await asyncio.to_thread(result.release)

    async def _compare(self, result: PollResult, at: int) -> tuple[RowsByTable, int]:
        """Return the rows to store for a poll, and the time of its keyframe, in ms since the epoch.

        A keyframe is a poll for which all rows are stored. For other polls, only changed rows are stored. There is a
        keyframe every `RecorderOptions.keyframe` seconds, and at the first poll of a day.
        """
        rows, changes = new_rows(), self._changes
        # Compare in a thread, because comparing 100,000 partitions would block the event loop for half a second.
        await asyncio.to_thread(_compare, changes, result, at, rows)
        old = self._keyframe
        if old is None or at - old >= self._options.keyframe * 1000 or day_of(at) != day_of(old):
            self._keyframe, self._cluster = at, ""
            return await asyncio.to_thread(changes.all_rows), at
        return rows, old

    def _poll_row(self, snapshot: Snapshot, result: PollResult, rows: RowsByTable, at: int, took: int) -> RowValues:
        """Return the poll's row of table `polls`, without the columns `day`, `keyframe` and `poll`.

        Args:
            at: time of the poll, in milliseconds since the epoch.
            took: duration of the poll, in milliseconds.
        """
        options = self._options
        late = self._previous is not None and at - self._previous > RECORD_GAPS.limit(options.interval) * 1000
        if late and self._previous is not None:
            self._gap = self._gap or f"no poll for {(at - self._previous) // 1000} s"
        gap, self._gap = self._gap, ""
        text = cluster_text(snapshot.cluster)
        cluster = None if text == self._cluster else text
        self._cluster = text
        return (
            utc_datetime(at / 1000),
            self._run,
            None if gap else self._previous,
            gap or None,
            int(options.interval * 1000),
            took,
            sum(map(len, rows.values())),
            len(result.listings),
            len(snapshot.cluster.brokers),
            snapshot.answering,
            snapshot.cluster.cluster_id,
            cluster,
        )

    async def _pause(self, seconds: float) -> None:
        """Wait for the given number of seconds, or until `stop` is called."""
        try:
            async with asyncio.timeout(max(seconds, 0.0)):
                await self._stopping.wait()
        except TimeoutError:
            return


def _compare(changes: ChangeTracker, result: PollResult, at: int, rows: RowsByTable) -> None:
    changes.add(result, result.listings, at, rows)
    changes.finish(result, rows)


def _all_brokers_listed(snapshot: Snapshot) -> bool:
    brokers = snapshot.brokers
    return bool(snapshot.cluster.brokers) and all(
        node in brokers and (brokers[node].answered_at is not None or brokers[node].fault is not None)
        for node in snapshot.cluster.brokers
    )


class RetentionRefresher:
    """Reads at regular intervals how long brokers keep the records of topics, and stores these times in the lake.

    The retention time of a topic stays unknown if the recorder's user is not allowed to read the topic's configs.
    """

    def __init__(self, admin: GroupAdmin, folder: LakeFolder) -> None:
        self._admin = admin
        self._folder = folder
        self._asked: float | None = None

    def due(self, now: float) -> bool:
        """Return whether it is time to call `refresh`.

        This is true if the retention was never requested, or was last requested at least `RETENTION_MAX_AGE` seconds
        ago.

        Args:
            now: time in seconds, from the same clock as the argument `now` of `refresh`.
        """
        return self._asked is None or now - self._asked >= RETENTION_MAX_AGE

    async def refresh(self, topics: Collection[str], *, now: float, timeout: float) -> None:
        """Read the retention of the given topics, and store it in the lake. Errors are only logged."""
        if not topics:
            return
        self._asked = now
        try:
            answer = await self._admin.retention(sorted(topics), timeout=timeout)
            # If there was no error, a topic without a result no longer exists. Its stored retention is then deleted. If
            # there was an error, it may be the reason why a topic has no result. All stored values are then kept.
            await asyncio.to_thread(update_retention, self._folder, answer.rows, () if answer.faults else set(topics))
        except (KgtuiError, OSError):
            _log.exception("cannot read or store the retention of topics")
