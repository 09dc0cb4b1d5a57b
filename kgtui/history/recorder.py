"""The recorder: polls all groups of a cluster at an interval, and writes what changed to a lake."""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from contextlib import nullcontext
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from kgtui.errors import KgtuiError
from kgtui.history.changes import ChangeTracker, new_rows
from kgtui.history.flushing import Flusher
from kgtui.history.options import RecorderOptions
from kgtui.history.polling import Poller
from kgtui.history.rows import cluster_text
from kgtui.lake.folder import LakeFolder, update_retention
from kgtui.lake.schemas.recorded import day_of
from kgtui.model.rfc3339 import rfc3339
from kgtui.model.text import visible
from kgtui.monitor.gc_tuning import GcTuning
from kgtui.monitor.policy import RECORD_FIRST_LISTS, RECORD_GAPS, RECORD_MIN_TIMEOUT, RETENTION_MAX_AGE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection
    from pathlib import Path

    from kgtui.admin.base import GroupAdmin
    from kgtui.history.changes import PollResult
    from kgtui.history.options import RecorderStatus
    from kgtui.lake.schemas.definition import RowsByTable, RowValues
    from kgtui.model.snapshot import Snapshot


_log = logging.getLogger(__name__)


class SnapshotSource(Protocol):
    """The part of `kgtui.monitor.Monitor` that the recorder needs: the list of groups."""

    @property
    def snapshot(self) -> Snapshot:
        """The newest snapshot."""
        ...


