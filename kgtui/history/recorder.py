"""The recorder: looks at every group again and again, and writes what changed into a lake."""

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


class Listed(Protocol):
    """What the recorder needs of a monitor: who is there (`kgtui.monitor.Monitor`)."""

    @property
    def snapshot(self) -> Snapshot:
        """The newest one."""
        ...


class Recorder:
    """Records one cluster into one lake. Make it inside a running event loop, and let `run` run as a task.

    Args:
        watch: tells which groups there are, and how the brokers answer.
        admin: what is asked for the rest. The recorder does not close it.
        path: the lake; made if there is none.
        say: told a sentence when something begins or ends that a person should know.
        now: seconds since the epoch.
        elapsed: seconds of a clock that never goes back.
        wait: lets that many seconds pass between two polls; by default they pass by themselves. With clocks of its own
            a history is recorded faster than it happens.
        alone: nobody draws a screen on this loop: the garbage collector waits until a poll is taken in, which costs
            less in all and stops the loop once.
    """

    def __init__(
        self,
        watch: Listed,
        admin: GroupAdmin,
        path: Path | str,
        options: RecorderOptions | None = None,
        *,
        say: Callable[[str], None] | None = None,
        now: Callable[[], float] = time.time,
        elapsed: Callable[[], float] = time.monotonic,
        wait: Callable[[float], Awaitable[None]] | None = None,
        alone: bool = True,
    ) -> None:
        self._watch = watch
        self._options = options or RecorderOptions()
        self._poller = Poller(admin, describe_every=self._options.describe)
        self._say = say or (lambda sentence: None)
        self._now, self._elapsed, self._wait = now, elapsed, wait
        self._retention = RetentionRefresher(admin, LakeFolder.of(path))
        self._lake = Flusher(LakeFolder.of(path), self._options, self._say, now=now, elapsed=elapsed)
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
        """How it goes."""
        return self._lake.status

    def stop(self) -> None:
        """Let `run` write what waits, and end."""
        self._stopping.set()

    async def run(self) -> None:
        """Until `stop`, or cancelled; either way what waits is written first.

        Raises:
            LakeError: the folder cannot be written, is something else, or belongs to another cluster.
            RefusedError: another process records into it.
        """
        try:
            before = await self._lake.begin()
            await self._first_lists(before)
            while not self._stopping.is_set():
                began = self._elapsed()
                await self._poll_once()
                self._lake.write_if_due()
                left = max(self._options.interval - (self._elapsed() - began), 0.0)
                await (self._pause(left) if self._wait is None else self._wait(left))
        finally:
            await self._lake.end()

    # -- the beginning -----------------------------------------------------------------------------------------------

    async def _first_lists(self, before: int | None) -> None:
        """Wait until every broker has told its list, or does not answer; then check whose lake it is."""
        end = time.monotonic() + RECORD_FIRST_LISTS
        while not self._stopping.is_set() and time.monotonic() < end and not _listed(self._watch.snapshot):
            await self._pause(0.05)
        self._gap = self._before(before)
        await self._lake.claim(self._watch.snapshot.cluster.cluster_id)

    def _before(self, before: int | None) -> str:
        """Say what the recorder before has left; the reason of the gap."""
        if before is None:
            return "the recording begins"
        self._last = before
        holder = self._lake.left_by
        if holder is None:
            return "recorder stopped"
        seen = rfc3339(before / 1000, "seconds")
        self._say(
            f"the recorder before ({holder}) did not come to its end: the lake has what it saw until {seen};"
            " what came after, at most one flush interval, is lost"
        )
        return "recorder killed"

    # -- polls -------------------------------------------------------------------------------------------------------

    async def _poll_once(self) -> None:
        snapshot = self._watch.snapshot
        if self._lost or self._lake.lost:
            await self._begin_anew(self._lost or "could not be written")
        if not snapshot.cluster.brokers:
            self._lake.trouble("the cluster cannot be reached")
            return
        at = max(int(self._now() * 1000), self._last + 1)
        try:
            # Until what was read is gone, so that nothing is left to visit.
            with self._gc.paused() if self._gc is not None else nullcontext():
                await self._record(snapshot, at)
        except Exception as error:  # noqa: BLE001 - the poll loop: reported, and a full picture follows
            _log.exception("a poll failed")
            self._lake.trouble(f"a poll failed: {visible(str(error))}")
            self._lost = "a poll failed"

    async def _begin_anew(self, gap: str) -> None:
        """What would be compared with is not in the lake: a full picture follows."""
        old, self._changes = self._changes, ChangeTracker()
        self._keyframe = None
        self._gap, self._lost, self._lake.lost = gap, "", False
        await asyncio.to_thread(old.let_go)

    async def _record(self, snapshot: Snapshot, at: int) -> None:
        """Read, compare, and add the poll to what waits."""
        began = time.monotonic()
        timeout = max(self._options.interval, RECORD_MIN_TIMEOUT)
        seen = await self._poller.look(snapshot, self._changes.owned(), now=self._elapsed(), timeout=timeout)
        rows, keyframe = await self._compare(seen, at)
        if not self._lake.lost:  # while it was made, what it builds upon may have been given up
            told = self._told(snapshot, seen, rows, at, int((time.monotonic() - began) * 1000))
            self._lake.add(at, keyframe, rows, told)
            self._previous = self._last = at
        if self._retention.due(self._elapsed()):
            topics = {topic for topic, _ in seen.bounds}
            await self._retention.look(topics, now=self._elapsed(), timeout=timeout)
        await asyncio.to_thread(seen.let_go)

    async def _compare(self, seen: PollResult, at: int) -> tuple[RowsByTable, int]:
        """The rows of a poll and its keyframe; all rows that there are if the poll is a keyframe itself.

        In a thread: a screen may be drawn on this loop, and a hundred thousand partitions take half a second.
        """
        rows, changes = new_rows(), self._changes
        await asyncio.to_thread(_compare, changes, seen, at, rows)
        old = self._keyframe
        if old is None or at - old >= self._options.keyframe * 1000 or day_of(at) != day_of(old):
            self._keyframe, self._cluster = at, ""
            return await asyncio.to_thread(changes.everything), at
        return rows, old

    def _told(self, snapshot: Snapshot, seen: PollResult, rows: RowsByTable, at: int, took: int) -> RowValues:
        """The row of `polls`, from `taken_at` on."""
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
            len(seen.listings),
            len(snapshot.cluster.brokers),
            snapshot.answering,
            snapshot.cluster.cluster_id,
            cluster,
        )

    async def _pause(self, seconds: float) -> None:
        """Until it is time, or `stop`."""
        try:
            async with asyncio.timeout(max(seconds, 0.0)):
                await self._stopping.wait()
        except TimeoutError:
            return


def _compare(changes: ChangeTracker, seen: PollResult, at: int, rows: RowsByTable) -> None:
    changes.take(seen, seen.listings, at, rows)
    changes.settle(seen, rows)


def _listed(snapshot: Snapshot) -> bool:
    """Whether every broker has told its list, or failed to."""
    known = snapshot.brokers
    return bool(snapshot.cluster.brokers) and all(
        node in known and (known[node].answered_at is not None or known[node].fault is not None)
        for node in snapshot.cluster.brokers
    )


_log = logging.getLogger(__name__)


class RetentionRefresher:
    """Asks a cluster now and then, for a lake that is recorded.

    What may not be read is not known: verdicts rest on the movement of log starts then.
    """

    def __init__(self, admin: GroupAdmin, folder: LakeFolder) -> None:
        self._admin = admin
        self._folder = folder
        self._asked: float | None = None

    def due(self, now: float) -> bool:
        """Whether it is time to ask; `now` is in seconds of any clock."""
        return self._asked is None or now - self._asked >= RETENTION_MAX_AGE

    async def look(self, topics: Collection[str], *, now: float, timeout: float) -> None:
        """Ask about all topics that groups read."""
        if not topics:
            return
        self._asked = now
        try:
            answer = await self._admin.retention(sorted(topics), timeout=timeout)
            # Of those that were not told because of a fault, what is known is no worse for it.
            await asyncio.to_thread(update_retention, self._folder, answer.rows, () if answer.faults else set(topics))
        except (KgtuiError, OSError):
            _log.exception("retention is not known")