class Recorder:
    """Records one cluster into one lake. Create it inside a running event loop, and run `run` as a task.

    Args:
        watch: provides the list of groups and the state of the brokers.
        admin: used for everything else. The recorder does not close it.
        path: folder of the lake, which is created if necessary.
        notify: called with a message for the user when a problem begins or ends.
        now: returns seconds since the epoch.
        elapsed: returns seconds of a monotonic clock.
        wait: waits that many seconds between two polls. With clocks and a `wait` of its own, a caller can record faster
            than in real time.
        alone: whether no screen is drawn on this event loop. Then the garbage collector is paused during a poll, which
            is cheaper in total but blocks the loop once.
    """

    def __init__(
        self,
        watch: SnapshotSource,
        admin: GroupAdmin,
        path: Path | str,
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
        self._lake = Flusher(LakeFolder.of(path), self._options, self._notify, now=now, elapsed=elapsed)
        self._changes = ChangeTracker()
        self._gc = GcTuning() if alone else None
        self._run = uuid.uuid4().hex
        self._stopping = asyncio.Event()
        self._previous: int | None = None
        self._last = 0
        self._keyframe: int | None = None
        self._gap = self._lost = ""
        self._cluster = ""
        self._cluster_id: str | None = None

    @property
    def status(self) -> RecorderStatus:
        """Status of the recorder."""
        return self._lake.status

    def stop(self) -> None:
        """Make `run` write what waits, and return."""
        self._stopping.set()

    async def run(self) -> None:
        """Record until `stop` is called or the task is cancelled. In both cases waiting rows are written first.

        Raises:
            LakeError: the folder cannot be written, is not a lake, or holds another cluster.
            RefusedError: another process records into it.
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

    # -- the beginning -----------------------------------------------------------------------------------------------

    async def _wait_for_first_lists(self, before: int | None) -> None:
        """Wait until every broker has answered or failed, then bind the lake to the cluster."""
        end = time.monotonic() + RECORD_FIRST_LISTS
        while not self._stopping.is_set() and time.monotonic() < end and not _all_brokers_listed(self._watch.snapshot):
            await self._pause(0.05)
        self._gap = self._gap_after_restart(before)
        await self._lake.claim(self._watch.snapshot.cluster.cluster_id)

    def _gap_after_restart(self, before: int | None) -> str:
        """Report how the previous recorder ended, and return the reason for the gap."""
        if before is None:
            return "the recording begins"
        self._last = before
        holder = self._lake.left_by
        if holder is None:
            return "recorder stopped"
        last_poll = rfc3339(before / 1000, "seconds")
        self._notify(
            f"the previous recorder ({holder}) crashed: its polls until {last_poll} are in the lake; later ones, of at "
            "most one flush interval, are lost"
        )
        return "recorder killed"

    # -- polls -------------------------------------------------------------------------------------------------------

    async def _poll_once(self) -> None:
        snapshot = self._watch.snapshot
        if self._lost or self._lake.lost:
            await self._start_keyframe(self._lost or "could not be written")
        if not snapshot.cluster.brokers:
            self._lake.report_error("the cluster cannot be reached")
            return
        at = max(int(self._now() * 1000), self._last + 1)
        try:
            # The collector stays paused until the values are released, so that it has nothing to visit.
            with self._gc.paused() if self._gc is not None else nullcontext():
                await self._record(snapshot, at)
        except Exception as error:  # noqa: BLE001 - the poll loop: the error is reported, and the next poll is a keyframe
            _log.exception("a poll failed")
            self._lake.report_error(f"a poll failed: {visible(str(error))}")
            self._lost = "a poll failed"

    async def _start_keyframe(self, gap: str) -> None:
        """Start with a keyframe, because the state to compare with is not in the lake."""
        old, self._changes = self._changes, ChangeTracker()
        self._keyframe = None
        self._gap, self._lost, self._lake.lost = gap, "", False
        await asyncio.to_thread(old.release)

    async def _record(self, snapshot: Snapshot, at: int) -> None:
        """Read all groups, find the changes, and add the poll to the rows that wait."""
        began = time.monotonic()
        timeout = max(self._options.interval, RECORD_MIN_TIMEOUT)
        result = await self._poller.look(snapshot, self._changes.owned(), now=self._elapsed(), timeout=timeout)
        rows, keyframe = await self._compare(result, at)
        if not self._lake.lost:  # otherwise the rows that this poll builds on were dropped meanwhile
            report = self._poll_row(snapshot, result, rows, at, int((time.monotonic() - began) * 1000))
            self._lake.add(at, keyframe, rows, report)
            self._previous = self._last = at
        if self._retention.due(self._elapsed()):
            topics = {topic for topic, _ in result.bounds}
            await self._retention.look(topics, now=self._elapsed(), timeout=timeout)
        await asyncio.to_thread(result.release)

    async def _compare(self, result: PollResult, at: int) -> tuple[RowsByTable, int]:
        """Return the rows of a poll, and its keyframe. If the poll is a keyframe, the rows are the complete state.

        This runs in a thread, because a hundred thousand partitions take half a second and a screen may be drawn on the
        loop.
        """
        rows, changes = new_rows(), self._changes
        await asyncio.to_thread(_compare, changes, result, at, rows)
        old = self._keyframe
        if old is None or at - old >= self._options.keyframe * 1000 or day_of(at) != day_of(old):
            self._keyframe, self._cluster = at, ""
            return await asyncio.to_thread(changes.all_rows), at
        return rows, old

    def _poll_row(self, snapshot: Snapshot, result: PollResult, rows: RowsByTable, at: int, took: int) -> RowValues:
        """Return the row of `polls`, from `taken_at` on."""
        options = self._options
        late = self._previous is not None and at - self._previous > RECORD_GAPS.limit(options.interval) * 1000
        if late and self._previous is not None:
            self._gap = self._gap or f"no poll for {(at - self._previous) // 1000} s"
        gap, self._gap = self._gap, ""
        text = cluster_text(snapshot.cluster)
        cluster = None if text == self._cluster else text
        self._cluster = text
        return (
            datetime.fromtimestamp(at / 1000, UTC),
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
        """Wait that many seconds, or until `stop` is called."""
        try:
            async with asyncio.timeout(max(seconds, 0.0)):
                await self._stopping.wait()
        except TimeoutError:
            return


def _compare(changes: ChangeTracker, result: PollResult, at: int, rows: RowsByTable) -> None:
    changes.add(result, result.listings, at, rows)
    changes.finish(result, rows)


def _all_brokers_listed(snapshot: Snapshot) -> bool:
    """Return whether every broker has answered the list request or failed."""
    brokers = snapshot.brokers
    return bool(snapshot.cluster.brokers) and all(
        node in brokers and (brokers[node].answered_at is not None or brokers[node].fault is not None)
        for node in snapshot.cluster.brokers
    )


_log = logging.getLogger(__name__)


class RetentionRefresher:
    """Reads the retention of topics from the cluster now and then, and stores it in the lake.

    Retention that may not be read stays unknown; verdicts then use the movement of log start offsets.
    """

    def __init__(self, admin: GroupAdmin, folder: LakeFolder) -> None:
        self._admin = admin
        self._folder = folder
        self._asked: float | None = None

    def due(self, now: float) -> bool:
        """Return whether retention has to be read again; `now` is in seconds of any clock."""
        return self._asked is None or now - self._asked >= RETENTION_MAX_AGE

    async def look(self, topics: Collection[str], *, now: float, timeout: float) -> None:
        """Read and store the retention of all topics that groups read. Errors are only logged."""
        if not topics:
            return
        self._asked = now
        try:
            answer = await self._admin.retention(sorted(topics), timeout=timeout)
            # After a fault, missing topics keep the retention that is stored.
            await asyncio.to_thread(update_retention, self._folder, answer.rows, () if answer.faults else set(topics))
        except (KgtuiError, OSError):
            _log.exception("cannot read or store the retention of topics")
